"""What goes through everything stops at its limit: tables, restored values and outcomes, in reasonable time."""

import time
from itertools import islice

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.fewest_changes import belief_by_fewest_changes
from sfumato.adversary.observation import worlds_behind
from sfumato.errors import PolicyError
from sfumato.method.base import Drawn, Groups
from sfumato.method.enumeration import one_of_each


def line(ills: str, values: str) -> sf.Microdata:
    frame = pl.DataFrame({"q": list(range(len(ills), 0, -1)), "s": list(ills)})
    return sf.read(frame, quasi=["q"], sensitive="s", domains={"s": list(values)})


def test_forced_changes_of_ten_people_go_through_each_table_once() -> None:
    """All ten have one value, and five of each value were published: 1,024 tables, however values change."""
    looked = 0

    def behind(seen: object) -> list[tuple[int, ...]]:
        nonlocal looked
        found = list(worlds_behind(seen, [(0,)] * 10, "bucketization"))  # type: ignore[arg-type]
        looked += len(found)
        return found

    published = ((tuple(range(10)), (0,) * 5 + (1,) * 5),)
    belief = belief_by_fewest_changes(published, 2, [(0,) * 10, (1,) * 10], behind)
    assert belief == {(0,) * 10: 0.5, (1,) * 10: 0.5}
    assert looked == 2**10


def test_forced_changes_are_bounded_where_labels_overlap() -> None:
    """Six of eight people fit both groups, so a table is behind many values; that is stopped."""
    table = line("abcabcab", "abc")
    published = Drawn(table, Groups(np.array([0, 1, 0, 1, 0, 1, 0, 1]), 2))
    known = [sf.Count({"s": "a"}).equals(0), sf.Count({"s": "b"}).equals(1)]
    with pytest.raises(PolicyError, match=r"more than 7000 tables behind .* higher limit; sampled_worlds"):
        sf.worlds(
            table,
            method=sf.MaskPlus(k=4),
            require=sf.MConfidentiality(m=2),
            knowledge=known,
            published=published,
            limit=7000,
        )


def test_all_tables_over_the_domain_are_counted_before_they_are_gone_through() -> None:
    with pytest.raises(PolicyError, match="more than 200000 tables"):
        sf.worlds(line("abcd" * 100, "abcd"), method=sf.MaskPlus(k=8), require=sf.MConfidentiality(m=2))


def test_outcomes_of_the_draws_are_bounded() -> None:
    """Anatomy on 24 people: (12!)^2 ways that its draws can fall."""
    with pytest.raises(PolicyError, match="more than 5000 outcomes of the method on 4096 tables"):
        sf.worlds(line("ab" * 12, "ab"), method="anatomy", require=sf.LDiversity(l=2), limit=5000)


def test_ways_that_are_refused_are_counted_too() -> None:
    """Twelve equal people in six groups: 12! / 2^6 ways to divide them, most refused where all have the value."""
    table = sf.read(pl.DataFrame({"q": [1] * 12, "s": list("aaaabbbbbbbb")}), quasi=["q"], sensitive="s")
    with pytest.raises(PolicyError, match="more than 4096 outcomes"):
        sf.worlds(
            table,
            method=sf.Mask(k=2, front="hilb"),
            require=sf.MConfidentiality(m=2, values=["a"]),
            rng=np.random.default_rng(0),
            limit=4096,
        )


def test_strangers_are_counted_before_they_are_gone_through() -> None:
    """Four wide labels: 300^4 places for each of 300 people."""
    frame = pl.DataFrame({f"q{j}": list(range(300)) for j in range(4)} | {"s": list("ab" * 150)})
    table = sf.read(frame, quasi=[f"q{j}" for j in range(4)], sensitive="s")
    one = Groups(np.zeros(300, np.int64), 1)
    with pytest.raises(PolicyError, match="more than 200000 tables"):
        sf.worlds(table, method=lambda t: one, people="unknown")


def many(n: int = 4000) -> sf.Microdata:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, n), "sex": rng.choice(["F", "M"], n), "s": rng.choice(list("abcd"), n)}
    )
    return sf.read(frame, quasi=["age", "sex"], sensitive="s")


