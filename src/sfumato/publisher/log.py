"""The log of a job: its stages, and what else is worth a line."""

import datetime as dt

from sfumato.method.base import Progress
from sfumato.publisher.stage_words import StageClock, how_far

_SELDOM = 10.0
"""Seconds of a stage between two lines of the log."""


class Log:
    """When each stage began, and how far a long one was."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._clock, self._next = StageClock(), 0.0

    def listening(self, progress: Progress) -> Progress:
        """The same progress, with each new stage recorded, and every few seconds how far it is."""

        def heard(stage: str, done: float) -> None:
            begins, seconds = stage != self._clock.stage, self._clock.hear(stage)
            if begins or seconds >= self._next:
                self._next = seconds + _SELDOM
                told = f": {far}" if (far := how_far(done, seconds)) else ""
                self.lines.append(f"{dt.datetime.now(dt.UTC).isoformat(timespec='milliseconds')} {stage}{told}")
            progress(stage, done)

        return heard

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
