"""Linkage probabilities against going through all worlds, in exact rationals."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.linkage.exposure import exposed


def by_worlds(f: list[list[float]], counts: list[int]) -> np.ndarray:
    values = [v for v, m in enumerate(counts) for _ in range(m)]
    total, part = Fraction(0), [[Fraction(0)] * len(counts) for _ in f]
    for world in set(permutations(values)):
        weight = Fraction(1)
        for t, v in enumerate(world):
            weight *= Fraction(f[t][v])
        total += weight
        for t, v in enumerate(world):
            part[t][v] += weight
    return np.array([[float(p / total) for p in row] for row in part])


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[list[float]], list[int]]:
    """Up to six people and four values, some people alike, chances from nearly 0 to nearly 1."""
    k = draw(st.integers(1, 4))
    values = draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=6))
    weights = st.floats(-280, 0).map(lambda e: 10.0**e) | st.floats(0.01, 1)
    kinds = draw(st.lists(st.lists(weights, min_size=k, max_size=k), min_size=1, max_size=6))
    people = draw(st.lists(st.sampled_from(kinds), min_size=len(values), max_size=len(values)))
    f = [[w / (1.0001 * sum(row)) for w in row] for row in people]
    return f, [values.count(v) for v in range(k)]


@given(groups())
@settings(max_examples=300, deadline=None)
def test_exact_to_twelve_digits_near_0_and_1(group: tuple[list[list[float]], list[int]]) -> None:
    f, counts = group
    if any(0.0 in row for row in f):
        return
    wanted = by_worlds(f, counts)
    p = sf.linkage_probabilities(f, counts)
    np.testing.assert_allclose(p, wanted, rtol=1e-10, atol=1e-320)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert (sf.linkage_bounds(f, counts) >= wanted * (1 - 1e-12)).all()


def of_sets(f: list[list[float]], counts: list[int], sets: np.ndarray, limit: float) -> tuple[np.ndarray, bool]:
    """What the kernel says of sets of values, and whether it is the bound."""
    kinds, kind_of = np.unique(np.array(f), axis=0, return_inverse=True)
    out, over = np.zeros((len(f), len(sets))), np.zeros(1, np.bool_)
    held = np.array([counts])
    exposed(kind_of.reshape(-1), kinds, np.array([0, len(f)]), held, sets, limit, 0.0, over, out)
    return out, bool(over[0])


@given(groups(), st.integers(1, 15))
@settings(max_examples=300, deadline=None)
def test_sets_of_values_exactly_and_bounded(group: tuple[list[list[float]], list[int]], number: int) -> None:
    """p of a set is the sum over its values, and no exchange argument puts the bound below it."""
    f, counts = group
    if any(0.0 in row for row in f):
        return
    sets = np.array([[bool(number >> v & 1) for v in range(len(counts))]])
    wanted = by_worlds(f, counts) @ sets.T
    exact, bounded = of_sets(f, counts, sets, 1e6)
    assert not bounded
    np.testing.assert_allclose(exact, wanted, rtol=1e-9, atol=1e-300)
    bound, bounded = of_sets(f, counts, sets, 0)
    assert bounded
    assert (bound >= wanted * (1 - 1e-9)).all()
    assert (bound <= 1).all()


def test_bounds_are_close_where_values_are_many() -> None:
    """Sixteen people, eight values: the bound by exchanges of two people is within a third of the exact p."""
    rng = np.random.default_rng(3)
    f, counts = rng.dirichlet(np.full(8, 20.0), size=16), [2] * 8
    exact, bound = sf.linkage_probabilities(f, counts), sf.linkage_bounds(f, counts)
    assert (bound >= exact).all()
    assert (bound / exact).max() < 1.35
    assert np.median(bound / exact) < 1.2


def test_a_ratio_beyond_floating_point_is_no_zero() -> None:
    f = [[0.9, 1e-280], *[[1e-280, 0.9]] * 5]
    np.testing.assert_allclose(sf.linkage_probabilities(f, [2, 4]), by_worlds(f, [2, 4]), rtol=1e-10)


def test_zeros_are_kept_and_no_world_is_an_error() -> None:
    p = sf.linkage_probabilities([[0.0, 1.0], [0.5, 0.5]], [1, 1])
    assert p.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert (sf.linkage_bounds([[0.0, 1.0], [0.5, 0.5]], [1, 1]) >= p).all()
    with pytest.raises(DataError, match="no assignment"):
        sf.linkage_probabilities([[0.0, 1.0], [0.0, 1.0]], [1, 1])


def test_a_large_group_of_few_kinds_is_exact_by_kinds() -> None:
    f = np.repeat([[0.3, *[0.7 / 39] * 39], [0.1, *[0.9 / 39] * 39]], 20, axis=0)
    p = sf.linkage_probabilities(f, [1] * 40)  # 2^40 states by values, 441 by kinds
    odds = np.repeat([0.3 / 0.7, 0.1 / 0.9], 20)
    np.testing.assert_allclose(p[:, 0], odds / odds.sum(), rtol=1e-12)


def test_beyond_the_limit_it_says_so_and_bounds() -> None:
    rng = np.random.default_rng(7)
    f, counts = rng.dirichlet(np.full(6, 20.0), size=12), [2] * 6
    exact = sf.linkage_probabilities(f, counts)
    with pytest.warns(UserWarning, match="certified upper bounds"):
        bound = sf.linkage_probabilities(f, counts, limit=10)
    assert (bound >= exact).all()
    assert (bound < 1).all()


def test_draws_cover_the_exact_probabilities() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):  # some 1,000 intervals; each misses with a chance of about 1e-9
        f, counts = rng.dirichlet(np.full(4, 3.0), size=12), rng.multinomial(12, [0.25] * 4)
        exact = sf.linkage_probabilities(f, counts)
        found = sf.sample_linkage(f, counts, draws=4000, confidence=1 - 1e-9, rng=rng)
        assert found.effective > 500
        assert (found.low <= exact + 1e-12).all()
        assert (exact <= found.high + 1e-12).all()
        assert (found.high - found.low).max() < 0.2


@pytest.mark.parametrize(
    ("f", "counts", "words"),
    [
        ([[0.5, 0.5]], [1], "shape"),
        ([[0.5, 0.5]], [1, 1], "one per person"),
        ([[0.5, 0.7]], [1, 0], "add up to 1.2"),
        ([[0.5, -0.1]], [1, 0], "not a probability"),
        ([[0.5, 0.5]], [0.5, 0.5], "whole numbers"),
        ([["a", 0.5]], [1, 0], "not an array of numbers"),
        ([[0.5], [0.5, 0.5]], [1, 1], "not an array of numbers"),
    ],
)
def test_bad_input(f: list[list[float]], counts: list[float], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        sf.linkage_probabilities(f, counts)


def test_bad_settings() -> None:
    f, counts = [[0.5, 0.5]] * 2, [1, 1]
    with pytest.raises(PolicyError, match="limit = nan"):
        sf.linkage_probabilities(f, counts, limit=float("nan"))  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match=r"limit = 10,000,000,000; it must be at most 100,000,000"):
        sf.linkage_probabilities(f, counts, limit=10**10)
    with pytest.raises(PolicyError, match=r"draws x people = 2,000,000,000,000; it must be at most"):
        sf.sample_linkage(f, counts, draws=10**12)
    with pytest.raises(PolicyError, match=r"draws = 2\.5"):
        sf.sample_linkage(f, counts, draws=2.5)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="confidence = 1"):
        sf.sample_linkage(f, counts, confidence=1)
