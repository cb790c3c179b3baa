"""Chains of rows through finished groups, and neighbourhoods that are peeled again: what must hold, what is gained."""

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.kernel import judge
from sfumato.kernel.local_recoding.move import move
from sfumato.method.base import silent
from sfumato.method.local_recoding import renewing
from sfumato.method.local_recoding.joining import CoveringBoxes
from sfumato.method.local_recoding.lattice import lattice_of
from sfumato.method.local_recoding.loans import Begun
from sfumato.method.local_recoding.moving import SLACK, climbs_of, entered, moved, total_cost
from sfumato.method.local_recoding.peeling import GroupTests, Vectors, by_first
from sfumato.method.local_recoding.renewing import renewed
from strategies import Sample, examples, samples

TREE = {"Any": {f"h{h}": {f"q{h}{q}": [str(8 * h + 4 * q + v) for v in range(4)] for q in (0, 1)} for h in (0, 1)}}


def vectors_of(frame: pl.DataFrame, k: int, objective: str = "granularity") -> Vectors:
    table = sf.read(frame, quasi=frame.columns, taxonomies=dict.fromkeys(frame.columns, TREE))
    return Vectors.of(LocalEngine(table).count([]), GroupTests(judge.pack([], []), k, []), objective)  # type: ignore[arg-type]


