"""Comparing a csv file cell by cell, against the text that Polars writes for the whole table."""

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.background import Later, known
from sfumato.engine.parts import Parts, compress, write_parts
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.kernel import csv_rows
from sfumato.kernel.code_columns import CodeColumns
from sfumato.kernel.csv_match import same_rows
from sfumato.kernel.csv_rows import BEYOND, CsvCells, CsvRows
from sfumato.release.files import csv_cells, csv_twin, csv_window
from sfumato.release.files.csv_file import write_csv
from sfumato.release.files.csv_twin import same_bytes, same_values
from sfumato.release.files.csv_window import CsvWindow
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry
from strategies import examples

SIGNS = st.sampled_from(list("ab,\"\n\r;'=+-@ \t0.é☃𝔄\0#"))
TEXTS = st.one_of(st.text(SIGNS, max_size=5), st.text(SIGNS, min_size=29, max_size=70))
WORDS = st.lists(TEXTS, min_size=1, max_size=5, unique=True)
DAYS = st.dates(dt.date(1890, 1, 1), dt.date(2100, 12, 31))
KINDS: dict[str, tuple[pl.DataType, st.SearchStrategy[object]]] = {
    "text": (pl.String(), TEXTS),
    "category": (pl.Categorical(), st.sampled_from(["a", 'b"', "c,d"])),
    "number": (pl.Int64(), st.integers(-(2**63), 2**63 - 1)),
    "byte": (pl.UInt8(), st.integers(0, 255)),
    "float": (pl.Float64(), st.floats()),
    "single": (pl.Float32(), st.floats(width=32)),
    "decimal": (pl.Decimal(20, 3), st.decimals(-9999, 9999, places=3)),
    "day": (pl.Date(), DAYS),
    "time": (pl.Datetime("us"), st.datetimes(dt.datetime(1890, 1, 1), dt.datetime(2100, 1, 1))),
    "truth": (pl.Boolean(), st.booleans()),
}
OUTPUTS: list[OutputEntry | None] = [None, {"spreadsheet": "plain"}, {"spreadsheet": "safe"}]


@st.composite
def columns(draw: st.DrawFn, rows: int, name: str) -> pl.Series:
    """A column of any type; mostly of words that it lists, with missing values in some."""
    kind = draw(st.sampled_from(["words"] * 8 + list(KINDS)))
    if kind == "words":
        words = draw(WORDS)
        dtype, values = pl.Enum(words), st.sampled_from(words)
    else:
        dtype, values = KINDS[kind]
    cells = st.one_of(values, st.none()) if draw(st.booleans()) else values
    return pl.Series(name, draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=dtype, strict=False)


@st.composite
def frames(draw: st.DrawFn, longest: int = 12) -> pl.DataFrame:
    """A table of one to five columns; their names need quotes, too."""
    names = draw(st.lists(st.text(SIGNS, min_size=1, max_size=3), min_size=1, max_size=5, unique=True))
    rows = draw(st.integers(0, longest))
    return pl.DataFrame([draw(columns(rows, name)) for name in names])


def _other_byte(draw: st.DrawFn, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + bytes([text[at] ^ draw(st.integers(1, 255))]) + text[at + 1 :]


def _other_order(draw: st.DrawFn, text: bytes) -> bytes:
    first, *rows = text.splitlines(keepends=True)
    return first + b"".join(draw(st.permutations(rows)))


def _without_some(draw: st.DrawFn, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text) - 1))
    return text[:at] + text[at + draw(st.integers(1, 3)) :]


CHANGES: list[Callable[[st.DrawFn, bytes], bytes]] = [
    lambda draw, text: text,
    _other_byte,
    _other_byte,
    _other_order,
    _without_some,
    lambda draw, text: text[:-1],  # without the last line end
    lambda draw, text: text[: draw(st.integers(0, len(text)))],
    lambda draw, text: text + draw(st.sampled_from([b"\n", b"\0", b"\0" * 40, b"a", text])),
    lambda draw, text: text.replace(b"\n", b"\r\n"),
]


