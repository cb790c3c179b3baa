"""Columns whose names mean something to Polars."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.report.report import _labels


@pytest.mark.parametrize("name", ["count", "value", "*"])
def test_labels_are_counted_whatever_the_column_is_called(name: str) -> None:
    tables = {"data": pl.DataFrame({name: ["a", "b", "a"]})}
    release = sf.Release({"scheme": "generalization"}, tables)
    assert _labels(release, name) == {"a": 2, "b": 1}
