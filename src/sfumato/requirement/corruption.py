"""Promises that hold even if the adversary has corrupted everyone but the victim: ρ1-to-ρ2 and Δ-growth."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import polars as pl

from sfumato.errors import PolicyError
from sfumato.requirement.base import Dial, Floats, Promise, Schema, Verdict, above, as_fraction, rounded_up, share
from sfumato.requirement.guarantee import INDEPENDENT, ONE_ROW, Guarantee, figure
from sfumato.requirement.manifest_view import ManifestView
from sfumato.requirement.pg_bounds import Setting, checked_rho1, checked_rho2, four_digits_up, setting
from sfumato.table.encode import Role


@dataclass(frozen=True, kw_only=True)
class CorruptionPromise(Promise):
    """A promise about the confidence of an adversary with λ-skewed knowledge, no matter who is corrupted.

    ``skew`` is λ: the adversary gives no value a prior probability above it. A policy writes ``lambda``.
    """

    served_by: ClassVar[str | None] = "pg"
    spelled: ClassVar[Mapping[str, str]] = {"skew": "lambda"}
    skew: float

    def __post_init__(self) -> None:
        share(self.model, "lambda", self.skew)

    def bind(self, schema: Schema) -> Self:
        """The same promise, if the skew fits the sensitive domain."""
        names = schema.sensitive_names()
        if len(names) != 1:
            raise PolicyError(
                f"{self.model} needs exactly one sensitive attribute, but the table has {len(names)}; give exactly one "
                "column the role 'sensitive'"
            )
        setting(self.model, p=0, k=1, domain=schema.domain(names[0]).size, skew=self.skew)
        return self

    @abstractmethod
    def bounds(self, s: Setting) -> tuple[Fraction, Fraction]:
        """What a setting guarantees, by theorem and by the worst attack."""

    @abstractmethod
    def limit(self) -> Fraction:
        """What is allowed."""

    @abstractmethod
    def answer(self) -> str:
        """The parameter that a bound corresponds to."""

    def judged(self, *, p: Any, k: Any, domain: Any) -> Verdict:
        """The status of the promise for a release drawn with these parameters."""
        theorem, exact = self.bounds(setting(self.model, p=p, k=k, domain=domain, skew=self.skew))
        name, kept = self.answer(), exact <= self.limit()
        attained = min(four_digits_up(exact), self.limit()) if kept else four_digits_up(exact)
        achieved = {name: float(attained), f"{name}_by_theorem": float(four_digits_up(theorem))}
        told = f"the worst attack {achieved[name]:g}, by theorem {achieved[f'{name}_by_theorem']:g}"
        return Verdict("holds" if kept else "broken", achieved, f"p = {float(p):g}, k = {k}: {told}")

    def verify(self, manifest: ManifestView, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Judge by the retention probability, the smallest group and the domain that the manifest states; whether
        the values were really perturbed that way cannot be seen from outside."""
        sensitive, settings = manifest.with_role(Role.SENSITIVE), manifest.settings
        if not manifest.sampled or len(sensitive) != 1 or not {"p", "k"} <= settings.keys():
            return Verdict("broken", {}, "the manifest lacks the retention probability or the smallest group size")
        found = self.judged(p=settings["p"], k=settings["k"], domain=len(manifest.domain(sensitive[0])))
        if found.status == "broken":
            return found
        detail = f"{found.detail}; true if the values were perturbed as stated, which cannot be seen from outside"
        return Verdict("stated", found.achieved, detail)

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        own = {self.answer(), f"{self.answer()}_by_theorem"}
        return achieved.keys() == own and 0 <= achieved[self.answer()] <= self.limit()


