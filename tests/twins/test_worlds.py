"""Definition 5 of ASAP by enumeration: what an adversary learns who knows the algorithm.

All tables over a tiny domain are published. For each thing that can be published, the naive adversary
holds every table equally likely whose groups have the published values; the smart one weighs each by
the probability that the algorithm publishes just this from it. A method is safe if the two agree.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import make_case
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible
from sfumato.method.anatomy import Anatomy
from sfumato.method.base import Drawn, PartitionMethod
from sfumato.method.hilb import Hilb, HilbPlus, HilbPlusPlus
from sfumato.method.hilb_safe import HilbSafe
from sfumato.method.mask.mask import Mask, MaskPlus, MaskPlusPlus
from sfumato.method.mondrian import Mondrian
from sfumato.method.mondrian_plus import MondrianPlus, MondrianPlusPlus
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.m_confidentiality import MConfidentiality
from sfumato.table.microdata import Microdata, read

Table = tuple[int, ...]
Published = frozenset[tuple[frozenset[int], tuple[int, ...]]]
Worlds = dict[Published, dict[Table, Fraction]]


def microdata(places: list[tuple[int, ...]], table: Table, values: int) -> Microdata:
    frame = pl.DataFrame({f"q{j}": [p[j] for p in places] for j in range(len(places[0]))})
    frame = frame.with_columns(s=pl.Series([str(v) for v in table]))
    names = [c for c in frame.columns if c != "s"]
    return read(frame, quasi=names, sensitive="s", domains={"s": [str(v) for v in range(values)]})


def published(drawn: Drawn) -> Published:
    groups, codes = drawn.groups.of_row, drawn.table["s"].codes.tolist()
    members = [frozenset(np.flatnonzero(groups == g).tolist()) for g in range(drawn.groups.number)]
    return frozenset((m, tuple(sorted(codes[i] for i in m))) for m in members)


def worlds(places: list[tuple[int, ...]], values: int, method: PartitionMethod, wanted: Requirement) -> Worlds:
    """For each thing that can be published, the probability that each table publishes it."""
    seen: Worlds = defaultdict(lambda: defaultdict(Fraction))
    for table in itertools.product(range(values), repeat=len(places)):
        data = microdata(places, table, values)
        try:
            for drawn, chance in method.outcomes(data, bind([wanted], data)):
                if chance:
                    seen[published(drawn)][table] += chance
        except Infeasible:
            continue
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


SAFE = [MondrianPlus(), MondrianPlusPlus(), HilbSafe(), Anatomy()]


@pytest.mark.parametrize(
    ("places", "values", "l"),
    [(LINE[4], 3, 2), (LINE[5], 3, 2), (LINE[6], 2, 2), (PLANE, 3, 2), (LINE[6], 3, 3)],
    ids=["4 people", "5 people", "6 people", "5 in the plane", "l = 3"],
)
def test_mondrian_plus_is_safe(places: list[tuple[int, ...]], values: int, l: int) -> None:
    seen = worlds(places, values, MondrianPlus(), LDiversity(l=l))
    assert seen
    assert differs(seen) == []


@pytest.mark.parametrize("method", SAFE[1:], ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("places", "values", "l"), [(LINE[4], 3, 2), (LINE[5], 3, 2), (PLANE, 3, 2)], ids=["4", "5", "5 in the plane"]
)
def test_uniform_draws_are_safe(method: PartitionMethod, places: list[tuple[int, ...]], values: int, l: int) -> None:
    seen = worlds(places, values, method, LDiversity(l=l))
    assert seen
    assert differs(seen) == []


@pytest.mark.parametrize("method", SAFE, ids=lambda m: m.name)
@pytest.mark.parametrize(("places", "values"), [(LINE[4], 4), (PLANE[:4], 4)], ids=["4 on a line", "4 in the plane"])
def test_four_values_are_enough_for_a_cut(method: PartitionMethod, places: list[tuple[int, ...]], values: int) -> None:
    """With fewer values than people nothing is ever cut; here two by two are, where all four differ."""
    seen = worlds(places, values, method, LDiversity(l=2))
    cut = {len(result) for result in seen}
    assert cut == {2} if method.picks else cut == {1, 2}  # type: ignore[attr-defined]
    assert differs(seen) == []


NINE = {
    "line": [(i,) for i in (3, 7, 0, 8, 1, 5, 2, 6, 4)],
    "equal": [(i,) for i in (3, 3, 0, 0, 1, 1, 2, 2, 2)],
    "plane": [(0, 2), (1, 1), (3, 3), (2, 0), (0, 0), (3, 1), (1, 3), (2, 2), (1, 1)],
}


@pytest.mark.parametrize("method", SAFE[:3], ids=lambda m: m.name)
@pytest.mark.parametrize("places", NINE.values(), ids=NINE)
def test_cuts_of_parts_are_safe_too(method: PartitionMethod, places: list[tuple[int, ...]]) -> None:
    """Nine people, whose order is not that of the rows: also where a part is cut again all worlds weigh the same."""
    rng, cut_again = np.random.default_rng(2), 0
    while cut_again < 4:
        data = microdata(places, tuple(rng.permutation([0, 1, 2, 3, 4, 5, 0, 1, 6]).tolist()), 7)
        bound = bind([LDiversity(l=2)], data)
        base = method.before_draws(data, bound)
        if base is None or base.number < 3:
            continue
        cut_again += 1
        drawn = method.draw(data, bound, draws=Draws(rng))
        found = sf.worlds(data, method=method, require=LDiversity(l=2), scheme="bucketization", published=drawn)
        assert found.same_worlds
        assert max(max(person.values()) for person in found.smart_exact) <= Fraction(1, 2)


@pytest.mark.parametrize("method", SAFE, ids=lambda m: m.name)
@pytest.mark.parametrize("places", [LINE[4], [(0,), (0,), (1,), (2,)]], ids=["4", "two equal"])
def test_in_generalization_nobody_who_knows_the_method_is_surer_than_one_in_l(
    method: PartitionMethod, places: list[tuple[int, ...]]
) -> None:
    """Labels show less than who is with whom. Where they overlap the two beliefs differ: the naive one is too sure."""
    tried: set[object] = set()
    differing, naive_most = 0, Fraction()
    for table in itertools.product(range(3), repeat=len(places)):
        data = microdata(places, table, 3)
        case = make_case(data, method, LDiversity(l=2), "generalization")
        for drawn, _ in case.outcomes(data):
            if case.seen(drawn) not in tried:
                tried.add(case.seen(drawn))
                found = sf.worlds(
                    data, method=method, require=LDiversity(l=2), scheme="generalization", published=drawn
                )
                assert max(max(person.values()) for person in found.smart_exact) <= Fraction(1, 2)
                naive_most = max(naive_most, *(max(person.values()) for person in found.naive_exact))
                differing += not found.same_marginals
    assert tried
    assert (differing > 0) == (naive_most > Fraction(1, 2)) == method.picks  # type: ignore[attr-defined]


def test_mondrian_is_not_safe() -> None:
    """Four people on a line, l = 2: the whole group shown with a, a, b, b tells that neighbours share a value."""
    seen = worlds(LINE[4], 2, Mondrian(), LDiversity(l=2))
    whole: Published = frozenset({(frozenset(range(4)), (0, 0, 1, 1))})
    assert whole in differs(seen)
    assert {t for t, p in seen[whole].items() if p} == {(0, 0, 1, 1), (1, 1, 0, 0)}
    assert len(list(consistent(whole))) == 6


def test_mondrian_tells_more_about_single_people_too() -> None:
    """In the marginals of Definition 5: some person's belief differs, with five people on a line and l = 2."""
    seen = worlds(LINE[5], 3, Mondrian(), LDiversity(l=2))
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
    """The smallest counterexample: of the four tables behind {t1, t3} and {t2, t4} only two can be."""
    seen = worlds(LINE[4][::-1], 2, Hilb(), LDiversity(l=2))
    result: Published = frozenset({(frozenset({0, 2}), (0, 1)), (frozenset({1, 3}), (0, 1))})
    assert differs(seen) == [result]
    assert {t for t, p in seen[result].items() if p} == {(0, 0, 1, 1), (1, 1, 0, 0)}
    assert len(list(consistent(result))) == 4
    assert differs(worlds(LINE[4][:3][::-1], 3, Hilb(), LDiversity(l=2))) == []


