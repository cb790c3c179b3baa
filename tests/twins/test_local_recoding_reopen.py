"""Boxes opened against finished groups: what must hold, what is gained, and that a naive search finds no more."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.local import LocalEngine
from sfumato.kernel import judge
from sfumato.method.base import silent
from sfumato.method.local_recoding.joining import CoveringBoxes
from sfumato.method.local_recoding.lattice import lattice_of
from sfumato.method.local_recoding.loans import Begun
from sfumato.method.local_recoding.moving import total_cost
from sfumato.method.local_recoding.paths import OBJECTIVES
from sfumato.method.local_recoding.peeling import GroupTests, Vectors, by_first
from sfumato.method.local_recoding.reopening import reopened
from strategies import Sample, examples, samples


def begin(sample: Sample, k: int, seed: int, objective: str) -> Begun:
    """Some groups of at least k rows: k vectors each, the last ones join the group before."""
    counts = LocalEngine(sample.read()).count([])
    wanted = GroupTests(judge.pack([], []), k, [])
    vectors = Vectors.of(counts, wanted, objective)  # type: ignore[arg-type]
    n = len(vectors.weights)
    group = np.empty(n, np.int64)
    group[np.random.default_rng(seed).permutation(n)] = np.minimum(np.arange(n) // k, max(n // k - 1, 0))
    return Begun(vectors, lattice_of(vectors.paths, vectors.codes), wanted, by_first(group), int(group.max()) + 1)


def saved_by_opening(begun: Begun, group: np.ndarray, number: int, levels: tuple[int, ...], v: int, k: int) -> float:
    """What is saved if all rows of the box of vector v that cost more elsewhere leave for it; 0 if too few stay."""
    vectors = begun.vectors
    node = [p.node[x] for p, x in zip(vectors.paths, levels, strict=True)]
    inside = np.all([m[c] == m[c[v]] for m, c in zip(node, vectors.codes, strict=True)], axis=0)
    cost = sum(p.cost[x][c[v]] for p, x, c in zip(vectors.paths, levels, vectors.codes, strict=True))
    takers = inside & (CoveringBoxes.of(vectors, group, number).cost[group] > cost)
    kept = np.bincount(group[~takers], weights=vectors.weights[~takers], minlength=number)
    if vectors.weights[takers].sum() < k or ((kept > 0) & (kept < k)).any():
        return 0.0
    other = by_first(np.where(takers, number, group))
    return total_cost(vectors, group, number) - total_cost(vectors, other, int(other.max()) + 1)


@pytest.mark.parametrize("objective", ["granularity", "ncp"])
@given(sample=samples(most=26, least=8), k=st.integers(1, 4), seed=st.integers(0, 10**6))
@examples(60)
def test_no_box_that_saves_something_stays_closed(objective: str, sample: Sample, k: int, seed: int) -> None:
    """From any groups: never dearer, never below k, and no box can be opened with gain without breaking a group."""
    begun = begin(sample, k, seed, objective)
    vectors = begun.vectors
    group, number = reopened(begun, (begun.group, begun.groups), 50, lambda _: None)
    assert sorted(set(group.tolist())) == list(range(number))
    assert np.bincount(group, weights=vectors.weights).min() >= min(k, vectors.weights.sum())
    before, after = total_cost(vectors, begun.group, begun.groups), total_cost(vectors, group, number)
    assert after <= before
    event(f"better: {after < before}, groups: {min(number, 4)}")
    if begun.groups < 2:
        return
    for levels in itertools.product(*(range(p.levels) for p in vectors.paths)):
        for v in range(0, len(group), 3):
            assert saved_by_opening(begun, group, number, levels, v, k) <= 1e-7


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rounds_never_make_an_objective_worse(objective: str) -> None:
    """Measured on a table of some size: loans and what follows serve granularity and ncp, others stay as they are."""
    dice = np.random.default_rng(3)
    frame = pl.DataFrame({n: dice.zipf(1.4, 1500) % 16 for n in "xyz"}).cast(pl.String)
    tree = {"Any": {f"h{h}": {f"q{h}{q}": [str(8 * h + 4 * q + v) for v in range(4)] for q in (0, 1)} for h in (0, 1)}}
    counts = LocalEngine(sf.read(frame, quasi=list("xyz"), taxonomies=dict.fromkeys("xyz", tree))).count([])
    vectors = Vectors.of(counts, GroupTests(judge.pack([], []), 6, []), objective)  # type: ignore[arg-type]
    totals = []
    for rounds in (0, 4):
        method = sf.LocalRecoding(objective=objective, rounds=rounds)  # type: ignore[arg-type]
        groups = method.of_vectors(counts, [sf.KAnonymity(k=6)], silent)
        totals.append(total_cost(vectors, groups.of_row[vectors.at], groups.number))
    assert totals[1] < totals[0] if objective in ("granularity", "ncp") else totals[1] == totals[0]


def test_a_box_breaks_up_a_group_if_that_saves_something() -> None:
    """Two groups across, each half a and half b: one box takes all of a, and the rest becomes the other group."""
    frame = pl.DataFrame({"x": ["a", "a", "b", "b"] * 2, "y": ["1", "2", "1", "2"] * 2})
    counts = LocalEngine(sf.read(frame, quasi=["x", "y"])).count([])
    wanted = GroupTests(judge.pack([], []), 4, [])
    vectors = Vectors.of(counts, wanted, "granularity")
    lattice = lattice_of(vectors.paths, vectors.codes)
    across = np.array([0, 1, 1, 0])  # a1 with b2, a2 with b1
    group, number = reopened(Begun(vectors, lattice, wanted, across, 2), (across, 2), 1, lambda _: None)
    assert number == 2
    assert group.tolist() in ([0, 0, 1, 1], [0, 1, 0, 1])
    assert (total_cost(vectors, across, 2), total_cost(vectors, group, 2)) == (8.0, 4.0)
