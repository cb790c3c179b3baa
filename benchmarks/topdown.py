"""Speed of top-down refinement on Adult blown up as in Fung's sections 4.4.3 and 5.4.2, from codes to the final cut."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from sfumato import datasets

ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
ADULT += ["race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"]
ROWS = 1_000_000
REQUIREMENTS = 30
SIZES = (200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000)


@cache
def blown_up(rows: int, varied: tuple[str, ...]) -> pl.DataFrame:
    """Adult and variations of its records over some attributes."""
    frame = datasets.adult()
    return datasets.blow_up(frame, varied, -(-rows // frame.height), np.random.default_rng(2025)).head(rows)


def for_tdr(rows: int) -> sf.Microdata:
    """All 14 attributes: eight along taxonomies, six continuous."""
    frame = blown_up(rows, tuple(ADULT))
    return sf.read(frame, quasi=ADULT, class_="income", taxonomies=datasets.adult_taxonomies())


def for_tdd(rows: int) -> tuple[sf.Microdata, list[str]]:
    """The categorical attributes without taxonomies, the top one (marital-status) sensitive; its rarer half."""
    categorical = [name for name in ADULT if name in datasets.adult_taxonomies() and name != "marital-status"]
    frame = blown_up(rows, tuple(categorical))
    counts = frame["marital-status"].value_counts().sort("count", "marital-status")
    rare = counts["marital-status"].to_list()[: counts.height // 2]
    return sf.read(frame, quasi=categorical, sensitive="marital-status", class_="income"), rare


def group_by(table: sf.Microdata) -> float:
    """The floor: one Polars group_by over the quasi-identifiers."""
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    return median_time(lambda: codes.group_by(codes.columns).len())


def drawn(names: Sequence[str], number: tuple[int, int], length: tuple[int, int], seed: int) -> list[list[list[str]]]:
    """Random requirements: so many X of one length, a repeated one discarded."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(REQUIREMENTS):
        count, width = rng.integers(*number, endpoint=True), rng.integers(*length, endpoint=True)
        xs = {tuple(sorted(rng.choice(len(names), width, replace=False).tolist())) for _ in range(count)}
        out.append([[names[i] for i in x] for x in sorted(xs)])
    return out


def refine(table: sf.Microdata, templates: Sequence[sf.Anonymity | sf.Confidentiality]) -> float:
    """The median time of one refinement to its end."""
    return median_time(lambda: sf.TopDown(templates=templates).finish(table), repeats=3)


def average(table: sf.Microdata, requirements: Sequence[Sequence[sf.Anonymity | sf.Confidentiality]]) -> float:
    """The mean time over requirements, once each."""
    return float(
        np.mean([median_time(lambda r=r: sf.TopDown(templates=r).finish(table), repeats=1) for r in requirements])
    )


def lines() -> Iterator[Line]:
    """TDR and TDD, one template and many, against a Polars group_by of the same columns; then rows against time."""
    table = for_tdr(ROWS)
    floor = group_by(table)
    yield Line(
        "tdr, 14 attributes, k = 50",
        ROWS,
        refine(table, [sf.Anonymity(x=ADULT, k=50)]),
        "Polars group_by, 14",
        floor,
        15,
    )
    many = [[sf.Anonymity(x=x, k=50) for x in xs] for xs in drawn(ADULT, (3, 7), (2, 9), 4)]
    yield Line("tdr, mean of 30 requirements, k = 50", ROWS, average(table, many), "Polars group_by, 14", floor, 30)
    data, rare = for_tdd(ROWS)
    names = [c.name for c in data.quasi]
    floor = group_by(data)
    one = [sf.Confidentiality(x=names, y={"marital-status": rare}, k=0.9)]
    yield Line("tdd, 7 attributes, 90%", ROWS, refine(data, one), "Polars group_by, 7", floor, 15)
    many_conf = [
        [sf.Confidentiality(x=x, y={"marital-status": rare}, k=0.9) for x in xs]
        for xs in drawn(names, (3, 6), (2, 5), 5)
    ]
    yield Line("tdd, mean of 30 requirements, 90%", ROWS, average(data, many_conf), "Polars group_by, 7", floor, 30)
    for rows in SIZES:
        table = for_tdr(rows)
        yield Line("tdr, 14 attributes, k = 50, by rows", rows, refine(table, [sf.Anonymity(x=ADULT, k=50)]))


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