@dataclass(frozen=True, kw_only=True)
class RhoBreach(CorruptionPromise):
    """No ρ1-to-ρ2 breach: a confidence of at most ``rho1`` before is at most ``rho2`` after (Definition 2).

    >>> RhoBreach(rho1=0.2, rho2=0.5, skew=0.1).parameters()
    {'lambda': 0.1, 'rho1': 0.2, 'rho2': 0.5}
    """

    model: ClassVar[str] = "rho-breach"
    summary: ClassVar[str] = (
        "a confidence of at most rho1 before the release is at most rho2 after it, even with everyone else corrupted"
    )
    weaker: ClassVar[str | None] = "a larger rho2"
    dials: ClassVar[Mapping[str, Dial]] = {
        "lambda": Dial(0.05, 0.95, 0.05, start=0.1),
        "rho1": Dial(0.05, 0.9, 0.05, start=0.2),
        "rho2": Dial(0.1, 0.95, 0.05, start=0.5),
    }
    rho1: float
    rho2: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_rho1(self.model, self.rho1)
        checked_rho2(self.rho1, self.rho2)

    def bounds(self, s: Setting) -> tuple[Fraction, Fraction]:
        prior = checked_rho1(self.model, self.rho1)
        return s.rho2(prior), s.rho2_exact(prior)

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        unsure = before <= self.rho1
        about = attack in ("inference", "corruption") and bool((before <= self.skew).all())
        return about and above(belief[unsure], self.rho2)

    def limit(self) -> Fraction:
        return as_fraction(self.rho2)

    def answer(self) -> str:
        return "rho2"

    def words(self) -> str:
        return (
            f"an adversary who gives no value a prior above {self.skew:g} and believes a statement with probability "
            f"at most {self.rho1:g} believes it with probability at most {self.rho2:g} after the release, no matter "
            "who is corrupted"
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        return Guarantee(
            "No ρ1-to-ρ2 breach under corruption",
            "Take an adversary who gives no value of the victim a probability above "
            f"{figure(self.skew)} and believes a statement about the victim with a probability of at most "
            f"{figure(self.rho1)}. Even knowing the values of everyone else, this adversary believes it after the "
            f"release with a probability of at most {_up(achieved.get('rho2'))} (the worst attack; by theorem "
            f"{_up(achieved.get('rho2_by_theorem'))}). The limit is {figure(self.rho2)}.",
            (INDEPENDENT, ONE_ROW, "An adversary who was more confident than that before the release is not covered."),
        )


@dataclass(frozen=True, kw_only=True)
class Growth(CorruptionPromise):
    """No Δ-growth breach: the confidence in any statement grows by no more than ``delta`` (Definition 3).

    >>> Growth(delta=0.3, skew=0.1).parameters()
    {'lambda': 0.1, 'delta': 0.3}
    """

    model: ClassVar[str] = "growth"
    summary: ClassVar[str] = "no confidence in a statement grows by more than delta, even with everyone else corrupted"
    weaker: ClassVar[str | None] = "a larger delta"
    dials: ClassVar[Mapping[str, Dial]] = {
        "lambda": Dial(0.05, 0.95, 0.05, start=0.1),
        "delta": Dial(0.05, 0.95, 0.05, start=0.3),
    }
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        share(self.model, "delta", self.delta)

    def bounds(self, s: Setting) -> tuple[Fraction, Fraction]:
        return s.growth(), s.growth_exact()

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        about = attack in ("inference", "corruption") and bool((before <= self.skew).all())
        return about and above(belief - before, self.delta)

    def limit(self) -> Fraction:
        return as_fraction(self.delta)

    def answer(self) -> str:
        return "delta"

    def words(self) -> str:
        return (
            f"for an adversary who gives no value a prior above {self.skew:g}, the confidence in any statement grows "
            f"by at most {self.delta:g}, no matter who is corrupted"
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        return Guarantee(
            "No Δ-growth breach under corruption",
            f"Take an adversary who gives no value of the victim a probability above {figure(self.skew)}. Even knowing "
            "the values of everyone else, this adversary's confidence in any statement about the victim grows by at "
            f"most {_up(achieved.get('delta'))} (the worst attack; by theorem "
            f"{_up(achieved.get('delta_by_theorem'))}). The limit is {figure(self.delta)}.",
            (INDEPENDENT, ONE_ROW),
        )


def _up(value: float | None) -> str:
    """A probability, rounded up."""
    return "unknown" if value is None else figure(rounded_up(value))
