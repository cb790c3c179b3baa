"""Means, sums and quantiles of a number, from counts of the people on both sides of each of its values.

All follow from how many people are at most at x and how many above it: with A(x) and B(x) of them, the quantile q is
the least x with A / (A + B) >= q, the mean is m + ∫ B / (A + B) dx and the sum mN + ∫ B dx, from the least value m to
the greatest. Counts have hard bounds at every x, and between two points they lie between those of the points, so the
integrals have hard bounds too; the ends of 95% intervals likewise give an interval that covers at least as often.
People whose value is missing are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.analyst.answer import Answer, Ends
from sfumato.analyst.condition import All, AttributeCondition, Condition
from sfumato.analyst.view import AttributeView
from sfumato.errors import DataError, PolicyError
from sfumato.requirement.base import is_number
from sfumato.table.distortion import Floats

CountFunction = Callable[[Condition], Answer]

MOST_POINTS = 64
"""At how many values people are counted; between them the bounds are wider, and still hold."""

MOST_FIGURES = 500
"""The most groups with figures in one answer."""

_LEAST = 1e-12
"""The quantile of the least value."""
_CLOSE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Sides:
    """How many people are at most at each point and above it: estimate, ends of the interval, bounds (5 x points)."""

    points: Floats
    below: Floats
    above: Floats
    open_below: bool
    open_above: bool
    every: bool
    """Whether the points are all values there can be: nobody is between two of them."""
    assumption: str

    def share(self, which: int) -> Floats:
        """The share of people at most at each point: the estimate (0), or its ends (1, 2) or bounds (3, 4)."""
        other = {0: 0, 1: 2, 2: 1, 3: 4, 4: 3}[which]
        part, rest = self.below[which], self.above[other]
        empty = 1.0 if which in (2, 4) else 0.0
        found = np.divide(part, part + rest, out=np.full(len(part), empty), where=part + rest > 0)
        return np.asarray(np.maximum.accumulate(np.clip(found, 0.0, 1.0)))

    def mean(self) -> Answer:
        """The mean; open at a side where the release does not say how far values go."""
        shares = [1.0 - self.share(which) for which in range(5)]
        estimate = self._integral(shares[0], shares[0])
        interval = (self._tail(shares[2], low=True), self._tail(shares[1], low=False))
        bounds = (self._tail(shares[4], low=True), self._tail(shares[3], low=False))
        return self._answer(estimate, interval, bounds)

    def total(self) -> Answer:
        """The sum."""
        first, number = float(self.points[0]), self.below + self.above
        estimate = first * float(number[0, 0]) + self._integral(self.above[0], self.above[0]) - first
        ends: list[Ends] = []
        for low, high in ((1, 2), (3, 4)):
            least, most = sorted((first * float(number[low, 0]), first * float(number[high, 0])))
            under = self._tail(self.above[low], low=True) - first + least
            over = self._tail(self.above[high], low=False) - first + most
            ends.append((under, over))
        return self._answer(estimate, ends[0], ends[1])

    def quantile(self, q: float) -> Answer:
        """The least value that a share q of the people are at most at."""
        estimate = self._reached(self.share(0), q, float(self.points[-1]))
        interval = self._between(self.share(1), self.share(2), q)
        return self._answer(estimate, interval, self._between(self.share(3), self.share(4), q))

    def _between(self, least: Floats, greatest: Floats, q: float) -> Ends:
        """After the last point that the share certainly does not reach, up to the first that it certainly does."""
        short = np.flatnonzero(greatest < q * _CLOSE)
        low = -np.inf if self.open_below else float(self.points[0])
        if len(short):  # the value is above that point: at the next one, if nobody is in between
            low = float(self.points[min(short[-1] + self.every, len(self.points) - 1)])
        return low, self._reached(least, q, np.inf if self.open_above else float(self.points[-1]))

    def _reached(self, share: Floats, q: float, otherwise: float) -> float:
        there = np.flatnonzero(share >= q * _CLOSE)
        return float(self.points[there[0]]) if len(there) else otherwise

    def _tail(self, above: Floats, *, low: bool) -> float:
        """The least (greatest) integral of a function that falls and has these values at the points."""
        if self.open_below if low else self.open_above:
            return -np.inf if low else np.inf
        return self._integral(above[1:] if low and not self.every else above[:-1], None)

    def _integral(self, left: Floats, right: Floats | None) -> float:
        """The first point plus the integral: of steps, or of straight lines between the points."""
        if right is not None:
            left = left[:-1] if self.every else (left[:-1] + right[1:]) / 2.0
        return float(self.points[0] + left @ np.diff(self.points))

    def _answer(self, estimate: float, interval: Ends, bounds: Ends) -> Answer:
        inside = (max(interval[0], bounds[0]), min(interval[1], bounds[1]))
        estimate = min(max(estimate, inside[0]), inside[1])
        half = (inside[1] - inside[0]) / 2
        error = half / 1.96 if np.isfinite(half) else np.inf
        return Answer(estimate, error, inside, bounds, self.assumption)


def sides(view: AttributeView, where: Condition, count: CountFunction) -> Sides:
    """Count the people on both sides of the values of an attribute."""
    points, every = _points(view)
    first, last = AttributeCondition(view.name, "<", (points[0],)), AttributeCondition(view.name, ">", (points[-1],))
    open_below, open_above = (count(All((where, end))).bounds[1] > 0 for end in (first, last))
    told = [(count(_and(where, view.name, "<=", x)), count(_and(where, view.name, ">", x))) for x in points]
    below, above = (np.array([_figures(pair[side]) for pair in told]).T for side in (0, 1))
    if below[0, -1] + above[0, -1] <= 0:
        raise DataError(
            f"the release shows nobody who satisfies the condition and has a value of {view.name!r}: widen the "
            "condition"
        )
    rough = max((pair[0] for pair in told), key=lambda a: a.bounds[1] - a.bounds[0])
    return Sides(np.array(points), below, above, bool(open_below), bool(open_above), every, rough.assumption)


def too_many_figures(groups: int) -> None:
    """Refuse a table of figures that would take very long: each is made of counts at many points."""
    if groups > MOST_FIGURES:
        raise PolicyError(
            f"the query asks for figures of {groups:,} groups; the limit is {MOST_FIGURES}: group by fewer columns"
        )


def _and(where: Condition, name: str, op: str, x: float) -> Condition:
    return All((where, AttributeCondition(name, op, (x,))))


def _figures(answer: Answer) -> tuple[float, ...]:
    return (max(answer.estimate, 0.0), *(max(x, 0.0) for x in (*answer.interval, *answer.bounds)))


def _points(view: AttributeView) -> tuple[Sequence[float], bool]:
    """The values at which people are counted, and whether these are all: those listed, or the ends of the labels."""
    numbers = view.values.numbers
    if view.values.days or (numbers is None and view.ranges is None):
        what = "dates" if view.values.days else "nothing that is shown" if view.values.hidden else "no numbers"
        raise PolicyError(f"{view.name!r} holds {what}; means, sums and quantiles need numbers: count instead")
    known = np.asarray([] if numbers is None else numbers, np.float64)
    found = view.ranges.known if view.ranges is not None else np.unique(known[np.isfinite(known)])
    if len(found) == 0:
        raise PolicyError(f"the release shows no value of {view.name!r}; count instead")
    every = view.ranges is None and len(found) <= MOST_POINTS and (view.masks is None or not view.masks.any)
    if len(found) > MOST_POINTS:
        found = found[np.unique(np.linspace(0, len(found) - 1, MOST_POINTS).round().astype(np.int64))]
    return [float(x) for x in found], every


def checked_share(q: object) -> float:
    """The quantile that is asked for; 0 means the least value."""
    if not is_number(q) or not 0 <= q <= 1:  # type: ignore[operator]
        raise PolicyError(f"the quantile is {q!r}; it must be a number from 0 to 1, such as 0.5 for the median")
    return max(float(q), _LEAST)  # type: ignore[arg-type]
