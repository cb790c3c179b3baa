"""Counts from a bucketized release: exact quasi-identifiers, and the sensitive values of each group."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.margin import BUCKETED, Totals, together
from sfumato.analyst.plan import Plan
from sfumato.analyst.randomized import too_large
from sfumato.analyst.view import AttributeView, View
from sfumato.engine.counts import Counted, count
from sfumato.errors import DAMAGED, PolicyError, ReleaseError
from sfumato.kernel.group import group_rows
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.table.distortion import Floats

Integers = NDArray[np.int64]

_MOST_PAIRS = 100_000_000
_MOST_PATTERNS = 10_000


class _Groups(NamedTuple):
    """The group of each person and of each entry of the sensitive table, how many people an entry stands for, and the
    size of each group."""

    of_person: Integers
    of_entry: Integers
    number: Integers
    sizes: Integers


class _Parts(NamedTuple):
    """How many people of a group fall into a cell: ``number`` of group ``group`` into ``cell``, one entry each."""

    group: Integers
    cell: Integers
    number: Floats


def groups_of(view: View) -> _Groups:
    """The groups, numbered from 0, the same in both tables."""
    quasi, sensitive = view.release.tables["quasi"], view.release.tables["sensitive"]
    codes = np.concatenate([quasi[GROUP].to_numpy(), sensitive[GROUP].to_numpy()]).astype(np.int64)
    found = group_rows([codes - codes.min()], [int(codes.max() - codes.min()) + 1])
    of_person, of_entry = found.of_row[: quasi.height], found.of_row[quasi.height :]
    number, groups = sensitive[COUNT].to_numpy().astype(np.int64), len(found.first)
    sizes = np.bincount(of_person, minlength=groups)
    if not np.array_equal(sizes, np.bincount(of_entry, weights=number, minlength=groups)):
        raise ReleaseError(f"a group has more or fewer sensitive values than people; {DAMAGED}")
    return _Groups(of_person, of_entry, number, sizes)


def count_buckets(view: View, plan: Plan) -> Totals:
    """How many people satisfy the condition of a plan, by the attributes that are grouped by.

    People whose quasi-identifiers leave the condition to the sensitive value, in the same way, are taken together: a
    of the n people of a group, of whose values b are allowed. Then a b / n of them are expected, between
    max(0, a + b - n) and min(a, b), with the variance of drawing b of n without putting back.
    """
    groups = view.release.remembered("groups of buckets", lambda: groups_of(view))
    quasi = [s for n, s in plan.by.items() if not view.separate(n)]
    apart = [s for n, s in plan.by.items() if view.separate(n)]
    shape = [len(s.values.texts) for s in (*quasi, *apart)]
    cells = int(np.prod([len(s.values.texts) for s in quasi])), int(np.prod([len(s.values.texts) for s in apart]))
    too_large([s.name for s in (*quasi, *apart)], shape, _MOST_PAIRS)
    people, entries = _cells(quasi, len(groups.of_person)), _cells(apart, len(groups.of_entry))
    sums = np.zeros((4, *cells))
    for rows, allowed in _patterns(view, plan, groups):
        ours = _parts(groups.of_person[rows], people[rows], np.ones(int(rows.sum())), cells[0])
        theirs = _parts(groups.of_entry[allowed], entries[allowed], groups.number[allowed], cells[1])
        _add(sums, ours, theirs, groups.sizes)
    order = [n for n in plan.by if not view.separate(n)] + [n for n in plan.by if view.separate(n)]
    axes = [order.index(n) for n in plan.by]
    estimate, least, greatest, variance = (x.reshape(shape).transpose(axes) for x in sums)
    joint = together(BUCKETED * variance, greatest - least)
    return Totals(estimate, least, greatest, variance, joint, np.zeros(estimate.shape))


def _cells(by: Sequence[AttributeView], rows: int) -> Integers:
    place = np.zeros(rows, np.int64)
    for s in by:
        place = place * len(s.values.texts) + s.shown.codes
    return place


def _patterns(view: View, plan: Plan, groups: _Groups) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """People by what they need, and for each such set of people the entries that satisfy the condition."""
    order = plan.shared + plan.others
    apart = [i for i, n in enumerate(order) if view.separate(n)]
    here = [i for i in range(len(order)) if i not in apart]
    truth = np.transpose(plan.truth, [*here, *apart])
    kinds = int(np.prod([truth.shape[a] for a in range(len(here))]))
    truth = truth.reshape(kinds, -1)
    person = _kinds(plan, [order[i] for i in here], len(groups.of_person))
    entry = _kinds(plan, [order[i] for i in apart], len(groups.of_entry))
    patterns, of_kind = np.unique(truth, axis=0, return_inverse=True)
    if len(patterns) > _MOST_PATTERNS:
        raise PolicyError(
            f"the condition distinguishes {len(patterns):,} cases, which is too many; ask for less at a time"
        )
    of_person = of_kind.ravel()[person]
    return [(of_person == p, allowed[entry]) for p, allowed in enumerate(patterns) if allowed.any()]


def _kinds(plan: Plan, names: Sequence[str], rows: int) -> Integers:
    """The combination of classes that each row shows."""
    place = np.zeros(rows, np.int64)
    for n in names:
        t = plan.touched[n]
        place = place * t.classes + t.which[t.view.shown.codes]
    return place


def _parts(group: Integers, cell: Integers, number: NDArray[np.int64] | Floats, cells: int) -> _Parts:
    """Added up, in the order of groups."""
    if not len(group):
        return _Parts(group, cell, np.zeros(0))
    found = count([Counted(group, int(group.max()) + 1), Counted(cell, cells)])
    total = np.bincount(found.of_row, weights=number, minlength=len(found.first)).astype(np.float64)
    order = np.argsort(group[found.first], kind="stable")
    return _Parts(group[found.first][order], cell[found.first][order], total[order])


def _add(sums: Floats, ours: _Parts, theirs: _Parts, sizes: Integers) -> None:
    """Add estimate, bounds and variance of every pair of parts of the same group."""
    first = np.searchsorted(theirs.group, ours.group, side="left")
    pairs = np.searchsorted(theirs.group, ours.group, side="right") - first
    total = int(pairs.sum())
    if total > _MOST_PAIRS:
        raise PolicyError(
            f"the groups have {total:,} pairs of a person and a value, which is too many; group by fewer columns"
        )
    left = np.repeat(np.arange(len(ours.group)), pairs)
    right = np.repeat(first - np.cumsum(pairs) + pairs, pairs) + np.arange(total)
    a, b, n = ours.number[left], theirs.number[right], sizes[ours.group[left]].astype(np.float64)
    variance = a * b * (n - a) * (n - b) / (n * n * np.maximum(n - 1, 1))
    place = ours.cell[left] * sums.shape[2] + theirs.cell[right]
    for total_of, part in zip(sums, (a * b / n, np.maximum(a + b - n, 0.0), np.minimum(a, b), variance), strict=True):
        total_of += np.bincount(place, weights=part, minlength=total_of.size).reshape(total_of.shape)
