"""How much an exhaustive adversary may enumerate, and how long an audit may take."""

from collections.abc import Iterable, Iterator
from math import log10
from time import monotonic
from typing import TypeVar

from sfumato.errors import PolicyError

T = TypeVar("T")

PEOPLE = 100
"""How many people a table may have before the limit on tables is lowered proportionally."""


class Allowance:
    """A limit on the number of things enumerated; proportionally lower if they are about more than `PEOPLE` people."""

    def __init__(self, limit: int, what: str, remedy: str, people: int = 0) -> None:
        self.limit, self.what, self.remedy, self.people = limit, what, remedy, max(people, PEOPLE)
        self.spent = 0

    def need(self, number: int, *, least: bool = False) -> None:
        """Announce how many more (at ``least``) will be enumerated; refused before the work starts."""
        self.spent += number
        counted = f" ({'at least ' if least else ''}{written(self.spent)})" if number > 1 else ""
        if self.spent > self.limit:
            raise PolicyError(f"there are more than {self.limit} {self.what}{counted} to enumerate; {self.remedy}")
        if self.spent * self.people > self.limit * PEOPLE:
            raise PolicyError(
                f"there are more than {self.limit * PEOPLE // self.people} {self.what}{counted} of {self.people:,} "
                f"people to enumerate, as much work as {self.limit} of {PEOPLE} people; {self.remedy}"
            )

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """The things, counted as they are enumerated."""
        for thing in things:
            self.need(1)
            yield thing


class TimeBudget:
    """How many seconds an audit may take; None: as long as it needs. Pauses are not counted."""

    def __init__(self, seconds: float | None) -> None:
        wrong = isinstance(seconds, bool) or not isinstance(seconds, int | float | None)
        if wrong or (seconds is not None and not 0 < seconds < float("inf")):
            raise PolicyError(f"the time budget is {seconds!r}; it must be a number of seconds above 0")
        self.seconds, self.begun = seconds, monotonic()
        self.paused, self.since = 0.0, self.begun

    def pause(self, begins: bool) -> None:
        """A pause begins or ends, for example while kernels are compiled."""
        now = monotonic()
        if not begins:
            self.paused += now - self.since
        self.since = now

    @property
    def spent(self) -> float:
        """The seconds since it began, without pauses."""
        return monotonic() - self.begun - self.paused

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return float("inf") if self.seconds is None else max(self.seconds - self.spent, 0.0)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0.0


def written(number: int) -> str:
    """A number that may be astronomical, in words.

    >>> written(123456), written(10**40)
    ('123,456', 'about 10^40')
    """
    if number < 10**15:
        return f"{number:,}"
    digits = number.bit_length() - 64
    tens = log10(number >> digits) + digits * log10(2) if digits > 0 else log10(number)
    return f"about 10^{tens:.0f}"


def refuse_work(what: str, number: int, most: int, remedy: str) -> None:
    """Refuse what would take too long or too much memory, before it starts."""
    if number > most:
        raise PolicyError(f"{what}: {written(number)}, but at most {written(most)} are allowed; {remedy}")
