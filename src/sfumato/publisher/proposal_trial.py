"""Try a proposed policy on the table before it is proposed: nothing infeasible, nothing that masks everything."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.adversary.linkage import linkage_risk, quasi_groups
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import overview
from sfumato.errors import SfumatoError
from sfumato.method.base import Progress, silent
from sfumato.publisher.choose import with_method
from sfumato.publisher.policy import Policy, parse_policy
from sfumato.publisher.proposal import Ask, Proposal, Trial
from sfumato.publisher.propose import without_markers
from sfumato.publisher.read_job import entities, refuse_odd
from sfumato.release.best_guess import best_guesses
from sfumato.release.release import Release
from sfumato.report.summary import summarize
from sfumato.requirement.templates import Confidentiality

MOST_ROWS = 50_000
"""The rows of a trial, drawn at random if the table has more."""
LEAST_KEPT = 0.1
"""The share of the information that a proposal must keep, if one of those that ask for less does."""


def tried(proposal: Proposal, frame: pl.DataFrame, progress: Progress = silent) -> Proposal:
    """The proposal with what came of it; one that asks for less if it cannot be met, or keeps next to nothing."""
    table = without_markers(frame, list(proposal.nulls), proposal.form.form)
    sampled = table.height > MOST_ROWS
    table = table.sample(MOST_ROWS) if sampled else table
    asked = (Ask(proposal.requirements, proposal.method), *proposal.weaker)
    found: list[tuple[Ask, Trial]] = []
    faults: list[str] = []
    for ask in asked:
        try:
            found.append((ask, _trial(_asking(proposal, ask), table, sampled, progress)))
        except SfumatoError as fault:
            faults.append(str(fault))
            continue
        if _keeps_enough(found[-1][1]):
            break
    if not found:
        note = f"the proposal was tried and cannot be met: {faults[-1]}"
        return replace(proposal, weaker=(), warnings=(*proposal.warnings, note))
    best = found[-1] if _keeps_enough(found[-1][1]) else max(found, key=lambda pair: pair[1].kept or 0.0)
    notes = [*_asks_less(asked, best[0], found[0][1], faults), *_keeps_little(best[1])]
    return replace(_asking(proposal, best[0]), trial=best[1], weaker=(), warnings=(*proposal.warnings, *notes))


def _keeps_enough(trial: Trial) -> bool:
    return trial.kept is None or trial.kept >= LEAST_KEPT


def _asking(proposal: Proposal, ask: Ask) -> Proposal:
    return replace(proposal, requirements=ask.requirements, method=ask.method)


def _trial(proposal: Proposal, table: pl.DataFrame, sampled: bool, progress: Progress) -> Trial:
    """What the proposal does to the table; raises if it cannot be met."""
    job = parse_policy(proposal.to_toml(), folder=Path())
    engine = LocalEngine.read(table, job.covering, missing=job.missing, folder=job.folder)
    counts = overview(engine, entities(job, engine.table))
    refuse_odd(job, counts)
    job, _ = with_method(job, engine.table, counts, Draws(), progress)
    there = engine.prepared(job.method.prepared)
    release = job.method.release(there, job.requirements, draws=Draws(), progress=progress)
    return _measured(job, release, counts, sampled)


def _measured(job: Policy, release: Release, counts: Counts, sampled: bool) -> Trial:
    """Loss and risk; of an attribute of which some values are bounded, the confidence in these."""
    claims = [c for c in release.description.requirements if c.model == Confidentiality.model]
    bounded = {name: list(c.achieved.values()) for c in claims for name in c.required["y"]}
    shown = release.class_sizes()
    return Trial(
        rows=counts.rows,
        sampled=sampled,
        method=job.method.name,
        kept=summarize(release, counts).information,
        risk_before=linkage_risk(quasi_groups(counts), weights=counts.weights).prosecutor,
        risk_after=linkage_risk(np.arange(len(shown)), weights=shown).prosecutor,
        guesses={name: guess.worst for name, guess in best_guesses(release).items() if name not in bounded},
        bounded={name: max(limits) for name, limits in bounded.items()},
    )


def _asks_less(asked: Sequence[Ask], best: Ask, first: Trial, faults: Sequence[str]) -> list[str]:
    """Why less is required than one would wish."""
    if best is asked[0]:
        return []
    wished = "; ".join(_said(n.entry) for n in asked[0].requirements)
    why = f"it cannot be met ({faults[0]})" if faults else f"it would keep {first.kept or 0:.0%} of the information"
    return [
        f"stricter requirements were tried first ({wished}), but {why}; so less is required of sensitive values here."
    ]


def _said(entry: dict[str, object]) -> str:
    return ", ".join(str(value) if name == "model" else f"{name} = {value}" for name, value in entry.items())


def _keeps_little(trial: Trial) -> list[str]:
    if _keeps_enough(trial):
        return []
    return [
        f"only {trial.kept or 0:.0%} of the information is kept: there are too many quasi-identifiers for this few "
        "rows. Give those that outsiders do not know the role insensitive, drop what nobody needs, or lower k."
    ]
