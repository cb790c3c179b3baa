"""Reproduce PG (Tao, Xiao, Li, Zhang, ICDE 2008): Tables II and III, Figures 2 and 3.

SFUMATO_DATA=... python -m benchmarks.papers.pg writes benchmarks/results/pg.md and two plots.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import numpy as np
import polars as pl

import sfumato as sf
from sfumato import datasets
from sfumato.analyst.noisy_tree import majority

mpl.use("Agg")
from matplotlib import pyplot as plt

RESULTS = Path(__file__).parents[1] / "results"
KS, PS, K, P, RUNS = (2, 4, 6, 8, 10), (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45), 6, 0.3, 3
VALUES = [str(i) for i in range(50)]
CLASSES = {
    2: {"first": VALUES[:25], "second": VALUES[25:]},
    3: {"first": VALUES[:25], "second": VALUES[25:37], "third": VALUES[37:]},
}

Errors = dict[str, list[float]]
Boxes = Literal["closed", "tight"]


def weeks() -> sf.Microdata:
    """Census-Income from 17 years on: the paper's eight quasi-identifiers, and the weeks worked as 0 to 49."""
    quasi = ["age", "sex", "education", "country", "occupation", "race", "class-of-worker", "marital-status"]
    frame = datasets.census_income().filter(pl.col("age") >= 17)
    return _coded(frame, quasi, pl.col("weeks-worked").cast(pl.String).cast(pl.Int64).clip(0, 49))


def age() -> sf.Microdata:
    """Those of Census-Income who have an occupation: age from 17 years on as 0 to 49, which little else predicts."""
    quasi = [
        "sex", "education", "marital-status", "class-of-worker", "occupation", "industry", "weeks-worked",
        "household-summary",
    ]  # fmt: skip
    frame = datasets.census_income().filter(pl.col("occupation").cast(pl.String) != "0")
    return _coded(frame, quasi, (pl.col("age") - 17).clip(0, 49))


def _coded(frame: pl.DataFrame, quasi: list[str], sensitive: pl.Expr) -> sf.Microdata:
    """Numbers as numbers, categories below one root, so that neighbouring ones can be shown as a set."""
    weeks_as_number = pl.col("weeks-worked").cast(pl.String).cast(pl.Int64)
    coded = frame.with_columns(weeks_as_number, private=sensitive.cast(pl.String))
    words = [name for name in quasi if coded[name].dtype != pl.Int64]
    trees = {name: {f"Any {name}": coded[name].cast(pl.String).unique().sort().to_list()} for name in words}
    return sf.read(coded, quasi=quasi, sensitive="private", taxonomies=trees, domains={"private": VALUES})


TABLES = {"weeks worked": weeks, "age of those with an occupation": age}


def pg_error(table: sf.Microdata, k: int, p: float, m: int, boxes: Boxes, rng: np.random.Generator) -> float:
    """The error on all microdata of a tree grown on a PG release."""
    release = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=p, k=k, boxes=boxes), rng=rng)
    return sf.DecisionTree.from_release(release, CLASSES[m]).error(table, CLASSES[m])


