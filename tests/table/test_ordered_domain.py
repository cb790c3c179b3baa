"""Ordered domains: every value lies inside the label of every range that has it."""

import datetime as dt
import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.table.ordered_domain import MISSING, OrderedDomain, number_text
from sfumato.table.taxonomy import SUPPRESSED
from strategies import examples

NUMBERS: dict[str, st.SearchStrategy[float]] = {
    "ints": st.integers(-200, 200).map(float),
    "large ints": st.integers(-(2**53), 2**53).map(float),
    "tenths": st.integers(-500, 500).map(lambda i: i / 10),
    "hundredths": st.integers(-5000, 5000).map(lambda i: i / 100),
    "millionths": st.integers(-(10**9), 10**9).map(lambda i: i / 10**6),
    "money": st.decimals(-(10**6), 10**6, places=2).map(float),
    "any": st.floats(-(2**53), 2**53),
    "tiny": st.floats(-1e-6, 1e-6),
    "near one": st.floats(0.9999999, 1.0000001),
    "far apart": st.sampled_from([-(2.0**53), -1e15, -1e-9, 0.0, 1e-9, 0.1, 0.3, 1.0, 1e15, 1e15 + 0.125, 2.0**53]),
}


def ends(label: str) -> tuple[Fraction, Fraction]:
    """The ends of a half-open interval as a reader of the label sees them."""
    match = re.fullmatch(r"\[(\S+), (\S+)\)", label)
    assert match is not None, label
    low, high = match.groups()
    return Fraction(low), Fraction(high)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_lie_in_their_labels(kind: str) -> None:
    @given(st.lists(NUMBERS[kind], min_size=2, max_size=7, unique=True).map(sorted))
    @examples(120)
    def check(values: list[float]) -> None:
        line = OrderedDomain.of_numbers(values)
        assert line.size == len(values)
        for lo in range(len(values)):
            assert Fraction(line.label(lo, lo + 1)) == pytest.approx(Fraction(values[lo]), rel=1e-15)
            assert float(line.label(lo, lo + 1)) == values[lo]
            for hi in range(lo + 2, len(values) + 1):
                low, high = ends(line.label(lo, hi))
                assert float(low) == values[lo]
                assert all(low <= Fraction(number_text(v)) < high for v in values[lo:hi]), line.label(lo, hi)
                if hi < len(values):  # and the next value is outside, so that labels do not overlap
                    assert high <= Fraction(number_text(values[hi])), line.label(lo, hi)
                assert [float(low), float(high)] == line.meaning(lo, hi)

    check()


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ([20, 25, 39], "[20, 40)"),
        ([-5, -1], "[-5, 0)"),
        ([0.1, 0.2], "[0.1, 0.3)"),
        ([0.5, 2.25], "[0.5, 2.26)"),
        ([1.1, 2.2], "[1.1, 2.3)"),
        ([-0.3, 0.6], "[-0.3, 0.7)"),
        ([0.07, 0.28], "[0.07, 0.29)"),
        ([19.99, 1000.5], "[19.99, 1000.51)"),
    ],
)
def test_labels_that_people_read(values: list[float], label: str) -> None:
    assert OrderedDomain.of_numbers([float(v) for v in values]).label(0, len(values)) == label


@pytest.mark.parametrize("value", [5e-324, 1e-320, 1e-310, 1e-300, 123.456789012345, 1e15 + 0.125, 1.0, 0.1, 100.0])
def test_the_last_of_numbers_without_a_step(value: float) -> None:
    """Scores between 0 and 1 with a 1 among them are such numbers."""
    line = OrderedDomain.of_numbers([value * 0.123456789012345, value])
    low, high = line.bounds(0, 2)
    assert low <= value < high < math.inf
    lower = OrderedDomain.of_numbers([-value - 1.23456789012345, -value])
    assert lower.bounds(0, 2)[1] > -value


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20, unique=True).map(sorted))
@example([0.0, 5e-324])
@example([-1.7e308, 0.0, 1.7e308])
@examples(60)
def test_positions(values: list[float]) -> None:
    for missing in (False, True):
        place = OrderedDomain.of_numbers(values, missing=missing).position
        inside = place[: len(values)]
        assert inside[0] == 0.0
        assert len(values) == 1 or inside[-1] == pytest.approx(1.0, abs=1e-12)
        assert all(a < b for a, b in pairwise(inside))
        assert len(place) == len(values) + missing
        if missing:
            assert place[-1] > 1.5


