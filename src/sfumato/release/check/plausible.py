"""Whether randomized values look randomized: what no table of true values could have produced is implausible.

Given everyone's true values, published values are independent, and Pr(shown u | true v) is known. Two bounds follow
that hold whatever the true values are, so that an honest release is called implausible with probability at most
``FALSE_ALARM`` over all its tests together:

- The rows that show a value of a set W are a sum of independent draws, each with a chance of at most the greatest
  Pr(W | true v); by Chernoff and Hoeffding it exceeds N·x with probability at most exp(-N KL(x || chance)). For
  each size m the m most frequent values are tested; as the data choose W, the union bound is over all sets of m
  values.
- The estimate of a true share, a row of P^-1 times the observed shares, is a mean of N independent terms between a and
  b, and its expectation is not below 0; scaled to [0, 1] it falls to x with probability at most
  exp(-N KL(x || -a / (b - a))) by the same bound.

Both are applied to each randomized attribute and to each pair with any other attribute; one that is not randomized has
the identity as its matrix. Pairs are where a table that was never randomized gives itself away: by combinations that
never occur. A table without such structure may pass, which is why "plausible" is not "verified".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.table.distortion import inverse_of

FALSE_ALARM = 1e-6
"""The greatest probability with which an honest release fails."""

MOST_VALUES = 1000
"""Columns with more values are not tested."""

_MOST_CELLS = 10_000
_MOST_PAIRS = 60
_HAIR = 1e-9

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A published column: the code of each row, and Pr(shown u | true v), or None if nothing is changed."""

    name: str
    codes: Integers
    size: int
    matrix: Floats | None

    @cached_property
    def forth(self) -> Floats:
        """The matrix; the identity if nothing is changed."""
        return self.matrix if self.matrix is not None else np.eye(self.size)

    @cached_property
    def back(self) -> Floats | None:
        """Its inverse; None if the column is pure chance, from which nothing can be estimated."""
        if self.matrix is None:
            return np.eye(self.size)
        return inverse_of(self.matrix)


class _Cells(NamedTuple):
    """A column, or a pair of columns, as a table of counts with one column along each side."""

    what: str
    counts: Integers
    sides: tuple[PublishedColumn, PublishedColumn]


def implausible(columns: Sequence[PublishedColumn], *, alarm: float = FALSE_ALARM) -> str | None:
    """Why these columns cannot be the draws that they are said to be, or None if they can."""
    chosen = list(_chosen(columns))
    for cells in chosen:
        if why := _too_frequent(cells, alarm / (2 * len(chosen))) or _too_rare(cells, alarm / (2 * len(chosen))):
            return why
    return None


def tests_of(columns: Sequence[PublishedColumn]) -> int:
    """How many columns and pairs are tested."""
    return sum(1 for _ in _sides(columns))


def _sides(columns: Sequence[PublishedColumn]) -> Iterator[tuple[PublishedColumn, PublishedColumn | None]]:
    """What is tested: each randomized column, and the smallest pairs with a randomized column."""
    known = [c for c in columns if 1 < c.size <= MOST_VALUES]
    yield from ((c, None) for c in known if c.matrix is not None)
    pairs = [
        (a, b)
        for a, b in combinations(known, 2)
        if (a.matrix is not None or b.matrix is not None) and a.size * b.size <= _MOST_CELLS
    ]
    yield from sorted(pairs, key=lambda pair: pair[0].size * pair[1].size)[:_MOST_PAIRS]


def _chosen(columns: Sequence[PublishedColumn]) -> Iterator[_Cells]:
    for a, b in _sides(columns):
        if b is None:
            counts = np.bincount(a.codes, minlength=a.size)[:, None]
            yield _Cells(repr(a.name), counts, (a, PublishedColumn("", np.zeros_like(a.codes), 1, None)))
            continue
        counts = np.bincount(a.codes * b.size + b.codes, minlength=a.size * b.size).reshape(a.size, b.size)
        yield _Cells(f"{a.name!r} and {b.name!r}", counts, (a, b))


def _too_frequent(cells: _Cells, alarm: float) -> str | None:
    """The m most frequent cells hold more rows than the noise allows, for some m."""
    flat, n, (a, b) = cells.counts.ravel(), cells.counts.size, cells.sides
    order, rows = np.argsort(-flat, kind="stable"), int(flat.sum())
    held = np.cumsum(flat[order])
    for m in _sizes(n, int((flat > 0).sum())):
        chosen = np.zeros(n)
        chosen[order[:m]] = 1.0
        chance = float((a.forth.T @ chosen.reshape(cells.counts.shape) @ b.forth).max())
        sets = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
        share = int(held[m - 1]) / rows
        if sets - rows * _divergence(share, chance + _HAIR) < math.log(alarm / n):
            what = f"one value of {cells.what}" if m == 1 else f"{m} of {n} values of {cells.what}"
            return f"{what} make up {share:.4g} of the rows; the stated noise allows at most {min(chance, 1):.4g}"
    return None


def _sizes(n: int, occurring: int) -> list[int]:
    """The sizes of sets that are tested: powers of two, all cells that occur, all but one."""
    powers = {1 << i for i in range(n.bit_length())}
    return sorted(m for m in powers | {occurring, n - 1} if 0 < m < n)


def _divergence(share: float, chance: float) -> float:
    """KL(share || chance) of two coins where the share is above the chance, else 0."""
    if share <= chance or chance >= 1:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return share * math.log(share / chance) + rest


def _too_rare(cells: _Cells, alarm: float) -> str | None:
    """The estimate of the true shares lies below 0 by more than chance allows, for some cell."""
    rows, n = int(cells.counts.sum()), cells.counts.size
    back, across = (side.back for side in cells.sides)
    if back is None or across is None:
        return None
    estimate = back @ (cells.counts / rows) @ across.T
    low, high = _ends(back, across)
    span = np.maximum(high - low, _HAIR)
    against = rows * _below((estimate - low) / span, -low / span - _HAIR)
    if not (against > math.log(n / alarm)).any():
        return None
    u, v = np.unravel_index(int(against.argmax()), estimate.shape)
    return (
        f"a value of {cells.what} is shown by {int(cells.counts[u, v])} of {rows} rows, fewer than the stated noise "
        f"alone would produce: its estimated true share is {estimate[u, v]:.4g}"
    )


def _ends(back: Floats, across: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest of the terms back[i, u] * across[j, v] that the estimate of cell (i, j) averages."""
    ends = [(m.min(axis=1), m.max(axis=1)) for m in (back, across)]
    products = np.stack([np.multiply.outer(a, b) for a in ends[0] for b in ends[1]])
    return np.asarray(products.min(axis=0)), np.asarray(products.max(axis=0))


def _below(share: Floats, mean: Floats) -> Floats:
    """KL(share || mean) where the share lies below the mean, else 0."""
    share, mean = np.clip(share, 0.0, 1.0), np.clip(mean, 0.0, 1.0)
    under = share < mean
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(share > 0, share * np.log(share / mean), 0.0)
        rest = (1 - share) * np.log((1 - share) / (1 - mean))
    return np.where(under, part + rest, 0.0)
