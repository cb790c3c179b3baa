"""Answers over many releases: unbiased where they claim to be, and intervals that hold as often as they say."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.datasets import hospital

LIMIT = 5.4
"""Standard errors: a correct estimator exceeds it with a probability below 1e-7."""

DOMAIN = ["flu", "HIV", "cold", "none"]


def people(rows: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["m", "f"], rows),
            "ill": rng.choice(DOMAIN, rows, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


def table() -> sf.Microdata:
    return sf.read(people(), quasi=["age", "sex"], sensitive="ill", domains={"ill": DOMAIN})


def sampled(rng: np.random.Generator) -> sf.Release:
    return sf.publish(table(), require=sf.KAnonymity(k=4), method=sf.PG(p=0.6, k=4), rng=rng)


def randomized(rng: np.random.Generator) -> sf.Release:
    method = sf.RandomizedResponse(keep={"sex": 0.8, "ill": 0.7})
    return sf.publish(table(), require=sf.Disclosure(tau=1.0), method=method, rng=rng)


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (sampled, "ill = 'flu'"),
        (sampled, "ill in ('HIV', 'none')"),
        (randomized, "ill = 'flu' and sex = 'm'"),
        (randomized, "not (ill = 'flu' or sex = 'm') or ill = 'none'"),
    ],
)
def test_counts_are_unbiased(make: object, where: str) -> None:
    """The mean of 150 releases is the truth, and the intervals hold in most of them."""
    truth = int(pl.SQLContext(t=people()).execute(f"select count(*) from t where {where}").collect().item())
    rng = np.random.default_rng(11)
    found = [sf.Analyst(make(rng)).count(where) for _ in range(150)]  # type: ignore[operator]
    estimates = np.array([a.estimate for a in found])
    assert abs(estimates.mean() - truth) <= LIMIT * estimates.std() / np.sqrt(len(found))
    held = np.mean([a.interval[0] <= truth <= a.interval[1] for a in found])
    assert held >= 0.85  # below with a probability of less than 1e-6 if they hold in 95%
    stated = np.sqrt(np.mean([a.standard_error**2 for a in found]))
    assert 0.6 * estimates.std() <= stated <= 2.5 * estimates.std()


@pytest.mark.parametrize("k", [5, 40])
def test_intervals_of_boxes_hold(k: int) -> None:
    """Ranges, points and conjunctions on a table that the constants were not set on; everything here is seeded."""
    frame = hospital(rows=2500, seed=77).select("age", "sex", "job", "diagnosis")
    quasi = sf.read(frame, quasi=["age", "sex", "job"], sensitive="diagnosis")
    release = sf.publish(quasi, require=sf.KAnonymity(k=k), method="mondrian", rng=np.random.default_rng(1))
    analyst, rng, held = sf.Analyst(release), np.random.default_rng(5), []
    shown = [label for label in release.tables["data"]["job"].cast(pl.String).unique().sort() if label != "*"]
    for _ in range(60):
        low, high = np.sort(rng.integers(0, 100, 2)).tolist()
        met = pl.col("age").is_between(low, high)
        where = f"age between {low} and {high}"
        if rng.random() < 0.5:
            job = str(rng.choice(shown))
            met, where = met & (pl.col("job") == job), f"{where} and job = '{job}'"
        truth, answer = frame.filter(met).height, analyst.count(where)
        assert answer.bounds[0] <= truth <= answer.bounds[1]
        held.append(answer.interval[0] <= truth <= answer.interval[1])
    assert np.mean(held) >= 0.9
