"""Mondrian with ``cuts = "saving"`` against a naive twin that tries every cut of every attribute on lists of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.kernel.mondrian import partition
from sfumato.method.base import silent
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Confidentiality
from sfumato.table.microdata import Microdata, read
from strategies import Axis, Row, Sample, Tree, TreeAxis, examples, leaves, policies, samples, satisfies

Allowed = Callable[[Sequence[Row]], bool]


def loss(axis: Axis, values: set[Any]) -> float:
    """The range on a line; in a tree (leaves shown - 1) / (leaves - 1), 0 for one value."""
    if not isinstance(axis, TreeAxis) or len(values) == 1:
        return axis.width(values)
    return (round(axis.width(values) * axis.size) - 1) / (axis.size - 1)


def deeper(tree: Tree) -> Iterator[set[str]]:
    """The leaves of each node below the top of a tree, by their first leaf, lower nodes first."""
    found = []
    for name, below in tree.items():
        found += [set(leaves({name: below})), *(deeper(below) if below else ())]
    order = leaves(tree)
    return iter(sorted(found, key=lambda part: (min(order.index(v) for v in part), len(part))))


def cuts(axis: Axis, values: set[Any]) -> Iterator[set[Any]]:
    """All cuts of an attribute: those of any Mondrian, then each node below a child."""
    yield from axis.cuts(values)
    if isinstance(axis, TreeAxis):
        yield from deeper(axis._node(values)[1])


def best_cut(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> tuple[list[Row], list[Row]] | None:
    """The allowed cut that saves most for the root of the people that it cuts off, the first of equals."""
    best, most = None, -1.0
    for name, axis in axes.items():
        values = {row[name] for row in rows}
        for part in cuts(axis, values) if len(values) > 1 else ():
            inside = [row for row in rows if row[name] in part]
            outside = [row for row in rows if row[name] not in part]
            if not inside or not outside:
                continue
            saved = len(rows) * loss(axis, values) - len(inside) * loss(axis, {row[name] for row in inside})
            saved -= len(outside) * loss(axis, {row[name] for row in outside})
            counts = max(float(saved / np.sqrt(min(len(inside), len(outside)))), 0.0)
            if counts > most and allowed(inside) and allowed(outside):
                best, most = (inside, outside), counts
    return best


def mondrian(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> list[list[Row]]:
    """Cut until nothing can be cut."""
    found = best_cut(rows, axes, allowed)
    return [rows] if found is None else [g for side in found for g in mondrian(side, axes, allowed)]


def groups(table: Microdata, required: Sequence[Requirement], method: Mondrian) -> set[frozenset[int]]:
    """The rows of each group."""
    try:
        bound = bind(list(required), table)
    except Infeasible:
        assume(False)
    found = method.groups(table, bound, draws=Draws(np.random.default_rng(0)), progress=silent)
    members: dict[int, set[int]] = {}
    for row, group in enumerate(found.of_row.tolist()):
        members.setdefault(group, set()).add(row)
    return {frozenset(m) for m in members.values()}


def agree(sample: Sample, required: Sequence[Requirement], labels: Any, small: int = 20_000) -> None:
    def allowed(rows: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    sets = labels == "siblings"
    axes = {n: TreeAxis(a.tree, sets=a.sets and sets) if isinstance(a, TreeAxis) else a for n, a in sample.axes.items()}
    expected = {frozenset(row["row"] for row in g) for g in mondrian(sample.facts.rows, axes, allowed)}
    with patch.object(partition, "SMALL", small):
        assert groups(sample.read(), required, Mondrian(labels=labels, cuts="saving")) == expected
    assert all(allowed([sample.facts.rows[i] for i in group]) for group in expected)


LABELS = st.sampled_from(["siblings", "nodes"])


@given(samples(), st.integers(1, 5), LABELS, st.sampled_from([1, 20_000]))
@examples(150)
def test_k_anonymity(sample: Sample, k: int, labels: str, small: int) -> None:
    agree(sample, [KAnonymity(k=k)], labels, small)


@given(samples(), policies(2), LABELS)
@examples(100)
def test_any_requirements(sample: Sample, required: list[Requirement], labels: str) -> None:
    agree(sample, required, labels)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=2, max_size=40), st.integers(1, 4), st.data())
@examples(60)
def test_values_without_a_taxonomy(people: list[tuple[int, int]], k: int, data: st.DataObject) -> None:
    """Where only single values are left to cut off, all are split off at once: as if one after the other."""
    rows = [{"code": f"c{a}", "sex": f"s{b}", "row": i} for i, (a, b) in enumerate(people)]
    quasi = data.draw(st.sampled_from([["code"], ["code", "sex"]]))
    axes: dict[str, Axis] = {
        n: TreeAxis({"*": {v: {} for v in sorted({r[n] for r in rows})}}, sets=False) for n in quasi
    }
    expected = {
        frozenset(row["row"] for row in g) for g in mondrian(rows, axes, lambda side: len(side) >= min(k, len(rows)))
    }
    assert groups(frame(rows, quasi), [KAnonymity(k=min(k, len(rows)))], Mondrian(cuts="saving")) == expected


def frame(rows: Sequence[Row], quasi: list[str]) -> Microdata:
    return read(pl.DataFrame(list(rows)), quasi=quasi, insensitive=["row"])


@given(samples(), st.integers(1, 4), st.integers(0, 2**32))
@examples(40)
def test_the_order_of_rows_changes_nothing(sample: Sample, k: int, seed: int) -> None:
    order = list(range(len(sample.facts.rows)))
    Random(seed).shuffle(order)
    shuffled = replace(sample, facts=replace(sample.facts, rows=[sample.facts.rows[i] for i in order]))
    method = Mondrian(cuts="saving")
    found = groups(shuffled.read(), [KAnonymity(k=k)], method)
    assert {frozenset(order[i] for i in group) for group in found} == groups(sample.read(), [KAnonymity(k=k)], method)


@pytest.mark.parametrize(
    "required", [[KAnonymity(k=2)], [LDiversity(l=2, variant="distinct")], [TCloseness(t=0.5)]], ids=str
)
def test_relaxed(required: list[Requirement]) -> None:
    """Relaxed groups meet the requirement and leave no strict cut."""

    @given(samples(kinds=("number", "tree"), columns=2))
    @examples(25)
    def check(sample: Sample) -> None:
        def allowed(rows: Sequence[Row]) -> bool:
            return all(satisfies(r, rows, sample.facts) for r in required)

        for group in groups(sample.read(), required, Mondrian(cuts="saving", strict=False)):
            rows = [sample.facts.rows[i] for i in group]
            assert allowed(rows)
            assert best_cut(rows, sample.axes, allowed) is None

    check()


def test_rare_values_are_cut_off_first() -> None:
    """Nine of ten are of one race: cut off by the others, nobody of them shows more than a race, whatever the ages."""
    rows = [{"race": "w" if i % 10 else "b", "age": 20 + i % 3, "row": i} for i in range(100)]
    found = groups(frame(rows, ["race", "age"]), [KAnonymity(k=10)], Mondrian(cuts="saving"))
    rare = [group for group in found if any(rows[i]["race"] == "b" for i in group)]
    assert [len(group) for group in rare] == [10]
    assert len(found) == 4


def test_a_set_of_values_that_only_a_part_can_show_is_cut_off_there() -> None:
    """All jobs together: no node can be cut off. Among the office jobs alone, which town x has, the first two can."""
    job = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"]
    rows = pl.DataFrame({"town": ["x"] * 8 + ["y"] * 4, "job": job})
    tree = {"Any": {"office": {v: {} for v in "abcde"}, "field": {"f": {}}}}
    table = read(rows, quasi=["town", "job"], taxonomies={"job": tree})
    found = groups(table, [KAnonymity(k=3)], Mondrian(cuts="saving"))
    assert found == {frozenset(range(4)), frozenset(range(4, 8)), frozenset(range(8, 12))}


@pytest.mark.parametrize(
    ("ill", "requirement", "shown"),
    [
        ("abb", Confidentiality(x=["q0"], y={"ill": ["a"]}, k=0.5), [{0, 1}, {2}]),
        ("abccd", LDiversity(l=2, variant="frequency"), [{0, 1, 2}, {3, 4}]),
        ("aabab", LDiversity(l=2, variant="distinct"), [{0, 1, 2}, {3, 4}]),
    ],
)
def test_the_counterexamples_of_mondrian_hold(ill: str, requirement: Requirement, shown: list[set[int]]) -> None:
    """The tables on the method's page: these cuts are steered by sensitive values too, and the release warns of it."""
    rows = pl.DataFrame({"q0": range(1, len(ill) + 1), "ill": list(ill)})
    found = groups(read(rows, quasi=["q0"], sensitive="ill"), [requirement], Mondrian(cuts="saving"))
    assert found == {frozenset(group) for group in shown}
    assert Mondrian(cuts="saving").warnings([requirement]) == Mondrian().warnings([requirement]) != []


def test_other_words_are_refused() -> None:
    with pytest.raises(PolicyError, match="cuts = 'best'; it must be 'median' or 'saving'"):
        Mondrian(cuts="best")  # type: ignore[arg-type]
