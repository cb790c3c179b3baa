"""The tables of a release that is too large for memory: rows are read only where needed, all else uses counts."""

from collections.abc import Iterator, Mapping

import polars as pl

from sfumato.engine.base import Table
from sfumato.engine.parts import Parts
from sfumato.errors import ReleaseError

MOST_ROWS = 20_000_000
"""A table with more rows is not read into memory."""

_HEAD = 1_000_000
"""A sample that represents a table in parts has at least this many rows, if the table does."""


class PartTables(Mapping[str, pl.DataFrame]):
    """Tables of which some are in parts. Who looks one up gets all of its rows, if there are not too many.

    What works on counts looks at `Release.counted` and `Release.weights` instead.
    """

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = dict(tables)
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        table = self._tables[name]
        if isinstance(table, pl.DataFrame):
            return table
        if table.height > MOST_ROWS:
            raise ReleaseError(
                f"the table {name!r} has {table.height:,} rows in {len(table.files)} parts; this needs all rows in "
                f"memory, at most {MOST_ROWS:,}: use check or count queries, which work on counts, or read the files "
                "one by one"
            )
        if name not in self._read:
            self._read[name] = table.read()
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def stored(self) -> dict[str, Table]:
        """Each table as it is stored."""
        return dict(self._tables)

    def head(self) -> dict[str, pl.DataFrame]:
        """The first rows of each table, which are a random sample of them: rows are in a secret order."""
        return {name: t if isinstance(t, pl.DataFrame) else _first(t) for name, t in self._tables.items()}


def _first(parts: Parts) -> pl.DataFrame:
    taken, rows = [], 0
    for file in parts.files:
        taken.append(pl.read_parquet(file, glob=False))
        rows += taken[-1].height
        if rows >= _HEAD:
            break
    return pl.concat(taken)


def held(tables: Mapping[str, Table]) -> Mapping[str, pl.DataFrame]:
    """Tables for a release: frames as they are, unless one is in parts."""
    frames = {name: table for name, table in tables.items() if isinstance(table, pl.DataFrame)}
    return frames if len(frames) == len(tables) else PartTables(tables)


def as_stored(tables: Mapping[str, pl.DataFrame]) -> Mapping[str, Table]:
    """The tables of a release as they are stored: frames, or files in parts."""
    return tables.stored() if isinstance(tables, PartTables) else tables


def counted(tables: Mapping[str, pl.DataFrame]) -> Mapping[str, pl.DataFrame]:
    """The tables; of one in parts the distinct rows of all columns but the insensitive ones."""
    if not isinstance(tables, PartTables):
        return tables
    return {name: table.counted if isinstance(table, Parts) else table for name, table in tables.stored().items()}


def sample_of(tables: Mapping[str, pl.DataFrame]) -> Mapping[str, pl.DataFrame]:
    """The tables; of one in parts the first rows, which are a random sample of them."""
    return tables.head() if isinstance(tables, PartTables) else tables


def is_too_large(tables: Mapping[str, pl.DataFrame]) -> bool:
    """Whether a table has too many rows to be read into memory."""
    return any(isinstance(t, Parts) and t.height > MOST_ROWS for t in as_stored(tables).values())


def parts_of(tables: Mapping[str, pl.DataFrame], name: str) -> Parts | None:
    """The parts of a table; None if it is in memory or not there."""
    found = as_stored(tables).get(name)
    return found if isinstance(found, Parts) else None
