"""Local recoding against a naive twin that visits the boxes of lists of rows."""

import itertools
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from naive_local_recoding import Naive
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import Infeasible
from sfumato.kernel import judge
from sfumato.kernel.local_recoding.adopt import adopt, make_change
from sfumato.method.base import silent
from sfumato.method.local_recoding import adopting, loans, moving, peeling
from sfumato.method.local_recoding.local_recoding import LocalRecoding
from sfumato.method.local_recoding.peeling import GroupTests, Vectors
from sfumato.release.judgement import bind
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.templates import Anonymity
from strategies import Row, Sample, examples, policies, samples, satisfies


def found_groups(sample: Sample, required: Sequence[Requirement], method: LocalRecoding) -> set[frozenset[int]]:
    table = sample.read()
    try:
        bound = bind(list(required), table)
    except Infeasible:
        assume(False)
    groups = method.groups(table, bound, draws=Draws(), progress=silent)
    members: dict[int, set[int]] = {}
    for row, group in enumerate(groups.of_row.tolist()):
        members.setdefault(group, set()).add(row)
    assert len(members) == groups.number
    return {frozenset(m) for m in members.values()}


def expected_groups(sample: Sample, required: Sequence[Requirement], objective: str) -> set[frozenset[int]]:
    def passes(rows: Sequence[Row]) -> bool:
        return all(satisfies(r, rows, sample.facts) for r in required)

    naive = Naive(sample.facts.rows, sample.axes, sample.options["domains"], ncp=objective == "ncp")
    groups, left = naive.peel(passes)
    event(f"groups: {min(len(groups), 4)}, left: {bool(left)}")
    if left and groups:
        by_size = all(isinstance(r, KAnonymity) and r.entity is None for r in required)
        by_size |= all(isinstance(r, Anonymity) and not r.y for r in required)
        groups = naive.join_one_by_one(groups, left) if by_size else naive.join_together(groups, left, passes)
    return {frozenset(row["row"] for row in g) for g in groups}


@given(samples(most=24), policies(2), st.sampled_from(["granularity", "ncp"]))
@examples(150)
def test_groups_are_those_of_the_twin(sample: Sample, required: list[Requirement], objective: str) -> None:
    assume(all(not isinstance(r, AlphaK) or r.alpha < 1 for r in required))  # which is only about sizes
    method = LocalRecoding(objective=objective)  # type: ignore[arg-type]
    with patch.object(loans, "MOST_WORK", 0):  # loans and moves have tests of their own, in tests/method and below
        found = found_groups(sample, required, method)
    assert found == expected_groups(sample, required, objective)


@pytest.mark.parametrize("part", [1, 2, 5])
@given(sample=samples(most=30, least=20), k=st.integers(2, 4))
@examples(15)
def test_parts_of_the_hash_table_change_nothing(part: int, sample: Sample, k: int) -> None:
    whole = found_groups(sample, [KAnonymity(k=k)], LocalRecoding())
    with patch.object(peeling, "PART", part):
        assert found_groups(sample, [KAnonymity(k=k)], LocalRecoding()) == whole


