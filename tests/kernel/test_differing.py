"""The few instructions that compare 64 bytes, against the loop that says the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernel.differing import WIDTH, differing
from sfumato.kernel.jit import kernel
from strategies import examples


@kernel
def _differing(left: object, at: int, right: object, place: int) -> object:
    return differing(left, np.uint64(at), right, np.uint64(place))


@given(st.binary(max_size=99), st.binary(max_size=99), st.integers(0, 99), st.integers(0, 99))
@examples(300)
def test_each_bit_stands_for_a_byte(one: bytes, other: bytes, at: int, place: int) -> None:
    left, right = (np.frombuffer(text + bytes(99 + WIDTH), np.uint8) for text in (one, other))
    expected = sum(int(left[at + i] != right[place + i]) << i for i in range(WIDTH))
    assert int(_differing(left, at, right, place)) == expected
    assert int(getattr(differing, "py_func", differing)(left, np.uint64(at), right, np.uint64(place))) == expected