@st.composite
def files(draw: st.DrawFn, text: bytes) -> bytes:
    """The content of a file: the text, or one that differs a little."""
    return draw(st.sampled_from(CHANGES))(draw, text)


MANY = st.sampled_from([0, 0, 0, 4, 99])
"""A frame of fewer rows is written by Polars."""


@contextmanager
def reading(chunk: int) -> Iterator[pytest.MonkeyPatch]:
    """Read about so many bytes of the file at a time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_window, "CHUNK", chunk)
        yield patched


@contextmanager
def limits(data: st.DataObject, chunk: int) -> Iterator[None]:
    """Read about so many bytes of the file at a time; list, combine and write few or many bytes of words."""
    with reading(chunk) as patched:
        for name in ("_ROW_BYTES", "_LISTED_BYTES", "_TOGETHER_BYTES"):
            patched.setattr(csv_cells, name, data.draw(st.sampled_from([1, 20, 150, 1 << 26]), name))
        yield


@given(frames(), st.sampled_from(OUTPUTS), st.integers(1, 40), st.sampled_from([1, 9, 100, 1 << 21]), MANY, st.data())
@examples(500)
def test_cell_by_cell(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    output: OutputEntry | None,
    cells: int,
    chunk: int,
    many: int,
    data: st.DataObject,
) -> None:
    text = csv_of(frame, output).write_csv().encode()
    content = data.draw(files(text))
    file = tmp_path_factory.getbasetemp() / "cells.csv"
    file.write_bytes(content)
    with limits(data, chunk):
        assert same_bytes(file, frame, output, cells, many) == (content == text)


@given(frames(30), st.integers(1, 9), st.sampled_from(OUTPUTS), st.integers(1, 40), MANY, st.data())
@examples(100)
def test_part_by_part(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    step: int,
    output: OutputEntry | None,
    cells: int,
    many: int,
    data: st.DataObject,
) -> None:
    """Parts one after the other, each with words of its own if it is small."""
    folder = tmp_path_factory.mktemp("parts")
    written = write_parts([frame.slice(i, step) for i in range(0, max(frame.height, 1), step)], folder)
    parts = Parts(written, frame.schema, frame.height, pl.DataFrame(), np.zeros(0, np.int64))
    text = csv_of(frame, output).write_csv().encode()
    content = data.draw(files(text))
    (folder / "data.csv").write_bytes(content)
    with limits(data, data.draw(st.sampled_from([1, 50, 1 << 21]))):
        assert same_bytes(folder / "data.csv", parts, output, cells, many) == (content == text)


def wide(rows: int = 5000) -> pl.DataFrame:
    """Columns that are compared together and alone, by their words and row by row; with the longest rows at the end."""
    rng = np.random.default_rng(5)
    few, many = [f"{c}, {c}" for c in "abcdefgh"], [f"w{n}" * (n % 40 + 1) for n in range(1500)]
    return pl.DataFrame(
        {
            "few": pl.Series(rng.choice(few, rows)).cast(pl.Enum(few)),
            "other": pl.Series(rng.choice(few, rows)).cast(pl.Enum([*few, "never"])),
            "many": pl.Series(rng.choice(many, rows)).cast(pl.Enum(many)),
            "sum": rng.normal(size=rows),
            "text": ["t" * (n * n // rows) for n in range(rows)],
            "last": pl.Series([None, *rng.choice(few, rows - 1)]).cast(pl.Enum(few)),
        }
    )


def test_every_byte_counts(tmp_path: Path) -> None:
    frame = wide()
    text = bytearray(frame.write_csv().encode())
    file = tmp_path / "data.csv"
    rng = np.random.default_rng(6)
    for at in [*range(40), *rng.integers(0, len(text), 60).tolist(), *range(len(text) - 20, len(text))]:
        text[at] ^= 1
        file.write_bytes(text)
        assert not same_bytes(file, frame, None, 1 << 12, 0)
        text[at] ^= 1
    file.write_bytes(text)
    assert same_bytes(file, frame, None, 1 << 12, 0)
    assert not same_bytes(file, frame.reverse(), None, 1 << 12, 0)


def test_columns_are_compared_together_where_they_have_few_combinations() -> None:
    runs = csv_cells._runs(wide())
    assert [run.names for run in runs] == [("few", "other"), ("many",), ("sum", "text"), ("last",)]
    assert [run.sizes for run in runs] == [(8, 9), (1500,), (), (9,)]


def test_a_long_word_is_written_once_not_with_each_of_the_others() -> None:
    """Else a file of some kilobytes needs gigabytes: the words would be as many and as long as a forger likes."""
    others = [f"{n}" for n in range(900)]
    other = pl.Series("other", others * 2, dtype=pl.Enum(others))
    short = pl.DataFrame([pl.Series("one", ["x" * 5000] * 1800, dtype=pl.Enum(["x" * 5000])), other])
    assert [run.names for run in csv_cells._runs(short)] == [("one",), ("other",)]
    few = short.with_columns(pl.lit("y").cast(pl.Enum(["y"])).alias("one"))
    assert [run.names for run in csv_cells._runs(few)] == [("one", "other")]


def test_words_of_more_bytes_are_written_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_cells, "_LISTED_BYTES", 120)
    assert [run.sizes for run in csv_cells._runs(wide())] == [(8, 9), (), (9,)]


def test_rows_with_much_text_are_taken_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_cells, "_ROW_BYTES", 1000)
    texts = ["a" * n for n in (10, 990, 1, 5000, 600, 600, 0, 0, 700)]
    coded = csv_cells.CodedFrame(pl.DataFrame({"x": [1.5] * 9, "text": texts}), None)
    ranges = coded.ranges(1, 9)
    assert [row for some in ranges for row in some] == [*range(1, 9)]
    assert all(sum(len(texts[row]) for row in some[1:]) <= 1000 for some in ranges)
    assert coded.ranges(6, 8) == [range(6, 8)]
    assert coded.ranges(3, 3) == [range(3, 3)]


def test_more_text_than_a_place_can_tell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place has 32 bits for where a cell begins: beyond 4 GiB it would be another cell, and a forgery would pass."""
    much = np.broadcast_to(np.uint8(0), 2**32 + 64)
    with pytest.raises(SfumatoError, match="cannot be written"):
        CsvCells.at(much, np.array([0, 2**32]), np.array([4, 4]))
    assert CsvCells.at(much[: 2**32 - 1], np.array([2**32 - 5]), np.array([4])).places.tolist() == [
        (2**32 - 5) << 32 | 4
    ]
    csv_rows.refuse_much_text(2**32 - 1)
    with pytest.raises(SfumatoError, match="cannot be written"):
        csv_rows.refuse_much_text(2**32)
    monkeypatch.setattr(csv_rows, "_LENGTHS", 10_000)
    monkeypatch.setattr(csv_cells, "_TOGETHER_BYTES", 1)
    frame = pl.DataFrame([pl.Series(name, ["x" * 2000] * 9, dtype=pl.Enum(["x" * 2000])) for name in "abcdef"])
    with pytest.raises(SfumatoError, match="cannot be written"):  # each cell could be; all of them are too many
        csv_cells.CodedFrame(frame, None)


