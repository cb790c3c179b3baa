"""The one place where randomness comes from: the operating system's entropy, or a given generator in experiments."""

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


def _given(rng: object) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise PolicyError(
            f"rng is {rng!r}; it is a NumPy generator such as numpy.random.default_rng(1) for experiments, or left out "
            "for secret draws"
        )
    return rng
