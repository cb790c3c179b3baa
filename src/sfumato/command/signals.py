"""Signals: what Ctrl-C does while a table is refined."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sfumato.command.progress import PAUSE, Listener, is_terminal


@contextmanager
def interrupts(choice: str, progress: Listener) -> Iterator[Listener]:
    """While a table is refined, Ctrl-C waits for the next valid one; at any other time it ends the command."""
    from sfumato.method.base import STEP, Enough

    refining = pressed = False

    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if not refining or pressed:
            raise KeyboardInterrupt
        pressed = True

    def heard(stage: str, done: float) -> None:
        nonlocal refining
        refining = stage.startswith(STEP)
        progress(stage, done)
        if pressed and refining:
            refining = False
            progress(PAUSE, 0.0)
            raise Enough if is_wanted(choice, stage) else KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, press)
    except ValueError:  # not the main thread, which alone receives signals
        yield progress
        return
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def is_wanted(choice: str, stage: str) -> bool:
    """Whether the last valid table should be published."""
    if choice != "ask" or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return choice == "publish"
    return click.confirm(f"Stopped after {stage.partition(':')[0]}. Publish this table?", default=False, err=True)
