"""The algorithm-aware adversary: exact beliefs, knowledge, and beliefs from drawn worlds."""

import itertools
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import Case, make_case, worlds
from sfumato.adversary.knowledge import Count, Fact
from sfumato.adversary.observation import worlds_behind
from sfumato.adversary.sampled_worlds import sampled_worlds
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Drawn, Groups
from sfumato.table.microdata import Microdata, read


def line(ills: str, values: str = "abcd") -> Microdata:
    frame = pl.DataFrame({"q": list(range(len(ills), 0, -1)), "s": list(ills)})
    return read(frame, quasi=["q"], sensitive="s", domains={"s": list(values)})


def test_a_safe_method_tells_nobody_apart() -> None:
    result = worlds(line("abacbd"), method="mondrian+", require=sf.LDiversity(l=2))
    assert result.same_worlds
    assert result.same_marginals
    naive, smart = result
    assert np.array_equal(naive, smart)
    assert naive.sum(axis=1) == pytest.approx(1.0)


def test_the_counterexample_to_theorem_6_2_by_name() -> None:
    result = sf.worlds(line("aabccd"), method=sf.HilbPlus(scheme="bucketization"), require=sf.LDiversity(l=2))
    assert result.naive_exact[0]["a"] == Fraction(1, 2)
    assert result.smart_exact[0]["a"] == result.smart_exact[1]["a"] == 1
    assert not result.same_marginals


def test_equal_halves_pass_the_marginals_and_fail_the_worlds() -> None:
    """Mondrian with a, a, b, b: each is a with probability 1/2 to both, but only two of six tables can be."""
    result = worlds(line("aabb", "ab"), method="mondrian", require=sf.LDiversity(l=2))
    assert result.same_marginals
    assert not result.same_worlds
    assert len(result.naive_worlds) == 6
    assert len(result.smart_worlds) == 2


def test_knowledge_narrows_both_beliefs_alike_where_the_method_is_safe() -> None:
    facts = [Count({"q": 6, "s": "a"}).equals(0), Count({"s": ["a", "b"]}).at_least(Count({"s": "c"}))]
    result = worlds(line("abacbd"), method="mondrian+", require=sf.LDiversity(l=2), knowledge=facts)
    assert result.naive_exact[0]["a"] == 0
    assert result.same_worlds


@pytest.mark.parametrize("method", ["anatomy", "mondrian++", "hilb-safe"])
def test_random_methods_are_weighed_by_their_draws(method: str) -> None:
    result = worlds(line("abacb"), method=method, require=sf.LDiversity(l=2), scheme="bucketization")
    assert result.same_worlds


def test_under_generalization_boxes_that_overlap_leave_more_worlds() -> None:
    """[2, 5) has a, c and [1, 4) has b, d: the two people in the middle fit both."""
    table = line("abcd")
    mixed = Groups(np.array([0, 1, 0, 1]), 2)
    exact = worlds(table, method=lambda t: mixed, scheme="bucketization")
    boxes = worlds(table, method=lambda t: mixed, scheme="generalization")
    assert len(exact.naive_worlds) == 4
    assert len(boxes.naive_worlds) == 8


