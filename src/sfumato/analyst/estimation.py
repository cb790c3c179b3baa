"""What the analysts of randomized and of sampled releases share: the most likely distribution, and the covariance."""

from collections.abc import Callable

import numpy as np

from sfumato.table.distortion import Floats

Map = Callable[[Floats], Floats]

_STEPS = 10_000
_CLOSE = 1e-10


def iterative_bayes(seen: Floats, forth: Map, turned: Map, *, steps: int = _STEPS, close: float = _CLOSE) -> Floats:
    """The distribution of true values under which the shares ``seen`` are most likely; no entry is negative.

    Expectation maximization (Agrawal and Aggarwal, PODS 2001): ``forth`` gives the shares that a distribution is
    expected to show, ``turned`` applies the transposed matrix. It starts with equal shares and ends when a step moves
    at most ``close`` of the whole.
    """
    guess = np.full(seen.shape, 1.0 / seen.size)
    for _ in range(steps):
        expected = forth(guess)
        ratio = np.divide(seen, expected, out=np.zeros_like(expected), where=expected > 0)
        new = guess * turned(ratio)
        if np.abs(new - guess).sum() <= close:
            return new
        guess = new
    return guess


def covariance_of_draw(back: Floats, shares: Floats, *, fixed: bool = False) -> Floats:
    """The covariance of ``back`` (P⁻¹) applied to the value that one row shows, if values are shown with these shares.

    π = P⁻¹λ; P⁻¹ diag(λ) P⁻ᵀ - ππᵀ is that of a row drawn from all people (Guo, Ying, Wu, the numerator of Eq. 2). If
    people are ``fixed``, diag(π) takes the place of ππᵀ: how the people themselves differ is no part of the error.
    """
    pi = back @ shares
    return np.asarray(back * shares @ back.T - (np.diag(pi) if fixed else np.outer(pi, pi)), np.float64)
