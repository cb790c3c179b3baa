"""Randomized values must look randomized, and honest ones are almost never accused: by enumeration and by draws."""

import math
from itertools import product

import numpy as np
import pytest

from sfumato.release.check import plausible
from sfumato.release.check.plausible import PublishedColumn, implausible
from sfumato.table.distortion import retention_matrix

TWO = np.array([[0.7, 0.3], [0.3, 0.7]])
SKEWED = np.array([[0.8, 0.1, 0.3], [0.1, 0.8, 0.1], [0.1, 0.1, 0.6]])


@pytest.mark.parametrize("alarm", [0.9, 0.5, 0.2])
@pytest.mark.parametrize("rows", [1, 4, 9])
def test_no_true_table_is_accused_more_often_than_stated(alarm: float, rows: int) -> None:
    """One attribute, all outcomes of all true tables: the exact probability of an alarm."""
    accused = {}
    for ones in range(rows + 1):
        codes = np.array([1] * ones + [0] * (rows - ones), np.int64)
        accused[ones] = implausible([PublishedColumn("x", codes, 2, TWO)], alarm=alarm) is not None
    for true_ones in range(rows + 1):
        chance = 0.0
        for shown in product((0, 1), repeat=rows):
            truth = [1] * true_ones + [0] * (rows - true_ones)
            if accused[sum(shown)]:
                chance += math.prod(TWO[u, v] for u, v in zip(shown, truth, strict=True))
        assert chance <= alarm


@pytest.mark.parametrize("alarm", [0.9, 0.5])
def test_no_pair_is_accused_more_often_than_stated(alarm: float) -> None:
    """Two attributes, one of them as it is, four rows."""
    rows, known = 4, np.array([0, 0, 1, 1], np.int64)
    for truth in product((0, 1), repeat=rows):
        chance = 0.0
        for shown in product((0, 1), repeat=rows):
            columns = [PublishedColumn("x", np.array(shown, np.int64), 2, TWO), PublishedColumn("y", known, 2, None)]
            if implausible(columns, alarm=alarm):
                chance += math.prod(TWO[u, v] for u, v in zip(shown, truth, strict=True))
        assert chance <= alarm


@pytest.mark.parametrize("truth", ["one value", "uniform", "bound together"])
def test_honest_draws_are_accused_less_often_than_stated(truth: str) -> None:
    """500 releases at an alarm of 0.2: more than 145 accused would happen with a probability below 1e-6."""
    rng, accused = np.random.default_rng(7), 0
    for _ in range(500):
        rows = int(rng.integers(5, 120))
        a = np.zeros(rows, np.int64) if truth == "one value" else rng.integers(0, 3, rows)
        b = a if truth == "bound together" else rng.integers(0, 2, rows)
        b = np.minimum(b, 1)
        ends = [np.cumsum(m[:, true], axis=0) for true, m in ((a, SKEWED), (b, TWO))]
        shown = [(rng.random(rows) > np.minimum(e[:-1], 1)).sum(axis=0) for e in ends]
        columns = [
            PublishedColumn("a", shown[0], 3, SKEWED),
            PublishedColumn("b", shown[1], 2, TWO),
            PublishedColumn("c", a, 3, None),
        ]
        accused += implausible(columns, alarm=0.2) is not None
    assert accused <= 145


def test_the_bound_is_above_the_exact_tail() -> None:
    """Chernoff and Hoeffding against the binomial distribution."""
    for rows, chance in product((1, 5, 40), (0.05, 0.5, 0.9)):
        for least in range(rows + 1):
            parts = (math.comb(rows, i) * chance**i * (1 - chance) ** (rows - i) for i in range(least, rows + 1))
            tail = sum(parts)
            assert tail <= math.exp(-rows * plausible._divergence(least / rows, chance)) * (1 + 1e-12)


def test_a_constant_is_accused_as_soon_as_it_can_be() -> None:
    """0.7 to the power n falls below 1e-6 / 4 / ... soon after 39 rows; never before."""
    alone = [n for n in range(1, 200) if implausible([PublishedColumn("x", np.zeros(n, np.int64), 2, TWO)])]
    assert 39 < min(alone) < 60
    assert alone == list(range(min(alone), 200))


def test_an_honest_constant_truth_is_not_accused() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        codes = (rng.random(5000) < 0.3).astype(np.int64)
        assert implausible([PublishedColumn("x", codes, 2, TWO)]) is None


def test_combinations_that_never_occur_are_accused_where_each_column_alone_is_not() -> None:
    """Each column is uniform, as noise makes it; together they are one and the same."""
    codes = np.arange(2000, dtype=np.int64) % 2
    alone = [PublishedColumn("x", codes, 2, TWO)]
    assert implausible(alone) is None
    assert "'x' and 'y'" in str(implausible([*alone, PublishedColumn("y", codes, 2, TWO)]))


def test_what_is_not_randomized_is_never_accused() -> None:
    codes = np.zeros(10_000, np.int64)
    assert implausible([PublishedColumn("x", codes, 2, None), PublishedColumn("y", codes, 2, None)]) is None


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_the_matrix_of_a_retention_probability(p: float) -> None:
    matrix = retention_matrix(p, 4)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(4))
    assert matrix[0, 0] - matrix[0, 1] == pytest.approx(p)
    assert implausible([PublishedColumn("x", np.arange(400) % 4, 4, matrix)]) is None


def test_many_columns_are_tested_in_bounded_time() -> None:
    rng = np.random.default_rng(2)
    matrix = retention_matrix(0.5, 90)
    columns = [PublishedColumn(f"x{i}", rng.integers(0, 90, 500), 90, matrix) for i in range(20)]
    assert plausible.tests_of(columns) == 20 + 60
    assert implausible(columns) is None