@pytest.mark.parametrize(("kind", "many"), [("write", 0), ("compare", 0), ("compare", 99)])
@pytest.mark.parametrize("dtype", [pl.String(), pl.Categorical(), pl.Enum([*(c * 400 for c in "abcdefghij"), "k"])])
def test_text_is_made_of_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, many: int, dtype: pl.DataType
) -> None:
    """A long word in many rows is in memory once; as text it would be there as often as it is shown."""
    monkeypatch.setattr(csv_cells, "_ROW_BYTES", 1000)
    frame = pl.DataFrame({"t": pl.Series([c * 400 for c in "abcdefghij"], dtype=dtype)})
    file, seen = tmp_path / "data.csv", []
    file.write_bytes(frame.write_csv().encode())

    def counted(given: pl.DataFrame, output: OutputEntry | None) -> pl.DataFrame:
        seen.append(given.height)
        return csv_of(given, output)

    monkeypatch.setattr(csv_cells, "csv_of", counted)
    monkeypatch.setattr(csv_twin, "csv_of", counted)
    if kind == "compare":
        assert same_bytes(file, frame, None, many=many)
    else:
        write_csv(tmp_path / "other.csv", [frame], None, many=0)
        assert (tmp_path / "other.csv").read_bytes() == file.read_bytes()
    assert sum(seen) == 10
    assert max(seen) <= 3


