"""How often the 95% intervals of `sf.Analyst` contain the truth: random range and point queries on real tables.

The constants of `sfumato.analyst.margin` were set on German Credit, Credit Screening and the bundled hospital
(`python -m benchmarks.calibration tune`). The form of the model came from looking at Adult, and the constants were
widened once after a first look at Adult (pg, incognito and anatomy at 91 to 93%) and Census-Income (mondrian at 87%):
what this measures is no clean hold-out.
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.aware import NOT_IN_UNIVERSE
from sfumato import datasets
from sfumato.analyst.answer import Answer

QUERIES = 100
"""For each release: a thousand and more for each table."""
TARGET = (93.0, 99.0)


class Data(NamedTuple):
    """A table with the roles of its columns."""

    name: str
    frame: pl.DataFrame
    quasi: list[str]
    sensitive: str
    target: str
    taxonomies: dict[str, object]

    def table(self) -> sf.Microdata:
        """For methods that need no class."""
        return sf.read(self.frame, quasi=self.quasi, sensitive=self.sensitive, taxonomies=self.taxonomies)

    def with_class(self) -> sf.Microdata:
        """For methods that refine by a class."""
        roles = {"quasi": self.quasi, "sensitive": self.sensitive, "class_": self.target}
        return sf.read(self.frame, taxonomies=self.taxonomies, **roles)


def adult() -> Data:
    """Adult's training rows."""
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex", "hours-per-week", "native-country"]
    trees = {n: t for n, t in datasets.adult_taxonomies().items() if n in quasi}
    frame = datasets.adult().filter(pl.col("split") == "train").drop("split")
    return Data("Adult", frame, quasi, "occupation", "income", trees)


def census() -> Data:
    """Census-Income, the rows with an occupation."""
    quasi = ["age", "sex", "education", "marital-status", "race", "class-of-worker", "country", "weeks-worked"]
    frame = datasets.census_income().with_columns(pl.all().exclude("age").cast(pl.String))
    frame = frame.filter(pl.col("occupation") != NOT_IN_UNIVERSE).with_columns(pl.col("weeks-worked").cast(pl.Int64))
    return Data("Census-Income", frame, quasi, "occupation", "income", {})


def german() -> Data:
    """German Credit."""
    quasi = ["age", "duration", "credit-amount", "job", "housing", "personal-status", "employment", "property"]
    return Data("German Credit", datasets.german(), quasi, "purpose", "risk", {})


def crx() -> Data:
    """Credit Screening."""
    quasi = ["A1", "A2", "A3", "A4", "A7", "A8", "A9", "A11", "A14"]
    return Data("Credit Screening", datasets.crx(), quasi, "A6", "class", {})


def hospital() -> Data:
    """The bundled hospital."""
    frame = datasets.hospital(rows=8000, seed=3).drop("patient", "record", "admitted")
    return Data("Hospital", frame, ["age", "sex", "zip", "job", "stay"], "diagnosis", "readmitted", {})


Maker = Callable[[Data, np.random.Generator], sf.Release]


def _partition(method: str, *require: object) -> Maker:
    return lambda d, rng: sf.publish(d.table(), require=list(require), method=method, rng=rng)


def _randomized(d: Data, rng: np.random.Generator) -> sf.Release:
    few = [n for n in d.quasi if d.frame[n].n_unique() <= 100][:5]
    table = sf.read(d.frame, quasi=few, sensitive=d.sensitive)
    keep = dict.fromkeys([*few[:3], d.sensitive], 0.8)
    method = sf.RandomizedResponse(keep=keep)
    return sf.publish(table, require=sf.Disclosure(tau=1.0), method=method, rng=rng)


RELEASES: dict[str, Maker] = {
    "mondrian, k = 5": _partition("mondrian", sf.KAnonymity(k=5)),
    "mondrian, k = 50": _partition("mondrian", sf.KAnonymity(k=50)),
    "mondrian+, k = 5, l = 2": _partition("mondrian+", sf.KAnonymity(k=5), sf.LDiversity(l=2)),
    "incognito, k = 10": lambda d, rng: sf.publish(
        d.table(), require=sf.KAnonymity(k=10), method=sf.Incognito(suppression=0.02), rng=rng
    ),
    "tdr, k = 20": lambda d, rng: sf.publish(d.with_class(), require=sf.KAnonymity(k=20), method=sf.TopDown(), rng=rng),
    "anatomy, l = 3": _partition("anatomy", sf.LDiversity(l=3)),
    "mondrian, bucketization, l = 3": lambda d, rng: sf.publish(
        d.table(), require=sf.LDiversity(l=3), method=sf.Mondrian(scheme="bucketization"), rng=rng
    ),
    "pg, k = 5, p = 0.3": lambda d, rng: sf.publish(
        d.table(), require=sf.KAnonymity(k=5), method=sf.PG(k=5, p=0.3, domain="occurring"), rng=rng
    ),
    "pg, k = 20, p = 0.5, tight": lambda d, rng: sf.publish(
        d.table(), require=sf.KAnonymity(k=20), method=sf.PG(k=20, p=0.5, domain="occurring", boxes="tight"), rng=rng
    ),
    "rr, keep = 0.8": _randomized,
}


