"""Conditions on attributes: comparisons joined by and, or, not. They are data, and nothing in them is executed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest

Truth = NDArray[np.bool_]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Comparison:
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


Condition = Comparison | All | Some | Not


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """All comparisons, from left to right."""
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Not):
        yield from comparisons(condition.part)
    else:
        for part in condition.parts:
            yield from comparisons(part)


def evaluate(condition: Condition, known: Mapping[Comparison, Truth]) -> Any:
    """The truth of a condition where the truth of its comparisons is known."""
    if isinstance(condition, Comparison):
        return known[condition]
    if isinstance(condition, Not):
        return np.logical_not(evaluate(condition.part, known))
    result: Any = isinstance(condition, All)
    for part in condition.parts:
        join = np.logical_and if isinstance(condition, All) else np.logical_or
        result = join(result, evaluate(part, known))
    return result


@dataclass(frozen=True, eq=False)
class Values:
    """The values an attribute can have: as text, as numbers (nan: none), and by rank where words have an order."""

    texts: tuple[str, ...]
    numbers: NDArray[np.float64] | None
    ordered: bool = False

    def truth(self, c: Comparison) -> Truth:
        """For which values a comparison is true."""
        if c.op in ("=", "!="):
            equal = np.logical_or.reduce([self._equal(c.attribute, x) for x in c.literals])
            return np.asarray(equal ^ (c.op == "!="), np.bool_)
        (literal,) = c.literals
        if self.numbers is not None and (number := as_number(literal)) is not None:
            return np.asarray(_COMPARE[c.op](self.numbers, number))
        if self.ordered:
            return np.asarray(_COMPARE[c.op](np.arange(len(self.texts)), self._place(c.attribute, str(literal))))
        raise PolicyError(
            f"{c.attribute!r} {c.op} {literal!r}: the values of {c.attribute!r} are "
            f"{'numbers, and this is none' if self.numbers is not None else 'words without an order'}; "
            "use = or IN for words, and numbers (or dates as 'YYYY-MM-DD') for numbers"
        )

    def _equal(self, attribute: str, literal: str | float) -> Truth:
        number = as_number(literal)
        if self.numbers is not None and number is not None:
            return np.asarray(self.numbers == number)
        wanted = literal if isinstance(literal, str) else f"{literal:g}"
        return np.asarray(np.arange(len(self.texts)) == self._place(attribute, wanted), np.bool_)

    def _place(self, attribute: str, text: str) -> int:
        if text not in self.texts:
            raise PolicyError(f"{attribute!r} has no value {text!r}{nearest(text, self.texts)}")
        return self.texts.index(text)


def as_number(literal: object) -> float | None:
    """A literal as a number; a date as its day.

    >>> as_number("1970-01-03"), as_number(2.5), as_number("flu")
    (2.0, 2.5, None)
    """
    if isinstance(literal, int | float):
        return float(literal)
    text = str(literal)
    try:
        if len(text) == 10 and text[4] == text[7] == "-":
            return float(np.datetime64(text, "D").astype(np.int64))
        return float(text)
    except ValueError:
        return None
