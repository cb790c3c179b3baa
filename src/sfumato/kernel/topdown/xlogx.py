"""Logarithms in a fixed-point format: integers only, so that two machines agree to the last bit."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import kernel, lean

GAIN_BITS = 30
"""Gains are integer multiples of 2^-30."""

MOST_BITS = 50


def bits_for(rows: int) -> int:
    """How many binary digits of a logarithm are kept, so that rows · log2(rows) stays within 62 bits.

    >>> bits_for(34), bits_for(1_000_000)
    (50, 37)
    """
    width = rows.bit_length()
    return min(MOST_BITS, 62 - width - width.bit_length())


@lean
def _square(x: Any) -> Any:
    """The square of a number in [1, 2) with 62 binary digits, truncated: x² >> 62."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    low, high = x & mask, x >> half
    # x = high 2^32 + low: x^2 = high^2 2^64 + 2 high low 2^32 + low^2
    cross = low * high
    bottom = low * low
    middle = (bottom >> half) + (cross & mask) + (cross & mask)
    top = high * high + (cross >> half) + (cross >> half) + (middle >> half)
    rest = (middle << half) | (bottom & mask)
    return (top << np.uint64(2)) | (rest >> np.uint64(62))


@lean
def log2_fixed(n: int, bits: int) -> int:
    """log2(n) in units of 2^-bits: one binary digit per squaring, truncated after 62, the last one rounded."""
    exponent = 0
    while n >> (exponent + 1):
        exponent += 1
    x = np.uint64(n) << np.uint64(62 - exponent)
    digits = np.int64(exponent)
    for _ in range(bits + 1):
        # squaring doubles the logarithm: the next binary digit is 1 just when the square reaches 2
        x = _square(x)
        digits <<= 1
        if x >> np.uint64(63):
            digits |= 1
            x >>= np.uint64(1)
    return (digits + 1) >> 1


@lean
def xlogx(n: int, known: Any, bits: int) -> int:
    """n · log2(n) in units of 2^-bits; ``known`` caches what was computed, -1 if nothing was."""
    if n < 2:
        return 0
    if known[n] < 0:
        known[n] = n * log2_fixed(n, bits)
    return known[n]


@kernel
def logarithms(numbers: Any, bits: int) -> Any:
    """log2 of integers in units of 2^-bits.

    >>> logarithms(np.array([1, 2, 3]), 10).tolist()
    [0, 1024, 1623]
    """
    out = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        out[i] = log2_fixed(numbers[i], bits)
    return out
