"""`sfumato plan`: tables of what perturbed generalization guarantees for a domain, and of the p that promises allow."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import Infeasible, PolicyError
from sfumato.method.pg import PG
from sfumato.publisher.policy import Policy, read_policy
from sfumato.requirement.base import rounded_up
from sfumato.requirement.corruption import CorruptionPromise, Growth, RhoBreach
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.pg_bounds import PGGuarantee, pg_guarantee, pg_retention
from sfumato.table.encode import Attribute, Role
from sfumato.table.hierarchy import read_taxonomy
from sfumato.table.ordered_domain import MISSING

KS, PS = (2, 4, 6, 8, 10), (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
"""The paper's Table III."""


@dataclass(frozen=True, kw_only=True)
class GuaranteePlan:
    """Everything that the guarantees depend on: size of the domain, skew, prior confidence, and what is promised.

    ``promises`` are those of a policy, each with its own skew; they are solved for instead of rho2 and growth.
    """

    domain: int
    skew: float
    rho1: float | None = None
    rho2: float | None = None
    growth: float | None = None
    ks: Sequence[int] = KS
    ps: Sequence[float] = PS
    promises: Sequence[CorruptionPromise] = ()

    def guarantees(self) -> list[PGGuarantee]:
        """A guarantee for each k and p, as in Table III."""
        return [
            pg_guarantee(k=k, p=p, domain=self.domain, skew=self.skew, rho1=self.rho1) for k in self.ks for p in self.ps
        ]

    def retentions(self) -> list[dict[str, Any]]:
        """The largest p for each k that keeps the promises: by theorem, and by the worst attack."""
        if self.rho2 is None and self.growth is None:
            return []
        return [{"k": k, "theorem": self._largest(k, False), "exact": self._largest(k, True)} for k in self.ks]

    def _largest(self, k: int, exact: bool) -> float | None:
        wanted = [_wanted(r) for r in self.promises]
        if not wanted and self.rho2 is not None:
            wanted.append({"rho1": self.rho1, "rho2": self.rho2, "skew": self.skew})
        if not self.promises and self.growth is not None:
            wanted.append({"growth": self.growth, "skew": self.skew})
        try:
            return min(pg_retention(k=k, domain=self.domain, exact=exact, **w) for w in wanted)
        except Infeasible:
            return None

    def lines(self) -> Iterator[str]:
        """Table III for this domain: one row per k, one column per p; all figures rounded up."""
        rows = {(g.k, g.p): g for g in self.guarantees()}
        yield f"{self.domain} sensitive values, lambda = {self.skew:g}; every figure rounded up"
        tables = [("growth", "Delta by theorem"), ("growth_exact", "Delta of the worst attack")]
        if self.rho1 is not None:
            tables = [("rho2", "rho2 by theorem"), ("rho2_exact", "rho2 of the worst attack"), *tables]
            yield f"rho1 = {self.rho1:g}"
        for name, words in tables:
            yield f"\n{words:28}" + "".join(f"  p = {p:<6g}" for p in self.ps)
            for k in self.ks:
                cells = (f"  {_up(getattr(rows[k, float(p)], name)):<10.4f}" for p in self.ps)
                yield f"  k = {k:<22}" + "".join(cells)
        epsilons = (rows[self.ks[0], float(p)].epsilon for p in self.ps)
        told = "".join(f"  {'none' if e is None else f'{rounded_up(e):.4g}':<10}" for e in epsilons)
        yield f"\n{'epsilon of perturbing alone':28}{told}"
        for line in self.retentions():
            by = {n: "none above 0" if line[n] is None else f"{line[n]:.9g}" for n in ("theorem", "exact")}
            yield f"largest p for k = {line['k']}: {by['theorem']} by theorem, {by['exact']} by the worst attack"

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        promises = [{"model": r.model} | r.parameters() for r in self.promises]
        told = {"guarantees": [asdict(g) for g in self.guarantees()], "retentions": self.retentions()}
        return asdict(self) | {"promises": promises} | told


def _up(value: float) -> float:
    """Four decimals, not below the value (which is a hair above where floating point cannot state it)."""
    return math.ceil(round(value * 1e4, 9)) / 1e4


def _wanted(promise: CorruptionPromise) -> dict[str, Any]:
    """What to solve for."""
    if isinstance(promise, RhoBreach):
        return {"rho1": promise.rho1, "rho2": promise.rho2, "skew": promise.skew}
    if isinstance(promise, Growth):
        return {"growth": promise.delta, "skew": promise.skew}
    raise PolicyError(f"pg cannot solve {promise.model} for p; leave it out of the plan")


def plan_of(policy: str | Path | Policy, **given: Any) -> GuaranteePlan:
    """The plan of a policy for pg: its sensitive domain, its promises, and its k and p if it names them.

    What is ``given`` replaces what the policy says; a skew or a limit replaces all of its promises.
    """
    job = policy if isinstance(policy, Policy) else read_policy(policy)
    promises = [r for r in job.requirements if isinstance(r, CorruptionPromise)]
    if not promises and "skew" not in given:
        raise PolicyError("the policy requires neither rho-breach nor growth; give --lambda, and --rho1 or --delta")
    rho = next((r for r in promises if isinstance(r, RhoBreach)), None)
    growth = next((r for r in promises if isinstance(r, Growth)), None)
    told: dict[str, Any] = {
        "domain": given["domain"] if "domain" in given else _size(job),
        "skew": max((r.skew for r in promises), default=None),
        "rho1": rho.rho1 if rho else None,
        "rho2": rho.rho2 if rho else None,
        "growth": growth.delta if growth else None,
        "promises": () if {"skew", "rho1", "rho2", "growth"} & given.keys() else promises,
    }
    return GuaranteePlan(**(told | _choices(job) | given))


def _choices(job: Policy) -> dict[str, Any]:
    """The sizes and retention probabilities of Table III, and those of the policy."""
    method = job.named if isinstance(job.named, PG) else PG()
    ks = {*KS, *(r.k for r in job.requirements if isinstance(r, KAnonymity))}
    if (own := method.least_size()) is not None:
        ks.add(own)
    return {"ks": sorted(ks), "ps": sorted({*PS} | ({method.p} if method.p is not None else set()))}


def _size(job: Policy) -> int:
    """The size of the sensitive domain that pg draws from, if the policy declares it."""
    sensitive = [a for a in job.attributes if a.role is Role.SENSITIVE]
    if len(sensitive) != 1:
        raise PolicyError(f"pg perturbs one sensitive attribute, but the policy has {len(sensitive)}")
    declared = _declared(sensitive[0], job.folder)
    if declared is None:
        name = sensitive[0].name
        raise PolicyError(f"the domain of {name!r} is not declared; list it, or give its size with --domain")
    return len({*declared, MISSING} if job.missing == "category" else declared)


def _declared(attribute: Attribute, folder: Path) -> Sequence[str] | None:
    """The values that a policy declares for an attribute."""
    if attribute.domain is not None:
        return attribute.domain
    if attribute.taxonomy is None:
        return None
    tree = read_taxonomy(attribute.taxonomy, [], name=attribute.name, folder=folder)
    return None if tree.derived else tree.leaves
