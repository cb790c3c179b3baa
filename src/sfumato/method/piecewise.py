"""Mondrian piece by piece: the first cuts on margins, then each piece by itself, wherever its vectors are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.pieces import CodeRegion, Margins, Pieces, Range
from sfumato.engine.progress import Progress, Share
from sfumato.errors import SfumatoError
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import summarize
from sfumato.kernel.group import group_rows
from sfumato.kernel.mondrian.margin import AxisCut
from sfumato.method.cutting import Cutting
from sfumato.release.judgement import on_groups, refuse_infeasible
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.group_labels import shown_boxes
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata

_MOST_REGIONS = 64
"""How many regions are asked about at a time."""


class Boxed(NamedTuple):
    """A table that was cut in pieces: its people by group and by all but the quasi-identifiers, and the decision."""

    counts: Counts
    decision: Grouped


class _Boxes(NamedTuple):
    """The groups of a piece: first and last code, node and mask on each axis, and the people of each."""

    summary: NDArray[np.int64]
    group: NDArray[np.int64]
    weights: NDArray[np.int64]
    others: list[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PieceCutting:
    """Cuts the vectors of a piece until no cut is allowed: all that an executor has to know, without a value.

    ``columns`` are the columns of a vector: name, how many codes there are, and whether it is a quasi-identifier.
    """

    cutting: Cutting
    columns: tuple[tuple[str, int, bool], ...]

    @classmethod
    def of(cls, pieces: Pieces, cutting: Cutting) -> "PieceCutting":
        """The work for the pieces of a table."""
        return cls(cutting, tuple((n, c.size, c.role is Role.QUASI) for n, c in pieces.columns.items()))

    def __call__(self, codes: list[NDArray[Any]], weights: NDArray[np.int64]) -> list[NDArray[Any]]:
        """The groups of the vectors: `_Boxes`, as arrays one after the other."""
        known = {name: Counted(code, size) for (name, size, _), code in zip(self.columns, codes, strict=True)}
        quasi = [known[name].codes for name, _, is_quasi in self.columns if is_quasi]
        others = [known[name] for name, _, is_quasi in self.columns if not is_quasi]
        groups = self.cutting.groups_of(quasi, weights, self.cutting.combined(known.__getitem__))
        rows, starts = by_group(quasi, groups.of_row, groups.number)
        summary = summarize(self.cutting.space, rows, starts, len(groups.of_row))
        same = group_rows([groups.of_row, *(c.codes for c in others)], [groups.number, *(c.size for c in others)])
        people = np.bincount(same.of_row, weights=weights).astype(np.int64)
        order = np.argsort(groups.of_row[same.first], kind="stable")
        first = same.first[order]
        return [summary, groups.of_row[first], people[order], *(c.codes[first] for c in others)]


class CutsGroups(Protocol):
    """A method that cuts groups of vectors, whatever else it does."""

    name: ClassVar[str]

    def shown_by(self) -> str: ...

    def shows_sets(self) -> bool: ...

    def cutting(
        self, table: Microdata | Counts, quasi: list[Column], requirements: Sequence[Requirement]
    ) -> Cutting: ...


def boxed(method: CutsGroups, pieces: Pieces, requirements: Sequence[Requirement], progress: Progress) -> Boxed:
    """The groups of a table whose counts are too many for this process; refused in words if they need all of them."""
    if not SCHEMES[method.shown_by()].labels_people:
        raise pieces.refuse(f'scheme is {method.shown_by()!r}; set scheme = "generalization"')
    wanted = on_groups(requirements, method.name)
    quasi = [c for c in pieces.columns.values() if c.role is Role.QUASI]
    for r in wanted:
        for name in r.reads():
            if name not in pieces.columns:
                raise pieces.refuse(f"{r.model} counts by {name!r}, which is not coded")
            if pieces.columns[name].role is Role.QUASI:
                raise pieces.refuse(f"{r.model} reads the quasi-identifier {name!r}")
    table = pieces.whole(list(dict.fromkeys(name for r in wanted for name in r.reads())))
    refuse_infeasible(wanted, table)
    cutting = method.cutting(table, quasi, requirements)
    return cut_in_pieces(pieces, cutting, sets=method.shows_sets(), progress=progress)


class Ready(NamedTuple):
    """A region that needs no further cuts on margins: how many vectors it has and, if it is a group, its margins."""

    region: CodeRegion
    vectors: int
    whole: Margins | None = None


def cut_in_pieces(pieces: Pieces, cutting: Cutting, *, sets: bool, progress: Progress) -> Boxed:
    """Make the first cuts on margins, until a piece is small enough; cut each piece by itself; name all boxes.

    Groups come in the order in which `partition` makes them, with the same people and the same boxes.
    """
    quasi = [name for name, c in pieces.columns.items() if c.role is Role.QUASI]
    work, done, found = PieceCutting.of(pieces, cutting), 0, []
    ready = first_cuts(pieces, cutting, quasi, progress)
    for batch in _batches(ready, pieces.most if pieces.apart is None else None):
        if batch[0].whole is not None:
            found.append(_one_group(pieces, cutting, batch[0].region, batch[0].whole))
        else:
            made = pieces.each([r.region for r in batch], work, _telling(ready, batch, progress))
            found += [_Boxes(summary, group, people, others) for summary, group, people, *others in made]
        done += sum(int(boxes.weights.sum()) for boxes in found[-len(batch) :])
        progress("cuts", Share.of_rows(done, pieces.rows))
    if done != pieces.rows:
        raise SfumatoError(f"the pieces have {done:,} of {pieces.rows:,} rows; please report this")
    pieces.rest()
    return _named(pieces, found, sets=sets)


def _telling(ready: Sequence[Ready], batch: Sequence[Ready], progress: Progress) -> Callable[[float], None]:
    """Reports how much of all pieces is cut, given how much of a batch, weighted by their vectors."""
    before = sum(r.vectors for r in ready[: ready.index(batch[0])])
    here, everything = sum(r.vectors for r in batch), sum(r.vectors for r in ready)
    return lambda share: progress("cuts", (before + share * here) / everything)


def _batches(ready: Sequence[Ready], most: int | None) -> Iterator[list[Ready]]:
    """Regions in a row that are small enough together for this process, if they come here; a group comes alone."""
    batch: list[Ready] = []
    for region in ready:
        large = most is not None and sum(r.vectors for r in batch) + region.vectors > most
        full = large or len(batch) == _MOST_REGIONS
        if batch and (full or region.whole is not None or batch[0].whole is not None):
            yield batch
            batch = []
        batch.append(region)
    if batch:
        yield batch


def first_cuts(pieces: Pieces, cutting: Cutting, quasi: Sequence[str], progress: Progress) -> list[Ready]:
    """The regions that are small enough to be cut by themselves, in the order of their groups.

    A region that is too large but has no allowed cut is a group; then its margins come with it.
    """
    beside = list(dict.fromkeys(name for key in cutting.keys for name in key))
    ready: dict[tuple[int, ...], Ready] = {}
    waiting: dict[tuple[int, ...], CodeRegion] = {(): ()}
    while waiting:
        progress("margins", 0.0)
        now = dict(list(waiting.items())[:_MOST_REGIONS])
        asked = pieces.margins(list(now.values()), quasi, beside)
        for (place, region), margins in zip(now.items(), asked, strict=True):
            del waiting[place]
            if margins.vectors <= pieces.most:
                ready[place] = Ready(region, margins.vectors)
            elif (cut := cutting.cut(margins)) is None:
                ready[place] = Ready(region, margins.vectors, margins)
            else:
                waiting |= {(*place, part): (*region, side) for part, side in enumerate(_sides(quasi, cut))}
    return [ready[place] for place in sorted(ready)]


def _sides(quasi: Sequence[str], cut: AxisCut) -> list[Range]:
    """The parts of a cut, in their order; the rest comes last."""
    name = quasi[cut.axis]
    return [*(Range(name, (part,), True) for part in cut.parts), Range(name, tuple(cut.parts), False)]


def _one_group(pieces: Pieces, cutting: Cutting, region: CodeRegion, margins: Margins) -> _Boxes:
    """A region without an allowed cut, whose vectors are not looked at."""
    summary = np.zeros((4, len(margins.by_axis), 1), np.int64)
    for j, counts in enumerate(margins.by_axis):
        axis = next(c for c in counts.columns.values() if c.role is Role.QUASI)
        rows = np.zeros((len(counts), len(margins.by_axis)), np.int64)
        rows[:, j] = axis.codes
        summary[:, j] = summarize(cutting.space, rows, np.zeros(1, np.int64), len(rows))[:, j]
    others = [name for name, c in pieces.columns.items() if c.role is not Role.QUASI]
    people = pieces.whole(others, region)
    codes = [people[name].codes for name in others]
    return _Boxes(summary, np.zeros(len(people), np.int64), people.weights, codes)


def _named(pieces: Pieces, found: Sequence[_Boxes], *, sets: bool) -> Boxed:
    """All groups, with the labels of their boxes."""
    firsts = np.cumsum([0, *(boxes.summary.shape[2] for boxes in found)])
    group = np.concatenate([boxes.group + first for boxes, first in zip(found, firsts[:-1], strict=True)])
    columns = [c for c in pieces.columns.values() if c.role is not Role.QUASI]
    codes = [np.concatenate([boxes.others[i] for boxes in found]) for i in range(len(columns))]
    coded = {c.name: replace(c, codes=code) for c, code in zip(columns, codes, strict=True)}
    weights = np.concatenate([boxes.weights for boxes in found])
    counts = Counts(coded, pl.DataFrame(), weights, pieces.dropped)
    quasi = [c for c in pieces.columns.values() if c.role is Role.QUASI]
    along = (np.concatenate([boxes.summary[:, j] for boxes in found], axis=1) for j in range(len(quasi)))
    shown = [shown_boxes(c, summary) for c, summary in zip(quasi, along, strict=True)]
    grouping = Grouping.of_vectors(counts, group, int(firsts[-1]))
    return Boxed(counts, Grouped(grouping=grouping, shown=shown, sets=sets))
