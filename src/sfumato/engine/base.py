"""What an engine does: everything proportional to the number of rows. Methods and schemes only see counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import polars as pl

from sfumato.engine.counts import Counts, Integers
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.parts import Parts
from sfumato.engine.pieces import Pieces
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Attribute, Column
from sfumato.table.microdata import Microdata, Missing

Attributes = Callable[[Sequence[str]], Iterable[Attribute]]
"""Which columns to code, and how, given the names of all columns."""


class AsIs(NamedTuple):
    """A column that shows each row its own value."""

    name: str


class ByGroup(NamedTuple):
    """A column that shows each row the label of its group."""

    name: str
    labels: Sequence[str]
    of_group: Integers


class Numbered(NamedTuple):
    """A column that shows each row a number of its group."""

    name: str
    of_group: Integers


class Randomized(NamedTuple):
    """A column whose values are drawn by a public matrix, independently for each row."""

    name: str
    way: Distortion


Output = AsIs | ByGroup | Numbered | Randomized
"""How a published column is made."""


Table = pl.DataFrame | Parts
"""A published table, in memory, or in files if it is too large for that."""


class Engine(Protocol):
    """Where the rows are stored. It reads, codes and counts them, applies a decision to them, puts them in a secret
    order and writes them.

    A decision is made on the `Counts` of an engine and applied by the same engine.
    """

    @classmethod
    def read(
        cls,
        source: object,
        attributes: Attributes,
        *,
        query: str | None = None,
        nulls: Sequence[str] = (),
        missing: Missing = "error",
        folder: Path | None = None,
    ) -> Self:
        """Read the rows of a source and code them; ``attributes`` says which, given the columns of the source."""
        ...

    @property
    def table(self) -> Microdata:
        """The columns, their roles and domains."""
        ...

    @property
    def pieces(self) -> Pieces | None:
        """The counted table where it is, if it is too large for this process; then `count` is refused."""
        ...

    def of(self, counts: Counts) -> "Engine":
        """The same rows, to be published from these counts of them."""
        ...

    def count(self, names: Sequence[str]) -> Counts:
        """The distinct vectors of some columns, with multiplicities; quasi-identifiers are always among them."""
        ...

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of a column, missing values included: the columns ``value`` and ``rows``.

        None if there are too many different values for memory.
        """
        ...

    def prepared(self, change: Callable[[Microdata], Microdata]) -> "Engine":
        """The same rows with other domains: those of the changed table."""
        ...

    def without(self, counts: Counts, grouping: Grouping) -> "Engine":
        """The rows that a grouping keeps, without a trace of those it leaves out."""
        ...

    def publish(
        self, outputs: Sequence[Output], draws: Draws, grouping: Grouping | None = None, counts: Counts | None = None
    ) -> Table:
        """The rows in a secret order, each with its outputs; which of equal rows goes to which group is drawn."""
        ...

    def write(self, table: pl.DataFrame, file: Path) -> None:
        """Write a published table as parquet."""
        ...


def as_is(columns: Mapping[str, Column], *, but: Sequence[str] = ()) -> list[Output]:
    """These columns unchanged, except for some."""
    return [AsIs(name) for name in columns if name not in but]
