"""How much an adversary who goes through everything may go through."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")


class Allowance:
    """So many things in all, and no more."""

    def __init__(self, limit: int, what: str, remedy: str) -> None:
        self.limit, self.what, self.remedy = limit, what, remedy
        self.spent = 0

    def need(self, number: int) -> None:
        """So many more will be gone through."""
        self.spent += number
        if self.spent > self.limit:
            raise PolicyError(f"there are more than {self.limit} {self.what} to go through; {self.remedy}")

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """The things, counted as they are gone through."""
        for thing in things:
            self.need(1)
            yield thing