def test_the_smallest_counterexample_to_theorem_6_2() -> None:
    """Six people and three values, l = 2: who was passed over cannot have c, so the others have it with 2/3."""
    seen = worlds(LINE[6][::-1], 3, HilbPlus(), LDiversity(l=2))
    result: Published = frozenset({(frozenset({0, 2}), (0, 1)), (frozenset({1, 3, 4, 5}), (0, 1, 2, 2))})
    smart = beliefs(result, lambda t: seen[result].get(t, Fraction()))
    assert smart[1, 2] == 0
    assert smart[3, 2] == smart[4, 2] == smart[5, 2] == Fraction(2, 3)
    assert differs(worlds(LINE[5][::-1], 4, HilbPlus(), LDiversity(l=2))) == []


def test_hilb_plus_is_not_safe() -> None:
    """The recorded counterexample to Theorem 6.2, six people and l = 2."""
    of_hilb_plus = worlds(LINE[6][::-1], 4, HilbPlus(), LDiversity(l=2))
    result: Published = frozenset({(frozenset({0, 2}), (0, 1)), (frozenset({1, 3, 4, 5}), (0, 2, 2, 3))})
    assert result in differs(of_hilb_plus)
    assert {t[:2] for t, p in of_hilb_plus[result].items() if p} == {(0, 0)}
    assert beliefs(result, lambda t: Fraction(1))[0, 0] == Fraction(1, 2)
    assert beliefs(result, lambda t: of_hilb_plus[result].get(t, Fraction()))[0, 0] == 1


