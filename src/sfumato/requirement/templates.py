"""The privacy templates ⟨X, Y, k⟩ of Fung's thesis: anonymity (Def. 4.1.1) and confidentiality (Def. 5.1.1)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.kernel import judge
from sfumato.requirement.base import (
    Dial,
    GroupRequirement,
    Key,
    Schema,
    Tally,
    Test,
    as_fraction,
    names,
    rounded_up,
    share,
    whole_number,
)
from sfumato.requirement.guarantee import ONE_ROW, SHARED, Guarantee, figure

_ALL_QUASI = "the quasi-identifiers"


def _quasi(model: str, x: Key, schema: Schema) -> Key:
    """The attributes X, which must be quasi-identifying; by default all of them."""
    known = schema.quasi_names()
    for name in x:
        if name not in known:
            raise PolicyError(f"{model}: {name!r} in x is not a quasi-identifying attribute{nearest(name, known)}")
    return x or tuple(known)


def _disjoint(model: str, x: Key, y: Key) -> None:
    if both := sorted(set(x) & set(y)):
        raise PolicyError(f"{model}: {both[0]!r} is in both x and y; a template links x to another attribute")


def _texts(values: object) -> list[str]:
    """One value or several, as the strings of a domain; numbers are written out."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else [values]
    return [str(v) for v in several if v is not None]


@dataclass(frozen=True, kw_only=True)
class Anonymity(GroupRequirement):
    """Each combination of values on X occurs with at least k distinct values on Y or, without Y, in at least k rows.

    ``x``: the attributes an adversary knows, by default all quasi-identifiers; ``y``: the attributes whose distinct
    values are counted.

    >>> Anonymity(x=["Job", "Sex"], k=4).words()
    'every combination of Job, Sex is shared by at least 4 rows'
    """

    model: ClassVar[str] = "anonymity"
    summary: ClassVar[str] = "the template ⟨X, Y, k⟩: each value on X is linked to at least k values on Y"
    weaker: ClassVar[str | None] = "a lower k"
    by_labels: ClassVar[bool] = True
    person_parameter: ClassVar[str | None] = "y"
    dials: ClassVar[Mapping[str, Dial]] = {"k": Dial(2, 100, 1, start=5)}
    x: str | Sequence[str] | None = None
    y: str | Sequence[str] | None = None
    k: int

    def __post_init__(self) -> None:
        whole_number(self.model, "k", self.k, 1)
        object.__setattr__(self, "x", names(self.x))
        object.__setattr__(self, "y", names(self.y))
        _disjoint(self.model, names(self.x), names(self.y))

    def bind(self, schema: Schema) -> Self:
        known = schema.all_names()
        for name in names(self.y):
            if name not in known:
                raise PolicyError(f"{self.model}: there is no attribute {name!r} for y{nearest(name, known)}")
        bound = self.with_parameters(x=_quasi(self.model, names(self.x), schema))
        _disjoint(self.model, names(bound.x), names(bound.y))
        return bound

    def people(self, identifiers: Collection[str]) -> Key:
        return names(self.y) if set(names(self.y)) <= set(identifiers) else ()

    def groups_by(self) -> Key | None:
        return names(self.x)

    def columns(self) -> Sequence[Key]:
        return ()

    def distinct_columns(self) -> Sequence[Key]:
        return (names(self.y),) if self.y else ()

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        if not self.y:
            return (Test(judge.SIZE, limit=Fraction(self.k)),)
        return (Test(judge.DISTINCT, names(self.y), Fraction(self.k)),)

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        linked = tally.distinct[names(self.y)] if self.y else tally.sizes
        return {"k": int(np.min(linked))}

    def bounds_confidence(self) -> bool:
        return False

    def words(self) -> str:
        linked = f"linked to at least {self.k} distinct values of {', '.join(names(self.y))}" if self.y else ""
        return f"every combination of {', '.join(names(self.x))} is " + (linked or f"shared by at least {self.k} rows")

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        x, y = figure(self.x or _ALL_QUASI), figure(self.y or "rows")
        return Guarantee(
            "⟨X, Y⟩-anonymity",
            f"An adversary who knows a person's {x} is left with at least {figure(self.k)} different {y}.",
            (
                f"It covers {x} only; an adversary who knows further attributes may be left with fewer.",
                *(() if self.y else (SHARED, ONE_ROW)),
            ),
        )

    def remedy(self, schema: Schema, whole: Tally) -> str:
        most = int(self.achieved(schema, whole)["k"])
        of = f"distinct values of {', '.join(names(self.y))}" if self.y else "rows"
        return f"the table has {most} {of}, fewer than k = {self.k}; lower k to {most} or less"


