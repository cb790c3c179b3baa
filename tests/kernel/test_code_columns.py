"""Columns of codes as one argument of a kernel: which are accepted, and which rows may be read."""

import subprocess
import sys

import numpy as np
import pytest

from sfumato.kernel.code_columns import CodeColumns
from sfumato.kernel.csv_match import same_rows
from sfumato.kernel.csv_rows import BEYOND, CsvCells, CsvRows, put_rows


def test_only_whole_numbers_of_the_same_rows() -> None:
    for odd in (np.zeros(2), np.zeros((2, 2), np.int64), np.zeros(2, ">u2"), np.zeros(2, bool)):
        with pytest.raises(TypeError, match="whole numbers"):
            CodeColumns([odd])
    with pytest.raises(ValueError, match="same number of rows"):
        CodeColumns([np.zeros(2, np.uint8), np.zeros(3, np.uint8)])


def test_every_second_code_and_codes_at_odd_addresses() -> None:
    """They are copied: a kernel reads codes one after the other, each at a multiple of its width."""
    odd = np.frombuffer(b"x" + np.arange(6, dtype=np.uint32).tobytes(), np.uint8)[1:].view(np.uint32)
    assert not odd.flags.aligned
    cells = CsvCells.at(np.frombuffer(b"abcdef" + bytes(BEYOND), np.uint8), np.arange(6), np.ones(6, np.int64))
    for codes in (np.arange(12, dtype=np.uint16)[::2] // 2, odd):
        one, start = np.ones(1, np.uint32), np.zeros(1, np.uint32)
        rows = CsvRows(cells, CodeColumns([codes]), one, np.array([1]), start, 0, 1)
        assert same_rows(rows, 0, 6, np.frombuffer(b"abcdef" + bytes(BEYOND), np.uint8), 0, 6) == (0, 6)


def test_rows_that_are_not_there_are_not_read() -> None:
    cells = CsvCells.at(np.frombuffer(b"a" + bytes(BEYOND), np.uint8), np.zeros(1, np.int64), np.ones(1, np.int64))
    columns = CodeColumns([np.zeros(5, np.uint8)])
    rows = CsvRows(cells, columns, np.ones(1, np.uint32), np.array([1]), np.zeros(1, np.uint32), 0, 1)
    text = np.zeros(1000, np.uint8)
    for first, last in [(0, 6), (-1, 3), (4, 3)]:
        with pytest.raises(IndexError, match="do not have the rows"):
            same_rows(rows, first, last, text, 0, 500)
        with pytest.raises(IndexError, match="do not have the rows"):
            put_rows(rows, first, last, text, 500)
    for at, end in [(0, 1000), (-1, 5), (6, 5)]:
        with pytest.raises(IndexError, match="has no place"):
            same_rows(rows, 0, 5, text, at, end)


_IN_PYTHON = """
import numpy as np
from sfumato.kernel.code_columns import CodeColumns, add_codes, append_codes

codes = [np.array([3, 1, 2, 0], kind) for kind in (np.uint8, np.uint16, np.uint32, np.uint64)]
where = CodeColumns(codes).where
for column in range(4):
    keys, numbers = np.array([1, 2], np.uint64), np.array([10, 20], np.uint32)
    append_codes(where, column, 1, np.uint64(2), keys)
    add_codes(where, column, 1, np.uint32(5), numbers)
    assert keys.tolist() == [1 * 4 + 1, 2 * 4 + 2]
    assert numbers.tolist() == [15, 30]
print("as compiled")
"""


def test_without_compilation() -> None:
    """What kernels do with addresses is also said in Python."""
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": ":".join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", _IN_PYTHON], env=environment, capture_output=True, text=True, timeout=300
    )
    assert told.stdout == "as compiled\n", told.stderr
