"""How many people are unique in a population: exact expectations on small ones, and populations of known make."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.superpopulation import expected_classes, pitman, population_uniques, zayatz
from sfumato.errors import DataError


def partitions(people: int) -> Iterator[tuple[list[int], Fraction]]:
    """All ways to seat people one by one with α = 1/3, θ = 2, and how likely each is."""
    level: list[tuple[list[int], Fraction]] = [([1], Fraction(1))]
    for seated in range(1, people):
        level = [
            (new, p * likely)
            for sizes, p in level
            for new, likely in [
                ([*sizes, 1], (2 + Fraction(len(sizes), 3)) / (2 + seated)),
                *(
                    ([*sizes[:i], s + 1, *sizes[i + 1 :]], (s - Fraction(1, 3)) / (2 + seated))
                    for i, s in enumerate(sizes)
                ),
            ]
        ]
    yield from level


@pytest.mark.parametrize("people", [1, 2, 5, 6])
def test_expected_classes_by_enumeration(people: int) -> None:
    for j in range(1, people + 1):
        exact = sum((p * sizes.count(j) for sizes, p in partitions(people)), Fraction(0))
        assert expected_classes(1 / 3, 2.0, people, j) == pytest.approx(float(exact), rel=1e-12)


def test_zayatz_by_enumeration() -> None:
    """How likely a class that shows one person is to have no other, over all samples."""
    sizes, size = np.array([1, 1, 2, 3]), 12
    chances = {}
    for j in (1, 2, 3):
        drawn = list(combinations(range(size), int(sizes.sum())))
        chances[j] = sum(sum(person < j for person in sample) == 1 for sample in drawn) / len(drawn)
    likely = 2 * chances[1] / (2 * chances[1] + chances[2] + chances[3])
    found = zayatz(sizes, size)
    assert found.parameters["likely"] == pytest.approx(likely)
    assert found.estimate == pytest.approx(2 * likely * size / sizes.sum())


def population(rng: np.random.Generator, people: int, alpha: float, theta: float) -> NDArray[np.int64]:
    """The class of each person of a population drawn by Pitman's model."""
    classes, sizes = np.zeros(people, np.int64), [0] * people
    number = 0
    for n in range(people):
        if rng.random() * (theta + n) < theta + number * alpha:
            chosen, number = number, number + 1
        else:
            chosen = int(classes[rng.integers(n)])
            while rng.random() * sizes[chosen] >= sizes[chosen] - alpha:
                chosen = int(classes[rng.integers(n)])
        classes[n] = chosen
        sizes[chosen] += 1
    return classes


def test_pitman_finds_the_truth_where_it_holds() -> None:
    """Six samples of a population of the model: each within five standard errors, and the parameters near the truth."""
    rng = np.random.default_rng(5)
    people = population(rng, 20_000, 0.5, 40.0)
    true = int((np.bincount(people) == 1).sum())
    for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        sample = np.bincount(rng.choice(people, int(len(people) * share), replace=False))
        found = population_uniques(sample, len(people))
        assert found.model == "pitman"
        assert abs(found.estimate - true) <= 5 * max(found.error, np.sqrt(true))
        assert 0 < found.error < true
        assert found.parameters["alpha"] == pytest.approx(0.5, abs=0.15)


def test_the_model_that_does_not_fit_is_left() -> None:
    """Everyone in pairs but some alone: no partition of Pitman's kind."""
    sizes = np.array([1] * 40 + [2] * 400)
    fitted = pitman(sizes, 2000)
    assert fitted is None or fitted.off > 0.25
    assert population_uniques(sizes, 2000).model == "zayatz"


def test_the_ends() -> None:
    assert population_uniques(np.array([1, 2, 0]), 3).estimate == 1
    assert population_uniques(np.array([2, 3]), 100).estimate == 0
    with pytest.raises(DataError, match="cannot have a sample"):
        population_uniques(np.array([1, 2]), 2)


def test_zayatz_errors_cover_repeated_samples() -> None:
    """The standard error is that of the estimate over samples of classes, within a factor of two."""
    rng = np.random.default_rng(2)
    kinds = rng.choice([1, 2, 3, 5], size=(200, 300), p=[0.4, 0.3, 0.2, 0.1])
    found = [zayatz(sizes, 10 * int(sizes.sum())) for sizes in kinds]
    relative = np.std([f.estimate / (10 * s.sum()) for f, s in zip(found, kinds, strict=True)])
    told = np.mean([f.error / (10 * s.sum()) for f, s in zip(found, kinds, strict=True)])
    assert 0.5 < told / relative < 2