def test_the_bytes_of_each_row_are_those_of_its_word() -> None:
    texts = ["é", None, "bb", "é", ""]
    for dtype in (pl.String(), pl.Categorical(), pl.Enum(["", "never", "bb", "é"])):
        assert csv_cells.text_bytes(pl.Series("^$", texts, dtype=dtype)).tolist() == [2, 0, 2, 2, 0]
    assert csv_cells.text_bytes(pl.Series([None, None], dtype=pl.Enum([]))).tolist() == [0, 0]


def test_text_that_the_file_cannot_hold_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"t": pl.Series(["a" * 500] * 50, dtype=pl.Enum(["a" * 500]))})
    file = tmp_path / "data.csv"
    file.write_text("t\na\n")
    monkeypatch.setattr(pl, "scan_csv", lambda *args, **kwargs: 1 // 0)
    assert not same_values(file, frame, None)


def test_many_columns_of_one_word() -> None:
    """Neighbours are written together, but not so many that NumPy cannot number their combinations."""
    frame = pl.DataFrame([pl.Series(f"c{n}", ["a"] * 3, dtype=pl.Enum(["a"])) for n in range(200)])
    runs = csv_cells._runs(frame)
    assert [name for run in runs for name in run.names] == frame.columns
    assert max(len(run.names) for run in runs) == 32
    assert len(runs) == 7
    csv_cells.CodedFrame(frame, None)


def test_all_columns_share_the_bytes_of_listed_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_cells, "_LISTED_BYTES", 10)
    words = pl.Enum(["a" * 8])
    frame = pl.DataFrame([pl.Series(name, ["a" * 8] * 3, dtype=words) for name in "ab"])
    assert [run.sizes for run in csv_cells._runs(frame)] == [(1,), ()]


