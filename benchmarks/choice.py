"""What backs the choice of a method: the figures of `sfumato compare` for common requirements on four tables.

``python -m benchmarks.choice`` writes results/choice.md: for each table and requirement the methods that may be
chosen and those that are refuted for it, what each loses, and which one the rule takes.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.aware import NOT_IN_UNIVERSE
from sfumato import datasets
from sfumato.publisher.choose import choose

RESULTS = Path(__file__).parent / "results" / "choice.md"
HEAD = """# Which method by itself

Written by `python -m benchmarks.choice`. Each line is a release, measured by `sfumato compare`. loss: the share of
information that the labels hide; queries: the median relative error of random count queries; correl.: the average
change of Cramér's V; gain: by how much an adversary is surer of the worst person's value. trial: the loss of the trial
by which the rule chooses, on the same quasi-identifiers with the sensitive values dealt out at random. Bold: chosen.
refuted: never chosen, for comparison.
"""
REQUIRED: dict[str, list[Any]] = {
    "k = 5": [sf.KAnonymity(k=5)],
    "l = 2": [sf.LDiversity(l=2)],
    "l = 3": [sf.LDiversity(l=3)],
    "k = 5, l = 2": [sf.KAnonymity(k=5), sf.LDiversity(l=2)],
    "k = 5, l = 3": [sf.KAnonymity(k=5), sf.LDiversity(l=3)],
}
METHODS = ("mondrian", "mondrian+", "mondrian++", "mondrian-blur", "hilb-safe", "incognito", "local-recoding")


def adult() -> sf.Microdata:
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
    trees = datasets.adult_taxonomies()
    rows = datasets.adult().filter(pl.col("split") == "train")
    given = {n: trees[n] for n in quasi if n in trees}
    return sf.read(rows, quasi=quasi, sensitive="occupation", class_="income", taxonomies=given)


def census() -> sf.Microdata:
    quasi = ["age", "sex", "education", "marital-status", "race", "class-of-worker", "country"]
    people = datasets.census_income().filter(pl.col("occupation").cast(pl.String) != NOT_IN_UNIVERSE)
    rows = people.sample(60_000, seed=1)
    return sf.read(rows, quasi=quasi, sensitive="occupation", class_="income")


def german() -> sf.Microdata:
    quasi = ["age", "personal-status", "job", "housing", "residence-since"]
    return sf.read(datasets.german(), quasi=quasi, sensitive="purpose", class_="risk")


def hospital() -> sf.Microdata:
    trees: dict[str, Any] = {"zip": {"mask": "right"}}
    quasi = ["age", "sex", "zip", "job"]
    return sf.read(datasets.hospital(), quasi=quasi, sensitive="diagnosis", class_="readmitted", taxonomies=trees)


TABLES = {"Adult": adult, "census-income, 60,000 rows": census, "German Credit": german, "hospital": hospital}


def lines(names: list[str]) -> Iterator[str]:
    """The report, table by table."""
    yield HEAD
    for name in names:
        table = TABLES[name]()
        yield f"\n## {name} ({table.rows:,} rows, {len(table.quasi)} quasi-identifiers)\n"
        yield "| required | method | loss | trial | queries | correl. | gain | |"
        yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
        for words, required in REQUIRED.items():
            yield from measured(words, table, required)


def measured(words: str, table: sf.Microdata, required: list[Any]) -> Iterator[str]:
    """One requirement: a line per method."""
    known = _known()
    choice = choose(table, required)
    found = sf.compare(table, require=required, methods=known, workers=1)
    for row in found.frame.sort("refuted", "loss").iter_rows(named=True):
        if row["loss"] is None:
            continue
        name = f"**{row['method']}**" if row["method"] == choice.method.name else row["method"]
        tried = choice.losses.get(row["method"])
        cells = [_share(row["loss"]), _share(tried), _share(row["query_error"]), _share(row["correlation"])]
        cells += [_share(row["gain_worst"]), "refuted" if row["refuted"] else ""]
        yield f"| {words} | {name} | {' | '.join(cells)} |"


def _known() -> list[str]:
    from sfumato.method.catalogue import METHODS as CATALOGUE

    return [m for m in METHODS if m in CATALOGUE]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def main() -> None:
    """Measure all tables, or those named, and write the report."""
    if not os.environ.get("SFUMATO_DATA"):
        sys.exit(
            "SKIPPED: set SFUMATO_DATA to the folder with the public tables; sfumato.datasets says where to get them"
        )
    names = [n for n in TABLES if not sys.argv[1:] or any(n.lower().startswith(a) for a in sys.argv[1:])]
    text = []
    for line in lines(names):
        print(line, flush=True)
        text.append(line)
    if len(names) == len(TABLES):
        RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
