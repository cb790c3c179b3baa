"""Stratified pick-up (ASAP, Algorithm 4) and Anatomy: groups of l to 2l - 1 rows with distinct sensitive values.

If k rows per group are required, as many of these are merged as it takes. Which values a group has, and which groups
are merged, follows from the counts of the values and from draws that do not look at rows; rows of equal value are
drawn alike. So all tables behind the published groups remain equally likely.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, count
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError, SfumatoError
from sfumato.kernel.hilb.anatomy import anatomize, make_buckets, merge
from sfumato.method.base import Groups
from sfumato.method.enumeration import one_of_each
from sfumato.requirement.base import whole_number
from sfumato.table.microdata import Microdata, refuse_raw


def pick_up(groups: Groups, sensitive: Counted, l: int, draws: Draws, *, k: int = 1) -> Groups:
    """Anatomy inside every group of at least 2l rows, with secret and uniform draws, then merged to k rows."""
    return _picked(groups, sensitive, l, k, draws.order(len(groups.of_row)), draws.words(groups.number * l))


def stratified_pickup(
    table: Microdata, groups: NDArray[np.int64], *, l: int, k: int = 1, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Pick-up after any partition: its groups, divided once more (ASAP, Algorithm 4; Theorem 7.2).

    ``groups`` is what `sf.partition` returns, or any other grouping of the rows in which no sensitive value makes up
    more than 1/l. It is as safe as the partition: if that leaves all tables behind its groups equally likely, so does
    pick-up.

    Args:
        table: the private table, with one sensitive attribute.
        groups: the group of each row.
        l: the l of the l-diversity.
        k: the least number of rows of a new group, inside a given group that has as many.
        rng: for experiments only; without one all randomness is fresh secret entropy.
    """
    whole_number("pick-up", "l", l, 1)
    whole_number("pick-up", "k", k, 1)
    refuse_raw(table)
    if len(table.sensitive) != 1:
        raise PolicyError(
            f"pick-up divides groups by one sensitive attribute, but the table has {len(table.sensitive)}; read it "
            "with one, or publish with mondrian-blur, which serves several"
        )
    given = np.asarray(groups)
    if given.shape != (table.rows,) or not np.issubdtype(given.dtype, np.integer):
        raise PolicyError(
            f"pick-up divides the groups of {table.rows} rows: give the group of each row as a whole number, as "
            f"sf.partition does; these are {given.dtype.name} of shape {given.shape}"
        )
    sensitive = Counted(table.sensitive[0].codes, table.sensitive[0].size)
    numbers, of_row = np.unique(given, return_inverse=True)
    pairs = count([Counted(of_row, len(numbers)), sensitive])
    most, sizes = np.zeros(len(numbers), np.int64), np.bincount(of_row)
    np.maximum.at(most, of_row[pairs.first], pairs.size)
    if (most * l > sizes).any():
        worst = int(np.argmax(most * l - sizes))
        raise Infeasible(
            f"a group of {sizes[worst]} rows has one value {most[worst]} times, more than 1/{l} of it; lower l, or "
            "partition by l-diversity (variant frequency) first"
        )
    return pick_up(Groups(of_row.astype(np.int64), len(numbers)), sensitive, l, Draws(rng), k=k).of_row


def every_pick_up(groups: Groups, sensitive: Counted, l: int, *, k: int = 1) -> Iterator[tuple[Groups, Fraction]]:
    """Every possible outcome of the draws in a small table, with its probability.

    These are the orders inside the buckets and, for each row left over, the group without its value that it joins.
    """
    whole = np.arange(len(groups.of_row))
    buckets = make_buckets(groups.of_row, groups.number, sensitive.codes, sensitive.size, whole)
    members = np.split(buckets.rows, buckets.first[1:-1])
    orders = math.prod(math.factorial(len(b)) for b in members)
    most = max(1, len(whole) // l)
    spins = range(math.lcm(*range(1, most + 1)))
    left_over = _left_over(groups, l)
    chance = Fraction(1, orders * len(spins) ** left_over)
    for order in one_of_each([partial(itertools.permutations, b.tolist()) for b in members]):
        flat = np.array([row for bucket in order for row in bucket], np.int64)
        for spin in one_of_each([partial(iter, spins)] * left_over):
            words = np.array([*spin, *[0] * (groups.number * l)], dtype=np.uint64)
            yield _picked(groups, sensitive, l, k, flat, words), chance


def _left_over(groups: Groups, l: int) -> int:
    """How many rows are left over in the groups that are divided."""
    sizes = np.bincount(groups.of_row, minlength=groups.number)
    return int((sizes % l)[sizes >= 2 * l].sum())


def _picked(
    groups: Groups, sensitive: Counted, l: int, k: int, order: NDArray[np.int64], words: NDArray[np.uint64]
) -> Groups:
    buckets = make_buckets(groups.of_row, groups.number, sensitive.codes, sensitive.size, order)
    try:
        of_row, number = anatomize(buckets, l, 2 * l, words)
    except ValueError as e:
        raise SfumatoError(f"pick-up was given a group that is not {l}-eligible ({e}); please report it") from None
    return Groups(of_row, number) if k <= l else _merged(groups, Groups(of_row, number), k)


def _merged(groups: Groups, picked: Groups, k: int) -> Groups:
    """Picked groups merged inside the groups they come from, in the order in which they were picked."""
    base = np.empty(picked.number, np.int64)
    base[picked.of_row] = groups.of_row
    merged, number = merge(base, np.bincount(picked.of_row, minlength=picked.number), k)
    return Groups(merged[picked.of_row], number)
