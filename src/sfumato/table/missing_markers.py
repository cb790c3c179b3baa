"""Texts that seem to stand for a missing value, in several languages."""

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
"""Words that also name a value, such as none, are not among them."""
