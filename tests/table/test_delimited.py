"""Text tables: what is read, and what is said of a file that is wrong."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.table.source import read_frame


def write(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def failure(folder: Path, content: str | bytes, name: str = "table.csv") -> str:
    with pytest.raises(DataError) as caught:
        read_frame(write(folder, content, name))
    message = str(caught.value)
    assert name in message
    assert "\n" not in message
    return message


def test_every_column_is_text_and_empty_is_null(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, 'zip,age,day\n02138,7,2020-01-01\n,"",\n'))
    assert frame.schema == {"zip": pl.String, "age": pl.String, "day": pl.String}
    assert frame.rows() == [("02138", "7", "2020-01-01"), (None, None, None)]


def test_null_strings(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, "a,b\nNA,?\n?x,NA \n"), nulls=["NA", "?"])
    assert frame.rows() == [(None, None), ("?x", "NA ")]


@pytest.mark.parametrize(
    ("header", "separator"),
    [("a,b", ","), ("a;b", ";"), ("a\tb", "\t"), ("a|b", "|"), ('"x;y;z",b', ","), ('"x,y,z";b', ";")],
)
def test_separator_is_sniffed_outside_quotes(tmp_path: Path, header: str, separator: str) -> None:
    frame = read_frame(write(tmp_path, f"{header}\n1{separator}2\n"))
    assert frame.rows() == [("1", "2")]
    assert frame.columns[1] == "b"


def test_single_column(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, "a\n1\n2\n")).rows() == [("1",), ("2",)]
    assert read_frame(write(tmp_path, "a\n1,5\n", "t.tsv")).rows() == [("1,5",)]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, b"\xef\xbb\xbf\xc3\xa4ge,b\r\n1,\r\n2,3\r\n"))
    assert frame.columns == ["äge", "b"]
    assert frame.rows() == [("1", None), ("2", "3")]


def test_quoted_values_and_names(tmp_path: Path) -> None:
    frame = read_frame(write(tmp_path, '"a ""x"", y","b\nc"\n"1, ""2""\n3",\n4,5'))
    assert frame.columns == ['a "x", y', "b\nc"]
    assert frame.rows() == [('1, "2"\n3', None), ("4", "5")]


def test_blank_lines_are_left_out(tmp_path: Path) -> None:
    content = "\n\na,b\n\n1,2\n\n,\n3,\n\n\n"
    expected = [("1", "2"), (None, None), ("3", None)]
    assert read_frame(write(tmp_path, content)).rows() == expected
    assert read_frame(write(tmp_path, content.replace("\n", "\r\n"))).rows() == expected


def test_name_with_glob_characters_and_in_a_partition_folder(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert read_frame(write(folder, "a,b\n1,2\n", "[x]*.csv")).columns == ["a", "b"]


def test_column_names_that_polars_takes_for_patterns(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, "^.*,*\n1,NA\n"), nulls=["NA"]).rows() == [("1", None)]
    assert "'^.*$'; a name that begins with ^ and ends with $" in failure(tmp_path, "^.*$,*\n1,NA\n")


@pytest.mark.parametrize("content", ["", "\n\r\n", "\ufeff", "  \n"])
def test_empty(tmp_path: Path, content: str) -> None:
    assert "is empty" in failure(tmp_path, content)


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\n\n\n"])
def test_header_only(tmp_path: Path, content: str) -> None:
    assert "no rows" in failure(tmp_path, content)


def test_duplicate_and_missing_names(tmp_path: Path) -> None:
    message = failure(tmp_path, "age,zip,age,zip,x\n1,2,3,4,5\n")
    assert "'age', 'zip'" in message
    assert "'x'" not in message
    assert "column 2, 4 has no name" in failure(tmp_path, "a,,b, \n1,2,3,4\n")


@pytest.mark.parametrize("filler", [0, 300_000])
def test_not_utf8_names_offset_and_line(tmp_path: Path, filler: int) -> None:
    good = "a,b\n" + "é,2\n" * filler
    message = failure(tmp_path, good.encode() + b"x\xe9,3\n" + b"1,2\n" * filler)
    assert f"offset {len(good.encode()) + 1}," in message
    assert f"line {filler + 2}," in message
    assert "0xE9" in message
    assert 'encoding = "cp1252"' in message


def test_not_utf8_in_the_header_and_at_the_end(tmp_path: Path) -> None:
    assert "offset 0, on line 1" in failure(tmp_path, b"\xe9,b\n1,2\n")
    assert "offset 6, on line 2" in failure(tmp_path, b"a,b\n1,\xc3")


@pytest.mark.parametrize("tail", ["", "9,9,9\n" * 3])
@pytest.mark.parametrize(
    ("row", "fields"), [("1", 1), ("1,2", 2), ("1,2,3,4", 4), ("1,2,3,", 4), ('"x,y",2', 2), ('"x\n,y",2', 2)]
)
def test_ragged_row_names_its_line(tmp_path: Path, row: str, fields: int, tail: str) -> None:
    message = failure(tmp_path, f'a,b,c\n1,2,\n"x,\ny",,\n\n{row}\n{tail}')
    assert f"Line 6 of {tmp_path}" in message
    assert f"has {fields} field" in message
    assert "header has 3 fields" in message


def test_a_long_and_a_short_row_do_not_cancel(tmp_path: Path) -> None:
    assert "Line 2" in failure(tmp_path, "a,b,c\n1,2\n1,2,3,4\n")
    assert "Line 2" in failure(tmp_path, "a,b,c\n1,2,3,4\n1,2\n")


def test_values_never_show_in_messages(tmp_path: Path) -> None:
    for content in ("a,b\nsecret\n", "a,b\nsecret,1,2\n", 'a,b\n1,"secret\n', 'a,b\n"secret"x,1\n'):
        assert "secret" not in failure(tmp_path, content)


@pytest.mark.parametrize("row", ['1,"2', '"x"y,2', '5" pipe,2', '1,"y" '])
def test_bad_quoting_names_its_line(tmp_path: Path, row: str) -> None:
    message = failure(tmp_path, f"a,b\n1,2\n{row}\n3,4\n")
    assert f"Line 3 of {tmp_path}" in message
    assert "quotation marks" in message


def test_header_that_does_not_end(tmp_path: Path) -> None:
    assert "does not end" in failure(tmp_path, 'a,"b\n1,2\n')
    assert "does not end" in failure(tmp_path, "x" * 2_000_000)


def test_carriage_returns_alone(tmp_path: Path) -> None:
    assert "carriage return" in failure(tmp_path, "a,b\r1,2\r")


def test_a_carriage_return_within_a_line_is_a_character(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path, "a,b\nx\ry,\n\n1,2\n")).rows() == [("x\ry", None), ("1", "2")]


def test_nul_byte(tmp_path: Path) -> None:
    message = failure(tmp_path, b"a,b\n1,2\n3\0,4\n")
    assert "NUL byte at offset 9, on line 3" in message


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"PK\x03\x04", "Excel"),
        (b"PAR1xxxx", "parquet"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-16"),
    ],
)
def test_other_formats_by_the_wrong_name(tmp_path: Path, content: bytes, finding: str) -> None:
    assert finding in failure(tmp_path, content)


FIELDS = st.text(alphabet='ab",;\n\t| é', max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(FIELDS, min_size=2, max_size=4), min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_reads_what_the_csv_module_wrote_or_names_the_line(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str
) -> None:
    """The twin: Python's own csv module; rows of another length than the header's three are an error."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerows([["a", "b", "c"], *rows])
    path = write(tmp_path_factory.mktemp("twin"), text.getvalue())
    ragged = next((place for place, row in enumerate(rows) if len(row) != 3), None)
    if ragged is None:
        assert read_frame(path).rows() == [tuple(value or None for value in row) for row in rows]
        return
    line = 2 + sum("\n".join(row).count("\n") - len(row) + 1 + 1 for row in rows[:ragged])
    with pytest.raises(DataError, match=rf"^Line {line} of .* has {len(rows[ragged])} fields"):
        read_frame(path)
