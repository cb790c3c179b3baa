"""Problem 1 where the domain of the quasi-identifiers is small: the risk is computed over all combinations, exactly."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.rr.disclosure_risk import RiskLimits, levels, to_border
from sfumato.kernel.rr.sqp import TOP, descend
from sfumato.method.rr.pairs import Ints, LimitedPairs, Watch
from sfumato.requirement.disclosure import JointShares
from sfumato.table.batches import part_of
from sfumato.table.distortion import Floats

_SNAP = 1e-7
_RISKIEST = 24
_ROUNDS = 12
_THREADS = 2
_PAUSE = 0.1
_MANY_STEPS = 20
_ROUGH = 1e-3
_SAME = 0.01
_FINE = 1e-9


class KeptOptimum(NamedTuple):
    """Kept shares of least cost, from how many points the search started, and how many ended here."""

    shares: Floats
    starts: int
    agreeing: int


class RiskInTable(NamedTuple):
    """The table of all combinations, the lengths of its axes, and the pairs whose risk is limited."""

    pi: Floats
    sizes: Ints
    limits: RiskLimits

    @classmethod
    def of(cls, people: JointShares, pairs: LimitedPairs) -> "RiskInTable":
        """The table that people make."""
        row, value, offset = pairs
        limits = RiskLimits(people.cell[row], offset, value, np.ascontiguousarray(people.shares[row]))
        return cls(people.pi, np.array(people.sizes, np.int64), limits)

    def levels(self, u: Floats) -> Floats:
        """The risk of each pair, as a logarithm relative to its limit."""
        return levels(np.exp(u), self.pi, self.sizes, self.limits)[0]

    def of_some(self, chosen: NDArray[np.bool_]) -> "RiskInTable":
        """The same for some pairs."""
        cell, offset, value, shares = self.limits
        return self._replace(limits=RiskLimits(cell[chosen], offset[chosen], value[chosen], shares[chosen]))


def table_optimum(
    people: JointShares, pairs: LimitedPairs, free: NDArray[np.bool_], most_starts: int | None, watch: Watch
) -> KeptOptimum | None:
    """Kept shares of least cost that keep every limit, searched from many starts; None if none are found."""
    risk = RiskInTable.of(people, pairs)
    weight = np.array([*people.sizes, people.shares.shape[1]]) - 1.0
    starts, ways = (points[:most_starts] for points in _starts(free))
    border, good = to_border(starts, ways, *risk, 0.25, 60 if free.sum() == 1 else 2)
    watch(0.1)
    search = Descent(risk, free, weight)
    ends = search.descended(border[good], _ROUGH, lambda done: watch(0.1 + 0.8 * done))
    costs = np.array([float(np.log1p(weight * np.exp(-2 * u)).sum()) for u in ends])
    for best in np.argsort(costs, kind="stable"):
        watch(0.9)
        (end,) = search.descended(ends[best][None], _FINE, lambda done: watch(0.9 + 0.1 * done))
        shares = _settled(end, free, risk)
        if shares is not None:
            here = float(np.log1p(weight / shares**2).sum())
            return KeptOptimum(shares, len(starts), int((np.abs(costs - here) <= _SAME).sum()))
    return None


class Descent(NamedTuple):
    """The way down from a point: what limits it, what may change, and what each kept share costs."""

    risk: RiskInTable
    free: NDArray[np.bool_]
    weight: Floats

    def descended(self, points: Floats, close: float, watch: Watch) -> list[Floats]:
        """The local minima that the points lead to: solved on the risky pairs, adding those that turn out to be."""
        ends = list(points)
        active = np.zeros(len(self.risk.limits.cell), np.bool_)
        for turn in range(_ROUNDS):
            risky = active.copy()
            for u in ends:
                level = self.risk.levels(u)
                top = np.argpartition(-level, min(_RISKIEST, len(level)) - 1)[:_RISKIEST]
                risky[top if not active.any() else top[level[top] > 10 * close]] = True
            if (risky == active).all():
                break
            active = risky
            some = self.risk.of_some(active)
            lower = partial(descend, free=self.free, weight=self.weight, pi=some.pi, sizes=some.sizes,
                            limits=some.limits, close=close)  # fmt: skip
            ends = _side_by_side(lower, ends, part_of(watch, turn / (turn + 2), (turn + 1) / (turn + 3)))
            watch((turn + 1) / (turn + 3))
        return ends


def _side_by_side(
    lower: Callable[..., tuple[Floats, float, int]], points: Sequence[Floats], tell: Watch
) -> list[Floats]:
    """Each point lowered, while ``tell`` hears how far they are; if the user interrupts, or it raises, they stop."""
    courses = np.zeros((len(points), 2), np.int64)
    pool = ThreadPoolExecutor(_THREADS)
    try:
        running = [pool.submit(lower, point, course=course) for point, course in zip(points, courses, strict=True)]
        while wait(running, _PAUSE).not_done:
            far = [1.0 if r.done() else c / (c + _MANY_STEPS) for r, c in zip(running, courses[:, 0], strict=True)]
            tell(float(np.mean(far)))
        return [lowered.result()[0] for lowered in running]
    finally:
        courses[:, 1] = 1
        pool.shutdown(cancel_futures=True)


def _starts(free: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Where the search starts: everything kept, then back in these directions until the limit holds."""
    n = int(free.sum())
    ways = [np.ones(n)]
    if n > 1:
        ways += [np.where(np.arange(n) == k, 1.0, 0.2) for k in range(n)]
        ways += [_radical(i, n) for i in range(1, 4)]
    back = np.zeros((len(ways), len(free)))
    back[:, free] = ways
    return np.where(free, TOP, 0.0) * np.ones((len(ways), 1)), back


def _radical(index: int, n: int) -> Floats:
    """A point of Halton's sequence, none of its coordinates near 0."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
    point = []
    for k in range(n):
        base, left, scale, value = primes[k % len(primes)], index + k // len(primes), 1.0, 0.0
        while left:
            scale /= base
            value += scale * (left % base)
            left //= base
        point.append(0.1 + 0.9 * value)
    return np.array(point)


def _settled(u: Floats, free: NDArray[np.bool_], risk: RiskInTable) -> Floats | None:
    """A solution on the safe side of the limit; what is kept up to rounding is kept fully."""
    near = free & (u > -_SNAP)
    for snapped in (near, np.zeros_like(near)):
        start = np.where(snapped, 0.0, u)
        way = (free & ~snapped).astype(np.float64)
        if not way.any():
            continue
        moved, good = to_border(start[None], way[None], *risk, 1e-10, 3)
        if good[0]:
            return np.asarray(np.exp(moved[0]))
    return None
