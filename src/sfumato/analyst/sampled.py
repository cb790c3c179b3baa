"""Counts from a sample: one row per box, drawn from its people, with a perturbed sensitive value."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.margin import Totals, together
from sfumato.analyst.plan import Touched, contracted
from sfumato.analyst.view import View
from sfumato.engine.counts import count
from sfumato.table.distortion import Floats

Integers = NDArray[np.int64]


class _Boxes(NamedTuple):
    """Boxes that look alike on the attributes of a query: which rows they are, and for each class of the sensitive
    attribute the share of their people within the condition, and whether that is certain or possible."""

    of_row: Integers
    within: Floats
    certain: NDArray[np.bool_]
    possible: NDArray[np.bool_]
    correlation: Floats


def count_sample(view: View, seen: Sequence[Touched], truth: NDArray[np.bool_]) -> Totals:
    """How many people satisfy a condition that mentions the sensitive attribute.

    A row counts for all G people of its box, so the estimate is Σ G · (what its value says after undoing the
    perturbation); the draws of different boxes are independent. What a box contains is not known, so the variance of a
    draw is that of the values that all rows show.
    """
    last = next(i for i, t in enumerate(seen) if t.view.random)
    sensitive = seen[last]
    boxes = _boxes(view, [t for i, t in enumerate(seen) if i != last], np.moveaxis(truth, last, -1))
    shown, table = sensitive.view.shown, sensitive.shares()
    number = len(boxes.within)
    weights = boxes.within @ table.T
    people = np.bincount(boxes.of_row, weights=view.sizes, minlength=number)
    squares = np.bincount(boxes.of_row, weights=view.sizes**2, minlength=number)
    half = view.people / max(2 * view.rows, 1)  # half a row more of each value, so that none is taken for impossible
    seen_share = np.bincount(shown.codes, weights=view.sizes, minlength=shown.size) + half
    seen_share /= seen_share.sum()
    estimate = (view.sizes * weights[boxes.of_row, shown.codes]).sum()
    drawn = squares @ (weights**2 @ seen_share - (weights @ seen_share) ** 2)
    spread = people * _inside_variance(boxes.within, np.clip(seen_share @ table, 0.0, 1.0))
    joint = together(np.asarray(spread @ boxes.correlation), np.asarray(people @ (boxes.correlation > 0)))
    least, greatest = people @ boxes.certain.all(axis=1), people @ boxes.possible.any(axis=1)
    return Totals(*(np.asarray(x, np.float64) for x in (estimate, least, greatest, spread.sum(), joint, drawn)))


def _boxes(view: View, quasi: Sequence[Touched], truth: NDArray[np.bool_]) -> _Boxes:
    if not quasi:
        rows, one = np.zeros(view.rows, np.int64), truth[None, :]
        return _Boxes(rows, one.astype(np.float64), one, one, np.zeros(1))
    groups = count([t.view.shown for t in quasi])
    codes = [t.view.shown.codes[groups.first] for t in quasi]
    allowed = [t.allowed() for t in quasi]
    cases, apart = np.ones(len(groups.first)), np.ones(len(groups.first))
    for t, table, code in zip(quasi, allowed, codes, strict=True):
        cases *= table.sum(axis=1)[code]
        apart *= (1.0 - t.view.correlations(table))[code]
    true = contracted(allowed, codes, truth)
    within = np.clip(contracted([t.shares() for t in quasi], codes, truth), 0.0, 1.0)
    return _Boxes(groups.of_row, within, true >= cases[:, None] - 0.5, true > 0.5, 1.0 - apart)


def _inside_variance(within: Floats, values: Floats) -> Floats:
    """Of a person being within the quasi-identifiers asked for, where ``values`` are the shares of the classes."""
    return np.asarray((np.sqrt(within * (1.0 - within)) @ values) ** 2)
