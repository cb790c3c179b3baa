"""Audit what a job wrote: read release, policy and private table again, attack, and keep the findings."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.adversary.audit import Audit
from sfumato.adversary.auditing import run
from sfumato.adversary.budget import TimeBudget
from sfumato.adversary.finding import MARGIN
from sfumato.adversary.situation import Situation
from sfumato.engine.choice import choose_engine
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import Overview, overview
from sfumato.errors import DataError, OutputError, PolicyError, ReleaseError, nearest
from sfumato.method.base import Progress, silent
from sfumato.publisher.audit_section import chosen_by
from sfumato.publisher.job_steps import seeded_generator
from sfumato.publisher.policy import Policy, parse_policy, read_policy
from sfumato.publisher.read_job import engine_of, entities, file_digest, read_again
from sfumato.release.earlier import as_earlier
from sfumato.release.files.output import refuse_public, whole_file
from sfumato.release.files.recognize import PRIVATE, PUBLIC, is_release
from sfumato.release.release import load
from sfumato.release.rule import Inconsistent
from sfumato.requirement.join_template import THIS
from sfumato.table.address import expanded
from sfumato.table.digest import table_digest
from sfumato.table.microdata import Microdata
from sfumato.table.regular_file import located, read_text

_KEPT = "audit.json"
_SHA256 = re.compile("[0-9a-f]{64}")
_LARGEST = 1 << 30
_LARGEST_POLICY = 16 << 20


@dataclass(frozen=True)
class Audited:
    """The audit of an output, the file that keeps its findings, and what was not verified."""

    audit: Audit
    kept: Path
    notes: tuple[str, ...]


def audit_output(
    folder: str | Path,
    *,
    policy: str | Path | None = None,
    adversaries: Sequence[str] = (),
    after: Sequence[str | Path] = (),
    budget: float | None = None,
    sample: int | None = None,
    margin: float = MARGIN,
    seed: int | None = None,
    out: str | Path | None = None,
    progress: Progress = silent,
) -> Audited:
    """Attack OUT/release with the table that OUT/private/policy.toml names, or that of another ``policy``.

    The table must be the one that was published: its digest is compared. Findings, with the people concerned, are
    written to OUT/private/audit.json, or to ``out``.
    """
    place = _output(located(folder, None, PolicyError))
    wanted = _refuse_unknown(adversaries)
    clock, rng = TimeBudget(budget), seeded_generator(seed)
    kept = _kept(place)
    target = place / PRIVATE / _KEPT if out is None else located(out, None, OutputError)
    if out is not None:
        refuse_public(target)
    more = [as_earlier(source, f"T{i}") for i, source in enumerate(after, 2)]
    release = load(place / PUBLIC)
    job = _policy(place, policy, kept)
    truth, note = _truth(job, kept, progress)
    earlier = [*(a.read(job.folder, job.nulls) for a in job.after), *more]
    situation = Situation(
        release, truth, population=job.population or job.population_size, after=earlier,
        inconsistent=_rules(job), sample=sample, margin=margin, draws=Draws(rng), clock=clock, progress=progress,
    )  # fmt: skip
    found = run(situation, chosen_by(wanted, job.audits))
    _keep(target, found, kept if out is None else {})
    return Audited(found, target, (note,) if note else ())


def _output(folder: Path) -> Path:
    """The folder that a job wrote."""
    if is_release(folder) and not (folder / PUBLIC).is_dir():
        raise PolicyError(
            f"{folder} is the public part alone; an audit needs the private part next to it: give the folder that "
            f"`sfumato publish` wrote{f', {folder.parent}' if (folder.parent / PRIVATE).is_dir() else ''}"
        )
    if not (folder / PUBLIC).is_dir():
        raise PolicyError(f"{folder} does not contain a release; give the folder that `sfumato publish` wrote")
    return folder


def _refuse_unknown(names: Sequence[str]) -> Sequence[str]:
    from sfumato.adversary.catalogue import ADVERSARIES

    for name in names:
        if name not in ADVERSARIES:
            raise PolicyError(f"there is no adversary {name!r}{nearest(name, ADVERSARIES)}")
    return names


def _kept(place: Path) -> dict[str, Any]:
    """What the private part of the output keeps; nothing if there is no such file."""
    path = place / PRIVATE / _KEPT
    if not path.is_file():
        return {}
    text = read_text(path, str(path), largest=_LARGEST, kind=PolicyError)
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        kept = None
    if not isinstance(kept, dict):
        raise PolicyError(f"{path} is damaged; remove it, or publish again")
    return kept


def _table_entry(kept: dict[str, Any], key: str) -> str:
    entry = kept.get("table")
    value = entry.get(key) if isinstance(entry, dict) else None
    return value if isinstance(value, str) and "\0" not in value else ""


def _policy(place: Path, policy: str | Path | None, kept: dict[str, Any]) -> Policy:
    """The policy that was given, or the one that the output keeps, in the folder that it came from."""
    if policy is not None:
        return read_policy(policy)
    path = place / PRIVATE / "policy.toml"
    text = read_text(
        path, f"the policy {path}", largest=_LARGEST_POLICY, kind=PolicyError, remedy="give it with --policy POLICY"
    )
    job = parse_policy(text, folder=Path(_table_entry(kept, "folder") or path.parent), name=str(path))
    if "***" in job.source:
        raise PolicyError(
            "the source is a database, and the policy that the output keeps has no password; give the original with "
            "--policy POLICY"
        )
    return job


def _truth(job: Policy, kept: dict[str, Any], progress: Progress) -> tuple[Microdata | Overview, str]:
    """The private table: its rows or, on an engine that does not hold them, their counts; and what was not verified."""
    choice = choose_engine(job.engine, expanded(job.source), job.query, job.folder)
    progress("read", 0.0)
    if choice.name == "local":
        frame = read_again(job, partial(progress, "read"))
        note = _same_table(kept, lambda: table_digest(frame), "", job)
        progress("code", 0.0)
        read = LocalEngine.read(frame, job.covering, missing=job.missing, folder=job.folder, progress=progress)
        return read.table, note
    engine, digests, _ = engine_of(job, progress)
    if engine.pieces is not None:
        raise engine.pieces.refuse("an audit compares all of it with the release")
    note = _same_table(kept, lambda: digests.cells, digests.cells.partition(":")[0], job)
    return overview(engine, entities(job, engine.table)), note


def _same_table(kept: dict[str, Any], cells: Callable[[], str], kind: str, job: Policy) -> str:
    """Refuse a table that is not the one that was published; return a note if that cannot be determined.

    Engines that do not hold the rows have digests of their own, which begin with their ``kind``. If they differ in
    kind, the file must be the same.
    """
    known, file = _table_entry(kept, "digest"), _table_entry(kept, "file")
    if (known.partition(":")[0] == kind) if kind else _SHA256.fullmatch(known):
        same = known == cells()
    elif file and file == file_digest(job):
        same = True
    else:
        return (
            "The output has no digest to compare this table with, so it was not verified that this is the table that "
            "was published."
        )
    if same:
        return ""
    raise DataError(
        f"{job.source if '://' not in job.source else 'the source'} has changed since the release was made: the digest "
        "of its cells differs. Give the table as it was (--policy POLICY names another source), or publish again"
    )


def _rules(job: Policy) -> list[Inconsistent]:
    """The rules of inconsistency, with releases called T1, T2, … in their order, as the join calls them."""
    name = {THIS: THIS, **{after.name: f"T{i}" for i, after in enumerate(job.after, 2)}}
    return [Inconsistent(sides={name[n]: side for n, side in rule.sides.items()}) for rule in job.inconsistent]


def _keep(target: Path, found: Audit, kept: dict[str, Any]) -> None:
    """Write the findings, with the people concerned, in addition to what the job wrote there, if anything."""
    told = found.as_dict(private=True)
    content = {**kept, "adversaries": told} if kept else told
    with whole_file(target) as draft:
        draft.touch(mode=0o600)
        draft.chmod(0o600)
        draft.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def refuse_broken(found: Audit) -> None:
    """Raise if a claim of the manifest does not hold."""
    if broken := found.broken:
        what = "1 claim of the release does" if len(broken) == 1 else f"{len(broken)} claims of the release do"
        raise ReleaseError(f"{what} not hold: {'; '.join(broken)}. Do not hand over the release; publish again")
