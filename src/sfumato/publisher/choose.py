"""Choose the method of a job that names none: by the requirements, and among several candidates by a trial.

The rule is in `sfumato.method.choice`. The trial never sees which sensitive value belongs to whom: the values are dealt
out at random first. It is a function of the quasi-identifiers, of how often each sensitive value occurs and of fresh
secret draws, so every table that an adversary considers possible after the release, which has the same
quasi-identifiers and the same values, leads to each choice with the same probability.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import PolicyError, SfumatoError
from sfumato.method.base import Method, Progress, silent
from sfumato.method.catalogue import METHODS
from sfumato.method.choice import SAFE, WantedOfJob, cannot_choose, caveat, contenders, eligible, entry, ready
from sfumato.publisher.compare.points import served_by
from sfumato.publisher.policy import Policy
from sfumato.release.judgement import TableSchema, completed
from sfumato.release.manifest import ChosenEntry
from sfumato.release.release import Release
from sfumato.report.summary import summarize
from sfumato.requirement.base import Requirement
from sfumato.requirement.join_template import JoinTemplate
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.microdata import Microdata
from sfumato.table.names import all_named

MOST_ROWS = 100_000
"""The rows of a trial, drawn at random if the table has more; requirements that only count people have none then."""

ENOUGH_ROWS, MOST_DEALS = 20_000, 5
"""The values of a small table are dealt out several times, until this many rows were tried: what a method loses there
depends on its draws."""


@dataclass(frozen=True)
class Choice:
    """The method that was chosen, and the candidates; ``losses`` are those of the trial, for the steward only."""

    method: Method
    among: tuple[str, ...]
    losses: Mapping[str, float]

    @property
    def entry(self) -> ChosenEntry:
        """What the manifest says about it."""
        return entry(self.method.name, self.among)

    def stated_by(self, release: Release) -> Release:
        """The release, saying that its method was chosen and why."""
        return release.stating(method={**release.manifest["method"], "chosen": self.entry.plain()})


def choose(
    table: Microdata,
    requirements: Sequence[Requirement],
    *,
    counts: Counts | None = None,
    earlier: Method | None = None,
    draws: Draws | None = None,
    progress: Progress = silent,
) -> Choice:
    """The method for these requirements; raises if only refuted ones, or none at all, can serve them.

    ``counts`` are those of all coded columns, if known; ``earlier`` is the method that was given the earlier releases,
    if there are any.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.read(pl.DataFrame({"age": [20, 21, 40, 41]}), quasi=["age"])
    >>> choose(table, [sf.KAnonymity(k=2)]).method
    Mondrian(scheme='generalization', strict=True, labels='siblings', cuts='median')
    """
    bound = earlier.bind(table, requirements) if earlier else completed(requirements, table)
    wanted = WantedOfJob(bound, [c.name for c in table.quasi], earlier is not None)
    found = [earlier] if earlier and eligible(wanted) else [] if earlier else eligible(wanted)
    able = [m for m in found if m.serves(requirements, table) is None]
    if not able:
        raise _cannot(table, requirements, bound, earlier)
    tried = contenders(able, partial=wanted.partial, many=table.rows > MOST_ROWS)
    names = tuple(m.name for m in tried)
    if len(tried) == 1:
        return Choice(tried[0], names, {})
    counted = counts or LocalEngine(table).count(list(table.columns))
    losses = trials(tried, counted, requirements, draws or Draws(), progress)
    best = min(tried, key=lambda m: losses.get(m.name, 2.0))
    return Choice(best, names, losses)


def trials(
    methods: Sequence[Method], counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress
) -> dict[str, float]:
    """The average loss of each method over several deals; one is enough if the table is large, or nothing is drawn."""
    drawn = any(m.name in SAFE for m in methods)
    number = min(max(ENOUGH_ROWS // max(counts.rows, 1), 1), MOST_DEALS) if drawn else 1
    found = [trial(methods, dealt_out(counts, draws), requirements, draws, progress) for _ in range(number)]
    every = [m.name for m in methods if all(m.name in losses for losses in found)]
    return {name: sum(losses[name] for losses in found) / number for name in every}


def trial(
    methods: Sequence[Method], dealt: Microdata, requirements: Sequence[Requirement], draws: Draws, progress: Progress
) -> dict[str, float]:
    """The information that each method loses on a table with its sensitive values dealt out at random."""
    progress("trial", 0.0)
    losses: dict[str, float] = {}
    for i, method in enumerate(methods):
        try:
            made = method.release(LocalEngine(method.prepared(dealt)), requirements, draws=draws)
            losses[method.name] = 1.0 - (summarize(made, dealt).information or 0.0)
        except SfumatoError:  # if none can do it, the job itself says why
            continue
        finally:
            progress("trial", (i + 1) / len(methods))
    return losses


def dealt_out(counts: Counts, draws: Draws) -> Microdata:
    """The people of a table, with the values of each sensitive attribute dealt out again; at most `MOST_ROWS`."""
    rows = _people(counts, draws)
    columns = {n: replace(c, codes=c.codes[rows]) for n, c in counts.columns.items()}
    for c in counts.sensitive:
        columns[c.name] = replace(c, codes=c.codes[_people(counts, draws)])
    return Microdata(columns, pl.DataFrame(), pl.DataFrame(), len(rows), 0)


def _people(counts: Counts, draws: Draws) -> NDArray[np.int64]:
    """The vector of each person, in random order; of a larger table, those of people drawn independently."""
    ends = np.cumsum(counts.weights)
    if counts.rows <= MOST_ROWS:
        places = draws.order(counts.rows)
    else:
        places = draws.below(np.full(MOST_ROWS, counts.rows))
    return np.searchsorted(ends, places, side="right")


def _cannot(
    table: Microdata, requirements: Sequence[Requirement], bound: Sequence[Requirement], earlier: Method | None
) -> SfumatoError:
    """The error if only refuted methods serve the requirements, or if no method serves them together."""
    every = [earlier] if earlier else [ready(name, requirements) for name in METHODS]
    able = [m for m, why in (served_by(m, table, requirements) for m in every) if why is None]
    refuted = [m.name for m in able if caveat(m, bound) is not None]
    if not refuted and not table.quasi:
        models = all_named(dict.fromkeys(r.model for r in requirements))
        return PolicyError(
            f"no method serves {models} on a table without quasi-identifiers, and none is declared; give the columns "
            "that outsiders may know the role 'quasi'"
        )
    each = {r.model: _served(table, r, earlier) for r in requirements}
    private = {c.name for c in table.sensitive}
    values = any(private & set(r.covers(TableSchema(table))) for r in bound if not isinstance(r, JoinTemplate))
    people = any(isinstance(r, KAnonymity) and r.entity is not None for r in requirements)
    return cannot_choose([r.model for r in requirements], refuted, each, about_values=values, of_people=people)


def _served(table: Microdata, requirement: Requirement, earlier: Method | None) -> list[str]:
    """The methods that serve one requirement alone."""
    every = [earlier] if earlier else [ready(name, [requirement]) for name in METHODS]
    return [m.name for m in every if served_by(m, table, [requirement])[1] is None]


def with_method(
    job: Policy, table: Microdata, counts: Counts, draws: Draws, progress: Progress
) -> tuple[Policy, Choice | None]:
    """The job with a method: the one that it names, or the one that is chosen."""
    if "method" in job.content or job.integrate is not None:
        return job, None
    chosen = choose(table, job.requirements, counts=counts, earlier=job.named, draws=draws, progress=progress)
    return replace(job, named=chosen.method), chosen
