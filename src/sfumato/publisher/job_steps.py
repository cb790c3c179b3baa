"""The first steps of a job: the private table is read, and a release is made. `write_steps` has the others."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.engine.base import Engine
from sfumato.engine.choice import EngineChoice as EngineChoice
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.overview import Overview, overview
from sfumato.engine.progress import with_rows
from sfumato.errors import OutputError, PolicyError
from sfumato.method.base import Progress
from sfumato.publisher.again import Notices, published_again
from sfumato.publisher.ledger import Ledger, policy_digest
from sfumato.publisher.log import Log
from sfumato.publisher.policy import Policy
from sfumato.publisher.read_job import Digests, begin_digests_and_report, engine_of, entities, refuse_odd
from sfumato.publisher.reading_ahead import Ahead
from sfumato.release.files.output import refuse_existing, refuse_public
from sfumato.release.release import Release
from sfumato.table.microdata import Microdata
from sfumato.table.regular_file import located

if TYPE_CHECKING:
    from sfumato.publisher.choose import Choice


@dataclass(frozen=True)
class Asked:
    """How to run a job: where it writes, with which randomness, and where progress is reported."""

    folder: Path
    force: bool
    seed: int | None
    rng: np.random.Generator | None
    log: Log
    progress: Progress

    @classmethod
    def of(cls, out: str | Path, *, seed: int | None, force: bool, progress: Progress) -> "Asked":
        """What was asked, if the folder may be written; every stage is recorded in the log."""
        folder = located(out, None, OutputError)
        refuse_public(folder)
        refuse_existing(folder, force=force)
        log = Log()
        return cls(folder, force, seed, seeded_generator(seed), log, log.listening(progress))


class PrivateTable(NamedTuple):
    """The private table of a job: the engine that holds it and why that one, its digests, and its counts."""

    engine: Engine
    where: EngineChoice
    digests: Digests
    counts: Overview


def read_private_table(job: Policy, asked: Asked, ahead: Ahead | None) -> tuple[PrivateTable, Asked]:
    """The table that a policy names, read and coded; from then on progress includes the number of rows."""
    there, digests, where = engine_of(job, asked.progress, ahead)
    asked.log.lines.append(f"engine: {where}")
    begin_digests_and_report(digests)
    counts = overview(there, entities(job, there.table))
    refuse_odd(job, counts)
    if there.pieces is not None and "method" not in job.content:
        raise there.pieces.refuse("no method is named, and choosing one needs all of it; name one under [method]")
    heard = with_rows(asked.progress, there.table.rows)
    return PrivateTable(there, where, digests, counts), replace(asked, progress=heard)


def make_release(job: Policy, table: PrivateTable, asked: Asked) -> tuple[Policy, Release]:
    """The release, and the job with its method, which is chosen if the policy names none."""
    job, choice = _with_method(job, table.engine.table, table.counts, asked.rng, asked.progress)
    release = _release(job, table.engine, asked.rng, asked.progress)
    return job, choice.stated_by(release) if choice else release


def published_before(job: Policy, table: PrivateTable, asked: Asked, known: Ledger | None) -> Notices:
    """What the steward should know if the same table was published before."""
    before = known.earlier(table.digests.cells) if known else []
    digest = policy_digest(job)
    return published_again(
        before, policy=digest, method=job.method, seed=asked.seed, out=asked.folder, force=asked.force
    )


def _with_method(
    job: Policy, table: Microdata, counts: Counts, rng: np.random.Generator | None, progress: Progress
) -> tuple[Policy, "Choice | None"]:
    """The job with a method; if it names none, the one that is chosen, and why."""
    if "method" in job.content or job.integrate is not None:
        return job, None
    from sfumato.publisher.choose import with_method  # it knows all methods, which take time to import

    return with_method(job, table, counts, Draws(rng), progress)


def told_engine(where: EngineChoice) -> list[str]:
    """A note on the chosen engine, if it is not the one for small tables or if another would have been better."""
    worth_it = (where.name != "local" and not where.asked) or where.missing
    return [f"the engine is {where}"] if worth_it else []


def _release(job: Policy, engine: Engine, rng: np.random.Generator | None, progress: Progress) -> Release:
    """The release that a policy asks for, with its output settings and what the policy discloses of its context."""
    there = engine.prepared(job.method.prepared)
    made = job.method.release(there, job.requirements, title=job.title, draws=Draws(rng), progress=progress)
    if job.spreadsheet != "plain":
        made = made.stating(output={"spreadsheet": job.spreadsheet})
    told = job.context.public() if job.context else {}
    return made.stating(context=told) if told else made


def seeded_generator(seed: int | None) -> np.random.Generator | None:
    """The generator for a seed; without one None, which means fresh secret entropy."""
    if seed is None:
        return None
    if isinstance(seed, bool) or seed < 0:
        raise PolicyError(f"the seed is {seed!r}; it must be a whole number, 0 or more")
    return np.random.default_rng(seed)
