"""Run a whole job: from policy to microdata, to release, to the folder with its private part."""

import datetime as dt
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.population_risk import refuse_smaller
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import Overview, overview
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.method.base import Method, PartitionMethod, Progress, silent
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.publisher.advice import advice
from sfumato.publisher.after import published_after
from sfumato.publisher.again import published_again
from sfumato.publisher.insensitive import refuse_unnamed_identifiers
from sfumato.publisher.ledger import Entry, Ledger, entry_of, policy_digest
from sfumato.publisher.policy import Policy, read_policy
from sfumato.publisher.reading_ahead import Ahead
from sfumato.release.files import stages
from sfumato.release.files.output import refuse_existing, refuse_public, whole_folder, write_private
from sfumato.release.files.recognize import PUBLIC
from sfumato.release.files.store import MANIFEST, fill
from sfumato.release.judgement import bind, listed
from sfumato.release.release import Release
from sfumato.report import prepare_report, render_report
from sfumato.report.earlier_releases import Dangling, raw_dangling, unrelated
from sfumato.report.randomized import response
from sfumato.report.risk import risk_of
from sfumato.report.summary import Summary, summarize
from sfumato.requirement.base import Requirement
from sfumato.table.address import expanded
from sfumato.table.checks import located
from sfumato.table.digest import table_digest
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.source import read_frame


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

    @property
    def report(self) -> Path:
        """The steward's report."""
        return self.folder / "private" / "report.html"


def publish(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    method: Method | str = "mondrian",
    title: str = "",
    rng: np.random.Generator | None = None,
    progress: Progress = silent,
) -> Release:
    """Make a release of microdata that meets the requirements.

    ``rng`` is for experiments only; without one all randomness is fresh secret entropy.
    """
    refuse_raw(table)
    chosen = method if isinstance(method, Method) else method_from_table({"name": method})
    wanted = listed(require)
    return chosen.publish(table, wanted, title=title, rng=rng, progress=progress)


