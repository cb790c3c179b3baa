"""Beliefs under external knowledge against enumeration on values: facts, both worlds, both verdicts of Definition 5."""

import operator
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import make_case
from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError
from sfumato.method.base import Drawn, PartitionMethod
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement

Table = tuple[str, ...]
Person = dict[str, Any]
Shown = list[tuple[Any, str]]
"""The published values, each with who may have it: members, or the ends of the labels."""
Belief = dict[Table, Fraction]
Side = tuple[dict[str, list[Any]], Fraction]
"""A count of the people with these values, times a number; without values the number itself is meant."""
Told = tuple[Side, str, Side | Fraction]

RELATION = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
VALUES = ["a", "b", "c"]


def size_of(side: Side | Fraction, rows: list[Person]) -> Fraction:
    if isinstance(side, Fraction):
        return side
    where, times = side
    return times * sum(all(row[name] in allowed for name, allowed in where.items()) for row in rows)


def agree(told: list[Told], people: list[Person], table: Table) -> bool:
    rows = [{**person, "s": value} for person, value in zip(people, table, strict=True)]
    return all(RELATION[how](size_of(left, rows), size_of(right, rows)) for left, how, right in told)


def some_side(random: Random, people: list[Person]) -> Side:
    where: dict[str, list[Any]] = {}
    for name in ("x", "y", "s"):
        if random.random() < (0.7 if name == "s" else 0.4):
            there = VALUES if name == "s" else sorted({p[name] for p in people})
            where[name] = random.sample(there, random.randint(1, max(1, len(there) - 1)))
    return where, Fraction(1)


def some_facts(random: Random, people: list[Person]) -> list[Told]:
    told: list[Told] = []
    for _ in range(random.randint(1, 2)):
        how = random.choice(list(RELATION))
        right: Side | Fraction = Fraction(random.randint(0, 3))
        if random.random() < 0.6:
            ratio = random.choice([Fraction(1), Fraction(1, 2), Fraction(1, 20), Fraction(3, 2)])
            right = some_side(random, people)[0], ratio
        told.append((some_side(random, people), how, right))
    return told


def as_fact(told: Told) -> sf.Fact:
    (where, _), how, right = told
    if isinstance(right, Fraction):
        return sf.Fact(sf.Count(where), how, int(right))  # type: ignore[arg-type]
    return sf.Fact(sf.Count(where), how, sf.Count(right[0]), times=float(right[1]))  # type: ignore[arg-type]


def shown(drawn: Drawn, people: list[Person], scheme: str) -> Shown:
    """What is seen, in a public order."""
    groups = drawn.groups.of_row.tolist()
    values = [drawn.table["s"].domain.leaves[c] for c in drawn.table["s"].codes.tolist()]
    out: Shown = []
    for group, value in zip(groups, values, strict=True):
        members = [i for i, g in enumerate(groups) if g == group]
        ends = [(min(people[i][n] for i in members), max(people[i][n] for i in members)) for n in ("x", "y")]
        out.append((tuple(members) if scheme == "bucketization" else tuple(ends), value))
    return sorted(out)


def fits(i: int, person: Person, key: Any, scheme: str) -> bool:
    if scheme == "bucketization":
        return i in key
    return all(low <= person[n] <= high for n, (low, high) in zip(("x", "y"), key, strict=True))


def behind(what: Shown, people: list[Person], scheme: str) -> set[Table]:
    """The tables of all bijections."""
    return {
        tuple(value for _, value in order)
        for order in permutations(what)
        if all(fits(i, people[i], key, scheme) for i, (key, _) in enumerate(order))
    }


def naive_twin(what: Shown, people: list[Person], scheme: str, told: list[Told], changes: bool) -> Belief:
    """Each table behind alike; where values may be changed, as few of them as need be, each way alike."""
    for number in range(len(what) + 1 if changes else 1):
        ways = []
        for values in product(VALUES, repeat=len(what)):
            if sum(v != old for v, (_, old) in zip(values, what, strict=True)) == number:
                before = [(key, v) for v, (key, _) in zip(values, what, strict=True)]
                ways.append([t for t in behind(before, people, scheme) if agree(told, people, t)])
        ways = [way for way in ways if way]
        belief: Belief = defaultdict(Fraction)
        for way in ways:
            for table in way:
                belief[table] += Fraction(1, len(way) * len(ways))
        if ways:
            return dict(belief)
    return {}


