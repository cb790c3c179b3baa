"""Run a whole job: from policy to microdata, to release, to the folder with its private part."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from sfumato import notebook
from sfumato.adversary.auditing import closed_form_audit
from sfumato.adversary.sampling_weights import weights_of
from sfumato.engine.base import Engine
from sfumato.engine.choice import Choice as EngineChoice
from sfumato.engine.choice import asked_for
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import overview
from sfumato.engine.progress import with_rows
from sfumato.errors import OutputError, PolicyError, RefutedMethodWarning
from sfumato.method.base import Method, PartitionMethod, Progress, silent
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.publisher.advice import advice
from sfumato.publisher.after import published_after
from sfumato.publisher.again import published_again
from sfumato.publisher.ledger import Entry, Ledger, entry_of, finish, policy_digest
from sfumato.publisher.policy import Policy, read_policy
from sfumato.publisher.private_part import Log, private_part
from sfumato.publisher.read_job import engine_of, entities, refuse_odd
from sfumato.publisher.reading_ahead import Ahead
from sfumato.release.files import stages
from sfumato.release.files.output import refuse_existing, refuse_public, whole_folder, write_private
from sfumato.release.files.recognize import PUBLIC
from sfumato.release.files.store import MANIFEST, describe_files
from sfumato.release.files.table_files import writing_tables
from sfumato.release.judgement import bind, listed
from sfumato.release.release import Release
from sfumato.report.earlier_releases import raw_dangling, unrelated
from sfumato.report.pdf import Printed, print_pdf
from sfumato.report.plain_facts import plain_facts
from sfumato.report.risk import Weighted, weighted_classes
from sfumato.report.summary import Summary, summarize
from sfumato.requirement.base import Requirement
from sfumato.table.checks import located
from sfumato.table.microdata import Microdata, refuse_raw

if TYPE_CHECKING:
    from sfumato.publisher.choose import Choice


@dataclass(frozen=True)
class Published:
    """The result of a job: the release, the folder with its public and private part, and the warnings."""

    release: Release
    folder: Path
    summary: Summary
    """The release in short: rows in and out, groups, information kept, what was suppressed."""
    warnings: tuple[str, ...] = ()
    """Everything the steward should know: the warnings of the release, then those that must stay private."""
    notes: tuple[str, ...] = ()
    """What is no cause for concern."""
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the report states, as plain data; private."""

    def __repr__(self) -> str:
        return f"Published({self.release!r} in {str(self.folder)!r}, {len(self.warnings)} warnings)"

    def _repr_html_(self) -> str:
        told = [notebook.paragraph(f"Warning: {warning}") for warning in self.warnings]
        where = notebook.paragraph(f"To hand over: {self.folder / 'release'}. To keep: {self.folder / 'private'}.")
        return notebook.panel("Published", self.summary._repr_html_(), *told, where)

    @property
    def report(self) -> Path:
        """The steward's report."""
        return self.folder / "private" / "report.html"


def publish(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    method: Method | str | None = None,
    title: str = "",
    rng: np.random.Generator | None = None,
    progress: Progress = silent,
) -> Release:
    """Make a release of microdata that meets the requirements.

    Without a ``method``, one that is not refuted for these requirements is chosen, and the manifest says why.
    ``rng`` is for experiments only; without one all randomness is fresh secret entropy. A release whose own warnings
    name a refutation of the method also raises the Python warning `RefutedMethodWarning`.

    Args:
        table: the private table, from `read`.
        require: the requirements, one or several.
        method: an object with its settings, or a name.
        title: what the manifest calls the release.
        rng: a NumPy generator, for experiments only.
        progress: called with the stage and the share of it that is done, a number whose ``rows`` and ``done`` are
            the rows of the table and those that the stage has finished, None if they are not known.
    """
    refuse_raw(table)
    wanted = listed(require)
    if method is None:
        from sfumato.publisher.choose import choose  # it knows all methods, which take time to import

        choice = choose(table, wanted, draws=Draws(rng), progress=progress)
        made = choice.method.publish(table, wanted, title=title, rng=rng, progress=progress)
        return choice.stated_by(made)
    chosen = method if isinstance(method, Method) else method_from_table({"name": method})
    release = chosen.publish(table, wanted, title=title, rng=rng, progress=progress)
    _warn_of_refutation(chosen, wanted, release)
    return release


def _warn_of_refutation(method: Method, wanted: Sequence[Requirement], release: Release) -> None:
    """A Python warning for each sentence of the release that says which published promise of its method is false."""
    refutations = method.warnings(wanted) if method.refuted else []
    for told in release.warnings:
        if method.refuted and (told in refutations or method.refuted in told):
            warn(f"{method.name}: {told}", RefutedMethodWarning, stacklevel=3)


