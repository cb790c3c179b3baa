"""The probability that each person of a group holds each of its values, given QI-based distributions.

A possible world assigns the values of the group to its people; its weight is the product of f[t, v] over the people t
and their values v. p(t:x) is the weight of the worlds in which t has x over the weight of all (ART, Equations 1-3).
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.kernel.linkage.exposure import exposed
from sfumato.requirement.base import is_number, whole_number
from sfumato.requirement.wilson import wilson_interval

STATES = 1_000_000
"""The default limit on the states of a group for computing p(t:x) exactly; a state takes 16 bytes."""

MOST_STATES = 100_000_000
MOST_DRAWN = 200_000_000

Chances = NDArray[np.float64]
HeldCounts = NDArray[np.int64]


def linkage_probabilities(f: ArrayLike, counts: ArrayLike, *, limit: int = STATES) -> Chances:
    """The probability p[t, v] that person t of the group holds value v, exact.

    ``f[t, v]`` is the probability of value v for a person like t, ``counts[v]`` how often v occurs in the group.
    Dynamic programming over how many of each value (or of each kind of person, whichever is less) are
    placed; if that takes more than ``limit`` states, a warning says so and `linkage_bounds` is returned.

    >>> linkage_probabilities([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8], [0.2, 0.8]], [2, 2])[0].round(4).tolist()
    [0.7273, 0.2727]
    """
    chance, held = _checked(f, counts)
    whole_number("linkage_probabilities", "limit", limit, 1)
    _refuse_beyond("linkage_probabilities: limit", limit, MOST_STATES)
    p, exact = _linked(chance, held, float(limit))
    if not exact:
        warnings.warn(
            f"a group of {len(chance)} people has more states than the limit of {limit}; these are certified upper "
            "bounds, not the exact probabilities: raise the limit, or use sample_linkage",
            stacklevel=2,
        )
    elif not np.allclose(p.sum(axis=1), 1.0):
        raise DataError("no assignment of these values to these people is possible: too many of f are zero")
    return p


def _linked(chance: Chances, held: HeldCounts, limit: float) -> tuple[Chances, bool]:
    """p[t, v] of one group, and whether it is exact or the bound."""
    kinds, kind_of = np.unique(chance, axis=0, return_inverse=True)
    out, over = np.zeros(chance.shape), np.zeros(1, np.bool_)
    starts, sets = np.array([0, len(chance)]), np.eye(len(held), dtype=np.bool_)
    exposed(kind_of.reshape(-1), kinds, starts, held[None, :], sets, limit, 0.0, over, out)
    return out, not over[0]


def linkage_bounds(f: ArrayLike, counts: ArrayLike) -> Chances:
    """Certified upper bounds of p[t, v], for groups of any size.

    Exchanging the values of t (x) and of another person u (v) divides the weight of a world by R = f[t, x] f[u, v] /
    (f[u, x] f[t, v]). So p(t:x) <= max(1, R) p(u:x) with the greatest R over v, and the p(u:x) add up to counts[x]; a
    second bound averages over the values v as well, see `sfumato.kernel.linkage.swap`. Exact for a value that occurs
    once in worlds of two values.

    >>> linkage_bounds([[0.1, 0.9], [0.003, 0.997]], [1, 1])[0, 0].round(4).item()
    0.9736
    """
    return _linked(*_checked(f, counts), 0.0)[0]


class Sampled(NamedTuple):
    """Estimates of p[t, v] with an interval around each; ``effective``: how many equal draws the weights amount to."""

    p: Chances
    low: Chances
    high: Chances
    effective: float


def sample_linkage(
    f: ArrayLike,
    counts: ArrayLike,
    *,
    draws: int = 10_000,
    confidence: float = 0.99,
    rng: np.random.Generator | None = None,
) -> Sampled:
    """Estimate p[t, v] by importance sampling: worlds are drawn person by person and reweighted.

    The intervals are asymptotic (Wilson's, with the variance of a ratio of means), each of the given confidence, and
    never above `linkage_bounds`, which is certified. Few effective draws mean that the intervals should not be trusted.

    Args:
        f: ``f[t, v]``, the probability of value v for a person like t.
        counts: how often each value occurs in the group.
        draws: how many worlds to draw.
        confidence: of the intervals.
        rng: for experiments only; without one all randomness is fresh secret entropy.
    """
    chance, held = _checked(f, counts)
    whole_number("sample_linkage", "draws", draws, 2)
    _refuse_beyond("sample_linkage: draws x people", draws * len(chance), MOST_DRAWN)
    if not is_number(confidence) or not 0 < confidence < 1:
        raise PolicyError(f"sample_linkage: confidence = {confidence!r}; it must be between 0 and 1")
    world, log_weight = _draw(chance, held, draws, rng or np.random.default_rng())
    if log_weight.max() == -np.inf:
        raise DataError(
            f"none of {draws} draws is a possible world: too many of f are zero; use more draws, or raise the zeros"
        )
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effective = float(1.0 / (weight**2).sum())
    p, variance = np.zeros(chance.shape), np.zeros(chance.shape)
    for v in range(chance.shape[1]):
        has = world == v
        p[:, v] = np.minimum(weight @ has, 1.0)
        variance[:, v] = (weight**2) @ (has - p[:, v]) ** 2
    low, high = _interval(p, variance, effective, confidence)
    high = np.minimum(high, linkage_bounds(chance, held))
    return Sampled(np.minimum(p, high), np.minimum(low, high), high, effective)


def _interval(p: Chances, variance: Chances, effective: float, confidence: float) -> tuple[Chances, Chances]:
    """Wilson's interval, with the number of draws that the variance implies, never more than the effective one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(variance > 0, np.minimum(p * (1 - p) / variance, effective), effective)
    return wilson_interval(p, np.maximum(number, 1e-9), confidence)


def _draw(chance: Chances, held: HeldCounts, draws: int, rng: np.random.Generator) -> tuple[HeldCounts, Chances]:
    """Worlds, one row per draw, with the logarithm of their weight over their probability of being drawn."""
    n, k = chance.shape
    left = np.tile(held.astype(np.float64), (draws, 1))
    world, log_weight = np.zeros((draws, n), np.int64), np.zeros(draws)
    # people with the most one-sided chances first; rest[step]: the demand for each value by those still to be placed
    order = np.argsort(chance.max(axis=1) / np.maximum(chance.sum(axis=1), 1e-300))[::-1]
    rest = np.cumsum(chance[order[::-1]], axis=0)[::-1]
    rows = np.arange(draws)
    for step, t in enumerate(order):
        pull = chance[t] * left / np.where(rest[step] > 0, rest[step], 1.0)
        total = pull.sum(axis=1)
        if (total <= 0).all():
            raise DataError("no assignment of these values to these people is possible: too many of f are zero")
        pick = np.minimum((np.cumsum(pull, axis=1) < (rng.random(draws) * total)[:, None]).sum(axis=1), k - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_weight += np.log(np.where(total > 0, chance[t, pick] * total / pull[rows, pick], 0.0))
        world[:, t] = pick
        left[rows, pick] -= 1
    return world, np.where(np.isnan(log_weight), -np.inf, log_weight)


def _refuse_beyond(what: str, number: int, most: int) -> None:
    """Refuse what would not fit into memory."""
    if number > most:
        raise PolicyError(f"{what} = {number:,}; it must be at most {most:,}, since all of them are kept in memory")


def _checked(f: ArrayLike, counts: ArrayLike) -> tuple[Chances, HeldCounts]:
    """f as a matrix of probabilities and counts that add up to the people, or an error that says what is wrong."""
    try:
        chance, given = np.asarray(f, dtype=np.float64), np.asarray(counts)
    except (TypeError, ValueError) as e:
        raise PolicyError(
            f"f or counts is not an array of numbers ({e}); f must be people x values, counts one per value"
        ) from None
    if chance.ndim != 2 or given.ndim != 1 or chance.shape[1] != len(given):
        raise PolicyError(
            f"f has shape {chance.shape} and counts {given.shape}; f must be people x values, counts one per value"
        )
    if not np.issubdtype(given.dtype, np.integer) or (given < 0).any():
        raise PolicyError(f"counts are {given.tolist()} ({given.dtype}); they must be whole numbers, 0 or more")
    if given.sum() != len(chance) or not len(chance):
        raise PolicyError(f"counts add up to {given.sum()} for {len(chance)} people; there must be one per person")
    if not ((chance >= 0) & (chance <= 1)).all():
        raise PolicyError("f holds a number that is not a probability; each must be in [0, 1]")
    if (worst := chance.sum(axis=1).max()) > 1 + 1e-9:
        raise PolicyError(f"the probabilities of one person add up to {worst:.6g}; they must add up to at most 1")
    return chance, given.astype(np.int64)
