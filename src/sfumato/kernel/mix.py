"""Map rows of small codes to cells of a grid by look-up tables, and count them there."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner, kernel


@inner
def _cell(codes: Any, row: int, starts: Any, table: Any) -> int:
    """The cell of one row: the sum of what its codes stand for."""
    cell = np.int64(0)
    for c in range(len(codes)):
        cell += table[starts[c] + codes[c, row]]
    return cell


@kernel
def cells(codes: Any, starts: Any, table: Any) -> Any:
    """The cell of each row: code ``codes[c, row]`` of column ``c`` adds ``table[starts[c] + code]``."""
    out = np.empty(codes.shape[1], dtype=np.int64)
    for row in range(len(out)):
        out[row] = _cell(codes, row, starts, table)
    return out


@kernel
def count_cells(codes: Any, starts: Any, table: Any, weights: Any, counts: Any) -> None:
    """Add the weight of each row to the count of its cell."""
    for row in range(codes.shape[1]):
        counts[_cell(codes, row, starts, table)] += weights[row]
