"""Odd taxonomies: files, trees and rules."""

import json
from collections.abc import Iterator

from fuzz.harness import GOOD, Case, case, to_csv, ward
from fuzz.policies import PLACES, VALUES

CSV: dict[str, tuple[str | bytes, str]] = {
    "good": ("M;*\nF;*\n", "accepted"),
    "commas": ("M,Any,*\nF,Any,*\n", "accepted"),
    "BOM and CRLF": ("\ufeffM;*\r\nF;*\r\n", "accepted"),
    "no line end": ("M;*\nF;*", "accepted"),
    "quoted": ('"M";"*"\n"F";"*"\n', "accepted"),
    "header named as the column": ("sex;level 1\nM;*\nF;*\n", "refused"),
    "header in capitals": ("SEX;*\nM;*\nF;*\n", "refused"),
    "header of levels": ("Level0;Level1;Level2\nM;x;*\nF;x;*\n", "refused"),
    "header of levels with a root": ("level_0;level_1;*\nM;x;*\nF;x;*\n", "refused"),
    "header of other words": ("Geschlecht;Gruppe;Alle\nM;x;*\nF;x;*\n", "refused"),
    "header Value": ("Value;Group\nM;*\nF;*\n", "refused"),
    "blank lines": ("\nM;*\n\nF;*\n\n", "accepted"),
    "ragged": ("M;*\nF\n", "refused"),
    "ragged by one separator": ("M;*;\nF;*\n", "refused"),
    "a leaf twice": ("M;*\nF;*\nM;*\n", "refused"),
    "cycle": ("M;F;*\nF;M;*\n", "refused"),
    "a value as a group": ("M;F;*\nF;*;*\n", "refused"),
    "a value lacks": ("M;*\n", "refused"),
    "unclosed quotation mark": ('"M;*\nF;*\n', "refused"),
    "empty": ("", "refused"),
    "blank": ("\n\n\n", "refused"),
    "separators only": (";;;\n;;;\n", "refused"),
    "empty leaf": (";*\nM;*\nF;*\n", "either"),
    "101 levels": ("M" + ";g" * 50 + ";*\nF" + ";g" * 50 + ";*\n", "accepted"),
    "5,000 levels": ("M;" + ";".join(map(str, range(5000))) + ";*\nF" + ";x" * 5000 + ";*\n", "refused"),
    "200 leaves": ("M;*\nF;*\n" + "".join(f"x{i};*\n" for i in range(200)), "accepted"),
    "a label of 1,000,000 letters": ("M;" + "g" * 1_000_000 + ";*\nF;x;*\n", "either"),
    "UTF-16": ("M;*\nF;*\n".encode("utf-16"), "refused"),
    "NUL": ("M\0;*\nF;*\n", "refused"),
    "Latin-1": ("M;ä;*\nF;ä;*\n".encode("latin-1"), "refused"),
    "binary": (bytes(range(256)), "refused"),
    "no root": ("M;men\nF;women\n", "accepted"),
}

JSON: dict[str, tuple[str | bytes, str]] = {
    "good": ('{"Any": ["M", "F"]}', "accepted"),
    "BOM": ('\ufeff{"Any": {"M": {}, "F": {}}}', "accepted"),
    "null below": ('{"Any": {"M": null, "F": null}}', "accepted"),
    "empty": ("", "refused"),
    "empty object": ("{}", "refused"),
    "list": ('["M", "F"]', "refused"),
    "number": ("1", "refused"),
    "NaN": ('{"Any": {"M": NaN, "F": {}}}', "refused"),
    "10^400": ('{"Any": {"M": 1' + "0" * 400 + ', "F": {}}}', "refused"),
    "10^5000": ('{"Any": ["M", "F", 1' + "0" * 5000 + "]}", "refused"),
    "1e400": ('{"Any": ["M", "F", 1e400]}', "either"),
    "true": ('{"Any": {"M": true, "F": {}}}', "refused"),
    "a name twice": ('{"Any": {"M": {}, "F": {}, "M": {}}}', "refused"),
    "list nested 100,000 deep": ("[" * 100_000 + "]" * 100_000, "refused"),
    "objects nested 90 deep": ('{"a":' * 90 + '["M","F"]' + "}" * 90, "refused"),
    "objects nested 900 deep": ("".join(f'{{"a{i}":' for i in range(900)) + '["M","F"]' + "}" * 900, "refused"),
    "objects nested 5,000 deep": ("".join(f'{{"a{i}":' for i in range(5000)) + '["M","F"]' + "}" * 5000, "refused"),
    "lone surrogate": ('{"Any": ["M", "F", "\\ud800"]}', "refused"),
    "lone surrogate as a group": ('{"Any": {"\\ud800": ["M", "F"], "x": {}}}', "refused"),
    "NUL": ('{"Any": ["M", "F", "\\u0000"]}', "either"),
    "cut": ('{"Any": ["M", ', "refused"),
    "list of lists": ('{"Any": [["M"], ["F"]]}', "refused"),
    "binary": (bytes(range(256)), "refused"),
    "200 children": (json.dumps({"Any": ["M", "F", *map(str, range(200))]}), "accepted"),
}

