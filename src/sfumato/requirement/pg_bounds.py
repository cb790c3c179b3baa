"""What perturbed generalization guarantees under corruption, and the largest retention that keeps a promise.

Tao, Xiao, Li, Zhang, "On anti-corruption privacy preserving publication" (ICDE 2008). All bounds are
computed in exact rationals; where a square root enters they are rounded up, never down.

In the paper's letters: p is the retention probability, k the least size of a group, n = |U| the size of
the sensitive domain, u = (1 - p)/n, λ the skew (the greatest prior probability of a value).
"""

import math
from collections.abc import Callable, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import Infeasible, PolicyError
from sfumato.requirement.base import as_fraction, is_number, share, whole_number

_GRID = 10**9
"""Retention probabilities are solved on a grid this fine, so that a decimal number states them exactly."""

_FINE = 1 << 120


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a release was drawn, and the background knowledge considered: everything the bounds depend on."""

    p: Fraction
    k: int
    n: int
    skew: Fraction

    @property
    def u(self) -> Fraction:
        """The chance that a value is perturbed into one given other value (Equation 11)."""
        return (1 - self.p) / self.n

    def ownership(self) -> Fraction:
        """The greatest chance that a published row is the victim's (h⊤, Inequality 20)."""
        return self._owns(1) / self._owns(self.k)

    def _owns(self, people: int) -> Fraction:
        return self.p * self.skew + people * self.u

    def rho2(self, rho1: Fraction) -> Fraction:
        """Theorem 2: the smallest ρ2 for which a ρ1-to-ρ2 breach is excluded."""
        if self.p == 1:
            return Fraction(1)
        gamma = 1 + self.p / self.u
        inside = gamma * rho1 / (1 - rho1 + gamma * rho1)
        h = self.ownership()
        return h * inside + (1 - h) * rho1

    def rho2_exact(self, rho1: Fraction) -> Fraction:
        """The posterior of the worst attack: all others of a group of k are corrupted and none has the value seen.

        (p w + k u ρ1)/(p w + k u) with w = min(λ, ρ1), the prior of the value seen.
        """
        if self.p == 1:
            return Fraction(1)
        kept = self.p * min(self.skew, rho1)
        return (kept + self.k * self.u * rho1) / (kept + self.k * self.u)

    def growth(self) -> Fraction:
        """Theorem 3: the smallest Δ for which a Δ-growth breach is excluded, rounded up."""
        if self.p == 1:
            return Fraction(1)
        return self.ownership() * self._most_growth(1, Fraction(0))

    def growth_exact(self) -> Fraction:
        """The growth of the worst attack, the greatest p w (1 - w)/(p w + k u) over the priors w of the value seen.

        A λ-skewed prior leaves at most (n - 1) λ to the other values, so w is at least 1 - (n - 1) λ.
        """
        if self.p == 1:
            return Fraction(1)
        return self._most_growth(self.k, max(Fraction(0), 1 - (self.n - 1) * self.skew))

    def _most_growth(self, people: int, least: Fraction) -> Fraction:
        """The maximum over w in [least, λ] of w (1 - w)/(w + K), K = people·u/p; its peak is 1 + 2K - 2√(K² + K)."""
        if self.p == 0:
            return Fraction(0)
        ratio = people * self.u / self.p

        def at(w: Fraction) -> Fraction:
            return w * (1 - w) / (w + ratio)

        if not least + ratio <= root_below(ratio * (ratio + 1)) <= self.skew + ratio:
            return max(at(least), at(self.skew))
        return 1 + 2 * ratio - 2 * root_below(ratio * (ratio + 1))


def root_below(x: Fraction) -> Fraction:
    """The square root, exact if it is rational, otherwise too small by less than 2^-100.

    >>> root_below(Fraction(4, 9))
    Fraction(2, 3)
    """
    return Fraction(math.isqrt(x.numerator * x.denominator * _FINE**2), x.denominator * _FINE)


