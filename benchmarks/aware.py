"""Speed of the methods that survive an aware adversary, on Census-Income, l = 4."""

from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks import tables
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.method.base import PartitionMethod
from sfumato.release.judgement import bind

QUASI = ["age", "sex", "education", "marital-status", "race", "class-of-worker", "country"]
NOT_IN_UNIVERSE = "0"
FLOOR = "Polars sort of the seven QIs"

TARGETS: list[tuple[PartitionMethod, float | None]] = [
    (sf.Anatomy(), 2.0),
    (sf.HilbSafe(), 2.0),
    (sf.MondrianPlus(), 4.0),
    (sf.MondrianPlusPlus(), 4.0),
    (sf.MondrianBlur(), 3.0),
    (sf.Hilb(), None),
    (sf.HilbPlus(), None),
    (sf.HilbPlusPlus(), None),
]


def census() -> sf.Microdata:
    """Census-Income, the rows with an occupation.

    Occupation 0, not in universe, makes up 50.4% of the 299,285 rows, so the whole table is not even 2-eligible.
    """
    return sf.read(working(), quasi=QUASI, sensitive="occupation")


def lines() -> Iterator[Line]:
    """From coded columns to groups, against a Polars sort of the seven quasi-identifiers."""
    table = census()
    for people, rows in (("", table), (", blown up", blown_up(everybody().rows))):
        sort = sort_time(rows)
        bound = bind([sf.LDiversity(l=4)], rows)
        for method, target in TARGETS:
            ours = median_time(lambda m=method, r=rows, b=bound: m.draw(r, b))
            yield Line(f"{method.name}, l = 4{people}", rows.rows, ours, FLOOR, sort, target)
    yield from blurred()
    for people, rows in (("", table), (", everybody", everybody())):
        three = bind([sf.MConfidentiality(m=3)], rows)
        ours = median_time(lambda r=rows, b=three: sf.MaskPlusPlus(k=50).draw(r, b))
        yield Line(f"mask++, k = 50, m = 3{people}", rows.rows, ours, FLOOR, sort_time(rows), 6.0)


def blurred() -> Iterator[Line]:
    """mondrian-blur on a million rows of blown-up Adult, k = 5."""
    million = tables.coded(tables.million())
    for l in (2, 3):
        bound = bind([sf.KAnonymity(k=5), sf.LDiversity(l=l)], million)
        ours = median_time(lambda b=bound: sf.MondrianBlur().draw(million, b))
        yield Line(f"mondrian-blur, k = 5, l = {l}, Adult", million.rows, ours, FLOOR, sort_time(million), 3.0)


def sort_time(table: sf.Microdata, repeats: int = 5) -> float:
    """How long one Polars sort of the quasi-identifiers' codes takes."""
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    return median_time(lambda: codes.sort(codes.columns), repeats=repeats)


def blown_up(rows: int) -> sf.Microdata:
    """Rows drawn from 3,114,678: the people with an occupation and 20 variations of each."""
    large = datasets.blow_up(working(), QUASI, 21, np.random.default_rng(1))
    return sf.read(large.sample(rows, seed=1), quasi=QUASI, sensitive="occupation")


def working() -> pl.DataFrame:
    """The rows of Census-Income with an occupation."""
    return datasets.census_income().filter(pl.col("occupation").cast(pl.String) != NOT_IN_UNIVERSE)


def everybody() -> sf.Microdata:
    """All 299,285 rows of Census-Income; MASK perturbs, so the table need not be eligible."""
    return sf.read(datasets.census_income(), quasi=QUASI, sensitive="occupation")


def more() -> str:
    """How the cost grows: seconds, and nanoseconds per row and binary digit of the number of rows."""
    sizes = [100_000, 300_000, 1_000_000, 3_000_000]
    methods: list[PartitionMethod] = [m for m, _ in TARGETS] + [sf.MaskPlusPlus(k=50)]
    took: dict[str, list[float]] = {FLOOR: []} | {m.name: [] for m in methods}
    for size in sizes:
        table = blown_up(size)
        took[FLOOR].append(sort_time(table, repeats=3))
        for method in methods:
            wanted = sf.MConfidentiality(m=3) if isinstance(method, sf.Mask) else sf.LDiversity(l=4)
            bound = bind([wanted], table)
            took[method.name].append(median_time(lambda m=method, t=table, b=bound: m.draw(t, b), repeats=3))
    head = [f"{s:,} rows" for s in sizes] + ["ns / (n log2 n), first to last"]
    out = ["## Growth, l = 4 (mask++: k = 50, m = 3)", "", "| method | " + " | ".join(head) + " |"]
    out.append("| --- |" + " ---: |" * len(head))
    for name, times in took.items():
        each = [1e9 * t / (n * np.log2(n)) for t, n in zip(times, sizes, strict=True)]
        cells = [f"{t:.3f} s" for t in times] + [", ".join(f"{e:.1f}" for e in each)]
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"
