"""Comparing a csv file cell by cell, against the text that Polars writes for the whole table."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.background import known
from sfumato.engine.parts import Parts, compress, write_parts
from sfumato.kernel import csv_rows
from sfumato.kernel.csv_rows import BEYOND, CsvCells, length_of_rows, same_rows
from sfumato.release.files import csv_cells, csv_twin
from sfumato.release.files.csv_twin import same_bytes, same_values
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
def room_for(number: int) -> Iterator[None]:
    """Compare so many bytes at a time, about."""
    before, csv_rows._ROOM = csv_rows._ROOM, number
    try:
        yield
    finally:
        csv_rows._ROOM = before


@given(frames(), st.sampled_from(OUTPUTS), st.integers(1, 40), st.integers(1, 90), MANY, st.data())
@examples(500)
def test_cell_by_cell(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    output: OutputEntry | None,
    cells: int,
    room: int,
    many: int,
    data: st.DataObject,
) -> None:
    text = csv_of(frame, output).write_csv().encode()
    content = data.draw(files(text))
    file = tmp_path_factory.getbasetemp() / "cells.csv"
    file.write_bytes(content)
    with room_for(room):
        assert same_bytes(file, frame, output, cells, many) == (content == text)


@given(frames(30), st.integers(1, 9), st.sampled_from(OUTPUTS), st.integers(1, 40), st.integers(1, 90), MANY, st.data())
@examples(100)
def test_part_by_part(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    step: int,
    output: OutputEntry | None,
    cells: int,
    room: int,
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
    with room_for(room):
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


def blocks_of(frame: pl.DataFrame, cells: int) -> list[tuple[int, int]]:
    """Where each block of a csv file starts and ends."""
    blocks, found = csv_twin._Blocks(csv_twin._blocks_of([frame], None, cells, 0)), []
    while (block := blocks.take()) is not None:
        found.append((block.start, block.start + block.length))
    return found


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_and_the_last_byte_of_every_block_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Cells with line ends and quotes stand where one block ends and the next begins; the last block is short."""
    monkeypatch.setattr(csv_twin, "_THREADS", threads)
    words = pl.Enum(["a\nb", 'c"\n', "d"])
    frame = pl.DataFrame({"w": pl.Series(["a\nb", 'c"\n', "d", "a\nb", "d"], dtype=words), "x": [1, 22, 333, 4, 5]})
    text, file = frame.write_csv().encode(), tmp_path / "data.csv"
    ends = blocks_of(frame, 4)
    assert [text[start:end].count(b",") for start, end in ends] == [1, 2, 2, 1]
    assert (ends[0][0], ends[-1][1]) == (0, len(text))
    for at in {place for start, end in ends for place in (start, end - 1)}:
        file.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
        assert not same_bytes(file, frame, None, 4, 0)
    for other in (text[:-1], text + b"\n", text[1:], text + text, b""):
        file.write_bytes(other)
        assert not same_bytes(file, frame, None, 4, 0)
    file.write_bytes(text)
    assert same_bytes(file, frame, None, 4, 0)


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
    monkeypatch.setattr(csv_twin, "same_rows", lambda *args: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        same_bytes(file, wide(), None, 1 << 10, 0)


@pytest.mark.parametrize("first", [True, False])
def test_a_difference_is_found_by_whichever_thread_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """One thread takes all blocks: the other one, or this one."""
    if first:
        monkeypatch.setattr(csv_twin, "in_background", lambda work, *args: known(work(*args)))
    else:
        monkeypatch.setattr(csv_twin, "in_background", lambda work, *args: known(True))
    frame, file = wide(300), tmp_path / "data.csv"
    text = frame.write_csv()
    file.write_text(text)
    assert same_bytes(file, frame, None, 100, 0)
    file.write_text(text[:-2] + "?\n")
    assert not same_bytes(file, frame, None, 100, 0)


@pytest.mark.parametrize("room", [1, 5, 1 << 16])
def test_a_text_that_is_shorter_or_longer_than_the_rows_differs(room: int) -> None:
    cells = CsvCells(np.frombuffer(b"1,2,a\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.array([2, 2, 2]))
    codes = np.array([[0, 1, 1], [2, 2, 2]], np.uint32)
    text = b"1,a\n2,a\n2,a\n"
    assert length_of_rows(codes, cells) == len(text)
    with room_for(room):
        for other in (text, text[:-1], text[:4], b"", text + b"\0", text + b"2,a\n"):
            assert same_rows(codes, cells, 4, np.frombuffer(other, np.uint8)) == (other == text)


def test_what_is_left_in_the_room_does_not_stand_in_for_a_file_that_ends(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"a,b")
    with (tmp_path / "data.csv").open("rb", buffering=0) as file:
        assert csv_twin._same_block(file, memoryview(bytearray(3)), csv_twin._Block(0, 3, b"a,b"))
        assert not csv_twin._same_block(file, memoryview(bytearray(b"a,b\n")), csv_twin._Block(0, 4, b"a,b\n"))
