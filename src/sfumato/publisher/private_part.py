"""The private part of a job: report, audit figures, policy and log, never to be handed over."""

import datetime as dt
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.adversary.audit import Audit
from sfumato.engine.overview import Overview
from sfumato.publisher.log import Log
from sfumato.publisher.policy import Policy
from sfumato.publisher.read_job import Digests
from sfumato.release.release import Release
from sfumato.report.earlier_releases import Dangling
from sfumato.report.markdown import render_markdown
from sfumato.report.provenance import Provenance
from sfumato.report.report import Facts, render_page, report_facts
from sfumato.report.risk import Weighted, risk_of
from sfumato.report.summary import Summary
from sfumato.table.address import masked
from sfumato.table.encode import Role


class PrivatePart(NamedTuple):
    """The files of the private part, by name, and the facts that its report states."""

    files: dict[str, str]
    facts: Facts


def private_part(
    job: Policy,
    table: Overview,
    release: Release,
    seed: int | None,
    log: Log,
    summary: Summary,
    warnings: list[str],
    dangling: Dangling | None = None,
    *,
    digests: Digests,
    files: Callable[[], Mapping[str, str]],
    found: Audit | None = None,
    weighted: Weighted | None = None,
) -> PrivatePart:
    """What is written to the private part; ``warnings`` are those for the steward alone.

    ``digests`` are those of the table, ``files`` returns the SHA-256 of each file of the release, and is called once
    everything else is known, ``found`` is what adversaries find out, ``weighted`` the classes with their sampling
    weights.
    """
    dangling = dangling or {}
    policy_text = job.to_toml()
    size = weighted.size if weighted and job.population_size is None else job.population_size
    risk = risk_of(release, table, size, weighted)
    facts = report_facts(
        release=release,
        table=table,
        risk=risk,
        policy_text=policy_text,
        summary=summary,
        warnings=warnings,
        seeded=seed is not None,
        dangling=dangling,
        provenance=lambda: provenance_of(job, seed, digests, files()),
        audit=found,
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
        "response": facts["response"],
        "adversaries": None if found is None else found.as_dict(private=True),
        "table": {"digest": digests.cells, "file": digests.file, "folder": _written(job.folder.resolve())},
        "dangling": {name: {"here": here, "there": there} for name, (here, there) in dangling.items()},
    }
    written = {
        "report.html": render_page(facts),
        "report.md": render_markdown(facts),
        "audit.json": json.dumps(audit, ensure_ascii=False, indent=1) + "\n",
        "policy.toml": policy_text,
        "log.txt": log.text(),
    }
    return PrivatePart(written, facts)


def provenance_of(job: Policy, seed: int | None, digests: Digests, files: Mapping[str, str]) -> Provenance:
    """What the certificate says about the job itself."""
    return Provenance(
        made=dt.datetime.now(dt.UTC),
        context=job.context.told if job.context else {},
        reasons=job.reasons,
        source=job.source_name,
        cells=digests.cells,
        file=digests.file,
        files=files,
        command=_command(job, seed),
        population=_population(job),
    )


def _command(job: Policy, seed: int | None) -> str:
    """What makes the release from the policy in the private part."""
    if job.integrate is not None:
        return "sfumato integrate policy.toml --listen HOST:PORT    # the other side: --connect HOST:PORT"
    return "sfumato publish policy.toml" + ("" if seed is None else f" --seed {seed}")


def _population(job: Policy) -> str:
    """Whom the people of the table are drawn from, as far as the policy says."""
    if job.weights is not None:
        return f"The weights in {job.weights!r} say how many people of the population each row stands for."
    if job.population_size is not None:
        return f"The people in the table are assumed to be a simple random sample of {job.population_size:,} people."
    if source := job.content.get("population", {}).get("source"):
        return f"The people in the table belong to the population in {masked(str(source))}."
    return (
        "The policy names no population, so the risks treat the table as the whole population, which never "
        "understates them."
    )


def _written(folder: Path) -> str:
    """A path as text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(folder).decode("utf-8", "replace")
