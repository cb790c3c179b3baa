"""Dealing: parts that keep what is required, and whose values follow from the counts of the group alone."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.counts import Counted
from sfumato.engine.decision import Groups
from sfumato.kernel.mondrian.refusal import ONE
from sfumato.method.blur.dealing import Dealing
from strategies import examples

Tables = tuple[Groups, list[Counted], np.ndarray]


@st.composite
def tables(draw: st.DrawFn, most: int = 60) -> Tables:
    rows, groups, columns = draw(st.integers(1, most)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size = draw(st.integers(1, 6))
    _, of_row = np.unique(rng.integers(0, groups, rows), return_inverse=True)
    sensitive = [Counted(rng.integers(0, size, rows), size) for _ in range(columns)]
    levels = rng.integers(ONE, 4 * ONE, (columns, of_row.max() + 1))
    return Groups(of_row, int(of_row.max()) + 1), sensitive, levels


def is_good(sensitive: list[Counted], levels: np.ndarray, g: int, inside: np.ndarray) -> bool:
    return all(
        max(Counter(c.codes[inside].tolist()).values()) * Fraction(int(level), ONE) <= len(inside)
        for c, level in zip(sensitive, levels[:, g], strict=True)
    )


def dealt(groups: Groups, sensitive: list[Counted], levels: np.ndarray, k: int, seed: int) -> Groups:
    order = np.random.default_rng(seed).permutation(len(groups.of_row))
    return Dealing.of(groups, sensitive, levels, k, order).drawn()


@examples(200)
@given(tables(), st.integers(1, 7))
def test_parts_keep_what_is_required(table: Tables, k: int) -> None:
    groups, sensitive, levels = table
    parts = dealt(groups, sensitive, levels, k, 0)
    assert sorted(np.unique(parts.of_row)) == list(range(parts.number))
    for p in range(parts.number):
        inside = np.flatnonzero(parts.of_row == p)
        (g,) = np.unique(groups.of_row[inside])
        if len(inside) < (groups.of_row == g).sum():
            assert len(inside) >= k
            assert is_good(sensitive, levels, g, inside)


@examples(200)
@given(tables(), st.integers(1, 4))
def test_one_column_is_dealt_into_the_smallest_parts_that_are_good(table: Tables, k: int) -> None:
    """The obvious way: try each size in turn. Larger steps are taken only after a size that nearly fits."""
    groups, sensitive, levels = table[0], table[1][:1], table[2][:1]
    parts = dealt(groups, sensitive, levels, k, 0)
    for g in range(groups.number):
        inside = np.flatnonzero(groups.of_row == g)
        by_value = inside[np.argsort(sensitive[0].codes[inside], kind="stable")]
        found = len(np.unique(parts.of_row[inside]))
        for size in range(k, len(inside) // 2 + 1):
            number = len(inside) // size
            if number == found:
                break
            good = all(is_good(sensitive, levels, g, by_value[p::number]) for p in range(number))
            assert not good or size >= 8, (number, found)


@examples(200)
@given(tables(), st.integers(1, 4), st.integers(0, 10**6))
def test_the_values_of_the_parts_do_not_depend_on_who_has_them(table: Tables, k: int, seed: int) -> None:
    """Exchange values within the groups: each part, by its number, gets the same values as before."""
    groups, sensitive, levels = table
    rng = np.random.default_rng(seed)
    mixed = np.arange(len(groups.of_row))
    for g in range(groups.number):
        inside = np.flatnonzero(groups.of_row == g)
        mixed[inside] = rng.permutation(inside)
    exchanged = [Counted(c.codes[mixed], c.size) for c in sensitive]

    def shown(columns: list[Counted], seed: int) -> list[list[tuple[int, ...]]]:
        parts = dealt(groups, columns, levels, k, seed)
        rows = list(zip(*(c.codes.tolist() for c in columns), strict=True))
        return [sorted(rows[i] for i in np.flatnonzero(parts.of_row == p)) for p in range(parts.number)]

    assert shown(sensitive, 1) == shown(exchanged, 2)


@examples(60)
@given(tables(most=6))
def test_every_way_to_deal_is_listed_once_and_is_as_likely_as_drawn(table: Tables) -> None:
    """Against all orders of the rows, each equally likely."""
    groups, sensitive, levels = table
    rows = len(groups.of_row)
    listed = Counter[tuple[int, ...]]()
    for parts, chance in Dealing.of(groups, sensitive, levels, 1, np.arange(rows)).every():
        listed[tuple(parts.of_row.tolist())] += chance  # type: ignore[assignment]
    drawn = Counter[tuple[int, ...]]()
    orders = list(itertools.islice(itertools.permutations(range(rows)), 5040))
    for order in orders:
        parts = Dealing.of(groups, sensitive, levels, 1, np.array(order)).drawn()
        drawn[tuple(parts.of_row.tolist())] += 1
    assert sum(listed.values()) == 1
    assert listed == {key: Fraction(n, len(orders)) for key, n in drawn.items()}
