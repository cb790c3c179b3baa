"""Texts that seem to mean a missing value, in several languages."""

import polars as pl

MARKERS = (
    *(
        "",
        "?",
        "??",
        "-",
        "--",
        "---",
        ".",
        "..",
        "n/a",
        "N/A",
        "NA",
        "na",
        "N.A.",
        "n.a.",
        "#N/A",
        "#NV",
        "NaN",
        "nan",
    ),
    *("NULL", "Null", "null", "<NA>", "(null)", "missing", "Missing", "MISSING", "(missing)", "not available"),
    *("not recorded", "not stated", "no data", "#NULL!", "#DIV/0!", "#REF!", "k.A.", "k. A.", "k.a.", "keine Angabe"),
    *("Keine Angabe", "keine Angaben", "fehlt", "nicht erhoben", "n.d.", "N.D.", "s/d", "S/D", "sin dato", "sin datos"),
    *("no consta", "non renseigné", "non disponible", "mancante", "brak danych", "b/d", "0000-00-00", "00.00.0000"),
)
"""Words that can also be a value, such as none, are not included."""
CODES_FOR_MISSING = (
    -1.0,
    -9.0,
    -99.0,
    -999.0,
    -9999.0,
    99.0,
    999.0,
    9999.0,
    99999.0,
    998.0,
    997.0,
    8888.0,
    -8.0,
    -88.0,
)
"""Numbers that people write where a number is missing."""
_FOLDED = frozenset(marker.casefold() for marker in MARKERS)


def means_missing(values: pl.Series) -> pl.Series:
    """Which texts seem to mean a missing value, whatever their case and surrounding spaces.

    >>> means_missing(pl.Series(["n/A", " - ", "none", "Fehlt", "  "])).to_list()
    [True, True, False, True, True]
    """
    bare = values.str.strip_chars().to_list()
    return pl.Series([text.casefold() in _FOLDED for text in bare], dtype=pl.Boolean)
