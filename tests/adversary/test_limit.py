"""What goes through everything stops at its limit: tables, restored values and outcomes, in reasonable time."""

from itertools import islice

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.restored import restored
from sfumato.adversary.sight import worlds_behind
from sfumato.errors import PolicyError
from sfumato.method.base import Drawn, Groups


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
    belief = restored(published, 2, [(0,) * 10, (1,) * 10], behind)
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
