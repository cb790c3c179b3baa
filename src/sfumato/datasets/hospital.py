"""A synthetic table of hospital discharges, in which age, sex, place, job and diagnosis are correlated.

Every draw is the inverse of a distribution function applied to ``Generator.random``, and no transcendental
function is used, so that a seed gives the same table on every machine and with every NumPy.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.datasets.vocabulary import AGES, DIAGNOSES, JOBS, MEN, REGIONS, SURNAMES, WOMEN
from sfumato.errors import PolicyError

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_AGES = np.arange(100)
_NEW_YEAR = date(2025, 1, 1)
_DAYS = np.arange(365)
_LONGEST_STAY = 90


class _People(NamedTuple):
    """The patients, as codes; one element of each array per person."""

    region: Codes
    age: Codes
    woman: Codes
    job: Codes


_INITIALS = tuple("ABCDEFGHIJKLMNOPRSTUVWYZ")


def hospital(rows: int = 4000, seed: int = 2025) -> pl.DataFrame:
    """Draw ``rows`` discharges of one year, in the order of admission.

    Columns: ``patient`` and ``record`` (identifiers), ``age``, ``sex``, ``zip``, ``job``, ``admitted``
    (what an outsider may know), ``diagnosis`` (sensitive), ``stay`` (days) and ``readmitted`` (yes or
    no). The chain of draws is region -> zip and age; age -> sex; age, sex, region -> job; all of these
    -> diagnosis; diagnosis (and age) -> date, stay and readmission.

    >>> hospital(rows=3).columns
    ['patient', 'record', 'age', 'sex', 'zip', 'job', 'admitted', 'diagnosis', 'stay', 'readmitted']
    >>> hospital(rows=50).equals(hospital(rows=50))
    True
    """
    if rows < 1:
        raise PolicyError(f"rows = {rows}; ask for 1 row or more")
    rng = np.random.default_rng(seed)
    people = _draw_people(rng, rows)
    diagnosis = _draw_diagnosis(rng, people)
    stay = _draw_stay(rng, diagnosis, people.age)
    columns = {
        "patient": _draw_names(rng, people.woman),
        "age": people.age,
        "sex": _labels(("M", "F"), people.woman),
        "zip": _draw_zip(rng, people.region),
        "job": _labels([job.name for job in JOBS], people.job),
        "admitted": _draw_date(rng, diagnosis),
        "diagnosis": _labels([d.name for d in DIAGNOSES], diagnosis),
        "stay": stay,
        "readmitted": _labels(("no", "yes"), _draw_readmission(rng, diagnosis, people.age, stay)),
    }
    frame = pl.DataFrame(columns).sort("admitted", maintain_order=True)
    return frame.insert_column(1, _draw_records(rng, rows))


def _draw(rng: np.random.Generator, weights: Floats, which: Codes) -> Codes:
    """For each element of ``which``, draw a column of that row of ``weights``, proportionally to the weights.

    The rows' distribution functions are laid end to end, row i on [i, i + 1): one binary search serves all.
    """
    shares = np.cumsum(weights, axis=1)
    line = shares / shares[:, -1:] + np.arange(len(weights))[:, None]
    at = np.minimum(which + rng.random(len(which)), np.nextafter(which + 1.0, 0.0))
    return np.asarray(np.searchsorted(line.ravel(), at, side="right") - which * weights.shape[1])


def _draw_people(rng: np.random.Generator, rows: int) -> _People:
    """Region, then age by region, sex by age, and job by all three."""
    weights = np.array([[region.weight for region in REGIONS]])
    region = _draw(rng, weights, np.zeros(rows, np.int64))
    age = _draw(rng, _age_weights(), region)
    woman = _draw(rng, _sex_weights(), age)
    job = _draw(rng, _job_weights(), (age * 2 + woman) * len(REGIONS) + region)
    return _People(region, age, woman, job)


def _age_weights() -> Floats:
    """Region x age: many infants, few pupils, then more with age; tilted by how old the region's population is."""
    base = np.interp(_AGES, (0, 2, 8, 14, 30, 50, 72, 84, 99), (22, 12, 6, 7, 11, 14, 20, 14, 1))
    ageing = np.array([[region.ageing] for region in REGIONS])
    weights: Floats = base * (1 + ageing * (_AGES - 50) / 50)
    return weights


def _sex_weights() -> Floats:
    """Age x (man, woman): somewhat more women of child-bearing age and in old age."""
    women = np.interp(_AGES, (0, 15, 22, 38, 48, 70, 99), (0.47, 0.48, 0.56, 0.56, 0.49, 0.50, 0.66))
    return np.column_stack((1 - women, women))