def naive_matching(seen: object, people: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """All bijections of people and published rows, spelled out."""
    rows = [(box, v) for box, values in seen for v in values]  # type: ignore[attr-defined]
    found = set()
    for order in itertools.permutations(rows):
        fits = all(
            all(c in codes for c, codes in zip(q, box, strict=True)) for q, (box, _) in zip(people, order, strict=True)
        )
        if fits:
            found.add(tuple(v for _, v in order))
    return found


def test_worlds_behind_boxes_are_those_of_all_bijections() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        boxes = [tuple(sorted(set(rng.integers(0, 4, 3).tolist()))) for _ in range(3)]
        seen = tuple(((box,), tuple(sorted(rng.integers(0, 3, 2).tolist()))) for box in boxes)
        people = [(int(rng.choice(boxes[i // 2])),) for i in range(6)]
        found = list(worlds_behind(seen, people, "generalization"))
        assert len(found) == len(set(found))
        assert set(found) == naive_matching(seen, people)


def test_sampling_agrees_with_enumeration() -> None:
    """Intervals of 1 - 1e-7 confidence hold the exact beliefs, for a method that fails and for one that does not."""
    table = line("aabccd")
    for method in ("hilb", "mondrian", "mondrian+", "mondrian++", "anatomy"):
        published = worlds_case(method, table)
        exact = worlds(table, method=method, require=sf.LDiversity(l=2), scheme="bucketization", published=published)
        sampled = sampled_worlds(
            table,
            method=method,
            require=sf.LDiversity(l=2),
            draws=400,
            confidence=1 - 1e-7,
            published=published,
            rng=np.random.default_rng(5),
        )
        assert sampled.accepted > 0
        assert (sampled.low <= exact.smart + 1e-12).all()
        assert (sampled.high >= exact.smart - 1e-12).all()
        assert np.allclose(sampled.naive, exact.naive)
        if exact.same_marginals:
            assert sampled.told_apart() == []
    assert sampled_worlds(
        table, method="hilb", require=sf.LDiversity(l=2), draws=400, rng=np.random.default_rng(5)
    ).told_apart()


def worlds_case(method: str, table: Microdata) -> Drawn:
    return make_case(table, method, sf.LDiversity(l=2), "bucketization").draw(table, Draws(np.random.default_rng(1)))


def test_sampling_on_a_larger_table() -> None:
    """300 people: Mondrian+ is accepted every time, Hilb seldom or never, and that is told."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.integers(0, 40, 300), "y": rng.integers(0, 9, 300), "s": rng.integers(0, 6, 300)})
    table = read(frame, quasi=["x", "y"], sensitive="s")
    safe = sampled_worlds(table, method="mondrian+", require=sf.LDiversity(l=3), draws=40, rng=rng)
    assert safe.accepted == safe.agreeing == 40
    assert safe.told_apart() == []
    broken = sampled_worlds(table, method="hilb", require=sf.LDiversity(l=3), draws=40, rng=rng)
    assert broken.accepted == 0
    assert np.isnan(broken.smart).all()
    assert (broken.low == 0).all()


def test_sampling_under_knowledge() -> None:
    fact = Count({"q": [5, 6], "s": "a"}).at_least(1)
    sampled = sf.sampled_worlds(
        line("abacbd"),
        method="mondrian+",
        require=sf.LDiversity(l=2),
        knowledge=[fact],
        draws=3000,
        confidence=1 - 1e-7,
        rng=np.random.default_rng(2),
    )
    exact = worlds(line("abacbd"), method="mondrian+", require=sf.LDiversity(l=2), knowledge=[fact])
    assert (sampled.low <= exact.smart).all()
    assert (exact.smart <= sampled.high).all()
    assert 0 < sampled.agreeing < sampled.draws


def test_a_method_that_changes_values_can_be_sampled_too() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4], "s": ["s", "s", "a", "s"]})
    table = read(frame, quasi=["q"], sensitive="s")
    sampled = sampled_worlds(
        table,
        method=sf.Mask(k=2),
        require=sf.MConfidentiality(m=2, values=["s"]),
        draws=4000,
        confidence=1 - 1e-7,
        rng=np.random.default_rng(4),
    )
    assert sampled.accepted > 100
    assert sampled.low[0, 1] <= 5 / 8 <= sampled.high[0, 1]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ([Count({"s": "flu"}).equals(1)], "flu"),
        ([Count({"q": 17}).equals(1)], "17"),
        ([Count({"nobody": 1}).equals(1)], "nobody"),
        ([Count({"s": "a"}).equals(5)], "not true"),
    ],
)
def test_knowledge_that_cannot_be(facts: list[Fact], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        worlds(line("abab"), method="mondrian+", require=sf.LDiversity(l=2), knowledge=facts)


def test_too_many_worlds_are_refused_with_a_way_out() -> None:
    table = line("abcd" * 5)
    with pytest.raises(PolicyError, match="sampled_worlds"):
        worlds(table, method="anatomy", require=sf.LDiversity(l=4), scheme="bucketization", limit=1000)


def test_other_wrong_input() -> None:
    with pytest.raises(PolicyError, match="unknown"):
        worlds(line("abab"), method="mondrian+", require=sf.LDiversity(l=2), people="strangers")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="relation"):
        Fact(Count(), "~", 1)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="draws"):
        sampled_worlds(line("abab"), method="mondrian+", require=sf.LDiversity(l=2), draws=0)
    with pytest.raises(PolicyError, match="divides equal rows at random"):
        worlds(line("abab"), method=sf.Mondrian(strict=False), require=sf.LDiversity(l=2))
    with pytest.raises(PolicyError, match="higher limit"):
        worlds(line("abcdefghijklmn", "abcdefghijklmn"), method="mondrian+", require=sf.LDiversity(l=14), limit=1000)
    with pytest.raises(PolicyError, match="1 sensitive and 0 quasi"):
        worlds(read(pl.DataFrame({"s": ["a", "b"]}), sensitive="s"), method="anatomy", require=sf.LDiversity(l=2))
    with pytest.raises(PolicyError, match="scheme"):
        worlds(line("abab"), method="mondrian+", require=sf.LDiversity(l=2), scheme="bucket")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="a function from a table"):
        worlds(line("abab"), method=3, require=sf.LDiversity(l=2))  # type: ignore[arg-type]


def test_a_function_may_give_the_groups_as_an_array() -> None:
    """Whatever their numbers are; here mondrian+ as somebody would call it."""
    wanted = sf.LDiversity(l=2)
    found = worlds(line("abacbd"), method=lambda t: 10 + 3 * sf.partition(t, require=wanted, method="mondrian+"))
    assert found.same_worlds
    assert np.array_equal(found.smart, worlds(line("abacbd"), method="mondrian+", require=wanted).smart)
    with pytest.raises(PolicyError, match="one group per row, like `partition`, for 6 rows"):
        worlds(line("abacbd"), method=lambda t: np.zeros(3, np.int64))


def test_a_function_that_draws_is_sampled_and_not_enumerated() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(PolicyError, match="sampled_worlds"):
        worlds(line("abcdabcd"), method=lambda t: rng.permutation(8) // 2, scheme="bucketization")


def test_values_of_every_kind_may_be_known() -> None:
    frame = pl.DataFrame(
        {"x": [1.5, 2.0, None, 3.0], "day": [date(2000, 1, d) for d in (1, 2, 3, 4)], "s": ["a", "b", "a", "b"]}
    ).with_columns(yes=pl.Series([True, False, True, False]))
    table = read(frame, quasi=["x", "day", "yes"], sensitive="s", missing="category")
    for where in ({"x": 2.0}, {"x": np.int64(2)}, {"x": None}, {"day": date(2000, 1, 2)}, {"x": [2.0], "yes": False}):
        known = Count(where).equals(np.int64(1))
        result = worlds(table, method="mondrian+", require=sf.LDiversity(l=2), knowledge=known)
        assert result.same_worlds, where
    known = Count({"s": "a"}).equals(np.int64(2))
    assert Fact(Count({"s": "a"}), "=", np.int64(2)).holds(2, None)
    assert worlds(table, method="mondrian+", require=sf.LDiversity(l=2), knowledge=[known]).same_worlds


@pytest.mark.parametrize("right", ["1", float("nan"), None, True])
def test_a_count_is_compared_with_a_number(right: object) -> None:
    with pytest.raises(PolicyError, match="with another Count or a number"):
        Count({"s": "a"}).equals(right)  # type: ignore[arg-type]


def test_facts_are_facts_and_about_what_a_stranger_can_know() -> None:
    with pytest.raises(PolicyError, match="list of facts"):
        worlds(line("abab"), method="mondrian+", require=sf.LDiversity(l=2), knowledge=["a"])  # type: ignore[list-item]
    frame = pl.DataFrame({"q": [1, 2], "s": ["a", "b"], "c": ["y", "n"]})
    table, known = read(frame, quasi=["q"], sensitive="s", class_="c"), Count({"c": "y"}).equals(1)
    with pytest.raises(PolicyError, match="not 'c'"):
        worlds(table, method="mondrian+", require=sf.LDiversity(l=2), knowledge=[known], people="unknown")


@pytest.mark.parametrize("method", [sf.Mask(k=2, front="hilb"), sf.MaskPlus(k=2, front="hilb")])
def test_equal_people_at_a_border_of_the_hilbert_front_are_divided_by_lot(method: sf.Mask) -> None:
    """All ways to divide them are weighed: the chances are of all outcomes, and those of the draws."""
    frame = pl.DataFrame({"q": [1, 1, 1, 2], "s": ["a", "b", "a", "c"]})
    table = read(frame, quasi=["q"], sensitive="s", domains={"s": ["a", "b", "c", "d", "e"]})
    case = make_case(table, method, sf.MConfidentiality(m=2, values=["a"]), "bucketization")
    chance: dict[object, Fraction] = {}
    for drawn, part in case.outcomes(table):
        seen = case.seen(drawn)
        chance[seen] = chance.get(seen, Fraction()) + part
    rng, times = np.random.default_rng(5), 3000
    observed = [seen for seen in (_seen(case, rng) for _ in range(times)) if seen is not None]
    assert sum(chance.values()) == pytest.approx(len(observed) / times, abs=0.06)
    for seen, part in chance.items():
        assert observed.count(seen) / times == pytest.approx(float(part), abs=0.06)


def _seen(case: Case, rng: np.random.Generator) -> object:
    try:
        return case.seen(case.draw(case.table, Draws(rng)))
    except Infeasible:
        return None
