"""The steps of a job: the private table is read, a release made, examined and written with its private part."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.adversary.audit import Audit
from sfumato.adversary.auditing import closed_form_audit
from sfumato.adversary.sampling_weights import weights_of
from sfumato.engine.base import Engine
from sfumato.engine.choice import Choice as EngineChoice
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import Overview, overview
from sfumato.engine.progress import with_rows
from sfumato.errors import OutputError, PolicyError
from sfumato.method.base import Progress
from sfumato.publisher.advice import advice
from sfumato.publisher.again import Notices, published_again
from sfumato.publisher.ledger import Entry, Ledger, entry_of, finish, policy_digest
from sfumato.publisher.policy import Policy
from sfumato.publisher.private_part import Log, PrivatePart, private_part
from sfumato.publisher.read_job import Digests, begin_digests_and_report, engine_of, entities, refuse_odd
from sfumato.publisher.reading_ahead import Ahead
from sfumato.release.files import stages
from sfumato.release.files.output import refuse_existing, refuse_public, whole_folder, write_private
from sfumato.release.files.recognize import PUBLIC
from sfumato.release.files.store import MANIFEST, describe_files
from sfumato.release.files.table_files import writing_tables
from sfumato.release.release import Release
from sfumato.report.earlier_releases import Dangling, raw_dangling, unrelated
from sfumato.report.pdf import Printed, print_pdf
from sfumato.report.risk import Weighted, weighted_classes
from sfumato.report.summary import Summary, summarize
from sfumato.table.checks import located
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    from sfumato.publisher.choose import Choice

Files = Callable[[], dict[str, str]]
"""Waits for the tables of a release, writes what else belongs to it, and returns the SHA-256 of each file."""


@dataclass(frozen=True)
class Asked:
    """How a job is to be run: where it writes, with which randomness, and who hears of it."""

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


class Examined(NamedTuple):
    """What is found out about a release before it leaves the house; the warnings are for the steward alone."""

    summary: Summary
    dangling: Dangling
    audit: Audit
    warnings: list[str]


class Written(NamedTuple):
    """What a job wrote beside its release."""

    examined: Examined
    private: PrivatePart
    printed: Printed


def read_private_table(job: Policy, asked: Asked, ahead: Ahead | None) -> tuple[PrivateTable, Asked]:
    """The table that a policy names, read and coded; from then on the rows are told with the progress."""
    there, digests, where = engine_of(job, asked.progress, ahead)
    asked.log.lines.append(f"engine: {where}")
    counts = overview(there, entities(job, there.table))
    refuse_odd(job, counts)
    begin_digests_and_report(digests)
    if there.pieces is not None and "method" not in job.content:
        raise there.pieces.refuse("no method is named, and to choose one takes all of it; name one under [method]")
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


def write_output(
    job: Policy, table: PrivateTable, release: Release, asked: Asked, known: Ledger | None, told: Notices, *, pdf: bool
) -> Written:
    """Write the release and its private part, both or neither, and record them in the ledger."""
    made: list[Entry] = []
    with (
        whole_folder(asked.folder, force=asked.force, afterwards=lambda: finish(known, made)) as draft,
        _writing(draft / PUBLIC, release, table.engine, job.csv) as files,
    ):
        examined = _examined(job, table, release, asked, [*told.warnings, *(known.warnings if known else ())])
        private = _private(job, table, release, asked, examined, files)
        printed = _printed(private.files["report.html"], asked.progress) if pdf else Printed(None)
        write_private(draft, {**private.files, **printed.file()})
        stages.reached("private written")
        made.append(entry_of(job, table.digests.cells, asked.folder, draft / PUBLIC / MANIFEST, asked.seed))
        if known:
            known.record(made[0])
            stages.reached("ledger written")
    return Written(examined, private, printed)


def _examined(job: Policy, table: PrivateTable, release: Release, asked: Asked, known: list[str]) -> Examined:
    """Summary, audit and warnings, the last of which are ``known`` before."""
    summary = summarize(release, table.counts)
    dangling = raw_dangling(release, table.engine.table, getattr(job.method, "after", ()))
    asked.progress("audit", 0.0)
    found = closed_form_audit(release, table.counts, population=job.population or job.population_size)
    refuted = (f"An audit refutes a claim of the release: {claim}." for claim in found.broken)
    private = [*refuted, *advice(job, table.counts, release, summary), *unrelated(dangling), *known]
    warned = dict.fromkeys([*release.warnings, *private])
    asked.log.lines += [*summary.lines(), *(f"warning: {w}" for w in warned)]
    return Examined(summary, dangling, found, private)


def _private(
    job: Policy, table: PrivateTable, release: Release, asked: Asked, examined: Examined, files: Files
) -> PrivatePart:
    """The report and the other files of the private part."""
    asked.progress("write", 0.0)
    return private_part(
        job,
        table.counts,
        release,
        asked.seed,
        asked.log,
        examined.summary,
        examined.warnings,
        examined.dangling,
        digests=table.digests,
        files=files,
        found=examined.audit,
        weighted=_weighted(job, release, table.engine),
    )


@contextmanager
def _writing(public: Path, release: Release, engine: Engine, csv: str) -> Iterator[Files]:
    """Write the tables of a release while its report is made; what is yielded writes the rest, with all digests."""
    public.mkdir()
    manifest = release.description
    with writing_tables(public, release.tables, manifest.output, engine.write, csv_of_parts=csv == "always") as tables:
        yield lambda: describe_files(public, manifest, tables())


def _weighted(job: Policy, release: Release, there: Engine) -> Weighted | None:
    """The classes before and after, with the sampling weights of their rows; None if there are no weights."""
    if job.weights is None:
        return None
    if not isinstance(there, LocalEngine):
        raise PolicyError(
            'weights under [data] are read in memory; set name = "local" under [engine], or leave them out'
        )
    return weighted_classes(release, there.table, weights_of(there.table, job.weights, job.population_size))


def _with_method(
    job: Policy, table: Microdata, counts: Counts, rng: np.random.Generator | None, progress: Progress
) -> tuple[Policy, "Choice | None"]:
    """The job with a method; if it names none, the one that is chosen, and why."""
    if "method" in job.content or job.integrate is not None:
        return job, None
    from sfumato.publisher.choose import with_method  # it knows all methods, which take time to import

    return with_method(job, table, counts, Draws(rng), progress)


def _printed(page: str, progress: Progress) -> Printed:
    """The report as PDF, or why there is none."""
    progress("print", 0.0)
    return print_pdf(page)


def told_engine(where: EngineChoice) -> list[str]:
    """A note about an engine that was chosen, where it is not the one for small tables or had better been another."""
    worth_it = (where.name != "local" and "asks for it" not in where.why) or "not installed" in where.why
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
    """The generator for a seed; without one None, which stands for fresh secret entropy."""
    if seed is None:
        return None
    if isinstance(seed, bool) or seed < 0:
        raise PolicyError(f"the seed is {seed!r}; it must be a whole number, 0 or more")
    return np.random.default_rng(seed)
