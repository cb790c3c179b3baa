"""Rules of inconsistency: which values of two releases cannot belong to one person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.errors import PolicyError

Side = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Inconsistent:
    """No person can have these values in one release and those in another: sex M in T1 and pregnancy in T2.

    ``sides`` gives, for two or more releases, attributes and values. A pair of rows is ruled out if, on every side,
    everything that the row's labels may mean is among these values or below these nodes; a label that may also mean
    something else does not rule anything out (Fung, section 6.1.3, and Observation 6.1.1).

    >>> Inconsistent(sides={"T1": {"sex": "M"}, "T2": {"diagnosis": ["pregnancy"]}}).words()
    'sex M in T1 and diagnosis pregnancy in T2'
    """

    sides: Mapping[str, Mapping[str, str | Sequence[str]]]

    def __post_init__(self) -> None:
        if not isinstance(self.sides, Mapping) or len(self.sides) < 2:
            raise PolicyError(
                "a rule of inconsistency is about two releases; write e.g. "
                't1 = { sex = "M" } and t2 = { diagnosis = "pregnancy" }'
            )
        object.__setattr__(self, "sides", {str(n): self._side(str(n), side) for n, side in self.sides.items()})

    def _side(self, name: str, side: object) -> dict[str, tuple[str, ...]]:
        if not isinstance(side, Mapping) or not side:
            raise PolicyError(f'a rule of inconsistency has nothing about {name}; write e.g. {name} = {{ sex = "M" }}')
        found = {str(n): _texts(v) for n, v in side.items()}
        if empty := [n for n, values in found.items() if not values]:
            raise PolicyError(f"a rule of inconsistency names {empty[0]!r} of {name}, but none of its values")
        return found

    def values(self, release: str) -> Side:
        """The values of each attribute on one side; nothing for a release that the rule does not name."""
        return {n: tuple(v) for n, v in self.sides.get(release, {}).items()}

    def plain(self) -> dict[str, dict[str, list[str]]]:
        """The rule as a manifest states it."""
        return {name: {n: list(v) for n, v in self.values(name).items()} for name in self.sides}

    def words(self) -> str:
        """The rule as part of a sentence."""
        told = [
            f"{' and '.join(f'{n} ' + '/'.join(v) for n, v in self.values(name).items())} in {name}"
            for name in self.sides
        ]
        return " and ".join(told)


def _texts(values: object) -> tuple[str, ...]:
    """One value or several, as the strings of a domain."""
    several = values if isinstance(values, list | tuple | set | frozenset) else [values]
    for value in several:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise PolicyError(f"a rule of inconsistency has the value {value!r}; it must be a string or a number")
    return tuple(str(value) for value in several)
