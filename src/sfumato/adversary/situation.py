"""A release under attack, given the truth: what all adversaries of an audit share, counted once."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.budget import TimeBudget
from sfumato.adversary.finding import MARGIN
from sfumato.adversary.placement import LabelBoxes, label_boxes, place_columns, points_of
from sfumato.engine.counts import Counted, Counts, count, totals
from sfumato.engine.draws import Draws
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.group import EqualRows, group_rows
from sfumato.kernel.linkage.covering import cover, how_many_cover
from sfumato.method.base import Progress, silent
from sfumato.method.catalogue import METHODS
from sfumato.release.earlier import Earlier
from sfumato.release.people import entity_of
from sfumato.release.release import Release
from sfumato.release.rule import Inconsistent
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.release.scheme.sampling import SIZE
from sfumato.requirement.base import whole_number
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.population import Population
from sfumato.table.published import domain_codes, value_codes
from sfumato.table.taxonomy import named

T = TypeVar("T", bound=np.generic)
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Earlies = Sequence[Release | Earlier | str | Path]

_MOST_CELLS = 50_000_000
_ANOTHER = "give the table that the release was made from, with the same roles"


class Fits(NamedTuple):
    """Which groups each kind of people fits: how many, one of them (-1: none), how many published people fit in all;
    and every group of one kind after those of another, with how many of its people fit."""

    groups: Integers
    group: Integers
    rows: Integers
    every: Integers
    every_rows: Integers

    @classmethod
    def of(cls, number: Integers, every: Integers, every_rows: Integers) -> "Fits":
        """From the groups of each kind."""
        ends = np.cumsum(number)
        sums = np.concatenate([[0], np.cumsum(every_rows)])
        one = np.append(every, -1)[np.where(number > 0, ends - 1, len(every))]
        return cls(number, one, sums[ends] - sums[ends - number], every, every_rows)

    def listed(self, kind: Integers) -> tuple[Integers, Integers]:
        """For each of some kinds all of its groups: the place of the kind among them, and the place in ``every``."""
        starts = np.cumsum(self.groups) - self.groups
        which = np.repeat(np.arange(len(kind)), self.groups[kind])
        inside = np.arange(len(which)) - np.repeat(np.cumsum(self.groups[kind]) - self.groups[kind], self.groups[kind])
        return which, starts[kind][which] + inside


class Held(NamedTuple):
    """How often each group shows each value: sorted keys (group · values + value) and their counts."""

    keys: Integers
    counts: Integers
    values: int
    sizes: Integers

    def at(self, group: Integers, value: Integers) -> Integers:
        """How often these groups show these values."""
        return self.of(group, value, self.counts)

    def of(self, group: Integers, value: Integers, figures: NDArray[T]) -> NDArray[T]:
        """A figure of groups and values, one per key, for these; 0 where they do not occur together."""
        wanted = group * self.values + value
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, figures[place], figures.dtype.type(0))

    @classmethod
    def counted(cls, group: Integers, value: Integers, counts: Integers | None, groups: int, values: int) -> "Held":
        """Counted from entries, each standing for as many people as its count."""
        keys, place = np.unique(group * values + value, return_inverse=True)
        held = np.bincount(place, weights=counts, minlength=len(keys)).astype(np.int64)
        return cls(keys, held, values, np.bincount(keys // values, weights=held, minlength=groups).astype(np.int64))


class Situation:
    """A release, the private table behind it, and what an audit allows itself.

    ``truth`` are the rows or their counts. ``population`` is a table of the people among whom those of the table are
    looked for, or how many they are; ``after`` what was published before. Where people are attacked one by one,
    ``sample`` of them are drawn. People count as learned about beyond ``margin``.
    """

    def __init__(
        self,
        release: Release,
        truth: Microdata | Counts,
        *,
        population: Population | int | None = None,
        after: Earlies = (),
        inconsistent: Sequence[Inconsistent] = (),
        sample: int | None = None,
        margin: float = MARGIN,
        draws: Draws | None = None,
        clock: TimeBudget | None = None,
        progress: Progress = silent,
    ) -> None:
        _comparable(release, truth)
        self.release, self.truth, self.population = release, truth, population
        self.after, self.inconsistent = tuple(after), tuple(inconsistent)
        self.sample = None if sample is None else whole_number("an audit", "sample", sample, 1)
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < 1:
            raise PolicyError(f"an audit: margin = {margin!r}; it must be in [0, 1)")
        self.margin, self.draws, self.clock = margin, draws or Draws(), clock or TimeBudget(None)
        self.progress = progress

    @cached_property
    def weights(self) -> Integers:
        """How many people each entry of the truth stands for."""
        return np.ones(self.truth.entries, np.int64) if self.truth.weights is None else self.truth.weights

    @property
    def rows(self) -> Integers | None:
        """The row of each entry, if entries are rows."""
        return np.arange(self.truth.entries) if self.truth.weights is None else None

    @property
    def published(self) -> int:
        """How many people the release is about."""
        told = self.release.description
        return told.sampled_from if self.release.sampled else told.rows

    @property
    def left_out(self) -> int:
        """How many people of the table the release leaves out."""
        return self.truth.rows - self.published

    @cached_property
    def perturbs(self) -> bool:
        """Whether the method may have changed sensitive values in groups."""
        name = self.release.description.method.name
        return name in METHODS and METHODS[name].perturbs

    @cached_property
    def quasi(self) -> list[Column]:
        """The quasi-identifiers of the truth, in the order of the release."""
        return [self.truth[name] for name in self.release.quasi()]

    @property
    def sensitive(self) -> list[Column]:
        """The sensitive attributes of the truth that the release shows."""
        return [self.truth[name] for name in self.release.with_role(Role.SENSITIVE)]

    @cached_property
    def several_rows(self) -> str | None:
        """The column that tells people apart, if claims count people by it and some have several rows."""
        entity = entity_of(self.release.description.requirements)
        if entity is None or entity not in self.truth.names:
            return None
        return entity if (np.bincount(self.truth.counted(entity)[0], self.weights) > 1).any() else None

    @cached_property
    def kinds(self) -> EqualRows:
        """Entries with equal quasi-identifiers are of one kind."""
        if not self.quasi:
            everyone = np.zeros(self.truth.entries, np.int64)
            return EqualRows(everyone, np.zeros(1, np.int64), np.array([self.truth.entries]))
        return group_rows([c.codes for c in self.quasi], [c.size for c in self.quasi])

    @cached_property
    def people(self) -> Integers:
        """How many people there are of each kind."""
        return totals(Counted(self.kinds.of_row, len(self.kinds.first)), self.weights)

    def of_kind(self, column: Column) -> Column:
        """A quasi-identifier with one code per kind."""
        return Column(column.name, column.role, column.kind, column.domain, column.codes[self.kinds.first])

    @cached_property
    def randomized_quasi(self) -> list[str]:
        """The quasi-identifiers that were randomized."""
        return [n for n in self.release.quasi() if n in self.release.description.matrices]

    @cached_property
    def boxes(self) -> LabelBoxes:
        """The boxes of labels, in codes of the truth; rows are those of the counted table."""
        return label_boxes(self.release, self.quasi, counted=True)

    @cached_property
    def fits(self) -> Fits:
        """Which groups each kind fits."""
        if not self.quasi:
            return self._one_group()
        columns = [self.of_kind(c) for c in self.quasi]
        if self.release.scheme_class.labels_people:
            return self._by_labels(columns)
        if self.release.sampled:
            row = place_columns(self.release, columns).of_person
            size = np.asarray(self.release.tables["data"][SIZE].to_numpy(), np.int64)
            return Fits.of((row >= 0).astype(np.int64), row[row >= 0], size[row[row >= 0]])
        return self._by_value()

    def _one_group(self) -> Fits:
        one = np.ones(1, np.int64)
        return Fits.of(one, np.zeros(1, np.int64), np.array([self.published]))

    def _by_labels(self, columns: list[Column]) -> Fits:
        b, points = self.boxes, points_of(columns)
        number = how_many_cover(b.lo, b.hi, points)
        if int(number.sum()) > _MOST_CELLS:
            raise PolicyError(
                f"people fit {int(number.sum()):,} groups in all, more than {_MOST_CELLS:,}; this is not computed"
            )
        every = b.owner[cover(b.lo, b.hi, points, number).boxes]
        sizes = totals(Counted(b.of_row, b.groups), self.release.row_weights)
        return Fits.of(number, every, sizes[every])

    @cached_property
    def kind_of_row(self) -> Integers:
        """The kind of each published person, where quasi-identifiers are exact; -1 if nobody in the table has it."""
        shown = self.release.tables[self.release.scheme_class.people]
        codes = [_with(c.codes[self.kinds.first], domain_codes(shown[c.name], c.domain.leaves)) for c in self.quasi]
        found = group_rows([np.where(c < 0, column.size, c) for c, column in zip(codes, self.quasi, strict=True)],
                           [c.size + 1 for c in self.quasi])  # fmt: skip
        number = len(self.kinds.first)
        kind = np.full(len(found.first), -1)
        kind[found.of_row[:number]] = np.arange(number)
        return np.asarray(kind[found.of_row[number:]])

    @cached_property
    def group_of_row(self) -> Integers:
        """The group of each published person: the bucket, or the class of equal quasi-identifiers."""
        if not self.release.bucketized:
            return self.release.groups() if self.release.scheme_class.shows_groups else self.kind_of_row
        return self._buckets[0]

    @cached_property
    def _buckets(self) -> tuple[Integers, Integers, int]:
        """The bucket of each person and of each entry of the sensitive table, and how many buckets there are."""
        people, values = self.release.tables["quasi"][GROUP], self.release.tables["sensitive"][GROUP]
        every, number = value_codes(pl.concat([people, values]))
        return every[: len(people)].astype(np.int64), every[len(people) :].astype(np.int64), number

    def _by_value(self) -> Fits:
        number, there = len(self.kinds.first), self.kind_of_row >= 0
        kind, group = self.kind_of_row[there], self.group_of_row[there]
        groups = int(group.max(initial=0)) + 1
        keys, rows = np.unique(kind * groups + group, return_counts=True)
        return Fits.of(np.bincount(keys // groups, minlength=number), keys % groups, rows)

    def held(self, column: Column) -> Held:
        """How often each group shows each value of a sensitive attribute, in codes of the truth."""
        if self.release.bucketized:
            values, (_, group, number) = self.release.tables["sensitive"], self._buckets
            counts: NDArray[Any] | None = values[COUNT].to_numpy()
        elif self.release.scheme_class.labels_people:
            values, group = self.release.counted["data"], self.release.counted_labels(())
            counts, number = self.release.row_weights, int(group.max()) + 1
        else:
            values, group, counts = self.release.tables["data"], self.group_of_row, None
            number = int(group.max()) + 1
        codes = domain_codes(values[column.name], column.domain.leaves)
        size = column.size + 1  # one more for values that nobody in the table has
        return Held.counted(group, np.where(codes < 0, column.size, codes), counts, number, size)

    def share(self, column: Column) -> Floats:
        """How frequent each value of an attribute is in the whole table."""
        return np.asarray(totals(Counted(column.codes, column.size), self.weights) / self.truth.rows)

    def pairs(self, column: Column) -> EqualRows:
        """Entries of one kind with the same value."""
        return count([Counted(self.kinds.of_row, len(self.kinds.first)), Counted(column.codes, column.size)])


def _with(first: NDArray[np.generic], more: Integers) -> Integers:
    return np.concatenate([first.astype(np.int64), more])


def _comparable(release: Release, truth: Microdata | Counts) -> None:
    """Raise unless the release can be one of this table."""
    if not isinstance(release, Release):
        raise PolicyError(f"an audit needs a release, not a {type(release).__name__}; publish a table, or sf.load one")
    if not isinstance(truth, Microdata | Counts):
        raise PolicyError(f"an audit needs the private table (sf.read) as its truth, not a {type(truth).__name__}")
    told = release.description
    known = {*truth.columns, *(truth.plain.columns if isinstance(truth, Microdata) else ())}
    coded = [n for n, a in told.attributes.items() if a.role in (Role.QUASI, Role.SENSITIVE)]
    if lacking := [n for n in coded if n not in known]:
        raise DataError(f"the release shows {named(lacking)}, which the table does not have; {_ANOTHER}")
    if other := [n for n in coded if n not in truth.columns or truth[n].role != told.attributes[n].role]:
        raise DataError(f"{named(other)} has another role in the table than in the release; {_ANOTHER}")
    people = told.sampled_from if release.sampled else told.rows
    if people > truth.rows:
        raise DataError(f"the release is about {people:,} people and the table has {truth.rows:,} rows; {_ANOTHER}")
