"""Which group of a release each person of an external database belongs to, by quasi-identifiers alone."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.kernel.group import group_rows
from sfumato.kernel.pg.box_overlap import meet
from sfumato.release.label_meaning import parse_label
from sfumato.release.labels import Meanings, as_ranges
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import GROUP
from sfumato.release.scheme.sampling import Places, boxes_of
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata
from sfumato.table.published import domain_codes


class Placed(NamedTuple):
    """The group of each person, -1 if no published one fits; the groups that some person fits in addition to another;
    and the group of each row that shows sensitive values."""

    of_person: NDArray[np.int64]
    shared: NDArray[np.bool_]
    of_row: NDArray[np.int64]


def place(release: Release, people: Microdata) -> Placed:
    """Find everyone's group: a row of a sample, a box of labels, a bucket, or the rows with the same values."""
    for name in release.quasi():
        if name not in people.columns:
            raise DataError(
                f"the external database has no column {name!r}; it needs all quasi-identifiers of the release"
            )
    return place_columns(release, [people[name] for name in release.quasi()])


def place_columns(release: Release, columns: list[Column]) -> Placed:
    """The same for coded quasi-identifiers, in the order of the release."""
    if release.sampled:
        return _in_sample(release, columns)
    if release.scheme_class.labels_people:
        return _in_boxes(release, columns)
    return _by_value(release, columns)


def _in_sample(release: Release, columns: list[Column]) -> Placed:
    lo, hi = boxes_of(release.description, release.tables["data"], release.quasi())
    points = np.empty((len(columns[0].codes), len(columns)), np.int64)
    for j, column in enumerate(columns):
        cells = Places(column.name, release.description.label(column.name)).of(column.domain)
        points[:, j] = cells[column.codes]
    found = meet(lo, hi, points, points + 1)
    return Placed(found.hit, found.shared.astype(np.bool_), np.arange(len(lo)))


class LabelBoxes(NamedTuple):
    """The boxes of a release that labels people, in codes of people's columns: their ends, and the group of each;
    and the group of each row. A label that covers separate ranges makes several boxes of one group."""

    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    owner: NDArray[np.int64]
    of_row: NDArray[np.int64]
    groups: int


def label_boxes(release: Release, columns: Sequence[Column], *, counted: bool = False) -> LabelBoxes:
    """The boxes that the labels of groups describe; ``counted``: rows are those of the counted table."""
    of_row = release.counted_labels(()) if counted else release.groups()
    first = np.zeros(int(of_row.max()) + 1, np.int64)
    first[of_row[::-1]] = np.arange(len(of_row))[::-1]
    data = release.counted["data"] if counted else release.tables["data"]
    labels = [data[c.name].gather(first).cast(pl.String).to_list() for c in columns]
    told = release.description
    known = [_ranges(c, told.label(c.name).nodes, shown) for c, shown in zip(columns, labels, strict=True)]
    boxes, owner = [], []
    for group, shown in enumerate(zip(*labels, strict=True)):
        for box in product(*(ranges[label] for ranges, label in zip(known, shown, strict=True))):
            boxes.append(box)
            owner.append(group)
    sides = np.array(boxes, np.int64).reshape(len(boxes), len(columns), 2)
    return LabelBoxes(sides[:, :, 0], sides[:, :, 1], np.array(owner, np.int64), of_row, len(first))


def points_of(columns: Sequence[Column]) -> NDArray[np.int64]:
    """People's quasi-identifiers as points, one row each."""
    return np.stack([c.codes for c in columns], axis=1).astype(np.int64)


def _in_boxes(release: Release, columns: list[Column]) -> Placed:
    boxes, points = label_boxes(release, columns), points_of(columns)
    found = meet(boxes.lo, boxes.hi, points, points + 1)
    owners = np.append(boxes.owner, -1)
    shared = np.zeros(boxes.groups, np.bool_)
    shared[owners[:-1][found.shared.astype(np.bool_)]] = True
    return Placed(owners[found.hit], shared, boxes.of_row)


def _ranges(column: Column, nodes: Mapping[str, Any], labels: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """The codes of people's values that each label covers, as ranges; values that none of them has are left out."""
    meanings = Meanings(column.domain)
    return {n: as_ranges(meanings.codes(parse_label(n, nodes.get(n)), partly=True)) for n in set(labels)}


def _by_value(release: Release, columns: list[Column]) -> Placed:
    """People and published rows with the same quasi-identifiers; buckets are shared if such rows are in several."""
    shown = release.tables[release.scheme_class.people]
    codes = [np.concatenate([c.codes.astype(np.int64), _published(c, shown[c.name])]) for c in columns]
    vectors = group_rows(codes, [c.size + 1 for c in columns])
    people = len(columns[0].codes)
    of_person, of_shown = vectors.of_row[:people], vectors.of_row[people:]
    group = of_shown if not release.bucketized else shown[GROUP].to_numpy().astype(np.int64)
    lowest, highest = np.full(len(vectors.first), -1, np.int64), np.full(len(vectors.first), -1, np.int64)
    order = np.argsort(group, kind="stable")
    highest[of_shown[order]] = group[order]
    lowest[of_shown[order[::-1]]] = group[order[::-1]]
    shared = np.zeros(int(group.max()) + 1, np.bool_)
    shared[group[(lowest != highest)[of_shown]]] = True
    values = release.tables["sensitive"][GROUP].to_numpy().astype(np.int64) if release.bucketized else group
    return Placed(np.where(lowest == highest, lowest, -1)[of_person], shared, values)


def _published(column: Column, series: pl.Series) -> NDArray[np.int64]:
    """Published values as codes of the people's column; values that no person has get a separate code."""
    codes = domain_codes(series, column.domain.leaves)
    return np.where(codes < 0, column.size, codes)