class Question(NamedTuple):
    """A condition and how many rows satisfy it."""

    where: str
    truth: int


def questions(data: Data, number: int, seed: int) -> Iterator[Question]:
    """Conditions on one to three attributes, each a range, a point or a set of values.

    A point is the value of a random row, the ends of a range are random numbers between the least and the greatest
    value; a set has up to half of the values.
    """
    rng, columns = np.random.default_rng(seed), [*data.quasi, data.sensitive]
    values = {n: data.frame[n].to_numpy() for n in columns}
    for _ in range(number):
        parts, truth = [], np.ones(data.frame.height, np.bool_)
        for name in rng.choice(columns, rng.integers(1, 4), replace=False):
            text, met = _predicate(str(name), values[name], rng, data.frame[name].dtype.is_numeric())
            parts.append(text)
            truth &= met
        yield Question(" and ".join(parts), int(truth.sum()))


def _predicate(name: str, column: np.ndarray, rng: np.random.Generator, numeric: bool) -> tuple[str, np.ndarray]:
    if rng.random() < 0.4:
        value = rng.choice(column)
        return f'"{name}" = {_literal(value)}', column == value
    if numeric:
        whole = np.issubdtype(column.dtype, np.integer)
        ends = rng.uniform(column.min(), column.max(), 2)
        low, high = np.sort(np.round(ends, 0 if whole else 2)).tolist()
        return f'"{name}" between {low} and {high}', (column >= low) & (column <= high)
    domain = np.unique(column.astype(str))
    some = rng.choice(domain, rng.integers(1, max(2, len(domain) // 2 + 1)), replace=False)
    return f'"{name}" in ({", ".join(map(_literal, some))})', np.isin(column.astype(str), some)


def _literal(value: object) -> str:
    return (
        repr(float(value)) if isinstance(value, int | float | np.number) else "'" + str(value).replace("'", "''") + "'"
    )


class Result(NamedTuple):
    """How the answers to some questions fare, in percent where nothing else is said."""

    data: str
    release: str
    asked: int
    refused: int
    exact: float
    covered: float
    bounded: float
    error: float
    width: float


def score(data: Data, name: str, release: sf.Release, number: int, seed: int) -> Result:
    """Ask and compare; an answer is exact if its bounds meet."""
    analyst, found, refused = sf.Analyst(release), [], 0
    shown = data._replace(quasi=release.quasi())
    for q in questions(shown, number, seed):
        try:
            found.append((q.truth, analyst.count(q.where)))
        except sf.PolicyError as wrong:
            if "shows nothing about" not in str(wrong) and "has no value" not in str(wrong):
                raise
            refused += 1
    return _scored(data, name, found, refused)


def _scored(data: Data, name: str, found: list[tuple[int, Answer]], refused: int) -> Result:
    truth = np.array([t for t, _ in found])
    interval, bounds = (np.array([getattr(a, of) for _, a in found]) for of in ("interval", "bounds"))
    estimate = np.array([a.estimate for _, a in found])
    covered = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    inside = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    wide = bounds[:, 1] > bounds[:, 0]
    error = np.abs(estimate - truth) / np.maximum(truth, 10)
    width = (interval[:, 1] - interval[:, 0])[wide] / (bounds[:, 1] - bounds[:, 0])[wide]
    figures = (100 * (1 - wide.mean()), 100 * covered.mean(), 100 * inside.mean(), 100 * float(np.median(error)))
    return Result(data.name, name, len(found), refused, *figures, 100 * float(np.median(width)))


def results(sets: list[Data], number: int, seed: int, only: str = "") -> Iterator[Result]:
    """Every table with every method that can serve it."""
    for data in sets:
        for name, make in RELEASES.items():
            if only not in name:
                continue
            try:
                release = make(data, np.random.default_rng(seed))
            except (sf.PolicyError, sf.Infeasible) as wrong:
                print(f"{data.name}, {name}: {wrong}", file=sys.stderr)
                continue
            yield score(data, name, release, number, seed)


def as_markdown(found: list[Result]) -> str:
    """One line per release, and all of a table together."""
    lines = [
        "| table | release | queries | refused | exact | **in the interval** | in the bounds | median error | "
        "interval / bounds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in found:
        lines.append(
            f"| {r.data} | {r.release} | {r.asked} | {r.refused} | {r.exact:.0f}% | **{r.covered:.1f}%** | "
            f"{r.bounded:.1f}% | {r.error:.1f}% | {r.width:.0f}% |"
        )
    for data in dict.fromkeys(r.data for r in found):
        of = [r for r in found if r.data == data]
        share = sum(r.covered * r.asked for r in of) / sum(r.asked for r in of)
        lines.append(
            f"| {data} | all | {sum(r.asked for r in of)} | {sum(r.refused for r in of)} | | **{share:.1f}%** | | | |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    tune = "tune" in sys.argv
    number = next((int(a) for a in sys.argv[1:] if a.isdigit()), QUERIES)
    chosen = [german(), crx(), hospital()] if tune else [adult(), census()]
    only = next((a[2:] for a in sys.argv[1:] if a.startswith("o=")), "")
    found = []
    for result in results(chosen, number, seed=1 if tune else 2026, only=only):
        print(result, file=sys.stderr, flush=True)
        found.append(result)
    print(as_markdown(found))
