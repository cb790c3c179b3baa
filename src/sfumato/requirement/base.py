"""What every requirement is: tests on counts that are exact at the limit, and sentences for people."""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.requirement.comparison import Key as Key
from sfumato.requirement.comparison import Tally as Tally
from sfumato.requirement.comparison import Test as Test
from sfumato.requirement.dial import Dial as Dial
from sfumato.requirement.guarantee import Guarantee
from sfumato.requirement.manifest_view import ManifestView
from sfumato.table.checks import is_number as is_number
from sfumato.table.encode import Domain

PRIVATE = {"private": True}
"""Marks a field that is not a parameter in policy or manifest; it is set from Python or another policy section."""

Floats = NDArray[np.float64]

_FINEST = 10**9
_LARGEST = 10**15


class Schema(ABC):
    """What a requirement may ask about the table when it is bound to it."""

    @abstractmethod
    def quasi_names(self) -> list[str]:
        """The quasi-identifying attributes."""

    @abstractmethod
    def sensitive_names(self) -> list[str]:
        """The sensitive attributes."""

    @abstractmethod
    def all_names(self) -> list[str]:
        """All attributes that can be counted."""

    @abstractmethod
    def domain(self, name: str) -> Domain:
        """The domain of a coded attribute."""


@dataclass(frozen=True, kw_only=True)
class Requirement(ABC):
    """A privacy model with its parameters. A wrong value never survives its constructor."""

    model: ClassVar[str]
    summary: ClassVar[str]
    weaker: ClassVar[str | None] = None
    """A weaker form of the requirement, in the words of advice: "a lower k"."""
    spelled: ClassVar[Mapping[str, str]] = {}
    """Fields that are spelled differently in policies and manifests than in Python: field -> word."""
    by_labels: ClassVar[bool] = False
    """Whether it is about people who share the published quasi-identifiers; exact ones would tell them apart."""
    counts_rows: ClassVar[bool] = True
    """Whether it counts rows, which equal people only if each person has one row; see `people`."""
    served_by: ClassVar[str | None] = None
    """The methods that serve it, if methods that make groups do not."""
    person_parameter: ClassVar[str | None] = None
    """The parameter that names the person column, if it can count people instead of rows."""
    dials: ClassVar[Mapping[str, Dial]] = {}
    """The numbers that a user sets, under their names in the policy."""

    def people(self, identifiers: Collection[str]) -> Key:
        """The columns by which it counts people, given the identifiers of the table; empty if it counts rows."""
        return ()

    def bind(self, schema: Schema) -> Self:
        """The same requirement with the attributes that it leaves open filled in from the table."""
        return self

    def reads(self) -> Key:
        """The columns whose values decide whether it holds; a search guided by it leaks information about them."""
        return ()

    @abstractmethod
    def words(self) -> str:
        """What is required, as a readable sentence."""

    def in_short(self, about: str) -> str:
        """What it means for a person, for someone who never heard of the model; ``about`` are the attributes it covers.

        The promise with its adversary, and the limits, are in `guarantee`.
        """
        told = self.words()
        return told[:1].upper() + told[1:] + "."

    @abstractmethod
    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        """What it promises and what it does not, for the report; ``achieved`` are the figures of a release."""

    def covers(self, schema: Schema) -> frozenset[str]:
        """The attributes whose values it is about, once it is bound; a promise is about the sensitive ones."""
        return frozenset(names(getattr(self, "sensitive", None)) or schema.sensitive_names())

    def bounds_confidence(self) -> bool:
        """Whether it limits how likely a person's sensitive value may become, rather than a spread or a size."""
        return True

    @classmethod
    def public_fields(cls) -> dict[str, Field[Any]]:
        """The fields that policy and manifest write, by the words that they write them with."""
        return {cls.spelled.get(f.name, f.name): f for f in fields(cls) if "private" not in f.metadata}

    def parameters(self) -> dict[str, Any]:
        """The parameters as the policy file and the manifest write them."""
        values = {word: getattr(self, f.name) for word, f in self.public_fields().items()}
        return {name: _plain(v) for name, v in values.items() if v is not None and not (isinstance(v, tuple) and not v)}

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        """Whether beliefs in the truth about people, with and without the release, refute it.

        ``attack`` is what the adversary of an audit tries (prosecutor, journalist, inference, corruption,
        distribution), ``attribute`` the sensitive attribute that it is about.
        """
        return False

    @abstractmethod
    def met_by(self, achieved: Mapping[str, float]) -> bool:
        """Whether these are figures that this model reports and they are no worse than required; for figures that a
        check cannot recompute."""

    def with_parameters(self, **changes: Any) -> Self:
        """A copy with some parameters changed."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class GroupRequirement(Requirement):
    """A model that is judged on the groups of a release, by counts."""

    monotone: ClassVar[bool] = True
    """Whether merging groups that satisfy it gives a group that does."""
    of_the_table: ClassVar[bool] = True
    """Whether it is about the values of the table; otherwise about published ones, which a method may have changed."""
    against_table: ClassVar[bool] = False
    """Whether it compares groups with the whole table, so that suppressed rows change what it requires."""
    at_most: ClassVar[frozenset[str]] = frozenset()
    """The achieved figures that are worse when greater; all others are worse when smaller."""

    def groups_by(self) -> Key | None:
        """The quasi-identifiers that form its groups; None: all of them."""
        return None

    @abstractmethod
    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[np.int64]]) -> Sequence[Test]:
        """The tests that every group must pass."""

    @abstractmethod
    def columns(self) -> Sequence[Key]:
        """The columns it needs counts of, groups x values."""

    def distinct_columns(self) -> Sequence[Key]:
        """The columns for which it only needs the number of distinct values per group."""
        return ()

    def reads(self) -> Key:
        return tuple(dict.fromkeys(name for key in (*self.columns(), *self.distinct_columns()) for name in key))

    def covers(self, schema: Schema) -> frozenset[str]:
        return frozenset(self.reads())

    @abstractmethod
    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        """The worst value over the groups, named as the parameter that it answers."""

    def worse(self, a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
        """The worse of what two sets of groups achieved."""
        return {name: max(a[name], b[name]) if self.is_at_most(name) else min(a[name], b[name]) for name in a}

    def is_at_most(self, name: str) -> bool:
        """Whether an achieved figure must be at most what is required, rather than at least."""
        return name in self.at_most

    @abstractmethod
    def remedy(self, schema: Schema, whole: Tally) -> str:
        """Why the table as one group does not satisfy it, with limit and remedy."""

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        own = self.parameters()
        limits = own["k"] if isinstance(own.get("k"), Mapping) else own
        if not achieved or not achieved.keys() <= limits.keys():
            return False
        wanted = {name: float(limits[name]) for name in achieved}
        worst = self.worse(dict(achieved), wanted)
        return all(math.isclose(worst[name], limit, rel_tol=1e-9, abs_tol=1e-12) for name, limit in wanted.items())

    def holds(self, schema: Schema, tally: Tally) -> NDArray[np.bool_]:
        """Judge all groups of a tally at once."""
        good = np.ones(len(tally.sizes), dtype=np.bool_)
        for test in self.tests(schema, tally.totals):
            good &= test.holds(tally)
        return good


Status = Literal["holds", "broken", "stated"]
"""The status of a claim: verified, contradicted, or stated (not contradicted, but not verifiable from outside)."""


@dataclass(frozen=True)
class Verdict:
    """The status of a promise, judged from the public part."""

    status: Status
    achieved: dict[str, float]
    detail: str


@dataclass(frozen=True, kw_only=True)
class Promise(Requirement):
    """A model that is about how a release was drawn: judged on what its manifest and tables state, not on counts."""

    @abstractmethod
    def verify(self, manifest: ManifestView, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Whether the public part of a release keeps the promise."""


