"""The data sets of the randomized response paper, and what its three models let an analyst estimate."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf
from sfumato import datasets
from sfumato.analyst.randomized import Reconstruction, chi_squared, euclidean, kullback_leibler, onto_simplex
from sfumato.table.distortion import Distortion

Floats = NDArray[np.float64]

EMGR = ["education", "marital-status", "sex", "race"]
ESGR = ["education", "income", "sex", "race"]
RUNS = 5


@cache
def train() -> pl.DataFrame:
    """The 30,162 rows."""
    return datasets.adult().filter(pl.col("split") == "train")


@cache
def table(names: tuple[str, ...], sensitive: str) -> sf.Microdata:
    """Some columns in the paper's order, their domains declared, with trees where there are any."""
    trees = datasets.adult_taxonomies()
    frame = train().select(*names, sensitive)
    taxonomies = {n: trees[n] for n in names if n in trees}
    domains = {n: sorted(frame[n].unique()) for n in (*names, sensitive) if n not in taxonomies}
    return sf.read(frame, quasi=list(names), sensitive=sensitive, taxonomies=taxonomies, domains=domains)


def emgrw() -> sf.Microdata:
    """The data set EMGRW."""
    return table(tuple(EMGR), "workclass")


def esgro() -> sf.Microdata:
    """The data set ESGRO."""
    return table(tuple(ESGR), "occupation")


def truth(data: sf.Microdata) -> Floats:
    """The distribution over all attributes, one axis per attribute."""
    columns = [*data.quasi, *data.sensitive]
    shape = [c.size for c in columns]
    flat = np.ravel_multi_index([c.codes.astype(np.int64) for c in columns], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / data.rows


def seen_after(
    data: sf.Microdata, ways: Sequence[Distortion], rng: np.random.Generator, copies: float = 1.0
) -> Reconstruction:
    """One randomized release of the table, or of a table of the same distribution with that many times the rows."""
    columns = [*data.quasi, *data.sensitive]
    rows = np.arange(round(copies * data.rows)) % data.rows
    drawn = [
        w.draw(c.codes[rows], lambda n: np.frombuffer(rng.bytes(n), np.uint8)).astype(np.int64)
        for c, w in zip(columns, ways, strict=True)
    ]
    shape = [c.size for c in columns]
    flat = np.ravel_multi_index(drawn, shape)
    return Reconstruction(np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(rows), ways, len(rows))


Distances = tuple[float, float, float]


def distances(p: Floats, q: Floats, rows: int) -> Distances:
    """Euclid, KL and chi squared from the original p to the estimate q, which is first projected onto the simplex."""
    inside = onto_simplex(q)
    return euclidean(p, inside), kullback_leibler(p, inside, rows=rows), chi_squared(p, inside, rows=rows)


def relative_errors(p: Floats, q: Floats, rows: int) -> tuple[float, float]:
    """The mean of |actual - estimated| / actual over the groups that occur: base group-by, and CUBE."""
    base = _error(p, q, rows)
    errors, number = 0.0, 0
    for size in range(p.ndim + 1):
        for gone in combinations(range(p.ndim), size):
            a, b = p.sum(axis=gone), q.sum(axis=gone)
            some = a > 0
            errors += float((np.abs(a - b)[some] / a[some]).sum())
            number += int(some.sum())
    return base, errors / number


def _error(p: Floats, q: Floats, rows: int) -> float:
    some = p > 0
    return float((np.abs(p - q)[some] / p[some]).mean())


def spread(release: sf.Release, data: sf.Microdata) -> Floats:
    """What an analyst who spreads evenly makes of a generalized or bucketized release."""
    names = [c.name for c in (*data.quasi, *data.sensitive)]
    answer = sf.Analyst(release).group_by(names)
    order = [list(c.domain.leaves) for c in (*data.quasi, *data.sensitive)]
    out = np.zeros([len(o) for o in order])
    place = [
        answer[n].replace_strict({v: i for i, v in enumerate(o)}, return_dtype=pl.Int64)
        for n, o in zip(names, order, strict=True)
    ]
    out[tuple(p.to_numpy() for p in place)] = answer["count"].to_numpy()
    return out / data.rows


def other_models(data: sf.Microdata, l: int) -> dict[str, Floats]:
    """Anatomy and entropy l-diversity by optimal full-domain generalization, as distributions."""
    rng = np.random.default_rng(l)
    anatomy = sf.publish(data, require=sf.LDiversity(l=l), method=sf.Anatomy(), rng=rng)
    found = {"anatomy": spread(anatomy, data)}
    wanted = sf.LDiversity(l=l, variant="entropy")
    generalized = sf.publish(data, require=wanted, method=sf.Incognito(loss="discernibility"), rng=rng)
    return found | {"l-diversity": spread(generalized, data)}


@cache
def compared(l: int) -> dict[str, list[Floats]]:
    """Estimated distributions of ESGRO under the three models; several draws of the randomized one."""
    data = esgro()
    best = sf.optimal_response(data, tau=1 / l, mode="qi")
    ways = list(best.distortions.values())
    runs = [seen_after(data, ways, np.random.default_rng([l, i])).unbiased() for i in range(RUNS)]
    return {name: [q] for name, q in other_models(data, l).items()} | {"RR-QI": runs}


def mean(values: Sequence[Sequence[float]]) -> list[float]:
    """Entry by entry."""
    return np.mean(np.array(values), axis=0).tolist()
