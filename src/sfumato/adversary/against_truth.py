"""What only the private table can show: whether a release is about its people, and whether its rows were shuffled."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.situation import Situation
from sfumato.engine.counts import Counted, combine
from sfumato.release.check.finding import Finding, verdict
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import domain_codes, value_codes

Integers = NDArray[np.int64]

FALSE_ALARM = 1e-6
"""The probability that an honest release fails the tests of its order, at most, over all of them together."""

_SHOWN = "the release shows the people of the table"
_ORDER = "the rows are in a random order"


def against_truth(s: Situation) -> list[Finding]:
    """The claims that the truth confirms or refutes."""
    found = [_people_shown(s)]
    if isinstance(s.truth, Microdata) and not s.release.sampled and found[0].status != "broken":
        found.append(_shuffled(s, s.truth))
    return found


def _people_shown(s: Situation) -> Finding:
    """Whether everyone fits what is published, and the published values are those of the people who fit."""
    lacking = int(s.people[s.fits.groups == 0].sum()) if not s.randomized_quasi else 0
    if lacking > s.left_out:
        many = f"{lacking:,} of {s.truth.rows:,} people do not fit anything published"
        return Finding(_SHOWN, "broken", f"{many}, but only {s.left_out:,} were left out")
    for column in s.sensitive if not (s.perturbs or s.release.sampled) else ():
        if fault := _values_differ(s, column):
            return Finding(_SHOWN, "broken", fault)
    return verdict(_SHOWN, None, f"{s.published:,} of {s.truth.rows:,} people; everyone fits, and so do their values")


def _values_differ(s: Situation, column: Column) -> str | None:
    """Why the published values of an attribute are not those of the table: in all, and in every group that
    can be identified; fewer of them if people were left out."""
    if column.name in s.release.description.matrices:
        return None
    held = s.held(column)
    shown = np.bincount(held.keys % held.values, weights=held.counts, minlength=held.values).astype(np.int64)
    there = np.append(np.rint(s.share(column) * s.truth.rows).astype(np.int64), 0)
    if (shown > there).any():
        value = int(np.argmax(shown - there))
        word = column.domain.leaves[value] if value < column.size else "a value that the table lacks"
        return f"{column.name} = {word} is published {shown[value]:,} times, but occurs {there[value]:,} times"
    if not s.release.scheme_class.shows_groups or (s.fits.groups > 1).any():
        return None
    group, codes = s.fits.group[s.kinds.of_row], column.codes.astype(np.int64)
    keys = group * held.values + codes
    place = np.minimum(np.searchsorted(held.keys, keys), len(held.keys) - 1)
    inside = (group >= 0) & (held.keys[place] == keys)
    mine = np.bincount(place[inside], weights=s.weights[inside], minlength=len(held.keys)).astype(np.int64)
    wrong = int((held.counts > mine).sum())
    told = f"in {wrong:,} places a group shows a value of {column.name} more often than it occurs among its people"
    return told if wrong else None


def _shuffled(s: Situation, truth: Microdata) -> Finding:
    """Whether rows follow the order of the table more than chance allows: neighbours stay neighbours, or rows agree
    with the table in the same place, from the end or inside their group."""
    both = list(_columns(s, truth))
    if s.release.scheme_class.labels_people and s.quasi and (s.fits.groups <= 1).all():
        number = int(s.fits.group.max()) + 2
        both.append((Counted(s.fits.group[s.kinds.of_row] + 1, number), Counted(s.group_of_row + 1, number)))
    if not both:
        return Finding(_ORDER, "stated", "no column is published unchanged, so the order cannot be compared")
    rows = truth.rows
    joint = combine([Counted(np.concatenate([a.codes, b.codes]), max(a.size, b.size)) for a, b in both])
    mine, theirs = (np.asarray(part, np.int64) for part in (joint.codes[:rows], joint.codes[rows:]))
    limit = math.log(FALSE_ALARM / 4)
    near, known = neighbours(mine, theirs)
    if near and near * math.log(2) - math.lgamma(near + 1) < limit:
        told = f"{near:,} of {known:,} distinguishable rows are next to the same row as in the table"
        return Finding(_ORDER, "broken", told)
    for words, a, b, group in _tests(s, mine, theirs):
        if log_chance(a, b, group) < limit:
            return Finding(_ORDER, "broken", f"{int((a == b).sum()):,} of {rows:,} rows agree with the table {words}")
    return Finding(
        _ORDER, "holds", f"no more agreement with the order of the table than by chance (at {FALSE_ALARM:g})"
    )


def _tests(s: Situation, mine: Integers, theirs: Integers) -> Iterator[tuple[str, Integers, Integers, Integers | None]]:
    """Codes of the table's rows and of the published ones, in an order that a release must not have."""
    if len(mine) != len(theirs):
        return
    yield "in the same place", mine, theirs, None
    yield "in the same place from the end", mine, theirs[::-1], None
    if s.release.scheme_class.labels_people and s.quasi and (s.fits.groups == 1).all():
        here, there = s.fits.group[s.kinds.of_row], s.group_of_row
        first, second = (np.argsort(g, kind="stable") for g in (here, there))
        if np.array_equal(here[first], there[second]):
            yield "in the same place in their group", mine[first], theirs[second], here[first]


