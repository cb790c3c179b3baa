"""What is reported while a job runs: the stage, how much of it is done, and of how many rows."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Self, TypeVar

Progress = Callable[[str, float], None]
"""Called with the current stage and the fraction of it that is done, from 0 to 1; mostly a `Share`."""

T = TypeVar("T")
_PAUSE = 0.25


class Share(float):
    """How much of a stage is done, from 0 to 1: a number, with the rows that it stands for.

    ``rows`` is how many rows the table has, None if that is not known yet; ``done`` how many of them the stage has
    finished, None if it is not counted in rows.

    >>> half = Share.of_rows(10, 20)
    >>> half == 0.5, half.done, half.rows, Share(0.2, rows=20).done
    (True, 10, 20, None)
    """

    rows: int | None
    done: int | None

    def __new__(cls, share: float, *, rows: int | None = None, done: int | None = None) -> Self:
        made = super().__new__(cls, share)
        made.rows, made.done = rows, done
        return made

    @classmethod
    def of_rows(cls, done: int, rows: int) -> Self:
        """A stage that has finished some of the rows."""
        return cls(done / rows if rows else 1.0, rows=rows, done=done)


def silent(stage: str, done: float) -> None:
    """Shows no progress."""


def with_rows(progress: Progress, rows: int) -> Progress:
    """The same listener, told with every share how many rows the table has."""
    if progress is silent:
        return progress

    def heard(stage: str, done: float) -> None:
        progress(stage, done if isinstance(done, Share) and done.rows is not None else Share(done, rows=rows))

    return heard


def counting(progress: Progress, stage: str) -> Callable[[int, int], None]:
    """Tells a listener how many rows of how many a stage has finished."""
    return lambda done, rows: progress(stage, Share.of_rows(done, rows))


def watched(
    work: Callable[[], T], share: Callable[[], float], tell: Callable[[float], None], stop: Callable[[], None]
) -> T:
    """The result of a long call, which runs in another thread while this one reports how much of it is done.

    A share that is only estimated may fall; the listener is told the largest so far. If the listener raises, or Ctrl-C
    is pressed, the call is stopped first.
    """
    most = 0.0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        try:
            while not wait([running], _PAUSE).done:
                most = min(max(share(), most), 1.0)
                tell(most)
        except BaseException:
            stop()
            raise
        return running.result()
