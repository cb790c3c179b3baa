"""Odd tables: cells, lines, names and formats. Where it matters the case knows what must be read."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import polars as pl
import xlsxwriter

from fuzz.harness import GOOD, Case, case, to_csv, ward

NUMBERS: dict[str, str | None] = {
    "30": "30", " 30": "30", "30 ": "30", "+30": "30", "30.0": "30", "3e1": "30", "30.": "30", "030": "30",
    "-30": "-30",
    "0.5": "0.5", ".5": "0.5", "1e-7": "0.0000001", "-0": "0", "9007199254740992": "9007199254740992", "1E2": "100",
    "1_000": None, "0x1F": None, "１２": None, "٣٠": None, "1,5": None, '"1,5"': None, '"1,000"': None, "1 000": None,
    "1\u00a0000": None, "−30": None, "30%": None, "$30": None, "30 years": None, "NaN": None, "nan": None,
    "inf": None,
    "-inf": None, "Infinity": None, "1e400": None, "1" + "0" * 400: None, "9007199254740994": None, "true": None,
    "TRUE": None, "yes": None, "null": None, "None": None, "NA": None, "#N/A": None, "#DIV/0!": None, "?": None,
    "-": None,
    "1e": None, "e5": None, "--5": None, "1.2.3": None, "12:30": None, "2023-01-01": None, "½": None, "Ⅳ": None,
    "=1+1": None, "0b11": None, "1d5": None, "30\u200b": None, "\ufeff30": None,
}  # fmt: skip
"""What a number may be written as, and what it is read as; None: refused."""

DATES: dict[str, str | None] = {
    "2023-01-01": "2023-01-01", "2024-02-29": "2024-02-29", "2023-01-01T00:00:00": "2023-01-01",
    "0001-01-01": "0001-01-01",
    "2023-01-01 23:59": "2023-01-01", "2023-01-01T23:59:59.999Z": "2023-01-01", "9999-12-31": "9999-12-31",
    "2023-01-01 10:00:00+02": "2023-01-01", "2023-01-01T10:00:00+02:00": "2023-01-01",
    "2023-01-01T25:00:00": None, "2023-01-01T24:00:00": None, "2023-01-01T23:60:00": None,
    "2023-01-01T23:59:61": None,
    "2023-01-01 99": None, "2023-01-01 noon": None, "2023-01-01T": None, "2023-01-01 ": None, "2023-02-30": None,
    "2023-02-29": None, "2023-13-01": None, "2023-00-10": None, "2023-01-00": None, "0000-01-01": None,
    "23-01-01": None,
    "01/02/23": None, "01.02.2023": None, "2023/01/01": None, "20230101": None, "2023-1-1": None, "10000-01-01": None,
    "-2023-01-01": None, "2023-W01-1": None, "1 Jan 2023": None, "44927": None, "2023": None, "２０２３-01-01": None,
    "2023-01-01x": None, "nan": None, "2023-01-01T10:00:00+99:00": "2023-01-01",
}  # fmt: skip

CODES = [
    "02138", "1E5", "1e5", "0x1F", "1_000", "007", "+1", "1.0", "1.10", " x", "x ", "TRUE", "nan", "NULL", "(missing)",
    "*", "[20, 40)", "{a, b}", "=cmd|' /C calc'!A0", "@x", "<b>x</b>", "{{7*7}}", "é", "e\u0301", "\u202ex", "😀",
    "a\tb", "\\N", "%s",
]  # fmt: skip

NAMES = [
    "^a.*$", "^.*$", "*", "^ill$", "a b", "a.b", "a,b", 'a"b', "a'b", "a\nb", "[a]", "{a}", "$a", "#a", "=a", "group",
    "count", "G", "row", "rows", "value", "values", "lo", "hi", "box", "node", "mask", "len", "literal", "index",
    "label", "size", "unlikely", "x" * 1000, "é", "😀", "\u202ea", "<b>a</b>", "{{a}}", "%s", "-", "1", "true", "None",
    "title", "role", "../a", "a/b", "\\", "__class__", "standard_error", "level_0", ".", "data",
]  # fmt: skip


def _ages(cell: str) -> str:
    return to_csv(ward(16) | {"age": ["77"] * 8 + [cell] * 8, "sex": ["M"] * 16, "zip": ["02138"] * 16})


def _one_quasi(entry: str) -> str:
    head, _, tail = GOOD.partition("age =")
    rest = tail[tail.index("\nill") :].replace("ill =", 'sex = "insensitive"\nzip = "insensitive"\nill =')
    return f'{head}age = {{ role = "quasi"{entry} }}{rest}'


def cells() -> Iterator[Case]:
    """Cells in a column of numbers, of dates, of codes."""
    for cell, shown in NUMBERS.items():
        labels = ("age", {"77", shown}) if shown else None
        expect = "accepted" if shown else "refused"
        text = _one_quasi(', kind = "continuous"')
        yield case(f"number {cell[:30]!r}", policy=text, data=_ages(cell), expect=expect, shows=labels)
        yield case(f"number {cell[:30]!r} without a kind", policy=_one_quasi(""), data=_ages(cell))
    for cell, shown in DATES.items():
        labels = ("age", {"2001-05-05", shown}) if shown else None
        table = _ages(cell).replace(",77,", ",2001-05-05,")
        expect = "accepted" if shown else "refused"
        yield case(f"date {cell!r}", policy=_one_quasi(', kind = "date"'), data=table, expect=expect, shows=labels)
    for cell in CODES:
        table = _ages(cell).replace(",77,", ",02139,")
        quoted = _ages(f'"{cell}"').replace(",77,", ",02139,")
        labels = ("age", {cell, "02139"})
        yield case(
            f"code {cell!r}",
            policy=_one_quasi(', kind = "categorical"'),
            data=table if "," not in cell else quoted,
            expect="accepted",
            shows=labels,
        )
        yield case(f"code {cell!r} without a kind", policy=_one_quasi(""), data=quoted, expect="accepted", shows=labels)
        sensitive = to_csv(ward() | {"ill": [f'"{cell}"', '"b"'] * 8})
        yield case(f"sensitive {cell!r}", data=sensitive, expect="accepted", shows=("ill", {cell, "b"}))
    for missing in ("error", "category", "drop"):
        text = GOOD.replace("[attributes]", f'missing = "{missing}"\n[attributes]')
        for column in ("name", "age", "sex", "zip", "ill"):
            table = ward() | {column: ["", *ward()[column][1:]]}
            yield case(f"{column} is missing once, missing = {missing}", policy=text, data=to_csv(table))
            yield case(f"{column} is always missing, {missing}", policy=text, data=to_csv(ward() | {column: [""] * 16}))


def lines() -> Iterator[Case]:
    """Lines and bytes of the csv file."""
    good = to_csv(ward())
    body = good.splitlines(keepends=True)
    accepted = {
        "BOM": "\ufeff" + good, "CRLF": good.replace("\n", "\r\n"), "no last line end": good[:-1],
        "blank first line": "\n" + good,
        "blank lines": good.replace("\n", "\n\n"), "semicolons": good.replace(",", ";"),
        "tabs": good.replace(",", "\t"),
        "bars": good.replace(",", "|"),
        "quoted": "".join('"' + line[:-1].replace(",", '","') + '"\n' for line in body),
        "line end inside quotes": good.replace("Patient 3", '"Patient\n3"'),
        "separator inside quotes": good.replace("Patient 3", '"P, 3"'),
        "quotation mark inside quotes": good.replace("Patient 3", '"P ""3"""'),
        "quotation mark inside": good.replace("Patient 3", 'Pat"ient" 3'),
        "a cell of 1,000,000": good.replace("Patient 3", "x" * 1_000_000),
    }  # fmt: skip
    refused: dict[str, str | bytes] = {
        "CR": good.replace("\n", "\r"), "NUL": good.replace("Patient 3", "Pat\0ient"),
        "short line": good.replace("Patient 3,29,", "Patient 3,"),
        "long line": good.replace("Patient 3,", "Patient 3,4,"),
        "last line short": good.rstrip().rpartition(",")[0] + "\n",
        "unclosed quotation mark": good.replace("Patient 3", '"Patient 3'),
        "header only": body[0], "blank": "\n\n\n", "one word": "x", "header twice": good.replace("sex", "age", 1),
        "empty name": good.replace("sex", "", 1), "blank name": good.replace("sex", "  ", 1),
        "no header": "".join(body[1:]),
        "a column more in the header": good.replace("name,", "name,more,", 1), "UTF-16": good.encode("utf-16"),
        "UTF-16 without a mark": good.encode("utf-16-le"), "Latin-1": good.replace("flu", "grïppe").encode("latin-1"),
        "UTF-8 cut": good.encode() + b"\xc3", "gzip": b"\x1f\x8b" + bytes(100), "zip": b"PK\x03\x04" + bytes(100),
        "parquet": b"PAR1" + bytes(100), "binary": bytes(range(256)) * 10,
        "header of 2 MiB": "x" * (2 << 20) + "," + good,
        "JSON": '[{"name": "a", "age": 1}]', "XML": "<a>1</a>\n<b>2</b>\n", "one row": "".join(body[:2]),
        "header quoted without end": '"name,age\n' + good, "constant": to_csv(ward() | {"sex": ["M"] * 16}),
    }  # fmt: skip
    yield from (case(f"csv: {n}", data=c, expect="accepted") for n, c in accepted.items())
    yield from (case(f"csv: {n}", data=c, expect="refused") for n, c in refused.items())
    wide = to_csv(ward() | {f"c{i}": ["1", "2"] * 8 for i in range(2000)})
    for others in ("error", "drop", "insensitive"):
        text = GOOD.replace("[attributes]", f'others = "{others}"\n[attributes]')
        yield case(f"csv: 2,000 columns more, others = {others}", policy=text, data=wide)


