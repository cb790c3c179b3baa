"""Orders: a shuffle is uniform, a counting sort is stable."""

import itertools
import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.local import shuffled
from sfumato.kernel.arrange import shuffle, sort_order


def test_every_order_has_the_same_chance() -> None:
    """Over all draws modulo what they are divided by, each of the 24 orders of four things comes up equally often."""
    seen = Counter(
        tuple(shuffle(np.array([0, *draws], dtype=np.uint64)).tolist())
        for draws in itertools.product(range(2), range(3), range(4))
    )
    assert len(seen) == math.factorial(4)
    assert set(seen.values()) == {1}


def test_secret_orders_are_orders_and_differ() -> None:
    one, two = shuffled(1000, None), shuffled(1000, None)
    assert sorted(one.tolist()) == list(range(1000))
    assert one.tolist() != two.tolist()  # equal by chance: 1/1000!
    assert shuffled(9, np.random.default_rng(1)).tolist() == shuffled(9, np.random.default_rng(1)).tolist()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.sampled_from([41, 10**6]))
@settings(deadline=None)  # the first example compiles
def test_counting_sort_is_stable(keys: list[int], size: int) -> None:
    assert sort_order(np.array(keys), size).tolist() == sorted(range(len(keys)), key=lambda i: keys[i])
