"""Points on several cores: spawned processes, each of which gets the coded table once and then one point at a time.

Processes are never forked, since compiled kernels and Polars have threads. A process that dies costs only its own
point: another one takes its place.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from sfumato.publisher.compare.figures import Outcome, outcome_of
from sfumato.publisher.compare.points import Point
from sfumato.table.microdata import Microdata

Told = Callable[[Point, Outcome], None]

_PATIENCE = 5.0
_spawn = multiprocessing.get_context("spawn")


def measure_all(points: Sequence[Point], table: Microdata, *, workers: int, told: Told) -> None:
    """Measure the points and report each outcome as soon as it is known; a single worker runs in this process."""
    number = min(workers, len(points))
    if number <= 1:
        for point in points:
            told(point, outcome_of(point, table))
        return
    waiting = list(reversed(points))
    staff: dict[Any, _Worker] = {}
    try:
        for _ in range(number):
            _hire(staff, table, waiting)
        while staff:
            for connection in wait(list(staff)):
                worker = staff.pop(connection)
                told(worker.point, worker.outcome())
                if waiting and worker.alive:
                    worker.give(waiting.pop())
                    staff[connection] = worker
                else:
                    worker.end()
                    if waiting:
                        _hire(staff, table, waiting)
    finally:
        for worker in staff.values():
            worker.stop()


def _hire(staff: dict[Any, "_Worker"], table: Microdata, waiting: list[Point]) -> None:
    """Start a process and give it a point."""
    worker = _Worker(table, waiting.pop())
    staff[worker.connection] = worker


class _Worker:
    """A process, the connection to it, and the point it works on."""

    def __init__(self, table: Microdata, point: Point) -> None:
        self.connection, theirs = _spawn.Pipe()
        self.process = _spawn.Process(target=work, args=(theirs,), daemon=True)
        with _without_main():
            self.process.start()
        theirs.close()
        self.alive = True
        self.point = point
        self._send(table)
        self.give(point)

    def give(self, point: Point) -> None:
        """Let it work on a point."""
        self.point = point
        self._send(point)

    def _send(self, what: object) -> None:
        with suppress(OSError):  # it died: the outcome will say so
            self.connection.send(what)

    def outcome(self) -> Outcome:
        """The outcome of its point."""
        try:
            found: Outcome = self.connection.recv()
            return found
        except (EOFError, OSError):
            self.alive = False
            self.process.join(_PATIENCE)
            return Outcome(failed=_end_of(self.process.exitcode))

    def end(self) -> None:
        """Release it; it ends by itself once its connection is closed."""
        self.connection.close()
        self.process.join(_PATIENCE)

    def stop(self) -> None:
        """End it at once; it has written nothing."""
        self.process.kill()
        self.connection.close()
        self.process.join(_PATIENCE)


def _end_of(code: int | None) -> str:
    """Why there is no outcome, given the exit code of the process."""
    how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
    return (
        f"its process ended {how}, perhaps for lack of memory; run the comparison again with fewer workers, which "
        "repeats only what is missing"
    )


@contextmanager
def _without_main() -> Iterator[None]:
    """A spawned process would run the user's script again to find its definitions; ours needs none of them."""
    real = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = real


def work(connection: Connection) -> None:
    """What a process does: receive the table, then answer points with outcomes until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us too, but is for the one who hired us
    try:
        table = connection.recv()
        while True:
            connection.send(outcome_of(connection.recv(), table))
    except (EOFError, OSError):
        os._exit(0)
