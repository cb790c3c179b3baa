"""Speed of randomized response: the solver against one decision tree, the draws against copying the rows."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks import tables
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.engine.base import Randomized
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine, as_published
from sfumato.method.rr.optimize import Mode
from sfumato.table.distortion import Distortion

EMGR = ["education", "marital-status", "sex", "race"]
MODES: tuple[Mode, ...] = ("qi", "both", "sensitive")


def lines() -> Iterator[Line]:
    """Everything that has a target."""
    yield from solving()
    yield from drawing()


def solving() -> Iterator[Line]:
    """Problem 1 on EMGRW, all starts, against one entropy tree on the same columns of the same 30,162 rows."""
    from sklearn.tree import DecisionTreeClassifier

    frame = datasets.adult().filter(pl.col("split") == "train")
    table = sf.read(frame, quasi=EMGR, sensitive="workclass")
    features = np.stack([c.codes for c in table.quasi], axis=1).astype(np.float32)
    target = table["workclass"].codes
    for mode in MODES:
        for l in (2, 3, 4, 5):
            tree = median_time(lambda: DecisionTreeClassifier(criterion="entropy").fit(features, target))
            ours = median_time(lambda m=mode, l=l: _solved(table, l, m))
            work = f"optimal response, {mode}, l = {l}"
            yield Line(work, table.rows, ours, "scikit-learn entropy tree", tree, 2.0)


def _solved(table: sf.Microdata, l: int, mode: Mode) -> object:
    """The optimum, or the finding that there is none."""
    try:
        return sf.optimal_response(table, tau=1 / l, mode=mode)
    except sf.Infeasible as e:
        return e


def drawing(rows: int = 1_000_000) -> Iterator[Line]:
    """Randomize eight columns of a million rows, against Polars copying and writing them.

    Copy-and-write: gather the eight columns in a random order (a copy of every row, as a release needs one) and write
    the parquet file. A release has a csv file too, which takes Polars four times as long and would flatter us.
    Randomizing, which has the target: from coded columns to the shuffled table; the second line writes it as well.
    """
    frame = tables.million(rows)
    names = frame.columns
    table = sf.read(frame, quasi=[n for n in names if n != tables.SENSITIVE], sensitive=tables.SENSITIVE)
    ways = {n: Distortion.keeping(0.8, c.size, what=n) for n, c in table.columns.items()}
    plain = pl.DataFrame([as_published(c) for c in table.columns.values()])
    order = np.random.default_rng(0).permutation(rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.parquet"
        copied = median_time(lambda: plain[order].write_parquet(file))
        engine, outputs = LocalEngine(table), [Randomized(name, way) for name, way in ways.items()]
        drawn = median_time(lambda: engine.publish(outputs, Draws()))
        written = median_time(lambda: engine.publish(outputs, Draws()).write_parquet(file))
    yield Line("randomize 8 columns", rows, drawn, "Polars copy-and-write", copied, 2.0)
    yield Line("randomize 8 columns and write", rows, written, "Polars copy-and-write", copied)


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
