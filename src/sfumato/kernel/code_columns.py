"""Columns of codes, of one to eight bytes each, as one argument of a kernel: it goes through all of them in one call.

Numba compiles a kernel for the types of its arguments, and columns are of any number and width. So a kernel gets where
the codes of each column are in memory, and how wide they are.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.fetching import LINE, fetch
from sfumato.kernel.jit import lean, on_address

TILE = 1024
"""How many rows a kernel looks at together: what it computes of them stays in the nearest cache."""


class Coded(NamedTuple):
    """The code of each row in a column, below ``size``."""

    codes: NDArray[Any]
    size: int

    @property
    def bits(self) -> int:
        """How many bits a code needs."""
        return max(self.size - 1, 0).bit_length()


class CodeColumns:
    """The codes of the same rows in several columns; ``where`` has the address and the width of each."""

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self._kept = [np.require(codes, requirements="CA") for codes in columns]  # as long as the addresses are in use
        if any(codes.dtype.kind not in "iu" or not codes.dtype.isnative or codes.ndim != 1 for codes in self._kept):
            raise TypeError("codes must be whole numbers, in one dimension")
        if len({len(codes) for codes in self._kept}) > 1:
            raise ValueError("columns of codes must have the same number of rows")
        places = [(codes.ctypes.data, codes.itemsize) for codes in self._kept]
        self.where = np.array(places, np.uint64).reshape(len(places), 2)

    @property
    def rows(self) -> int:
        """How many rows the columns have."""
        return len(self._kept[0]) if self._kept else 0

    def refuse_beyond(self, first: int, last: int) -> None:
        """Refuse rows that the columns do not have: nothing else would keep a kernel from reading other memory."""
        if not 0 <= first <= last or (self._kept and last > self.rows):
            raise IndexError(f"columns with {self.rows} rows do not have the rows from {first} to before {last}")


def _loads(bits: int) -> Callable[..., Any]:
    def in_llvm(builder: Any, address: Any, place: Any) -> Any:
        """The instructions that load the number at a place among others of the same width, from an address on."""
        from llvmlite import ir

        kind = ir.IntType(bits)
        first = builder.inttoptr(address, kind.as_pointer())
        found = builder.load(builder.gep(first, [place]), align=bits // 8)
        return found if bits == 64 else builder.zext(found, ir.IntType(64))

    return in_llvm


@on_address(_loads(8))
def _one_byte(address: Any, place: Any) -> Any:
    return np.uint64(ctypes.c_uint8.from_address(int(address) + int(place)).value)


@on_address(_loads(16))
def _two_bytes(address: Any, place: Any) -> Any:
    return np.uint64(ctypes.c_uint16.from_address(int(address) + 2 * int(place)).value)


@on_address(_loads(32))
def _four_bytes(address: Any, place: Any) -> Any:
    return np.uint64(ctypes.c_uint32.from_address(int(address) + 4 * int(place)).value)


@on_address(_loads(64))
def _eight_bytes(address: Any, place: Any) -> Any:
    return np.uint64(ctypes.c_uint64.from_address(int(address) + 8 * int(place)).value)


def _with_each_code(combined: Callable[..., Any]) -> Callable[..., None]:
    """A function that combines a number for each of some rows with the row's code in a column."""

    @lean
    def combine(where: Any, column: Any, first: Any, factor: Any, numbers: Any) -> None:
        address, width, start = where[column, 0], where[column, 1], np.uint64(first)
        if width == 1:
            for i in range(np.uint64(len(numbers))):
                numbers[i] = combined(numbers[i], _one_byte(address, start + i), factor)
        elif width == 2:
            for i in range(np.uint64(len(numbers))):
                numbers[i] = combined(numbers[i], _two_bytes(address, start + i), factor)
        elif width == 4:
            for i in range(np.uint64(len(numbers))):
                numbers[i] = combined(numbers[i], _four_bytes(address, start + i), factor)
        else:
            for i in range(np.uint64(len(numbers))):
                numbers[i] = combined(numbers[i], _eight_bytes(address, start + i), factor)

    return combine


@lean
def _appended(number: Any, code: Any, bits: Any) -> Any:
    return number << bits | code


@lean
def _added(number: Any, code: Any, worth: Any) -> Any:
    return number + np.uint32(code) * worth


append_codes = _with_each_code(_appended)
"""Below the numbers of some rows, write their codes in a column in so many bits."""
add_codes = _with_each_code(_added)
"""To the numbers of some rows, of 32 bits, add their codes in a column, each times a number."""


@lean
def fetch_codes(where: Any, first: Any, count: Any) -> None:
    """Have the codes of some rows fetched, which are needed soon."""
    for column in range(np.uint64(len(where))):
        width = where[column, 1]
        for offset in range(np.uint64(0), np.uint64(count) * width, np.uint64(LINE)):
            fetch(where[column, 0] + np.uint64(first) * width, offset)
