"""Expected risks in a population of which only the size is known: the defining sum, limits, and a simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.population_risk import expected_inverse, population_risk


def by_definition(f: int, fraction: float) -> float:
    """The sum of Pr(F = h | f) / h over h, up to 40 standard deviations above the mean."""
    last = int((f + 40 * math.sqrt(f) + 40) / fraction)
    found, log = 0.0, f * math.log(fraction)
    for h in range(f, last):
        found += math.exp(log) / h
        log += math.log(h / (h - f + 1)) + math.log1p(-fraction)
    return found


@given(f=st.integers(1, 150), fraction=st.floats(0.05, 0.98))
@settings(deadline=None)
def test_it_is_the_sum_that_defines_it(f: int, fraction: float) -> None:
    assert expected_inverse(np.array([f]), fraction)[0] == pytest.approx(by_definition(f, fraction), rel=1e-8)


@pytest.mark.parametrize("fraction", [1e-9, 1e-3, 0.5, math.nextafter(0.5, 1), 1 - 1e-9, 1.0])
def test_it_falls_with_the_class_and_is_never_above_the_risk_in_the_table(fraction: float) -> None:
    sizes = np.array([*range(1, 300), 10_000, 10_000_000])
    found = expected_inverse(sizes, fraction)
    assert (np.diff(found) < 0).all()
    assert (found <= (1 + 1e-12) / sizes).all()
    assert (found >= (1 - 1e-12) * fraction / sizes).all()  # Jensen: F is f/π on average
    one = 1.0 if fraction == 1 else -fraction * math.log(fraction) / (1 - fraction)
    assert found[0] == pytest.approx(one, rel=1e-7)


def test_a_table_that_is_the_population_has_the_risks_of_its_classes() -> None:
    found = population_risk(np.array([0, 1, 1, 2, 2, 2]), 6)
    assert (found.fraction, found.unique_rows) == (1.0, 1.0)
    assert found.greatest == pytest.approx(1.0)
    assert found.mean == pytest.approx(3 / 6)


def test_it_estimates_the_truth_where_the_model_holds() -> None:
    """Class sizes h as likely as 1/h, sampled: what is expected is what is found, within 5 sigma."""
    rng, fraction, most = np.random.default_rng(8), 0.1, 3_000
    h = np.arange(1, most + 1)
    true = rng.choice(h, size=400_000, p=1 / h / (1 / h).sum())
    seen = rng.binomial(true, fraction)
    for f in (1, 2, 5):
        inverse = 1 / true[seen == f]
        error = inverse.std() / math.sqrt(len(inverse))
        assert inverse.mean() == pytest.approx(expected_inverse(np.array([f]), fraction)[0], abs=5 * error)


def test_a_population_is_not_smaller_than_its_sample() -> None:
    with pytest.raises(sf.DataError, match="2 people, fewer than the 3 rows"):
        population_risk(np.array([0, 1, 1]), 2)
    for size in (0, -1, True, 1.5, "9", 1 << 54):
        with pytest.raises(sf.PolicyError, match="whole number from 1 to"):
            population_risk(np.array([0]), size)  # type: ignore[arg-type]
    with pytest.raises(sf.DataError, match="no rows"):
        population_risk(np.array([], np.int64), 5)
