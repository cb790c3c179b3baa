"""Definition 5 of ASAP by enumeration: what an adversary learns who knows the algorithm.

All tables over a tiny domain are published. For each thing that can be published, the naive adversary
holds every table equally likely whose groups have the published values; the smart one weighs each by
the probability that the algorithm publishes just this from it. A method is safe if the two agree.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from sfumato.errors import Infeasible
from sfumato.method import pickup
from sfumato.method.ahead import HilbSafe, MondrianPlus
from sfumato.method.base import Groups, silent
from sfumato.method.diversity import Diversity
from sfumato.method.hilb import Hilb, HilbPlus
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import bind
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import Microdata, read

Table = tuple[int, ...]
Published = frozenset[tuple[frozenset[int], tuple[int, ...]]]
Outcomes = Iterator[tuple[Groups, Fraction]]


def microdata(places: list[tuple[int, ...]], table: Table, values: int) -> Microdata:
    frame = pl.DataFrame({f"q{j}": [p[j] for p in places] for j in range(len(places[0]))})
    frame = frame.with_columns(s=pl.Series([str(v) for v in table]))
    names = [c for c in frame.columns if c != "s"]
    return read(frame, quasi=names, sensitive="s", domains={"s": [str(v) for v in range(values)]})


def published(groups: Groups, table: Table) -> Published:
    members = [frozenset(np.flatnonzero(groups.of_row == g).tolist()) for g in range(groups.number)]
    return frozenset((m, tuple(sorted(table[i] for i in m))) for m in members)


def draws_of_pick_up(groups: Groups, data: Microdata, l: int, monkeypatch: pytest.MonkeyPatch) -> Outcomes:
    """Every way the draws can fall, with its probability: orders inside the buckets, and who gets what is left."""
    buckets: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (g, v) in enumerate(zip(groups.of_row.tolist(), data["s"].codes.tolist(), strict=True)):
        buckets[g, v].append(row)
    most = max(1, len(groups.of_row) // l)
    spins = list(itertools.product(range(math.lcm(*range(1, most + 1))), repeat=l - 1))
    orders = list(itertools.product(*(itertools.permutations(b) for b in buckets.values())))
    for order in orders:
        flat = np.array([row for bucket in order for row in bucket])
        for spin in spins:
            numbers = np.array([*spin, *[0] * (groups.number * l)], dtype=np.uint64)
            monkeypatch.setattr(pickup, "shuffled", lambda n, rng, flat=flat: flat)
            monkeypatch.setattr(pickup, "_draws", lambda n, rng, numbers=numbers: numbers)
            yield pickup.pick_up(groups, data["s"], l, None), Fraction(1, len(orders) * len(spins))


def worlds(
    places: list[tuple[int, ...]], values: int, l: int, outcomes: Callable[[Microdata], Outcomes]
) -> dict[Published, dict[Table, Fraction]]:
    """For each thing that can be published, the probability that each table publishes it."""
    seen: dict[Published, dict[Table, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for table in itertools.product(range(values), repeat=len(places)):
        data = microdata(places, table, values)
        try:
            bind([LDiversity(l=l)], data)
        except Infeasible:
            continue
        for groups, chance in outcomes(data):
            seen[published(groups, table)][table] += chance
    return seen


def consistent(result: Published) -> Iterator[Table]:
    """The tables whose groups have the published values."""
    people = sum(len(members) for members, _ in result)
    parts = [(sorted(members), set(itertools.permutations(values))) for members, values in result]
    for choice in itertools.product(*(p for _, p in parts)):
        table = [0] * people
        for (members, _), values in zip(parts, choice, strict=True):
            for person, value in zip(members, values, strict=True):
                table[person] = value
        yield tuple(table)


def differs(seen: dict[Published, dict[Table, Fraction]]) -> list[Published]:
    """The results for which the smart adversary's worlds are not the naive one's."""
    return [r for r, by in seen.items() if len({by.get(t, Fraction()) for t in consistent(r)}) > 1]


def beliefs(result: Published, weigh: Callable[[Table], Fraction]) -> dict[tuple[int, int], Fraction]:
    """Who is believed to have what, with which probability."""
    total, belief = Fraction(), defaultdict(Fraction)
    for table in consistent(result):
        weight = weigh(table)
        total += weight
        for person, value in enumerate(table):
            belief[person, value] += weight
    return {key: b / total for key, b in belief.items()}


LINE = [[(i,) for i in range(n)] for n in range(7)]
PLANE = [(0, 0), (1, 1), (0, 3), (2, 2), (3, 0)]


def by_method(method: Mondrian | MondrianPlus, l: int) -> Callable[[Microdata], Outcomes]:
    def outcomes(data: Microdata) -> Outcomes:
        yield method.groups(data, bind([LDiversity(l=l)], data), rng=None, progress=silent), Fraction(1)

    return outcomes


def by_pick_up(l: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[Microdata], Outcomes]:
    def outcomes(data: Microdata) -> Outcomes:
        if kind == "anatomy":
            base = Groups(np.zeros(data.rows, np.int64), 1)
        elif kind == "mondrian++":
            base = MondrianPlus().groups(data, bind([LDiversity(l=l)], data), rng=None, progress=silent)
        else:
            base = hilbert_base(data, l)
        yield from draws_of_pick_up(base, data, l, monkeypatch)

    return outcomes


def hilbert_base(data: Microdata, l: int) -> Groups:
    """The groups of hilb-safe before the draws."""
    return HilbSafe().base(data, Diversity("s", Fraction(l), 1), silent)


@pytest.mark.parametrize(
    ("places", "values", "l"),
    [(LINE[4], 3, 2), (LINE[5], 3, 2), (LINE[6], 2, 2), (PLANE, 3, 2), (LINE[6], 3, 3)],
    ids=["4 people", "5 people", "6 people", "5 in the plane", "l = 3"],
)
def test_mondrian_plus_is_safe(places: list[tuple[int, ...]], values: int, l: int) -> None:
    seen = worlds(places, values, l, by_method(MondrianPlus(), l))
    assert seen
    assert differs(seen) == []


@pytest.mark.parametrize("kind", ["anatomy", "mondrian++", "hilb-safe"])
@pytest.mark.parametrize(
    ("places", "values", "l"), [(LINE[4], 3, 2), (LINE[5], 3, 2), (PLANE, 3, 2)], ids=["4", "5", "5 in the plane"]
)
def test_uniform_draws_are_safe(
    kind: str, places: list[tuple[int, ...]], values: int, l: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = worlds(places, values, l, by_pick_up(l, kind, monkeypatch))
    assert seen
    assert differs(seen) == []


def test_mondrian_is_not_safe() -> None:
    """Four people on a line, l = 2: the whole group shown with a, a, b, b tells that neighbours share a value."""
    seen = worlds(LINE[4], 2, 2, by_method(Mondrian(), 2))
    whole: Published = frozenset({(frozenset(range(4)), (0, 0, 1, 1))})
    assert whole in differs(seen)
    assert {t for t, p in seen[whole].items() if p} == {(0, 0, 1, 1), (1, 1, 0, 0)}
    assert len(list(consistent(whole))) == 6


def test_mondrian_tells_more_about_single_people_too() -> None:
    """In the marginals of Definition 5: some person's belief differs, with five people on a line and l = 2."""
    seen = worlds(LINE[5], 3, 2, by_method(Mondrian(), 2))
    gaps = [
        abs(smart[key] - naive[key])
        for result, by in seen.items()
        for smart, naive in [
            (beliefs(result, lambda t, by=by: by.get(t, Fraction())), beliefs(result, lambda t: Fraction(1)))
        ]
        for key in naive
    ]
    assert max(gaps) > 0


