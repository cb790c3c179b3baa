"""What is compared: each method that can serve the requirements, at each setting of the parameters that are swept."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from sfumato.errors import PolicyError, nearest
from sfumato.method.base import Method
from sfumato.method.catalogue import METHODS
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.method.choice import caveat
from sfumato.requirement.base import Requirement, is_number
from sfumato.table.microdata import Microdata

Number = int | float

MOST_POINTS = 1000


@dataclass(frozen=True, kw_only=True)
class Point:
    """One method with its settings, and the requirements that it is to meet."""

    number: int
    method: Method
    requirements: tuple[Requirement, ...]
    swept: Mapping[str, Number] = field(default_factory=dict)
    refuted: str | None = None
    """Why the method is refuted for these requirements; None if it is not."""

    @property
    def label(self) -> str:
        """The method, and the parameters that are swept.

        >>> from sfumato.method.mondrian import Mondrian
        >>> Point(number=1, method=Mondrian(), requirements=(), swept={"k": 5}).label
        'mondrian, k = 5'
        """
        return ", ".join([self.method.name, *(f"{name} = {value:g}" for name, value in self.swept.items())])


def served_by(method: Method, table: Microdata, requirements: Sequence[Requirement]) -> tuple[Method, str | None]:
    """The method in the first of its schemes that serves the requirements, and why not if none does."""
    why = method.serves(requirements, table)
    if why is not None and "scheme" in {f.name for f in fields(method)}:
        for scheme in type(method).schemes:
            other: Any = replace(method, scheme=scheme)  # type: ignore[call-arg]
            if other.serves(requirements, table) is None:
                return other, None
    return method, why


def methods_named(names: Sequence[Method | str] | None, own: Method | None = None) -> list[Method]:
    """The methods to compare: those named, or all; one that a policy names itself has the policy's settings."""
    chosen: list[Method] = []
    for name in names if names is not None else METHODS:
        if isinstance(name, Method):
            chosen.append(name)
        elif own is not None and name == own.name:
            chosen.append(own)
        else:
            chosen.append(method_from_table({"name": name}))
    if not chosen:
        raise PolicyError("no method is named; name at least one, or leave the list out to compare all")
    return list(dict.fromkeys(chosen)) if all(_hashable(m) for m in chosen) else chosen


def _hashable(method: Method) -> bool:
    try:
        hash(method)
    except TypeError:
        return False
    return True


def checked_sweep(sweep: Mapping[str, object] | None, requirements: Sequence[Requirement]) -> dict[str, list[Number]]:
    """The values of each parameter that is swept, if some requirement has it.

    >>> from sfumato.requirement.k_anonymity import KAnonymity
    >>> checked_sweep({"k": [2, 5.0]}, [KAnonymity(k=3)])
    {'k': [2, 5]}
    """
    known = {name for r in requirements for name in _numeric(r)}
    found: dict[str, list[Number]] = {}
    for name, given in (sweep or {}).items():
        if name not in known:
            raise PolicyError(f"no requirement has a number {name!r} to sweep{nearest(str(name), known)}")
        values: list[Any] = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        if not values or not all(is_number(v) and math.isfinite(v) for v in values):
            raise PolicyError(f"the sweep of {name} is {given!r}; give numbers, e.g. {name} = [2, 5, 10]")
        found[name] = list(dict.fromkeys(int(v) if float(v).is_integer() else float(v) for v in values))
    if (number := math.prod(map(len, found.values()))) > MOST_POINTS:
        raise PolicyError(f"the sweeps have {number:,} combinations; at most {MOST_POINTS:,} can be compared")
    return found


def _numeric(requirement: Requirement) -> set[str]:
    """The parameters that hold a number."""
    return {word for word, f in requirement.public_fields().items() if is_number(getattr(requirement, f.name))}


def at(requirements: Sequence[Requirement], values: Mapping[str, Number]) -> tuple[Requirement, ...]:
    """The requirements with the swept parameters set, wherever they have them."""
    return tuple(_at(r, {n: v for n, v in values.items() if n in _numeric(r)}) for r in requirements)


def _at(requirement: Requirement, values: Mapping[str, Number]) -> Requirement:
    known = requirement.public_fields()
    return requirement.with_parameters(**{known[name].name: value for name, value in values.items()})


def settings_of(sweep: Mapping[str, Sequence[Number]]) -> Iterator[dict[str, Number]]:
    """Each combination of the swept parameters; the last parameter changes fastest."""
    return (dict(zip(sweep, values, strict=True)) for values in product(*sweep.values()))


@dataclass(frozen=True)
class ComparisonPlan:
    """The points to compare, and the methods that serve none of the settings, each with the reason."""

    points: tuple[Point, ...]
    unserved: Mapping[str, str]


def planned(
    table: Microdata,
    requirements: Sequence[Requirement],
    methods: Sequence[Method],
    sweep: Mapping[str, Sequence[Number]],
) -> ComparisonPlan:
    """Ask each method at each setting; points are numbered from 1, method by method."""
    points: list[Point] = []
    refused: dict[str, str] = {}
    for method in methods:
        for values in settings_of(sweep):
            asked = at(requirements, values)
            able, why = served_by(method, table, asked)
            if why is None:
                known = caveat(able, able.bind(able.prepared(table), asked))
                number = len(points) + 1
                points.append(Point(number=number, method=able, requirements=asked, swept=values, refuted=known))
            else:
                refused.setdefault(method.name, why)
    if len(points) > MOST_POINTS:
        raise PolicyError(
            f"there are {len(points):,} points; at most {MOST_POINTS:,} can be compared: sweep fewer values"
        )
    served = {p.method.name for p in points}
    return ComparisonPlan(tuple(points), {name: why for name, why in refused.items() if name not in served})
