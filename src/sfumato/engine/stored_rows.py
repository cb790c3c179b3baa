"""What an engine does where its rows are stored, and how many rows are published at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from sfumato.engine.counts import Counts
from sfumato.table.encode import Column
from sfumato.table.rowless import ELSEWHERE, Rowless

MOST_IN_MEMORY = 5_000_000
"""A published table with more rows is written in parts."""

PART_ROWS = 2_000_000
"""About how many rows a part has."""

MOST_TALLIED = 2_000_000
"""An uncoded column with more distinct values is not examined."""


class StoredRows(Protocol):
    """What an engine does where its rows are."""

    def counted(self, others: tuple[str, ...]) -> Counts:
        """The distinct vectors of all coded columns and some uncoded ones."""
        ...

    def batches(self, others: tuple[str, ...], plain: Sequence[str], *, ordered: bool) -> Iterator[pl.DataFrame]:
        """All rows: in column ``vector`` the place of a row's vector in ``counted(others)``, and its plain values.

        ``ordered``: in an order that depends on nothing but the values of the rows, for repeatable experiments.
        """
        ...

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of an uncoded column; None if it has more than `MOST_TALLIED`."""
        ...

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people some uncoded columns tell apart, and how many of them have several rows."""
        ...

    def digest(self) -> str:
        """A digest of all cells, whatever the order of rows."""
        ...


@dataclass(frozen=True)
class Limits:
    """How many rows are published from memory, and how many go into a part otherwise."""

    in_memory: int = MOST_IN_MEMORY
    part_rows: int = PART_ROWS


def elsewhere(columns: dict[str, Column]) -> dict[str, Column]:
    return {name: replace(column, codes=ELSEWHERE) for name, column in columns.items()}


def rowless(columns: dict[str, Column], plain: pl.DataFrame, hidden: pl.DataFrame, rows: int, dropped: int) -> Rowless:
    """The table of an engine, of which only names, roles and domains are here."""
    return Rowless(elsewhere(columns), plain, hidden, rows, dropped)
