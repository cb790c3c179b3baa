"""The private part of a job: report, audit figures, policy and log, never to be handed over."""

import datetime as dt
import json
from dataclasses import asdict
from typing import Any

from sfumato.adversary.audit import Audit
from sfumato.engine.overview import Overview
from sfumato.method.base import Progress
from sfumato.publisher.policy import Policy
from sfumato.release.release import Release
from sfumato.report import render_report
from sfumato.report.earlier_releases import Dangling
from sfumato.report.randomized import response
from sfumato.report.risk import risk_of
from sfumato.report.summary import Summary
from sfumato.table.encode import Role


def private_files(
    job: Policy,
    table: Overview,
    release: Release,
    seed: int | None,
    log: "Log",
    summary: Summary,
    warnings: list[str],
    dangling: Dangling | None = None,
    found: Audit | None = None,
    content: str = "",
) -> dict[str, str]:
    """The files of the private part, by name; ``warnings`` are those for the steward alone.

    ``found`` is what adversaries find out, ``content`` the digest of the private table.
    """
    dangling = dangling or {}
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
        "adversaries": None if found is None else found.as_dict(private=True),
        "table": {"digest": content, "folder": str(job.folder.resolve())},
        "dangling": {name: {"here": here, "there": there} for name, (here, there) in dangling.items()},
    }
    return {
        "report.html": report,
        "audit.json": json.dumps(audit, ensure_ascii=False, indent=1) + "\n",
        "policy.toml": policy_text,
        "log.txt": log.text(),
    }


class Log:
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