def partition(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    method: Method | str = "mondrian",
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """The group of each row of the table, by a method that partitions. Private: for research and tests.

    Args:
        table: the private table.
        require: the requirements, one or several.
        method: an object or a name.
        rng: for experiments only; without one all randomness is fresh secret entropy.
    """
    refuse_raw(table)
    chosen = method if isinstance(method, Method) else method_from_table({"name": method})
    if not isinstance(chosen, PartitionMethod):
        raise PolicyError(f"{chosen.name} does not partition the rows")
    if not table.quasi:
        raise PolicyError(f"{chosen.name} needs a quasi-identifier, but none is declared; give a column that role")
    wanted = listed(require)
    return chosen.groups(table, bind(wanted, table), draws=Draws(rng), progress=silent).of_row


def publish_policy(
    policy: str | Path | Policy,
    out: str | Path = "out",
    *,
    seed: int | None = None,
    force: bool = False,
    ledger: bool = True,
    after: Sequence[str | Path] = (),
    pdf: bool = False,
    progress: Progress = silent,
    ahead: Ahead | None = None,
    engine: str | None = None,
) -> Published:
    """Do what a policy says and write OUT/release and OUT/private, both or neither.

    Args:
        policy: the file, or a policy that was read.
        out: the folder to write.
        seed: makes the release repeatable; for experiments only.
        force: replace a folder that sfumato wrote.
        ledger: whether to record the release in the ledger beside the source, so that a second one is noticed.
        after: releases that were published before, beside those of the policy.
        pdf: print the report to report.pdf too, with a browser; a note says why if that is not possible.
        progress: called with the stage and the share of it that is done, a number whose ``rows`` and ``done`` are
            the rows of the table and those that the stage has finished, None if they are not known.
        ahead: the table, if reading it has begun (`reading_ahead`).
        engine: auto, local, duckdb or spark; takes precedence over the policy's.
    """
    job = published_after(policy if isinstance(policy, Policy) else read_policy(policy), after)
    job = replace(job, engine=asked_for(job.engine, engine))
    folder = located(out, None, OutputError)
    refuse_public(folder)
    refuse_existing(folder, force=force)
    rng = seeded_generator(seed)
    log = Log()
    heard = log.listening(progress)
    known = Ledger.of(job) if ledger else None
    there, digests, where = engine_of(job, heard, ahead)
    log.lines.append(f"engine: {where}")
    heard = with_rows(heard, there.table.rows)
    table = overview(there, entities(job, there.table))
    refuse_odd(job, table)
    if there.pieces is not None and "method" not in job.content:
        raise there.pieces.refuse("no method is named, and to choose one takes all of it; name one under [method]")
    job, choice = _with_method(job, there.table, table, rng, heard)
    release = _release(job, there, rng, heard)
    release = choice.stated_by(release) if choice else release
    before = known.earlier(digests.cells) if known else []
    told = published_again(before, policy=policy_digest(job), method=job.method, seed=seed, out=folder, force=force)
    made: list[Entry] = []
    with (
        whole_folder(folder, force=force, afterwards=lambda: finish(known, made)) as draft,
        _writing(draft / PUBLIC, release, there, job.csv) as files,
    ):
        summary = summarize(release, table)
        dangling = raw_dangling(release, there.table, getattr(job.method, "after", ()))
        heard("audit", 0.0)
        found = closed_form_audit(release, table, population=job.population or job.population_size)
        refuted = (f"An audit refutes a claim of the release: {claim}." for claim in found.broken)
        private = [*refuted, *advice(job, table, release, summary), *unrelated(dangling), *told.warnings]
        private += known.warnings if known else ()
        log.lines += [*summary.lines(), *(f"warning: {w}" for w in dict.fromkeys([*release.warnings, *private]))]
        heard("write", 0.0)
        steward = private_part(
            job,
            table,
            release,
            seed,
            log,
            summary,
            private,
            dangling,
            digests=digests,
            files=files,
            found=found,
            weighted=_weighted(job, release, there),
        )
        printed = _printed(steward.files["report.html"], heard) if pdf else Printed(None)
        write_private(draft, {**steward.files, **printed.file()})
        stages.reached("private written")
        made.append(entry_of(job, digests.cells, folder, draft / PUBLIC / MANIFEST, seed))
        if known:
            known.record(made[0])
            stages.reached("ledger written")
    progress("done", 1.0)
    warnings = [*release.warnings, *private, *(known.warnings if known else ())]
    notes = (*told.notes, *filter(None, [printed.why]), *_told_engine(where))
    return Published(release, folder, summary, tuple(dict.fromkeys(warnings)), notes, plain_facts(steward.facts))


@contextmanager
def _writing(public: Path, release: Release, engine: Engine, csv: str) -> Iterator[Callable[[], dict[str, str]]]:
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


def _told_engine(where: EngineChoice) -> list[str]:
    """A note about an engine that was chosen, where it is not the one for small tables or had better been another."""
    worth_it = (where.name != "local" and "asks for it" not in where.why) or "not installed" in where.why
    return [f"the engine is {where}"] if worth_it else []


def seeded_generator(seed: int | None) -> np.random.Generator | None:
    """The generator for a seed; without one None, which stands for fresh secret entropy."""
    if seed is None:
        return None
    if isinstance(seed, bool) or seed < 0:
        raise PolicyError(f"the seed is {seed!r}; it must be a whole number, 0 or more")
    return np.random.default_rng(seed)


def _release(job: Policy, engine: Engine, rng: np.random.Generator | None, progress: Progress) -> Release:
    """The release that a policy asks for, with its output settings and what the policy discloses of its context."""
    there = engine.prepared(job.method.prepared)
    made = job.method.release(there, job.requirements, title=job.title, draws=Draws(rng), progress=progress)
    if job.spreadsheet != "plain":
        made = made.stating(output={"spreadsheet": job.spreadsheet})
    told = job.context.public() if job.context else {}
    return made.stating(context=told) if told else made
