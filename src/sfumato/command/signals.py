"""Signals: what Ctrl-C does while a release is made."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sfumato.command.progress import PAUSE, Listener, is_terminal

_WRITTEN = "done"


class Interrupts:
    """Ctrl-C ends the command; while a table is refined, it waits for the next valid one.

    That it was pressed is remembered: pressed while modules are imported, the exception may be swallowed (by extension
    modules that ignore errors, or in a callback of the importer) or become another one.
    """

    def __init__(self) -> None:
        self._refining = self._waiting = False
        self._step = ""
        self.ended = False

    def press(self, number: int, frame: object) -> None:
        """What the signal calls."""
        if not self._refining or self._waiting:
            self.ended = True
            raise KeyboardInterrupt
        self._waiting = True

    def heeded(self, choice: str, progress: Listener) -> Listener:
        """The listener, which ends the work if Ctrl-C was pressed."""
        from sfumato.method.base import STEP, Enough

        def heard(stage: str, done: float) -> None:
            if self.ended and stage != _WRITTEN:
                raise KeyboardInterrupt
            self._refining = stage.startswith(STEP)
            self._step = stage if self._refining else self._step
            progress(stage, done)
            if self._waiting:
                goes_on, self._refining, self._waiting = self._refining, False, False
                progress(PAUSE, 0.0)
                if not is_wanted(choice, self._step):
                    raise KeyboardInterrupt
                if goes_on:
                    raise Enough

        return heard


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Listen to Ctrl-C; a command that it was to end does not end with another error."""
    pressed = Interrupts()
    try:
        before = signal.signal(signal.SIGINT, pressed.press)
    except ValueError:  # not the main thread, which alone receives signals
        yield pressed
        return
    try:
        yield pressed
    except Exception:
        if pressed.ended:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def is_wanted(choice: str, stage: str) -> bool:
    """Whether the last valid table should be published."""
    if choice != "ask" or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return choice == "publish"
    return click.confirm(f"Stopped after {stage.partition(':')[0]}. Publish this table?", default=False, err=True)
