"""The one place where randomness comes from: the operating system's entropy, or a given generator in experiments."""

import math
import os

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.arrange import shuffle


def shuffled(rows: int, rng: np.random.Generator | None) -> NDArray[np.int64]:
    """A random order of the rows."""
    if rng is not None:
        return _given(rng).permutation(rows)
    return shuffle(rows, lambda number: np.frombuffer(os.urandom(4 * number), dtype=np.uint32))


def drawn_words(number: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Random 64-bit numbers."""
    if rng is not None:
        return _given(rng).integers(0, 2**64, size=number, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)


def drawn_bytes(number: int, rng: np.random.Generator | None) -> NDArray[np.uint8]:
    """Random bytes."""
    return np.frombuffer(os.urandom(number) if rng is None else _given(rng).bytes(number), dtype=np.uint8)


def two_sided_geometric(number: int, epsilon: float, rng: np.random.Generator | None) -> NDArray[np.int64]:
    """Whole numbers k with probability proportional to a^|k|, where a is e^-epsilon or a hair more: discrete Laplace.

    Each is the difference of two geometric draws, made of coin flips with probability a = A / 2^64 for a whole A, so
    that the law is exact: no floating point, and no end of the tail.
    """
    chance = math.nextafter(math.exp(-epsilon), 1.0)  # exp is off by less than this
    heads = min(math.ceil(chance * 2**64), 2**64 - 1)
    up, down = (_geometric(number, np.uint64(heads), rng) for _ in range(2))
    return up - down


def _geometric(number: int, heads: np.uint64, rng: np.random.Generator | None) -> NDArray[np.int64]:
    """How many flips in a row come up heads, before the first that does not."""
    found = np.zeros(number, np.int64)
    going = np.arange(number)
    while len(going):
        going = going[drawn_words(len(going), rng) < heads]
        found[going] += 1
    return found


def _given(rng: object) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise PolicyError(
            f"rng is {rng!r}; it is a NumPy generator such as numpy.random.default_rng(1) for experiments, or left out "
            "for secret draws"
        )
    return rng
