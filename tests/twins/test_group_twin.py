"""Grouping by hashing against a dictionary of tuples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine import counts
from sfumato.engine.counts import Counted, combine, count, tally
from sfumato.kernel import group
from sfumato.kernel.arrange import by_group
from sfumato.kernel.group import EqualRows, code_counts, group_rows, packed_counts
from sfumato.kernel.secret_factor import SECRET_FACTOR
from strategies import examples


def twin(columns: list[list[int]]) -> tuple[list[int], list[int], list[int]]:
    """Number the distinct rows in the order of their first row."""
    number: dict[tuple[int, ...], int] = {}
    of_row, first, size = [], [], []
    for place, row in enumerate(zip(*columns, strict=True)):
        if row not in number:
            number[row] = len(number)
            first.append(place)
            size.append(0)
        of_row.append(number[row])
        size[number[row]] += 1
    return of_row, first, size


def plain(groups: EqualRows) -> tuple[list[int], list[int], list[int]]:
    return groups.of_row.tolist(), groups.first.tolist(), groups.size.tolist()


def test_no_forger_knows_how_keys_are_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does could make grouping take quadratic time."""
    factors = []
    compiled = group._group_keys
    monkeypatch.setattr(
        group, "_group_keys", lambda keys, factor, *rest: (factors.append(factor), compiled(keys, factor, *rest))[1]
    )
    found = group_rows([np.array([5, 9, 5])], [1 << 40])
    assert found.of_row.tolist() == [0, 1, 0]
    assert factors == [SECRET_FACTOR]


@st.composite
def coded(draw: st.DrawFn, sizes: tuple[int, ...], wide: int = 9, long: int = 60) -> tuple[list[list[int]], list[int]]:
    """Columns of codes; few distinct ones a column, with the least and the greatest among them."""
    chosen = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=wide))
    rows = draw(st.integers(1, long))
    columns = []
    for size in chosen:
        some = [0, size - 1, *draw(st.lists(st.integers(0, size - 1), max_size=4))]
        columns.append(draw(st.lists(st.sampled_from(some), min_size=rows, max_size=rows)))
    return columns, chosen


def arrays(columns: list[list[int]], sizes: list[int]) -> list[np.ndarray]:
    return [np.array(c, dtype=np.min_scalar_type(s - 1)) for c, s in zip(columns, sizes, strict=True)]


@given(coded((1, 2, 7, 256, 257, 70_000, 2**31, 2**40)))
@examples(200)
def test_grouping(case: tuple[list[list[int]], list[int]]) -> None:
    columns, sizes = case
    assert plain(group_rows(arrays(columns, sizes), sizes)) == twin(columns)


@given(coded((1, 2, 7, 256, 300), wide=3))
@examples(100)
def test_counting_packed_codes(case: tuple[list[list[int]], list[int]]) -> None:
    columns, sizes = case
    found = packed_counts(arrays(columns, sizes), sizes)
    there = dict(zip(np.flatnonzero(found).tolist(), found[found > 0].tolist(), strict=True))
    _, first, size = twin(columns)
    place = [int(np.ravel_multi_index([c[i] for c in columns], sizes)) for i in first]
    assert there == dict(zip(place, size, strict=True))
    assert len(found) == math.prod(sizes)