def any_groups(vectors: Vectors, k: int, seed: int) -> Begun:
    """Some groups of at least k rows: k vectors each, the last ones join the group before."""
    n = len(vectors.weights)
    group = np.empty(n, np.int64)
    group[np.random.default_rng(seed).permutation(n)] = np.minimum(np.arange(n) // k, max(n // k - 1, 0))
    lattice, wanted = lattice_of(vectors.paths, vectors.codes), GroupTests(judge.pack([], []), k, [])
    return Begun(vectors, lattice, wanted, by_first(group), int(group.max()) + 1)


def some(rows: int, seed: int) -> pl.DataFrame:
    """Rows of three attributes with 16 values each, some of them frequent."""
    dice = np.random.default_rng(seed)
    return pl.DataFrame({n: dice.zipf(1.4, rows) % 16 for n in "xyz"}).cast(pl.String)


def best_chain(vectors: Vectors, group: np.ndarray, number: int, k: int) -> float:
    """What the best chain saves if boxes stay and all weights are 1: what is saved depends on its two ends only.

    A group leads to another one if one of its rows fits in there; chains are all that this leads to in the end.
    """
    boxes = CoveringBoxes.of(vectors, group, number)
    holds = np.ones((len(group), number), np.bool_)
    for path, codes, lo, hi in zip(vectors.paths, vectors.codes, boxes.first, boxes.last, strict=True):
        for g in range(number):
            level = next(x for x in range(path.levels) if path.node[x][lo[g]] == path.node[x][hi[g]])
            holds[:, g] &= path.node[level][codes] == path.node[level][lo[g]]
    leads = np.stack([holds[group == g].any(axis=0) for g in range(number)])
    for _ in range(number):
        leads = leads | (leads.astype(np.int64) @ leads.astype(np.int64) > 0)
    saved = np.where(leads, boxes.cost[:, None] - boxes.cost, 0.0).max(axis=1)
    return float(np.where(boxes.size > k, saved, 0.0).max())


@pytest.mark.parametrize("k", [2, 3, 6])
def test_chains_end_with_the_best_rows_for_the_boxes(k: int) -> None:
    """If all rows differ, no chain saves anything, so no other rows in the same boxes cost less."""
    better = 0
    for seed in range(12):
        vectors = vectors_of(some(70, seed).unique(maintain_order=True), k)
        assert vectors.weights.max() == 1
        begun = any_groups(vectors, k, seed)
        group, number = moved(vectors, begun.group, begun.groups, begun.wanted)
        assert np.bincount(group).min() >= k
        better += total_cost(vectors, group, number) < total_cost(vectors, begun.group, begun.groups)
        assert best_chain(vectors, group, number, k) <= 1e-7
    assert better == 12


def test_a_group_stays_if_its_rows_cost_more_elsewhere_together() -> None:
    """Four rows near groups of 4 and 5 equal rows: each by itself costs 5 or 6 there, all cost 26, and now 24."""
    texts = ["000000"] * 4 + ["001111"] * 5 + ["100000", "010000", "101111", "011111"]
    frame = pl.DataFrame([list(t) for t in texts], schema=list("abcdef"), orient="row")
    counts = LocalEngine(sf.read(frame, quasi=frame.columns)).count([])
    vectors = Vectors.of(counts, GroupTests(judge.pack([], []), 4, []), "granularity")
    begun = np.array([0, 1, 2, 2, 2, 2])  # the vectors are sorted: 000000, 001111, and the others
    climbs, codes = climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    group, members = entered(climbs, codes, vectors.weights, begun, 3)
    move(climbs, codes, vectors.weights, 4, SLACK, 3, group, members)
    assert group.tolist() == begun.tolist()
    assert (members.cost * members.size)[:3].tolist() == [0, 0, pytest.approx(24 / 6)]
    assert vectors.weights.tolist() == [4, 5, 1, 1, 1, 1]


@pytest.mark.parametrize("objective", ["granularity", "ncp"])
@given(sample=samples(most=30, least=8), k=st.integers(1, 4), seed=st.integers(0, 10**6))
@examples(60)
def test_renewal_never_costs_more_and_keeps_sizes(objective: str, sample: Sample, k: int, seed: int) -> None:
    counts = LocalEngine(sample.read()).count([])
    vectors = Vectors.of(counts, GroupTests(judge.pack([], []), k, []), objective)  # type: ignore[arg-type]
    begun = any_groups(vectors, k, seed)
    group, number = renewed(begun, (begun.group, begun.groups), 2, seed, lambda _: None)
    assert sorted(set(group.tolist())) == list(range(number))
    assert np.bincount(group, weights=vectors.weights).min() >= min(k, counts.rows)
    before, after = total_cost(vectors, begun.group, begun.groups), total_cost(vectors, group, number)
    assert after <= before
    event(f"better: {after < before}, groups: {min(number, 4)}")


@pytest.mark.parametrize("limits", [{}, {"groups": 3}, {"rows": 40}, {"work": 4000}])
def test_renewal_gains_where_moves_are_at_their_end(limits: dict[str, int]) -> None:
    """Groups of some size, moved until nothing is gained: renewed, they cost less, also with small neighbourhoods."""
    vectors = vectors_of(some(1200, 5), 6)
    begun = any_groups(vectors, 6, 5)
    start = moved(vectors, begun.group, begun.groups, begun.wanted)
    told: list[float] = []
    with patch.object(renewing, "LIMITS", renewing.LIMITS._replace(**limits)):
        group, number = renewed(begun, start, 4, 0, told.append)
    assert np.bincount(group, weights=vectors.weights).min() >= 6
    assert total_cost(vectors, group, number) < 0.99 * total_cost(vectors, *start)
    assert told == sorted(told)
    assert told[0] == 0.0
    assert 0.5 < told[-1] < 1


def test_nothing_is_renewed_without_rounds() -> None:
    vectors = vectors_of(some(300, 1), 4)
    begun = any_groups(vectors, 4, 1)
    group, number = renewed(begun, (begun.group, begun.groups), 0, 0, lambda _: None)
    assert group is begun.group
    assert number == begun.groups


def test_groups_do_not_depend_on_the_order_of_the_rows() -> None:
    frame = some(900, 8)
    order = np.random.default_rng(2).permutation(len(frame))
    found = []
    for rows in (np.arange(len(frame)), order):
        table = sf.read(frame[rows], quasi=frame.columns, taxonomies=dict.fromkeys(frame.columns, TREE))
        groups = sf.LocalRecoding().groups(table, [sf.KAnonymity(k=5)], draws=Draws(), progress=silent)
        of_row = np.empty(len(frame), np.int64)
        of_row[rows] = groups.of_row
        found.append(by_first(of_row).tolist())
    assert found[0] == found[1]
