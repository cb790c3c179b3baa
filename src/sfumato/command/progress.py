"""Progress on a terminal: the stages of a job, and a note while kernels are compiled."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from sfumato.publisher.stage_words import STAGES, StageClock, how_far

Listener = Callable[[str, float], None]
"""Called with the stage of a job and how much of it is done, from 0 to 1 (mostly a `sfumato.engine.progress.Share`)."""

PAUSE = "pause"
"""The stage in which nothing moves on the terminal, so that a question can be asked."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that was closed before we started is None."""
    return stream is not None and stream.isatty()


@contextmanager
def progress_bar() -> Iterator[Listener]:
    """Progress on a terminal, silence in a pipe."""
    if not is_terminal(sys.stderr):
        yield lambda stage, done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    from sfumato.kernel.jit import hearing_compilation
    from sfumato.method.base import STEP

    words, clock = "", StageClock()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[far]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, far="")

        def compiling(begun: bool) -> None:
            bar.update(task, description=f"{words}: {compiling_words()}" if begun else words, refresh=True)

        def show(stage: str, done: float) -> None:
            nonlocal words
            words = STAGES.get(stage, stage)
            if stage == PAUSE:
                bar.stop()
                return
            if stage.startswith(STEP):
                bar.console.print(stage, markup=False, highlight=False, soft_wrap=True)
                words = STAGES["steps"]
            far = how_far(done, clock.hear(words))
            bar.update(task, description=words, total=1.0 if done else None, completed=done, far=far)

        with hearing_compilation(compiling):
            yield show


@contextmanager
def compile_note() -> Iterator[None]:
    """On a terminal, a line if a command that shows no progress has to compile a kernel."""
    if not is_terminal(sys.stderr):
        yield
        return
    from sfumato.kernel.jit import hearing_compilation

    noted = False

    def compiling(begun: bool) -> None:
        nonlocal noted
        if begun and not noted:
            noted = True
            click.echo(compiling_words(), err=True)

    with hearing_compilation(compiling):
        yield


def compiling_words() -> str:
    """What is shown while a kernel is compiled."""
    from sfumato.kernel.cache import are_kept

    return "compiling (once)" if are_kept() else "compiling"