RULES = {
    "width 5": ("{ width = 5 }", "accepted"),
    "width 0.5": ("{ width = 0.5 }", "accepted"),
    "width 1e-300": ("{ width = 1e-300 }", "refused"),
    "width 5e-324": ("{ width = 5e-324 }", "refused"),
    "width 1e-16": ("{ width = 1e-16 }", "refused"),
    "width 1e-12": ("{ width = 1e-12 }", "either"),
    "width 1e308": ("{ width = 1e308 }", "either"),
    "width 2^63-1": ("{ width = 9223372036854775807 }", "either"),
    "intervals": ("{ intervals = [0, 25, 30, 100] }", "accepted"),
    "intervals of one": ("{ intervals = [0] }", "refused"),
    "intervals falling": ("{ intervals = [100, 0] }", "refused"),
    "intervals repeated": ("{ intervals = [0, 0, 100] }", "refused"),
    "intervals too narrow": ("{ intervals = [0, 25] }", "refused"),
    "intervals to inf": ("{ intervals = [0, inf] }", "refused"),
    "intervals with nan": ("{ intervals = [0, nan, 100] }", "refused"),
    "intervals with text": ('{ intervals = [0, "50", 100] }', "refused"),
    "intervals with truth": ("{ intervals = [false, true, 100] }", "refused"),
    "intervals beyond 64 bits": ("{ intervals = [0, 1" + "0" * 400 + "] }", "refused"),
    "intervals to 1e308": ("{ intervals = [-1e308, 0, 1e308] }", "either"),
    "intervals of 1e-300": ("{ intervals = [0, 1e-300, 2e-300, 100] }", "either"),
    "10,000 intervals": ("{ intervals = [" + ", ".join(map(str, range(10_000))) + "] }", "accepted"),
    "widths": ("{ width = [5, 10, 50] }", "accepted"),
    "widths that do not nest": ("{ width = [5, 12] }", "refused"),
    "widths falling": ("{ width = [10, 5] }", "refused"),
    "widths of 1e-300": ("{ width = [1e-300, 1] }", "refused"),
    "widths to 1e308": ("{ width = [1, 1e308] }", "either"),
    "no widths": ("{ width = [] }", "refused"),
    "prefix": ("{ prefix = [1] }", "accepted"),
    "prefix rising": ("{ prefix = [1, 2] }", "refused"),
    "prefix of 0": ("{ prefix = [0] }", "refused"),
    "prefix of a separator": ('{ prefix = ["-", 1] }', "accepted"),
    "two rules": ("{ width = 5, mask = 'right' }", "refused"),
}


def cases() -> Iterator[Case]:
    """All odd taxonomies."""
    for end, contents in (("csv", CSV), ("json", JSON)):
        text = GOOD.replace(PLACES["taxonomy"], f'taxonomy = "sex.{end}"')
        for name, (content, expect) in contents.items():
            raw = content.encode() if isinstance(content, str) else content
            yield case(f"taxonomy {end}: {name}", policy=text, files={f"sex.{end}": raw}, expect=expect)
    for name, (rule, expect) in RULES.items():
        text = GOOD.replace('kind = "continuous"', f"taxonomy = {rule}")
        yield case(f"taxonomy rule: {name}", policy=text, expect=expect)
    for rule in ("width", "intervals", "mask", "prefix"):
        for name, value in VALUES.items():
            text = GOOD.replace('kind = "continuous"', f"taxonomy = {{ {rule} = {value} }}")
            yield case(f"taxonomy rule: {rule} is {name}", policy=text)
    yield from _masks()


def _masks() -> Iterator[Case]:
    text = GOOD.replace('zip = { role = "quasi" }', 'zip = { role = "quasi", taxonomy = { mask = "right" } }')
    odd = {
        "star": "0*138",
        "shorter": "138",
        "letters": "AB-1É",
        "blank": "     ",
        "emoji": "😀" * 5,
        "spaces": " 2138",
    }
    for name, code in odd.items():
        table = ward() | {"zip": [code if i % 3 else "02138" for i in range(16)]}
        yield case(f"mask: {name}", policy=text, data=to_csv(table))
