"""Columns whose names mean something to Polars."""

from types import SimpleNamespace

import polars as pl
import pytest

from sfumato.report.report import _labels


@pytest.mark.parametrize("name", ["count", "value", "*"])
def test_labels_are_counted_whatever_the_column_is_called(name: str) -> None:
    tables = {"data": pl.DataFrame({name: ["a", "b", "a"]})}
    release = SimpleNamespace(bucketized=False, counted=tables, row_weights=None)
    assert _labels(release, name) == {"a": 2, "b": 1}  # type: ignore[arg-type]
