"""Speed of the workload of 10,000 count queries, on Census-Income, l = 4, in both schemes."""

from collections.abc import Iterator

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.aware import NOT_IN_UNIVERSE, QUASI
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.method.base import PartitionMethod

TARGET = 50.0
METHODS: list[PartitionMethod] = [
    sf.MondrianPlusPlus(),
    sf.MondrianPlusPlus(scheme="bucketization"),
    sf.HilbSafe(),
    sf.HilbSafe(scheme="bucketization"),
]


def lines() -> Iterator[Line]:
    """Drawing the queries, the true counts, the estimates and the errors, against a Polars group_by over the QIs.

    As for the methods, on the 148,318 rows with an occupation; query dimension 3, selectivity 5%.
    """
    frame = datasets.census_income().filter(pl.col("occupation").cast(pl.String) != NOT_IN_UNIVERSE)
    table = sf.read(frame, quasi=QUASI, sensitive="occupation")
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    floor = median_time(lambda: codes.group_by(codes.columns).len())
    workload = sf.Workload(dimension=3, selectivity=0.05, queries=10_000)
    for method in METHODS:
        release = sf.publish(table, require=sf.LDiversity(l=4), method=method, rng=np.random.default_rng(1))
        ours = median_time(lambda r=release: sf.relative_errors(r, table, workload))
        work = f"10,000 count queries, {method.name}, {method.scheme}"
        yield Line(work, table.rows, ours, "Polars group_by of the seven QIs", floor, TARGET)


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