def test_a_name_that_is_a_pattern_is_a_name(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    for dtype in (pl.String(), pl.Enum(["a", "b"])):
        frame = pl.DataFrame([pl.Series(name, ["a", "b", "a"], dtype=dtype) for name in ("^$", "^a$", "*")])
        file.write_bytes(frame.write_csv().encode())
        assert same_bytes(file, frame, None, many=0)
        write_csv(tmp_path / "other.csv", [frame], None, many=0)
        assert (tmp_path / "other.csv").read_bytes() == file.read_bytes()


@pytest.mark.usefixtures("threads")
def test_rows_that_may_be_long_are_read_many_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits to be compared is moved with each reading: a long word that no row shows must not cost much more."""
    reads: list[int] = []
    fill = CsvWindow._fill

    def counted(self: CsvWindow, room: np.ndarray, begin: int) -> None:
        reads.append(len(room))
        fill(self, room, begin)

    monkeypatch.setattr(CsvWindow, "_fill", counted)
    monkeypatch.setattr(csv_window, "CHUNK", 10)
    frame = pl.DataFrame({"w": pl.Series(["a"] * 5000, dtype=pl.Enum(["a", "b" * 500]))})
    file = tmp_path / "data.csv"
    file.write_text(frame.write_csv())
    assert same_bytes(file, frame, None, many=0)
    assert sum(reads) < 2 * 10_002
    assert len(reads) <= 10_002 // 500 + 6


def test_a_value_that_is_written_in_another_way_is_read(tmp_path: Path) -> None:
    """Not byte for byte: the last resort is to read the file again."""
    frame = pl.DataFrame({"word": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), "x": [1.5, 2.0]})
    file = tmp_path / "data.csv"
    file.write_text('word,x\n"a",1.50\nb,2\n')
    assert not same_bytes(file, frame, None, 9, 0)
    assert same_values(file, frame, None)
    counted, weights = compress(frame.select("word"))
    parts = Parts(write_parts([frame[:1], frame[1:]], tmp_path), frame.schema, 2, counted, weights)
    assert same_values(file, parts, None)
    file.write_text('word,x\n"a",1.50\nb,2\nb,2\n')
    assert not same_values(file, frame, None)
    assert not same_values(file, parts, None)


def test_a_later_part_may_have_longer_words(tmp_path: Path) -> None:
    """The first part is smaller than its list of words and compared row by row; the second needs room for all."""
    words = pl.Enum(["a", "b" * 199, "c" * 500])
    frames = [pl.DataFrame({"w": pl.Series(w, dtype=words)}) for w in (["b" * 199, "a"], ["a"] * 9)]
    counted, weights = compress(pl.concat(frames))
    parts = Parts(write_parts(frames, tmp_path), frames[0].schema, 11, counted, weights)
    text = pl.concat(frames).write_csv()
    file = tmp_path / "data.csv"
    file.write_text(text)
    assert same_bytes(file, parts, None, 100, 0)
    file.write_text(text[:-2])
    assert not same_bytes(file, parts, None, 100, 0)


@pytest.fixture(params=["both", "from the start", "from the end"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both threads compare, or one of them takes all rows."""
    if request.param == "from the start":
        monkeypatch.setattr(csv_twin, "in_background", lambda work, *args, **kwargs: known(work(*args, **kwargs)))
    if request.param == "from the end":
        monkeypatch.setattr(
            csv_twin, "in_background", lambda work, *args, **kwargs: Later(lambda: work(*args, **kwargs))
        )


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("cells", [2, 4, 99])
@pytest.mark.parametrize("many", [0, 99])
def test_every_byte_of_every_block_counts(tmp_path: Path, cells: int, many: int) -> None:
    """Cells with line ends and quotes stand where one block ends and the next begins."""
    words = pl.Enum(["a\nb", 'c"\n', "d" * 70])
    frame = pl.DataFrame(
        {"w": pl.Series(["a\nb", 'c"\n', "d" * 70, "a\nb", "d" * 70], dtype=words), "x": [1, 22, 333, 4, 5]}
    )
    text, file = frame.write_csv().encode(), tmp_path / "data.csv"
    for at in range(len(text)):
        file.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        assert not same_bytes(file, frame, None, cells, many)
    for other in (text[:-1], text + b"\n", text[1:], text + text, b"", text[:-6] + text[-3:], text[:6] + text[4:]):
        file.write_bytes(other)
        assert not same_bytes(file, frame, None, cells, many)
    file.write_bytes(text)
    assert same_bytes(file, frame, None, cells, many)


@pytest.mark.usefixtures("threads")
def test_parts_that_were_changed_after_they_were_read_are_refused(tmp_path: Path) -> None:
    """Otherwise the threads, each of which knows one end of the table, would not miss rows in the middle."""
    frame = pl.DataFrame({"x": [1, 2, 3, 4]})
    parts = Parts(write_parts([frame[:2], frame[2:]], tmp_path), frame.schema, 4, frame[:0], np.zeros(0, int))
    file = tmp_path / "data.csv"
    file.write_text(frame.write_csv())
    assert same_bytes(file, parts, None, 1, 0)
    for other in (pl.DataFrame({"x": [1, 2, 9]}), pl.DataFrame({"x": [1]})):
        other.write_parquet(parts.files[0])
        with pytest.raises(ReleaseError, match="changed after"):
            same_bytes(file, parts, None, 1, 0)
    parts.files[0].write_bytes(b"no parquet")
    with pytest.raises(ReleaseError, match="changed after"):
        same_bytes(file, parts, None, 1, 0)
    parts.files[0].unlink()
    with pytest.raises(ReleaseError, match="changed after"):
        same_bytes(file, parts, None, 1, 0)


@pytest.mark.usefixtures("threads")
def test_a_table_in_parts_is_compared_from_both_ends(tmp_path: Path) -> None:
    frame = wide(300)
    parts = Parts(
        write_parts([frame[:90], frame[90:91], frame[91:]], tmp_path), frame.schema, 300, frame[:0], np.zeros(0, int)
    )
    text, file = frame.write_csv().encode(), tmp_path / "data.csv"
    file.write_bytes(text)
    assert same_bytes(file, parts, None, 100, 0)
    for at in (0, 99, len(text) // 3, len(text) // 2, len(text) - 1):
        file.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        assert not same_bytes(file, parts, None, 100, 0)


def test_a_table_without_rows_is_its_header(tmp_path: Path) -> None:
    frame, file = pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}), tmp_path / "data.csv"
    for many in (0, 1):
        file.write_text("a\n")
        assert same_bytes(file, frame, None, many=many)
        file.write_text("a\n1\n")
        assert not same_bytes(file, frame, None, many=many)


