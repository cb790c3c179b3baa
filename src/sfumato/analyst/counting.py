"""Counts from rows: with labels, with random values, or with one row per group of people."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.margin import Totals, together
from sfumato.analyst.plan import Plan, Touched, contracted
from sfumato.analyst.randomized import SamplingModel, too_large
from sfumato.analyst.sampled import count_sample
from sfumato.analyst.view import AttributeView, View
from sfumato.engine.counts import count
from sfumato.table.distortion import Distortion, Floats, distorted

MOST_CELLS = 100_000_000
"""The largest contingency table of the attributes that a query touches."""

_MOST_SAMPLED = 100_000
"""The most cells of a sample that are counted one by one."""

Map = Literal["share", "square", "apart", "apart square", "certain", "possible"]
MAPS: tuple[Map, ...] = get_args(Map)
"""What is summed over the rows of a cell: weights, their squares, both without the correlated part, and bounds."""


class RowWeights(NamedTuple):
    """For some rows: the probability that each belongs, the correlation with others, and whether it certainly belongs
    or possibly."""

    share: Floats
    correlation: Floats
    certain: Floats
    possible: Floats


def row_weights(seen: Sequence[Touched], codes: Sequence[NDArray[np.int64]], truth: NDArray[np.bool_]) -> RowWeights:
    """How a condition fits what rows show of the attributes that it mentions."""
    allowed = [t.allowed() for t in seen]
    true = contracted(allowed, codes, truth)
    cases = np.ones(len(true))
    apart = np.ones(len(true))
    for t, table, code in zip(seen, allowed, codes, strict=True):
        cases *= table.sum(axis=1)[code]
        apart *= (1.0 - t.view.correlations(table))[code]
    share = contracted([t.shares() for t in seen], codes, truth)
    certain, possible = true >= cases - 0.5, true > 0.5
    if not any(t.view.random for t in seen):
        share = np.where(certain, 1.0, np.where(possible, np.clip(share, 0.0, 1.0), 0.0))
    return RowWeights(share, 1.0 - apart, certain.astype(np.float64), possible.astype(np.float64))


def count_rows(view: View, seen: Sequence[Touched], truth: NDArray[np.bool_], sampling: SamplingModel) -> Totals:
    """How many people satisfy a condition on the attributes seen."""
    if not seen:
        exact = np.array(view.people if bool(truth) else 0.0)
        return Totals(exact, exact, exact, *[np.zeros(())] * 3)
    if view.release.scheme_class.rows_are_groups and any(t.view.random for t in seen):
        return count_sample(view, seen, truth)
    groups = count([t.view.shown for t in seen])
    people = np.bincount(groups.of_row, weights=view.sizes, minlength=len(groups.first))
    found = row_weights(seen, [t.view.shown.codes[groups.first] for t in seen], truth)
    estimate, squares = people @ found.share, people @ found.share**2
    least, greatest = people @ found.certain, people @ found.possible
    if any(t.view.random for t in seen):
        drawn = drawn_variance(np.asarray(estimate), np.asarray(squares), view, sampling)
        return Totals(estimate, least, greatest, np.zeros(()), np.zeros(()), drawn)
    spread = people * (found.share - found.share**2)
    joint = together(np.asarray(spread @ found.correlation), np.asarray(greatest - least))
    return Totals(estimate, least, greatest, spread.sum(), joint, np.zeros(()))


def drawn_variance(estimate: Floats, squares: Floats, view: View, sampling: SamplingModel) -> Floats:
    """Of randomized values, from the sums of the rows' weights and of their squares; at least 0."""
    if sampling == "fixed":
        return np.maximum(squares - estimate, 0.0)
    return np.maximum(squares - estimate**2 / view.rows, 0.0) * view.rows / max(view.rows - 1, 1)


