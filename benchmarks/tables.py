"""The tables that the benchmarks work on."""

from functools import cache
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato import datasets

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
SENSITIVE = "occupation"

POLICY = """title = "Blown-up Adult"
[data]
source = "million.csv"
[attributes]
age = {{ role = "quasi", kind = "continuous" }}
{taxonomies}
occupation = {{ role = "sensitive" }}
[[require]]
model = "k-anonymity"
k = 5
[method]
name = "mondrian"
"""


@cache
def million(rows: int = 1_000_000) -> pl.DataFrame:
    """Adult blown up as in Fung's section 4.4.3, the seven quasi-identifiers and the occupation."""
    return datasets.adult_million(rows).select(*QUASI, SENSITIVE)


@cache
def adult() -> pl.DataFrame:
    """Adult's 45,222 rows with the same columns."""
    return datasets.adult().select(*QUASI, SENSITIVE)


def taxonomies() -> dict[str, object]:
    """The trees of the categorical quasi-identifiers."""
    trees = datasets.adult_taxonomies()
    return {name: trees[name] for name in QUASI if name in trees}


def coded(frame: pl.DataFrame) -> sf.Microdata:
    """A frame as microdata."""
    return sf.read(frame, quasi=QUASI, sensitive=SENSITIVE, taxonomies=taxonomies())


def write_job(folder: Path, rows: int = 1_000_000) -> Path:
    """A million rows, or others, as csv with taxonomies and a policy, ready for `sfumato publish`."""
    import json

    million(rows).write_csv(folder / "million.csv")
    for name, tree in taxonomies().items():
        (folder / f"{name}.json").write_text(json.dumps(tree))
    entries = "\n".join(f'{n} = {{ role = "quasi", taxonomy = "{n}.json" }}' for n in taxonomies())
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(taxonomies=entries))
    return policy


def arx_table() -> sf.Microdata:
    """ARX's Adult: the 30,162 train rows, eight quasi-identifiers with ARX's own hierarchies."""
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    frame = datasets.adult().filter(pl.col("split") == "train").select(names)
    return sf.read(frame, quasi=names, taxonomies={n: datasets.arx_hierarchy(n) for n in names})
