"""Orders: a shuffle is uniform, a counting sort is stable."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.draws import Draws
from sfumato.kernel.arrange import by_group, shuffle, sort_order


def words(chosen: list[tuple[int, int]]) -> np.ndarray:
    """The least 32-bit word that is not passed over and chooses each place: j of s."""
    return np.array([-(-(j * 2**32 + 2**32 % s) // s) for j, s in chosen] + [0] * 99, dtype=np.uint32)


def test_every_order_has_the_same_chance() -> None:
    """Each of the 24 orders of four things comes up for just one sequence of choices."""
    drawn = [words([(a, 4), (b, 3), (c, 2)]) for a, b, c in itertools.product(range(4), range(3), range(2))]
    seen = Counter(tuple(shuffle(4, lambda n, w=w: w[:n]).tolist()) for w in drawn)
    assert len(seen) == math.factorial(4)
    assert set(seen.values()) == {1}


def test_words_that_would_favour_a_place_are_passed_over() -> None:
    """2^32 is no multiple of 3: of the words the least one is not used, and each place has equally many."""
    assert 2**32 % 3 == 1
    skipped = np.array([0, *words([(1, 3), (0, 2)])], dtype=np.uint32)
    assert shuffle(3, lambda n: skipped[:n]).tolist() == shuffle(3, lambda n: skipped[1 : n + 1]).tolist()


def test_more_words_are_asked_for_where_they_run_out() -> None:
    given = iter([np.zeros(25, np.uint32), words([(1, 3), (1, 2)])])
    assert sorted(shuffle(3, lambda n: next(given)).tolist()) == [0, 1, 2]
    assert next(given, None) is None


def test_secret_orders_are_orders_and_differ() -> None:
    one, two = Draws().order(1000), Draws().order(1000)
    assert sorted(one.tolist()) == list(range(1000))
    assert one.tolist() != two.tolist()  # equal by chance: 1/1000!
    assert Draws(np.random.default_rng(1)).order(9).tolist() == Draws(np.random.default_rng(1)).order(9).tolist()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.sampled_from([41, 10**6]))
@settings(deadline=None)  # the first example compiles
def test_counting_sort_is_stable(keys: list[int], size: int) -> None:
    assert sort_order(np.array(keys), size).tolist() == sorted(range(len(keys)), key=lambda i: keys[i])


def test_rows_without_a_group_are_refused_before_the_kernel_writes_them() -> None:
    for of_row in ([0], [0, 1, 0]):
        with pytest.raises(ValueError, match="2 rows"):
            by_group([np.array([7, 8])], np.array(of_row), 2)
