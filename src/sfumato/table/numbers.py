"""Numbers and days as people write them, and round ones in between."""

import datetime as dt
import re
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_EPOCH = dt.date(1970, 1, 1)
_LAST_DAY = (dt.date.max - _EPOCH).days
_DAY = re.compile(r"\d{4,5}-\d\d-\d\d", re.ASCII)
_MOST_DECIMALS = 9
_MOST_PLACES = 340
_EXACT = float(2**53)
_REMEMBERED = 1 << 16
"""How many texts and neighbours of numbers are kept: the ends of many labels are the same few numbers."""


def open_label(low: str | None, high: str | None) -> str:
    """The label of an interval that is open on one side; one that is open on both says only that a value is known.

    >>> open_label("65", None), open_label(None, "20"), open_label(None, None)
    ('>= 65', '< 20', '(known)')
    """
    return f">= {low}" if low is not None else f"< {high}" if high is not None else "(known)"


@lru_cache(_REMEMBERED)
def number_text(value: float) -> str:
    """A number as a person writes it.

    >>> number_text(40.0), number_text(2.5), number_text(1e300)
    ('40', '2.5', '1e+300')
    """
    if abs(value) >= 1e16:
        return repr(float(value))
    if float(value).is_integer():
        return str(int(value))
    return str(np.format_float_positional(value + 0.0, trim="-"))


def day_text(days: float) -> str:
    """A day since 1970-01-01 as a date; the day after the last one is 10000-01-01."""
    if days > _LAST_DAY:
        return "10000-01-01"
    return (_EPOCH + dt.timedelta(days=int(days))).isoformat()


def is_day(value: object) -> bool:
    """Whether a value is text that looks like a date."""
    return isinstance(value, str) and _DAY.fullmatch(value) is not None


def number_of(text: str) -> float | None:
    """A text as a number; None if it is not one."""
    try:
        return float(text)
    except ValueError:
        return None


def day_number(text: str) -> float | None:
    """A date as days since 1970-01-01, including the day after the last one; None if the text is not a date.

    >>> day_number("1970-01-03"), day_number("10000-01-01"), day_number("2001-02-30")
    (2.0, 2932897.0, None)
    """
    if not is_day(text):
        return None
    try:
        if len(text) == len("2000-01-01"):
            return float(dt.date.fromisoformat(text).toordinal() - _EPOCH.toordinal())
        return float(np.datetime64(text, "D").astype(np.int64))  # years beyond the calendar
    except ValueError:
        return None


def common_step(values: NDArray[np.float64]) -> float:
    """The power of ten that all values are multiples of, or 0 if there is none down to 1e-9."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, decimals), values):
            return float(10.0**-decimals)
    return 0.0


@lru_cache(_REMEMBERED)
def after(value: float, step: float) -> float:
    """The next multiple of the step, or, without a step, a short number just above the value.

    >>> after(0.2, 0.1), after(39.0, 1.0)
    (0.3, 40.0)
    """
    if not step:
        return number_between(value, np.inf)
    if step == 1.0 and float(value).is_integer() and abs(value) < _EXACT:
        return float(value + 1.0)
    high = float(Decimal(repr(value)) + Decimal(repr(step)))
    return high if high > value else float(np.nextafter(value, np.inf))


@lru_cache(_REMEMBERED)
def roundest(below: float, limit: float, greatest: bool = False) -> float:
    """The smallest number with the fewest digits above ``below`` and up to ``limit``; or the greatest such number.

    >>> roundest(25.0, 39.0), roundest(43217.0, 43305.0), roundest(-7.5, 3.0), roundest(0.31, 0.32)
    (30.0, 43300.0, 0.0, 0.32)
    >>> roundest(25.0, 48.0, greatest=True), roundest(56.0, 58.0, greatest=True)
    (40.0, 58.0)
    """
    if below < 0 <= limit:
        return 0.0
    exact, wide = Decimal(repr(limit if greatest else below)), Context(prec=400)
    for exponent in range(Decimal(repr(limit - below)).adjusted() + 1, -_MOST_PLACES, -1):
        unit = Decimal(1).scaleb(exponent)
        floor = wide.divide(exact, unit).to_integral_value(rounding=ROUND_FLOOR)
        found = float(wide.multiply(wide.add(floor, Decimal(0 if greatest else 1)), unit))
        if below < found <= limit:
            return found
    return limit


def first_day(below: float, limit: float) -> float:
    """The first day of a year, or else of a month, after one day and up to another; failing that, the next day."""
    if limit > _LAST_DAY:
        return limit
    day = _EPOCH + dt.timedelta(days=int(limit))
    for first in (day.replace(month=1, day=1), day.replace(day=1)):
        if (found := float((first - _EPOCH).days)) > below:
            return found
    return below + 1


def number_between(value: float, limit: float) -> float:
    """The shortest number above ``value`` and below ``limit``, with six digits or more; ``limit`` if there is none."""
    for digits in range(6, 18):
        exact = Decimal(value)
        unit = Decimal(1).scaleb((exact.adjusted() if exact else -6) - digits + 1)
        wide = Context(prec=400)
        floor = wide.divide(exact, unit).to_integral_value(rounding=ROUND_FLOOR)
        high = float(wide.multiply(wide.add(floor, Decimal(1)), unit))
        if value < high < limit:
            return high
    return limit if np.isfinite(limit) else float(np.nextafter(value, np.inf))