def test_neighbours_have_places_of_their_own() -> None:
    """Two numbers are two places, or else a group of the two has no width and is never cut."""
    place = OrderedDomain.of_numbers([0.0, 4e15 + 0.5, 4e15 + 1.0, 8e15]).position
    assert all(a < b for a, b in pairwise(place))


# --- dates -----------------------------------------------------------------------------------------------


def days(dates: list[dt.date]) -> list[float]:
    return [float((d - dt.date(1970, 1, 1)).days) for d in dates]


@given(st.lists(st.dates(max_value=dt.date(9999, 12, 30)), min_size=1, max_size=6, unique=True).map(sorted))
@examples(80)
def test_dates_lie_in_their_labels(dates: list[dt.date]) -> None:
    line = OrderedDomain.of_days(days(dates))
    assert list(line.leaves) == [d.isoformat() for d in dates]
    for lo in range(len(dates)):
        for hi in range(lo + 2, len(dates) + 1):
            match = re.fullmatch(r"\[(\S{10}), (\S{10})\)", line.label(lo, hi))
            assert match is not None
            low, high = (dt.date.fromisoformat(text) for text in match.groups())
            assert low == dates[lo]
            assert high == dates[hi - 1] + dt.timedelta(1)
            assert line.meaning(lo, hi) == [low.isoformat(), high.isoformat()]


def test_the_last_day_of_all() -> None:
    """9999-12-31 is what many systems write for `open end`."""
    line = OrderedDomain.of_days(days([dt.date(2025, 1, 1), dt.date(9999, 12, 31)]))
    assert line.label(0, 2).startswith("[2025-01-01, ")
    assert line.label(1, 2) == "9999-12-31"


# --- words and missing values ----------------------------------------------------------------------------


@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=6, unique=True), st.booleans())
@examples(60)
def test_words(words: list[str], missing: bool) -> None:
    line = OrderedDomain.of_words(words, missing=missing)
    assert line.size == len(words) + missing
    for lo in range(len(words)):
        assert line.label(lo, lo + 1) == words[lo]
        for hi in range(lo + 2, len(words) + 1):
            assert line.label(lo, hi) == f"[{words[lo]}, {words[hi - 1]}]"
            assert line.meaning(lo, hi) == words[lo:hi]
    if missing:
        assert line.label(len(words), line.size) == MISSING
        assert line.meaning(len(words), line.size) == [MISSING]
        assert line.label(0, line.size) == SUPPRESSED
        assert line.label(len(words) - 1, line.size) == SUPPRESSED


def test_missing_numbers() -> None:
    line = OrderedDomain.of_numbers([1.0, 2.0], missing=True)
    assert line.leaves == ("1", "2", MISSING)
    assert line.label(0, 2) == "[1, 3)"
    assert line.label(1, 3) == SUPPRESSED
    nobody = OrderedDomain.of_numbers([], missing=True)
    assert nobody.leaves == (MISSING,)
    assert nobody.label(0, 1) == MISSING
    assert nobody.position.tolist() == [2.0]


# --- number_text -------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False))
@examples(200)
def test_number_text_is_exact_and_plain(value: float) -> None:
    text = number_text(value)
    assert float(text) == value
    if abs(value) < 1e16:
        assert re.fullmatch(r"-?\d+(\.\d+)?", text)
        assert not text.endswith(".0")


def test_zero_has_no_sign() -> None:
    assert number_text(-0.0) == "0"
    assert OrderedDomain.of_numbers(np.array([-0.0, 1.0])).leaves[0] == "0"
