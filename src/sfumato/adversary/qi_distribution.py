"""The adversary who knows how likely each kind of person is to have a value: QI-based distributions (ART, section 5).

This adversary knows everyone's quasi-identifiers and group and, for every attribute set, the probability that people
with given values have a sensitive value. A person linked to a protected value with a probability above 1/r is a
problematic tuple.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.release.judgement import TableSchema
from sfumato.release.labels import read_labels, read_values
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.requirement.base import names
from sfumato.requirement.exposure import Exposure, GroupedPeople, deviation
from sfumato.requirement.knowledge import Knowledge
from sfumato.requirement.r_robustness import RRobustness
from sfumato.table.microdata import Microdata
from sfumato.table.published import value_codes
from sfumato.table.taxonomy import named

Integers = NDArray[np.int64]

_BLOCK_CELLS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class DistributionRisk:
    """What QI-based distributions give away.

    ``problematic`` people are linked to a protected value with a probability above 1/r; ``worst`` is the greatest
    probability, found for the value ``value`` and the attribute set ``attributes``. ``deviation`` is the average Δ: the
    greatest chance of a protected value in a group minus the least, averaged over groups, attribute sets and values. In
    ``bounded`` groups a probability is a certified upper bound. ``guessed`` people fit the labels of several
    groups; they were assigned to a group with room.
    """

    people: int
    groups: int
    r: float
    problematic: int
    worst: float
    value: str
    attributes: tuple[str, ...]
    deviation: float
    bounded: int
    guessed: int

    @property
    def share(self) -> float:
        """The share of people who are problematic."""
        return self.problematic / self.people


def distribution_risk(release: Release, truth: Microdata, requirement: RRobustness) -> DistributionRisk:
    """Attack a release of either scheme; the truth supplies the adversary's knowledge: people and distributions.

    Args:
        release: the release to attack.
        truth: the private table.
        requirement: the limit 1/r, the protected values, and where the distributions come from.
    """
    if not isinstance(requirement, RRobustness):
        raise PolicyError(f"{requirement!r} does not use distributions; give an RRobustness")
    bound = requirement.bind(TableSchema(truth))
    _comparable(release, truth, names(bound.sensitive)[0])
    people, known, guessed = (_of_buckets if release.bucketized else _of_labels)(release, truth, bound)
    return risk_of(people, known, bound, guessed=guessed)


def _comparable(release: Release, truth: Microdata, sensitive: str) -> None:
    """Raise unless the release shows groups of the people of the table."""
    if not release.scheme_class.shows_groups:
        raise PolicyError(
            f"the release is by {release.scheme}, which does not show groups of people with their values; this attack "
            "needs bucketization or generalization"
        )
    if not truth.quasi:
        raise PolicyError(
            "this attack needs a quasi-identifier, but the table has none; give a column the role 'quasi'"
        )
    shown = release.description.attributes
    if lacking := [n for n in (*(c.name for c in truth.quasi), sensitive) if n not in shown]:
        raise DataError(
            f"the release has no attribute {named(lacking)}; it has {named(shown)}: give the table that it was made "
            "from, with the same roles"
        )
    roles = {c.name: c.role for c in truth.columns.values() if c.name in shown}
    if other := [n for n, role in roles.items() if shown[n].role != role]:
        raise DataError(f"{named(other)} has another role in the release; give the same roles")
    if release.description.rows != truth.rows:
        raise DataError(
            f"the release has {release.description.rows} rows and the table {truth.rows}; give the table that the "
            "release was made from"
        )


def risk_of(people: GroupedPeople, known: Knowledge, requirement: RRobustness, *, guessed: int = 0) -> DistributionRisk:
    """The same for people whose groups are known."""
    found: Exposure = requirement.exposure(people, known)
    apart = [deviation(people, d, x) for x in known.values.protected for d in known.distributions]
    return DistributionRisk(
        people=len(people.kind),
        groups=len(people.held),
        r=float(requirement.r),
        problematic=int(requirement.fails(found.worst).sum()),
        worst=found.greatest,
        value=known.values.titles[found.value],
        attributes=found.attributes,
        deviation=float(np.mean(apart)),
        bounded=found.bounded,
        guessed=guessed,
    )


def _of_buckets(release: Release, truth: Microdata, bound: RRobustness) -> tuple[GroupedPeople, Knowledge, int]:
    """People with exact quasi-identifiers, in the groups that the release names."""
    sensitive = names(bound.sensitive)[0]
    quasi, values = release.tables["quasi"], release.tables["sensitive"]
    known = bound.known(truth, [read_values(quasi[c.name], c.domain).of_row for c in truth.quasi])
    seen = values[GROUP].append(quasi[GROUP])
    group, number = value_codes(seen)
    codes = read_values(values[sensitive], truth[sensitive].domain).of_row
    held = np.zeros((number, len(known.values.names)), np.int64)
    np.add.at(held, (group[: values.height].astype(np.int64), known.values.of_code[codes]), values[COUNT].to_numpy())
    return GroupedPeople(known.kinds.of_row[truth.rows :], group[values.height :].astype(np.int64), held), known, 0


def _of_labels(release: Release, truth: Microdata, bound: RRobustness) -> tuple[GroupedPeople, Knowledge, int]:
    """People of the truth in the groups whose labels they fit."""
    sensitive = names(bound.sensitive)[0]
    data, known = release.tables["data"], bound.known(truth)
    group = release.groups()
    codes = read_values(data[sensitive], truth[sensitive].domain).of_row
    number, width = int(group.max()) + 1, len(known.values.names)
    held = np.bincount(group * width + known.values.of_code[codes], minlength=number * width).reshape(number, width)
    kind, place, guessed = _placed(known, _fits(release, truth, known, group, number), held.sum(axis=1))
    return GroupedPeople(kind, place, held), known, guessed


def _fits(release: Release, truth: Microdata, known: Knowledge, group: Integers, number: int) -> list[Integers]:
    """Of each kind, the groups whose labels it fits."""
    first = np.zeros(number, np.int64)
    first[group] = np.arange(len(group))
    tables = []
    for c in truth.quasi:
        shown = read_labels(release.tables["data"][c.name], release.description.label(c.name).nodes, c.domain)
        allowed = np.zeros((len(shown.lo), c.size), np.bool_)
        for label, (lo, hi) in enumerate(zip(shown.lo, shown.hi, strict=True)):
            allowed[label, shown.leaves[lo:hi] if len(shown.leaves) else slice(lo, hi)] = True
        tables.append(allowed[shown.of_row[first]].T)
    step = max(1, _BLOCK_CELLS // number)
    out: list[Integers] = []
    for begin in range(0, known.kinds.number, step):
        some = slice(begin, begin + step)
        fit = np.logical_and.reduce([t[c[some]] for t, c in zip(tables, known.kinds.codes, strict=True)])
        kinds, groups = np.nonzero(fit)
        out += np.split(groups, np.searchsorted(kinds, np.arange(1, len(fit))))
    return out


def _placed(known: Knowledge, fits: list[Integers], sizes: Integers) -> tuple[Integers, Integers, int]:
    """The kind and the group of each person; people who fit several groups go where there is the most room."""
    people = np.bincount(known.kinds.of_row, minlength=known.kinds.number)
    room = sizes.copy()
    kind, place, guessed = [], [], 0
    for k in sorted(range(len(fits)), key=lambda k: len(fits[k])):
        left, options = int(people[k]), fits[k]
        guessed += left if len(options) > 1 else 0
        for g in options[np.argsort(-room[options], kind="stable")] if len(options) > 1 else options:
            put = min(left, max(0, int(room[g])))
            kind.append(np.full(put, k))
            place.append(np.full(put, g))
            room[g] -= put
            left -= put
        if left:  # people for whom earlier guesses left no room
            kind.append(np.full(left, k))
            place.append(np.full(left, -1))
    kinds, groups = np.concatenate(kind).astype(np.int64), np.concatenate(place).astype(np.int64)
    groups[groups < 0] = np.repeat(np.arange(len(room)), np.maximum(room, 0))
    return kinds, groups, guessed
