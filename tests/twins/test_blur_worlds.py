"""mondrian-blur against an adversary who knows the algorithm: all tables over tiny domains, in exact rationals.

Every table is published in every way in which the draws can fall. For each thing that can be published, the adversary
weighs the tables behind it by the probability that it comes from them. Nobody's belief may exceed 1/l, and the odds of
any value for any person may exceed those of the person's group by the factor of all refusals together at most.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import with_codes
from sfumato.method.blur.budget import UNIT
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata, read

Value = tuple[int, ...]
World = tuple[Value, ...]
Published = frozenset[tuple[frozenset[int], tuple[Value, ...]]]

LINE = {n: [(i,) for i in range(n)] for n in range(9)}
EQUAL = [(0,), (0,), (1,), (2,), (2,), (2,), (3,)]
CROSSED = [(0, 3), (4, 3), (3, 2), (2, 1), (0, 1), (3, 4)]
"""A refused cut parts the groups of the cut that is made: who did not bear it would break the bound."""
PLANE = [(0, 0), (1, 1), (0, 3), (2, 2), (3, 0), (3, 3), (3, 3)]


def people(places: list[tuple[int, ...]], sizes: Value) -> Microdata:
    frame = pl.DataFrame({f"q{j}": [p[j] for p in places] for j in range(len(places[0]))})
    names = [f"s{c}" for c in range(len(sizes))]
    frame = frame.with_columns(**{n: pl.lit("0") for n in names})
    domains = {n: [str(v) for v in range(size)] for n, size in zip(names, sizes, strict=True)}
    return read(frame, quasi=[c for c in frame.columns if c not in names], sensitive=names, domains=domains)


def worlds(people: int, sizes: Value, l: float) -> Iterator[World]:
    """All tables that are l-diverse as a whole."""
    values = list(itertools.product(*map(range, sizes)))
    for world in itertools.product(values, repeat=people):
        columns = [[v[c] for v in world] for c in range(len(sizes))]
        if all(column.count(x) * Fraction(str(l)) <= people for column in columns for x in set(column)):
            yield world


def publications(
    table: Microdata, sizes: Value, method: sf.MondrianBlur, l: float, k: int
) -> dict[Published, dict[World, Fraction]]:
    """The probability that each table publishes each thing."""
    seen: dict[Published, dict[World, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    require: list[Requirement] = [sf.LDiversity(l=l), sf.KAnonymity(k=k)]
    for world in worlds(table.rows, sizes, l):
        data = with_codes(table, {f"s{c}": np.array([v[c] for v in world]) for c in range(len(sizes))})
        total = Fraction()
        for drawn, chance in method.outcomes(data, bind(require, data)):
            groups = [np.flatnonzero(drawn.groups.of_row == g).tolist() for g in range(drawn.groups.number)]
            shown = frozenset((frozenset(g), tuple(sorted(world[i] for i in g))) for g in groups)
            seen[shown][world] += chance
            total += chance
        assert total == 1
    return seen


def judge(result: Published, by: dict[World, Fraction], columns: int) -> tuple[Fraction, Fraction]:
    """The greatest belief, and the greatest factor by which odds exceed those of the group."""
    total, most, factor = sum(by.values()), Fraction(), Fraction()
    for (members, values), c in itertools.product(result, range(columns)):
        column = [v[c] for v in values]
        for person, x in itertools.product(members, set(column)):
            belief = sum((p for world, p in by.items() if world[person][c] == x), Fraction()) / total
            naive = Fraction(column.count(x), len(column))
            most = max(most, belief)
            if naive < 1:
                factor = max(factor, belief * (1 - naive) / ((1 - belief) * naive))
    return most, factor


NOT_DEALT: dict[str, object] = {"pickup": False}
CASES: dict[str, tuple[list[tuple[int, ...]], Value, dict[str, object], float, int]] = {
    "five on a line": (LINE[5], (2,), NOT_DEALT, 1.3, 1),
    "seven on a line": (LINE[7], (2,), NOT_DEALT, 1.3, 1),
    "k = 2": (LINE[7], (2,), NOT_DEALT, 1.3, 2),
    "equal people": (EQUAL, (2,), NOT_DEALT, 1.3, 1),
    "in the plane": (PLANE, (2,), NOT_DEALT, 1.2, 1),
    "two refusals": (PLANE, (2,), {"refusals": 2} | NOT_DEALT, 1.2, 1),
    "dear": (PLANE, (2,), {"blur": 3.0} | NOT_DEALT, 1.15, 1),
    "cheap": (PLANE, (2,), {"blur": 0.2, "refusals": 2} | NOT_DEALT, 1.2, 1),
    "declared": (PLANE, (2,), {"order": ["q1"]} | NOT_DEALT, 1.2, 1),
    "three values": (LINE[5], (3,), NOT_DEALT, 1.4, 1),
    "three values in the plane": (PLANE[:5], (3,), {"blur": 2.0} | NOT_DEALT, 1.3, 1),
    "two attributes": (LINE[4], (2, 2), NOT_DEALT, 1.3, 1),
    "borne by both sides": (CROSSED, (3,), {"blur": 0.2, "refusals": 2} | NOT_DEALT, 1.5, 1),
    "risks, dealt": (PLANE[:6], (2,), {"blur": 3.0}, 1.15, 1),
    "dealt on a line": (LINE[6], (2,), {}, 1.2, 1),
    "dealt, k = 2": (LINE[6], (2,), {}, 1.3, 2),
    "dealt, three values": (LINE[5], (3,), {}, 1.4, 1),
    "dealt, two attributes": (LINE[4], (2, 2), {}, 1.3, 1),
}


@pytest.mark.parametrize(("places", "sizes", "settings", "l", "k"), CASES.values(), ids=CASES)
def test_nobody_is_believed_to_have_a_value_with_more_than_one_in_l(
    places: list[tuple[int, ...]], sizes: Value, settings: dict[str, object], l: float, k: int
) -> None:
    method = sf.MondrianBlur(**settings)  # type: ignore[arg-type]
    seen = publications(people(places, sizes), sizes, method, l, k)
    assert len({len(result) for result in seen}) > 1, "nothing is cut"
    judged = [judge(result, by, len(sizes)) for result, by in seen.items()]
    assert max(belief for belief, _ in judged) <= 1 / Fraction(str(l))
    assert max(factor for _, factor in judged) <= UNIT**method.cap
    assert all(len(members) >= k for result in seen for members, _ in result)
    values = [[v[c] for v in vs] for result in seen for _, vs in result for c in range(len(sizes))]
    assert all(column.count(x) * Fraction(str(l)) <= len(column) for column in values for x in column)


@pytest.mark.parametrize("name", ["five on a line", "two refusals", "three values in the plane"])
def test_the_enumeration_would_notice(name: str) -> None:
    """Refusals do tell something here: the odds differ from those of the group, so the bound is put to the test."""
    places, sizes, settings, l, k = CASES[name]
    seen = publications(people(places, sizes), sizes, sf.MondrianBlur(**settings), l, k)  # type: ignore[arg-type]
    assert max(judge(result, by, len(sizes))[1] for result, by in seen.items()) > Fraction(11, 10)


@pytest.mark.parametrize("rows", [40, 80])
def test_likelihoods_of_tables_that_differ_by_one_exchange(rows: int) -> None:
    """On larger tables: exchange the values of two people of a group, and compare the exact chances of these groups."""
    rng = np.random.default_rng(rows)
    places = [tuple(p) for p in rng.integers(0, 9, (rows, 2)).tolist()]
    table = people(places, (5,))
    method = sf.MondrianBlur(order=["q1"], pickup=False)
    require: list[Requirement] = [sf.LDiversity(l=2)]
    codes = rng.integers(0, 5, rows)

    def chances(values: np.ndarray) -> dict[tuple[int, ...], Fraction]:
        out: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        data = with_codes(table, {"s0": values})
        for drawn, chance in itertools.islice(method.outcomes(data, bind(require, data)), 3000):
            _, first = np.unique(drawn.groups.of_row, return_index=True)
            out[tuple(first[drawn.groups.of_row].tolist())] += chance
        assert sum(out.values()) == 1, "too many outcomes for this test"
        return out

    before, compared = chances(codes), 0
    for group in list(before)[:2]:
        t, u = rng.permutation(np.flatnonzero(np.array(group) == group[0]))[:2].tolist()
        other = codes.copy()
        other[[t, u]] = codes[[u, t]]
        after = chances(other)
        assert UNIT**-method.cap <= after.get(group, Fraction()) / before[group] <= UNIT**method.cap
        compared += codes[t] != codes[u]
    assert compared
