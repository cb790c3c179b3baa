"""The worked values of ART, and the counterexamples to its theorems."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import sfumato as sf
from sfumato.kernel.closest import make_tree
from sfumato.kernel.merge import grow

Rows = list[list[Fraction]]


def worlds(f: Rows, values: list[int]) -> tuple[Fraction, list[dict[int, Fraction]]]:
    """The total weight of all worlds, and p(t:x) by going through them."""
    total, part = Fraction(0), [dict.fromkeys(values, Fraction(0)) for _ in f]
    for world in set(permutations(values)):
        weight = Fraction(1)
        for t, v in enumerate(world):
            weight *= f[t][v]
        total += weight
        for t, v in enumerate(world):
            part[t][v] += weight
    return total, [{v: w / total for v, w in row.items()} for row in part]


def fractions(*rows: tuple[str, ...]) -> Rows:
    return [[Fraction(cell) for cell in row] for row in rows]


def exact(f: Rows) -> np.ndarray:
    return np.array([[float(cell) for cell in row] for row in f])


def test_table_5() -> None:
    f = fractions(("1/2", "1/2"), ("1/2", "1/2"), ("1/5", "4/5"), ("1/5", "4/5"))
    total, p = worlds(f, [0, 0, 1, 1])
    assert total == Fraction(33, 100)
    assert p[0][0] == Fraction(8, 11)
    assert sf.linkage_probabilities(exact(f), [2, 2])[0, 0] == pytest.approx(8 / 11, rel=1e-14)


def test_alex_and_bob() -> None:
    f = fractions(("1/10", "9/10"), ("3/1000", "997/1000"))
    assert worlds(f, [0, 1])[1][0][0] == Fraction(997, 1024)
    assert sf.linkage_probabilities(exact(f), [1, 1])[0, 0] == pytest.approx(997 / 1024, rel=1e-14)
    assert sf.linkage_bounds(exact(f), [1, 1])[0, 0] == pytest.approx(997 / 1024, rel=1e-14)


def greatest_deviation(n: int, r: int, f: Fraction, m: int = 1) -> Fraction:
    """Δ_max of Inequality (4), and for a value held m times."""
    return (n - m * r) * f / (m * (r - 1) * f / (1 - f) + n - m)


def test_table_7() -> None:
    printed = {
        (3, 2, "0.1"): 0.0474,
        (3, 2, "0.3"): 0.1235,
        (3, 2, "0.5"): 0.1667,
        (6, 2, "0.3"): 0.2211,
        (6, 3, "0.3"): 0.1537,
    }
    for (n, r, f), value in printed.items():
        assert round(float(greatest_deviation(n, r, Fraction(f))), 4) == value


def pair(f: Fraction, apart: Fraction, n: int, m: int) -> Fraction:
    """p of one person with chance f among n - 1 others with f - apart, in worlds of a value held m times."""
    rows = [[f, 1 - f]] + [[f - apart, 1 - f + apart]] * (n - 1)
    return worlds(rows, [0] * m + [1] * (n - m))[1][0][0]


@pytest.mark.parametrize(("n", "r", "m"), [(3, 2, 1), (5, 2, 1), (5, 3, 1), (6, 2, 2), (7, 3, 2), (7, 2, 3)])
def test_the_bound_is_tight_and_has_to_know_how_often_a_value_is_held(n: int, r: int, m: int) -> None:
    f = Fraction(3, 10)
    assert pair(f, greatest_deviation(n, r, f, m), n, m) == Fraction(1, r)
    if m > 1:
        assert pair(f, greatest_deviation(n, r, f, 1), n, m) > Fraction(1, r)


def test_theorem_1_is_false_over_actual_values() -> None:
    f = fractions(("1/10", "1/19", "1/19"), ("1/19", "1/10", "1/10"), ("1/19", "1/10", "1/10"))
    for v in range(3):
        chances = [row[v] for row in f]
        assert max(chances) - min(chances) <= greatest_deviation(3, 2, max(chances))
    assert worlds(f, [0, 1, 2])[1][0][0] == Fraction(361, 561)
    assert sf.linkage_probabilities(exact(f), [1, 1, 1])[0, 0] == pytest.approx(361 / 561, rel=1e-14)
    two = [[row[0], 1 - row[0]] for row in f]
    assert worlds(two, [0, 1, 1])[1][0][0] <= Fraction(1, 2)


def test_a_set_that_is_not_collapsed_is_linked_with_its_size_over_r() -> None:
    same = [[Fraction(1, 4)] * 4] * 4
    p = worlds(same, [0, 1, 2, 3])[1][0]
    assert p[0] == Fraction(1, 4)
    assert p[0] + p[1] == Fraction(2, 4)


def grown(chances: list[float], r: float, *, by_odds: bool) -> int:
    """How many people join the first one, who has the value, until the condition holds; -1: it never does."""
    points = np.array(chances)[:, None]
    value = np.array([0] + [-1] * (len(chances) - 1))
    tree, left = make_tree(points), np.ones(len(chances), np.int64)
    alive = np.array([b - a for a, b in zip(tree.first, tree.last, strict=True)])
    out, failed = np.empty((2 * len(chances), 3), np.int64), np.zeros(1, np.bool_)
    one = np.ones(1, np.int64)
    dims = np.zeros(1, np.int64)
    steps = grow(
        points, points / (1 - points), dims, 1, value, left, alive, tree, np.array([0, 1]), np.zeros(1, np.int64),
        one, True, by_odds, r, one, out, failed,
    )  # fmt: skip
    return -1 if failed[0] else int(out[:steps, 2].sum())


def test_the_worked_groups_of_section_4() -> None:
    assert grown([0.1, 0.08, 0.09], 2.0, by_odds=False) == 3  # Δ = 0.02 < 0.0474
    assert grown([0.1, 0.003], 2.0, by_odds=False) == -1
    assert grown([0.1, 0.08, 0.09], 2.0, by_odds=True) == 3
    assert grown([0.1, 0.1, 0.1], 2.0, by_odds=True) == 2
    assert grown([0.1, 0.1, 0.1], 2.0, by_odds=False) == 2