def test_hilb_plus_plus_is_not_safe() -> None:
    """Pick-up divides the last group of the same counterexample, and t1 = t2 = a is as certain as before."""
    seen = worlds(LINE[6][::-1], 4, HilbPlusPlus(), LDiversity(l=2))
    result: Published = frozenset(
        {(frozenset({0, 2}), (0, 1)), (frozenset({1, 4}), (0, 2)), (frozenset({3, 5}), (2, 3))}
    )
    assert result in differs(seen)
    assert {t[:2] for t, p in seen[result].items() if p} == {(0, 0)}


def confidence(result: Published, by: dict[Table, Fraction], person: int, value: int) -> Fraction:
    """What the smart adversary believes where values may have been changed: all tables were equally likely before."""
    return sum((p for t, p in by.items() if t[person] == value), Fraction()) / sum(by.values(), Fraction())


def test_mask_is_not_safe() -> None:
    """Value 0 is sensitive, k = m = 2: both groups with one of it have it with confidence 5/8 instead of 1/2."""
    seen = worlds(LINE[4], 2, Mask(k=2), MConfidentiality(m=2, values=["0"]))
    result: Published = frozenset({(frozenset({0, 1}), (0, 1)), (frozenset({2, 3}), (0, 1))})
    assert [confidence(result, seen[result], person, 0) for person in range(4)] == [Fraction(5, 8)] * 4


def test_mask_plus_is_not_safe() -> None:
    """The smallest counterexample to Theorem 6.3, two people and three values: 2/3 instead of 1/2."""
    seen = worlds(LINE[4][:2], 3, MaskPlus(k=2), MConfidentiality(m=2))
    result: Published = frozenset({(frozenset({0, 1}), (0, 2))})
    assert {t for t, p in seen[result].items() if p} == {(0, 0), (0, 2), (2, 0)}
    assert confidence(result, seen[result], 0, 0) == confidence(result, seen[result], 1, 0) == Fraction(2, 3)
    assert not worlds(LINE[4][:2], 2, MaskPlus(k=2), MConfidentiality(m=2))


def test_mask_plus_is_not_safe_in_a_group_of_four() -> None:
    """Four people and three values: 8/15 instead of 1/2."""
    seen = worlds(LINE[4], 3, MaskPlus(k=4), MConfidentiality(m=2))
    result: Published = frozenset({(frozenset(range(4)), (0, 0, 2, 2))})
    assert confidence(result, seen[result], 0, 0) == Fraction(8, 15)
    worst = max(confidence(r, by, p, v) for r, by in seen.items() for p in range(4) for v in range(3))
    assert worst == Fraction(8, 15)


