"""How to load a release in Polars, pandas and R: code for its own files, columns and noise."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from sfumato.release.manifest import LabelAttribute, Manifest
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.table.encode import Kind, Role


class Code(NamedTuple):
    """Code to run in the folder of the release."""

    language: str
    what: str
    text: str


def loading(manifest: Manifest) -> list[Code]:
    """Code that loads the tables, and that does what a reader of this scheme needs first."""
    tables = list(SCHEMES[manifest.scheme].columns_of(manifest))
    told = [
        Code("Polars", "Load the tables", _loads(tables, "import polars as pl", "{0} = pl.read_parquet({1})")),
        Code(
            "pandas",
            "Load the tables; needs pyarrow",
            _loads(tables, "import pandas as pd", "{0} = pd.read_parquet({1})"),
        ),
        Code(
            "R",
            "Load the tables; needs the package arrow",
            _loads(tables, "library(arrow)", "{0} <- read_parquet({1})"),
        ),
        *_next_steps(manifest),
    ]
    parted = sorted({file.name for file in manifest.tables or () if "/" in file.file})
    return [code._replace(text=_of_parts(code.text, parted)) for code in told]


def _of_parts(text: str, tables: Sequence[str]) -> str:
    """The same code for tables that are folders of parts."""
    for name in tables:
        text = text.replace(f'pl.read_parquet("{name}.parquet")', f'pl.read_parquet("{name}/*.parquet")')
        text = text.replace(f'pd.read_parquet("{name}.parquet")', f'pd.read_parquet("{name}")')
        text = text.replace(f'<- read_parquet("{name}.parquet")', f'<- dplyr::collect(open_dataset("{name}"))')
    return text


def _loads(tables: Sequence[str], first: str, line: str) -> str:
    return "\n".join([first, "", *(line.format(name, f'"{name}.parquet"') for name in tables)])


def _next_steps(manifest: Manifest) -> list[Code]:
    scheme = SCHEMES[manifest.scheme]
    if scheme.separates:
        return [Code("Polars", "Estimate how often a value and a quasi-identifier occur together", _linked(manifest))]
    found = [_ends(name, a) for name, a in manifest.labelled.items() if _measured(a)][:1]
    if scheme.rows_are_groups and manifest.settings.get("p"):
        found.append(Code("Polars", "Reconstruct how many people have each value", _sampled(manifest)))
    noisy = [name for name in manifest.matrices if len(manifest.domain(name)) > 1]
    found += [Code("Polars", f"Reconstruct how many rows have each value of {n}", _reconstructed(n)) for n in noisy[:1]]
    return found


def _measured(entry: LabelAttribute) -> bool:
    """Whether labels are intervals of numbers."""
    return entry.kind is Kind.CONTINUOUS and any(
        isinstance(m, list | tuple) and len(m) == 2 and any(isinstance(end, int | float) for end in m)
        for m in entry.nodes.values()
    )


def _ends(name: str, entry: LabelAttribute) -> Code:
    text = f"""
import json
import polars as pl

data = pl.read_parquet("data.parquet")
column = {_quoted(name)}
with open("manifest.json", encoding="utf-8") as file:
    nodes = json.load(file)["attributes"][column]["nodes"]
is_end = lambda end: end is None or isinstance(end, int | float)
ends = {{label: m for label, m in nodes.items() if m and len(m) == 2 and all(map(is_end, m))}}
for place, name in enumerate(["low", "high"]):
    known = pl.DataFrame({{
        column: list(ends),
        f"{{column}} {{name}}": pl.Series([m[place] for m in ends.values()], dtype=pl.Float64),
    }})
    data = data.with_columns(pl.col(column).cast(pl.String)).join(known, on=column, how="left", maintain_order="left")
"""
    return Code(
        "Polars", f"The ends of the intervals of {name} as numbers; null where a side is open", text.strip("\n")
    )


def _linked(manifest: Manifest) -> str:
    quasi = manifest.with_role(Role.QUASI)[0]
    sensitive = manifest.with_role(Role.SENSITIVE)[0]
    return f"""
import polars as pl

quasi, sensitive = pl.read_parquet("quasi.parquet"), pl.read_parquet("sensitive.parquet")
share = pl.col("count") / pl.col("count").sum().over("group")
linked = quasi.join(sensitive.with_columns(share.alias("expected")), on="group")
table = linked.group_by({_quoted(quasi)}, {_quoted(sensitive)}).agg(pl.col("expected").sum())
""".strip("\n")


def _sampled(manifest: Manifest) -> str:
    (name,) = manifest.with_role(Role.SENSITIVE)
    return f"""
import json
import polars as pl

data = pl.read_parquet("data.parquet")
column = {_quoted(name)}
with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
p, domain = manifest["method"]["p"], manifest["attributes"][column]["domain"]
shown = dict(data.group_by(pl.col(column).cast(pl.String).fill_null("(missing)")).agg(pl.col("G").sum()).iter_rows())
people = data["G"].sum()
estimate = {{value: (shown.get(value, 0) - (1 - p) / len(domain) * people) / p for value in domain}}
""".strip("\n")


def _reconstructed(name: str) -> str:
    return f"""
import json
import numpy as np
import polars as pl

data = pl.read_parquet("data.parquet")
column = {_quoted(name)}
with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
domain, noise = manifest["attributes"][column]["domain"], manifest["matrices"][column]
if "matrix" in noise:
    matrix = np.array(noise["matrix"])
else:
    size, keep = len(domain), noise["keep"]
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
shown = dict(data[column].cast(pl.String).fill_null("(missing)").value_counts(name="rows").iter_rows())
estimate = dict(zip(domain, np.linalg.solve(matrix, [shown.get(value, 0) for value in domain])))
""".strip("\n")


def _quoted(name: str) -> str:
    """A name as a Python string."""
    return json.dumps(name, ensure_ascii=False)
