"""Conditions on attributes: comparisons joined by and, or, not. They are data; nothing in them is executed."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.table.names import SUPPRESSED
from sfumato.table.ordered_domain import day_number, is_day, number_text

Truth = NDArray[np.bool_]

_MOST_TOLD = 40
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class AttributeCondition:
    """``attribute op literal``; ``=`` and ``!=`` take several literals (IN, NOT IN)."""

    attribute: str
    op: str
    literals: tuple[str | float, ...]


@dataclass(frozen=True)
class All:
    """And; without parts it is true."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Some:
    """Or."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Not:
    """Not."""

    part: "Condition"


Condition = AttributeCondition | All | Some | Not


def comparisons(condition: Condition) -> Iterator[AttributeCondition]:
    """All comparisons, from left to right."""
    if isinstance(condition, AttributeCondition):
        yield condition
    elif isinstance(condition, Not):
        yield from comparisons(condition.part)
    else:
        for part in condition.parts:
            yield from comparisons(part)


def evaluate(condition: Condition, known: Mapping[AttributeCondition, Truth]) -> Any:
    """The truth of a condition, given the truth of its comparisons."""
    if isinstance(condition, AttributeCondition):
        return known[condition]
    if isinstance(condition, Not):
        return np.logical_not(evaluate(condition.part, known))
    result: Any = isinstance(condition, All)
    for part in condition.parts:
        join = np.logical_and if isinstance(condition, All) else np.logical_or
        result = join(result, evaluate(part, known))
    return result


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """The values an attribute can have: as text, as numbers (nan: not a number), and by rank if words have an order.

    ``days``: the numbers are days; ``hidden``: the release shows no value at all; ``listed``: which of them the release
    shows somewhere (None: all), as opposed to what a label may hide; ``ranks``: the places of words that have an order
    (None: as they are listed); ``regions``: for values that stand for others, such as ``01***``, which these are.
    """

    texts: tuple[str, ...]
    numbers: NDArray[np.float64] | None
    ordered: bool = False
    days: bool = False
    hidden: bool = False
    listed: Truth | None = None
    ranks: NDArray[np.float64] | None = None
    regions: Mapping[str, Truth] = field(default_factory=dict)

    def places(self) -> NDArray[np.float64]:
        """What comparisons by order compare: the numbers, or the places of words."""
        if self.numbers is not None:
            return self.numbers
        return np.arange(len(self.texts), dtype=np.float64) if self.ranks is None else self.ranks

    def with_places(self, places: NDArray[np.float64], text: str, listed: Truth) -> "PossibleValues":
        """The same with further numbers or places, all shown as one text."""
        more = len(places) - len(self.texts)
        regions = {t: np.append(held, np.full(more, t == SUPPRESSED)) for t, held in self.regions.items()}
        same = replace(self, texts=(*self.texts, *[text] * more), listed=listed, regions=regions)
        return replace(same, ranks=places) if self.numbers is None else replace(same, numbers=places)

    def truth(self, c: AttributeCondition) -> Truth:
        """For which values a comparison is true."""
        if c.op in ("=", "!="):
            equal = np.zeros(len(self.texts), np.bool_)
            for x in c.literals:
                equal |= self._equal(c.attribute, x)
            return np.asarray(equal ^ (c.op == "!="), np.bool_)
        (literal,) = c.literals
        if self.numbers is not None and (number := self.number(literal)) is not None:
            return np.asarray(_COMPARE[c.op](self.numbers, number))
        if self.ordered:
            return np.asarray(_COMPARE[c.op](self.places(), self.place(c.attribute, str(literal))))
        raise PolicyError(
            f"{c.attribute!r} {c.op} {literal!r}: the values of {c.attribute!r} are "
            f"{self._kind()}; use = or IN for words, numbers for numbers, and 'YYYY-MM-DD' for dates"
        )

    def number(self, literal: object) -> float | None:
        """A literal as one of the numbers: dates are compared with dates, other numbers with numbers."""
        return as_number(literal) if is_day(literal) == self.days else None

    def _kind(self) -> str:
        if self.numbers is None:
            return "words without an order"
        return f"{'dates' if self.days else 'numbers'}, and this is not one"

    def _equal(self, attribute: str, literal: str | float) -> Truth:
        number = self.number(literal)
        if self.numbers is not None and number is not None and literal not in self.texts:
            return np.asarray(self.numbers == number)
        wanted = literal if isinstance(literal, str) else number_text(literal)
        if wanted in self.regions:
            return self.regions[wanted]
        return np.asarray(np.arange(len(self.texts)) == self.place(attribute, wanted), np.bool_)

    def place(self, attribute: str, text: str) -> int:
        """Where a value is listed; an error if it is none of them."""
        shown = self.texts if self.listed is None else [t for t, l in zip(self.texts, self.listed, strict=True) if l]
        if text in shown:
            return self.texts.index(text)
        if len(shown) > _MOST_TOLD:
            kind = "words" if self.numbers is None else "dates" if self.days else "numbers"
            known = f"; it has {len(shown):,} values, {kind} such as {shown[0]!r} and {shown[-1]!r}"
        else:
            known = nearest(text, shown)
        raise PolicyError(f"{attribute!r} has no value {text!r}{known}")


def as_number(literal: object) -> float | None:
    """A literal as a number; a date as its day.

    >>> as_number("1970-01-03"), as_number(2.5), as_number("flu")
    (2.0, 2.5, None)
    """
    if isinstance(literal, int | float):
        return float(literal)
    text = str(literal)
    if is_day(text):
        return day_number(text)
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None