def test_an_error_of_one_thread_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "data.csv"
    file.write_text(wide().write_csv())
    monkeypatch.setattr(csv_twin, "same_rows", lambda *args, **kwargs: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        same_bytes(file, wide(), None, 1 << 10, 0)


TEXT = st.text(st.sampled_from("ab\n"), min_size=1, max_size=3)
WIDTHS = (np.uint8, np.uint16, np.uint32, np.int64)


def as_rows(codes: np.ndarray, cells: CsvCells, skipped: int, own: bool) -> CsvRows:
    """Rows after some others, given the cell of each in each run (a line per run); ``own``: in the last run each row
    has its own cell, a copy. Otherwise the last run has two columns."""
    filled = np.zeros((len(codes), skipped), np.int64)
    columns = [*np.append(filled, codes, axis=1)]
    worths, ends = [1] * len(columns), [*range(1, len(columns) + 1)]
    starts = [0] * len(columns)
    if own:
        starts[-1] = len(cells.places)
        cells = CsvCells(cells.text, np.append(cells.places, cells.places[columns.pop()[skipped:]]))
        ends[-1] -= 1
        worths.pop()
    else:
        halves = columns.pop()
        columns += [halves // 2, halves % 2]
        worths = [*worths[:-1], 2, 1]
        ends[-1] += 1
    typed = [codes.astype(WIDTHS[at % len(WIDTHS)]) for at, codes in enumerate(columns)]
    longest = len(ends) * int(cells.length.max())
    return CsvRows(
        cells,
        CodeColumns(typed),
        np.array(worths, np.uint32),
        np.array(ends),
        np.array(starts, np.uint32),
        skipped,
        longest,
    )


@given(
    st.lists(st.one_of(TEXT, st.integers(60, 140).map(lambda n: "a" * n)), min_size=1, max_size=4),
    st.integers(0, 9),
    st.integers(1, 3),
    st.integers(0, 80),
    st.integers(0, 80),
    st.booleans(),
    st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from([1, 2, 4, 1024])),
    st.data(),
)
@examples(500)
def test_rows_in_the_middle_of_a_text(
    words: list[str],
    rows: int,
    columns: int,
    before: int,
    after: int,
    backwards: bool,
    way: tuple[int, bool, int],
    data: st.DataObject,
) -> None:
    """Cells of up to several times the bytes that are compared at once, wherever the text begins and ends."""
    skipped, own, tile = way
    length = np.array([len(word) for word in words])
    joined = np.frombuffer("".join(words).encode() + bytes(BEYOND), np.uint8)
    cells = CsvCells.at(joined, np.cumsum(length) - length, length)
    place = st.integers(0, len(words) - 1)
    codes = np.array(data.draw(st.lists(place, min_size=rows * columns, max_size=rows * columns)), np.uint32)
    codes = codes.reshape(columns, rows)
    wanted = "".join(words[code] for code in codes.T.ravel()).encode()
    middle = data.draw(files(wanted)) if wanted else b""
    text = b"b" * before + middle + b"b" * after
    at = before + len(middle) if backwards else before
    here = text[max(at - len(wanted), 0) : at] if backwards else text[at : at + len(wanted)]
    end = (at - len(wanted) if backwards else at + len(wanted)) if here == wanted else None
    given = as_rows(codes, cells, skipped, own)

    def found(there: bytes, at: int, *, more: bool = False) -> tuple[int, int] | None:
        """With the wanted text around it: what lies outside of the text does not count."""
        around = np.frombuffer(wanted + there + wanted + bytes(BEYOND), np.uint8)[len(wanted) :]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(csv_rows, "TILE", tile)
            last = skipped + rows
            return same_rows(given, skipped, last, around, at, len(there), more=more, backwards=backwards)

    assert found(text, at) == (None if end is None else (0, end))
    cut = data.draw(st.integers(0, len(wanted)))
    some = wanted[cut:] if backwards else wanted[: len(wanted) - cut]
    at = len(some) if backwards else 0
    assert found(some, at) == (None if cut else (0, 0 if backwards else len(wanted)))
    begun = found(some, at, more=True)  # as many rows as are surely there
    assert begun is not None
    left, place = begun
    assert 0 <= left <= rows
    assert (place if backwards else len(some) - place) < given.longest or not left
    lengths = length[codes].sum(axis=0)
    compared = lengths[left:] if backwards else lengths[: rows - left]
    assert place == (at - compared.sum() if backwards else compared.sum())


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 64, 1 << 21])
def test_the_bytes_of_a_file_come_one_after_the_other(tmp_path: Path, backwards: bool, chunk: int) -> None:
    file, text = tmp_path / "data.csv", bytes(range(256)) * 5
    file.write_bytes(text)
    left = text
    with CsvWindow(file, backwards=backwards) as window, reading(chunk):
        for number in (0, 1, 100, 3, 700, 76, 400):
            wrong = b"x" * number
            assert window.passes(wrong) == (not number)
            some, left = (
                (left[len(left) - number :], left[: len(left) - number])
                if backwards
                else (left[:number], left[number:])
            )
            assert window.passes(some)
            assert window.at == (len(left) if backwards else len(text) - len(left))
            assert len(window.bytes) <= 2 * max(chunk, 700) + BEYOND
        assert not left
        assert not window.more
        assert not window.passes(b"x")


