"""The naive belief where a method may have changed values: the fewest changes that the knowledge allows.

Every choice of which published values were changed, and of what they were before, is equally likely; so is every
table behind the values restored in this way.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product

from sfumato.adversary.observation import Belief, Key, Observation, World
from sfumato.errors import PolicyError


def belief_by_fewest_changes(
    seen: Observation, size: int, tables: Iterable[World], behind: Callable[[Observation], Iterable[World]]
) -> Belief:
    """The belief in the ``tables`` that agree with the knowledge; ``behind`` gives the tables behind given values.

    There are at most as many ways to change values as there are tables over ``size`` values. A result that several ways
    lead to is visited once, with the fewest changes.
    """
    known, tried = frozenset(tables), set[Observation]()
    for changes in range(sum(len(values) for _, values in seen) + 1):
        together: dict[World, Fraction] = defaultdict(Fraction)
        total = 0
        for values, ways in _with_changes(seen, changes, size).items():
            if values in tried:
                continue
            tried.add(values)
            agreeing = [world for world in behind(values) if world in known]
            total += ways if agreeing else 0
            for world in agreeing:
                together[world] += Fraction(ways, len(agreeing))
        if total:
            return {world: chance / total for world, chance in together.items()}
    raise PolicyError(
        "what was published cannot come from any table of these people; give what was published from this table"
    )


def _with_changes(seen: Observation, changes: int, size: int) -> Counter[Observation]:
    """What the published values may have been if this many were changed, with the number of ways to get there."""
    slots = [(g, i) for g, (_, values) in enumerate(seen) for i in range(len(values))]
    ways: Counter[Observation] = Counter()
    for where in combinations(slots, changes):
        for values in product(*([v for v in range(size) if v != seen[g][1][i]] for g, i in where)):
            ways[_changed(seen, where, values)] += 1
    return ways


def _changed(seen: Observation, where: Sequence[tuple[int, int]], values: Sequence[int]) -> Observation:
    shown: list[tuple[Key, list[int]]] = [(key, list(v)) for key, v in seen]
    for (g, i), value in zip(where, values, strict=True):
        shown[g][1][i] = value
    return tuple((key, tuple(sorted(v))) for key, v in shown)
