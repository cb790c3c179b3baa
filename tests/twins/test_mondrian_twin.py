"""Mondrian against a naive twin that cuts lists of rows; relaxed Mondrian by its properties."""

from collections import Counter
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
from sfumato.method.mondrian_plus import MondrianPlus
from sfumato.release.judgement import bind
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.table.microdata import Microdata
from strategies import Axis, Facts, LineAxis, Row, Sample, TreeAxis, examples, leaves, policies, samples, satisfies

Allowed = Callable[[Sequence[Row], Sequence[Row]], bool]
"""Whether a side of a group may stand alone."""


def cut_on(rows: list[Row], name: str, axis: Axis, allowed: Allowed) -> tuple[list[Row], list[Row]] | None:
    """The most balanced allowed cut on one axis, the first of equals."""
    best, balance = None, 0
    for part in axis.cuts({row[name] for row in rows}):
        inside = [row for row in rows if row[name] in part]
        outside = [row for row in rows if row[name] not in part]
        smaller = min(len(inside), len(outside))
        if smaller > balance and allowed(inside, rows) and allowed(outside, rows):
            best, balance = (inside, outside), smaller
    return best


def cut(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> list[list[Row]] | None:
    """The cut of a group: widest axis first; a rest that is shown as the same node is cut there again."""
    seen = {name: {row[name] for row in rows} for name in axes}
    for name in sorted(axes, key=lambda n: -axes[n].width(seen[n])):
        if len(seen[name]) == 1:
            continue
        parts, whole = [rows], axes[name].undivided(seen[name])
        while (found := cut_on(parts[-1], name, axes[name], allowed)) is not None:
            parts = [*parts[:-1], *found]
            if whole is None or axes[name].undivided({row[name] for row in parts[-1]}) != whole:
                break
        if len(parts) > 1:
            return parts
    return None


def mondrian(rows: list[Row], axes: dict[str, Axis], allowed: Allowed) -> list[list[Row]]:
    """Cut until nothing can be cut."""
    parts = cut(rows, axes, allowed)
    return [rows] if parts is None else [g for part in parts for g in mondrian(part, axes, allowed)]


def expected_groups(sample: Sample, required: Sequence[Requirement], *, sets: bool = True) -> set[frozenset[int]]:
    def allowed(rows: Sequence[Row], group: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    axes = {n: TreeAxis(a.tree, sets=a.sets and sets) if isinstance(a, TreeAxis) else a for n, a in sample.axes.items()}
    return {frozenset(row["row"] for row in g) for g in mondrian(sample.facts.rows, axes, allowed)}


def found_groups(
    table: Microdata, required: Sequence[Requirement], method: Mondrian | MondrianPlus
) -> set[frozenset[int]]:
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


@given(st.data(), st.booleans())
@examples(120)
def test_a_node_of_many_children(data: st.DataObject, nested: bool) -> None:
    """More children than a set can show: all that can be are split off at once, whatever the rows of the rest are."""
    names = [f"v{i:02d}" for i in range(70)]
    tree = {"Any": {v: {f"{v}x": {}, f"{v}y": {}} if nested and v < "v04" else {} for v in names}}
    inner = leaves(tree)
    common = st.sampled_from(inner[:6])
    record = st.tuples(st.one_of(common, st.sampled_from(inner)), common, st.sampled_from("aabc"), st.integers(0, 3))
    values = data.draw(st.lists(record, min_size=1, max_size=40))
    alike = data.draw(st.booleans())  # who has the same q0 is ill with the same
    rows = [
        {"q0": a, "q1": b, "q2": n, "ill": "abc"[inner.index(a) % 3] if alike else ill, "row": i}
        for i, (a, b, ill, n) in enumerate(values)
    ]
    axes: dict[str, Axis] = {n: TreeAxis(tree, sets=True) for n in ("q0", "q1")}
    axes["q2"] = LineAxis({v: float(v) for v in {row["q2"] for row in rows}})
    ill = {"Any": {v: {} for v in "abc"}}
    options = {
        "quasi": list(axes), "sensitive": "ill", "insensitive": ["row"],
        "taxonomies": {"q0": tree, "q1": tree, "ill": ill},
    }  # fmt: skip
    sample = Sample(Facts(rows, "ill", list("abc"), ill), axes, options)
    required = data.draw(st.sampled_from(_MANY))
    agree(sample, required, small=data.draw(st.sampled_from([1, 20_000])))
    looks_ahead(sample, data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3)))


def looks_ahead(sample: Sample, l: int, k: int) -> None:
    """Mondrian+ on the same table: both sides have l times as many rows as the most frequent value of what is cut."""

    def allowed(side: Sequence[Row], group: Sequence[Row]) -> bool:
        return len(side) >= max(k, l * max(Counter(row["ill"] for row in group).values()))

    required = [LDiversity(l=l, variant="frequency"), KAnonymity(k=k)]
    found = found_groups(sample.read(), required, MondrianPlus())
    assert found == {frozenset(row["row"] for row in g) for g in mondrian(sample.facts.rows, sample.axes, allowed)}


_MANY: list[list[Requirement]] = [
    [KAnonymity(k=1)],
    [KAnonymity(k=2)],
    [KAnonymity(k=3)],
    [KAnonymity(k=2), LDiversity(l=2, variant="distinct")],
    [LDiversity(l=2, variant="frequency")],
    [LDiversity(l=2, variant="entropy")],
    [TCloseness(t=0.4)],
]


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

    def allowed(rows: Sequence[Row], group: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    for group in relaxed:
        rows = [sample.facts.rows[i] for i in group]
        assert allowed(rows, rows)
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