def as_float_up(x: Fraction) -> float:
    """The smallest floating-point number that is not below the fraction."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def four_digits_up(x: Fraction) -> Fraction:
    """The fraction rounded up to four decimals.

    >>> four_digits_up(Fraction(2, 7)), four_digits_up(Fraction(1, 4))
    (Fraction(1429, 5000), Fraction(1, 4))
    """
    return Fraction(math.ceil(x * 10**4), 10**4)


def setting(model: str, *, p: Any, k: Any, domain: Any, skew: Any) -> Setting:
    """The setting that these parameters mean, each checked against its range."""
    whole_number(model, "k", k, 1)
    return Setting(
        p=as_fraction(share(model, "p", p, zero=True)),
        k=int(k),
        n=size_of(model, domain),
        skew=_skew(model, skew, domain),
    )


def size_of(model: str, domain: Any) -> int:
    """The size of a domain, given as such or as its values."""
    size = len(domain) if isinstance(domain, Sized) and not isinstance(domain, str) else domain
    return whole_number(model, "the size of the domain", size, 2)


def _skew(model: str, skew: Any, domain: Any) -> Fraction:
    exact, n = as_fraction(share(model, "lambda", skew)), size_of(model, domain)
    least = as_fraction(Fraction(1, n))
    if exact < least:
        raise PolicyError(
            f"{model}: lambda = {skew} is below 1/{n}, the least probability that the most likely of {n} values can "
            f"have; it must be in [{1 / n:.4g}, 1]"
        )
    return max(exact, Fraction(1, n))


def checked_rho1(model: str, rho1: Any) -> Fraction:
    """A prior confidence."""
    if not is_number(rho1) or not 0 < rho1 < 1:
        raise PolicyError(f"{model}: rho1 = {rho1!r}; it must be between 0 and 1")
    return as_fraction(rho1)


def epsilon(p: float | Fraction, n: int) -> float | None:
    """The ε of local differential privacy that the perturbation alone gives, ln(1 + p n/(1 - p)); None if infinite.

    >>> round(epsilon(0.3, 50), 4)
    3.1103
    """
    exact = as_fraction(p)
    if exact == 1:
        return None
    return math.nextafter(math.log1p(float(exact * n / (1 - exact))), math.inf) if exact else 0.0


@dataclass(frozen=True, kw_only=True)
class PGGuarantee:
    """What (p, k) guarantees against λ-skewed knowledge; probabilities rounded up.

    ``ownership`` is h⊤; ``rho2`` and ``growth`` are by Theorems 2 and 3, ``rho2_exact`` and ``growth_exact``
    what the worst attack attains; ``epsilon`` is what the perturbation alone gives (None: no bound).
    """

    k: int
    p: float
    domain: int
    skew: float
    rho1: float | None
    ownership: float
    rho2: float | None
    rho2_exact: float | None
    growth: float
    growth_exact: float
    epsilon: float | None


def pg_guarantee(*, k: int, p: float, domain: Any, skew: float, rho1: float | None = None) -> PGGuarantee:
    """What a release by perturbed generalization guarantees, no matter who is corrupted.

    ``domain`` is the sensitive domain or its size. One column of the paper's Table III:

    >>> g = pg_guarantee(k=6, p=0.3, domain=50, skew=0.1, rho1=0.2)
    >>> round(g.rho2, 6), round(g.rho2_exact, 6), round(g.growth, 6)
    (0.450356, 0.410526, 0.236842)
    """
    s = setting("pg", p=p, k=k, domain=domain, skew=skew)
    prior = None if rho1 is None else checked_rho1("pg", rho1)
    return PGGuarantee(
        k=s.k,
        p=float(p),
        domain=s.n,
        skew=float(skew),
        rho1=None if rho1 is None else float(rho1),
        ownership=1.0 if s.p == 1 else as_float_up(s.ownership()),
        rho2=None if prior is None else as_float_up(s.rho2(prior)),
        rho2_exact=None if prior is None else as_float_up(s.rho2_exact(prior)),
        growth=as_float_up(s.growth()),
        growth_exact=as_float_up(s.growth_exact()),
        epsilon=epsilon(s.p, s.n),
    )


def largest_p(keeps: Callable[[Fraction], bool], what: str) -> float:
    """The largest p of the grid that keeps a promise, given that every smaller p keeps it too (bisection)."""
    low, high = 0, _GRID
    if keeps(Fraction(1)):
        return 1.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(Fraction(middle, _GRID)) else (low, middle)
    if low == 0:
        raise Infeasible(f"no retention probability above 0 keeps {what}; allow more, raise k, or lower lambda")
    return low / _GRID


def pg_retention(
    *,
    k: int,
    domain: Any,
    skew: float,
    rho1: float | None = None,
    rho2: float | None = None,
    growth: float | None = None,
    exact: bool = False,
) -> float:
    """The largest retention probability p that excludes a ρ1-to-ρ2 breach, or a Δ-growth breach.

    By Theorems 2 and 3, or with ``exact`` by the worst attack, which allows a larger p. (The paper says
    "the minimum value"; every bound grows with p, so the useful value is the maximum.)

    >>> pg_retention(k=6, domain=50, skew=0.1, rho1=0.2, rho2=0.5)
    0.368452407
    >>> pg_retention(k=6, domain=50, skew=0.1, rho1=0.2, rho2=0.5, exact=True)
    0.418604651
    """
    if (rho2 is None) == (growth is None):
        raise PolicyError("give either rho1 and rho2, or growth: they define the breach to prevent")
    setting("pg", p=0, k=k, domain=domain, skew=skew)
    if growth is not None:
        limit = as_fraction(share("growth", "delta", growth))
        return _solve(k, domain, skew, lambda s: s.growth_exact() if exact else s.growth(), limit, f"{growth}-growth")
    if rho1 is None or rho2 is None:
        raise PolicyError("rho2 limits adversaries whose prior confidence is at most rho1; give rho1 too")
    prior = checked_rho1("rho-breach", rho1)
    limit = checked_rho2(rho1, rho2)
    return _solve(
        k, domain, skew, lambda s: s.rho2_exact(prior) if exact else s.rho2(prior), limit, f"{rho1}-to-{rho2}"
    )


def checked_rho2(rho1: Any, rho2: Any) -> Fraction:
    """A posterior confidence, which is above the prior one."""
    limit = as_fraction(share("rho-breach", "rho2", rho2))
    if limit <= as_fraction(rho1):
        raise PolicyError(
            f"rho-breach: rho2 = {rho2} is not above rho1 = {rho1}; no retention probability above 0 "
            "can keep such an adversary's belief from growing: raise rho2"
        )
    return limit


def _solve(k: int, domain: Any, skew: float, bound: Callable[[Setting], Fraction], limit: Fraction, what: str) -> float:
    def keeps(p: Fraction) -> bool:
        return bound(setting("pg", p=p, k=k, domain=domain, skew=skew)) <= limit

    return largest_p(keeps, what)
