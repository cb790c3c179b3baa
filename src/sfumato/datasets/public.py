"""Public tables that benchmarks and reproductions use, read from the folder that ``SFUMATO_DATA`` names.

They are not bundled. If one is missing, the error says where to get it and what it must look like.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sfumato.errors import DataError

_VARIABLE = "SFUMATO_DATA"
_UCI = "the UCI Machine Learning Repository (https://archive.ics.uci.edu)"


class _Table(NamedTuple):
    """A file expected in the folder: its name in the repository and what it must contain."""

    file: str
    title: str
    rows: str
    header: str  # the columns' names, separated by spaces

    @property
    def columns(self) -> list[str]:
        """Its columns."""
        return self.header.split()

    @property
    def origin(self) -> str:
        """Where the file comes from and what it must look like."""
        columns = ", ".join(self.columns)
        return f'get "{self.title}" from {_UCI} and store it as {self.rows}; columns {columns}'


_ADULT = _Table(
    "adult.csv",
    "Adult",
    "the 45,222 rows without missing values, split = train (30,162) or test (15,060)",
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income split",
)
_GERMAN = _Table(
    "german.csv",
    "Statlog (German Credit Data)",
    "1,000 rows, codes as in german.data, risk = good or bad",
    "account-status duration credit-history purpose credit-amount savings employment installment-rate "
    "personal-status debtors residence-since property age installment-plans housing existing-credits job "
    "liable-people telephone foreign-worker risk",
)
_CRX = _Table(
    "crx.csv",
    "Japanese Credit Screening (crx.data, also listed as Credit Approval)",
    "the 653 rows without missing values, class = yes or no",
    "A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 class",
)
_CENSUS_INCOME = _Table(
    "census_income.parquet",
    "Census-Income (KDD)",
    "299,285 rows, split = train or test",
    "age sex education marital-status race class-of-worker country occupation industry hispanic-origin "
    "household-summary employment-status weeks-worked capital-gains wage-per-hour income split",
)


def adult() -> pl.DataFrame:
    """UCI Adult without missing values: 45,222 rows; ``split`` separates training from test rows."""
    return _read(_ADULT)


def german() -> pl.DataFrame:
    """UCI German Credit: 1,000 rows, class ``risk``."""
    return _read(_GERMAN)


def crx() -> pl.DataFrame:
    """UCI Japanese Credit Screening without missing values: 653 rows, class ``class``."""
    return _read(_CRX)


def census_income() -> pl.DataFrame:
    """UCI Census-Income (KDD): 299,285 rows, among them ``occupation`` with 47 values."""
    return _read(_CENSUS_INCOME)


def adult_taxonomies() -> dict[str, Any]:
    """The taxonomies of Adult's categorical attributes: attribute -> nested tree."""
    origin = "write one JSON object: attribute -> tree over its values, as { root: { node: { leaf: {} } } }"
    path = _find("adult_taxonomies.json", origin)
    try:
        trees = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as wrong:
        raise DataError(f"{path} is not JSON: {wrong}; {origin}") from wrong
    if not isinstance(trees, dict):
        raise DataError(f"{path} does not contain an object of trees; {origin}")
    return trees


def arx_hierarchy(name: str) -> Path:
    """The file of ARX's hierarchy of Adult's attribute ``name`` (leaf first, one column per level)."""
    origin = "get it from the data folder of ARX's source (https://github.com/arx-deidentifier/arx)"
    return _find(f"arx/adult_hierarchy_{name}.csv", origin)


def _find(file: str, origin: str) -> Path:
    """The path of a file in the data folder; raises an error with the remedy if it is missing."""
    folder = os.environ.get(_VARIABLE)
    if not folder:
        raise DataError(
            f"{file} is not bundled and the environment variable {_VARIABLE} is not set; {origin}. "
            f"Put it in a folder and set the variable to it: export {_VARIABLE}=/path/to/folder"
        )
    path = Path(folder).expanduser() / file
    if path.is_file():
        return path
    if not path.parent.is_dir():
        raise DataError(
            f"{path.parent}, the value of {_VARIABLE}, is not a folder; create it and put {file} there: {origin}"
        )
    present = ", ".join(sorted(other.name for other in path.parent.glob(f"*{path.suffix}"))) or "nothing"
    raise DataError(
        f"{path.parent}, the value of {_VARIABLE}, has no {path.name}, only {present}; "
        f"{origin}; or set {_VARIABLE} to the folder that contains it"
    )


def _read(table: _Table) -> pl.DataFrame:
    """Read a table and check that it has the columns that callers rely on."""
    path = _find(table.file, table.origin)
    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)
    except pl.exceptions.PolarsError as wrong:
        raise DataError(f"{path} cannot be read: {wrong}; {table.origin}") from wrong
    absent = [column for column in table.columns if column not in frame.columns]
    if absent:
        raise DataError(f"{path} has no columns {', '.join(absent)}; {table.origin}")
    return frame
