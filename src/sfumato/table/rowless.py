"""A table whose rows are not in memory: names, roles and domains of its columns, and how many rows it has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sfumato.errors import SfumatoError
from sfumato.table.encode import Codes
from sfumato.table.microdata import Microdata

CountPeople = Callable[[Sequence[str]], tuple[int, int]]
"""How many people some columns distinguish, and how many of them have several rows."""


class Elsewhere:
    """Stands for the codes of rows that another engine stores: to read one is an error, never an empty array."""

    def astype(self, dtype: object, copy: bool = True) -> "Elsewhere":
        """Codes of another width are elsewhere too."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any object
            raise AttributeError(name)
        raise _unread()

    def __getitem__(self, place: object) -> Any:
        raise _unread()

    def __len__(self) -> int:
        raise _unread()

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise _unread()


def _unread() -> SfumatoError:
    return SfumatoError("the rows of this table are not in memory; ask its engine for counts. Please report this")


ELSEWHERE = cast(Codes, Elsewhere())


@dataclass(frozen=True, eq=False)
class Rowless(Microdata):
    """The columns of a table with their domains; its codes are elsewhere, and its plain frames have no rows."""

    count_people: CountPeople | None = field(default=None, repr=False)

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people there are, as the engine that stores the rows counts them."""
        if self.count_people is None:
            raise _unread()
        return self.count_people(entity)
