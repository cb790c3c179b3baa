"""Problem 1 where the domain of the quasi-identifiers is large: the risk is bounded from the combinations that occur.

The work grows with the combinations that people have and with 2 to the number of quasi-identifiers, not with the
number of cells. The limits hold; since the risk is bounded from above, a little less noise might do.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.rr.disclosure_risk import levels, rough_levels
from sfumato.kernel.rr.occurring import Near, agreeing, others
from sfumato.kernel.rr.sqp import TOP, descend
from sfumato.requirement.disclosure import JointShares
from sfumato.table.distortion import Floats

MOST_SETS = 1 << 25
"""The most combinations that occur, times 2 to the number of quasi-identifiers: about a second and 300 MB."""

_ROOM = 1 << 25
_AT_ONCE = 24
_ROUNDS = 40
_FIRST = 0.5
_FARTHEST = 16.0
_FAR = -1.0
_CLOSE = 1e-5
_MARGIN = 2e-4
_SNAP = 1e-7

Ints = NDArray[np.int64]
Watch = Callable[[float], None]


class Pairs(NamedTuple):
    """Quasi-identifiers and sensitive value whose risk is limited: combination, value, log share less log limit."""

    row: Ints
    value: Ints
    offset: Floats


class RiskBound:
    """An upper bound of the risk of each pair, as a logarithm relative to its limit: above 0, the limit may not hold.

    It is computed for all combinations; where that is not enough to show that the limit holds, more exactly.
    """

    def __init__(self, people: JointShares, pairs: Pairs) -> None:
        self.sizes = np.array(people.sizes, np.int64)
        if len(people.cell) << len(self.sizes) > MOST_SETS:
            raise PolicyError(
                f"{len(people.cell):,} combinations of {len(self.sizes)} quasi-identifiers occur, more than the "
                f"{MOST_SETS >> len(self.sizes):,} for which the risk can be computed; drop or coarsen a "
                "quasi-identifier"
            )
        self.people, self.pairs = people, pairs
        self.codes = np.stack(np.unravel_index(people.cell, people.sizes), axis=1).astype(np.int64)
        self.weight = people.pi[people.cell]
        self.agreeing = agreeing(self.codes, self.weight, self.sizes)
        each = (len(self.sizes) + int(self.sizes.sum())) << (len(self.sizes) - 1)
        self._most, self._axis = max(_ROOM // each, _AT_ONCE), np.zeros(0, np.int64)
        self._known: dict[int, Floats] = {}

    def of(self, pairs: Pairs) -> "RiskBound":
        """The same for other pairs."""
        other = copy(self)
        other.pairs = pairs
        return other

    def rough(self, u: Floats, chosen: Ints | None = None) -> Floats:
        """The bound of each pair, or of those chosen, without looking at single cells."""
        row, value, offset = self.pairs
        shares, weight, sets = self.people.shares, self.weight, self.agreeing
        if chosen is not None:
            value, offset = value[chosen], offset[chosen]
            rows, row = np.unique(row[chosen], return_inverse=True)
            shares, weight, sets = shares[rows], weight[rows], sets[rows]
        cells = Near(offset, value, shares, weight, sets, np.zeros((0, 0, 0)), np.zeros(0, np.int64))
        return rough_levels(np.exp(u), self.sizes, cells, row)

    def near(self, chosen: Ints) -> Near:
        """Some pairs as the search needs them, cells that differ in one attribute counted one by one."""
        rows = self.pairs.row[chosen]
        missing = np.array([r for r in dict.fromkeys(rows.tolist()) if r not in self._known], np.int64)
        if len(missing):
            found, self._axis = others(self.codes, self.weight, self.sizes, missing)
            self._known.update(zip(missing.tolist(), found, strict=True))
        return Near(
            self.pairs.offset[chosen], self.pairs.value[chosen], np.ascontiguousarray(self.people.shares[rows]),
            self.weight[rows], np.ascontiguousarray(self.agreeing[rows]),
            np.stack([self._known[r] for r in rows.tolist()]), self._axis,
        )  # fmt: skip

    def riskiest(self, u: Floats, above: float, among: Ints | None = None) -> tuple[Ints, float]:
        """Some pairs whose risk is above the limit by more than this, none if there are none; and the greatest."""
        level = self.rough(u, among)
        high = np.flatnonzero(level > above)
        order = high[np.argsort(-level[high], kind="stable")]
        greatest = float(np.max(level, where=level <= above, initial=-np.inf))
        order = order if among is None else among[order]
        for some in self._some(order):
            exact, _ = levels(np.exp(u), None, self.sizes, self.near(some))
            greatest = max(greatest, float(exact.max()))
            if (exact > above).any():
                return some[exact > above], greatest
        return np.zeros(0, np.int64), greatest

    def _some(self, order: Ints) -> Iterator[Ints]:
        """Pairs in portions; those of more combinations than there is room for are dropped in between."""
        for at in range(0, len(order), _AT_ONCE):
            if len(self._known) > self._most:
                self._known.clear()
            yield order[at : at + _AT_ONCE]


def bounded_optimum(
    bound: RiskBound, free: NDArray[np.bool_], weight: Floats, watch: Watch = lambda done: None
) -> tuple[Floats, float] | None:
    """Kept shares of low cost on the safe side of every limit, and the greatest bound of the risk by its limit.

    Solved on the riskiest pairs, adding those that turn out to be risky: first among pairs that are not far below their
    limit where the search begins, then among all.
    """
    way, step = np.where(free, 1.0, 0.0), _FIRST
    start = np.where(free, TOP, 0.0)
    while (level := bound.rough(start - step * way)).max() > 0:
        step *= 2
        if step > _FARTHEST:
            return None
    u, active = start - step * way, np.argsort(-level, kind="stable")[:_AT_ONCE].astype(np.int64)
    among = np.flatnonzero(level > _FAR)
    for turn in range(_ROUNDS):
        watch(turn / (turn + 3))
        u, _, _ = descend(u, free, weight, None, bound.sizes, bound.near(active), _CLOSE)
        risky, _ = bound.riskiest(u, 10 * _CLOSE, among)
        if not len(risky):
            end, back = _snapped(u, free)
            risky, greatest = bound.riskiest(end - _MARGIN * back, 0.0)
            if not len(risky):
                return np.exp(end - _MARGIN * back), float(np.exp(greatest))
            among = np.union1d(among, risky)
        active = np.union1d(active, risky)
    return _stepped_back(bound, *_snapped(u, free))


def _snapped(u: Floats, free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """What is kept up to rounding is kept fully; and the way back to less risk, along all that is randomized."""
    kept = free & (u > -_SNAP)
    if (kept == free).all():
        return u, free.astype(np.float64)
    return np.where(kept, 0.0, u), (free & ~kept).astype(np.float64)


def _stepped_back(bound: RiskBound, u: Floats, way: Floats) -> tuple[Floats, float] | None:
    """Back along the way until no limit is exceeded, in ever longer steps."""
    step = _MARGIN
    while step <= _FARTHEST:
        risky, greatest = bound.riskiest(u - step * way, 0.0)
        if not len(risky):
            return np.exp(u - step * way), float(np.exp(greatest))
        step *= 4
    return None