@dataclass(frozen=True, kw_only=True)
class Confidentiality(GroupRequirement):
    """No combination of values on X implies a value on Y with a confidence above k.

    ``y`` is an attribute, several, or ``{attribute: [values]}`` where only some values are
    sensitive; ``k`` is one threshold or ``{value: threshold}`` for each.

    >>> Confidentiality(x=["Job"], y={"Bankruptcy": ["Discharged"]}, k=0.75).words()
    'no combination of Job implies Bankruptcy = Discharged with a confidence above 0.75'
    """

    model: ClassVar[str] = "confidentiality"
    summary: ClassVar[str] = "the template ⟨X, Y, k⟩: no value on Y is inferred from X with a confidence above k"
    weaker: ClassVar[str | None] = "a larger k"
    by_labels: ClassVar[bool] = True
    dials: ClassVar[Mapping[str, Dial]] = {"k": Dial(0.05, 1, 0.05, start=0.5)}
    x: str | Sequence[str] | None = None
    y: str | Sequence[str] | Mapping[str, Sequence[str]]
    k: float | Mapping[str, float]

    def __post_init__(self) -> None:
        for limit in self.k.values() if isinstance(self.k, Mapping) else (self.k,):
            share(self.model, "k", limit)
        object.__setattr__(self, "x", names(self.x))
        if isinstance(self.y, Mapping):
            names(list(self.y))
            object.__setattr__(self, "y", {name: _texts(values) for name, values in self.y.items()})
        else:
            object.__setattr__(self, "y", names(self.y))
        empty = isinstance(self.y, Mapping) and not all(self.y.values())
        if not self.y or empty or (isinstance(self.k, Mapping) and not self.k):
            raise PolicyError(f"{self.model}: y or k is empty; name the sensitive attribute or values, and a limit")
        _disjoint(self.model, names(self.x), self._attributes())

    def _attributes(self) -> Key:
        return tuple(self.y)

    def _values(self, schema: Schema, name: str) -> list[str]:
        if isinstance(self.y, Mapping):
            return list(self.y[name])
        return list(schema.domain(name).leaves)

    def _limit(self, value: str) -> Fraction:
        return as_fraction(self.k.get(value, 1) if isinstance(self.k, Mapping) else self.k)

    def limits(self, schema: Schema) -> dict[tuple[str, str], Fraction]:
        """The limit of each sensitive value, by attribute and value."""
        return {(n, v): self._limit(v) for n in self._attributes() for v in self._values(schema, n)}

    def bind(self, schema: Schema) -> Self:
        for name in self._attributes():
            if name not in schema.all_names():
                known = nearest(name, schema.all_names())
                raise PolicyError(f"{self.model}: there is no attribute {name!r} for y{known}")
            leaves = schema.domain(name).leaves
            for value in self._values(schema, name):
                if value not in leaves:
                    raise PolicyError(f"{self.model}: {name!r} has no value {value!r}{nearest(value, leaves)}")
        every = {v for name in self._attributes() for v in self._values(schema, name)}
        if isinstance(self.k, Mapping) and (stray := sorted(set(self.k) - every)):
            raise PolicyError(f"{self.model}: k names {stray[0]!r}, which is not in y{nearest(stray[0], every)}")
        if isinstance(self.k, Mapping) and (bare := sorted(every - set(self.k))):
            raise PolicyError(f"{self.model}: {bare[0]!r} of y has no limit in k; give it one, or remove it from y")
        bound = self.with_parameters(x=_quasi(self.model, names(self.x), schema))
        _disjoint(self.model, names(bound.x), self._attributes())
        return bound

    def groups_by(self) -> Key | None:
        return names(self.x)

    def columns(self) -> Sequence[Key]:
        return [(name,) for name in self._attributes()]

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        return [Test(judge.SHARE, (name,), vectors=self._limits(schema, name)) for name in self._attributes()]

    def _limits(self, schema: Schema, name: str) -> tuple[list[int], list[int]]:
        """Numerators and denominators of each value's limit; 1 for a value that is not sensitive."""
        chosen = set(self._values(schema, name))
        limits = [self._limit(v) if v in chosen else Fraction(1) for v in schema.domain(name).leaves]
        return [f.numerator for f in limits], [f.denominator for f in limits]

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        """The greatest confidence: of all values, or of each value where each has its own limit."""
        by_value: dict[str, float] = {}
        for name in self._attributes():
            leaves = schema.domain(name).leaves
            for value in self._values(schema, name):
                confidence = tally.counts[(name,)][:, leaves.index(value)] / tally.sizes
                by_value[value] = max(by_value.get(value, 0.0), float(confidence.max()))
        return by_value if isinstance(self.k, Mapping) else {"k": max(by_value.values())}

    def is_at_most(self, name: str) -> bool:
        return True

    def words(self) -> str:
        if isinstance(self.y, Mapping):
            target = " or ".join(f"{n} = {'/'.join(names(v))}" for n, v in self.y.items())
        else:
            target = "a value of " + ", ".join(self._attributes())
        limit = "its limit" if isinstance(self.k, Mapping) else f"{self.k}"
        x = ", ".join(names(self.x))
        return f"no combination of {x} implies {target} with a confidence above {limit}"

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        x = figure(self.x or _ALL_QUASI)
        return Guarantee(
            "⟨X, Y⟩-confidentiality",
            f"No protected value of {figure(self._attributes())} can be inferred from a person's {x} with a confidence "
            f"above its limit ({figure(self.k)}).",
            (
                f"It covers {x} only; more may be inferred from further attributes.",
                "It does not keep people from being found: a group may be small, even one row.",
                ONE_ROW,
            ),
        )

    def remedy(self, schema: Schema, whole: Tally) -> str:
        best = max(self.achieved(schema, whole).values())
        enough = rounded_up(best)
        return (
            f"even with all of {', '.join(names(self.x))} suppressed, a value on y has a confidence of {best:.2%}, "
            f"above k; raise k to {enough} or more, or remove that value from y"
        )


PrivacyTemplate = Anonymity | Confidentiality
