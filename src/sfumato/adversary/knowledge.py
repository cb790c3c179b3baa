"""External knowledge as facts about COUNT queries (ASAP, section 3.2)."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.requirement.base import as_fraction
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import MISSING

Value = object
"""A value of an attribute: a string, number, boolean or date, or None where it is missing."""

RelationSign = Literal["=", "<", "<=", ">", ">="]

_COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Count:
    """SELECT COUNT(*) FROM the microdata WHERE each named attribute has the given value, or one of the given ones.

    ``where``: attribute → its value, or a list of values; without it all rows are counted.

    >>> Count({"Country": "Japan", "Disease": "heart disease"}).share_below(0.05, of=Count())
    Fact(count(Country = Japan, Disease = heart disease) < 1/20 * count())
    """

    where: Mapping[str, Value | Iterable[Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.where, Mapping):
            raise PolicyError(f"where must be a mapping {{attribute: value}}, not {self.where!r}")

    def equals(self, other: "Count | float") -> "Fact":
        """The two are equal."""
        return Fact(self, "=", other)

    def at_most(self, other: "Count | float") -> "Fact":
        """This is not above the other."""
        return Fact(self, "<=", other)

    def at_least(self, other: "Count | float") -> "Fact":
        """This is not below the other."""
        return Fact(self, ">=", other)

    def share_below(self, share: float, *, of: "Count") -> "Fact":
        """This is less than a share of the other."""
        return Fact(self, "<", of, times=share)

    def values_of(self, name: str) -> list[str]:
        """The values that an attribute may have."""
        value = self.where[name]
        several = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return [_text(v) for v in several]

    def among(self, table: Microdata) -> dict[str, NDArray[np.bool_]]:
        """For each attribute named, which of its codes count."""
        chosen = {}
        for name in self.where:
            leaves = table[name].domain.leaves
            for value in self.values_of(name):
                if value not in leaves:
                    raise PolicyError(
                        f"knowledge is about {name} = {value}, which is not in its domain{nearest(value, leaves)}"
                    )
            chosen[name] = np.isin(np.array(leaves, dtype=object), self.values_of(name))
        return chosen

    def __str__(self) -> str:
        parts = [f"{name} = {' or '.join(self.values_of(name))}" for name in self.where]
        return f"count({', '.join(parts)})"


def _text(value: Value) -> str:
    """A value as domains write it.

    >>> [_text(v) for v in ("2.0", 2.0, 2.5, True, None)]
    ['2.0', '2', '2.5', 'true', '(missing)']
    """
    if value is None:
        return MISSING
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float | np.floating) and value == value // 1 else str(value)


@dataclass(frozen=True)
class Fact:
    """What an adversary knows: how ``left`` compares with ``times`` the right count, or with a number."""

    left: Count
    relation: RelationSign
    right: Count | float
    times: float | Fraction = 1

    def __post_init__(self) -> None:
        if self.relation not in _COMPARE:
            raise PolicyError(f"there is no relation {self.relation!r}; it must be one of {', '.join(_COMPARE)}")
        if not isinstance(self.left, Count):
            raise PolicyError(f"the left side of a fact must be a Count, not {self.left!r}; swap the two sides")
        for number in (self.times,) if isinstance(self.right, Count) else (self.times, self.right):
            known = isinstance(number, int | float | Fraction | np.number) and np.isfinite(float(number))
            if not known or isinstance(number, bool):
                raise PolicyError(f"a Count must be compared with another Count or a number, not with {number!r}")

    def __repr__(self) -> str:
        times = as_fraction(self.times)
        return f"Fact({self.left} {self.relation} {'' if times == 1 else f'{times} * '}{self.right})"

    def holds(self, left: int, right: int | None) -> bool:
        """Whether the relation holds between the counts."""
        other = Fraction(right or 0) if isinstance(self.right, Count) else as_fraction(self.right)
        return _COMPARE[self.relation](Fraction(left), as_fraction(self.times) * other)


class Known:
    """Facts bound to a table, which can be checked on other tables over the same domains."""

    def __init__(self, facts: "Fact | Sequence[Fact]", table: Microdata) -> None:
        facts = list(facts) if isinstance(facts, Iterable) else [facts]
        for fact in facts:
            if not isinstance(fact, Fact):
                raise PolicyError(f"knowledge must be a list of facts such as Count({{...}}).equals(1), not {fact!r}")
        self.facts = [
            (f, f.left.among(table), f.right.among(table) if isinstance(f.right, Count) else None) for f in facts
        ]
        self.rows = table.rows

    def names(self) -> list[str]:
        """The attributes that the facts are about."""
        return sorted({name for _, left, right in self.facts for name in (*left, *(right or ()))})

    def hold(self, codes: Callable[[str], NDArray[np.int64]]) -> bool:
        """Whether all facts hold for the table with these codes."""
        return all(
            fact.holds(self._count(left, codes), None if right is None else self._count(right, codes))
            for fact, left, right in self.facts
        )

    def _count(self, chosen: dict[str, NDArray[np.bool_]], codes: Callable[[str], NDArray[np.int64]]) -> int:
        inside = np.ones(self.rows, np.bool_)
        for name, allowed in chosen.items():
            inside &= allowed[codes(name)]
        return int(inside.sum())
