"""The Hilbert curve: it visits every cell once, and each step is one cell long."""

import numpy as np
import pytest

from sfumato.kernel.hilb.curve import bits_needed, hilbert_keys


@pytest.mark.parametrize(("axes", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 1), (7, 1)])
def test_neighbours_on_the_curve_are_neighbours_in_space(axes: int, bits: int) -> None:
    cells = np.stack(np.meshgrid(*[np.arange(2**bits)] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
    keys = hilbert_keys([cells[:, j] for j in range(axes)], [2**bits] * axes)
    assert len(np.unique(keys)) == len(cells)
    way = cells[np.argsort(keys)]
    assert (np.abs(np.diff(way, axis=0)).sum(axis=1) == 1).all()


def test_bits() -> None:
    assert [bits_needed([n]) for n in (1, 2, 3, 4, 5, 256, 257)] == [1, 1, 2, 2, 3, 8, 9]
    with pytest.raises(OverflowError, match="13 axes of 5 bits"):
        hilbert_keys([np.zeros(1, np.int64)] * 13, [17] * 13)
