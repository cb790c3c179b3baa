"""Minimize a sum of log(1 + a / c^2) where many increasing functions of c may not exceed 0.

The variables are kept shares ``c`` in (0, 1], one an axis of a table and one for the values that follow it. Function j
stands at one cell of the table; it is the logarithm of the chance that a draw from the cell, spread by the kept shares,
is traced back to it, times the like for one of the cell's values. Sequential quadratic programming in log c: the
gradients are exact, the curvature is learnt (damped BFGS on the inverse), the steps come from Hildreth's procedure.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.distort import blend, spread
from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.quadratic import learn, quadratic_step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEAR = 24
_STEPS = 80
_TRIES = 12
TOP = -1e-9
"""The greatest log c inside the solver: at c = 1 itself some gradients are limits of 0/0."""
_LEAST = -16.0


class Limits(NamedTuple):
    """The functions: cell of the table, offset to add, value, and the shares of all values at that cell."""

    cell: Ints
    offset: Floats
    value: Ints
    shares: Floats


@inner
def _factors(c: Any, sizes: Any, own: Any, every: Any, own2: Any, every2: Any) -> None:
    for k in range(len(sizes)):
        q = (1.0 - c[k]) / sizes[k]
        own[k] = c[k]
        every[k] = q
        own2[k] = (c[k] + q) ** 2 - q * q
        every2[k] = q * q


@inner
def _inverse(x: Any) -> None:
    for i in range(len(x)):
        x[i] = 1.0 / x[i] if x[i] > 0.0 else 0.0


@inner
def _value_back(shares: Any, u: int, c: float) -> tuple[float, float]:
    """The chance that value u is traced back to itself, and its derivative by c."""
    d = len(shares)
    q = (1.0 - c) / d
    p = c + q
    dq = -1.0 / d
    dp = 1.0 + dq
    total, slope = 0.0, 0.0
    for v in range(d):
        dense = c * shares[v] + q
        if dense <= 0.0:
            continue
        r, dr = (p, dp) if v == u else (q, dq)
        total += r * r / dense
        slope += 2.0 * r * dr / dense - r * r * (shares[v] + dq) / (dense * dense)
    return total * shares[u], slope * shares[u]


@inner
def _levels(c: Any, pi: Any, sizes: Any, cell: Any, offset: Any, value: Any, shares: Any, out: Any, grad: Any) -> None:
    """The functions at c and, where ``grad`` has rows, their gradients by log c."""
    m = len(sizes)
    own, every, own2, every2 = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    _factors(c, sizes, own, every, own2, every2)
    seen = pi.copy()
    spread(seen, sizes, own, every)
    once = seen.copy()
    _inverse(once)
    back = once.copy()
    spread(back, sizes, own2, every2)
    wanted = len(grad) > 0
    for j in range(len(cell)):
        traced, slope = (1.0, 0.0) if c[m] == 1.0 else _value_back(shares[j], value[j], c[m])
        out[j] = offset[j] + np.log(pi[cell[j]] * back[cell[j]]) + np.log(traced)
        if wanted:
            grad[j, m] = c[m] * slope / traced
    if not wanted:
        return
    stride = len(pi)
    for k in range(m):
        stride //= sizes[k]
        d = sizes[k]
        q = every[k]
        # how the table as seen changes, spread back
        moved = seen.copy()
        blend(moved, d, stride, 1.0, -1.0 / d)
        for i in range(len(moved)):
            moved[i] *= once[i] * once[i] / c[k]
        spread(moved, sizes, own2, every2)
        # how the squared probabilities change
        slope_own = 2.0 * (c[k] + q) * (1.0 - 1.0 / d) + 2.0 * q / d
        slope_every = -2.0 * q / d
        turned = back.copy()
        first = slope_own / own2[k]
        blend(turned, d, stride, first, (slope_every - first * every2[k]) / (own2[k] + d * every2[k]))
        for j in range(len(cell)):
            i = cell[j]
            grad[j, k] = c[k] * (turned[i] - moved[i]) / back[i]


@kernel
def _all_levels(c: Any, pi: Any, sizes: Any, limits: Any, out: Any, grad: Any) -> None:
    _levels(c, pi, sizes, limits[0], limits[1], limits[2], limits[3], out, grad)


def levels(c: Floats, pi: Floats, sizes: Ints, limits: Limits, *, gradients: bool = False) -> tuple[Floats, Floats]:
    """The functions at c, and their gradients by log c (functions x variables) if asked for."""
    out = np.empty(len(limits.cell))
    grad = np.empty((len(out) if gradients else 0, len(sizes) + 1))
    _all_levels(c, pi, sizes, limits, out, grad)
    return out, grad


@inner
def _highest(out: Any) -> float:
    best = -np.inf
    for x in out:
        best = max(best, x)
    return best


@inner
def _worst(u: Any, pi: Any, sizes: Any, limits: Any, out: Any, none: Any) -> float:
    _levels(np.exp(u), pi, sizes, limits[0], limits[1], limits[2], limits[3], out, none)
    return _highest(out)


@inner
def _to_border(
    u: Any, way: Any, pi: Any, sizes: Any, limits: Any, out: Any, none: Any, first: float, steps: int
) -> bool:
    """Move u along ``-way`` until no function exceeds 0, as little as need be; False where no way leads there."""
    here = u.copy()
    if _worst(here, pi, sizes, limits, out, none) <= 0.0:
        return True
    low, high = 0.0, first
    while _worst(u - high * way, pi, sizes, limits, out, none) > 0.0:
        low = high
        high *= 4.0
        if high > 16.0:
            return False
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if _worst(u - middle * way, pi, sizes, limits, out, none) > 0.0:
            low = middle
        else:
            high = middle
    for k in range(len(u)):
        u[k] -= high * way[k]
    return True


@inner
def _cost(u: Any, weight: Any) -> float:
    total = 0.0
    for k in range(len(u)):
        total += np.log1p(weight[k] * np.exp(-2.0 * u[k]))
    return total


@inner
def _pick(out: Any, chosen: Any) -> int:
    """The greatest functions, at most as many as there is room for."""
    found = 0
    for j in range(len(out)):
        place = found
        while place > 0 and out[chosen[place - 1]] < out[j]:
            if place < len(chosen):
                chosen[place] = chosen[place - 1]
            place -= 1
        if place < len(chosen):
            chosen[place] = j
            found = min(found + 1, len(chosen))
    return found


@inner
def _first_curvature(u: Any, free: Any, weight: Any, h: Any) -> None:
    """The inverse of the cost's own curvature."""
    for k in range(len(u)):
        e = weight[k] * np.exp(-2.0 * u[k])
        h[k, k] = (1.0 + e) ** 2 / max(4.0 * e, 1e-3) if free[k] else 0.0


