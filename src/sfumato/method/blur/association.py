"""In which order attributes are tried: those first that have little to do with the sensitive values.

How much an attribute has to do with them is a count with noise. It counts the people who would have to move to make the
two independent; if two people exchange their sensitive values, it changes by at most 2, and only if they differ
in the attribute.
"""

import math
from collections.abc import Sequence

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
"""At most one part in so many of what the whole table can spend goes into the order."""


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
    moved = [max(_moved(counts, quasi.name, name) for name in sensitive) for quasi in counts.quasi]
    by_chance = [max(_by_chance(counts, quasi.name, name) for name in sensitive) for quasi in counts.quasi]
    share = (np.array(moved) + noise - np.array(by_chance)) / counts.rows
    return np.asarray(1 / (np.maximum(share, 0) + _TYPICAL))


def declared(order: Sequence[str], names: Sequence[str]) -> NDArray[np.float64]:
    """Weights for a declared order; attributes that it does not name come last."""
    places = [order.index(name) if name in order else len(order) for name in names]
    return np.asarray(1 / (_TYPICAL * (1 + np.array(places))))


def _column(counts: Counts, name: str) -> Counted:
    return Counted(counts[name].codes, counts[name].size)


def _moved(counts: Counts, quasi: str, sensitive: str) -> int:
    """How many people would have to move for the two attributes to be independent, rounded down.

    The sum of what each pair of values has beyond row total times column total / n; exact in integers.
    """
    a, b, n = _column(counts, quasi), _column(counts, sensitive), counts.rows
    pairs = count([a, b])
    found = np.bincount(pairs.of_row, weights=counts.weights, minlength=len(pairs.first)).astype(np.int64)
    expected = totals(a, counts.weights)[a.codes[pairs.first]] * totals(b, counts.weights)[b.codes[pairs.first]]
    return int(np.maximum(found * n - expected, 0).sum()) // n


def _by_chance(counts: Counts, quasi: str, sensitive: str) -> float:
    """About how many these are if the two are independent; it depends on the totals alone."""

    def spread(column: Counted) -> float:
        share = totals(column, counts.weights) / counts.rows
        return float(np.sqrt(share * (1 - share)).sum())

    independent = spread(_column(counts, quasi)) * spread(_column(counts, sensitive))
    return math.sqrt(counts.rows / (2 * math.pi)) * independent
