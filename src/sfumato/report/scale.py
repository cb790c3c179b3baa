"""Bins with readable edges for numbers and dates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.table.ordered_domain import number_text

Floats = NDArray[np.float64]

_MOST_BINS = 24
_TAIL = 0.005
_MOST_DECIMALS = 15
_MONTH_STEPS = (1, 2, 3, 6, 12)


@dataclass(frozen=True)
class Scale:
    """Rising edges of half-open bins, and their texts; ``open_ends``: whether the end bins include what lies beyond."""

    edges: Floats
    texts: tuple[str, ...]
    open_ends: tuple[bool, bool] = (False, False)

    def count(self, values: Floats, weights: Floats) -> Floats:
        """The weight of the values in each bin."""
        place = np.searchsorted(self.edges, values, side="right") - 1
        bins = len(self.edges) - 1
        inside = np.bincount(np.clip(place, 0, bins - 1), weights=weights, minlength=bins)
        return inside.astype(np.float64, copy=False)


def number_scale(values: Floats, weights: Floats, step: float, least: float = np.inf, most: float = -np.inf) -> Scale:
    """At most about 24 bins whose width is 1, 2 or 5 times a power of ten, and no finer than ``step``.

    The bins reach at least from ``least`` to ``most``. A few far-off values do not flatten the rest: then an end bin
    is open.

    >>> number_scale(np.array([0.0, 99.0]), np.array([1.0, 1.0]), 1.0).texts[:3]
    ('0', '5', '10')
    """
    low, high = _range(values, weights)
    open_ends = bool(low > values[0]), bool(high < values[-1])
    low = low if open_ends[0] else min(low, least)
    high = high if open_ends[1] else max(high, float(np.nextafter(most, -np.inf)))
    width = max(_nice((high + step - low) / _MOST_BINS), step) or 1.0
    start = np.floor(low / width) * width
    bins = int((high - start) // width) + 1
    decimals = max(0, 1 - int(np.floor(np.log10(width))))
    edges = start + width * np.arange(bins + 1)
    edges = np.round(edges, decimals) if decimals <= _MOST_DECIMALS else edges
    return Scale(edges, tuple(number_text(e + 0.0) for e in edges), open_ends)


def _range(values: Floats, weights: Floats) -> tuple[float, float]:
    """The range to draw: all values, or all but a tail if the tails more than double it."""
    share = np.cumsum(weights) / max(weights.sum(), 1)
    ends = np.searchsorted(share, [_TAIL, 1 - _TAIL])
    low, high = (float(v) for v in values[np.minimum(ends, len(values) - 1)])
    least, most = float(values[0]), float(values[-1])
    if high == low or most - least <= 2 * (high - low):
        return least, most
    return (low if low - least > (high - low) / 4 else least), (high if most - high > (high - low) / 4 else most)


def _nice(width: float) -> float:
    """The least of 1, 2, 5, 10, 20, ... times a power of ten that is not below ``width``; 0 for 0."""
    if width <= 0:
        return 0.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(next(power * m for m in (1, 2, 5, 10) if power * m >= width * (1 - 1e-12)))


def date_scale(days: Floats) -> Scale:
    """Days, weeks, months, quarters or years, whichever gives at most about 24 bins.

    >>> date_scale(np.array([0.0, 364.0])).texts[:3]
    ('1970-01', '1970-02', '1970-03')
    """
    low, high = np.array([days[0], days[-1]]).astype(np.int64).astype("datetime64[D]")
    span = int((high - low).astype(np.int64)) + 1
    if span <= 7 * _MOST_BINS:
        return _scale_of(np.arange(low, high + np.timedelta64(8, "D"), 1 if span <= _MOST_BINS else 7), high)
    months = int((high.astype("datetime64[M]") - low.astype("datetime64[M]")).astype(np.int64)) + 1
    years = int(_nice(months / 12 / _MOST_BINS)) or 1
    step = next((s for s in _MONTH_STEPS if months <= s * _MOST_BINS), 12 * years)
    first = int(low.astype("datetime64[M]").astype(np.int64)) // step * step
    starts = np.arange(first, first + months + 2 * step, step).astype("datetime64[M]")
    return _scale_of(starts, high)


def _scale_of(starts: NDArray[np.datetime64], high: np.datetime64) -> Scale:
    """The bins up to the first edge above the last day."""
    days = starts.astype("datetime64[D]")
    days = days[: int(np.searchsorted(days, high, side="right")) + 1]
    texts = starts[: len(days)].astype(str).tolist()
    if all(t.endswith("-01") and len(t) == 7 for t in texts):
        texts = [t[:-3] for t in texts]
    return Scale(days.astype(np.int64).astype(np.float64), tuple(texts))