def partition(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    method: Method | str = "mondrian",
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """The group of each row of the table, by a method that partitions. Private: for research and tests."""
    refuse_raw(table)
    chosen = method if isinstance(method, Method) else method_from_table({"name": method})
    if not isinstance(chosen, PartitionMethod):
        raise PolicyError(f"{chosen.name} does not partition the rows")
    if not table.quasi:
        raise PolicyError(f"{chosen.name} needs a quasi-identifier, but none is declared; give a column that role")
    wanted = listed(require)
    return chosen.groups(table, bind(wanted, table), draws=Draws(rng), progress=silent).of_row


def _refuse_odd(policy: Policy, table: Overview) -> None:
    """Refuse identifiers that nobody named, quasi-identifiers that tell nobody apart, a population below the table."""
    refuse_unnamed_identifiers(policy, table)
    if policy.population_size is not None:
        refuse_smaller(policy.population_size, table.rows)
    for column in table.quasi:
        if table.rows > 1 and (column.codes == column.codes[0]).all():
            raise DataError(
                f"the quasi-identifier {column.name!r} has one value in all {table.rows} rows and tells nobody apart: "
                'give it the role "insensitive" to publish it, or "identifier" to leave it out'
            )


def publish_policy(
    policy: str | Path | Policy,
    out: str | Path = "out",
    *,
    seed: int | None = None,
    force: bool = False,
    ledger: bool = True,
    after: Sequence[str | Path] = (),
    progress: Progress = silent,
    ahead: Ahead | None = None,
) -> Published:
    """Do what a policy says and write OUT/release and OUT/private, both or neither.

    The release is recorded in the ledger beside the source, so that a second one is noticed, unless ``ledger`` is
    False. ``after`` are releases that were published before, beside those of the policy; ``ahead`` is the table if
    reading it has begun (`reading_ahead`).
    """
    job = published_after(policy if isinstance(policy, Policy) else read_policy(policy), after)
    folder = located(out, None, OutputError)
    refuse_public(folder)
    refuse_existing(folder, force=force)
    rng = _generator(seed)
    log = _Log()
    heard = log.listening(progress)
    known = Ledger.of(job) if ledger else None
    engine, content = _coded_and_known(job, known, ahead, heard)
    table = overview(engine, _entities(job, engine.table))
    _refuse_odd(job, table)
    release = _release(job, engine, rng, heard)
    before = known.earlier(content) if known else []
    told = published_again(before, policy=policy_digest(job), method=job.method, seed=seed, out=folder, force=force)
    summary = summarize(release, table)
    dangling = raw_dangling(release, engine.table, getattr(job.method, "after", ()))
    private = [
        *advice(job, table, release, summary),
        *unrelated(dangling),
        *told.warnings,
        *(known.warnings if known else ()),
    ]
    log.lines += [*summary.lines(), *(f"warning: {w}" for w in dict.fromkeys([*release.warnings, *private]))]
    made: list[Entry] = []
    with whole_folder(folder, force=force, afterwards=lambda: _finish(known, made)) as draft:
        heard("write", 0.0)
        (draft / PUBLIC).mkdir()
        fill(draft / PUBLIC, release.description, release.tables, engine.write)
        write_private(draft, _private_files(job, table, release, seed, log, summary, private, dangling))
        stages.reached("private written")
        made.append(entry_of(job, content, folder, draft / PUBLIC / MANIFEST, seed))
        if known:
            known.record(made[0])
            stages.reached("ledger written")
    progress("done", 1.0)
    warnings = [*release.warnings, *private, *(known.warnings if known else ())]
    return Published(release, folder, summary, tuple(dict.fromkeys(warnings)), tuple(told.notes))


def _entities(job: Policy, table: Microdata) -> list[str]:
    """The columns by which requirements count people; whether a requirement may do so is judged when it is bound."""
    named = [getattr(r, "entity", None) for r in job.requirements]
    return [name for name in named if isinstance(name, str) and name in table.names]


def _coded_and_known(
    job: Policy, ledger: Ledger | None, ahead: Ahead | None, progress: Progress
) -> tuple[LocalEngine, str]:
    """The coded data and, for the ledger, their digest; what does not need codes runs meanwhile, on another core."""
    progress("read", 0.0)
    begun = ahead if ahead is not None and ahead.reads(job.source, job.nulls, job.folder) else None
    frame = begun.frame.result() if begun else _frame_of(job)
    with ThreadPoolExecutor(1) as beside:
        digest = begun.digest if begun else beside.submit(table_digest, frame) if ledger else None
        beside.submit(prepare_report)
        progress("code", 0.0)
        engine = LocalEngine.read(frame, job.covering, missing=job.missing, folder=job.folder)
    return engine, digest.result() if ledger and digest else ""


def _frame_of(job: Policy) -> pl.DataFrame:
    """Read the data that a policy names."""
    return read_frame(expanded(job.source), query=job.query, nulls=job.nulls, folder=job.folder)


def _generator(seed: int | None) -> np.random.Generator | None:
    """The generator for a seed; without one None, which stands for fresh secret entropy."""
    if seed is None:
        return None
    if isinstance(seed, bool) or seed < 0:
        raise PolicyError(f"the seed is {seed!r}; it must be a whole number, 0 or more")
    return np.random.default_rng(seed)


def _release(job: Policy, engine: LocalEngine, rng: np.random.Generator | None, progress: Progress) -> Release:
    """The release that a policy asks for, with its output settings."""
    table = job.method.prepared(engine.table)
    there = engine if table is engine.table else LocalEngine(table)
    made = job.method.release(there, job.requirements, title=job.title, draws=Draws(rng), progress=progress)
    if job.spreadsheet != "plain":
        return made.stating(output={"spreadsheet": job.spreadsheet})
    return made


def _finish(ledger: Ledger | None, made: Sequence[Entry]) -> None:
    """Record that the release is in place."""
    if ledger is not None:
        ledger.record(replace(made[0], finished=True))


def _private_files(
    job: Policy,
    table: Overview,
    release: Release,
    seed: int | None,
    log: "_Log",
    summary: Summary,
    warnings: list[str],
    dangling: Dangling,
) -> dict[str, str]:
    """The report, the audit figures, the policy and the log: never to be handed over."""
    policy_text = job.to_toml()
    risk = risk_of(release, table, job.population_size)
    report = render_report(
        release=release,
        table=table,
        risk=risk,
        policy_text=policy_text,
        summary=summary,
        warnings=warnings,
        seeded=seed is not None,
        dangling=dangling,
    )
    audit: dict[str, Any] = {
        "requirements": [claim.plain() for claim in release.description.requirements],
        "risk": {
            "before": asdict(risk.before),
            "after": asdict(risk.after),
            "sensitive": {name: {"before": asdict(b), "after": asdict(a)} for name, (b, a) in risk.guesses.items()},
            "population": dict(
                zip(("before", "after"), (r and asdict(r) for r in risk.population or ()), strict=False)
            ),
        },
        "rows": {"read": table.rows + table.dropped, "dropped": table.dropped, "published": release.description.rows},
        "summary": summary.as_dict(),
        "hidden": list(table.hidden),
        "sensitive": [c.name for c in table.with_role(Role.SENSITIVE)],
        "seed": seed,
        "response": response(release, table),
        "dangling": {name: {"here": here, "there": there} for name, (here, there) in dangling.items()},
    }
    return {
        "report.html": report,
        "audit.json": json.dumps(audit, ensure_ascii=False, indent=1) + "\n",
        "policy.toml": policy_text,
        "log.txt": log.text(),
    }


class _Log:
    """When each stage began."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stage = ""

    def listening(self, progress: Progress) -> Progress:
        """The same progress, with each new stage recorded."""

        def heard(stage: str, done: float) -> None:
            if stage != self.stage:
                self.stage = stage
                self.lines.append(f"{dt.datetime.now(dt.UTC).isoformat(timespec='milliseconds')} {stage}")
            progress(stage, done)

        return heard

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