def _plain(value: Any) -> Any:
    """A parameter as JSON and TOML know it."""
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    if isinstance(value, Mapping):
        return {str(k): list(v) if isinstance(v, tuple) else _plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, Fraction) else value


def as_fraction(value: float | Fraction) -> Fraction:
    """The number a person meant: 0.1 is one tenth, and 1/3 in floating point is one third.

    >>> as_fraction(0.1), as_fraction(1 / 3)
    (Fraction(1, 10), Fraction(1, 3))
    """
    exact = value if isinstance(value, Fraction) else Fraction(str(value))
    return exact.limit_denominator(_FINEST)


def whole_number(model: str, name: str, value: object, least: int) -> int:
    """A parameter that is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise PolicyError(f"{model}: {name} = {value!r}; it must be a whole number, {least} or more").about(name)
    if value > _LARGEST:
        raise PolicyError(f"{model}: {name} must be at most {_LARGEST}; no table has that many rows").about(name)
    return int(value)


def settled(value: float, limit: float | Fraction) -> float:
    """Snaps a value to the limit if only floating-point error separates them; the tests themselves are exact.

    >>> settled(2.9999999999999996, 3)
    3.0
    """
    return float(limit) if abs(value - limit) <= 1e-12 * max(1.0, float(limit)) else value


def share(model: str, name: str, value: object, *, zero: bool = False) -> float:
    """A parameter in (0, 1], or in [0, 1] where ``zero`` is allowed."""
    if not is_number(value) or not (0 <= value <= 1) or (value == 0 and not zero):  # type: ignore[operator]
        raise PolicyError(f"{model}: {name} = {value!r}; it must be in {'[' if zero else '('}0, 1]").about(name)
    return value  # type: ignore[return-value]


def positive(model: str, name: str, value: object) -> float:
    """A parameter that is a number from a thousand-millionth up to a thousand million."""
    if not is_number(value) or not 1 / _FINEST <= value <= _FINEST:  # type: ignore[operator]
        raise PolicyError(f"{model}: {name} = {value!r}; it must be a number from 1e-9 up to 1e9").about(name)
    return value  # type: ignore[return-value]


def above(belief: Floats, limit: float) -> bool:
    """Whether some belief is above a limit by more than floating-point error."""
    return bool((belief > limit * (1 + 1e-9)).any())


def names(value: str | Sequence[str] | None) -> Key:
    """One name or several, as a tuple."""
    if value is None:
        return ()
    several = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else (value,)
    for name in several:
        if not isinstance(name, str):
            raise PolicyError(f"{name!r} is not a column name; a column name must be a string")
    return several


def ordinal(number: int) -> str:
    """The number as an English ordinal.

    >>> ordinal(2), ordinal(11), ordinal(23)
    ('2nd', '11th', '23rd')
    """
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ends.get(number % 10, 'th')}"


def rounded_up(value: float) -> float:
    """The value rounded up to four digits.

    >>> rounded_up(2 / 7), rounded_up(0.5)
    (0.2858, 0.5)
    """
    digits = 3 - math.floor(math.log10(abs(value))) if value else 0
    return float(math.ceil(round(value * 10.0**digits, 6)) / 10.0**digits)


def rounded_down(value: float) -> float:
    """The value rounded down to four digits."""
    return -rounded_up(-value)


def sensitive_or_all(model: str, chosen: Key, schema: Schema) -> Key:
    """The sensitive attributes named, or all of the table's if none is named."""
    known = schema.sensitive_names()
    if unknown := [c for c in chosen if c not in known]:
        raise PolicyError(f"{model}: {unknown[0]!r} is not a sensitive attribute; the table has {known or 'none'}")
    if not known:
        raise PolicyError(f"{model} needs a sensitive attribute; give one column the role 'sensitive'")
    return chosen or tuple(known)
