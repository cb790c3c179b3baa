"""Coded columns by name and by role: the same for the rows of a table and for its counts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import polars as pl

from sfumato.errors import PolicyError
from sfumato.table.encode import Codes, Column, Role, drawn_from
from sfumato.table.published import value_codes
from sfumato.table.taxonomy import named


class CodedColumns(ABC):
    """What `Microdata` and `sfumato.engine.counts.Counts` share: ``columns`` are the coded ones, in table order."""

    columns: Mapping[str, Column]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """All columns that can be counted."""

    @abstractmethod
    def uncoded(self, name: str) -> pl.Series | None:
        """The values of a column that is not coded; None if there is no such column."""

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise PolicyError(f"there is no coded column {name!r}; choose from {named(self.columns)}")
        return self.columns[name]

    def with_role(self, role: Role) -> list[Column]:
        """The coded columns of one role, in table order."""
        return [c for c in self.columns.values() if c.role is role]

    @property
    def quasi(self) -> list[Column]:
        """The quasi-identifying columns."""
        return self.with_role(Role.QUASI)

    @property
    def sensitive(self) -> list[Column]:
        """The sensitive columns."""
        return self.with_role(Role.SENSITIVE)

    def drawn_from(self, *roles: Role) -> Self:
        """The same with the domains that values of these roles may be drawn from; see `encode.drawn_from`."""
        columns = {n: drawn_from(c) if c.role in roles else c for n, c in self.columns.items()}
        return cast(Self, replace(cast(Any, self), columns=columns))

    def counted(self, name: str) -> tuple[Codes, int]:
        """Codes and number of values of any column, for counting distinct values; identifiers included."""
        if name in self.columns:
            return self.columns[name].codes, self.columns[name].size
        if (found := self.uncoded(name)) is not None:
            return value_codes(found)
        raise PolicyError(f"there is no column {name!r} to count by; choose from {named(self.names)}")