def test_a_file_that_becomes_shorter_meanwhile_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(bytes(100))
    with CsvWindow(file, backwards=True) as window:
        file.write_bytes(b"")
        with pytest.raises(ReleaseError, match="became shorter while it was read"):
            window.passes(bytes(10))


_EVERYWHERE = """
import numpy as np
from sfumato.kernel.code_columns import CodeColumns
from sfumato.kernel.csv_match import same_rows
from sfumato.kernel.csv_rows import BEYOND, CsvCells, CsvRows

for length in (1, 2, 63, 64, 65, 128, 130):
    cells = CsvCells.at(np.arange(length + BEYOND, dtype=np.uint8), np.zeros(1, np.int64), np.array([length]))
    row = np.arange(length, dtype=np.uint8)
    for before, after in ((b, a) for b in (0, 1, 64, 200) for a in (0, 1, 63, 64, 200)):
        text = np.concatenate([np.zeros(before, np.uint8), row, row, np.zeros(after + BEYOND, np.uint8)])
        end, all_of_it = before + 2 * length, len(text) - BEYOND
        one, zero = np.ones(1, np.uint32), np.zeros(1, np.uint32)
        rows = CsvRows(cells, CodeColumns([np.zeros(2, np.uint16)]), one, np.array([1]), zero, 0, length)
        assert same_rows(rows, 0, 2, text, before, all_of_it) == (0, end)
        assert same_rows(rows, 0, 2, text, end, all_of_it, backwards=True) == (0, before)
        text[end - 1] ^= 1
        assert same_rows(rows, 0, 2, text, before, all_of_it) is None
        assert same_rows(rows, 0, 2, text, end, all_of_it, backwards=True) is None
print("all within the text")
"""


def test_nothing_beyond_the_text_is_read() -> None:
    """Without compilation an index outside of an array is an error."""
    told = subprocess.run(
        [sys.executable, "-c", _EVERYWHERE],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.stdout == "all within the text\n", told.stderr


def test_an_empty_file_holds_no_table(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"")
    for many in (0, 99):
        assert not same_bytes(tmp_path / "data.csv", pl.DataFrame({"a": [1], "b": [2]}), None, many=many)
