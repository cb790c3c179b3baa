"""Tables whose cells spreadsheets do not run as formulas.

A spreadsheet runs a csv cell that begins with = + - or @ as a formula, whatever the quotes around it. On request
(``[output] spreadsheet = "safe"``) the csv twins of a release put an apostrophe in front of such a text.
"""

import polars as pl

from sfumato.release.manifest import OutputEntry

SPREADSHEET = ("plain", "safe")
_FORMULA = r"^['=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # also fullwidth signs, and our own apostrophe
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def csv_of(frame: pl.DataFrame, output: OutputEntry | None) -> pl.DataFrame:
    """The frame as its csv file shows it, given what the manifest says about its output.

    >>> csv_of(pl.DataFrame({"=x": ["=1+1", "-5", "a"]}), {"spreadsheet": "safe"}).rows()
    [("'=1+1",), ('-5',), ('a',)]
    """
    if output is None or output["spreadsheet"] == "plain":
        return frame
    columns = [_quoted(column) for column in frame.get_columns()]
    names = _quoted(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


def _quoted(column: pl.Series) -> pl.Series:
    """An apostrophe in front of every text that a spreadsheet would run; numbers stay unchanged."""
    if column.dtype not in (pl.String, pl.Enum, pl.Categorical):
        return column
    text = pl.col("text")
    risky = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    quoted = pl.when(risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)
    return pl.DataFrame({"text": column.cast(pl.String)}).select(quoted).to_series().alias(column.name)