@given(sample=samples(most=30, least=8), k=st.integers(1, 4), seed=st.integers(0, 10**6))
@examples(150)
def test_moves_end_where_no_row_can_be_moved_with_gain(sample: Sample, k: int, seed: int) -> None:
    """From any groups of k rows: no move of a vector to another group, tried in the obvious way, saves anything."""
    counts = LocalEngine(sample.read()).count([])
    wanted = GroupTests(judge.pack([], []), k, [])
    vectors = Vectors.of(counts, wanted, "granularity")
    n = len(vectors.weights)
    order = np.random.default_rng(seed).permutation(n)
    begun = np.empty(n, np.int64)
    begun[order] = np.arange(n) // k  # k vectors each, so at least k rows; the last ones join the group before
    begun = np.minimum(begun, max(n // k - 1, 0))
    before = int(begun.max()) + 1
    group, number = moving.moved(vectors, begun, before, wanted)
    assert np.bincount(group, weights=vectors.weights).min() >= min(k, counts.rows)
    least = moving.total_cost(vectors, group, number)
    assert least <= moving.total_cost(vectors, begun, before)
    event(f"better: {least < moving.total_cost(vectors, begun, before)}, given up: {min(before - number, 3)}")
    if least == moving.total_cost(vectors, begun, before):
        return
    for v, target in itertools.product(range(n), range(number)):
        inside = vectors.weights[group == group[v]].sum()
        if target != group[v] and inside - vectors.weights[v] >= k:
            other = group.copy()
            other[v] = target
            assert moving.total_cost(vectors, other, number) >= least - 1e-7


def _solution(vectors: Vectors, k: int, seed: int) -> tuple[np.ndarray, int]:
    """Some groups of at least k rows: k vectors each, the last ones join the group before."""
    n = len(vectors.weights)
    group = np.empty(n, np.int64)
    group[np.random.default_rng(seed).permutation(n)] = np.minimum(np.arange(n) // k, max(n // k - 1, 0))
    return peeling.by_first(group), int(group.max()) + 1


class _Boxes:
    """Groups as lists of vectors, with the obvious way to adopt one."""

    def __init__(self, vectors: Vectors, k: int) -> None:
        self.vectors, self.k = vectors, k

    def size(self, rows: list[int]) -> int:
        return int(self.vectors.weights[rows].sum())

    def cost(self, rows: list[int]) -> float:
        """What a group's labels cost, for all its rows: the lowest nodes that all codes share."""
        each = 0.0
        for path, codes in zip(self.vectors.paths, self.vectors.codes, strict=True):
            level = next(x for x in range(path.levels) if len(set(path.node[x][codes[rows]].tolist())) == 1)
            each += float(path.cost[level][codes[rows[0]]])
        return each * self.size(rows)

    def total(self, groups: list[list[int]]) -> float:
        return sum(self.cost(g) for g in groups)

    def adopt(self, groups: list[list[int]], adopted: list[int]) -> list[list[int]]:
        """The groups with the adopted one; those that keep too few rows give each of them to the cheapest group."""
        stay, leftovers = [list(adopted)], []
        for g in groups:
            rest = [i for i in g if i not in adopted]
            if rest and self.size(rest) >= self.k:
                stay.append(rest)
            else:
                leftovers += rest
        return [*self.seated(stay, leftovers)]

    def seated(self, stay: list[list[int]], leftovers: list[int]) -> list[list[int]]:
        for i in leftovers:
            added = [self.cost([*g, i]) - self.cost(g) for g in stay]
            stay[int(np.argmin(added))].append(i)
        return stay


@given(sample=samples(most=30, least=8), k=st.integers(1, 4), seeds=st.tuples(*[st.integers(0, 10**6)] * 3))
@examples(150)
def test_groups_are_adopted_only_with_gain_and_nothing_is_lost(
    sample: Sample, k: int, seeds: tuple[int, int, int]
) -> None:
    """At the end, no group of another solution whose adoption leaves nobody over, tried in the obvious way, pays."""
    counts = LocalEngine(sample.read()).count([])
    wanted = GroupTests(judge.pack([], []), k, [])
    vectors = Vectors.of(counts, wanted, "granularity")
    solutions = [_solution(vectors, k, seed) for seed in seeds]
    with patch.object(adopting, "ROUNDS", 50):
        group, number = adopting.adopted(vectors, solutions, wanted, lambda _: None)
    assert sorted(set(group.tolist())) == list(range(number))
    assert np.bincount(group, weights=vectors.weights).min() >= min(k, counts.rows)
    boxes = _Boxes(vectors, k)
    mine = [np.flatnonzero(group == g).tolist() for g in range(number)]
    before, least = moving.total_cost(vectors, *solutions[0]), boxes.total(mine)
    assert least <= before + 1e-9
    event(f"better: {least < before - 1e-9}")
    if solutions[0][1] < 2 or group is solutions[0][0]:
        return
    for other, groups in solutions[1:]:
        for g in range(groups):
            rows = np.flatnonzero(other == g).tolist()
            left = [x for x in mine if 0 < boxes.size([i for i in x if i not in rows]) < k]
            if not left:
                assert boxes.total(boxes.adopt(mine, rows)) >= least - 1e-7


@given(sample=samples(most=30, least=8), k=st.integers(1, 4), seeds=st.tuples(*[st.integers(0, 10**6)] * 2))
@examples(150)
def test_one_adoption_is_that_of_the_twin(sample: Sample, k: int, seeds: tuple[int, int]) -> None:
    """The kernel tries a single group without moves after it: it saves what the twin saves, or all stays as it was."""
    counts = LocalEngine(sample.read()).count([])
    vectors = Vectors.of(counts, GroupTests(judge.pack([], []), k, []), "granularity")
    (group, number), (other, _) = (_solution(vectors, k, seed) for seed in seeds)
    rows = np.flatnonzero(other == 0)
    climbs, codes = moving.climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    most = max(number, counts.rows // k) + 1
    found, members = moving.entered(climbs, codes, vectors.weights, group, most)
    change, begin = make_change(len(group), most), np.array([0, len(rows)])
    taken = adopt(climbs, codes, vectors.weights, k, moving.SLACK, 0, rows, begin, found, members, change)
    boxes = _Boxes(vectors, k)
    before = [np.flatnonzero(group == g).tolist() for g in range(number)]
    after = [np.flatnonzero(found == g).tolist() for g in np.unique(found)]
    held = float((members.cost * members.size)[:-1].sum())
    assert abs(held - boxes.total(after)) < 1e-9  # what the kernel holds is what its groups cost
    assert not change.marked.any()
    assert not change.given.any()
    orders = [[*before], [*reversed(before)]]
    saves = [boxes.total(before) - boxes.total(boxes.adopt(o, rows.tolist())) for o in orders]
    event(f"taken: {taken}")
    if taken:
        assert all(boxes.size(g) >= k for g in after)
        assert boxes.total(after) < boxes.total(before)
        assert any(set(rows.tolist()) <= set(g) for g in after)
    else:
        assert {frozenset(g) for g in after} == {frozenset(g) for g in before}
        broken = [g for g in before if 0 < boxes.size([i for i in g if i not in rows]) < k]
        assert sum(i not in rows for g in broken for i in g) > 1 or max(saves) <= 1e-6  # one leftover has no order
