"""Wilson's interval: its ends are the shares whose own standard deviation just reaches the estimate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.requirement.wilson import deviations, wilson_interval


@given(draws=st.integers(1, 5_000), part=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95, 0.999999]))
def test_an_end_is_as_many_deviations_away_as_the_confidence_asks(draws: int, part: float, confidence: float) -> None:
    share = round(part * draws) / draws
    for end in wilson_interval(share, draws, confidence):
        away = deviations(confidence) * math.sqrt(end * (1 - end) / draws)
        assert abs(share - float(end)) == pytest.approx(away, abs=1e-9)


def test_it_covers_the_share_and_ends_exactly_at_0_and_1() -> None:
    low, high = wilson_interval(np.array([0.0, 0.3, 1.0]), np.array([7, 7, 7]), 0.99)
    assert (low[0], high[2]) == (0.0, 1.0)
    assert (low <= [0.0, 0.3, 1.0]).all()
    assert (high >= [0.0, 0.3, 1.0]).all()
