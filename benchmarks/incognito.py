"""Speed of full-domain search on a million rows, and its optimum on Adult next to an enumeration of the lattice."""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from sfumato import datasets

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income"]
SENSITIVE = "occupation"
PEER = "ARX 3.9.2 on these rows: about 50 s CPU, measured once on another day"


def coded(frame: pl.DataFrame) -> sf.Microdata:
    """Adult's eight quasi-identifiers with ARX's hierarchies, 4,320 nodes, and the occupation."""
    trees = {n: datasets.arx_hierarchy("salary-class" if n == "income" else n) for n in QUASI}
    return sf.read(frame.select(*QUASI, SENSITIVE), quasi=QUASI, sensitive=SENSITIVE, taxonomies=trees)


@cache
def adult() -> sf.Microdata:
    """ARX's Adult: the 30,162 train rows."""
    return coded(datasets.adult().filter(pl.col("split") == "train"))


def lines() -> Iterator[Line]:
    """From coded columns to the optimum, against a Polars group_by over the eight quasi-identifiers."""
    for table, target, known in ((coded(datasets.adult_million()), 25.0, PEER), (adult(), None, "")):
        codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
        floor = median_time(lambda c=codes: c.group_by(c.columns).len())
        for words, required, limit, peer in (
            ("k = 5, 5% suppression", [sf.KAnonymity(k=5)], target, known),
            ("k = 5, entropy 3-diversity, 5%", [sf.KAnonymity(k=5), sf.LDiversity(l=3, variant="entropy")], None, ""),
        ):
            ours = median_time(lambda t=table, r=required: sf.incognito(t, require=r, suppression=0.05))
            yield Line(
                f"incognito, {words}", table.rows, ours, "Polars group_by over the eight QIs", floor, limit, peer
            )


def enumerate_adult(k: int = 5, suppression: float = 0.05) -> dict[tuple[int, ...], tuple[float, int]]:
    """ARX's Loss and the suppressed rows of every node of Adult's lattice within the limit, the slow way."""
    table = adult()
    paths = [[c.domain.path(code) for code in range(c.size)] for c in table.quasi]
    height = [max(len(p) for p in column) for column in paths]
    found = {}
    for levels in itertools.product(*(range(h) for h in height)):
        labels, shares = {}, {}
        for c, column, level in zip(table.quasi, paths, levels, strict=True):
            shown = np.array([p[level] for p in column])
            below = {label: int((shown == label).sum()) / c.size for label in set(shown)}
            labels[c.name] = np.unique(shown, return_inverse=True)[1][c.codes]
            shares[f"share of {c.name}"] = np.array([below[label] for label in shown])[c.codes]
        frame = pl.DataFrame(labels | shares).with_columns(size=pl.len().over(QUASI))
        lost = int((frame["size"] < k).sum())
        if lost <= suppression * table.rows:
            found[levels] = (_loss(frame, k), lost)
    return found


def _loss(frame: pl.DataFrame, k: int) -> float:
    """ARX's Loss, straight from its formula."""
    product, n = 1.0, frame.height
    for c in adult().quasi:
        total = frame.select(pl.when(pl.col("size") < k).then(1.0).otherwise(f"share of {c.name}").sum()).item()
        product *= 1 + (total - n / c.size) / (n - n / c.size)
    return float(product ** (1 / len(QUASI)) - 1)


def verify() -> str:
    """Compare the optimum on Adult with the enumeration of all 4,320 nodes; raises if they differ."""
    best = sf.incognito(adult(), require=sf.KAnonymity(k=5), suppression=0.05)
    nodes = enumerate_adult()
    loss, levels = min((loss, levels) for levels, (loss, _) in nodes.items())
    if levels != tuple(best.levels.values()) or abs(loss - best.loss) > 1e-9 or nodes[levels][1] != best.suppressed:
        raise AssertionError(f"search found {best}, enumeration {levels} with {loss}")
    return f"{best.levels}: loss {best.loss:.6f}, {best.suppressed} rows suppressed, {best.looked_at} nodes looked at"


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
    print(verify())
