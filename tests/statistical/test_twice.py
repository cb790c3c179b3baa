"""How much several releases of one table determine, where each is drawn anew.

Whoever knows in which group a person is, in each release, knows that the value lies in all of these groups. The
shares below are those that the warning of a second release and docs/limits.md state. 4,000 rows, so that a share
has a standard deviation of less than 0.008 from one run to the next; the tolerance is 0.04, five of them.
"""

from functools import cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.datasets import hospital
from sfumato.table.microdata import Microdata

TOLERANCE = 0.04
TWICE_AND_THRICE = {"anatomy": (0.31, 0.55), "mondrian++": (0.28, 0.46), "hilb-safe": (0.22, 0.36)}


@cache
def table() -> Microdata:
    return sf.read(hospital(), quasi=["age", "sex", "zip"], sensitive="diagnosis")


def determined(method: str, times: int) -> list[float]:
    """The share of people with a single candidate left, after each release."""
    people, values = table()["diagnosis"], np.arange(table()["diagnosis"].size)
    left = np.ones((table().rows, len(values)), bool)
    shares = []
    for _ in range(times):
        group = sf.partition(table(), require=sf.LDiversity(l=3), method=method)
        held = np.zeros((group.max() + 1, len(values)), bool)
        held[group, people.codes] = True
        left &= held[group]
        assert left[np.arange(len(left)), people.codes].all()
        shares.append(float((left.sum(axis=1) == 1).mean()))
    return shares


@pytest.mark.parametrize("method", TWICE_AND_THRICE)
def test_releases_drawn_anew_determine_values_that_one_does_not(method: str) -> None:
    once, twice, thrice = determined(method, 3)
    assert once == 0
    assert twice == pytest.approx(TWICE_AND_THRICE[method][0], abs=TOLERANCE)
    assert thrice == pytest.approx(TWICE_AND_THRICE[method][1], abs=TOLERANCE)


@pytest.mark.parametrize("method", TWICE_AND_THRICE)
def test_the_warning_states_these_shares(method: str) -> None:
    from sfumato.method.catalogue import METHODS

    told = METHODS[method]().redrawn()
    assert told is not None
    twice, thrice = TWICE_AND_THRICE[method]
    assert f"{twice:.0%} ({method})" in told
    assert f"{thrice:.0%}" in told


@pytest.mark.parametrize("method", ["mondrian", "mondrian+", "hilb+"])
def test_releases_without_draws_determine_nothing_more(method: str) -> None:
    groups = [sf.partition(table(), require=sf.LDiversity(l=3), method=method) for _ in range(2)]
    assert len(np.unique(np.column_stack(groups), axis=0)) == len(np.unique(groups[0]))
