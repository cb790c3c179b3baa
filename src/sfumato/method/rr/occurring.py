"""Problem 1 where the domain of the quasi-identifiers is large: the risk is bounded from the combinations that occur.

The work grows with the combinations that people have and with 2 to the number of quasi-identifiers, not with the
number of cells. The limits hold; since the risk is bounded from above, a little less noise might do.
"""

from collections.abc import Iterator
from copy import copy

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.rr.agreement import agreeing, others
from sfumato.kernel.rr.disclosure_risk import levels, traced_exactly, values_back
from sfumato.kernel.rr.occurring import Near, traced_roughly
from sfumato.kernel.rr.sqp import TOP, descend
from sfumato.method.rr.pairs import Ints, LimitedPairs, Watch
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


class RiskBound:
    """An upper bound of the risk of each pair, as a logarithm relative to its limit: above 0, the limit may not hold.

    It is computed for all combinations; where that is not enough to show that the limit holds, more exactly: one by
    one or, if these are many, by one pass through the table of all combinations.
    """

    def __init__(self, people: JointShares, pairs: LimitedPairs) -> None:
        self.sizes = np.array(people.sizes, np.int64)
        if too_many_sets(people):
            raise PolicyError(
                f"{len(people.cell):,} combinations of {len(self.sizes)} quasi-identifiers occur; the risk of "
                f"{len(self.sizes)} can be computed for at most {MOST_SETS >> len(self.sizes):,} combinations, and if "
                f"they have at most {(MOST_SETS >> len(self.sizes)) // _AT_ONCE:,} values in all; drop or coarsen a "
                "quasi-identifier"
            )
        self.people, self.pairs = people, pairs
        self.codes, self.there = _codes_that_occur(people)
        self.agreeing = agreeing(self.codes, people.weight, self.there)
        each = int(self.there.sum()) << (len(self.sizes) - 1)
        self._most, self._axis = max(_ROOM // each, _AT_ONCE), np.repeat(np.arange(len(self.there)), self.there)
        self._known: dict[int, Floats] = {}

    def of(self, pairs: LimitedPairs) -> "RiskBound":
        """The same for other pairs."""
        other = copy(self)
        other.pairs = pairs
        return other

    def rough(self, u: Floats, chosen: Ints | None = None) -> Floats:
        """The bound of each pair, or of those chosen, without looking at single cells."""
        traced = traced_roughly(np.exp(u[:-1]), self.sizes, self.agreeing, self.people.weight)
        return self._of_pairs(traced, u, chosen)

    def exact(self, u: Floats, chosen: Ints) -> Floats:
        """The risk of some pairs, by a pass through the table of all combinations."""
        traced = traced_exactly(np.exp(u[:-1]), self.sizes, self.people.cell, self.people.weight)
        return self._of_pairs(traced, u, chosen)

    def _of_pairs(self, traced: Floats, u: Floats, chosen: Ints | None) -> Floats:
        """What is known about the combinations, with the sensitive values and limits of the pairs."""
        row, value, offset = self.pairs if chosen is None else self.pairs.some(chosen)
        back = values_back(self.people.shares, row, value, float(np.exp(u[-1])))
        return np.asarray(offset + traced[row] + back)

    def near(self, chosen: Ints) -> Near:
        """Some pairs as the search needs them, cells that differ in one attribute counted one by one."""
        rows = self.pairs.row[chosen]
        missing = np.array([r for r in dict.fromkeys(rows.tolist()) if r not in self._known], np.int64)
        if len(missing):
            found = others(self.codes, self.people.weight, self.there, missing)
            self._known.update(zip(missing.tolist(), found, strict=True))
        return Near(
            self.pairs.offset[chosen], self.pairs.value[chosen], np.ascontiguousarray(self.people.shares[rows]),
            self.people.weight[rows], np.ascontiguousarray(self.agreeing[:, rows].T),
            np.stack([self._known[r] for r in rows.tolist()]), self._axis,
        )  # fmt: skip

    def riskiest(self, u: Floats, above: float, among: Ints | None = None) -> tuple[Ints, float]:
        """Some pairs whose risk is above the limit by more than this, none if there are none; and the greatest."""
        level = self.rough(u, among)
        high = np.flatnonzero(level > above)
        order = high[np.argsort(-level[high], kind="stable")]
        greatest = float(np.max(level, where=level <= above, initial=-np.inf))
        for some, exact in self._closely(u, order if among is None else among[order]):
            greatest = max(greatest, float(exact.max()))
            if greatest > above:
                first = np.argsort(-exact, kind="stable")[:_AT_ONCE]
                return some[first[exact[first] > above]], greatest
        return np.zeros(0, np.int64), greatest

    def greatest(self, u: Floats) -> float:
        """The greatest of all, as closely as ``riskiest`` knows them."""
        level = self.rough(u)
        top = np.argsort(-level, kind="stable")[:_AT_ONCE]
        found = float(levels(np.exp(u), None, self.sizes, self.near(top))[0].max())
        rest = np.setdiff1d(np.flatnonzero(level > found), top)
        return max([found, *(float(exact.max()) for _, exact in self._closely(u, rest) if len(exact))])

    def _closely(self, u: Floats, order: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Pairs and their risk more exactly, in portions; if they are many, in one pass through the whole table."""
        if len(order) * len(self.people.cell) > self.people.cells:
            yield order, self.exact(u, order)
            return
        for at in range(0, len(order), _AT_ONCE):
            if len(self._known) > self._most:
                self._known.clear()
            some = order[at : at + _AT_ONCE]
            yield some, levels(np.exp(u), None, self.sizes, self.near(some))[0]


def _codes_that_occur(people: JointShares) -> tuple[NDArray[np.int32], Ints]:
    """The codes of each quasi-identifier, renumbered so that each occurs; and how many there are."""
    codes = np.empty((len(people.sizes), len(people.cell)), np.int32)
    there = np.empty(len(codes), np.int64)
    for k, line in enumerate(np.unravel_index(people.cell, people.sizes)):
        held = np.bincount(line, minlength=people.sizes[k]) > 0
        codes[k], there[k] = (np.cumsum(held) - 1)[line], held.sum()
    return codes, there


def too_many_sets(people: JointShares) -> bool:
    """Whether people have too many combinations, or the attributes too many values, for this number of attributes."""
    return max(len(people.cell), _AT_ONCE * sum(people.sizes)) << len(people.sizes) > MOST_SETS


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
