"""Quantiles of beta distributions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

_TINY = 1e-300
_TERMS = 400
_HALVINGS = 60


@inner
def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, evaluated from the front (Lentz)."""
    # I_x(a, b) is this fraction times x^a (1 - x)^b / (a B(a, b)). Lentz: c and 1 / d are the ratios of successive
    # numerators and denominators, so each term changes the value by the factor c d; a ratio of 0 becomes tiny instead.
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _TERMS):
        for odd in range(2):
            if odd == 0:
                step = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
            else:
                step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + step / c
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1.0) < 1e-13:
            break
    return value


@inner
def _below(a: float, b: float, x: float) -> float:
    """The probability of a value up to x."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # the fraction converges fast below the mean; above it I_x(a, b) = 1 - I_(1-x)(b, a)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(front) * _fraction(b, a, 1.0 - x) / b


@kernel
def _fill(a: Any, b: Any, probability: float, out: Any) -> None:
    """By halving, which cannot fail."""
    for i in range(len(a)):
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _below(a[i], b[i], middle) < probability:
                low = middle
            else:
                high = middle
        out[i] = (low + high) / 2


def beta_quantiles(a: NDArray[np.float64], b: NDArray[np.float64], probability: float) -> NDArray[np.float64]:
    """The value that each beta distribution stays below with a probability.

    >>> beta_quantiles(np.array([1.0, 0.5, 3.0]), np.array([1.0, 0.5, 2.0]), 0.975).round(4).tolist()
    [0.975, 0.9985, 0.9324]
    """
    out = np.empty(len(a))
    _fill(np.ascontiguousarray(a), np.ascontiguousarray(b), probability, out)
    return out
