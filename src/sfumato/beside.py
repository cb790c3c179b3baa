"""Work on another core while a job goes on."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """What ``work`` returns, once it is asked for; its errors are raised there. A process that ends does not wait.

    >>> beside(sum, [1, 2]).result()
    3
    """
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work(*args, **kwargs))
        except BaseException as error:
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    return found


def known(value: T) -> Future[T]:
    """A result that is there already."""
    found: Future[T] = Future()
    found.set_result(value)
    return found