@inner
def _cost_slopes(u: Any, free: Any, weight: Any, g: Any) -> None:
    for k in range(len(u)):
        e = weight[k] * np.exp(-2.0 * u[k])
        g[k] = -2.0 * e / (1.0 + e) if free[k] else 0.0


@inner
def _straighten(u: Any, free: Any, out: Any, grad: Any, chosen: Any, found: int, a: Any, b: Any) -> None:
    """The chosen functions and the tops of the variables as rows of a d <= b."""
    n, near = len(u), len(chosen)
    a[:] = 0.0
    for i in range(found):
        b[i] = -out[chosen[i]]
        for k in range(n):
            a[i, k] = grad[chosen[i], k] if free[k] else 0.0
    for k in range(n):
        a[near + k, k] = 1.0 if free[k] else 0.0
        b[near + k] = TOP - u[k]


@inner
def _bend(a: Any, b: Any, h: Any, g: Any, d: Any, out: Any, chosen: Any, found: int, bent: Any, other: Any) -> None:
    """The step again, to where the functions really are after the first."""
    for i in range(found):
        b[i] = -out[chosen[i]]
        for k in range(len(d)):
            b[i] += a[i, k] * d[k]
    quadratic_step(a, b, h, g, bent, other)


@inner
def _lagrangian(g: Any, dual: Any, a: Any, near: int, was: Any) -> None:
    """The slopes of the cost with those of the chosen functions, times their multipliers."""
    for k in range(len(g)):
        was[k] = g[k]
        for i in range(near):
            was[k] += dual[i] * a[i, k]


