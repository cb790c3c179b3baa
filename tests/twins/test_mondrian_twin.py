"""Mondrian against a naive twin that cuts lists of rows; relaxed Mondrian by its properties."""

from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible
from sfumato.kernel.mondrian import partition
from sfumato.method.base import silent
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import bind
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.table.microdata import Microdata
from strategies import Axis, Facts, LineAxis, Row, Sample, TreeAxis, examples, leaves, policies, samples, satisfies

Allowed = Callable[[Sequence[Row]], bool]


def cut(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> tuple[list[Row], list[Row]] | None:
    """The cut of a group: widest axis first, on it the most balanced allowed cut, the first of equals."""
    seen = {name: {row[name] for row in rows} for name in axes}
    for name in sorted(axes, key=lambda n: -axes[n].width(seen[n])):
        if len(seen[name]) == 1:
            continue
        best, balance = None, 0
        for part in axes[name].cuts(seen[name]):
            inside = [row for row in rows if row[name] in part]
            outside = [row for row in rows if row[name] not in part]
            smaller = min(len(inside), len(outside))
            if smaller > balance and allowed(inside) and allowed(outside):
                best, balance = (inside, outside), smaller
        if best is not None:
            return best
    return None


def mondrian(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> list[list[Row]]:
    """Cut until nothing can be cut."""
    parts = cut(rows, axes, allowed)
    return [rows] if parts is None else [g for part in parts for g in mondrian(part, axes, allowed)]


def expected_groups(sample: Sample, required: Sequence[Requirement], *, sets: bool = True) -> set[frozenset[int]]:
    def allowed(rows: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    axes = {n: TreeAxis(a.tree, sets=a.sets and sets) if isinstance(a, TreeAxis) else a for n, a in sample.axes.items()}
    return {frozenset(row["row"] for row in g) for g in mondrian(sample.facts.rows, axes, allowed)}


def found_groups(table: Microdata, required: Sequence[Requirement], method: Mondrian) -> set[frozenset[int]]:
    try:
        bound = bind(list(required), table)
    except Infeasible:
        assume(False)
    groups = method.groups(table, bound, draws=Draws(np.random.default_rng(0)), progress=silent)
    members: dict[int, set[int]] = {}
    for row, group in enumerate(groups.of_row.tolist()):
        members.setdefault(group, set()).add(row)
    assert len(members) == groups.number
    return {frozenset(m) for m in members.values()}


def agree(sample: Sample, required: Sequence[Requirement], *, labels: str = "siblings", small: int = 20_000) -> None:
    with patch.object(partition, "SMALL", small):
        found = found_groups(sample.read(), required, Mondrian(labels=labels))  # type: ignore[arg-type]
    expected = expected_groups(sample, required, sets=labels == "siblings")
    event(f"groups: {min(len(expected), 4)}{'' if len(expected) < 4 else ' or more'}")
    assert found == expected


@given(samples(), st.integers(1, 6), st.sampled_from(["siblings", "nodes"]))
@examples(200)
def test_k_anonymity(sample: Sample, k: int, labels: str) -> None:
    agree(sample, [KAnonymity(k=k)], labels=labels)


@given(samples(), policies(3), st.sampled_from(["siblings", "nodes"]))
@examples(250)
def test_any_requirements(sample: Sample, required: list[Requirement], labels: str) -> None:
    agree(sample, required, labels=labels)


@pytest.mark.parametrize(
    "requirement",
    [
        LDiversity(l=2, variant="distinct"),
        LDiversity(l=2, variant="entropy"),
        LDiversity(l=2, variant="frequency"),
        LDiversity(l=2, c=2, variant="recursive"),
        TCloseness(t=0.4),
        TCloseness(t=0.4, distance="ordered"),
        TCloseness(t=0.4, distance="hierarchical"),
        AlphaK(alpha=0.5, k=2),
        KAnonymity(k=3, entity="person"),
    ],
    ids=lambda r: r.words(),
)
def test_each_requirement(requirement: Requirement) -> None:
    @given(samples(kinds=("number", "tree"), columns=2))
    @examples(30)
    def check(sample: Sample) -> None:
        agree(sample, [requirement])

    check()


@given(samples(kinds=("tree", "number"), most=60), st.integers(1, 3), st.integers(1, 20))
@examples(60)
def test_in_pieces_on_two_threads(sample: Sample, k: int, small: int) -> None:
    """A table that is given to two threads in pieces is cut as one that is not."""
    agree(sample, [KAnonymity(k=k)], small=small)
    agree(sample, [LDiversity(l=2, variant="distinct")], small=small)


@given(st.data())
@examples(12)
def test_codes_far_apart(data: st.DataObject) -> None:
    """Few rows on many codes take another way through the kernel: they are sorted, not tallied."""
    tree = {"Any": {f"g{i}": {f"{i}.{j}": {} for j in range(40)} for i in range(25)}}
    names = leaves(tree)
    record = st.tuples(st.integers(0, 999), st.sampled_from("abcd"))
    values = data.draw(st.lists(record, min_size=10, max_size=40))
    rows = [{"q0": names[v], "q1": v, "ill": ill, "row": i} for i, (v, ill) in enumerate(values)]
    everyone = [
        *rows,
        *({"q0": names[v], "q1": v, "ill": "a", "row": len(rows) + i} for i, v in enumerate(range(1000))),
    ]
    ill = {"Any": {v: {} for v in "abcd"}}
    options = {
        "quasi": ["q0", "q1"],
        "sensitive": "ill",
        "insensitive": ["row"],
        "taxonomies": {"q0": tree, "ill": ill},
    }
    line = LineAxis({v: float(v) for v in range(1000)})
    few = {"q0": TreeAxis(tree, sets=True), "q1": line}
    # all thousand numbers occur, so that the line has a thousand codes; the groups of the tree stay small
    sample = Sample(Facts(rows, "ill", list("abcd"), ill), few, options)
    agree(Sample(sample.facts, {"q0": few["q0"]}, {**options, "quasi": ["q0"]}), [KAnonymity(k=2)])
    table = Sample(Facts(everyone, "ill", list("abcd"), ill), few, options)
    found = found_groups(table.read(), [KAnonymity(k=300)], Mondrian())
    expected = expected_groups(table, [KAnonymity(k=300)])
    assert found == expected


def test_two_values_that_floating_point_puts_at_one_place() -> None:
    """A group is final only when no attribute has an allowed cut, also where its range is next to nothing."""
    numbers = [0.0] * 10 + [4e15 + 0.5] * 2 + [4e15 + 1.0] * 2 + [8e15] * 4
    rows = [{"q0": v, "ill": "a", "row": i} for i, v in enumerate(numbers)]
    options = {"quasi": ["q0"], "sensitive": "ill", "insensitive": ["row"]}
    sample = Sample(Facts(rows, "ill", ["a"], {"Any": {"a": {}}}), {"q0": LineAxis({v: v for v in numbers})}, options)
    found = found_groups(sample.read(), [KAnonymity(k=2)], Mondrian())
    assert found == {frozenset(range(10)), frozenset({10, 11}), frozenset({12, 13}), frozenset(range(14, 18))}


# --- relaxed ------------------------------------------------------------------------------------------


@given(samples(), policies(2))
@examples(120)
def test_relaxed(sample: Sample, required: list[Requirement]) -> None:
    """Relaxed groups satisfy the requirement, refine the strict ones and leave no strict cut."""
    table = sample.read()
    relaxed = found_groups(table, required, Mondrian(strict=False))
    strict = found_groups(table, required, Mondrian())
    assert sorted(row for g in relaxed for row in g) == list(range(table.rows))
    assert all(any(group <= whole for whole in strict) for group in relaxed)

    def allowed(rows: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    for group in relaxed:
        rows = [sample.facts.rows[i] for i in group]
        assert allowed(rows)
        assert cut(rows, sample.axes, allowed) is None


def test_relaxed_divides_equal_values() -> None:
    """Ages 20, 30, 30, 30, 40 and k = 2: no boundary leaves two on both sides, but the 30s can be divided."""
    rows = [{"q0": v, "ill": "a", "row": i} for i, v in enumerate([20, 30, 30, 30, 40])]
    sample = Sample(
        Facts(rows, "ill", ["a"], {"Any": {"a": {}}}),
        {"q0": LineAxis({20: 20.0, 30: 30.0, 40: 40.0})},
        {"quasi": ["q0"], "sensitive": "ill", "insensitive": ["row"]},
    )
    strict = found_groups(sample.read(), [KAnonymity(k=2)], Mondrian())
    relaxed = found_groups(sample.read(), [KAnonymity(k=2)], Mondrian(strict=False))
    assert strict == {frozenset(range(5))}
    assert sorted(len(g) for g in relaxed) == [2, 3]
    assert frozenset({0, 4}) not in relaxed
