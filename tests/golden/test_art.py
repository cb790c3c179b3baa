"""The worked values of ART, and the counterexamples to its theorems."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest

import sfumato as sf
from sfumato.kernel.art.grow import grow
from sfumato.kernel.art.kd_tree import make_tree

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


def evenness(f: Rows, held: list[int]) -> Fraction:
    """The least ratio of two chances of one value, over the values that the group holds."""
    return min(min(row[v] for row in f) / max(row[v] for row in f) for v, m in enumerate(held) if m)


def bound_by_exchange(f: Rows, held: list[int], chosen: tuple[int, ...]) -> Fraction:
    """What the least ratio c allows: m / (1 + (N - 1) c^2), for a set of values held m times in all."""
    m = sum(held[v] for v in chosen)
    return Fraction(m) / (1 + (len(f) - 1) * evenness(f, held) ** 2)


def sets_of(values: int) -> list[tuple[int, ...]]:
    return [s for n in range(1, values) for s in combinations(range(values), n)]


@pytest.mark.parametrize(
    ("held", "grid"),
    [
        ([1, 1], (1, 2, 3, 4, 5)),
        ([2, 1], (1, 2, 3, 4, 5)),
        ([1, 1, 1], (2, 3, 4)),
        ([2, 2], (2, 3, 4)),
        ([3, 1], (2, 3, 4)),
        ([2, 1, 1], (2, 3)),
        ([1, 1, 1, 1], (2, 3)),
    ],
    ids=str,
)
def test_the_corrected_condition_holds_on_all_small_groups(held: list[int], grid: tuple[int, ...]) -> None:
    """min f / max f >= sqrt((m r - 1) / (N - 1)) keeps p at most 1/r: values held once, m times, and sets of them."""
    values = [v for v, m in enumerate(held) for _ in range(m)]
    kinds = [[Fraction(c, 30) for c in cells] for cells in product(grid, repeat=len(held))]
    tried = 0
    for f in combinations_with_replacement(kinds, len(values)):
        p = worlds(list(f), values)[1]
        for chosen in sets_of(len(held)):
            greatest = max(sum((row[v] for v in chosen), Fraction(0)) for row in p)
            assert greatest <= bound_by_exchange(list(f), held, chosen)
            tried += 1
    assert tried > 100


def test_the_condition_has_to_know_how_often_a_value_is_held() -> None:
    """Without m, min f / max f >= sqrt((r - 1) / (N - 1)): two people who both have x meet it at r = 2 with p = 1."""
    same = fractions(("1/2", "1/2"), ("1/2", "1/2"))
    assert evenness(same, [2, 0]) ** 2 >= Fraction(2 - 1, 2 - 1)
    assert worlds(same, [0, 0])[1][0][0] == 1
    assert evenness(same, [2, 0]) ** 2 < Fraction(2 * 2 - 1, 2 - 1)
    f = fractions(("1/2", "1/2"), ("1/3", "2/3"), ("1/3", "2/3"), ("1/3", "2/3"))
    assert evenness(f, [2, 2]) ** 2 >= Fraction(2 - 1, 4 - 1)  # 4/9 >= 1/3
    assert worlds(f, [0, 0, 1, 1])[1][0][0] == Fraction(2, 3)


def test_a_set_as_one_value_hides_what_the_actual_values_tell() -> None:
    """{hiv, aids} has one chance for both people, so that 1/2 follows; hiv has not, and is held."""
    f = fractions(("8/100", "1/100", "1/2"), ("1/100", "8/100", "1/2"))  # hiv, aids, flu
    together = [[row[0] + row[1], row[2]] for row in f]
    assert worlds(together, [0, 1])[1][0][0] == Fraction(1, 2)
    assert worlds(f, [0, 2])[1][0][0] == Fraction(8, 9)


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
