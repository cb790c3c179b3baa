"""Stratified pick-up (ASAP, Algorithm 4) and Anatomy: groups of l to 2l - 1 rows with distinct sensitive values."""

import os

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.local import shuffled
from sfumato.errors import SfumatoError
from sfumato.kernel.pick import anatomize, make_buckets
from sfumato.method.base import Groups
from sfumato.table.encode import Column


def pick_up(groups: Groups, sensitive: Column, l: int, rng: np.random.Generator | None) -> Groups:
    """Anatomy inside every group of at least 2l rows, with secret and uniform draws."""
    order = shuffled(len(groups.of_row), rng)
    buckets = make_buckets(groups.of_row, groups.number, sensitive.codes, sensitive.size, order)
    try:
        of_row, number = anatomize(buckets, l, 2 * l, _draws(groups.number * l, rng))
    except ValueError as e:
        raise SfumatoError(f"pick-up was given a group that is not {l}-eligible ({e}); please report it") from None
    return Groups(of_row, number)


def _draws(number: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Random 64-bit numbers: from the operating system, or from a given generator (experiments)."""
    if rng is None:
        return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)
    return rng.integers(0, 2**64, size=number, dtype=np.uint64)
