"""Who is unique: how many people are alone by what outsiders know, and which combinations single them out.

Everything is counted, nothing estimated. The columns are coded once; a question then groups codes, so that an answer
about a million rows takes a fraction of a second, and rows that agree in all columns asked about are looked at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
import polars as pl

from sfumato.engine.counts import Counted, Integers, count
from sfumato.errors import PolicyError, nearest
from sfumato.table.checks import is_opaque
from sfumato.table.digest import as_text
from sfumato.table.published import value_codes

WORK = 64_000_000
"""How many values may be looked at to count combinations; it decides how large these are."""
LARGEST = 3
"""The most columns in a combination; larger ones say little more than all columns together."""
OF_A_SIZE = 4
"""How many combinations of each size are named."""
_CELLS = 1 << 22


@dataclass(frozen=True)
class LoneCombination:
    """Some columns, and how many people are the only ones with their values in them."""

    names: tuple[str, ...]
    unique: int


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """How far the columns that outsiders know tell people apart, by their exact values.

    ``unique`` of the ``rows`` are alone with their values in all columns of ``names``. ``combinations`` are those of
    at most ``most`` columns that single out somebody: of each size the `OF_A_SIZE` that single out most people, small
    ones first. A combination is left out if it singles out nobody that one of its parts does not.
    """

    names: tuple[str, ...]
    rows: int
    unique: int
    combinations: tuple[LoneCombination, ...]
    most: int

    @property
    def share(self) -> float:
        """The share of the people who are alone."""
        return self.unique / self.rows if self.rows else 0.0


class PeopleTable:
    """The columns of a table, each coded when it is first needed; counts are cached.

    >>> table = PeopleTable(pl.DataFrame({"age": [30, 30, 41, 41], "sex": ["F", "M", "F", "F"], "zip": [1, 1, 1, 2]}))
    >>> found = table.unique_by(["age", "sex", "zip"])
    >>> found.unique, [(c.names, c.unique) for c in found.combinations if len(c.names) < 3]
    (4, [(('sex',), 1), (('zip',), 1), (('age', 'sex'), 2), (('age', 'zip'), 2), (('sex', 'zip'), 2)])
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._coded: dict[str, Counted] = {}
        self._known: dict[tuple[str, ...], Uniqueness] = {}
        self._single: dict[tuple[str, ...], int] = {}

    @property
    def rows(self) -> int:
        """How many people there are: one per row."""
        return self._frame.height

    def unique_by(self, names: Sequence[str]) -> Uniqueness:
        """Who is unique by these columns; a missing value is a value like any other."""
        if unknown := [n for n in names if n not in self._frame.columns]:
            raise PolicyError(f"there is no column {unknown[0]!r}{nearest(unknown[0], self._frame.columns)}")
        key = tuple(n for n in self._frame.columns if n in set(names))
        if key not in self._known:
            self._known[key] = self._counted(key)
        return self._known[key]

    def prepare(self) -> None:
        """Code all columns now, so that no later question waits for it."""
        for name in self._frame.columns:
            self._code(name)

    def _counted(self, names: tuple[str, ...]) -> Uniqueness:
        if not names or not self.rows:
            return Uniqueness(names=names, rows=self.rows, unique=0, combinations=(), most=0)
        vectors = count([self._code(n) for n in names])
        alone = np.flatnonzero(vectors.size == 1)
        entries = _Entries({n: _at(self._code(n), vectors.first) for n in names}, alone)
        most = _largest(len(names), len(vectors.first))
        for some in _subsets(names, most):
            if some not in self._single:  # a row that is unique in some columns stays unique when columns are added
                self._single[some] = entries.unique(some)
        found = [LoneCombination(some, self._single[some]) for some in _subsets(names, most)]
        return Uniqueness(
            names=names,
            rows=self.rows,
            unique=len(alone),
            combinations=_telling(found),
            most=most,
        )

    def _code(self, name: str) -> Counted:
        if name not in self._coded:
            series = self._frame[name]
            self._coded[name] = Counted(*value_codes(as_text(series) if is_opaque(series.dtype) else series))
        return self._coded[name]


def _at(column: Counted, places: Integers) -> Counted:
    return Counted(column.codes[places], column.size)


@dataclass(frozen=True)
class _Entries:
    """The distinct vectors of the columns asked about, and those of them that one person has alone."""

    columns: dict[str, Counted]
    alone: Integers

    def unique(self, names: tuple[str, ...]) -> int:
        """How many people are alone with their values in these columns: no other vector has the same ones."""
        chosen = [self.columns[n] for n in names]
        if prod(c.size for c in chosen) > _CELLS:
            return self._unique_of_many(chosen)
        place = np.zeros(len(chosen[0].codes), np.int64)
        for c in chosen:
            place *= c.size
            place += c.codes
        return int((np.bincount(place)[place[self.alone]] == 1).sum())

    def _unique_of_many(self, chosen: list[Counted]) -> int:
        """The same where not every combination of values can have a place of its own: several share one.

        A row that is alone in its place is unique; only the rows in the other places are compared.
        """
        place = np.zeros(len(chosen[0].codes), np.uint64)
        for c in chosen:
            place += c.codes.astype(np.uint64)
            place *= np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: the top bits are well mixed
        place >>= np.uint64(64 - (_CELLS.bit_length() - 1))
        at = place.view(np.int64)
        shared = np.bincount(at, minlength=_CELLS) > 1
        rest = np.flatnonzero(shared[at])
        sure = len(self.alone) - int(shared[at[self.alone]].sum())
        if not len(rest):
            return sure
        groups = count([_at(c, rest) for c in chosen])
        single = np.isin(rest[groups.first], self.alone, assume_unique=True)
        return sure + int((single & (groups.size == 1)).sum())


def _subsets(names: tuple[str, ...], most: int) -> Iterator[tuple[str, ...]]:
    return (some for size in range(1, most + 1) for some in combinations(names, size))


def _largest(columns: int, vectors: int) -> int:
    """How many columns a combination may have, so that counting all of them stays within `WORK`; at least one."""
    done = 0
    for size in range(1, min(columns, LARGEST) + 1):
        done += size * comb(columns, size) * vectors
        if done > WORK and size > 1:
            return size - 1
    return min(columns, LARGEST)


def _telling(found: Sequence[LoneCombination]) -> tuple[LoneCombination, ...]:
    """Those that single out more people than each of their parts does; of each size the ones with most people."""
    known = {(): 0} | {c.names: c.unique for c in found}
    more = [c for c in found if c.unique > max(known[part] for part in combinations(c.names, len(c.names) - 1))]
    by_size = [[c for c in more if len(c.names) == size] for size in range(1, LARGEST + 1)]
    return tuple(c for some in by_size for c in sorted(some, key=lambda c: -c.unique)[:OF_A_SIZE])
