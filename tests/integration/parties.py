"""Two parties in one test: each runs in a thread of its own."""

import threading
from collections.abc import Callable
from typing import TypeVar

from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.memory import in_memory_pair

T = TypeVar("T")
U = TypeVar("U")
PATIENCE = 300.0


def together(first: Callable[[], T], second: Callable[[], U]) -> tuple[T | BaseException, U | BaseException]:
    """Run both at the same time; what each returned or raised."""
    found: list[object] = [None, None]

    def run(at: int, work: Callable[[], object]) -> None:
        try:
            found[at] = work()
        except BaseException as error:
            found[at] = error

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a party hangs"
    return found[0], found[1]  # type: ignore[return-value]


def converse(
    first: Callable[[Channel], T],
    second: Callable[[Channel], U],
    *,
    record: bool = False,
    limits: TimeLimits | None = None,
) -> tuple[T, U, Channel, Channel]:
    """Both talk over a pair of sockets; an error of either is raised."""
    a, b = in_memory_pair(limits=limits, record=record)
    left, right = together(lambda: first(a), lambda: second(b))
    for end in (left, right):
        if isinstance(end, BaseException):
            raise end
    return left, right, a, b
