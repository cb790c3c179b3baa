"""Try a job on a sample of its rows before it is run: the same code on fewer rows, and nothing is written."""

import time
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sfumato.adversary.uniqueness import PeopleTable
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.publisher.after import published_after
from sfumato.publisher.choose import Choice, with_method
from sfumato.publisher.compare.gain import Gain, adversary_gain
from sfumato.publisher.policy import Policy
from sfumato.release.release import Release
from sfumato.report.summary import Summary, summarize
from sfumato.table.microdata import Microdata

ROWS = 2_000
"""The rows of a sample: enough to see what a choice costs, few enough to see it at once."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a job makes of a sample. Private, like the sample.

    ``release`` was made of ``table``, ``rows`` rows drawn at random from the ``of`` rows there are, by the method
    that the job names or, if it names none, by the one of ``choice``. ``unique_before`` rows of the sample are alone
    with their quasi-identifiers.
    """

    rows: int
    of: int
    table: Microdata
    release: Release
    method: str
    choice: Choice | None
    unique_before: int
    seconds: float

    @property
    def whole(self) -> bool:
        """Whether the sample is the whole table."""
        return self.rows == self.of

    @cached_property
    def summary(self) -> Summary:
        """What was kept and what was lost."""
        return summarize(self.release, self.table)

    @cached_property
    def gain(self) -> Gain:
        """What an adversary gains who knows people's quasi-identifiers."""
        return adversary_gain(self.release, self.table)


def sampled(frame: pl.DataFrame, rows: int = ROWS) -> pl.DataFrame:
    """Rows drawn at random, without replacement and with fresh draws each time; all of a smaller table."""
    if frame.height <= rows:
        return frame
    return frame[Draws().order(frame.height)[:rows]]


def preview(job: Policy, sample: pl.DataFrame, *, of: int) -> Preview:
    """Do what a policy says on a sample of its ``of`` rows; raises what publishing would raise."""
    start = time.perf_counter()
    told = published_after(job)
    engine = LocalEngine.read(sample, told.covering, missing=told.missing, folder=told.folder)
    table = engine.table
    chosen, choice = with_method(told, table, engine.count(list(table.columns)), Draws(), lambda stage, share: None)
    made = chosen.method.publish(table, chosen.requirements)
    quasi = [c.name for c in table.quasi]
    return Preview(
        rows=sample.height,
        of=of,
        table=table,
        release=choice.stated_by(made) if choice else made,
        method=chosen.method.name,
        choice=choice,
        unique_before=PeopleTable(sample).unique_by(quasi).unique,
        seconds=time.perf_counter() - start,
    )
