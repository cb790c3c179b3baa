"""Anatomy: the kernel and the obvious way give the same groups from the same draws, with few values and with many."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernel.hilb.anatomy import anatomize, make_buckets
from strategies import examples


def obvious(values: list[int], order: list[int], l: int, draws: list[int]) -> list[list[int]]:
    """Of each of the l most frequent values, of equals the first, the last row in order; then what is left over."""
    left: dict[int, list[int]] = defaultdict(list)
    for row in order:
        left[values[row]].append(row)
    groups: list[list[int]] = []
    while sum(1 for rows in left.values() if rows) >= l:
        top = sorted((v for v in left if left[v]), key=lambda v: (-len(left[v]), v))[:l]
        groups.append([left[v].pop() for v in top])
    having = [{values[row] for row in group} for group in groups]
    for v, draw in zip([v for v in sorted(left) if left[v]], draws, strict=False):
        lacking = [g for g in range(len(groups)) if v not in having[g]]
        groups[lacking[draw % len(lacking)]].append(left[v].pop())
    return sorted(sorted(group) for group in groups)


def found(values: list[int], order: list[int], l: int, draws: list[int]) -> list[list[int]]:
    one_group = np.zeros(len(values), np.int64)
    buckets = make_buckets(one_group, 1, np.array(values), max(values) + 1, np.array(order))
    of_row, number = anatomize(buckets, l, 2 * l, np.array(draws, np.uint64))
    return sorted(np.flatnonzero(of_row == g).tolist() for g in range(number))


def agree(counts: list[int], l: int, seed: int) -> None:
    """Both ways on a table with these counts of values, the rows and the draws in any order."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.repeat(np.arange(len(counts)), counts)).tolist()
    order = rng.permutation(len(values)).tolist()
    draws = rng.integers(0, 1000, l + 1).tolist()
    if max(counts) * l > len(values):
        with pytest.raises(ValueError, match="share above"):
            found(values, order, l, draws)
    else:
        assert found(values, order, l, draws) == obvious(values, order, l, draws)


@examples(200)
@given(st.lists(st.integers(1, 6), min_size=4, max_size=9), st.integers(1, 4), st.integers(0, 10**6))
def test_few_values(counts: list[int], l: int, seed: int) -> None:
    if sum(counts) >= 2 * l:
        agree(counts, l, seed)


@examples(25)
@given(st.integers(200, 600), st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_many_values(number: int, l: int, most: int, seed: int) -> None:
    """From some hundred values on the fullest buckets come from a heap."""
    agree(np.random.default_rng(seed).integers(1, most + 1, number).tolist(), l, seed)
