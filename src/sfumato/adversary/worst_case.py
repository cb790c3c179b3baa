"""The worst case: the predicate and the prior that make an adversary most confident."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.adversary.posterior import as_prior, pg_posterior
from sfumato.errors import PolicyError
from sfumato.requirement.pg_bounds import checked_rho1, setting

_SLACK = 1e-12
_CLOSE = 1e-6
_MOST_STEPS = 100_000


@dataclass(frozen=True, eq=False)
class WorstCase:
    """A predicate (a mask of values), the confidence in it before and after, and the prior."""

    predicate: NDArray[np.bool_]
    before: float
    after: float
    prior: NDArray[np.float64]

    @property
    def growth(self) -> float:
        """How much the confidence grew."""
        return self.after - self.before


def worst_predicate(prior: ArrayLike, belief: ArrayLike, rho1: float | None = None) -> WorstCase:
    """The predicate with the greatest posterior confidence, among those with a prior of at most ``rho1``.

    Without ``rho1``, the predicate whose confidence grows most. With it, a knapsack problem: values in order of their
    gain, pruned where even fractions of the next values could not beat the best subset found.

    Args:
        prior: the probability of each value before the release.
        belief: the probability of each value after it.
        rho1: the greatest prior of the predicates considered.

    >>> w = worst_predicate([0.3, 0.3, 0.4], [0.5, 0.4, 0.1], rho1=0.6)
    >>> w.predicate.tolist(), round(w.before, 3), round(w.after, 3)
    ([True, True, False], 0.6, 0.9)
    """
    belief = np.asarray(belief, np.float64)
    before = as_prior(prior, len(belief))
    if rho1 is None:
        chosen = belief > before
    else:
        checked_rho1("the worst predicate", rho1)
        chosen = _knapsack(before, belief, rho1 + _SLACK)
    return WorstCase(chosen, float(before[chosen].sum()), float(belief[chosen].sum()), before)


def _knapsack(cost: NDArray[np.float64], gain: NDArray[np.float64], room: float) -> NDArray[np.bool_]:
    """The subset of cost at most ``room`` with the greatest gain, to one millionth (branch and bound).

    Values of equal cost and gain are taken in order, so no two subsets differ only in such values.
    """
    useful = [int(i) for i in np.flatnonzero(gain > 0) if cost[i] <= room]
    useful.sort(key=lambda i: (-gain[i] / cost[i] if cost[i] > 0 else -np.inf, cost[i]))
    best, best_gain, steps = 0, -1.0, 0
    stack = [(0, 0, room, 0.0)]
    while stack and steps < _MOST_STEPS:
        steps += 1
        at, chosen, left, so_far = stack.pop()
        if so_far > best_gain:
            best, best_gain = chosen, so_far
        if at == len(useful) or _reach(cost, gain, useful[at:], left, so_far) <= best_gain + _CLOSE:
            continue
        i = useful[at]
        after = at + 1
        while after < len(useful) and _alike(cost, gain, i, useful[after]):
            after += 1
        # leave value i out, and with it all values like it: taking a later one instead would change nothing
        stack.append((after, chosen, left, so_far))
        if cost[i] <= left:
            stack.append((at + 1, chosen | 1 << i, left - cost[i], so_far + gain[i]))
    return np.array([best >> i & 1 for i in range(len(cost))], np.bool_)


def _reach(cost: NDArray[np.float64], gain: NDArray[np.float64], items: list[int], left: float, so_far: float) -> float:
    """The upper bound on the gain if fractions of values could be taken."""
    for i in items:
        part = min(1.0, left / cost[i]) if cost[i] > 0 else 1.0
        so_far, left = so_far + part * float(gain[i]), left - part * float(cost[i])
        if part < 1.0:
            break
    return so_far


def _alike(cost: NDArray[np.float64], gain: NDArray[np.float64], i: int, j: int) -> bool:
    return bool(abs(cost[i] - cost[j]) <= _SLACK and abs(gain[i] - gain[j]) <= _SLACK)


def worst_attack(*, p: float, k: int, domain: int, skew: float, rho1: float | None = None) -> WorstCase:
    """The worst attack on a PG release over all λ-skewed priors and all predicates.

    Everyone else in a group of k is corrupted, and none has the value seen, which is value 0. With ``rho1`` the
    greatest confidence among predicates with a prior of at most ρ1, otherwise the greatest growth.

    >>> w = worst_attack(p=0.3, k=6, domain=50, skew=0.1, rho1=0.2)
    >>> round(w.after, 6), round(worst_attack(p=0.3, k=6, domain=50, skew=0.1).growth, 6)
    (0.410526, 0.236842)
    """
    s = setting("the worst attack", p=p, k=k, domain=domain, skew=skew)
    if s.p == 1:
        raise PolicyError("with p = 1 the value seen is certainly the victim's if nobody else has it; lower p")
    most, domain = float(s.skew), s.n
    if rho1 is None:
        return _case(_spread(*_steepest(float(s.p), k, domain, most), domain), 1, float(s.p), k)
    limit = float(checked_rho1("the worst attack", rho1))
    w = min(most, limit)
    sizes = range(1, domain)
    sure = {m: min(limit, w + (m - 1) * most) for m in sizes}
    found = [
        _case(_spread(w, m, sure[m], domain), m, float(s.p), k)
        for m in sizes
        if 1 - (domain - m) * most <= sure[m] + _SLACK
    ]
    nothing = WorstCase(np.zeros(domain, np.bool_), 0.0, 0.0, np.full(domain, 1 / domain))
    return max(found, key=lambda case: case.after, default=nothing)


def _steepest(p: float, k: int, domain: int, most: float) -> tuple[float, int, float]:
    """The prior of the value seen that gives the greatest growth of that value alone."""
    ratio = k * (1 - p) / domain / p if p else 0.0
    peak = float(np.sqrt(ratio**2 + ratio) - ratio) if p else most
    w = min(most, max(peak, 1 - (domain - 1) * most, 0.0))
    return w, 1, w


def _spread(w: float, inside: int, total: float, domain: int) -> NDArray[np.float64]:
    """A prior of w for value 0 and ``total`` for the first ``inside`` values, the remainders spread evenly."""
    prior = np.full(domain, (1 - total) / max(domain - inside, 1))
    prior[:inside] = (total - w) / max(inside - 1, 1)
    prior[0] = w
    return np.asarray(prior / prior.sum())


def _case(prior: NDArray[np.float64], inside: int, p: float, k: int) -> WorstCase:
    """The attack with this prior, and as predicate the first ``inside`` values."""
    others = k - 1
    attack = pg_posterior(p=p, observed=0, size=k, prior=prior, candidates=others, corrupted=others, present=others)
    chosen = np.arange(len(prior)) < inside
    return WorstCase(chosen, float(prior[chosen].sum()), float(attack.beliefs[chosen].sum()), prior)
