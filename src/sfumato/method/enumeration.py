"""Lazy enumeration of combinations and arrangements, however many there are: a caller can stop at any point."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def one_of_each(parts: Sequence[Callable[[], Iterable[T]]]) -> Iterator[tuple[T, ...]]:
    """All ways to pick one of each part, in the order of itertools.product, which would keep all parts in memory.

    >>> list(one_of_each([lambda: "ab", lambda: "cd"]))
    [('a', 'c'), ('a', 'd'), ('b', 'c'), ('b', 'd')]
    """
    chosen: list[T] = []
    open_: list[Iterator[T]] = []
    while True:
        if len(chosen) == len(parts):
            yield tuple(chosen)
        else:
            open_.append(iter(parts[len(chosen)]()))
        while open_:
            del chosen[len(open_) - 1 :]
            try:
                chosen.append(next(open_[-1]))
                break
            except StopIteration:
                open_.pop()
        if not open_:
            return


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
