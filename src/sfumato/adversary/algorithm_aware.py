"""The adversary who knows the algorithm: naive and smart random worlds, and Definition 5 of ASAP.

The naive adversary considers every table that could be behind the publication and that agrees with the other
knowledge equally likely (Definition 3). The smart one weighs each table by the probability that the algorithm
publishes exactly this from it (Definition 4). A release is algorithm-safe if both hold the same beliefs.

Where a method changes sensitive values, the paper does not define the naive world. Here the naive adversary assumes
the fewest changed values that the knowledge allows. Every choice of which values were changed, and of what they were
before, is equally likely; so is every table behind the values restored in this way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.budget import Allowance
from sfumato.adversary.fewest_changes import belief_by_fewest_changes
from sfumato.adversary.knowledge import Fact, Known
from sfumato.adversary.observation import Belief, Observation, World, observe, tables_at_least, worlds_behind
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Drawn, Groups, GroupScheme, Method, PartitionMethod
from sfumato.method.catalogue import from_table
from sfumato.release.judgement import bind, listed
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.requirement.base import Requirement, whole_number
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.taxonomy import named

Function = Callable[[Microdata], Groups | Drawn | NDArray[np.int64]]
AnyMethod = Method | str | Function

_TRIES = 4
_REMEDY = "use a smaller table or a higher limit"


@dataclass(frozen=True)
class Worlds:
    """What both adversaries believe: rows are people, columns the ``values`` of the sensitive attribute.

    ``naive_worlds`` and ``smart_worlds`` are the tables that each considers possible, with their probabilities;
    ``same_marginals`` is Definition 5 as written (each person's belief), ``same_worlds`` the stronger equality.
    """

    values: tuple[str, ...]
    naive: NDArray[np.float64]
    smart: NDArray[np.float64]
    naive_exact: tuple[Mapping[str, Fraction], ...]
    smart_exact: tuple[Mapping[str, Fraction], ...]
    naive_worlds: Mapping[World, Fraction]
    smart_worlds: Mapping[World, Fraction]

    @property
    def same_marginals(self) -> bool:
        """Whether both hold the same belief about every person."""
        return self.naive_exact == self.smart_exact

    @property
    def same_worlds(self) -> bool:
        """Whether both consider the same tables possible, with the same probabilities."""
        return dict(self.naive_worlds) == dict(self.smart_worlds)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """The two beliefs, the naive one first."""
        return iter((self.naive, self.smart))


@dataclass(frozen=True)
class Case:
    """A method, as an adversary can call it, on tables of the same people."""

    table: Microdata
    method: PartitionMethod | Function
    requirements: tuple[Requirement, ...]
    sensitive: str
    scheme: GroupScheme

    @property
    def sets(self) -> bool:
        """Whether labels may be sets of siblings."""
        return self.method.shows_sets() if isinstance(self.method, PartitionMethod) else True

    @property
    def perturbs(self) -> bool:
        """Whether the method may change sensitive values."""
        return isinstance(self.method, PartitionMethod) and self.method.perturbs

    def seen(self, drawn: Drawn) -> Observation:
        """What is seen of an outcome."""
        return observe(drawn, self.sensitive, self.scheme, sets=self.sets)

    def with_world(self, world: World | NDArray[np.int64]) -> Microdata:
        """The same people with other sensitive values."""
        return with_codes(self.table, {self.sensitive: np.asarray(world)})

    def draw(self, table: Microdata, draws: Draws) -> Drawn:
        """One outcome."""
        if not isinstance(self.method, PartitionMethod):
            made = self.method(table)
            return made if isinstance(made, Drawn) else Drawn(table, _as_groups(made, table))
        return self.method.draw(table, bind(self.requirements, table), draws=draws)

    def once(self, published: Drawn | None, draws: Draws) -> Drawn:
        """What was published, if it is about these people; without it, the method is run once."""
        if published is None:
            return self.draw(self.table, draws)
        if not isinstance(published, Drawn) or len(published.groups.of_row) != self.table.rows:
            raise PolicyError(
                f"published must be the result of a method's `draw` for this table of {self.table.rows} rows; "
                "leave it out to run the method once"
            )
        return published

    @property
    def varies(self) -> bool:
        """Whether a function given as the method draws its groups at random; found out by calling it a few times."""
        if isinstance(self.method, PartitionMethod):
            return False
        return len({self.seen(self.draw(self.table, Draws())) for _ in range(_TRIES)}) > 1

    def outcomes(self, table: Microdata) -> Iterator[tuple[Drawn, Fraction]]:
        """Every outcome with its probability; empty if the method refuses the table."""
        try:
            if isinstance(self.method, PartitionMethod):
                yield from self.method.outcomes(table, bind(self.requirements, table))
            else:
                yield self.draw(table, Draws()), Fraction(1)
        except Infeasible:
            return

    def chance(self, table: Microdata, wanted: Observation, allowed: Allowance) -> Fraction:
        """The probability that the method publishes what was seen from this table."""
        outcomes = allowed.each(self.outcomes(table))
        return sum((p for drawn, p in outcomes if self.seen(drawn) == wanted), Fraction())

    def people(self) -> list[tuple[int, ...]]:
        """The quasi-identifiers of each person, as codes."""
        return [tuple(int(c) for c in q) for q in zip(*(c.codes for c in self.table.quasi), strict=True)]


def _as_groups(made: Groups | NDArray[np.int64], table: Microdata) -> Groups:
    """What a function returned; it may number the groups in any way."""
    of_row = made.of_row if isinstance(made, Groups) else np.asarray(made)
    if of_row.shape != (table.rows,):
        raise PolicyError(
            f"a function used as a method must return one group per row, like `partition`, for {table.rows} rows"
        )
    numbers, of_row = np.unique(of_row, return_inverse=True)
    return Groups(of_row, len(numbers))


def make_case(
    table: Microdata,
    method: AnyMethod,
    require: Requirement | Sequence[Requirement],
    scheme: GroupScheme | None,
) -> Case:
    """Find out what is attacked: the method, and the one sensitive attribute."""
    refuse_raw(table)
    chosen = from_table({"name": method}) if isinstance(method, str) else method
    if isinstance(chosen, Method) and not isinstance(chosen, PartitionMethod):
        raise PolicyError(f"{chosen.name} does not partition the rows; algorithm-aware attacks need a partition method")
    if not isinstance(chosen, Method) and not callable(chosen):
        raise PolicyError(f"method = {method!r}; it must be a method, its name, or a function from a table to groups")
    if scheme not in (None, *PartitionMethod.schemes):
        raise PolicyError(f"scheme = {scheme!r}; it must be {' or '.join(map(repr, PartitionMethod.schemes))}")
    wanted = tuple(listed(require))
    if len(table.sensitive) != 1 or not table.quasi:
        raise PolicyError(
            "worlds need exactly one sensitive attribute and at least one quasi-identifier; the table has "
            f"{len(table.sensitive)} sensitive and {len(table.quasi)} quasi: read it with other roles"
        )
    shown = scheme or (chosen.scheme if isinstance(chosen, PartitionMethod) else PartitionMethod.scheme)
    return Case(table, chosen, wanted, table.sensitive[0].name, shown)


def worlds(
    table: Microdata,
    *,
    method: AnyMethod,
    require: Requirement | Sequence[Requirement] = (),
    knowledge: Fact | Sequence[Fact] | None = None,
    people: Literal["known", "unknown"] = "known",
    scheme: GroupScheme | None = None,
    published: Drawn | None = None,
    rng: np.random.Generator | None = None,
    limit: int = 200_000,
) -> Worlds:
    """The exact naive and smart beliefs about each person after the table was published once.

    The adversaries know the requirement, everyone's quasi-identifiers (or, with ``people="unknown"``, only what the
    labels show) and the facts of ``knowledge``. The method is a name, an object, or any function from a table to groups
    that draws nothing; a method that draws must be able to list its outcomes. All tables behind what is seen are
    enumerated, and for each of them all outcomes of the method: at most ``limit`` of either for tables of up to 100
    people, proportionally fewer for larger ones. Where values may be changed, these are all tables over the domain. For
    more, see `sampled_worlds`. ``published`` is what was published; without it the method is run once.

    Args:
        table: the private table, small.
        method: a name, an object, or a function from a table to groups.
        require: the requirements, one or several.
        knowledge: facts about counts that the adversaries know in addition to the release.
        people: whether they know everyone's quasi-identifiers.
        scheme: how groups are shown; by default as the method does.
        published: what was published; by default one outcome is drawn.
        rng: for experiments only; without one all randomness is fresh secret entropy.
        limit: the most tables, and the most outcomes, to enumerate.
    """
    case = make_case(table, method, require, scheme)
    if case.varies:
        raise PolicyError(
            "the function draws its groups at random, so its outcomes cannot be listed; use sampled_worlds"
        )
    whole_number("worlds", "limit", limit, 1)
    wanted = case.seen(case.once(published, Draws(rng)))
    known = Known(knowledge or (), table)
    if people == "unknown":
        return _strangers(case, wanted, known, limit)
    if people != "known":
        raise PolicyError(f"people = {people!r}; it must be 'known' or 'unknown'")
    tables, naive = (_of_all if case.perturbs else _of_those_behind)(case, wanted, known, limit)
    outcomes = Allowance(limit, f"outcomes of the method on {len(tables)} tables", _remedy(case), table.rows)
    smart = _normal({world: case.chance(case.with_world(world), wanted, outcomes) for world in tables})
    return _worlds(case, naive, smart)


def _remedy(case: Case) -> str:
    return f"{_REMEDY}; sampled_worlds draws tables instead" + (", but without knowledge" if case.perturbs else "")


def _of_those_behind(case: Case, wanted: Observation, known: Known, limit: int) -> tuple[list[World], Belief]:
    """The tables behind what is seen that agree with the knowledge, and the naive belief: each is equally likely."""
    Allowance(limit, "tables", _remedy(case), case.table.rows).need(tables_at_least(wanted), least=True)
    behind = worlds_behind(wanted, case.people(), case.scheme)
    tables = _that_hold(case, Allowance(limit, "tables", _remedy(case), case.table.rows).each(behind), known)
    return tables, _even(tables)


def _of_all(case: Case, wanted: Observation, known: Known, limit: int) -> tuple[list[World], Belief]:
    """Where values may be changed: all tables of these people that agree with the knowledge, and the naive belief."""
    size, people = case.table[case.sensitive].size, case.people()
    Allowance(limit, "tables", _remedy(case), case.table.rows).need(size**case.table.rows)
    tables = _that_hold(case, product(range(size), repeat=case.table.rows), known)
    allowed = Allowance(limit, "tables behind values that may have been changed", _remedy(case))
    naive = belief_by_fewest_changes(
        wanted, size, tables, lambda seen: allowed.each(worlds_behind(seen, people, case.scheme))
    )
    return tables, naive


def with_codes(table: Microdata, codes: Mapping[str, NDArray[np.int64]]) -> Microdata:
    """The table with other values in some columns."""
    columns = dict(table.columns)
    for name, new in codes.items():
        columns[name] = replace(columns[name], codes=new.astype(columns[name].codes.dtype))
    return replace(table, columns=columns)


def _that_hold(case: Case, tables: Iterator[World], known: Known) -> list[World]:
    """The tables that agree with what is known."""
    kept = []
    for world in tables:
        codes = np.asarray(world)
        if known.hold(lambda n, codes=codes: codes if n == case.sensitive else case.table[n].codes):  # type: ignore[misc]
            kept.append(world)
    if not kept:
        raise PolicyError("no table behind the release agrees with the knowledge; one of the facts is not true")
    return kept


def _even(tables: Sequence[World]) -> Belief:
    return dict.fromkeys(tables, Fraction(1, len(tables)))


def _normal(weights: Belief) -> Belief:
    total = sum(weights.values(), Fraction())
    if not total:
        raise PolicyError(
            "the method does not publish this from any table that agrees with the knowledge; one of the facts is "
            "not true"
        )
    return {world: w / total for world, w in weights.items() if w}


def _worlds(case: Case, naive: Belief, smart: Belief) -> Worlds:
    leaves = case.table[case.sensitive].domain.leaves
    exact = [_of_people(belief, leaves, case.table.rows) for belief in (naive, smart)]
    return Worlds(leaves, _array(exact[0]), _array(exact[1]), exact[0], exact[1], naive, smart)


def _of_people(belief: Belief, leaves: Sequence[str], people: int) -> tuple[Mapping[str, Fraction], ...]:
    """The belief about each person's value."""
    out = [dict.fromkeys(leaves, Fraction()) for _ in range(people)]
    for world, chance in belief.items():
        for person, value in enumerate(world):
            out[person][leaves[value]] += chance
    return tuple(out)


