"""How much an adversary who goes through everything may go through."""

from collections.abc import Iterable, Iterator
from math import log10
from typing import TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")

PEOPLE = 100
"""How many people a table may have before the limit on tables is lowered, in proportion."""


class Allowance:
    """So many things in all, and no more; of things about more than `PEOPLE` people fewer, by the same work."""

    def __init__(self, limit: int, what: str, remedy: str, people: int = 0) -> None:
        self.limit, self.what, self.remedy, self.people = limit, what, remedy, max(people, PEOPLE)
        self.spent = 0

    def need(self, number: int, *, least: bool = False) -> None:
        """So many more will be gone through, or at ``least`` so many; refused before they are begun."""
        self.spent += number
        counted = f" ({'at least ' if least else ''}{written(self.spent)})" if number > 1 else ""
        if self.spent > self.limit:
            raise PolicyError(f"there are more than {self.limit} {self.what}{counted} to go through; {self.remedy}")
        if self.spent * self.people > self.limit * PEOPLE:
            raise PolicyError(
                f"there are more than {self.limit * PEOPLE // self.people} {self.what}{counted} of {self.people:,} "
                f"people to go through, as much work as {self.limit} of {PEOPLE}; {self.remedy}"
            )

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """The things, counted as they are gone through."""
        for thing in things:
            self.need(1)
            yield thing


def written(number: int) -> str:
    """A number that may be astronomic.

    >>> written(123456), written(10**40)
    ('123,456', 'about 10^40')
    """
    if number < 10**15:
        return f"{number:,}"
    digits = number.bit_length() - 64
    tens = log10(number >> digits) + digits * log10(2) if digits > 0 else log10(number)
    return f"about 10^{tens:.0f}"


def refuse_work(what: str, number: int, most: int, remedy: str) -> None:
    """Refuse what would take too long or too much memory, before it is begun."""
    if number > most:
        raise PolicyError(f"{what}: {written(number)}, and at most {written(most)} are allowed; {remedy}")