def test_hilb_is_not_safe() -> None:
    """The recorded counterexample: of the four tables behind {t1, t3} and {t2, t4} only two can be."""
    seen = worlds(LINE[4][::-1], 3, 2, by_method(Hilb(), 2))
    result: Published = frozenset({(frozenset({0, 2}), (0, 1)), (frozenset({1, 3}), (0, 2))})
    assert result in differs(seen)
    assert {t for t, p in seen[result].items() if p} == {(0, 0, 1, 2), (1, 2, 0, 0)}
    assert len(list(consistent(result))) == 4


def test_hilb_plus_is_not_safe() -> None:
    """The recorded counterexample to Theorem 6.2, six people and l = 2."""
    seen = worlds(LINE[6][::-1], 4, 2, by_method(HilbPlus(), 2))
    result: Published = frozenset({(frozenset({0, 2}), (0, 1)), (frozenset({1, 3, 4, 5}), (0, 2, 2, 3))})
    assert result in differs(seen)
    assert {t[:2] for t, p in seen[result].items() if p} == {(0, 0)}
    assert beliefs(result, lambda t: Fraction(1))[0, 0] == Fraction(1, 2)
    assert beliefs(result, lambda t: seen[result].get(t, Fraction()))[0, 0] == 1


def test_draws_that_are_not_uniform_are_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same Anatomy in the order of the rows instead of a drawn one gives people away."""

    def outcomes(data: Microdata) -> Outcomes:
        base = Groups(np.zeros(data.rows, np.int64), 1)
        monkeypatch.setattr(pickup, "shuffled", lambda n, rng: np.arange(n))
        monkeypatch.setattr(pickup, "_draws", lambda n, rng: np.zeros(n, np.uint64))
        yield pickup.pick_up(base, data["s"], 2, None), Fraction(1)

    assert differs(worlds(LINE[5], 3, 2, outcomes))


def test_hilb_safe_publishes_these_groups() -> None:
    """The method is what the enumeration above went through: the base groups, then pick-up inside them."""
    rng = np.random.default_rng(0)
    data = microdata(
        [tuple(p) for p in rng.integers(0, 8, (60, 2)).tolist()], tuple(rng.integers(0, 5, 60).tolist()), 5
    )
    bound = bind([LDiversity(l=2)], data)
    groups = HilbSafe().groups(data, bound, rng=np.random.default_rng(1), progress=silent)
    base = hilbert_base(data, 2)
    for g in range(groups.number):
        members = np.flatnonzero(groups.of_row == g)
        assert len({base.of_row[m] for m in members}) == 1
        assert 2 <= len(members) < 4 or len(members) == (base.of_row == base.of_row[members[0]]).sum()
        assert len(set(data["s"].codes[members])) == len(members)
