"""Randomized response on quasi-identifiers, the sensitive attribute or both, with optimal parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError, nearest
from sfumato.method.base import Method, Progress, silent, undeclared_domain
from sfumato.method.rr.noisy_counts import fit_to_noisy_counts
from sfumato.method.rr.optimize import MODES, Mode, OptimalResponse, Problem, solve
from sfumato.release.judgement import Judgement
from sfumato.release.manifest import Manifest, SchemeName
from sfumato.release.scheme.randomization import Matrices
from sfumato.requirement.base import Requirement, is_number
from sfumato.requirement.disclosure import Disclosure
from sfumato.requirement.local_privacy import EpsilonGuarantee
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import all_named, named

_WORDS = {"domains": ("observed", "declared"), "fit": ("noisy", "counts"), "unchanged": ("refuse", "allow")}
_LEAST_EPSILON = 0.01
_MOST_EPSILON = 40


_NOT_A_SUCCESS_RATE = (
    "The risk that tau bounds is not the success rate of the attacker it describes. Smallest counterexample: two "
    "people with the same quasi-identifiers have a and b; with the sensitive attribute fully randomized the risk is "
    "1/4, but a guess is right half of the time. If all people with the same quasi-identifiers share a value, an "
    "adversary who reconstructs the distribution learns it. Read the success rate of the best attacker along with the "
    "risk"
)
_FITTED_MATRICES_LEAK = (
    "The paper's optimal matrices are fitted to the private table and are public. An adversary who knows all rows but "
    "one can recompute them for each value that the missing row may have, and compare: in a table of 200 rows this "
    "determined the sensitive values of 15 of 60 people. So the ε of matrices fitted to the table "
    '(fit = "counts") describes the noise once the matrices are known and is not a guarantee: no local differential '
    "privacy is claimed"
)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Method):
    """Every value is kept with its attribute's public probability, otherwise replaced by another value of the domain.

    Guo, Ying, Wu, "Limiting attribute disclosure in randomization based microdata release" (JCSE 2011). The
    probabilities are those of Problem 1: the least expected squared error of the reconstructed distribution
    under the bound on Equation 6. ``mode`` says what is randomized: the quasi-identifiers (``qi``, RR-QI), the
    ``sensitive`` attribute (RR-S), or ``both``.

    ``fit`` says what Problem 1 is solved on. ``counts``, the paper's form: the private table's own counts; the matrices
    then reveal something about the table, so no ε is a guarantee. ``noisy``: counts with noise, which makes the
    choice of the matrices ``fit_epsilon``-differentially private; the limit is then checked on the true counts.

    ``keep`` (attribute → probability) or ``matrices`` (attribute → rows, Pr(shown u | true v) in row u and column v)
    set the distortion by hand instead; what they do not name is not changed, and the bound is then only checked.
    ``unchanged``: whether an attribute that is to be randomized may turn out to need no noise and be published
    unchanged (``allow``, with a warning), or not (``refuse``).
    ``domains``: whether the values that occur may stand in for an undeclared domain (``observed``, with a
    warning), or not (``declared``).
    """

    name: ClassVar[str] = "rr"
    stage: ClassVar[str] = "response"
    summary: ClassVar[str] = "randomized response with optimal keep probabilities, and matrices for reconstruction"
    guarantees: ClassVar[str] = (
        "a risk of tracing values back of at most tau for everyone in the table; if the domains are declared and the "
        "matrices set by hand or fitted to noisy counts, also the ε that the manifest states for the randomized "
        "attributes"
    )
    refuted: ClassVar[str | None] = f"{_NOT_A_SUCCESS_RATE}. {_FITTED_MATRICES_LEAK}"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("randomization",)
    mode: Mode = "both"
    keep: Mapping[str, float] | None = None
    matrices: Mapping[str, Any] | None = None
    domains: Literal["observed", "declared"] = "observed"
    fit: Literal["noisy", "counts"] = "noisy"
    fit_epsilon: float = 1.0
    unchanged: Literal["refuse", "allow"] = "refuse"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PolicyError(f"rr: mode = {self.mode!r}{nearest(str(self.mode), MODES)}")
        for setting, words in _WORDS.items():
            if getattr(self, setting) not in words:
                raise PolicyError(
                    f"rr: {setting} = {getattr(self, setting)!r}; it must be {words[0]!r} or {words[1]!r}"
                )
        if not is_number(self.fit_epsilon) or not _LEAST_EPSILON <= self.fit_epsilon <= _MOST_EPSILON:
            raise PolicyError(
                f"rr: fit_epsilon = {self.fit_epsilon!r}; it must be a number from {_LEAST_EPSILON} to {_MOST_EPSILON}"
            )
        for setting in ("keep", "matrices"):
            value = getattr(self, setting)
            if value is not None and (not isinstance(value, Mapping) or not value):
                raise PolicyError(f"rr: {setting} = {value!r}; it must be a table with one entry per attribute")
        if twice := sorted({*(self.keep or ())} & {*(self.matrices or ())}):
            raise PolicyError(f"rr: {named(twice)} has both a keep probability and a matrix; give one of the two")

    @property
    def by_hand(self) -> bool:
        """Whether the matrices are given, not fitted."""
        return bool(self.keep or self.matrices)

    def redrawn(self) -> str | None:
        return (
            "Every release of rr randomizes anew: if a person's rows can be told apart from those of others, "
            "averaging many releases reveals the true value. The guarantee covers one release only."
        )

    def settings(self) -> dict[str, Any]:
        if self.by_hand:
            return {"name": self.name, "mode": "by hand", "fit": "by hand"}
        return {"name": self.name, "mode": self.mode, "fit": self.fit}

    @classmethod
    def as_stated(cls, settings: Mapping[str, Any], scheme: str) -> "Method":
        """Matrices set by hand are stated separately, along with the fitted ones."""
        own = {name: value for name, value in settings.items() if value != "by hand"}
        return super().as_stated(own | ({"keep": {"": 1.0}} if len(own) < len(settings) else {}), scheme)

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        _disclosure(requirements)

    def warnings_of(self, manifest: Manifest) -> list[str]:
        return _unprotected(manifest)

    def contradiction(self, manifest: Manifest) -> str | None:
        role = {"qi": "quasi", "sensitive": "sensitive"}.get(self.mode)
        other = [n for n in manifest.matrices if role not in (None, manifest.attributes[n].role)]
        return f"mode {self.mode!r} does not randomize {named(other)}" if other else None

    def prepared(self, table: Microdata) -> Microdata:
        return table.drawn_from(Role.QUASI, Role.SENSITIVE)

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        return [_disclosure(super().bind(table, requirements))]

    def counted(self, table: Microdata, bound: Sequence[Requirement]) -> list[str]:
        people = [r.person for r in bound if isinstance(r, Disclosure) and r.person is not None]
        return [*(c.name for c in table.sensitive), *people]

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Matrices:
        wanted = _disclosure(requirements)
        ways = self.response(counts, wanted, draws=draws, progress=progress).distortions
        changed = [counts[n] for n, way in ways.items() if way.changes]
        observed = self._observed(changed)
        noise = self.fit_epsilon if not self.by_hand and self.fit == "noisy" else None
        groups = math.prod(c.size for c in counts.quasi)
        return Matrices(
            ways=ways,
            matrices={c.name: ways[c.name].entry() for c in changed},
            guarantee=self._guarantee(counts, wanted, changed),
            fit_epsilon=noise,
            warnings=observed,
            # The limit holds; how far below it the risk is depends on the private table and stays private.
            judgements=[Judgement(wanted, {}, groups, 0)],
        )

    def response(
        self,
        table: Microdata | Counts,
        wanted: Disclosure,
        *,
        draws: Draws | None = None,
        progress: Progress = silent,
    ) -> OptimalResponse:
        """The distortions: the optimal ones, or those set by hand if they meet the bound."""
        problem = Problem.of(table, wanted, self.mode)
        if self.by_hand:
            chosen = self._checked(problem, self._by_hand(problem))
            meant = [n for n in problem.names if n in {*(self.keep or ()), *(self.matrices or ())}]
        else:

            def watch(done: float) -> None:
                progress(self.stage, done)

            fitted = self.fit == "counts"
            chosen = (
                solve(problem, watch)
                if fitted
                else fit_to_noisy_counts(problem, self.fit_epsilon, draws or Draws(), watch)
            )
            meant = [n for n, free in zip(problem.names, problem.free, strict=True) if free]
        self._refuse_unchanged(chosen, meant)
        return chosen

    def _checked(self, problem: Problem, ways: list[Distortion]) -> OptimalResponse:
        """The result of these distortions, if they meet the bound."""
        chosen = problem.result(ways)
        if chosen.risk > problem.bounds.min() and (over := problem.over(ways)):
            raise Infeasible(
                f"disclosure: with the given matrices, {over} of {len(problem.bounds)} combinations of "
                f"quasi-identifiers have a risk above their limit, at most {chosen.risk:.6g}; randomize more, raise "
                "tau, or leave the matrices out to have them fitted"
            )
        return chosen

    def _refuse_unchanged(self, chosen: OptimalResponse, meant: Sequence[str]) -> None:
        """If an attribute to be randomized would be published unchanged, the policy must allow it."""
        bare = [n for n in meant if not chosen.distortions[n].is_random]
        if self.unchanged == "allow" or (meant and not bare):
            return
        why = "the given matrices add none" if self.by_hand else "tau is met without it"
        if not self.by_hand and self.fit == "noisy":
            why += " by the noisy counts. Another run may decide otherwise, but running until one does weakens ε"
        raise PolicyError(
            f"rr would publish {all_named(bare)} as in the private table, with no noise (ε is infinite): {why}. "
            "Lower tau, set the noise by hand (keep), choose another mode or method, or accept it with "
            'unchanged = "allow" under [method]'
        )

    def _guarantee(self, table: Counts, wanted: Disclosure, changed: Sequence[Column]) -> EpsilonGuarantee:
        """The tables between which the noise holds: matrices and domains must not depend on the private table."""
        needed = changed if self.by_hand else [*table.quasi, *table.sensitive]
        if any(not c.declared for c in needed) or not (self.by_hand or self.fit == "noisy"):
            return "none"
        return "whole release" if self.by_hand and wanted.is_void else "tables that meet tau"

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        leaks = not self.by_hand and self.fit == "counts"
        return [*([_FITTED_MATRICES_LEAK] if leaks else []), _NOT_A_SUCCESS_RATE]

    def _by_hand(self, problem: Problem) -> list[Distortion]:
        given = {**(self.keep or {}), **(self.matrices or {})}
        if strange := [n for n in given if n not in problem.names]:
            raise PolicyError(
                f"rr: {strange[0]!r} is not a quasi-identifier or sensitive "
                f"attribute{nearest(strange[0], problem.names)}"
            )
        ways = []
        for name, size in zip(problem.names, problem.sizes, strict=True):
            if name in (self.matrices or {}):
                ways.append(Distortion.given(given[name], size, what=f"the matrix of {name!r}"))
            else:
                ways.append(Distortion.keeping(given.get(name, 1.0), size, what=f"rr, {name!r}"))
        return ways

    def _observed(self, changed: Sequence[Column]) -> list[str]:
        """Warn about, or refuse, domains that are just the values that occur."""
        found = [c.name for c in changed if not c.declared]
        if not found:
            return []
        if self.domains == "declared":
            raise PolicyError(
                f"rr: the domain of {named(found)} is not declared; give it a domain or a taxonomy in the policy, or "
                'set domains = "observed" to use the values that occur'
            )
        return [undeclared_domain(named(found))]


def _unprotected(manifest: Manifest) -> list[str]:
    """Warn prominently about columns that show the private table's own values."""
    ways = manifest.distortions()
    bare = [n for n in manifest.attributes if n not in ways or (ways[n].size > 1 and not ways[n].is_random)]
    if not bare:
        return []
    if not any(way.is_random for way in ways.values()):
        return [
            "NOTHING WAS RANDOMIZED: every column shows the values of the private table, without noise, and ε is "
            "infinite for each attribute."
        ]
    return [f"Published as in the private table, without noise (ε is infinite): {all_named(bare)}."]


def _disclosure(bound: Sequence[Requirement]) -> Disclosure:
    """The one requirement that randomized response serves."""
    for r in bound:
        if not isinstance(r, Disclosure):
            raise PolicyError(f"rr randomizes values and serves disclosure; it cannot serve {r.model}")
    if len(bound) != 1:
        raise PolicyError("rr serves one disclosure requirement; give the strictest, or one tau per sensitive value")
    (wanted,) = bound
    assert isinstance(wanted, Disclosure)
    return wanted
