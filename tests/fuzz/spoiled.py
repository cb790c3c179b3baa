"""Changes of the tables of a release and of the folder that holds it."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

Rng = np.random.Generator
Tables = dict[str, pl.DataFrame]


def _one(rng: Rng, tables: Tables) -> tuple[str, pl.DataFrame, str]:
    name = sorted(tables)[int(rng.integers(len(tables)))]
    frame = tables[name]
    return name, frame, frame.columns[int(rng.integers(frame.width))]


def raw_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    """A sensitive column goes into the table of quasi-identifiers, or a new one into any."""
    name = sorted(tables)[int(rng.integers(len(tables)))]
    values = rng.choice(["flu", "HIV"], tables[name].height)
    tables[name] = tables[name].with_columns(pl.Series(str(rng.choice(["ill", "name", "group", "raw"])), values))


def repeated_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = pl.concat([frame, frame.head(int(rng.integers(1, frame.height + 1)))])
    if rng.random() < 0.5 and name != "sensitive":
        m["rows"] = tables[name].height


def fewer_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame.head(int(rng.integers(0, frame.height)))
    if rng.random() < 0.5 and name != "sensitive":
        m["rows"] = tables[name].height


def constant(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    value = frame[column][int(rng.integers(frame.height))]
    tables[name] = frame.with_columns(pl.lit(value, dtype=frame[column].dtype).alias(column))


def moved_cell(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    values = frame[column].to_list()
    values[int(rng.integers(len(values)))] = values[int(rng.integers(len(values)))]
    tables[name] = frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))


def shuffled_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    tables[name] = frame.with_columns(frame[column][rng.permutation(frame.height)])


def odd_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    n = frame.height
    choices: list[pl.Series] = [
        pl.Series(column, ["many"] * n),
        pl.Series(column, [None] * n),
        pl.Series(column, [10**10] * n),
        pl.Series(column, [-1] * n),
        pl.Series(column, [0] * n),
        pl.Series(column, [2**63 - 1] * n),
        pl.Series(column, [1.5] * n),
        pl.Series(column, [float("nan")] * n),
        pl.Series(column, [True] * n),
        pl.Series(column, [b"x"] * n),
        pl.Series(column, [[1]] * n),
        pl.Series(column, [{"a": 1}] * n),
        pl.Series(column, [f"{i}" for i in range(n)]),
    ]
    tables[name] = frame.with_columns(choices[int(rng.integers(len(choices)))])


def shuffled_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame[rng.permutation(frame.height)]


def other_order(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame.select(frame.columns[::-1])


def lost_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    tables[name] = frame.drop(column)


TABLES = [
    raw_column, repeated_rows, fewer_rows, constant, moved_cell, moved_cell, shuffled_column, odd_column, odd_column,
    shuffled_rows, other_order, lost_column,
]  # fmt: skip


def raw_file(rng: Rng, folder: Path) -> None:
    (folder / str(rng.choice(["raw.csv", ".hidden", "data.csv.bak", "manifest.json~"]))).write_text("name,ill\nA,HIV\n")


def subfolder(rng: Rng, folder: Path) -> None:
    (folder / "private").mkdir()


def linked(rng: Rng, folder: Path) -> None:
    file = sorted(folder.iterdir())[int(rng.integers(3))]
    file.rename(folder.parent / "elsewhere")
    file.symlink_to(folder.parent / "elsewhere")


def gone(rng: Rng, folder: Path) -> None:
    named = sorted(file for file in folder.iterdir() if file.name != "README.html")  # a release needs no page
    named[int(rng.integers(3))].unlink()


def flipped(rng: Rng, folder: Path) -> None:
    file = sorted(folder.iterdir())[int(rng.integers(3))]
    content = bytearray(file.read_bytes())
    content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(content))


FOLDER = [raw_file, subfolder, linked, gone, flipped]
