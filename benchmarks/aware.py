"""Speed of the methods that survive an aware adversary, on Census-Income, l = 4."""

from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.method.base import PartitionMethod
from sfumato.release.judgement import bind

QUASI = ["age", "sex", "education", "marital-status", "race", "class-of-worker", "country"]
NOT_IN_UNIVERSE = "0"

TARGETS: list[tuple[PartitionMethod, float | None]] = [
    (sf.Anatomy(), 2.0),
    (sf.HilbSafe(), 2.0),
    (sf.MondrianPlus(), 4.0),
    (sf.MondrianPlusPlus(), 4.0),
    (sf.Hilb(), None),
    (sf.HilbPlus(), None),
    (sf.HilbPlusPlus(), None),
]


def census() -> sf.Microdata:
    """Census-Income, the rows with an occupation.

    Occupation 0, not in universe, has 50.4% of the 299,285 rows, so the whole table is not even 2-eligible.
    """
    frame = datasets.census_income().filter(pl.col("occupation").cast(pl.String) != NOT_IN_UNIVERSE)
    return sf.read(frame, quasi=QUASI, sensitive="occupation")


def lines() -> Iterator[Line]:
    """From coded columns to groups, against a Polars sort of the seven quasi-identifiers."""
    table = census()
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    sort = median_time(lambda: codes.sort(codes.columns))
    bound = bind([sf.LDiversity(l=4)], table)
    for method, target in TARGETS:
        ours = median_time(lambda m=method: m.draw(table, bound))
        yield Line(f"{method.name}, l = 4", table.rows, ours, "Polars sort of the seven QIs", sort, target)
    for name, rows in (("mask++, k = 50, m = 3", table), ("mask++, k = 50, m = 3, all rows", everybody())):
        codes = pl.DataFrame({c.name: c.codes for c in rows.quasi})
        sort = median_time(lambda c=codes: c.sort(c.columns))
        three = bind([sf.MConfidentiality(m=3)], rows)
        ours = median_time(lambda r=rows, b=three: sf.MaskPlusPlus(k=50).draw(r, b))
        yield Line(name, rows.rows, ours, "Polars sort of the seven QIs", sort, 6.0)


def everybody() -> sf.Microdata:
    """All 299,285 rows of Census-Income; MASK perturbs, so it needs no eligible table."""
    return sf.read(datasets.census_income(), quasi=QUASI, sensitive="occupation")


def more() -> str:
    """How the cost grows: seconds, and nanoseconds per row and binary digit of the number of rows."""
    frame = datasets.census_income().filter(pl.col("occupation").cast(pl.String) != NOT_IN_UNIVERSE)
    sizes = [100_000, 300_000, 1_000_000, 3_000_000]
    large = datasets.blow_up(frame, QUASI, -(-sizes[-1] // frame.height), np.random.default_rng(1))
    methods: list[PartitionMethod] = [m for m, _ in TARGETS] + [sf.MaskPlusPlus(k=50)]
    took: dict[str, list[float]] = {m.name: [] for m in methods}
    for size in sizes:
        table = sf.read(large.sample(size, seed=1), quasi=QUASI, sensitive="occupation")
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
