"""Published columns as codes: whatever its type, a column is read as its texts are."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, ReleaseError
from sfumato.table.ordered_domain import MISSING
from sfumato.table.published import distinct_texts, domain_codes, label_codes, value_codes

COLUMNS = {
    "text": pl.Series("x", ["b", "a", None, "b", "(missing)"]),
    "enum": pl.Series("x", ["b", "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
    "enum with nulls": pl.Series("x", ["b", None], dtype=pl.Enum(["c", "b", "a"])),
    "integers": pl.Series("x", [10, 9, -1, 10]),
    "integers with nulls": pl.Series("x", [10, None, -1, 0], dtype=pl.UInt8, strict=False),
    "large": pl.Series("x", [2**70, 1], dtype=pl.Int128),
    "numbers": pl.Series("x", [0.1, 3.0, 1e300, None, -2.5]),
    "single": pl.Series("x", [0.1, 0.3], dtype=pl.Float32),
    "days": pl.Series("x", [dt.date(1960, 1, 2), None, dt.date(2020, 1, 1)]),
    "truth": pl.Series("x", [True, None, False]),
    "nothing": pl.Series("x", [None, None], dtype=pl.Int64),
    "empty": pl.Series("x", [], dtype=pl.Int64),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_row_shows_its_own_text(name: str) -> None:
    column = COLUMNS[name]
    texts = column.cast(pl.String).fill_null(MISSING).to_list()
    found = distinct_texts(column)
    assert [found.texts[i] for i in found.of_row] == texts
    assert sorted(found.texts) == sorted(set(texts))
    assert found.counts() == {t: texts.count(t) for t in set(texts)}
    if name != "enum":
        assert found.texts == sorted(found.texts)


def test_categories_keep_their_order_and_those_of_no_row_are_left_out() -> None:
    assert distinct_texts(COLUMNS["enum"]).texts == ["b", "a"]


@given(st.lists(st.none() | st.integers(-5, 5) | st.floats(-3, 3, width=16), max_size=20))
def test_numbers_have_the_code_of_any_text_of_theirs(values: list[float | None]) -> None:
    """3 is 3.0 and 3.00 in a column of floating point; what the domain lacks is -1."""
    domain = ["3.00", "-2", "0.5", "1e0", MISSING]
    numbers = {3.0: 0, -2.0: 1, 0.5: 2, 1.0: 3, None: 4}
    column = pl.Series("x", values, dtype=pl.Float64, strict=False)
    assert domain_codes(column, domain).tolist() == [numbers.get(v, -1) for v in column.to_list()]


def test_what_the_domain_lacks_is_refused_by_name() -> None:
    for error in (DataError, ReleaseError):
        with pytest.raises(
            error, match=r"2 values of 'x' are not in its domain: '\(missing\)', 'a'|'a', '\(missing\)'"
        ):
            domain_codes(pl.Series("x", ["a", "b", None]), ["b"], error)


def test_values_are_told_apart_in_any_type() -> None:
    for column in COLUMNS.values():
        codes, size = value_codes(column)
        same = np.equal.outer(codes, codes)
        assert same.tolist() == [[a == b for b in column] for a in column]
        assert size == column.n_unique()


@pytest.mark.parametrize("name", COLUMNS)
def test_labels_have_the_same_code_where_they_read_alike(name: str) -> None:
    texts = COLUMNS[name].cast(pl.String).fill_null(MISSING).to_list()
    codes, size = label_codes(COLUMNS[name])
    assert np.equal.outer(codes, codes).tolist() == [[a == b for b in texts] for a in texts]
    assert all(0 <= code < size for code in codes)