def names() -> Iterator[Case]:
    """Columns with odd names, in each role and by either scheme."""
    for name in NAMES:
        quoted = '"' + name.replace('"', '""') + '"'
        key = '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        for column in ("name", "age", "zip", "ill"):
            table = to_csv(ward()).replace(column, quoted, 1)
            text = GOOD.replace(f"{column} =", f"{key} =", 1)
            yield case(f"{column} is called {name[:20]!r}", policy=text, data=table)
        plain = to_csv(ward() | {quoted: ["1", "2"] * 8})
        text = GOOD.replace("[[require]]", f'{key} = "insensitive"\n[[require]]')
        yield case(f"insensitive {name[:20]!r}", policy=text, data=plain)
        bucket = text.replace('name = "mondrian"', 'name = "mondrian"\nscheme = "bucketization"')
        bucket = bucket.replace('model = "k-anonymity"\nk = 2', 'model = "l-diversity"\nl = 1')
        yield case(f"bucketization with {name[:20]!r}", policy=bucket, data=plain)
        yield Case(f"init of {name[:20]!r}", {"ward.csv": plain.encode()}, ("init", "ward.csv", "-o", "p.toml"))


def _excel(column: list[object]) -> object:
    def write(path: Path) -> None:
        book = xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd", "nan_inf_to_errors": True})
        sheet = book.add_worksheet()
        for place, (name, values) in enumerate((ward() | {"age": column}).items()):
            for row, value in enumerate([name, *values]):
                if isinstance(value, str) and value.startswith("#"):
                    sheet.write_formula(row, place, "=NA()", None, value)
                elif value is not None:
                    sheet.write(row, place, value)
        book.close()

    return write


