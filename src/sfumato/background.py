"""Work on another core while a job goes on."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_background(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """What ``work`` returns, once asked for; errors are raised there. A process that ends does not wait for it.

    >>> in_background(sum, [1, 2]).result()
    3
    """
    found: Future[T] = Future()
    Thread(target=_fill, args=(found, partial(work, *args, **kwargs)), daemon=True).start()
    return found


def known(value: T) -> Future[T]:
    """A result that is there already."""
    found: Future[T] = Future()
    found.set_result(value)
    return found


class Later(Generic[T]):
    """Work that is done once, by whichever comes first: an idle core, or the caller that asks for the result.

    >>> Later(lambda: sum([1, 2])).result()
    3
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._found = [work], Future[T]()

    def run(self) -> None:
        """Do the work here, unless somebody does it or has done it."""
        try:
            work = self._work.pop()
        except IndexError:
            return
        _fill(self._found, work)

    def result(self) -> T:
        """What the work returns; its errors are raised here."""
        self.run()
        return self._found.result()


def _fill(found: Future[T], work: Callable[[], T]) -> None:
    try:
        found.set_result(work())
    except BaseException as error:
        found.set_exception(error)
