"""Compare methods: plan the points, take what was measured before, measure the rest on several cores."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from sfumato.errors import PolicyError
from sfumato.method.base import Method, Progress, silent
from sfumato.publisher.after import published_after
from sfumato.publisher.compare.cache import OutcomeCache, key_of, user_folder
from sfumato.publisher.compare.comparison import Comparison
from sfumato.publisher.compare.figures import Outcome
from sfumato.publisher.compare.points import ComparisonPlan, Point, checked_sweep, methods_named, planned
from sfumato.publisher.compare.workers import measure_all
from sfumato.publisher.compare.written import fragment, policy_text
from sfumato.publisher.policy import Policy, read_policy
from sfumato.publisher.read_job import coded_and_known
from sfumato.release.judgement import listed
from sfumato.requirement.base import Requirement, whole_number
from sfumato.table.digest import coded_digest
from sfumato.table.microdata import Microdata, refuse_raw

Sweep = Mapping[str, object]


def compare(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    methods: Sequence[Method | str] | None = None,
    sweep: Sweep | None = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Privacy, utility and run time of several methods on one table. Private: it is computed from the table.

    ``methods`` are objects or names, by default all that can serve the requirements. ``sweep`` gives parameters of
    the requirements several values, e.g. ``{"k": [2, 5, 10]}``. ``workers`` is the number of processes, by default
    one per core; 1 works in this process. Outcomes are kept in ``cache``, if a folder is named.

    Args:
        table: the private table.
        require: the requirements, one or several.
        methods: objects or names.
        sweep: parameters of the requirements, with several values each.
        workers: how many processes.
        cache: a folder for outcomes.
        progress: called with the stage and the share of it that is done.
    """
    refuse_raw(table)
    needed = listed(require)
    plan = planned(table, needed, methods_named(methods), checked_sweep(sweep, needed))
    kept = OutcomeCache.at(None if cache is None else Path(cache))
    return _compared(plan, table, fragment, kept, checked_workers(workers), progress)


def compare_policy(
    policy: str | Path | Policy,
    *,
    methods: Sequence[str] = (),
    sweep: Sweep | None = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    keep: bool = True,
    folder: Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """What ``sfumato compare`` does; outcomes are kept in ``cache``, by default the user's, unless ``keep`` is False.

    ``folder`` is where the policy of a point would be written, for the paths in it.
    """
    job = policy if isinstance(policy, Policy) else read_policy(policy)
    if job.integrate is not None:
        raise PolicyError(
            "the policy has [integrate]; two publishers can only use tds2p, so there is nothing to compare"
        )
    number = checked_workers(workers)
    kept = OutcomeCache.at((user_folder() if cache is None else Path(cache)) if keep else None)
    needed, known = list(job.requirements), checked_sweep(sweep, job.requirements)
    engine, _ = coded_and_known(job, progress)
    named = methods_named(methods or None, job.named)
    able, refused = _after(job, named)
    plan = planned(engine.table, needed, able, known)
    plan = ComparisonPlan(plan.points, {**refused, **plan.unserved})
    return replace(
        _compared(plan, engine.table, lambda p: policy_text(job, p, folder), kept, number, progress), title=job.title
    )


def _after(job: Policy, methods: Sequence[Method]) -> tuple[list[Method], dict[str, str]]:
    """The methods, given the earlier releases; and those that ignore them, with the reason."""
    if not job.after:
        return list(methods), {}
    why = "the policy has [[after]], but this method ignores earlier releases"
    takes = {m.name: "after" in {f.name for f in fields(m)} for m in methods}
    told = [published_after(replace(job, named=m)).named for m in methods if takes[m.name]]
    return [m for m in told if m is not None], {name: why for name, able in takes.items() if not able}


def checked_workers(workers: int | None) -> int:
    """How many processes: one per core unless a number is given."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("compare", "workers", workers, 1)


def _compared(
    plan: ComparisonPlan,
    table: Microdata,
    write: Callable[[Point], str],
    kept: OutcomeCache,
    workers: int,
    progress: Progress,
) -> Comparison:
    """The outcomes of all points: cached ones, and the others, each cached as soon as it is measured."""
    if not plan.points:
        raise PolicyError(_nobody(plan.unserved))
    whole = coded_digest(table)
    keys = {p.number: key_of(p, whole) for p in plan.points}
    found = {p.number: outcome for p in plan.points if (outcome := kept.get(keys[p.number])) is not None}

    def told(point: Point, outcome: Outcome) -> None:
        found[point.number] = outcome
        kept.put(keys[point.number], outcome)
        progress("compare", len(found) / len(plan.points))

    progress("compare", len(found) / len(plan.points))
    measure_all([p for p in plan.points if p.number not in found], table, workers=workers, told=told)
    outcomes = tuple(found[p.number] for p in plan.points)
    return Comparison(points=plan.points, outcomes=outcomes, unserved=plan.unserved, write_policy=write)


def _nobody(unserved: Mapping[str, str]) -> str:
    """Why there is nothing to compare."""
    reasons = "; ".join(f"{name}: {why}" for name, why in unserved.items())
    return f"none of the methods can serve these requirements on this table. {reasons}"