@pytest.mark.parametrize("many", [0, 1 << 19])
def test_counting_codes(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """As NumPy counts few rows and as a kernel counts many; codes without rows at the end are counted, too."""
    monkeypatch.setattr("sfumato.kernel.group.MANY", many)
    for dtype in (np.uint8, np.uint16, np.uint32):
        assert code_counts(np.array([3, 0, 3, 1], dtype), 6).tolist() == [1, 1, 0, 2, 0, 0]
    assert code_counts(np.zeros(0, np.uint8), 2).tolist() == [0, 0]


@given(coded((3, 2**60, 2**62, 2**63 - 1), wide=3, long=9))
@examples(100)
def test_grouping_of_columns_of_any_size(case: tuple[list[list[int]], list[int]]) -> None:
    """The docstring promises any number of columns of any size."""
    columns, sizes = case
    assert plain(group_rows(arrays(columns, sizes), sizes)) == twin(columns)


def test_grouping_when_a_column_alone_nearly_fills_the_key() -> None:
    columns = [np.arange(16), np.zeros(16, np.int64)]
    assert len(group_rows(columns, [16, 2**62]).first) == 16


def test_no_rows() -> None:
    groups = group_rows([np.zeros(0, np.uint8)], [3])
    assert plain(groups) == ([], [], [])


def test_many_rows_and_columns() -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 5, 20_000) for _ in range(40)]
    columns[7] = rng.integers(0, 3, 20_000)
    for c in columns[8:]:
        c[:] = columns[0]
    groups = group_rows(columns, [5] * 40)
    expected, first, number, size = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    assert len(groups.first) == len(expected)
    assert sorted(groups.first.tolist()) == sorted(first.tolist())
    assert (size[number.ravel()] == groups.size[groups.of_row]).all()
    assert (groups.first[groups.of_row] == first[number.ravel()]).all()


@given(coded((2, 7, 300)))
@examples(50)
def test_rows_in_group_order(case: tuple[list[list[int]], list[int]]) -> None:
    columns, sizes = case
    of_row = group_rows(arrays(columns[:1], sizes[:1]), sizes[:1]).of_row
    rows, starts = by_group([c.astype(np.uint16) for c in arrays(columns, sizes)], of_row, int(of_row.max()) + 1)
    expected = sorted(range(len(of_row)), key=lambda i: of_row[i])
    assert rows.tolist() == [[c[i] for c in columns] for i in expected]
    assert starts.tolist() == [int(np.flatnonzero(of_row[expected] == g)[0]) for g in range(len(starts))]


@given(coded((2, 3, 5)), st.integers(1, 40))
@examples(60)
def test_tally_in_blocks_is_the_tally(case: tuple[list[list[int]], list[int]], cells: int) -> None:
    """Counting a block of groups at a time gives what counting in a dictionary gives."""
    columns, sizes = case
    vectors = arrays(columns, sizes)
    of_row, number = group_rows(vectors, sizes).of_row, len(set(zip(*columns, strict=True)))
    counted = Counted(vectors[0], sizes[0])
    both = combine([Counted(v, s) for v, s in zip(vectors[:2], sizes[:2], strict=True)])
    before = counts._BLOCK_CELLS
    counts._BLOCK_CELLS = cells
    try:
        blocks = list(tally(of_row, number, {("a",): counted}, {("b",): both}))
    finally:
        counts._BLOCK_CELLS = before
    found_sizes = np.concatenate([b.sizes for b in blocks]).tolist()
    found = np.concatenate([b.counts["a",] for b in blocks]).tolist()
    distinct = np.concatenate([b.distinct["b",] for b in blocks]).tolist()
    members = [[i for i, g in enumerate(of_row) if g == group] for group in range(number)]
    assert found_sizes == [len(m) for m in members]
    assert found == [[sum(columns[0][i] == v for i in m) for v in range(sizes[0])] for m in members]
    assert distinct == [len({tuple(c[i] for c in columns[:2]) for i in m}) for m in members]


def test_compression_keeps_every_row() -> None:
    vectors = count([Counted(np.array([0, 1, 0, 0]), 2), Counted(np.array([0, 0, 0, 1]), 2)])
    assert vectors.of_row.tolist() == [0, 1, 0, 2]
    assert vectors.size.tolist() == [2, 1, 1]


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1000])
def test_all_rows_distinct_and_all_equal(rows: int) -> None:
    assert len(group_rows([np.arange(rows)], [rows]).first) == rows
    assert group_rows([np.zeros(rows, np.uint8)], [1]).size.tolist() == [rows]
