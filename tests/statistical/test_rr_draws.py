"""Draws follow the matrices: comparisons of shares with Hoeffding's bound, with a false alarm below 1e-6 each."""

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.base import Randomized
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.table.distortion import Distortion

FALSE_ALARM = 1e-7
MATRIX = [[0.7, 0.1, 0.0], [0.2, 0.6, 0.25], [0.1, 0.3, 0.75]]


def slack(rows: int) -> float:
    """No mean of that many draws in [0, 1] strays farther, but for the false alarm."""
    return math.sqrt(math.log(2 / FALSE_ALARM) / (2 * rows))


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("way", [Distortion.keeping(0.6, 3, what=""), Distortion.given(MATRIX, 3, what="")])
def test_every_entry_of_the_matrix(way: Distortion, seed: int | None) -> None:
    rows = 200_000
    noise = Draws(None if seed is None else np.random.default_rng(seed)).bytes
    for v in range(3):
        shown = way.draw(np.full(rows, v, np.uint8), noise)
        shares = np.bincount(shown, minlength=3) / rows
        assert np.abs(shares - way.matrix[:, v]).max() <= slack(rows)
        assert (shares[way.matrix[:, v] == 0] == 0).all()


def test_attributes_and_rows_are_drawn_by_themselves() -> None:
    """Two copies of one column: whether one is changed tells nothing about the other, nor about the next row."""
    rows = 200_000
    frame = pl.DataFrame({"a": ["x"] * rows, "b": ["x"] * rows, "s": ["u"] * rows})
    domains = {"a": ["x", "y"], "b": ["x", "y"], "s": ["u", "v"]}
    table = sf.read(frame, quasi=["a", "b"], sensitive="s", domains=domains)
    ways = {n: Distortion.keeping(0.7, 2, what=n) for n in "abs"}
    data = LocalEngine(table).publish([Randomized(name, way) for name, way in ways.items()], Draws())
    a, b = ((data[n].cast(pl.String) == "x").to_numpy() for n in "ab")
    assert abs((a & b).mean() - 0.49) <= slack(rows)
    assert abs((a[:-1:2] & a[1::2]).mean() - 0.49) <= slack(rows // 2)


def test_a_count_lies_within_its_error() -> None:
    """Two hundred seeded releases: the mean of (estimate - truth) / standard error is near 0, its square near 1."""
    rng = np.random.default_rng(10**6)  # none of the seeds below: the table must not follow from the draws
    rows = 4_000
    frame = pl.DataFrame({"q": rng.choice(["a", "b", "c"], rows), "s": rng.choice(["u", "v"], rows)})
    table = sf.read(frame, quasi=["q"], sensitive="s")
    method = sf.RandomizedResponse(keep={"q": 0.6, "s": 0.8})
    truth = frame.filter((pl.col("q") == "a") & (pl.col("s") == "u")).height
    scores = []
    for seed in range(200):
        release = sf.publish(table, require=sf.Disclosure(tau=1.0), method=method, rng=np.random.default_rng(seed))
        answer = sf.Analyst(release).count("q = 'a' and s = 'u'")
        scores.append((answer.estimate - truth) / answer.standard_error)
    # nearly normal scores: 5.4 standard errors have a false alarm of about 7e-8
    assert abs(np.mean(scores)) <= 5.4 / math.sqrt(200)
    assert abs(np.mean(np.square(scores)) - 1) <= 5.4 * math.sqrt(2 / 200)


def test_without_a_seed_two_releases_differ() -> None:
    table = sf.read(pl.DataFrame({"q": ["a", "b"] * 200, "s": ["u", "v"] * 200}), quasi=["q"], sensitive="s")
    method = sf.RandomizedResponse(keep={"q": 0.6})
    one, other = (sf.publish(table, require=sf.Disclosure(tau=1.0), method=method) for _ in range(2))
    assert not one.tables["data"].equals(other.tables["data"])