@pytest.mark.parametrize("scheme", ["bucketization", "generalization"])
@pytest.mark.parametrize("method", ["mondrian", "mondrian+", "anatomy"])
def test_four_thousand_people_are_refused_at_once(method: str, scheme: str) -> None:
    """The number of tables is counted, not gone through: no minutes, and no RecursionError."""
    begin = time.process_time()
    with pytest.raises(PolicyError, match=r"more than 200000 tables \(at least about 10\^\d+\) .* higher limit"):
        sf.worlds(many(), method=method, require=sf.LDiversity(l=2), scheme=scheme)  # type: ignore[arg-type]
    assert time.process_time() - begin < 60  # seconds of the processor, compilation included


def test_many_groups_of_one_value_each_are_no_recursion() -> None:
    """3,000 people alone in their groups: one table, however many groups."""
    table, alone = many(3000), Groups(np.arange(3000), 3000)
    found = sf.worlds(table, method=lambda t: alone, scheme="bucketization")
    assert found.same_worlds
    assert len(found.naive_worlds) == 1


def test_tables_of_many_people_count_for_more() -> None:
    """2^14 tables of 3,000 people are more work than 200,000 of 100."""
    table = line("ab" * 14 + "a" * 2972, "ab")
    pairs = np.concatenate([np.repeat(np.arange(14), 2), np.arange(14, 2986)])
    with pytest.raises(PolicyError, match=r"more than 6666 tables \(at least 16,384\) of 3,000 people"):
        sf.worlds(table, method=lambda t: Groups(pairs, 2986), scheme="bucketization")


def test_labels_that_overlap_are_fitted_by_few_people_only() -> None:
    table = sf.read(pl.DataFrame({"job": ["x", "y"] * 75, "s": ["a"] * 150}), quasi=["job"], sensitive="s")
    mixed = Groups(np.repeat([0, 1], 75), 2)  # both shown as *
    other = Groups(np.array([0] * 149 + [1]), 2)
    assert len(sf.worlds(table, method=lambda t: mixed).naive_worlds) == 1  # the same label: one group
    with pytest.raises(PolicyError, match="150 people have to be matched"):
        sf.worlds(table, method=lambda t: other)


def test_sampling_is_bounded_before_it_begins() -> None:
    with pytest.raises(PolicyError, match=r"draws x rows: about 10\^16, but at most 2,000,000,000"):
        sf.sampled_worlds(many(), method="mondrian+", require=sf.LDiversity(l=2), draws=10**12)


def test_one_of_each_of_many_parts_is_no_recursion() -> None:
    assert list(one_of_each([lambda: "a"] * 5000)) == [("a",) * 5000]
    assert list(one_of_each([lambda: "ab", lambda: "", lambda: "c"])) == []
    assert list(one_of_each([])) == [()]
    assert len(list(one_of_each([lambda: "ab"] * 6))) == 64


def test_people_who_fit_only_one_way_are_found_at_once() -> None:
    """Person i fits groups i and i + 1, the last only the last: one way, though values alone leave 2^38."""
    people = [(i,) for i in range(40)]
    seen = tuple((((i - 1, i) if i else (0,),), (i % 2,)) for i in range(40))
    assert list(islice(worlds_behind(seen, people, "generalization"), 2)) == [tuple(i % 2 for i in range(40))]


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, None])
def test_a_limit_is_a_whole_number(limit: object) -> None:
    with pytest.raises(PolicyError, match="limit"):
        sf.worlds(line("abab", "ab"), method="mondrian+", require=sf.LDiversity(l=2), limit=limit)  # type: ignore[arg-type]


def test_ways_that_are_refused_are_not_picked_from() -> None:
    """mask++ on two people and two values: footnote 4 refuses it, and so does its list of outcomes."""
    table = line("aa", "ab")
    wanted = [sf.MConfidentiality(m=2, sensitive="s")]
    assert [chance for _, chance in sf.MaskPlusPlus(k=2).outcomes(table, wanted)] == [0]