@inner
def _learn(
    h: Any, free: Any, step: Any, g: Any, grad: Any, chosen: Any, found: int, dual: Any, was: Any, a: Any, size: float
) -> None:
    """Learn the curvature from how the slopes changed along the step; ``g`` and ``grad`` are the new ones."""
    n, near = len(g), len(chosen)
    s, y, bs = np.zeros(n), np.zeros(n), np.empty(n)
    for k in range(n):
        bs[k] = -size * (was[k] + dual[near + k] * a[near + k, k])
        if free[k]:
            s[k] = size * step[k]
            y[k] = g[k] - was[k]
            for i in range(found):
                y[k] += dual[i] * grad[chosen[i], k]
    learn(h, s, y, bs)


@kernel
def _descend(u: Any, free: Any, weight: Any, pi: Any, sizes: Any, limits: Any, close: float) -> tuple[float, int]:
    """Improve u in place until the step left is shorter than ``close``; the cost, and how many steps it took."""
    n, count = len(u), len(limits[0])
    near = min(_NEAR, count)
    out, none, grad = np.empty(count), np.empty((0, n)), np.empty((count, n))
    chosen = np.empty(near, np.int64)
    a, b, h = np.zeros((near + n, n)), np.empty(near + n), np.zeros((n, n))
    d, g, was, bent = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    dual, other = np.zeros(near + n), np.zeros(near + n)
    _levels(np.exp(u), pi, sizes, limits[0], limits[1], limits[2], limits[3], out, grad)
    _first_curvature(u, free, weight, h)
    _cost_slopes(u, free, weight, g)
    penalty, taken = 0.0, 0
    while taken < _STEPS:
        taken += 1
        found = _pick(out, chosen)
        _straighten(u, free, out, grad, chosen, found, a, b)
        quadratic_step(a, b, h, g, d, dual)
        length, worst = np.abs(d).max(), max(0.0, _highest(out))
        if length < close and worst < close:
            break
        penalty = max(penalty, 1.5 * dual[:near].sum())
        aim = 1e-4 * min((g * d).sum() - penalty * worst, 0.0)
        merit = _cost(u, weight) + penalty * worst + 1e-13
        _lagrangian(g, dual, a, near, was)
        size, tried = min(1.0, 2.0 / max(length, 1e-300)), 0
        while tried < _TRIES:
            here = np.maximum(u + size * d, _LEAST)
            over = max(0.0, _worst(here, pi, sizes, limits, out, none))
            if _cost(here, weight) + penalty * over <= merit + size * aim:
                break
            if tried == 0 and size == 1.0:
                _bend(a, b, h, g, d, out, chosen, found, bent, other)
                here = np.maximum(u + bent, _LEAST)
                over = max(0.0, _worst(here, pi, sizes, limits, out, none))
                if _cost(here, weight) + penalty * over <= merit + aim:
                    d[:] = bent
                    break
            size *= 0.5
            tried += 1
        for k in range(n):
            u[k] = max(min(u[k] + size * d[k], TOP), _LEAST) if free[k] else u[k]
        if tried == _TRIES:
            break
        _levels(np.exp(u), pi, sizes, limits[0], limits[1], limits[2], limits[3], out, grad)
        _cost_slopes(u, free, weight, g)
        _learn(h, free, d, g, grad, chosen, found, dual, was, a, size)
    return _cost(u, weight), taken


def descend(
    u: Floats, free: NDArray[np.bool_], weight: Floats, pi: Floats, sizes: Ints, limits: Limits, close: float
) -> tuple[Floats, float, int]:
    """The local minimum that the steps from u lead to, up to ``close``: log c, cost, number of steps."""
    out = u.copy()
    cost, taken = _descend(out, free, weight, pi, sizes, limits, close)
    return out, cost, taken


@kernel
def _borders(starts: Any, ways: Any, pi: Any, sizes: Any, limits: Any, first: float, steps: int, good: Any) -> None:
    out, none = np.empty(len(limits[0])), np.empty((0, starts.shape[1]))
    for i in range(len(starts)):
        good[i] = _to_border(starts[i], ways[i], pi, sizes, limits, out, none, first, steps)


def to_border(
    starts: Floats, ways: Floats, pi: Floats, sizes: Ints, limits: Limits, first: float, steps: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Each start moved back along its way until no function exceeds 0, and whether that can be done.

    ``first`` is the length of the first trial, four times as long each time; then ``steps`` bisections.
    """
    moved, good = starts.copy(), np.empty(len(starts), np.bool_)
    _borders(moved, ways, pi, sizes, limits, first, steps, good)
    return moved, good