def neighbours(mine: Integers, theirs: Integers) -> tuple[int, int]:
    """How many published rows are followed by one that is next to them in the table, of those that occur once in both.

    In a random order there are t or more with a probability of at most 2^t / t!: the expected number of sets of t pairs
    of neighbours that stay neighbours is C(n-1, t) (n-t)! / n! <= 1 / t! for each choice of directions.

    >>> neighbours(np.array([5, 6, 7, 7, 8]), np.array([8, 6, 5, 7]))
    (2, 3)
    """
    first, second = (np.unique(codes, return_counts=True) for codes in (mine, theirs))
    once = np.intersect1d(first[0][first[1] == 1], second[0][second[1] == 1])
    place = np.full(int(max(mine.max(), theirs.max())) + 1, -1)
    place[mine[np.isin(mine, once)]] = np.arange(len(once))
    order = place[theirs[np.isin(theirs, once)]]
    return int((np.abs(np.diff(order)) == 1).sum()), len(once)


def _columns(s: Situation, truth: Microdata) -> Iterator[tuple[Counted, Counted]]:
    """The columns that are published unchanged, as codes of the table's rows and of the published ones."""
    shown = s.release.tables[s.release.scheme_class.people]
    random = s.release.description.matrices
    for column in truth.columns.values():
        as_labels = column.role is Role.QUASI and s.release.scheme_class.labels_people
        changed = column.role is Role.SENSITIVE and s.perturbs
        if column.name in shown.columns and not as_labels and not changed and column.name not in random:
            theirs = domain_codes(shown[column.name], column.domain.leaves)
            codes = np.where(theirs < 0, column.size, theirs)
            yield Counted(column.codes.astype(np.int64), column.size + 1), Counted(codes, column.size + 1)
    for name in truth.plain.columns:
        if name in shown.columns and shown[name].dtype == truth.plain[name].dtype:
            codes, size = value_codes(pl.concat([truth.plain[name], shown[name]]))
            yield Counted(codes[: truth.rows], size), Counted(codes[truth.rows :], size)


def log_chance(mine: Integers, theirs: Integers, group: Integers | None) -> float:
    """The logarithm of a bound on the probability that rows in random order (inside groups, if given) agree this often.

    In a random order the number of rows that agree is below its mean plus t with a probability of at least
    1 - exp(-t² / 8n): placing one row after the other, each changes the expectation by at most 2 (Azuma). If all rows
    agree, that has the exact probability Π m! / n! for the multiplicities m of equal rows.

    >>> codes = np.arange(100)
    >>> log_chance(codes, codes, None) < math.log(1e-6), log_chance(codes, codes[::-1], None)
    (True, 0.0)
    """
    agree, rows = int((mine == theirs).sum()), len(mine)
    group = np.zeros(rows, np.int64) if group is None else group
    classes = combine([Counted(group, int(group.max()) + 1), Counted(mine, int(max(mine.max(), theirs.max())) + 1)])
    if agree == rows:
        number = np.bincount(classes.codes)
        return sum(math.lgamma(m + 1) for m in number.tolist()) - sum(
            math.lgamma(n + 1) for n in np.bincount(group).tolist()
        )
    above = agree - expected_agreement(mine, theirs, group)
    return -(above**2) / (8 * rows) if above > 0 else 0.0


def expected_agreement(mine: Integers, theirs: Integers, group: Integers) -> float:
    """How many rows agree on average in random order inside groups: the sum of (count here · count there) / size."""
    width = int(max(mine.max(), theirs.max())) + 1
    here, a = np.unique(group * width + mine, return_counts=True)
    there, b = np.unique(group * width + theirs, return_counts=True)
    common, i, j = np.intersect1d(here, there, return_indices=True)
    return float((a[i] * b[j] / np.bincount(group)[common // width]).sum())