def group_rows_by(view: View, plan: Plan, sampling: SamplingModel) -> Totals:
    """The same for each combination of values of the attributes that are grouped by."""
    by = list(plan.by.values())
    if view.release.scheme_class.rows_are_groups:
        return _cell_by_cell(view, plan, sampling)
    sizes = [len(s.values.texts) for s in by]
    too_large([s.name for s in by], [s.shown.size for s in by], MOST_CELLS)
    sums = {m: np.zeros(sizes) for m in MAPS}
    flat = flat_index(by, view.rows)
    for chosen in product(*(range(plan.touched[n].classes) for n in plan.shared)):
        truth = plan.truth[chosen]
        if not np.any(truth):
            continue
        rows = row_weights(plan.seen, [t.view.shown.codes for t in plan.seen], truth) if plan.seen else None
        place = np.ix_(*(plan.values_of(s.name, chosen) for s in by))
        for m, total in sums.items():
            total[place] = _summed(by, flat, _of_rows(rows, m, view.sizes), m)[place]
    estimate, least, greatest = sums["share"], np.round(sums["certain"], 6), np.round(sums["possible"], 6)
    nothing = np.zeros(sizes)
    if any(v.random for v in (*by, *(t.view for t in plan.seen))):
        drawn = drawn_variance(estimate, sums["square"], view, sampling)
        return Totals(estimate, least, greatest, nothing, nothing, drawn)
    spread = estimate - sums["square"]
    correlated = spread - (sums["apart"] - sums["apart square"])
    return Totals(estimate, least, greatest, spread, together(correlated, greatest - least), nothing)


def _cell_by_cell(view: View, plan: Plan, sampling: SamplingModel) -> Totals:
    """The same for a sample, which has few rows, one cell after the other."""
    by = list(plan.by.values())
    sizes = [len(s.values.texts) for s in by]
    too_large([s.name for s in by], sizes, _MOST_SAMPLED)
    found = [count_rows(view, *plan.cell(cell), sampling) for cell in np.ndindex(*sizes)]
    fields = ("estimate", "least", "greatest", "independent", "together", "drawn")
    return Totals(*(np.array([float(getattr(t, f)) for t in found]).reshape(sizes) for f in fields))


def _of_rows(rows: RowWeights | None, m: Map, sizes: Floats) -> Floats:
    """What a row contributes by the attributes that are not grouped by."""
    if rows is None:
        return sizes
    apart = 1.0 - rows.correlation
    found = {
        "share": rows.share,
        "square": rows.share**2,
        "apart": rows.share * apart,
        "apart square": rows.share**2 * apart,
        "certain": rows.certain,
        "possible": rows.possible,
    }
    return found[m] * sizes


def _summed(by: Sequence[AttributeView], flat: NDArray[np.int64], rows: Floats, m: Map) -> Floats:
    """The rows, counted by what they show and spread over the values."""
    shape = [s.shown.size for s in by]
    table = np.bincount(flat, weights=rows, minlength=math.prod(shape)).astype(np.float64)
    power = 2 if m in ("square", "apart square") else 1
    random = m not in ("certain", "possible") and any(s.random for s in by)
    if random and all(
        s.weights is None or (isinstance(s.weights, Distortion) and s.weights.share is not None) for s in by
    ):
        ways = [s.weights if isinstance(s.weights, Distortion) else kept(n) for s, n in zip(by, shape, strict=True)]
        return distorted(table, shape, ways, power=power, undo=True).reshape(shape)
    table = table.reshape(shape)
    for axis, s in enumerate(by):
        table = _along(table, axis, s, m)
    return table


def _along(table: Floats, axis: int, s: AttributeView, m: Map) -> Floats:
    """One attribute of what is shown spread over its values."""
    if s.weights is None:
        return table
    if s.random and m in ("certain", "possible"):  # whatever is shown, each value is possible and none is certain
        part = table.sum(axis=axis, keepdims=True) * (m == "possible")
        return np.repeat(part, len(s.values.texts), axis=axis)
    return np.moveaxis(np.tensordot(_matrix(s, m), table, axes=(1, axis)), 0, axis)


def _matrix(s: AttributeView, m: Map) -> Floats:
    """What is summed, for each value and each thing shown."""
    if m in ("certain", "possible") and s.possible is not None:
        alone = s.possible & (s.possible.sum(axis=0) == 1)
        return np.asarray(alone if m == "certain" else s.possible, np.float64)
    power = 2 if m in ("square", "apart square") else 1
    weights = s.matrix**power
    return weights * (1.0 - s.value_correlations()) if m.startswith("apart") else weights


def kept(size: int) -> Distortion:
    """What changes nothing."""
    return Distortion(size, 0)


def flat_index(seen: Sequence[AttributeView], rows: int) -> NDArray[np.int64]:
    """The index of each row in the table of what the attributes show."""
    place = np.zeros(rows, np.int64)
    for s in seen:
        place = place * s.shown.size + s.shown.codes
    return place
