"""Run one side of an integration: from its policy to the release, which both sides write, and its own private part."""

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.engine.overview import overview, overview_of
from sfumato.errors import OutputError, PeerError, PolicyError, SfumatoError
from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.connection import HostPort, connect, listen
from sfumato.integration.contribution import Contribution
from sfumato.integration.credentials import Credentials
from sfumato.integration.integrate import Integration
from sfumato.integration.known_table import known_table
from sfumato.integration.wire import Reason, letter
from sfumato.method.base import Progress, silent
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.publisher.again import published_again
from sfumato.publisher.integrate_section import IntegrateSection
from sfumato.publisher.ledger import Entry, Ledger, entry_of, finish, policy_digest
from sfumato.publisher.log import Log
from sfumato.publisher.policy import Policy, read_policy
from sfumato.publisher.private_part import private_part
from sfumato.publisher.publish import Published
from sfumato.publisher.read_job import begin_digests_and_report, coded_and_known, entities, refuse_odd
from sfumato.release.files.output import refuse_existing, refuse_public, whole_folder, write_private
from sfumato.release.files.recognize import PUBLIC
from sfumato.release.files.store import MANIFEST, fill
from sfumato.release.release import Release
from sfumato.report.summary import summarize
from sfumato.table.regular_file import digest, located
from sfumato.table.taxonomy import named


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """How the two sides meet: one listens at an address, the other connects to it."""

    address: HostPort
    listens: bool
    limits: TimeLimits = field(default_factory=TimeLimits)
    told: Callable[[str], object] = lambda words: None
    """Called with where this side listens and which connections were rejected."""

    def open(self, section: IntegrateSection) -> Channel:
        """Meet the other publisher."""
        files = Credentials(certificate=section.certificate, key_file=section.key_file, authority=section.authority)
        if not self.listens:
            return connect(self.address, files, party=section.party, limits=self.limits)
        return listen(
            self.address,
            files,
            party=section.party,
            limits=self.limits,
            listening=lambda place: self.told(f"listening on {place}"),
            refused=lambda words: self.told(f"rejected a connection: {words}"),
        )


class FilesDiffer(PeerError):  # noqa: N818 - the fact
    """Both sides hold the same table but would write different files."""


def integrate_policy(
    policy: str | Path | Policy,
    out: str | Path = "out",
    *,
    meeting: Meeting,
    force: bool = False,
    keep: bool = True,
    progress: Progress = silent,
) -> Published:
    """Do what one side's policy says together with the other side, and write OUT/release and OUT/private.

    If the other side fails, or this one is interrupted, during the refinement or later, the table after the last
    refinement that both took is written if ``keep``, and the error says so.
    """
    job = policy if isinstance(policy, Policy) else read_policy(policy)
    section, method = _section(job)
    folder = located(out, None, OutputError)
    refuse_public(folder)
    refuse_existing(folder, force=force)
    side = _Side(job, folder, force, progress)
    mine = Contribution(
        table=side.table,
        key=section.key,
        intersect=section.intersect,
        requirements=job.requirements,
        method=method,
        title=job.title,
        spreadsheet=job.spreadsheet,
    )
    side.heard("wait", 0.0)
    channel = meeting.open(section)
    work = Integration(channel, mine, side.heard)
    try:
        with work.ending():
            done = side.write(work, work.run(), confirm=True)
        channel.close()
        return done
    except FilesDiffer:
        raise
    except (SfumatoError, KeyboardInterrupt) as error:
        kept = side.keep(work) if keep else None
        if kept is None:
            raise
        raise _with_words(error, kept) from None


def _section(job: Policy) -> tuple[IntegrateSection, TopDownTwoParty]:
    if job.integrate is None or not isinstance(job.method, TopDownTwoParty):
        raise PolicyError(
            'the policy has no [integrate] table; add one with party = "A" or "B", key or psi, certificate, key_file '
            "and authority. To publish one table alone, use `sfumato publish`"
        )
    return job.integrate, job.method


