"""What an engine does: everything proportional to the number of rows. Methods and schemes only see counts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import polars as pl

from sfumato.engine.counts import Counts, Integers
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata


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


class Engine(Protocol):
    """Where the rows are stored. It counts them, applies a decision to them, and puts them in a secret order.

    A decision is made on the `Counts` of an engine and applied by the same engine.
    """

    @property
    def table(self) -> Microdata:
        """The columns, their roles and domains."""
        ...

    def count(self, names: Sequence[str]) -> Counts:
        """The distinct vectors of some columns, with multiplicities; quasi-identifiers are always among them."""
        ...

    def without(self, counts: Counts, grouping: Grouping) -> "Engine":
        """The rows that a grouping keeps, without a trace of those it leaves out."""
        ...

    def publish(
        self, outputs: Sequence[Output], draws: Draws, grouping: Grouping | None = None, counts: Counts | None = None
    ) -> pl.DataFrame:
        """The rows in a secret order, each with its outputs; which of equal rows goes to which group is drawn."""
        ...


def as_is(columns: Mapping[str, Column], *, but: Sequence[str] = ()) -> list[Output]:
    """These columns unchanged, except for some."""
    return [AsIs(name) for name in columns if name not in but]
