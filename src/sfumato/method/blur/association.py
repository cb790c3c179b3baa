"""In which order attributes are tried: those first that have little to do with the sensitive values.

How much an attribute has to do with them is a count with noise. It counts the people who would have to move to make the
two independent; if two people exchange their sensitive values, it changes by at most 2, and only if they differ
in the attribute.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, count, totals
from sfumato.engine.draws import Draws
from sfumato.method.blur.budget import LOG_UNIT

_TYPICAL = 0.05
"""Attributes with less association than this are tried in almost the same order, by width."""

_PRECISION = 0.05
"""The noise is chosen so that its scale is this share of the people."""

_LEAST_UNITS = 2
_PART = 10
"""The order gets at most one part in this many of the whole table's budget."""


def units_per_attribute(people: int, attributes: int, budget: int) -> int:
    """What the order costs a group, in units per attribute in which its members differ; 0 if it is too dear.

    >>> units_per_attribute(45_222, 7, 693), units_per_attribute(10_000, 7, 693), units_per_attribute(1000, 7, 693)
    (2, 5, 0)
    """
    units = max(_LEAST_UNITS, math.ceil(2 / (_PRECISION * people * LOG_UNIT)))
    return units if units * attributes * _PART <= budget else 0


def preferences(counts: Counts, sensitive: Sequence[str], units: int, draws: Draws) -> NDArray[np.float64]:
    """A weight for each quasi-identifier, the greater the less it has to do with the sensitive values."""
    noise = draws.two_sided_geometric(len(counts.quasi), units * LOG_UNIT / 2)
    pairs = [[_pairs(counts, quasi.name, name) for name in sensitive] for quasi in counts.quasi]
    moved = [max(_moved(found) for found in of_quasi) for of_quasi in pairs]
    by_chance = [max(_by_chance(found) for found in of_quasi) for of_quasi in pairs]
    share = (np.array(moved) + noise - np.array(by_chance)) / counts.rows
    return np.asarray(1 / (np.maximum(share, 0) + _TYPICAL))


def declared(order: Sequence[str], names: Sequence[str]) -> NDArray[np.float64]:
    """Weights for a declared order: 1, 1/2, 1/3 ... of the first; attributes that it does not name come last.

    >>> (declared(["b", "a"], ["a", "b", "c", "d"]) * _TYPICAL).round(2).tolist()
    [0.5, 1.0, 0.33, 0.33]
    """
    places = [order.index(name) if name in order else len(order) for name in names]
    return np.asarray(1 / (_TYPICAL * (1 + np.array(places))))


class _Pairs(NamedTuple):
    """The pairs of values of two columns that occur: how many people have each, and the totals of both columns."""

    first: NDArray[Any]
    second: NDArray[Any]
    number: NDArray[np.int64]
    totals: tuple[NDArray[np.int64], NDArray[np.int64]]
    people: int


def _pairs(counts: Counts, quasi: str, sensitive: str) -> _Pairs:
    a, b = counts[quasi], counts[sensitive]
    found = count([Counted(a.codes, a.size), Counted(b.codes, b.size)])
    number = totals(Counted(found.of_row, len(found.first)), counts.weights)
    first, second = a.codes[found.first], b.codes[found.first]
    by_column = totals(Counted(first, a.size), number), totals(Counted(second, b.size), number)
    return _Pairs(first, second, number, by_column, counts.rows)


def _moved(pairs: _Pairs) -> int:
    """How many people would have to move for the two attributes to be independent, rounded down.

    The sum of what each pair of values has beyond row total times column total / n; exact in integers.
    """
    expected = pairs.totals[0][pairs.first] * pairs.totals[1][pairs.second]
    return int(np.maximum(pairs.number * pairs.people - expected, 0).sum()) // pairs.people


def _by_chance(pairs: _Pairs) -> float:
    """About how many these are if the two are independent; it depends on the totals alone."""
    shares = [total / pairs.people for total in pairs.totals]
    spreads = [float(np.sqrt(share * (1 - share)).sum()) for share in shares]
    return math.sqrt(pairs.people / (2 * math.pi)) * math.prod(spreads)