def test_mask_plus_on_the_counterexample_of_the_notes() -> None:
    """Six people and four values published as (0, 1, 2, 3): the last value has confidence 5/9."""
    seen: dict[Table, Fraction] = {}
    bound = None
    for counts in [(0, 1, 2, 3), (0, 1, 1, 4)]:
        for table in set(itertools.permutations([v for v, c in enumerate(counts) for _ in range(c)])):
            data = microdata(LINE[6], table, 4)
            bound = bind([MConfidentiality(m=2)], data)
            drawn = MaskPlus(k=6).draw(data, bound)
            assert np.bincount(drawn.table["s"].codes, minlength=4).tolist() == [0, 1, 2, 3]
            seen[table] = Fraction(1)
    assert confidence(frozenset(), seen, 0, 3) == Fraction(5, 9)


def test_mask_plus_plus_is_not_safe() -> None:
    """Pick-up after levelling keeps what levelling gave away: {t1, t2} with a, c and {t3, t4} with a, c."""
    seen = worlds(LINE[4], 3, MaskPlusPlus(k=4), MConfidentiality(m=2))
    result: Published = frozenset({(frozenset({0, 1}), (0, 2)), (frozenset({2, 3}), (0, 2))})
    assert confidence(result, seen[result], 0, 0) == Fraction(8, 15)


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        (MondrianPlusPlus(), LDiversity(l=2)),
        (HilbPlusPlus(), LDiversity(l=2)),
        (HilbSafe(), LDiversity(l=2)),
        (Anatomy(), LDiversity(l=2)),
        (MaskPlusPlus(k=5), MConfidentiality(m=2, values=["0", "1"])),
        (Mask(k=2), MConfidentiality(m=2, values=["0"])),
        (MaskPlus(k=5), MConfidentiality(m=2, values=["0", "1"])),
        (MaskPlusPlus(k=5), MConfidentiality(m=2)),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_outcomes_are_what_is_drawn(method: PartitionMethod, wanted: Requirement) -> None:
    """The probabilities sum to one, and 2,000 draws fall as they say."""
    drawn_as_said(method, wanted, microdata(LINE[5], (0, 0, 1, 2, 3), 5))


@pytest.mark.parametrize(
    ("method", "sensitive", "table"),
    [(Mask(k=2, front="hilb"), ["0"], (0, 0, 0, 1, 2, 3)), (MaskPlus(k=5), ["0", "1"], (0, 2, 2, 2, 2))],
    ids=["the group whose share is taken over", "the sensitive value that is given"],
)
def test_every_choice_is_drawn(method: PartitionMethod, sensitive: list[str], table: Table) -> None:
    """Of {0, 0}, {0, 1} and {2, 3} the first takes over 1/2 or 0; in the other table 0 or 1 takes the place of a 2."""
    drawn_as_said(method, MConfidentiality(m=2, values=sensitive), microdata(LINE[len(table)], table, 5))


def drawn_as_said(method: PartitionMethod, wanted: Requirement, data: Microdata) -> None:
    """Who is with whom, and also which row has which value: other columns may tell rows of a group apart."""
    bound = bind([wanted], data)

    def row_by_row(drawn: Drawn) -> tuple[Published, Table]:
        return published(drawn), tuple(drawn.table["s"].codes.tolist())

    chances: dict[tuple[Published, Table], Fraction] = defaultdict(Fraction)
    for drawn, chance in method.outcomes(data, bound):
        chances[row_by_row(drawn)] += chance
    assert sum(chances.values()) == 1
    rng, number = np.random.default_rng(7), 2000
    found: dict[tuple[Published, Table], int] = defaultdict(int)
    for _ in range(number):
        found[row_by_row(method.draw(data, bound, draws=Draws(rng)))] += 1
    assert found.keys() <= chances.keys()
    for result, chance in chances.items():
        expected = float(chance) * number
        assert abs(found[result] - expected) <= 6 * math.sqrt(expected) + 6  # each below 1e-7 by Chernoff's bound


def test_draws_that_are_not_uniform_are_not_safe() -> None:
    """The same Anatomy in the order of the rows instead of a drawn one gives people away."""

    class InOrder(Anatomy):
        def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
            yield next(super().outcomes(table, requirements))[0], Fraction(1)

    assert differs(worlds(LINE[5], 3, InOrder(), LDiversity(l=2)))
