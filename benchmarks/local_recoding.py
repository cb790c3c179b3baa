"""Local recoding: speed on a million rows, growth with the rows, and granularity on Adult beside ARX's."""

import time
from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.aware import QUASI as CENSUS
from benchmarks.incognito import coded
from benchmarks.measure import Line, median_time
from benchmarks.tables import arx_table
from sfumato import datasets
from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.method.base import PartitionMethod, silent
from sfumato.release.scheme.group_labels import show

ROWS = (100_000, 300_000, 1_000_000, 3_000_000)
ARX = {("salary-class", 5): 0.9707, ("salary-class", 10): 0.9558, ("salary-class", 50): 0.9047} | {
    ("occupation", 5): 0.9485, ("occupation", 10): 0.9253, ("occupation", 50): 0.8546
}  # fmt: skip
BARS = {("salary-class", 5): 0.973, ("salary-class", 10): 0.959, ("salary-class", 50): 0.908} | {
    ("occupation", 5): 0.952, ("occupation", 10): 0.930, ("occupation", 50): 0.860
}  # fmt: skip


def decided(table: sf.Microdata, k: int, method: PartitionMethod | None = None) -> tuple[Counts, Grouping]:
    """From coded columns to the groups, by local recoding unless another method is given."""
    counts = LocalEngine(table).count([])
    decision = (method or sf.LocalRecoding()).decide(counts, [sf.KAnonymity(k=k)], Draws(), silent)
    return counts, decision.grouping


def lines() -> Iterator[Line]:
    """From coded columns to groups, against a Polars group_by over the eight quasi-identifiers."""
    table = coded(datasets.adult_million())
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    for k, target in ((5, 80.0), (50, 120.0)):
        ours = median_time(lambda k=k: decided(table, k), repeats=3)
        floor = median_time(lambda: codes.group_by(codes.columns).len())
        yield Line(f"local-recoding, k = {k}", table.rows, ours, "Polars group_by over the eight QIs", floor, target)


def more() -> str:
    """Growth with the number of rows, and granularity."""
    return f"{growth()}\n{quality()}\n{census()}"


def growth() -> str:
    """Seconds for each number of rows; the exponent is that of the growth since the row above."""
    out = ["## Growth, k = 5", "", "| rows | distinct | seconds | exponent |", "| ---: | ---: | ---: | ---: |"]
    before: tuple[int, float] | None = None
    for rows in ROWS:
        table = coded(datasets.adult_million(rows))
        begin = time.perf_counter()
        counts, _ = decided(table, 5)
        took = time.perf_counter() - begin
        exponent = f"{np.log(took / before[1]) / np.log(rows / before[0]):.2f}" if before else ""
        out.append(f"| {rows:,} | {len(counts):,} | {took:.2f} | {exponent} |")
        before = rows, took
    return "\n".join(out) + "\n"


def quality() -> str:
    """Granularity on Adult's 30,162 rows, eight quasi-identifiers, ARX's hierarchies, with the default settings."""
    out = [
        "## Granularity on Adult, 30,162 rows, eight QIs, ARX's hierarchies",
        "",
        "| eighth QI | k | nodes | bar | | ARX 3.9.2 at its best | sets of siblings |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    train = coded(datasets.adult().filter(pl.col("split") == "train"))
    for eighth, table in (("salary-class", train), ("occupation", arx_table())):
        for k in (5, 10, 50):
            found = decided(table, k)
            nodes, sets = (granularity(*found, sets=s) for s in (False, True))
            bar = BARS[eighth, k]
            verdict = "met" if nodes >= bar else "MISSED"
            out.append(f"| {eighth} | {k} | {nodes:.5f} | {bar:.3f} | {verdict} | {ARX[eighth, k]:.4f} | {sets:.4f} |")
    return "\n".join(out) + "\n"


def census() -> str:
    """Granularity with node labels on Census-Income beside mondrian's: a check on a table that nothing was tuned on."""
    out = [
        "## Granularity on Census-Income, 299,285 rows, seven QIs, ages by 5, 10, 20 ... years, else flat trees, nodes",
        "",
        "| k | local-recoding | mondrian, strict | mondrian, relaxed |",
        "| ---: | ---: | ---: | ---: |",
    ]
    table = sf.read(datasets.census_income(), quasi=CENSUS, taxonomies={"age": {"width": 5}})
    for k in (5, 10, 50):
        methods = (sf.LocalRecoding(), sf.Mondrian(), sf.Mondrian(strict=False))
        found = [granularity(*decided(table, k, method), sets=False) for method in methods]
        out.append(f"| {k} | {' | '.join(f'{x:.4f}' for x in found)} |")
    return "\n".join(out) + "\n"


def granularity(counts: Counts, grouping: Grouping, *, sets: bool) -> float:
    """1 minus the mean of (values covered - 1) / (values - 1) over people and attributes."""
    lost, people = [], grouping.published(counts)  # a relaxed cut may divide the people of a vector
    for s, c in zip(show(people, grouping.group, grouping.groups, sets=sets), counts.quasi, strict=True):
        values = s.shares[s.of_group] * c.size
        lost.append(np.average(np.maximum(values - 1, 0) / (c.size - 1), weights=grouping.sizes))
    return 1 - float(np.mean(lost))


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
    print(more())
