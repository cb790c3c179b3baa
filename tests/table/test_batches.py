"""Large tables in batches: the same rows and refusals as all at once, and shares that grow to the whole."""

import itertools
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.table import delimited, source
from sfumato.table.source import read_frame

FIELD = st.text(alphabet='ab,;"\n é', max_size=6)


def written(rows: list[list[str]], quote: bool) -> str:
    def cell(value: str) -> str:
        return '"' + value.replace('"', '""') + '"' if quote else value.replace("\n", "").replace('"', "")

    return "x,y,z\n" + "".join(",".join(map(cell, row)) + "\n" for row in rows)


def outcome(path: Path) -> list[tuple[object, ...]] | str:
    try:
        return read_frame(path).rows()
    except DataError as error:
        return str(error)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(FIELD, min_size=1, max_size=4), max_size=8), st.booleans())
def test_batches_are_the_same_as_all_at_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], quote: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text(written(rows, quote), newline="")
    at_once = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LARGE", 0)
        assert outcome(path) == at_once


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """A table of some batches; what is large begins at nothing."""
    monkeypatch.setattr(delimited, "LARGE", 0)
    monkeypatch.setattr(source, "LARGE", 0)
    return pl.DataFrame(
        {"name": [f"Ann {i % 977}" for i in range(400_000)], "age": [str(i % 90) for i in range(400_000)]}
    )


def grows(shares: list[float]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(shares)) and 0 < shares[0] < 0.9 and 0.95 < shares[-1] <= 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_shares_of_a_file_grow_to_the_whole(large: pl.DataFrame, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    large.write_csv(path) if ending == "csv" else large.write_parquet(path, row_group_size=50_000)
    shares: list[float] = []
    assert read_frame(path, told=shares.append).equals(large)
    assert len(shares) > 2
    assert grows(shares)


def test_shares_of_several_files_are_those_of_their_bytes(tmp_path: Path) -> None:
    for name, rows in (("a", 100), ("b", 300)):
        pl.DataFrame({"x": ["1"] * rows}).write_csv(tmp_path / f"{name}.csv")
    shares: list[float] = []
    assert read_frame(tmp_path, told=shares.append).height == 400
    assert shares == [pytest.approx(202 / 804), 1.0]


def test_a_listener_that_raises_ends_the_reading(large: pl.DataFrame, tmp_path: Path) -> None:
    large.write_csv(tmp_path / "people.csv")

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_frame(tmp_path / "people.csv", told=stop)