def workbooks() -> Iterator[Case]:
    """Cells of several types in a workbook."""
    day, instant = dt.date(2023, 1, 2), dt.datetime(2023, 1, 2, 12, 30)
    columns: dict[str, tuple[list[object], str]] = {
        "numbers": ([20, 30.5] * 8, "accepted"),
        "TRUE among numbers": ([30, *[41] * 14, True], "refused"),
        "FALSE first": ([False, *[41, 30] * 7, 30], "refused"),
        "truth": ([True, False] * 8, "refused"),
        "text among numbers": ([30, *[41] * 14, "x"], "refused"),
        "numbers as text": (["30", "41"] * 8, "accepted"),
        "number and text of it": ([30, "41"] * 8, "accepted"),
        "error": ([30, *[41] * 14, "#N/A"], "refused"),
        "division": ([30, *[41] * 14, "#DIV/0!"], "refused"),
        "errors only": (["#N/A"] * 16, "refused"),
        "dates among numbers": ([30, *[41] * 14, day], "refused"),
        "dates": ([day, dt.date(2020, 1, 1)] * 8, "refused"),
        "instants": ([instant, day] * 8, "refused"),
        "dates and truth": ([day, *[True] * 15], "refused"),
        "nothing": ([None] * 16, "refused"),
        "1e300": ([1e300, 1.0] * 8, "refused"),
        "nan": ([float("nan"), *[1.0, 2.0] * 7, 3.0], "refused"),
    }
    for name, (column, expect) in columns.items():
        text = GOOD.replace("ward.csv", "ward.xlsx")
        yield case(f"xlsx: {name}", policy=text, files={"ward.xlsx": _excel(column)}, expect=expect)
        for kind in ("categorical", "date"):
            odd = text.replace('kind = "continuous"', f'kind = "{kind}"')
            expected = "refused" if ("among" in name and "TRUE" in name) or name == "FALSE first" else "either"
            yield case(f"xlsx: {name} as {kind}", policy=odd, files={"ward.xlsx": _excel(column)}, expect=expected)
    for name, raw in {"text": b"name,age\n", "zip": b"PK\x03\x04" + bytes(50), "cut": b"PK"}.items():
        yield case(
            f"xlsx: {name}", policy=GOOD.replace("ward.csv", "ward.xlsx"), files={"ward.xlsx": raw}, expect="refused"
        )


