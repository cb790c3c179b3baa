"""What joins several releases: consistent labels of common attributes, and rules of inconsistency."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.release.earlier import Earlier
from sfumato.release.join.consistency import Relation, consistency
from sfumato.release.join.names import JoinAttribute
from sfumato.release.rule import Inconsistent
from sfumato.table.names import named

Integers = NDArray[np.int64]


class Link(NamedTuple):
    """A common attribute of two releases, and which labels of the first are consistent with which of the second."""

    attribute: str
    first: str
    second: str
    relation: Relation


class Rule(NamedTuple):
    """A rule: for each release and attribute, which of its labels lie inside the rule, and the values it names."""

    inside: Mapping[JoinAttribute, NDArray[np.bool_]]
    values: Mapping[JoinAttribute, Sequence[str]]

    def releases(self) -> set[str]:
        """The releases that the rule is about."""
        return {a.release for a in self.inside}


class Links:
    """All that joins some releases; the first of them is the table that is (to be) published."""

    def __init__(self, sides: Sequence[Earlier], rules: Sequence[Inconsistent]) -> None:
        self.sides = {side.name: side for side in sides}
        _refuse_sides(sides)
        self.links = [
            Link(name, a.name, b.name, consistency(a.columns[name], b.columns[name]))
            for a, b in combinations(sides, 2)
            for name in a.columns
            if name in b.columns
        ]
        self.rules = [self._rule(rule) for rule in rules]
        for side in sides[1:]:
            self._refuse_cross_product(sides[0].name, side.name)

    def _rule(self, rule: Inconsistent) -> Rule:
        if stray := [n for n in rule.sides if n not in self.sides]:
            raise PolicyError(f"a rule of inconsistency names {stray[0]!r}; the releases are {named(self.sides)}")
        values = {JoinAttribute(r, name): found for r in rule.sides for name, found in rule.values(r).items()}
        return Rule({a: self.sides[a.release].column(a.name).inside(found) for a, found in values.items()}, values)

    def _refuse_cross_product(self, first: str, second: str) -> None:
        linked = any((link.first, link.second) == (first, second) for link in self.links)
        if not linked and not any({first, second} <= rule.releases() for rule in self.rules):
            raise PolicyError(
                f"{first} and {second} have no attribute in common, and no rule of inconsistency is about both: their "
                "join is a cross product, in which everyone matches everyone; leave the release out, or give the "
                "attributes that they share the same names"
            )

    def joined(self, release: str) -> list[str]:
        """The join attributes of a release: those that a link or a rule is about."""
        linked = [link.attribute for link in self.links if release in (link.first, link.second)]
        ruled = [a.name for rule in self.rules for a in rule.inside if a.release == release]
        return list(dict.fromkeys([*linked, *ruled]))

    def attributes(self) -> list[JoinAttribute]:
        """All join attributes."""
        return [JoinAttribute(release, name) for release in self.sides for name in self.joined(release)]

    def between(self, one: str, other: str) -> Iterator[tuple[str, Relation]]:
        """The common attributes of two releases, with the relation as seen from the first."""
        for link in self.links:
            if (link.first, link.second) == (one, other):
                yield link.attribute, link.relation
            elif (link.second, link.first) == (one, other):
                yield link.attribute, link.relation.turned(len(self.sides[one].columns[link.attribute].labels))


def _refuse_sides(sides: Sequence[Earlier]) -> None:
    names = [side.name for side in sides]
    if len(sides) < 2:
        raise PolicyError("a join needs two or more releases; give at least one earlier release")
    if twice := [n for n in names if names.count(n) > 1]:
        raise PolicyError(f"two releases are called {twice[0]!r}; give each its own name")
