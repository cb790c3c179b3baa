"""A csv file written from the numbers of its cells is the one that Polars writes."""

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.release.files import csv_file
from sfumato.release.files.spreadsheet import csv_of
from strategies import examples

WORDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40),
    st.sampled_from(
        ["*", "^.*$", "", '"', ",", "\n", '""', 'a"b,c\nd', "=1", "-", "[20, 40)", "x" * 15, "x" * 16, "x" * 17]
    ),
)


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pl.Series:
    """A column of labels, text, numbers, dates or truth values, with missing ones."""
    kind = draw(st.sampled_from(["labels", "text", "whole", "decimal", "date", "truth"]))
    values: st.SearchStrategy[Any] = {
        "text": WORDS,
        "whole": st.integers(-(2**63), 2**63 - 1),
        "decimal": st.floats(),
        "date": st.dates(date(1, 1, 1)),
        "truth": st.booleans(),
    }.get(kind, WORDS)
    if kind != "labels":
        return pl.Series(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), dtype=_TYPES[kind])
    words = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    shown = draw(st.lists(st.none() | st.sampled_from(words), min_size=rows, max_size=rows))
    return pl.Series(shown, dtype=pl.Enum(words))


_TYPES = {"text": pl.String, "whole": pl.Int64, "decimal": pl.Float64, "date": pl.Date, "truth": pl.Boolean}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """A few rows of a few columns."""
    rows, names = draw(st.integers(0, 12)), draw(st.lists(WORDS, min_size=1, max_size=4, unique=True))
    return pl.DataFrame([draw(columns(rows)).alias(name) for name in names])


def written(parts: Sequence[pl.DataFrame], output: Any, many: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.csv"
        found = csv_file.write_csv(file, parts, output, many)
        assert found == hashlib.sha256(file.read_bytes()).hexdigest()
        return file.read_bytes()


@given(frames(), st.sampled_from([None, {"spreadsheet": "plain"}, {"spreadsheet": "safe"}]), st.data())
@examples(150)
def test_a_file_has_the_bytes_that_polars_writes(frame: pl.DataFrame, output: Any, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, frame.height))
    naive = csv_of(frame, output).write_csv().encode()
    with pytest.MonkeyPatch.context() as patch:  # blocks that end within the frame, and cells that span several words
        patch.setattr(csv_file, "_BYTES", data.draw(st.integers(1, 60)))
        patch.setattr(csv_file, "_CELLS", data.draw(st.integers(1, 30)))
        assert written([frame], output, 0) == naive
        assert written([frame[:cut], frame[cut:]], output, data.draw(st.sampled_from([0, 5, 100]))) == naive


def test_a_large_table_is_written_in_blocks_and_hashed() -> None:
    frame = pl.DataFrame(
        {"a": pl.Series(["x", "y, z", None] * 400_000, dtype=pl.Enum(["x", "y, z"])), "b": range(1_200_000)}
    )
    assert written([frame], None, 1) == frame.write_csv().encode()
