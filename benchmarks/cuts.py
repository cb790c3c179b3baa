"""What mondrian's choice of cuts loses and costs: ``median`` beside ``saving``, on Adult, Census-Income and codes.

``python -m benchmarks.cuts`` writes benchmarks/results/cuts.md. Seconds are the least CPU time of three runs, from
coded columns to groups.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks import growth, tables
from benchmarks.aware import QUASI as CENSUS
from benchmarks.incognito import coded
from benchmarks.local_recoding import ARX, decided, granularity
from sfumato import datasets


def measured() -> Iterator[tuple[str, sf.Microdata, dict[int, str]]]:
    """The tables, and what ARX reaches on them at its best, with nodes."""
    for eighth, table in (
        ("salary-class", coded(datasets.adult().filter(pl.col("split") == "train"))),
        ("occupation", tables.arx_table()),
    ):
        peers = {k: f"{found:.4f}" for (name, k), found in ARX.items() if name == eighth}
        yield f"Adult, 30,162 rows, eight QIs, {eighth} among them, ARX's hierarchies", table, peers
    yield "Adult, 45,222 rows, seven QIs", tables.coded(tables.adult()), {}
    census = sf.read(datasets.census_income(), quasi=CENSUS, taxonomies={"age": {"width": 5}})
    yield "Census-Income, 299,285 rows, seven QIs, ages by 5, 10, 20 … years, else no taxonomies", census, {}
    for values in (100, 1_000, 10_000):
        made = sf.read(growth.flat(growth.ROWS, values), quasi=["code", "age", "sex"])
        yield (
            f"made up, 200,000 rows: age, sex, a code of {values:,} equally frequent values, no taxonomy",
            made,
            {},
        )


def cell(table: sf.Microdata, k: int, *, sets: bool, cuts: str) -> str:
    """Granularity, groups and seconds of one way to cut."""
    method = sf.Mondrian(labels="siblings" if sets else "nodes", cuts=cuts)  # type: ignore[arg-type]
    counts, grouping = decided(table, k, method)
    took = growth.least(lambda: decided(table, k, method))
    return f"{granularity(counts, grouping, sets=sets):.4f} | {grouping.groups:,} | {took:.3f}"


def table() -> str:
    """All of it as Markdown."""
    out = [
        "# mondrian: cuts at the median beside those that save most",
        "",
        "Granularity: 1 minus the mean of (values covered - 1) / (values - 1) over people and quasi-identifiers.",
        "",
        "| table | k | labels | median | groups | CPU s | saving | groups | CPU s | ARX 3.9.2 at its best, nodes |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, microdata, peers in measured():
        for k in (5, 10, 50):
            for sets in (True, False):
                both = " | ".join(cell(microdata, k, sets=sets, cuts=cuts) for cuts in ("median", "saving"))
                out.append(f"| {name} | {k} | {'sets' if sets else 'nodes'} | {both} | {peers.get(k, '')} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    text = table()
    (Path(__file__).parent / "results" / "cuts.md").write_text(text, encoding="utf-8")
    print(text)
