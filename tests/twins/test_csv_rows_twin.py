"""Comparing a csv file cell by cell, against the text that Polars writes for the whole table."""

import datetime as dt
from collections.abc import Callable
from io import BufferedReader, BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.parts import Parts, compress, write_parts
from sfumato.release.files import csv_cells
from sfumato.release.files.csv_twin import _same_bytes, _Window, holds, holds_parts
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


@given(frames(), st.sampled_from(OUTPUTS), st.integers(1, 40), st.integers(1, 90), st.data())
@examples(500)
def test_cell_by_cell(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    output: OutputEntry | None,
    cells: int,
    read: int,
    data: st.DataObject,
) -> None:
    text = csv_of(frame, output).write_csv().encode()
    content = data.draw(files(text))
    file = tmp_path_factory.getbasetemp() / "cells.csv"
    file.write_bytes(content)
    assert _same_bytes(file, [frame], output, cells, read) == (content == text)
    if content == text:
        assert holds(file, frame, output, cells, read)


@given(frames(30), st.integers(1, 9), st.sampled_from(OUTPUTS), st.integers(1, 40), st.integers(1, 90), st.data())
@examples(100)
def test_part_by_part(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pl.DataFrame,
    step: int,
    output: OutputEntry | None,
    cells: int,
    read: int,
    data: st.DataObject,
) -> None:
    """Parts one after the other, each with words of its own if it is small."""
    folder = tmp_path_factory.mktemp("parts")
    written = write_parts([frame.slice(i, step) for i in range(0, max(frame.height, 1), step)], folder)
    parts = Parts(written, frame.schema, frame.height, pl.DataFrame(), np.zeros(0, np.int64))
    text = csv_of(frame, output).write_csv().encode()
    content = data.draw(files(text))
    (folder / "data.csv").write_bytes(content)
    assert _same_bytes(folder / "data.csv", parts.frames(), output, cells, read) == (content == text)
    if content == text:
        assert holds_parts(folder / "data.csv", parts, output, cells, read)


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
        assert not _same_bytes(file, [frame], None, 1 << 12, 1 << 14)
        text[at] ^= 1
    file.write_bytes(text)
    assert _same_bytes(file, [frame], None, 1 << 12, 1 << 14)
    assert not _same_bytes(file, [frame.reverse()], None, 1 << 12, 1 << 14)


def test_columns_are_compared_together_where_they_have_few_combinations() -> None:
    runs = csv_cells._runs(wide())
    assert [run.names for run in runs] == [("few", "other"), ("many",), ("sum", "text"), ("last",)]
    assert [run.sizes for run in runs] == [(8, 9), (1500,), (), (9,)]


def test_a_value_that_is_written_in_another_way_is_read(tmp_path: Path) -> None:
    """Not byte for byte: the last resort is to read the file again."""
    frame = pl.DataFrame({"word": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), "x": [1.5, 2.0]})
    file = tmp_path / "data.csv"
    file.write_text('word,x\n"a",1.50\nb,2\n')
    assert not _same_bytes(file, [frame], None, 9, 9)
    assert holds(file, frame, None)
    counted, weights = compress(frame.select("word"))
    parts = Parts(write_parts([frame[:1], frame[1:]], tmp_path), frame.schema, 2, counted, weights)
    assert holds_parts(file, parts, None)
    file.write_text('word,x\n"a",1.50\nb,2\nb,2\n')
    assert not holds(file, frame, None)
    assert not holds_parts(file, parts, None)


def test_a_later_part_may_have_longer_words_when_the_file_is_read_to_its_end(tmp_path: Path) -> None:
    """The first part is smaller than its list of words and compared row by row; the second needs room for all."""
    words = pl.Enum(["a", "b" * 199, "c" * 500])
    parts = [pl.DataFrame({"w": pl.Series(w, dtype=words)}) for w in (["b" * 199, "a"], ["a"] * 9)]
    text = pl.concat(parts).write_csv()
    file = tmp_path / "data.csv"
    file.write_text(text)
    assert _same_bytes(file, parts, None, 100, 100)
    file.write_text(text[:-2])
    assert not _same_bytes(file, parts, None, 100, 100)


def test_no_row_is_compared_that_does_not_fit_into_the_window() -> None:
    """The kernel does not look where the text ends."""
    window = _Window(BufferedReader(BytesIO(b"12345")), 100)  # type: ignore[arg-type]
    window.move(10)
    window.move(10)
    assert window.ended
    assert window.limit(10) == 5
    assert window.limit(10_000) == 0
    window.move(10_000)
    assert window.limit(10_000) == 5
