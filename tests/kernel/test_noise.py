"""Words of noise are read only as far as they matter: what is read decides as the whole word would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernel.noise import _replace
from strategies import examples

WORDS = 1 << 32


def whole(code: int, word: int, share: int, size: int) -> int:
    """Each of the other values has ``share`` words, the code itself the rest."""
    others = [v for v in range(size) if v != code]
    return others[word // share] if word < share * (size - 1) else code


@examples(200)
@given(st.data(), st.integers(2, 300))
def test_a_prefix_decides_as_the_whole_word(data: st.DataObject, size: int) -> None:
    share = data.draw(st.integers(1, (WORDS - 1) // size))
    code = data.draw(st.integers(0, size - 1))
    ends = [share * data.draw(st.integers(0, size)) for _ in range(6)]
    near = [w + d for w in ends for d in (-65537, -65536, -257, -256, -1, 0, 1, 255, 256, 65535, 65536)]
    words = [w for w in near if 0 <= w < WORDS] + data.draw(st.lists(st.integers(0, WORDS - 1), max_size=20))
    out = np.zeros(1, np.int64)
    for word in words:
        noise = np.array([*word.to_bytes(4, "big"), 0, 0, 0, 0], np.uint8)
        done, read = _replace(np.array([code]), noise, share, size, out, 0)
        assert done == 1
        assert 1 <= read <= 4
        assert out[0] == whole(code, word, share, size)


def test_noise_that_runs_out_leaves_the_rest() -> None:
    """Four bytes must be there before a code is begun, and no byte is used twice."""
    out = np.full(3, -1)
    done, read = _replace(np.array([0, 0, 0]), np.array([255, 255, 0, 0, 0], np.uint8), 2**20, 2, out, 0)
    assert (done, read, out.tolist()) == (2, 2, [0, 0, -1])
