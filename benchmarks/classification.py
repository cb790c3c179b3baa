"""Speed of the learners on Adult: 30,162 training rows, 14 attributes."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.analyst.c45 import C45
from sfumato.analyst.features import examples
from sfumato.analyst.learners import EntropyTree


def lines() -> Iterator[Line]:
    """From coded rows to a pruned tree and its predictions, against a Polars group_by of the same columns."""
    frame = datasets.adult()
    coded = examples(frame.filter(split="train").drop("split"), frame.filter(split="test").drop("split"), "income")
    codes = pl.DataFrame({f.name: f.codes for f in coded.features})
    floor = median_time(lambda: codes.group_by(codes.columns).len())
    other = median_time(lambda: EntropyTree().predict(coded))
    wrong = {name: 100 * np.mean(by.predict(coded) != coded.held_out) for name, by in _LEARNERS.items()}
    yield Line(
        f"C4.5, grown and pruned, error {wrong['c45']:.2f}%",
        len(coded.label),
        median_time(lambda: C45().predict(coded)),
        "Polars group_by of the 14 columns",
        floor,
        peer=f"scikit-learn's entropy tree {other:.2f} s, error {wrong['tree']:.2f}%",
    )


_LEARNERS = {"c45": C45(), "tree": EntropyTree()}
