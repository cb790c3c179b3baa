"""Going through all ways one after the other, however many there are: whoever counts them can stop at any."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def one_of_each(parts: Sequence[Callable[[], Iterable[T]]]) -> Iterator[tuple[T, ...]]:
    """One of each part, in all ways, in the order of itertools.product, which would keep all parts in memory.

    >>> list(one_of_each([lambda: "ab", lambda: "cd"]))
    [('a', 'c'), ('a', 'd'), ('b', 'c'), ('b', 'd')]
    """
    if not parts:
        yield ()
        return
    for first in parts[0]():
        for others in one_of_each(parts[1:]):
            yield first, *others


def arrangements(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order of the values, each once, in ascending order.

    >>> list(arrangements((1, 0, 1)))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    now = sorted(values)
    while True:
        yield tuple(now)
        at = len(now) - 2
        while at >= 0 and now[at] >= now[at + 1]:
            at -= 1
        if at < 0:
            return
        other = max(i for i in range(at + 1, len(now)) if now[i] > now[at])
        now[at], now[other] = now[other], now[at]
        now[at + 1 :] = reversed(now[at + 1 :])
