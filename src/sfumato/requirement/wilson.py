"""Wilson's interval for a share that was estimated from draws."""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def deviations(confidence: float) -> float:
    """How many standard deviations to each side enclose a normal variable with this probability.

    >>> round(deviations(0.95), 2)
    1.96
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson_interval(share: ArrayLike, draws: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """The ends of the interval around each share of so many independent draws; exactly 0 and 1 where nothing, or
    everything, was counted.

    >>> low, high = wilson_interval([0.0, 0.5], 100, 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.4038], [0.037, 0.5962])
    """
    p, n, z = np.asarray(share, np.float64), np.asarray(draws, np.float64), deviations(confidence)
    shrunk = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / shrunk
    half = z / shrunk * np.sqrt(np.maximum(p * (1 - p), 0) / n + (z / (2 * n)) ** 2)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return np.where(p == 0, 0.0, low), np.where(p == 1, 1.0, high)
