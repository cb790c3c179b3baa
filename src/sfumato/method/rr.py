"""Randomized response on quasi-identifiers, the sensitive attribute or both, with optimal parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.errors import Infeasible, PolicyError, nearest
from sfumato.method.base import Method, Progress, silent
from sfumato.method.response import MODES, Mode, OptimalResponse, Problem, solve
from sfumato.release.judgement import Judgement, bind
from sfumato.release.manifest import describe
from sfumato.release.randomization import randomized
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.requirement.disclosure import Disclosure
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column
from sfumato.table.line import Line
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Method):
    """Every value is kept with its attribute's public probability, else replaced by another value of the domain.

    Guo, Ying, Wu, "Limiting attribute disclosure in randomization based microdata release" (JCSE 2011). The
    probabilities are those of Problem 1: the least expected squared error of the reconstructed distribution
    under the bound on Equation 6. ``mode`` says what is randomized: the quasi-identifiers (``qi``, RR-QI), the
    ``sensitive`` attribute (RR-S), or ``both``.

    ``keep`` (attribute → probability) or ``matrices`` (attribute → rows, Pr(shown u | true v) in row u and column v)
    give the distortion by hand instead; what they do not name is not changed, and the bound is then only checked.
    ``domains``: whether values that happen to occur may stand for a domain that nobody declared (``observed``, with a
    warning), or not (``declared``).
    """

    name: ClassVar[str] = "rr"
    summary: ClassVar[str] = "randomized response with optimal keep probabilities, and matrices for the way back"
    guarantees: ClassVar[str] = (
        "Equation 6 at most tau for everyone in the table, and local differential privacy of the randomized attributes"
    )
    refuted: ClassVar[str | None] = (
        "Equation 6 is not the success rate of the attacker it describes. Smallest counterexample: two people of the "
        "same quasi-identifiers with a and b; with the sensitive attribute randomized wholly Equation 6 gives 1/4, and "
        "who guesses is right half of the time. Where all people of the same quasi-identifiers share a value, who "
        "reconstructs the distribution learns it. Read the success rate of the best attacker beside the risk"
    )
    mode: Mode = "both"
    keep: Mapping[str, float] | None = None
    matrices: Mapping[str, Any] | None = None
    domains: Literal["observed", "declared"] = "observed"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PolicyError(f"rr: mode = {self.mode!r}{nearest(str(self.mode), MODES)}")
        if self.domains not in ("observed", "declared"):
            raise PolicyError(f"rr: domains = {self.domains!r}; it is 'observed' or 'declared'")
        for setting in ("keep", "matrices"):
            value = getattr(self, setting)
            if value is not None and (not isinstance(value, Mapping) or not value):
                raise PolicyError(f"rr: {setting} = {value!r}; it is a table with an entry an attribute")
        if twice := sorted({*(self.keep or ())} & {*(self.matrices or ())}):
            raise PolicyError(f"rr: {named(twice)} has both a keep probability and a matrix; give one of the two")

    def redrawn(self) -> str | None:
        return (
            "Every release of rr randomizes again: where the rows of a person can be told, the true value shows in the "
            "average of many releases. What is promised is for one release."
        )

    def settings(self) -> dict[str, Any]:
        by_hand = bool(self.keep or self.matrices)
        return {"name": self.name, "mode": "by hand" if by_hand else self.mode}

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        wanted = _disclosure(bind(requirements, table))
        progress("response", 0.0)
        chosen = self.response(table, wanted)
        changed = [table[n] for n, way in chosen.distortions.items() if way.changes]
        warnings = self.warnings([wanted]) + self._observed(changed)
        progress("order", 0.0)
        data = randomized(table, chosen.distortions, rng)
        manifest = describe(
            table,
            title=title,
            scheme="randomization",
            method=self.settings(),
            judgements=[_judgement(wanted, chosen, table)],
            warnings=warnings,
        )
        manifest["matrices"] = {c.name: chosen.distortions[c.name].entry() for c in changed}
        return Release(manifest, {"data": data})

    def response(self, table: Microdata, wanted: Disclosure) -> OptimalResponse:
        """The distortions: the optimal ones, or those given by hand if they keep the bound."""
        problem = Problem.of(table, wanted, self.mode)
        if not self.keep and not self.matrices:
            return solve(problem)
        chosen = problem.result(self._by_hand(problem))
        over = problem.risk(list(chosen.distortions.values())) > problem.bounds * (1 + _ROUNDING)
        if over.any():
            raise Infeasible(
                f"disclosure: with the matrices given, {int(over.any(axis=1).sum())} of {len(over)} combinations of "
                f"quasi-identifiers have a risk above their limit, at most {chosen.risk:.6g}; randomize more, raise "
                "tau, or leave the matrices out to get the optimal ones"
            )
        return chosen

    def _by_hand(self, problem: Problem) -> list[Distortion]:
        given = {**(self.keep or {}), **(self.matrices or {})}
        if strange := [n for n in given if n not in problem.names]:
            raise PolicyError(
                f"rr: {strange[0]!r} is no quasi-identifier or sensitive attribute{nearest(strange[0], problem.names)}"
            )
        ways = []
        for name, size in zip(problem.names, problem.sizes, strict=True):
            if name in (self.matrices or {}):
                ways.append(Distortion.given(given[name], size, what=f"the matrix of {name!r}"))
            else:
                ways.append(Distortion.keeping(given.get(name, 1.0), size, what=f"rr, {name!r}"))
        return ways

    def _observed(self, changed: Sequence[Column]) -> list[str]:
        """Warn of, or refuse, domains that are just the values that occur."""
        found = [c.name for c in changed if _is_observed(c)]
        if not found:
            return []
        if self.domains == "declared":
            raise PolicyError(
                f"rr: nobody declared the domain of {named(found)}; give it a domain or a taxonomy in the policy, or "
                'set domains = "observed" to take the values that occur'
            )
        return [
            f"The domain of {named(found)} was not declared: it is the values that occur in the table, so that the "
            "release tells which these are, also those that one person alone has. Declare a domain or a taxonomy."
        ]


def _is_observed(column: Column) -> bool:
    domain = column.domain
    return domain.form != "word" if isinstance(domain, Line) else domain.derived


def _disclosure(bound: Sequence[Requirement]) -> Disclosure:
    """The one requirement that randomized response serves."""
    for r in bound:
        if not isinstance(r, Disclosure):
            raise PolicyError(f"rr randomizes values and serves disclosure; it cannot serve {r.model}")
    if len(bound) != 1:
        raise PolicyError("rr serves one disclosure requirement; give the strictest, or tau by sensitive value")
    (wanted,) = bound
    assert isinstance(wanted, Disclosure)
    return wanted


def _judgement(wanted: Disclosure, chosen: OptimalResponse, table: Microdata) -> Judgement:
    groups = int(np.prod([c.size for c in table.quasi]))
    return Judgement(wanted, {"tau": chosen.risk}, groups, 0)
