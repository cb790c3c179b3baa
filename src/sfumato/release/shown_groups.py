"""The groups that a large table shows, and the sensitive values in each: counted at once, rows are not numbered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.background import in_background
from sfumato.engine.counts import Block
from sfumato.kernel.code_columns import Coded
from sfumato.kernel.group import MANY
from sfumato.kernel.group_parts import fits
from sfumato.kernel.group_tallies import GroupCells, group_tallies, rows_by_code
from sfumato.release.best_guess import CountedValues
from sfumato.release.check.public import PublicSchema
from sfumato.release.judgement import Judgement, judge_blocks
from sfumato.release.manifest import LabelAttribute, ValueAttribute
from sfumato.requirement.base import GroupRequirement, Key, names
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.encode import Role
from sfumato.table.published import label_codes, listed_words, shown_texts

if TYPE_CHECKING:
    from sfumato.release.release import Release

_MOST_VALUES = 256
"""An attribute with more values is not counted here: there would be too many cells."""
_MOST_CELLS = 1024
"""Nor is one with which a group would have more cells than this."""
_MOST_COUNTED = 32
"""Of more attributes the values are not counted here."""
_MOST_KEPT = 1 << 26
"""More cells than this are not kept: claims about values are then judged by numbering the rows."""
_BLOCK = 1 << 20
"""How many cells are judged at a time, about."""


@dataclass(frozen=True)
class ShownGroups:
    """How many rows each group has, for some sensitive attributes its values, and how many rows show each label of
    each quasi-identifier; groups are in no order. ``cells``: the values of the same attributes in each group."""

    size: NDArray[np.int64]
    values: dict[str, CountedValues]
    labels: dict[str, dict[str, int]]
    cells: list[GroupCells] | None

    def judge(self, requirement: GroupRequirement, view: PublicSchema) -> Judgement | None:
        """Judge all groups; None if something that this needs was not counted."""
        keys = [*requirement.columns(), *requirement.distinct_columns()]
        by = names(requirement.groups_by())
        if (by and {*by} != {*view.quasi_names()}) or any(len(key) != 1 for key in keys):
            return None
        if not keys:
            return judge_blocks(requirement, view, [Block(self.size, {}, {}, int(self.size.max(initial=0)))], {})
        places = {name: self._places(name, view) for (name,) in keys}
        if self.cells is None or None in places.values():
            return None
        found = {name: place for name, place in places.items() if place is not None}
        whole: dict[Key, NDArray[np.int64]] = {
            key: found[key[0]].rows(self.values[key[0]].counts.of_value[None])[0] for key in requirement.columns()
        }
        judged, done = [], 0
        for cells in self.cells:  # one thread each: all that takes long runs without the lock
            blocks = self._blocks(requirement, found, cells, done)
            judged.append(in_background(judge_blocks, requirement, view, blocks, whole))
            done += len(cells.counts)
        return reduce(Judgement.and_other, [judgement.result() for judgement in judged])

    def _places(self, name: str, view: PublicSchema) -> "_Places | None":
        """Where the values of an attribute are in its domain; None if it was not counted, or states none."""
        entry = view.attributes.get(name)
        if name not in self.values or not isinstance(entry, ValueAttribute | LabelAttribute):
            return None
        counts, words = self.values[name]
        place = {str(value): at for at, value in enumerate(entry.domain)}
        codes = np.flatnonzero(counts.of_value)
        there = [place.get(words[code], -1) for code in codes.tolist()]
        return None if -1 in there else _Places(codes, np.array(there, np.int64), len(entry.domain))

    def _blocks(
        self,
        requirement: GroupRequirement,
        places: Mapping[str, "_Places"],
        cells: GroupCells,
        begin: int,
    ) -> Iterator[Block]:
        """Some groups after the other with what the requirement needs, about as many cells as are judged at a time;
        ``begin``: the first of all groups that has cells here."""
        columns, largest = [*self.values], int(self.size.max())
        widest = max(cells.counts.shape[1], *(place.size for place in places.values()))  # a forger may state any domain
        lines = max(1, _BLOCK // widest)
        for first in range(0, len(cells.counts), lines):
            some = GroupCells(cells.counts[first : first + lines], cells.firsts)
            groups = slice(begin + first, begin + first + len(some.counts))

            def counted(key: Key, some: GroupCells = some) -> NDArray[np.int64]:
                return places[key[0]].rows(some.of(columns.index(key[0]), len(self.values[key[0]].words)))

            yield Block(
                self.size[groups],
                _OnDemand(requirement.columns(), counted),
                {key: (counted(key) > 0).sum(axis=1) for key in requirement.distinct_columns()},
                largest,
                {key: self.values[key[0]].counts.most[groups] for key in requirement.columns()},
            )


class _OnDemand(Mapping[Key, NDArray[np.int64]]):
    """The counts of some groups by value, which are put together when they are needed: often the greatest suffice."""

    def __init__(self, keys: Sequence[Key], counted: Callable[[Key], NDArray[np.int64]]) -> None:
        self._keys, self._counted = keys, cache(counted)

    def __getitem__(self, key: Key) -> NDArray[np.int64]:
        return self._counted(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class _Places(NamedTuple):
    """The codes that occur, the place of each in the domain, and the size of the domain."""

    codes: NDArray[np.int64]
    places: NDArray[np.int64]
    size: int

    def rows(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        """Counts by code, a line per group, as counts by place in the domain."""
        if len(self.codes) == self.size and (self.codes == self.places).all():  # as a release of ours has them
            return counts[:, : self.size].astype(np.int64)
        found = np.zeros((len(counts), self.size), np.int64)
        for code, place in zip(self.codes.tolist(), self.places.tolist(), strict=True):
            found[:, place] = counts[:, code]
        return found


def shown_groups(release: "Release") -> ShownGroups | None:
    """The groups of rows with equal labels; None if numbering the rows is as good, or has been done."""
    table, quasi = release.counted.get("data"), release.quasi()
    if table is None or release.row_weights is not None or table.height < MANY or not quasi or release.numbered(quasi):
        return None
    by = [coded for name in quasi if (coded := _coded(table, name)) is not None]
    if len(by) < len(quasi) or not fits(by, []):
        return None
    counted: dict[str, Coded] = {}
    for name in release.with_role(Role.SENSITIVE):
        found = _coded(table, name)
        if found is not None and _is_counted(found, by, [*counted.values()]):
            counted[name] = found
    values_matter = any(claim.model != KAnonymity.model for claim in release.description.requirements)
    tallies = group_tallies(by, list(counted.values()), _MOST_KEPT if values_matter else 0)
    if tallies is None:
        return None
    words = [listed_words(table[name]).to_list() for name in counted]
    values = dict(zip(counted, map(CountedValues, tallies.values, words), strict=True))
    of_code = rows_by_code(tallies, by)
    labels = {name: shown_texts(table[name], rows) for name, rows in zip(quasi, of_code, strict=True)}
    return ShownGroups(tallies.size, values, labels, tallies.cells)


def _is_counted(column: Coded, by: Sequence[Coded], others: Sequence[Coded]) -> bool:
    """Whether the values of an attribute are counted, too."""
    cells = sum(other.size for other in (*others, column))
    few = column.size <= _MOST_VALUES and cells <= _MOST_CELLS and len(others) < _MOST_COUNTED
    return few and fits(by, [*others, column])


def _coded(table: pl.DataFrame, name: str) -> Coded | None:
    """A column that lists its words and has none missing: its codes are there already."""
    if name not in table.columns or not isinstance(table[name].dtype, pl.Enum) or table[name].null_count():
        return None
    return Coded(*label_codes(table[name]))