def plain_error(table: sf.Microdata, k: int, m: int, rng: np.random.Generator, *, noise: bool) -> float:
    """The error of a tree grown on |D|/k plain rows (optimistic), or on rows whose values are pure noise."""
    rows = rng.choice(table.rows, table.rows // k, replace=False)
    seen = rng.integers(0, len(VALUES), len(rows)) if noise else None
    return sf.DecisionTree.from_table(table, CLASSES[m], rows=rows, seen=seen).error(table, CLASSES[m])


def figure(table: sf.Microdata, m: int, points: list[tuple[int, float]]) -> Errors:
    """The mean error over some runs of the three competitors at each (k, p)."""
    rng = np.random.default_rng(m)

    def mean(error: Callable[[], float]) -> float:
        return float(np.mean([error() for _ in range(RUNS)]))

    return {
        "PG": [mean(lambda k=k, p=p: pg_error(table, k, p, m, "tight", rng)) for k, p in points],
        "PG, closed boxes": [mean(lambda k=k, p=p: pg_error(table, k, p, m, "closed", rng)) for k, p in points],
        "optimistic": [mean(lambda k=k: plain_error(table, k, m, rng, noise=False)) for k, _ in points],
        "pessimistic": [mean(lambda k=k: plain_error(table, k, m, rng, noise=True)) for k, _ in points],
    }


def draw(name: str, axis: str, xs: tuple[float, ...], errors: dict[int, Errors]) -> None:
    """Error against k or p, m = 2 and 3 side by side."""
    drawn, places = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    for place, (m, lines) in zip(places, errors.items(), strict=True):
        for (words, ys), mark in zip(lines.items(), "oDs^", strict=True):
            place.plot(xs, [100 * y for y in ys], marker=mark, label=words)
        place.set(title=f"m = {m}", xlabel=axis, ylim=(0, None))
    places[0].set_ylabel("classification error, %")
    places[0].legend()
    drawn.tight_layout()
    drawn.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
    plt.close(drawn)


def table_2() -> Iterator[str]:
    """The paper's eight patients, p = .25 and s = .5."""
    frame = pl.DataFrame(
        {
            "Age": [25, 30, 45, 50, 55, 58, 65, 80],
            "Gender": ["M", "M", "F", "F", "F", "F", "M", "M"],
            "Zipcode": [25000, 27000, 20000, 15000, 45000, 32000, 65000, 55000],
            "Disease": [
                "bronchitis", "pneumonia", "pneumonia", "breast cancer", "ovarian cancer", "hypertension", "Alzheimer",
                "dementia",
            ],
        }
    )  # fmt: skip
    table = sf.read(
        frame,
        quasi=["Age", "Gender", "Zipcode"],
        sensitive="Disease",
        taxonomies={"Gender": {"Any": ["M", "F"]}},
        domains={"Disease": sorted(set(frame["Disease"]))},
    )
    release = sf.publish(table, require=sf.KAnonymity(k=2), method=sf.PG(p=0.25, s=0.5), rng=np.random.default_rng(8))
    release.check()
    data = release.tables["data"]
    yield "| " + " | ".join(data.columns) + " |"
    yield "|" + " --- |" * len(data.columns)
    yield from ("| " + " | ".join(str(v) for v in row) + " |" for row in data.iter_rows())


def table_3() -> Iterator[str]:
    """Table III with more digits, and what the worst attack attains."""
    yield "| k | p | ρ2 by theorem | ρ2 exact | Δ by theorem | Δ exact | ownership | ε |"
    yield "|" + " ---: |" * 8
    for k, p in [*((k, P) for k in KS), *((K, p) for p in PS)]:
        g = sf.pg_guarantee(k=k, p=p, domain=50, skew=0.1, rho1=0.2)
        cells = (g.rho2, g.rho2_exact, g.growth, g.growth_exact, g.ownership, g.epsilon)
        yield f"| {k} | {p:g} | " + " | ".join(f"{np.ceil(c * 1e6) / 1e6:.6f}" for c in cells if c is not None) + " |"


def figure_table(axis: str, xs: tuple[float, ...], errors: dict[int, Errors]) -> Iterator[str]:
    yield f"| m | competitor | {' | '.join(f'{axis} = {x:g}' for x in xs)} |"
    yield "| ---: | --- |" + " ---: |" * len(xs)
    for m, lines in errors.items():
        for words, ys in lines.items():
            yield f"| {m} | {words} | {' | '.join(f'{100 * y:.2f}%' for y in ys)} |"


def verdict(errors: list[dict[int, Errors]], guess: dict[int, float]) -> Iterator[str]:
    """How far PG is from optimistic, and how far always guessing the largest class is."""
    for m, largest in guess.items():
        gaps = [a - b for e in errors for a, b in zip(e[m]["PG"], e[m]["optimistic"], strict=True)]
        yield (
            f"- m = {m}: PG errs {100 * min(gaps):.2f} to {100 * max(gaps):.2f} points more than optimistic. "
            f"Always guessing the largest class errs {100 * largest:.2f}%."
        )


def figures(number: int, words: str, table: sf.Microdata) -> Iterator[str]:
    """Figures 2 and 3 on one table, drawn and as text."""
    by_k = {m: figure(table, m, [(k, P) for k in KS]) for m in CLASSES}
    by_p = {m: figure(table, m, [(K, p) for p in PS]) for m in CLASSES}
    draw(f"pg_figure_2_{number}", "k (p = 0.3)", KS, by_k)
    draw(f"pg_figure_3_{number}", "p (k = 6)", PS, by_p)
    guess = {m: 1 - majority(table, CLASSES[m])["rows"].max() / table.rows for m in CLASSES}
    sizes = sf.publish(table, require=sf.KAnonymity(k=K), method=sf.PG(p=P)).tables["data"]["G"].to_numpy()
    yield from (
        f"## Figures 2 and 3, sensitive: {words}",
        "",
        f"{table.rows:,} rows of Census-Income, mean of {RUNS} runs. Quasi-identifiers:",
        f"{', '.join(c.name for c in table.quasi)}.",
        f"At k = {K} PG publishes {len(sizes):,} rows; {table.rows // K:,} are |D|/k, but people with equal",
        f"quasi-identifiers stay together, up to {sizes.max():,} of them. With their weights G these rows are worth",
        f"{sizes.sum() ** 2 / (sizes**2).sum():,.0f} of equal weight.",  # Kish's effective sample size
        "",
        *figure_table("k", KS, by_k),
        "",
        f"![Figure 2](pg_figure_2_{number}.svg)",
        "",
        *figure_table("p", PS, by_p),
        "",
        f"![Figure 3](pg_figure_3_{number}.svg)",
        "",
        *verdict([by_k, by_p], guess),
        "",
    )


ERRATA = """
The paper prints these to two digits, rounded to nearest. Two errata: ρ2 at k = 10 is .3679, printed .36; and four
growths (k = 4 and 8 at p = .3; p = .4 and .45 at k = 6) are printed below what an attack attains. Theorem 2 is loose:
the worst attack attains the values in the columns “exact”.
"""

ANSWER = """## Does PG stay near optimistic, as the paper claims?

Where the quasi-identifiers predict the class well (weeks worked), yes: within about a point with tight boxes (“PG”).
With closed boxes, the default, the same except for small p, where the error is up to seven points higher. Where the
quasi-identifiers predict the class poorly (age), not at this size: the perturbation hides what little there is to see,
and the tree hardly beats the largest class, or does worse. The paper has 700,000 rows, which leaves more room.
“Pessimistic” is chance.
"""


def main() -> None:
    """Write everything."""
    text = [
        "# PG: perturbed generalization",
        "",
        "Made by `python -m benchmarks.papers.pg`. Guarantees: |U| = 50, λ = .1, ρ1 = .2.",
        "",
        "## Table II: the eight patients, p = .25, s = .5 (draws differ, the shape is the paper's)",
        "",
        *table_2(),
        "",
        "## Table III",
        "",
        *table_3(),
        ERRATA,
        *(line for i, (words, make) in enumerate(TABLES.items(), 1) for line in figures(i, words, make())),
        ANSWER,
    ]
    (RESULTS / "pg.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
