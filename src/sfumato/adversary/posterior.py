"""Posteriors of an adversary who has corrupted people: Equations 8 to 19 of PG, and the same for other schemes.

All functions take one attack or arrays of attacks. Beliefs are attacks x values of the sensitive domain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.requirement.base import share

Floats = NDArray[np.float64]

_MOST_STATES = 200_000


@dataclass(frozen=True, eq=False)
class Attacks:
    """The results of attacks, with one entry or row per attack.

    ``ownership`` is the chance that the row seen is the victim's; ``prior`` and ``beliefs`` are the probabilities of
    each value before and after; ``observed`` is the value of the row seen, -1 where a scheme shows several.
    """

    ownership: Floats
    prior: Floats
    beliefs: Floats
    observed: NDArray[np.int64]

    def confidence(self, predicate: ArrayLike) -> tuple[Floats, Floats]:
        """The confidence in a predicate before and after; ``predicate`` is a mask of values, for all or per attack."""
        mask = np.asarray(predicate, np.float64)
        if mask.shape[-1] != self.prior.shape[-1]:
            raise PolicyError(f"the predicate must be a mask of {self.prior.shape[-1]} values, not of {mask.shape[-1]}")
        return (self.prior * mask).sum(axis=-1), (self.beliefs * mask).sum(axis=-1)

    def growth(self) -> Floats:
        """The growth of the worst predicate: all values that have become more likely."""
        return np.asarray(np.maximum(self.beliefs - self.prior, 0.0).sum(axis=-1))


def as_prior(prior: ArrayLike, values: int) -> Floats:
    """A prior for all attacks or one per attack, checked."""
    try:
        given = np.asarray(prior, np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"a prior must give a probability for each of {values} values, not {prior!r}") from None
    if given.shape[-1:] != (values,):
        raise PolicyError(f"a prior must give a probability for each of {values} values, not for {given.shape[-1:]}")
    if (given < 0).any() or not np.allclose(given.sum(axis=-1), 1.0, atol=1e-9):
        raise PolicyError("the probabilities of a prior must not be negative and must add up to 1")
    return given


def pg_posterior(
    *,
    p: float,
    observed: ArrayLike,
    size: ArrayLike,
    prior: ArrayLike,
    candidates: ArrayLike,
    corrupted: ArrayLike = 0,
    present: ArrayLike = 0,
    matching: ArrayLike = 0,
    others: ArrayLike | None = None,
) -> Attacks:
    """The belief of an adversary who sees the victim's crucial row in a PG release (Equations 8 to 19).

    ``observed`` is the code of the value seen (y), ``size`` the group size (G), ``candidates`` how many others fit
    the box (e), ``corrupted`` how many of them are corrupted (α), ``present`` how many of those are in the table (β)
    and ``matching`` how many of those have the value seen. ``others`` is the prior of those not corrupted;
    without it they have the victim's.

    Example 1 of the paper: seven diseases, breast cancer seen, Debbie has pneumonia, Emily is not in the table.

    >>> a = pg_posterior(p=0.25, observed=2, size=2, prior=[1 / 7] * 7, candidates=2, corrupted=2, present=1)
    >>> round(float(a.ownership), 6), [round(float(c), 6) for c in a.confidence([1, 1, 0, 0, 0, 0, 0])]
    (0.571429, [0.285714, 0.244898])
    """
    n = np.asarray(prior).shape[-1]
    before = as_prior(prior, n)
    y, g_size, e, alpha, beta, same = as_attacks(observed, size, candidates, corrupted, present, matching)
    _consistent(p, y, g_size, e, alpha, beta, same, n)
    u = (1 - p) / n
    free = e - alpha
    g = np.divide(g_size - 1 - beta, free, out=np.zeros(y.shape), where=free > 0)
    rest = before if others is None else as_prior(others, n)
    at_seen = _at(before, y)
    mine = p * at_seen + u
    everyone = mine + same * p + beta * u + g * free * (p * (at_seen if others is None else _at(rest, y)) + u)
    h = np.divide(mine, everyone, out=np.zeros(y.shape), where=everyone > 0)
    if (everyone <= 0).any():
        raise DataError("nobody in the box can have the value seen; correct the prior or the corrupted values")
    per_mine = np.divide(h, mine, out=np.zeros(y.shape), where=mine > 0)
    beliefs = before * (per_mine * u + (1 - h))[..., None]
    np.put_along_axis(beliefs, y[..., None], (at_seen * (per_mine * (p + u) + (1 - h)))[..., None], axis=-1)
    return Attacks(h, np.broadcast_to(before, beliefs.shape), beliefs, y)


def as_attacks(*given: ArrayLike) -> tuple[NDArray[np.int64], ...]:
    """Codes and counts of attacks, broadcast to one shape."""
    try:
        counts = np.broadcast_arrays(*(np.asarray(g) for g in given))
    except ValueError:
        told = ", ".join(str(np.asarray(g).shape) for g in given)
        raise PolicyError(
            f"each argument must have one entry per attack, or one for all; these have the shapes {told}"
        ) from None
    if not all(c.dtype.kind in "iub" or not c.size for c in counts):
        raise PolicyError("the code of the value seen and the counts must be whole numbers")
    return tuple(c.astype(np.int64, copy=False) for c in counts)


def _at(probabilities: Floats, y: NDArray[Any]) -> Floats:
    """The probability of the value seen in each attack."""
    if probabilities.ndim == 1:
        return np.asarray(probabilities[y])
    return np.asarray(np.take_along_axis(probabilities, y[..., None], axis=-1)[..., 0])


def _consistent(
    p: float, y: NDArray[Any], size: NDArray[Any], e: NDArray[Any], alpha: NDArray[Any], beta: NDArray[Any],
    same: NDArray[Any], n: int,
) -> None:  # fmt: skip
    """Refuse what contradicts the model, with the first attack that does."""
    share("an attack", "p", p, zero=True)
    rules = [
        ((y < 0) | (y >= n), f"the value seen must be a code from 0 to {n - 1}"),
        ((same < 0) | (same > beta), "no more people can have the value seen than are corrupted and in the table"),
        ((beta < 0) | (beta > alpha), "no more people can be in the table than are corrupted"),
        (alpha > e, "no more people can be corrupted than fit the box"),
        (size - 1 - beta < 0, "more corrupted people are in the table than the group has"),
        (size - 1 - beta > e - alpha, "the group has more people than fit its box without being known to be absent"),
    ]
    for broken, words in rules:
        if np.any(broken):
            i = int(np.argmax(broken))
            told = (int(v.ravel()[i]) for v in (size, e, alpha, beta))
            raise DataError(
                f"attack {i} contradicts the release: {words} (G = {{}}, e = {{}}, alpha = {{}}, beta = {{}}); correct "
                "who fits the box, who is corrupted, or who is extraneous".format(*told)
            )


def multiset_posterior(*, left: ArrayLike, prior: ArrayLike, others: ArrayLike | None = None) -> Attacks:
    """The belief of an adversary who sees the victim's group with its true values.

    ``left`` are the counts of the group's values without those of corrupted people. Each way to assign them to the
    victim and the others is weighted by its prior, so the belief in x is proportional to P[x] · left(x) / P'[x], where
    P' is the prior of the others. With the same prior for everyone it is the share of x in what is left.

    The group of Figure 1, an adversary who rules out HIV: pneumonia is a third, and a respiratory disease certain.

    >>> diseases = [3, 2, 2, 2, 1, 1]
    >>> a = multiset_posterior(left=diseases, prior=[0.2, 0, 0.2, 0.2, 0.2, 0.2], others=[1 / 6] * 6)
    >>> a.beliefs.round(4).tolist()
    [0.3333, 0.0, 0.2222, 0.2222, 0.1111, 0.1111]
    """
    counts = np.asarray(left)
    n = counts.shape[-1]
    before = as_prior(prior, n)
    rest = before if others is None else as_prior(others, n)
    if (counts < 0).any() or (counts.sum(axis=-1) < 1).any():
        raise DataError(
            "the group lacks a value that a corrupted person is said to have; correct who is corrupted or extraneous"
        )
    counts, before, rest = np.broadcast_arrays(counts, before, rest)
    only = (rest == 0) & (counts > 0)  # values that only the victim can have
    if (np.where(only, counts, 0).sum(axis=-1) > 1).any():
        raise DataError("the group has values that the prior rules out for everyone; correct the prior")
    weight = np.divide(before * counts, rest, out=np.zeros(counts.shape), where=rest > 0)
    sure = only.any(axis=-1, keepdims=True)
    weight = np.where(sure, np.where(only, before, 0.0), weight)
    total = weight.sum(axis=-1, keepdims=True)
    if (total <= 0).any():
        raise DataError("the prior rules out every value that is left in the victim's group; correct the prior")
    beliefs = weight / total
    return Attacks(1.0 / counts.sum(axis=-1), before, beliefs, np.full(beliefs.shape[:-1], -1))


def randomized_posterior(
    *,
    observed: ArrayLike,
    matrix: Floats,
    prior: ArrayLike,
    known: Sequence[int] = (),
    others: ArrayLike | None = None,
) -> Attacks:
    """The belief of an adversary who sees the randomized values of all people with the victim's quasi-identifiers.

    ``observed`` are the counts of the values seen, ``matrix[a, b]`` the probability that ``a`` is shown as ``b``,
    ``known`` the codes of those corrupted. Every way to assign the values seen to people is weighted; the work
    grows with the product of the counts. With everyone else corrupted and one row, this is Bayes' rule:

    >>> a = randomized_posterior(observed=[1, 0], matrix=np.array([[0.75, 0.25], [0.25, 0.75]]), prior=[0.5, 0.5])
    >>> a.beliefs.tolist()
    [0.75, 0.25]
    """
    seen = tuple(int(c) for c in np.asarray(observed))
    n = len(seen)
    before = as_prior(prior, n)
    rest = before if others is None else as_prior(others, n)
    unknown = sum(seen) - 1 - len(known)
    if min(seen) < 0 or unknown < 0:
        raise DataError(f"{len(known)} corrupted people and the victim have more rows than the {sum(seen)} seen")
    if not assignments(seen):
        raise DataError(
            f"{sum(seen)} people share the victim's quasi-identifiers, too many to enumerate all assignments"
        )
    shown = [*(matrix[x] for x in known), *([rest @ matrix] * unknown)]
    ways = _ways(tuple(tuple(float(v) for v in row) for row in shown))
    after = [tuple(c - (b == y) for b, c in enumerate(seen)) for y in range(n)]
    likelihood = np.array([ways(after[y]) if seen[y] else 0.0 for y in range(n)])
    weight = before * (matrix @ likelihood)
    if weight.sum() <= 0:
        raise DataError("the values seen cannot come from these people; correct the prior or who is corrupted")
    beliefs = weight / weight.sum()
    return Attacks(np.asarray(1.0 / sum(seen)), before, beliefs, np.asarray(-1))


def assignments(seen: ArrayLike) -> bool:
    """Whether the values seen are few enough to enumerate every way to assign them to people."""
    return 0 < float(np.prod(np.asarray(seen, np.float64) + 1)) <= _MOST_STATES and int(np.sum(seen)) > 0


def _ways(shown: tuple[tuple[float, ...], ...]) -> Any:
    """The probability that people, each with given probabilities of each value shown, show these counts of values."""

    @cache
    def ways(left: tuple[int, ...]) -> float:
        person = sum(left) - 1
        if person < 0:
            return 1.0
        return sum(
            shown[person][y] * ways(tuple(c - (b == y) for b, c in enumerate(left)))
            for y, count in enumerate(left)
            if count and shown[person][y]
        )

    return ways