def smart_twin(
    what: Shown, people: list[Person], scheme: str, told: list[Told], method: PartitionMethod, wanted: Requirement
) -> Belief:
    """All tables that agree, by the chance that the method publishes this from them."""
    weights: Belief = defaultdict(Fraction)
    for table in product(VALUES, repeat=len(people)):
        if agree(told, people, table):
            data = microdata(people, table)
            for drawn, chance in make_case(data, method, wanted, scheme).outcomes(data):  # type: ignore[arg-type]
                weights[table] += chance if shown(drawn, people, scheme) == what else 0
    total = sum(weights.values())
    return {t: w / total for t, w in weights.items() if w}


def microdata(people: list[Person], table: Table) -> sf.Microdata:
    frame = pl.DataFrame(people).with_columns(s=pl.Series(list(table)))
    return sf.read(frame, quasi=["x", "y"], sensitive="s", domains={"s": VALUES})


def marginals(belief: Belief, people: int) -> list[dict[str, Fraction]]:
    return [{v: sum((p for t, p in belief.items() if t[i] == v), Fraction()) for v in VALUES} for i in range(people)]


def cases(rounds: int) -> Iterator[tuple[Random, list[Person], Table]]:
    for seed in range(rounds):
        random = Random(seed)
        people = [{"x": random.randint(0, 3), "y": random.randint(0, 1)} for _ in range(4)]
        yield random, people, tuple(random.sample(["a", "a", "b", "b", "c", "c"], 4))


L2, MANY, SOME = sf.LDiversity(l=2), sf.MConfidentiality(m=2), sf.MConfidentiality(m=2, values=["a"])


@pytest.mark.parametrize("scheme", ["bucketization", "generalization"])
@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        (sf.Mondrian(), L2),
        (sf.Hilb(), L2),
        (sf.MondrianPlusPlus(), L2),
        (sf.Mask(k=2, front="hilb"), SOME),
        (sf.MaskPlusPlus(k=4), MANY),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_beliefs_under_knowledge(method: PartitionMethod, wanted: Requirement, scheme: str) -> None:
    tried: Counter[tuple[bool, bool]] = Counter()
    forced = 0
    for random, people, table in cases(14):
        data = microdata(people, table)
        told = some_facts(random, people)
        try:
            drawn = method.draw(
                data, bind([wanted], data), draws=Draws(np.random.default_rng(random.randint(0, 10**6)))
            )
        except sf.Infeasible:
            continue
        what = shown(drawn, people, scheme)
        naive = naive_twin(what, people, scheme, told, method.perturbs)
        smart = smart_twin(what, people, scheme, told, method, wanted)
        facts = [as_fact(t) for t in told]
        ask = {"method": method, "require": wanted, "knowledge": facts, "scheme": scheme, "published": drawn}
        if not smart:
            with pytest.raises(PolicyError, match="not true"):
                sf.worlds(data, **ask)  # type: ignore[arg-type]
            continue
        found = sf.worlds(data, **ask)  # type: ignore[arg-type]
        leaves = data["s"].domain.leaves
        assert {tuple(leaves[c] for c in w): p for w, p in found.naive_worlds.items()} == naive
        assert {tuple(leaves[c] for c in w): p for w, p in found.smart_worlds.items()} == smart
        assert list(found.naive_exact) == marginals(naive, 4)
        assert list(found.smart_exact) == marginals(smart, 4)
        assert found.same_worlds == (naive == smart)
        assert found.same_marginals == (marginals(naive, 4) == marginals(smart, 4))
        tried[found.same_marginals, found.same_worlds] += 1
        forced += method.perturbs and naive != naive_twin(what, people, scheme, [], True)
    assert sum(tried.values()) >= 5
    assert forced >= 2 or not method.perturbs