def _array(exact: Sequence[Mapping[str, Fraction]]) -> NDArray[np.float64]:
    return np.array([[float(p) for p in person.values()] for person in exact])


def _strangers(case: Case, wanted: Observation, known: Known, limit: int) -> Worlds:
    """If only the labels are known, nobody's exact quasi-identifiers: a world gives each published row exact ones."""
    if not SCHEMES[case.scheme].labels_people or case.perturbs:
        raise PolicyError(
            "people can be 'unknown' only if quasi-identifiers are generalized and values are not changed"
        )
    other = set(known.names()) - {case.sensitive, *(c.name for c in case.table.quasi)}
    if other:
        raise PolicyError(
            f"if people are unknown, facts must be about quasi-identifiers and {case.sensitive!r}, not {named(other)}"
        )
    rows = [(box, v) for box, values in wanted for v in values]
    values = np.array([v for _, v in rows])
    quasi = case.table.quasi
    naive: list[World] = []
    smart: Belief = {}
    people = case.table.rows
    Allowance(limit, "tables", _REMEDY, people).need(prod(len(codes) for box, _ in rows for codes in box))
    outcomes = Allowance(limit, "outcomes of the method on all tables", _REMEDY, people)
    for cells in product(*(list(product(*box)) for box, _ in rows)):
        codes = {c.name: np.array([cell[j] for cell in cells]) for j, c in enumerate(quasi)} | {case.sensitive: values}
        if known.hold(lambda n, codes=codes: codes[n]):  # type: ignore[misc]
            world = tuple(code for cell in cells for code in cell)
            naive.append(world)
            smart[world] = case.chance(with_codes(case.table, codes), wanted, outcomes)
    if not naive:
        raise PolicyError("no table behind the release agrees with the knowledge; one of the facts is not true")
    beliefs = (_even(naive), _normal(smart))
    leaves = case.table[case.sensitive].domain.leaves
    exact = [_of_places(b, values, case.people(), leaves) for b in beliefs]
    return Worlds(leaves, _array(exact[0]), _array(exact[1]), exact[0], exact[1], *beliefs)


def _of_places(
    belief: Belief, values: NDArray[np.int64], people: list[tuple[int, ...]], leaves: Sequence[str]
) -> tuple[Mapping[str, Fraction], ...]:
    """The belief about a person with these quasi-identifiers: the share of each value among such rows."""
    out = [dict.fromkeys(leaves, Fraction()) for _ in people]
    width = len(people[0])
    for person, place in enumerate(people):
        total = Fraction()
        for world, chance in belief.items():
            rows = [r for r in range(len(values)) if world[r * width : (r + 1) * width] == place]
            total += chance if rows else 0
            for r in rows:
                out[person][leaves[values[r]]] += chance / len(rows)
        for value in out[person]:
            out[person][value] = out[person][value] / total if total else Fraction()
    return tuple(out)
