"""The last steps of a job: a release is examined and written with its private part.

All of this is imported while the release is made: see `begin_digests_and_report`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sfumato.adversary.audit import Audit
from sfumato.adversary.auditing import closed_form_audit
from sfumato.adversary.sampling_weights import weights_of
from sfumato.engine.base import Engine
from sfumato.engine.local import LocalEngine
from sfumato.errors import PolicyError
from sfumato.method.base import Progress
from sfumato.publisher.advice import advice
from sfumato.publisher.again import Notices
from sfumato.publisher.job_steps import Asked, PrivateTable
from sfumato.publisher.ledger import Entry, Ledger, entry_of, finish
from sfumato.publisher.policy import Policy
from sfumato.publisher.private_part import PrivatePart, private_part
from sfumato.release.files import stages
from sfumato.release.files.output import whole_folder, write_private
from sfumato.release.files.recognize import PUBLIC
from sfumato.release.files.store import MANIFEST, describe_files
from sfumato.release.files.table_files import writing_tables
from sfumato.release.release import Release
from sfumato.report.earlier_releases import Dangling, raw_dangling, unrelated
from sfumato.report.pdf import Printed, print_pdf
from sfumato.report.plain_facts import plain_facts as plain_facts
from sfumato.report.risk import Weighted, weighted_classes
from sfumato.report.summary import Summary, summarize

Files = Callable[[], dict[str, str]]
"""Waits for the tables of a release, writes what else belongs to it, and returns the SHA-256 of each file."""


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


def _printed(page: str, progress: Progress) -> Printed:
    """The report as PDF, or why there is none."""
    progress("print", 0.0)
    return print_pdf(page)
