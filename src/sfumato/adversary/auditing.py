"""Run an audit: the claims against public part and truth, then every adversary that applies, within a time budget."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.adversary.against_truth import against_truth
from sfumato.adversary.audit import Audit, Refused
from sfumato.adversary.base import Adversary
from sfumato.adversary.budget import TimeBudget
from sfumato.adversary.catalogue import ADVERSARIES, CLOSED_FORM, from_table
from sfumato.adversary.finding import MARGIN, AdversaryFinding
from sfumato.adversary.situation import Earlies, Situation
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.overview import Overview
from sfumato.errors import PolicyError, SfumatoError
from sfumato.kernel.jit import hearing_compilation
from sfumato.method.base import Progress, silent
from sfumato.release.check.finding import Finding
from sfumato.release.release import Release
from sfumato.release.rule import Inconsistent
from sfumato.table.checks import POLARS_FAILURES
from sfumato.table.microdata import Microdata
from sfumato.table.population import Population

BUDGET = 60.0
"""How many seconds an audit may take by default."""

Chosen = Adversary | str | Mapping[str, Any]

_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, *POLARS_FAILURES)


def audit(
    release: Release,
    *,
    truth: Microdata,
    adversary: Chosen | Sequence[Chosen] | None = None,
    after: Earlies = (),
    inconsistent: Sequence[Inconsistent] = (),
    population: Population | int | object | None = None,
    sample: int | None = None,
    budget: float | None = BUDGET,
    margin: float = MARGIN,
    rng: np.random.Generator | None = None,
    progress: Progress = silent,
) -> Audit:
    """Attack a release, given the truth: who learns what, about how many people.

    ``adversary`` is a name, an object such as ``sf.Corruption(...)``, or a list of them; by default every one that
    applies. ``after`` are releases that were published before; ``population`` is a table of the population that the
    people in the table belong to, or its size. Where people are attacked one by one, ``sample`` of them are drawn. An
    audit takes at most about ``budget`` seconds; adversaries that do not apply, or for which no time is left, are
    listed with the reason.

    The claims of the manifest are checked as well, from the public part and against the truth: ``broken`` lists those
    that do not hold. Nothing is raised for them.

    Args:
        release: the release to attack.
        truth: the private table it was made from.
        adversary: who attacks.
        after: what was published before.
        inconsistent: rules for rows that cannot be one person, for the join with earlier releases.
        population: the people that those in the table are drawn from.
        sample: how many people to attack where they are attacked one by one.
        budget: seconds.
        margin: by how much an adversary must be surer than before to have learned something.
        rng: for experiments only; without one all randomness is fresh secret entropy.
        progress: called with the stage and the share of it that is done.
    """
    people = population if isinstance(population, Population | int | None) else Population(population)
    situation = Situation(
        release, truth, population=people, after=after, inconsistent=inconsistent, sample=sample, margin=margin,
        draws=Draws(rng), clock=TimeBudget(budget), progress=progress,
    )  # fmt: skip
    return run(situation, chosen_of(adversary))


MOST_ATTACKED = 300_000
"""The rows up to which `publish` runs the adversaries that are computed from counts."""


def closed_form_audit(
    release: Release, truth: Microdata | Counts, *, population: Population | int | None = None, margin: float = MARGIN
) -> Audit:
    """What the adversaries that are computed from counts find; claims are not checked. Used by `publish`.

    Beyond `MOST_ATTACKED` rows they would take longer than the job itself, so they are left to `sfumato audit`.
    """
    if isinstance(truth, Overview) and not truth.joint:
        why = "the table has too many combinations of values to be counted at once"
        return Audit(findings=(), left_out=tuple(Refused(name, why) for name in CLOSED_FORM), rows=truth.rows)
    if truth.rows > MOST_ATTACKED:
        many = f"the table has {truth.rows:,} rows, more than the {MOST_ATTACKED:,} that publish attacks"
        why = f"{many}; run `sfumato audit`"
        return Audit(findings=(), left_out=tuple(Refused(name, why) for name in CLOSED_FORM), rows=truth.rows)
    situation = Situation(release, truth, population=population, margin=margin)
    return run(situation, chosen_of(CLOSED_FORM), check=False)


def chosen_of(adversary: Chosen | Sequence[Chosen] | None) -> list[Adversary]:
    """The adversaries that were asked for, or all of them."""
    if adversary is None:
        return [ADVERSARIES[name]() for name in ADVERSARIES]
    listed = [adversary] if isinstance(adversary, Adversary | str | Mapping) else list(adversary)
    return [_one(entry) for entry in listed]


def _one(entry: object) -> Adversary:
    if isinstance(entry, Adversary):
        return entry
    if isinstance(entry, str | Mapping):
        return from_table({"adversary": entry} if isinstance(entry, str) else entry)
    raise PolicyError(f"{entry!r} is not an adversary; give a name ({', '.join(ADVERSARIES)}) or an object")


def run(situation: Situation, adversaries: Sequence[Adversary], *, check: bool = True) -> Audit:
    """Check the claims and run adversaries in their order, those that are computed from counts first.

    The time in which kernels are compiled, once on a machine, does not count.
    """
    with hearing_compilation(situation.clock.pause):
        return _run(situation, adversaries, check=check)


def _run(situation: Situation, adversaries: Sequence[Adversary], *, check: bool) -> Audit:
    situation.progress("audit", 0.0)
    claims = _claims(situation) if check else []
    damaged = any(claim.status == "broken" for claim in claims)
    findings: list[AdversaryFinding] = []
    refused: list[Refused] = []
    left_out: list[Refused] = []
    ordered = sorted(adversaries, key=lambda a: not a.closed_form)
    for number, adversary in enumerate(ordered):
        situation.progress("audit", number / len(ordered))
        _attack(situation, adversary, findings, refused, left_out, damaged=damaged)
    situation.progress("audit", 1.0)
    clock = situation.clock
    return Audit(
        findings=tuple(findings), claims=tuple(claims), refused=tuple(refused), left_out=tuple(left_out),
        rows=situation.truth.rows, sample=situation.sample, seconds=clock.spent, budget=clock.seconds,
    )  # fmt: skip


def _attack(
    s: Situation, adversary: Adversary, findings: list[AdversaryFinding], refused: list[Refused],
    left_out: list[Refused], *, damaged: bool,
) -> None:  # fmt: skip
    """One adversary, stopped between its findings when the time is over."""
    try:
        if reason := adversary.refuses(s):
            refused.append(Refused(adversary.name, reason))
            return
        findings.extend(_in_time(s, adversary, left_out))
    except SfumatoError as e:
        refused.append(Refused(adversary.name, str(e)))
    except _DAMAGE as e:
        if not damaged:
            raise
        refused.append(Refused(adversary.name, f"the release does not meet its claims and cannot be read: {e}"))


def _in_time(s: Situation, adversary: Adversary, left_out: list[Refused]) -> Iterator[AdversaryFinding]:
    wanted, made = adversary.variants(s), 0
    found = adversary.findings(s)
    while made < wanted and not s.clock.over:
        yield next(found)
        made += 1
    if made < wanted:
        some = "" if not made else f"{wanted - made} of {wanted} variants: "
        left_out.append(Refused(adversary.name, f"{some}the budget of {s.clock.seconds:g} s was used up"))


def _claims(s: Situation) -> list[Finding]:
    """Every claim, from the public part and, if the tables can be read at all, against the truth."""
    release = s.release
    found = list(release.findings(s.after if release.description.after else ()))
    damaged = any(f.status == "broken" for f in found)
    try:
        return [*found, *against_truth(s)]
    except (SfumatoError, *_DAMAGE):
        if not damaged:
            raise
        return found
