"""Where two texts differ, 64 bytes at a time: a few instructions, which Numba does not make of a loop."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import on_bytes

WIDTH = 64
"""How many bytes are compared at a time."""


def _in_llvm(builder: Any, left: Any, right: Any) -> Any:
    """The instructions for two pointers to bytes: one bit per byte."""
    from llvmlite import ir

    many = ir.VectorType(ir.IntType(8), WIDTH).as_pointer()
    one, other = (builder.load(builder.bitcast(text, many), align=1) for text in (left, right))
    return builder.bitcast(builder.icmp_unsigned("!=", one, other), ir.IntType(WIDTH))


@on_bytes(_in_llvm)
def differing(left: Any, at: Any, right: Any, place: Any) -> Any:
    """Which of the 64 bytes from two places on differ: bit i is set if byte i does."""
    found = np.uint64(0)
    for i in range(WIDTH):
        found |= np.uint64(left[int(at) + i] != right[int(place) + i]) << np.uint64(i)
    return found