def _job_weights() -> Floats:
    """(Age, sex, region) x job: the job's trapezoid over age, times its factors for sex and region."""
    age = np.column_stack([job.weight * np.interp(_AGES, job.corners, (0, 1, 1, 0)) for job in JOBS])
    sex = np.array([[job.men for job in JOBS], [job.women for job in JOBS]])
    place = np.array([[3.0 if region.name in job.regions else 1.0 for job in JOBS] for region in REGIONS])
    weights: Floats = age[:, None, None] * sex[None, :, None] * place
    return weights.reshape(-1, len(JOBS))


def _draw_diagnosis(rng: np.random.Generator, people: _People) -> Codes:
    """The diagnosis by age, sex, region and whether the job is manual work."""
    age = np.column_stack([np.interp(_AGES, AGES, d.by_age) for d in DIAGNOSES])
    sex = np.array([[d.men for d in DIAGNOSES], [d.women for d in DIAGNOSES]])
    work = np.array([[1.0 for _ in DIAGNOSES], [d.manual for d in DIAGNOSES]])
    place = np.array([[region.hazards.get(d.name, 1.0) for d in DIAGNOSES] for region in REGIONS])
    weights = age[:, None, None, None] * sex[None, :, None, None] * work[None, None, :, None] * place
    manual = np.array([job.manual for job in JOBS], np.int64)[people.job]
    which = ((people.age * 2 + people.woman) * 2 + manual) * len(REGIONS) + people.region
    return _draw(rng, weights.reshape(-1, len(DIAGNOSES)), which)


def _draw_zip(rng: np.random.Generator, region: Codes) -> pl.Series:
    """A zip code of the region; the weights 1, 1/2, 1/3, ... make big towns and small ones."""
    towns = [[head + tail for head, tails in r.zips.items() for tail in tails.split()] for r in REGIONS]
    weights = np.zeros((len(towns), sum(map(len, towns))))
    start = 0
    for code, local in enumerate(towns):
        weights[code, start : start + len(local)] = 1 / np.arange(1, len(local) + 1)
        start += len(local)
    zips = [code for local in towns for code in local]
    return _labels(zips, _draw(rng, weights, region))


def _draw_date(rng: np.random.Generator, diagnosis: Codes) -> pl.Series:
    """The day of admission; the winter factor says how much more frequent 1 January is than 1 July."""
    cold = np.abs(_DAYS - 182) / 182
    weights = 1 + cold * (np.array([[d.winter] for d in DIAGNOSES]) - 1)
    epoch = (_NEW_YEAR - date(1970, 1, 1)).days
    return pl.Series(_draw(rng, weights, diagnosis) + epoch, dtype=pl.Int32).cast(pl.Date)


def _draw_stay(rng: np.random.Generator, diagnosis: Codes, age: Codes) -> Codes:
    """Days in hospital: log-logistic with shape 4 around the diagnosis's median, which grows with age."""
    median = np.array([d.days for d in DIAGNOSES])[diagnosis] * (0.75 + age / 200)
    u = rng.random(len(age))
    days: Floats = np.rint(median * np.sqrt(np.sqrt(u / (1 - u))))
    return np.clip(days, 1, _LONGEST_STAY).astype(np.int64)


def _draw_readmission(rng: np.random.Generator, diagnosis: Codes, age: Codes, stay: Codes) -> Codes:
    """1 for a patient who came back: by diagnosis, more likely with age and after a long stay."""
    chance = np.array([d.again for d in DIAGNOSES])[diagnosis] + (age - 50) * 0.005 + (stay > 14) * 0.1
    again: NDArray[np.bool_] = rng.random(len(age)) < np.clip(chance, 0.02, 0.9)
    return again.astype(np.int64)


def _draw_names(rng: np.random.Generator, woman: Codes) -> pl.Series:
    """A first name matching the sex, an initial and a surname; unique as long as the combinations last."""
    surnames = SURNAMES.split()
    names = pl.Series([""] * len(woman), dtype=pl.String)
    for sex, firsts in enumerate((MEN.split(), WOMEN.split())):
        rows = np.flatnonzero(woman == sex)
        drawn = np.argsort(rng.random(len(firsts) * len(_INITIALS) * len(surnames)), kind="stable")
        rest, last = np.divmod(drawn[np.arange(len(rows)) % len(drawn)], len(surnames))
        first, initial = np.divmod(rest, len(_INITIALS))
        full = _labels(firsts, first) + " " + _labels(_INITIALS, initial) + ". " + _labels(surnames, last)
        names = names.scatter(rows, full)
    return names


def _draw_records(rng: np.random.Generator, rows: int) -> pl.Series:
    """Unique hospital numbers, ascending with gaps of 1 to 9."""
    numbers = 100_000 + np.cumsum(1 + np.floor(rng.random(rows) * 9).astype(np.int64))
    return pl.Series("record", [f"H{number}" for number in numbers.tolist()])


def _labels(labels: Sequence[str], codes: Codes) -> pl.Series:
    """The label of each code."""
    return pl.Series(labels, dtype=pl.String).gather(codes)
