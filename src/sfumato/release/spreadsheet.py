"""Tables that spreadsheets do not take for formulas.

A spreadsheet runs a csv cell that begins with = + - or @ as a formula, whatever the quotes around it. On request
(``[output] spreadsheet = "safe"``) the csv twins of a release show such a text with an apostrophe in front.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from sfumato.errors import ReleaseError

SPREADSHEET = ("plain", "safe")
_FORMULA = r"^['=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # also the fullwidth ones, and our own apostrophe
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def stated_spreadsheet(manifest: Mapping[str, Any]) -> str:
    """What a manifest says of its csv files: "plain", or "safe"."""
    output = manifest.get("output", {"spreadsheet": "plain"})
    choice = output.get("spreadsheet") if isinstance(output, dict) else None
    if choice not in SPREADSHEET:
        raise ReleaseError(f"manifest.json states output = {output!r}; spreadsheet must be 'plain' or 'safe'")
    return str(choice)


def csv_of(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> pl.DataFrame:
    """The frame as its csv file shows it.

    >>> csv_of(pl.DataFrame({"=x": ["=1+1", "-5", "a"]}), {"output": {"spreadsheet": "safe"}}).rows()
    [("'=1+1",), ('-5',), ('a',)]
    """
    if stated_spreadsheet(manifest) == "plain":
        return frame
    columns = [_quoted(column) for column in frame.get_columns()]
    names = _quoted(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


def _quoted(column: pl.Series) -> pl.Series:
    """An apostrophe in front of every text that a spreadsheet would run; numbers stay as they are."""
    if column.dtype not in (pl.String, pl.Enum, pl.Categorical):
        return column
    text = pl.col("text")
    risky = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    quoted = pl.when(risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)
    return pl.DataFrame({"text": column.cast(pl.String)}).select(quoted).to_series().alias(column.name)
