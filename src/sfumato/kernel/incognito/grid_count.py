"""Map rows of small codes to cells of a grid by look-up tables, and count them there.

The loop over the columns is written out in both kernels: a function called for every row would pass four arrays.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import kernel


@kernel
def cells(codes: Any, starts: Any, table: Any) -> Any:
    """The cell of each row: code ``codes[row, c]`` of column ``c`` adds ``table[starts[c] + code]``."""
    out = np.empty(len(codes), dtype=np.int32)
    for row in range(len(codes)):
        cell = np.int64(0)
        for c in range(codes.shape[1]):
            cell += table[starts[c] + codes[row, c]]
        out[row] = cell
    return out


@kernel
def count_cells(codes: Any, starts: Any, table: Any, weights: Any, counts: Any) -> None:
    """Add the weight of each row to the count of its cell."""
    for row in range(len(codes)):
        cell = np.int64(0)
        for c in range(codes.shape[1]):
            cell += table[starts[c] + codes[row, c]]
        counts[cell] += weights[row]
