"""mondrian-blur against an adversary who knows the algorithm: all tables over tiny domains, in exact rationals.

Every table is published in every way in which the draws can fall. For each thing that can be published, the adversary
weighs the tables behind it by the probability that it comes from them. Nobody's belief may exceed 1/l, and the odds of
any value those of the group by the factor of all refusals at most. Step 1 of the proof in docs/aware.md is much
stricter: if two people of a group exchange values, the probability changes by a factor that the group's values pay for.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import with_codes
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.method.blur import mondrian_blur
from sfumato.method.blur.association import _moved, _pairs
from sfumato.method.blur.budget import UNIT
from sfumato.method.diversity import Diversities
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata, read

Place = tuple[int | str, ...]
Value = tuple[int, ...]
World = tuple[Value, ...]
Published = frozenset[tuple[frozenset[int], tuple[Value, ...]]]

LINE: dict[int, list[Place]] = {n: [(i,) for i in range(n)] for n in range(9)}
EQUAL: list[Place] = [(0,), (0,), (1,), (2,), (2,), (2,), (3,)]
CROSSED: list[Place] = [(0, 3), (4, 3), (3, 2), (2, 1), (0, 1), (3, 4)]
"""A refused cut parts the groups of the cut that is made: who did not bear it would break the bound."""
PLANE: list[Place] = [(0, 0), (1, 1), (0, 3), (2, 2), (3, 0), (3, 3), (3, 3)]
TREE = {"Any": {"A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}}
LEAVES: list[Place] = [("a1",), ("a2",), ("b1",), ("b2",), ("c1",), ("c2",), ("c3",)]
AND_LINE: list[Place] = [("b1", 0), ("a1", 1), ("c1", 2), ("b2", 3), ("a2", 4), ("c3", 5)]
"""Below a node, a cut may take out the middle, and the rest lies on both sides of it."""


def people(places: list[Place], sizes: Value) -> Microdata:
    frame = pl.DataFrame({f"q{j}": [p[j] for p in places] for j in range(len(places[0]))})
    trees = {name: TREE for name, kind in frame.schema.items() if kind == pl.String}
    names = [f"s{c}" for c in range(len(sizes))]
    frame = frame.with_columns(**{n: pl.lit("0") for n in names})
    domains = {n: [str(v) for v in range(size)] for n, size in zip(names, sizes, strict=True)}
    quasi = [c for c in frame.columns if c not in names]
    return read(frame, quasi=quasi, sensitive=names, domains=domains, taxonomies=trees)


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


def spent(result: Published, by: dict[World, Fraction], l: float) -> Fraction:
    """The greatest factor by which exchanges within a group change the probability, per what the group pays for.

    A group of g people with a value c times pays for a factor F if g >= (1 + F (l - 1)) c.
    """
    most = Fraction()
    for members, values in result:
        often = max(column.count(x) for column in zip(*values, strict=True) for x in column)
        paid = (Fraction(len(values), often) - 1) / (Fraction(str(l)) - 1)
        for (world, chance), (t, u) in itertools.product(by.items(), itertools.combinations(members, 2)):
            other = list(world)
            other[t], other[u] = world[u], world[t]
            assert tuple(other) in by, "an exchange makes this impossible"
            most = max(most, chance / by[tuple(other)] / paid)
    return most


NOT_DEALT: dict[str, object] = {"pickup": False}
CASES: dict[str, tuple[list[Place], Value, dict[str, object], float, int]] = {
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
    "below nodes": (LEAVES, (2,), NOT_DEALT, 1.3, 1),
    "below nodes and on a line": (AND_LINE, (2,), {"blur": 0.5, "refusals": 3} | NOT_DEALT, 1.2, 1),
    "below nodes, three values": (AND_LINE, (3,), {"blur": 0.2, "refusals": 2} | NOT_DEALT, 1.5, 1),
    "nodes only": (AND_LINE, (2,), {"labels": "nodes", "blur": 0.5, "refusals": 3} | NOT_DEALT, 1.2, 1),
    "dear, dealt": (PLANE[:6], (2,), {"blur": 3.0}, 1.15, 1),
    "dealt on a line": (LINE[6], (2,), {}, 1.2, 1),
    "dealt, k = 2": (LINE[6], (2,), {}, 1.3, 2),
    "dealt, three values": (LINE[5], (3,), {}, 1.4, 1),
    "dealt, two attributes": (LINE[4], (2, 2), {}, 1.3, 1),
}


@pytest.mark.parametrize(("places", "sizes", "settings", "l", "k"), CASES.values(), ids=CASES)
def test_nobody_is_believed_to_have_a_value_with_more_than_one_in_l(
    places: list[Place], sizes: Value, settings: dict[str, object], l: float, k: int
) -> None:
    method = sf.MondrianBlur(**settings)  # type: ignore[arg-type]
    seen = publications(people(places, sizes), sizes, method, l, k)
    assert len({len(result) for result in seen}) > 1, "nothing is cut"
    assert_safe(seen, method, sizes, l, k)


def assert_safe(
    seen: dict[Published, dict[World, Fraction]], method: sf.MondrianBlur, sizes: Value, l: float, k: int
) -> None:
    judged = [judge(result, by, len(sizes)) for result, by in seen.items()]
    assert max(belief for belief, _ in judged) <= 1 / Fraction(str(l))
    assert max(factor for _, factor in judged) <= UNIT**method.cap
    assert max(spent(result, by, l) for result, by in seen.items()) <= 1
    assert all(len(members) >= k for result in seen for members, _ in result)
    values = [[v[c] for v in vs] for result in seen for _, vs in result for c in range(len(sizes))]
    assert all(column.count(x) * Fraction(str(l)) <= len(column) for column in values for x in column)


DEALT: dict[str, tuple[list[Place], Value, dict[str, object], float, int, int]] = {
    "on a line": (LINE[7], (2,), {}, 1.3, 1, 20),
    "eight on a line": (LINE[8], (2,), {}, 1.15, 1, 300),
    "k = 3": (LINE[8], (2,), {}, 1.15, 3, 300),
    "below nodes": (LEAVES, (2,), {}, 1.15, 1, 300),
    "three values": (CROSSED, (3,), {"refusals": 2}, 1.3, 1, 60),
    "two attributes": (LINE[5], (2, 2), {}, 1.2, 1, 60),
}
"""What is dealt after a refusal. The last number: the price times distance at which a cut is tried, which must be small
for any cut of so small a table to be tried; safety may not depend on it."""


@pytest.mark.parametrize(("places", "sizes", "settings", "l", "k", "enough"), DEALT.values(), ids=DEALT)
def test_what_is_dealt_after_a_refusal_is_paid_for(
    monkeypatch: pytest.MonkeyPatch,
    places: list[Place],
    sizes: Value,
    settings: dict[str, object],
    l: float,
    k: int,
    enough: int,
) -> None:
    monkeypatch.setattr(mondrian_blur, "_ENOUGH", enough)
    method = sf.MondrianBlur(**settings)  # type: ignore[arg-type]
    seen = publications(people(places, sizes), sizes, method, l, k)
    assert_safe(seen, method, sizes, l, k)
    assert any(len(set(by.values())) > 1 for by in seen.values()), "no refusal tells anything"


class Scores(Draws):
    """Noise such that the scores of the attributes, with it, are given numbers; keeps the epsilon asked for."""

    def __init__(self, moved: list[int], scores: tuple[int, ...]) -> None:
        super().__init__()
        self.noise, self.epsilon = np.array(scores) - moved, 0.0

    def two_sided_geometric(self, number: int, epsilon: float) -> np.ndarray:
        assert number == len(self.noise)
        self.epsilon = epsilon
        return self.noise


HIGHEST = 6


def chance_of(score: int, moved: int, epsilon: float) -> Fraction:
    """The exact chance of a score with two-sided geometric noise.

    Scores below 0 count as 0 (the method does not tell them apart), those above the highest as the highest (an
    adversary who sees less cannot learn more).
    """
    a = Fraction(np.exp(-epsilon))
    if score in (0, HIGHEST):
        tail = a ** abs(score - moved) / (1 + a)
        return tail if (moved > 0 if score == 0 else moved < HIGHEST) else 1 - a / (1 + a)
    return (1 - a) / (1 + a) * a ** abs(score - moved)


SCATTERED: list[Place] = [(0, 3), (1, 2), (3, 2), (3, 4), (3, 2), (4, 4)]
SPREAD: list[Place] = [(2, 3), (1, 2), (3, 2), (2, 2), (0, 3), (2, 0), (3, 1), (0, 2)]
"""If the order cost groups nothing, cuts of the first, and parts of the second that are too small, break the bound."""


@pytest.mark.parametrize(
    ("places", "rarely", "l", "units", "pickup"),
    [*((PLANE[:6], 2, 1.2, u, False) for u in (60, 150)), (SCATTERED, 2, 1.3, 300, False), (SPREAD, 3, 1.3, 100, True)],
)
def test_the_drawn_order_is_paid_for(
    monkeypatch: pytest.MonkeyPatch, places: list[Place], rarely: int, l: float, units: int, pickup: bool
) -> None:
    """Small tables cannot afford a drawn order; here they have to. All tables with a rare value, all scores."""
    monkeypatch.setattr(mondrian_blur, "units_per_attribute", lambda *_: units)
    monkeypatch.setattr(mondrian_blur, "_ENOUGH", 20)
    method, table = sf.MondrianBlur(pickup=pickup), people(places, (2,))
    wanted = Diversities(("s0",), (Fraction(str(l)),), 1)
    seen: dict[Published, dict[World, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    orders = set()
    for rare in itertools.combinations(range(len(places)), rarely):
        world = tuple((int(i in rare),) for i in range(len(places)))
        data = with_codes(table, {"s0": np.array([v[0] for v in world])})
        counts = LocalEngine(data).count(["s0"])
        moved = [_moved(_pairs(counts, q.name, "s0")) for q in counts.quasi]
        assert max(moved) < HIGHEST
        total = Fraction()
        for scores in itertools.product(range(HIGHEST + 1), repeat=2):
            draws = Scores(moved, scores)
            rules = method.rules(counts, wanted, draws)
            orders.add(bool(rules.prefer[0] > rules.prefer[1]))
            drawn_so = math.prod(chance_of(y, m, draws.epsilon) for y, m in zip(scores, moved, strict=True))
            for drawn, chance in method.outcomes_under(rules, data, wanted):
                groups = [np.flatnonzero(drawn.groups.of_row == g).tolist() for g in range(drawn.groups.number)]
                shown = frozenset((frozenset(g), tuple(sorted(world[i] for i in g))) for g in groups)
                seen[shown][world] += chance * drawn_so
                total += chance * drawn_so
        assert total == 1
    assert len(orders) == 2
    assert_safe(seen, method, (2,), l, 1)


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
