"""Run a whole job: from policy to microdata, to release, to the folder with its private part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from sfumato import notebook
from sfumato.engine.choice import asked_for
from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError, RefutedMethodWarning
from sfumato.method.base import Method, PartitionMethod, Progress, silent
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.publisher.after import published_after
from sfumato.publisher.job_steps import (
    Asked,
    make_release,
    published_before,
    read_private_table,
    told_engine,
)
from sfumato.publisher.ledger import Ledger
from sfumato.publisher.policy import Policy, read_policy
from sfumato.publisher.reading_ahead import Ahead
from sfumato.release.judgement import bind, listed
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata, refuse_raw

if TYPE_CHECKING:
    from sfumato.report.summary import Summary


@dataclass(frozen=True)
class Published:
    """The result of a job: the release, the folder with its public and private part, and the warnings."""

    release: Release
    folder: Path
    summary: "Summary"
    """The release in short: rows in and out, groups, information kept, what was suppressed."""
    warnings: tuple[str, ...] = ()
    """Everything the steward should know: the warnings of the release, then those that must stay private."""
    notes: tuple[str, ...] = ()
    """Remarks that are no cause for concern."""
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
        ledger: whether to record the release in the ledger next to the source, so that a second one is noticed.
        after: earlier releases, in addition to those in the policy.
        pdf: also print the report to report.pdf, with a browser; if that is not possible, a note says why.
        progress: called with the stage and the share of it that is done, a number whose ``rows`` and ``done`` are
            the rows of the table and those that the stage has finished, None if they are not known.
        ahead: the table, if reading it has begun (`reading_ahead`).
        engine: auto, local, duckdb or spark; takes precedence over the policy's.
    """
    job = published_after(policy if isinstance(policy, Policy) else read_policy(policy), after)
    job = replace(job, engine=asked_for(job.engine, engine))
    asked = Asked.of(out, seed=seed, force=force, progress=progress)
    known = Ledger.of(job) if ledger else None
    private_table, asked = read_private_table(job, asked, ahead)
    job, release = make_release(job, private_table, asked)
    told = published_before(job, private_table, asked, known)
    from sfumato.publisher.write_steps import plain_facts, write_output  # imported while the release was made

    written = write_output(job, private_table, release, asked, known, told, pdf=pdf)
    progress("done", 1.0)
    warnings = [*release.warnings, *written.examined.warnings, *(known.warnings if known else ())]
    notes = (*told.notes, *filter(None, [written.printed.why]), *told_engine(private_table.where))
    facts = plain_facts(written.private.facts)
    return Published(release, asked.folder, written.examined.summary, tuple(dict.fromkeys(warnings)), notes, facts)
