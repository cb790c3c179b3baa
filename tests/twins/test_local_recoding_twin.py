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
from sfumato.method.base import silent
from sfumato.method.local_recoding import loans, moving, peeling
from sfumato.method.local_recoding.local_recoding import LocalRecoding
from sfumato.method.local_recoding.peeling import Vectors, Wanted
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
    wanted = Wanted(judge.pack([], []), k, [])
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
