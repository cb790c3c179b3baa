"""An adversary who joins two releases and uses that each person has one row in each: all one-to-one matchings, weighed.

The thesis counts pairs of rows in the (lossy) join. Whether that bounds what this stronger adversary infers depends on
whether X has the join attributes, which is why tdssa puts them there.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.join.join import Join
from sfumato.requirement.join_template import join_template

Rows = tuple[tuple[str, str], ...]
MEANS = {"a": {"a"}, "b": {"b"}, "*": {"a", "b"}}
X = {True: ["T1.j", "T2.j", "z"], False: ["z"]}


def match(mine: str, theirs: str) -> bool:
    return bool(MEANS[mine] & MEANS[theirs])


def matchings(first: Rows, second: Rows) -> Iterator[tuple[int, ...]]:
    """All ways in which each row of one release is the same person as one of the other."""
    for order in permutations(range(len(second))):
        if all(match(row[0], second[at][0]) for row, at in zip(first, order, strict=True)):
            yield order


def one_to_one(first: Rows, second: Rows, joined: bool) -> Fraction | None:
    """The greatest probability of y = HIV given X, over equally likely matchings; None if there is none."""
    held: Counter[tuple[str, ...]] = Counter()
    all_: Counter[tuple[str, ...]] = Counter()
    for order in matchings(first, second):
        for (j, y), at in zip(first, order, strict=True):
            x = (j, *second[at]) if joined else (second[at][1],)
            all_[x] += 1
            held[x] += y == "HIV"
    return max((Fraction(held[x], n) for x, n in all_.items()), default=None)


def in_the_join(first: Rows, second: Rows, joined: bool) -> Fraction:
    """C_Y(X) by its definition, from all pairs of rows that match."""
    held: Counter[tuple[str, ...]] = Counter()
    all_: Counter[tuple[str, ...]] = Counter()
    for (j, y), (k, z) in product(first, second):
        if match(j, k):
            x = (j, k, z) if joined else (z,)
            all_[x] += 1
            held[x] += y == "HIV"
    return max(Fraction(held[x], n) for x, n in all_.items())


def pairs(people: int) -> Iterator[tuple[Rows, Rows]]:
    ours = combinations_with_replacement(list(product("ab*", ("no", "HIV"))), people)
    for first in ours:
        for second in combinations_with_replacement(list(product("ab*", "01")), people):
            yield first, second


def published(first: Rows, second: Rows, joined: bool) -> float:
    """What our join says."""
    tree = {"j": {"*": ["a", "b"]}}
    here = sf.earlier(pl.DataFrame(first, ["j", "y"], orient="row"), quasi=["j"], sensitive="y", taxonomies=tree)
    there = sf.earlier(pl.DataFrame(second, ["j", "z"], orient="row"), quasi=["j", "z"], taxonomies=tree)
    template = sf.Confidentiality(x=X[joined], y={"y": ["HIV"]}, k=1.0)
    return Join([here.called("T1"), there.called("T2")]).judge(join_template(template, ("T1", "T2"))).achieved["k"]


@pytest.mark.parametrize("people", [2, 3])
def test_with_all_join_attributes_in_x_nobody_infers_more_than_the_join_shows(people: int) -> None:
    tables = 0
    for first, second in pairs(people):
        found = one_to_one(first, second, joined=True)
        if found is not None:
            tables += 1
            assert found <= in_the_join(first, second, joined=True)
    assert tables == {2: 327, 3: 2304}[people]


@pytest.mark.parametrize("people", [2, 3])
def test_with_all_join_attributes_in_x_nobody_is_left_with_fewer_people(people: int) -> None:
    """Whoever is left for a group of the join: all people of T1 with its labels, if any matching has the group."""
    for first, second in pairs(people):
        left: dict[tuple[str, ...], set[int]] = {}
        for order in matchings(first, second):
            for place, at in enumerate(order):
                left.setdefault((first[place][0], *second[at]), set()).add(place)
        for x, found in left.items():
            assert found == {i for i, row in enumerate(first) if row[0] == x[0]}


def test_with_a_join_attribute_outside_x_the_join_says_too_little() -> None:
    """The smallest counterexamples: what is certain from one-to-one matchings, or from T1 alone, is more."""
    first, second = (("a", "no"), ("b", "HIV")), (("a", "0"), ("*", "0"))
    assert (in_the_join(first, second, joined=False), one_to_one(first, second, joined=False)) == (
        Fraction(1, 3),
        Fraction(1, 2),
    )
    first, second = (("a", "no"), ("a", "no"), ("b", "HIV")), (("a", "0"), ("a", "0"), ("b", "0"))
    assert in_the_join(first, second, joined=False) == Fraction(1, 5)  # though a third of T1 has HIV
    assert one_to_one(first, second, joined=False) == Fraction(1, 3)


def test_our_join_counts_the_same_pairs() -> None:
    for number, (first, second) in enumerate(pairs(3)):
        if number % 97 == 0 and any(match(a[0], b[0]) for a, b in product(first, second)):
            if not any(y == "HIV" for _, y in first):
                continue
            for joined in (True, False):
                assert published(first, second, joined) == pytest.approx(float(in_the_join(first, second, joined)))