def _with_words(error: BaseException, kept: str) -> BaseException:
    """The error, with the note that a table was kept."""
    return KeyboardInterrupt(kept) if isinstance(error, KeyboardInterrupt) else type(error)(f"{error}. {kept}")


class _Side:
    """This side's table of a job and everything that is written about it."""

    def __init__(self, job: Policy, folder: Path, force: bool, progress: Progress) -> None:
        self.job, self.folder, self.force, self.progress = job, folder, force, progress
        self.log = Log()
        self.heard = self.log.listening(progress)
        self.ledger = Ledger.of(job)
        engine, self.digests = coded_and_known(job, self.heard)
        begin_digests_and_report(self.digests)
        refuse_odd(job, overview(engine))
        self.table = engine.table

    def keep(self, work: Integration) -> str | None:
        """Write the last common table; returns what to say about it, None if there is none."""
        release = work.last_common()
        if release is None:
            return None
        self.write(work, release, confirm=False)
        steps = work.prepared().common.steps
        return (
            f"The table after {steps} common refinement{'s' * (steps != 1)} satisfies every requirement; it was "
            f"written to {self.folder}"
        )

    def write(self, work: Integration, release: Release, *, confirm: bool) -> Published:
        """Write both parts, whole or not at all; ``confirm``: only if the other side has the same files."""
        known = known_table(work.prepared())
        table = overview_of(known, entities(self.job, known))
        before = self.ledger.earlier(self.digests.cells)
        told = published_again(
            before, policy=policy_digest(self.job), method=self.job.method, seed=None, out=self.folder, force=self.force
        )
        summary = summarize(release, table)
        private = [*_known(work), *told.warnings, *self.ledger.warnings]
        self.log.lines += [*summary.lines(), *(f"warning: {w}" for w in dict.fromkeys([*release.warnings, *private]))]
        made: list[Entry] = []
        with whole_folder(self.folder, force=self.force, afterwards=lambda: finish(self.ledger, made)) as draft:
            self.heard("write", 0.0)
            (draft / PUBLIC).mkdir()
            with work.channel.computing() if confirm else nullcontext():
                files = fill(draft / PUBLIC, release.description, release.tables)
                texts = private_part(
                    self.job,
                    table,
                    release,
                    None,
                    self.log,
                    summary,
                    private,
                    digests=self.digests,
                    files=lambda: files,
                ).files
                write_private(draft, texts)
            if confirm:
                _confirm(work, draft / PUBLIC)
            made.append(entry_of(self.job, self.digests.cells, self.folder, draft / PUBLIC / MANIFEST, None))
            self.ledger.record(made[0])
        self.progress("done", 1.0)
        warnings = [*release.warnings, *private, *self.ledger.warnings]
        return Published(release, self.folder, summary, tuple(dict.fromkeys(warnings)), tuple(told.notes))


def _confirm(work: Integration, public: Path) -> None:
    """Raise if the other side does not write the same files."""
    files = sorted(public.iterdir())
    mine = hashlib.sha256("\n".join(f"{file.name} {digest(file)}" for file in files).encode()).digest()
    if not work.same_digest(mine):
        words = "the two sides would write different files for the same table; nothing was written. Please report this"
        work.channel.abort(Reason.DATA_DIFFERS)
        raise FilesDiffer(words)


def _known(work: Integration) -> list[str]:
    """What this side's steward must know: who holds which columns, and that this side's view is not anonymous."""
    peer = work.channel.peer
    theirs = work.prepared().joint.offers[peer].names
    return [
        f"Party {letter(peer)} holds {named(theirs) if theirs else 'no column'}. It knows, record by record, the "
        "labels that the release shows for your columns, and you know those for its columns. Either side's own table "
        "combined with these labels is not anonymous: never hand it over. Where this report compares with the table "
        "before publication, it uses labels for the other side's columns."
    ]