def typed() -> Iterator[Case]:
    """Columns of every type that parquet has, in every role."""
    columns = {
        "u64": pl.Series([2**64 - 1, 5] * 8, dtype=pl.UInt64), "i128": pl.Series([2**100, 5] * 8, dtype=pl.Int128),
        "f32": pl.Series([0.1, 0.2] * 8, dtype=pl.Float32), "nan": pl.Series([float("nan"), 1.0] * 8),
        "inf": pl.Series([float("inf"), 1.0] * 8), "truth": pl.Series([True, False] * 8),
        "list": pl.Series([[1], [2]] * 8),
        "struct": pl.Series([{"a": 1}, {"a": 2}] * 8), "binary": pl.Series([b"\xff", b"a"] * 8),
        "null": pl.Series([None] * 16),
        "duration": pl.Series([dt.timedelta(1), dt.timedelta(2)] * 8),
        "time": pl.Series([dt.time(1), dt.time(2)] * 8),
        "date": pl.Series([dt.date(2020, 1, 1), dt.date(1, 1, 1)] * 8),
        "decimal": pl.Series([Decimal("1.5"), Decimal(2)] * 8),
        "instant": pl.Series([dt.datetime(2020, 1, 1, 5), dt.datetime(2021, 1, 1)] * 8),
        "categories": pl.Series(["a", "b"] * 8, dtype=pl.Categorical),
        "enum": pl.Series(["a", "b"] * 8, dtype=pl.Enum(["a", "b"])),
        "zoned": pl.Series([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)] * 8).dt.replace_time_zone("Asia/Seoul"),
        "far": pl.Series([-800_000, 5_000_000] * 8, dtype=pl.Int32).cast(pl.Date),
        "huge": pl.Series([1e300, -1e300] * 8),
        "tiny": pl.Series([5e-324, 1e-300] * 8), "close": pl.Series([1.0, 1.0000000000000002] * 8),
    }  # fmt: skip
    for name, column in columns.items():

        def write(path: Path, column: pl.Series = column) -> None:
            pl.DataFrame(ward()).with_columns(column.alias("age")).write_parquet(path)

        for role in ("quasi", "sensitive", "class", "insensitive", "identifier"):
            text = GOOD.replace("ward.csv", "ward.parquet").replace(
                '{ role = "quasi", kind = "continuous" }', f'"{role}"'
            )
            yield case(f"parquet: {name} as {role}", policy=text, files={"ward.parquet": write})
        for kind in ("continuous", "date", "categorical"):
            text = GOOD.replace("ward.csv", "ward.parquet").replace("continuous", kind)
            yield case(f"parquet: {name} as {kind}", policy=text, files={"ward.parquet": write})
        yield Case(f"init of parquet: {name}", {"ward.parquet": write}, ("init", "ward.parquet", "-o", "p.toml"))
    for name, raw in {"text": b"name,age\n", "cut": b"PAR1PAR1", "zeros": bytes(1000)}.items():
        text = GOOD.replace("ward.csv", "ward.parquet")
        yield case(f"parquet: {name}", policy=text, files={"ward.parquet": raw}, expect="refused")


def cases() -> Iterator[Case]:
    """All odd tables."""
    for kind in (cells, lines, workbooks, typed, names):
        yield from kind()
