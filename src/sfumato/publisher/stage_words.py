"""The stages of a job, as progress names them, in words, and how far a stage is."""

import time

from sfumato.engine.progress import Share

STAGES = {
    "read": "Reading the data",
    "propose": "Proposing roles",
    "response": "Finding the best probabilities",
    "trial": "Trying methods",
    "compare": "Comparing (finished points are kept)",
    "code": "Coding the columns",
    "margins": "Making the first cuts",
    "cuts": "Cutting into groups",
    "compress": "Counting equal rows",
    "lattice": "Searching the lattice",
    "boxes": "Forming groups",
    "loans": "Improving the groups",
    "reopening": "Improving the groups",
    "rules": "Finding negative rules",
    "perturb": "Perturbing sensitive values",
    "wait": "Waiting for the other publisher",
    "agree": "Agreeing with the other publisher",
    "align": "Aligning the records",
    "steps": "Refining (Ctrl-C stops)",
    "labels": "Labelling the groups",
    "judgement": "Judging the groups",
    "order": "Shuffling the rows",
    "parts": "Writing the parts",
    "audit": "Attacking the release",
    "write": "Writing release and report",
    "measure": "Measuring what the release is good for",
    "print": "Printing the report",
    "done": "Done",
}


class StageClock:
    """Knows since when the current stage runs."""

    def __init__(self) -> None:
        self.stage = ""
        self._began = 0.0

    def hear(self, stage: str) -> float:
        """How many seconds this stage has run, 0 if it begins now."""
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self._began = stage, now
        return now - self._began


def how_far(share: float, seconds: float) -> str:
    """How far a stage is after some seconds: rows, the share of it, and the time that is left if it goes on like this.

    >>> how_far(Share.of_rows(250_000, 1_000_000), 20), how_far(Share(0.5, rows=9000), 240), how_far(0.0, 3)
    ('250,000 of 1,000,000 rows, about 60 s left', '9,000 rows, 50%, about 4 min left', '')
    """
    rows, done = (share.rows, share.done) if isinstance(share, Share) else (None, None)
    told = [] if rows is None else [f"{rows:,} rows" if done is None else f"{done:,} of {rows:,} rows"]
    if share > 0 and done is None:
        told.append(f"{share:.0%}")
    if 0 < share < 1 and seconds >= 1:
        told.append(f"about {_duration(seconds * (1 - share) / share)} left")
    return ", ".join(told)


def _duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> _duration(0.4), _duration(89), _duration(600), _duration(10_000)
    ('1 s', '89 s', '10 min', '2.8 h')
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
