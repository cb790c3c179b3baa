"""People who stand alone, against counting by hand, row by row."""

from collections import Counter
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.adversary import uniqueness
from sfumato.adversary.uniqueness import LARGEST, OF_A_SIZE, PeopleTable
from sfumato.errors import PolicyError


def naive(frame: pl.DataFrame, names: tuple[str, ...]) -> int:
    rows = Counter(frame.select(names).rows()) if names else Counter([()] * frame.height)
    return sum(1 for number in rows.values() if number == 1)


cells = st.sampled_from(["a", "b", "c", None])
tables = st.lists(st.tuples(cells, cells, st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=12)


@given(tables, st.sampled_from([1 << 22, 2, 4]))
@settings(max_examples=150, deadline=None)
def test_counts_are_those_of_rows(rows: list[tuple[object, ...]], places: int) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String, "c": pl.Int64, "d": pl.Float64}, orient="row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uniqueness, "_CELLS", places)
        found = PeopleTable(frame).unique_by(["d", "a", "c", "b"])
    names = tuple(frame.columns)
    assert (found.names, found.rows, found.unique) == (names, frame.height, naive(frame, names))
    assert found.most == LARGEST
    counted = {some: naive(frame, some) for size in range(1, 4) for some in combinations(names, size)}
    telling = {
        some: number
        for some, number in counted.items()
        if number > max((counted[part] for part in combinations(some, len(some) - 1) if part), default=0)
    }
    for size in range(1, LARGEST + 1):
        listed = [c.unique for c in found.combinations if len(c.names) == size]
        assert listed == sorted((n for s, n in telling.items() if len(s) == size), reverse=True)[:OF_A_SIZE]
    assert all(telling[c.names] == c.unique for c in found.combinations)


columns = st.sets(st.sampled_from("abcd"))


@given(tables, st.lists(columns, max_size=5))
@settings(max_examples=60, deadline=None)
def test_what_was_counted_before_changes_no_answer(rows: list[tuple[object, ...]], asked: list[set[str]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String, "c": pl.Int64, "d": pl.Float64}, orient="row")
    table = PeopleTable(frame)
    for names in asked:
        assert table.unique_by(sorted(names)) == PeopleTable(frame).unique_by(sorted(names))


def test_one_row_nothing_known_and_unknown_columns() -> None:
    one = PeopleTable(pl.DataFrame({"a": [1], "b": [2]}))
    assert one.unique_by([]).unique == 0
    assert one.unique_by(["a"]).unique == 1
    assert PeopleTable(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})).unique_by(["a"]).share == 0
    with pytest.raises(PolicyError, match="there is no column 'aa'"):
        one.unique_by(["aa"])


def test_opaque_cells_and_repeated_names() -> None:
    frame = pl.DataFrame({"a": [[1], [1], [2]], "*": [b"x", b"y", b"y"]})
    found = PeopleTable(frame).unique_by(["a", "*", "a"])
    assert (found.names, found.unique) == (("a", "*"), 3)


def test_a_wide_table_counts_smaller_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({f"c{i}": [j >> i & 1 for j in range(64)] for i in range(6)})
    monkeypatch.setattr(uniqueness, "WORK", 64 * (6 + 30))
    found = PeopleTable(frame).unique_by(frame.columns)
    assert (found.most, found.unique, found.combinations) == (2, 64, ())
    monkeypatch.setattr(uniqueness, "WORK", 64)
    assert PeopleTable(frame).unique_by(frame.columns).most == 1


def test_what_was_counted_is_remembered() -> None:
    table = PeopleTable(pl.DataFrame({"a": [1, 2], "b": [3, 3]}))
    assert table.unique_by(["b", "a"]) is table.unique_by(["a", "b"])
