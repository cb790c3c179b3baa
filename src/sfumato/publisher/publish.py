"""Carry a job all the way: policy to microdata, to release, to the folder with its private part."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.linkage import linkage_risk, quasi_groups
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.method.base import Method, PartitionMethod, Progress, silent
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.publisher.advice import advice
from sfumato.publisher.policy import Policy, read_policy
from sfumato.release.judgement import bind, listed
from sfumato.release.release import Release
from sfumato.release.store import fill, refuse_existing, whole_folder
from sfumato.report import render_report
from sfumato.report.response import response
from sfumato.requirement.base import Requirement
from sfumato.table.checks import located
from sfumato.table.database import masked
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.source import read_frame


@dataclass(frozen=True)
class Published:
    """What a job left behind: the release, the folder with its public and private part, and what to be warned of."""

    release: Release
    folder: Path
    warnings: tuple[str, ...] = ()
    """Everything the steward should know: the warnings of the release, then those that must stay private."""

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
        raise PolicyError(f"{chosen.name} groups by quasi-identifiers, and there is none; give a column that role")
    wanted = listed(require)
    return chosen.groups(table, bind(wanted, table), rng=rng, progress=silent).of_row


def microdata_of(policy: Policy, progress: Progress = silent) -> Microdata:
    """Read and code the data that a policy names."""
    progress("read", 0.0)
    frame = read_frame(policy.source, query=policy.query, nulls=policy.nulls, folder=policy.folder)
    progress("code", 0.0)
    table = Microdata.from_frame(frame, policy.covering(frame.columns), missing=policy.missing, folder=policy.folder)
    for column in table.quasi:
        if table.rows > 1 and (column.codes == column.codes[0]).all():
            raise DataError(
                f"the quasi-identifier {column.name!r} has one value in all {table.rows} rows; it tells nobody apart: "
                'give it the role "insensitive" to publish it, or "identifier" to leave it out'
            )
    return table


def publish_policy(
    policy: str | Path | Policy,
    out: str | Path = "out",
    *,
    seed: int | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Published:
    """Do what a policy says and write OUT/release and OUT/private, whole or not at all."""
    job = policy if isinstance(policy, Policy) else read_policy(policy)
    folder = located(out, None, OutputError)
    refuse_existing(folder, force=force)
    if seed is not None and (isinstance(seed, bool) or seed < 0):
        raise PolicyError(f"the seed is {seed!r}; it is a whole number, 0 or more")
    log = _Log()
    heard = log.listening(progress)
    table = microdata_of(job, heard)
    rng = None if seed is None else np.random.default_rng(seed)
    release = publish(table, require=job.requirements, method=job.method, title=job.title, rng=rng, progress=heard)
    private = advice(table, release)
    with whole_folder(folder, force=force) as draft:
        heard("write", 0.0)
        (draft / "release").mkdir()
        fill(draft / "release", release.manifest, release.tables)
        (draft / "private").mkdir()
        _write_private(draft / "private", job, table, release, seed, log, private)
    progress("done", 1.0)
    return Published(release, folder, tuple(dict.fromkeys([*release.warnings, *private])))


def _write_private(
    folder: Path, job: Policy, table: Microdata, release: Release, seed: int | None, log: "_Log", warnings: list[str]
) -> None:
    """The report, the audit figures, the policy and the log: never to be handed over."""
    policy_text = job.text.replace(job.source, masked(job.source)) if "://" in job.source else job.text
    report = render_report(
        release=release, table=table, policy_text=policy_text, warnings=warnings, seeded=seed is not None
    )
    (folder / "report.html").write_text(report, encoding="utf-8")
    audit: dict[str, Any] = {
        "requirements": release.manifest["requirements"],
        "risk": {
            "before": asdict(linkage_risk(quasi_groups(table))),
            "after": asdict(linkage_risk(release.groups())),
        },
        "rows": {"read": table.rows + table.dropped, "dropped": table.dropped, "published": release.manifest["rows"]},
        "hidden": table.hidden.columns,
        "sensitive": [c.name for c in table.with_role(Role.SENSITIVE)],
        "seed": seed,
        "response": response(release, table),
    }
    (folder / "audit.json").write_text(json.dumps(audit, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / "policy.toml").write_text(policy_text, encoding="utf-8")
    (folder / "log.txt").write_text(log.text(), encoding="utf-8")


class _Log:
    """When each stage began."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stage = ""

    def listening(self, progress: Progress) -> Progress:
        """The same progress, with each new stage written down."""

        def heard(stage: str, done: float) -> None:
            if stage != self.stage:
                self.stage = stage
                self.lines.append(f"{dt.datetime.now(dt.UTC).isoformat(timespec='milliseconds')} {stage}")
            progress(stage, done)

        return heard

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
