"""Minimize a sum of log(1 + a / c^2) subject to many increasing functions of c not exceeding 0.

Sequential quadratic programming in log c: the gradients are exact, the curvature is learned (damped BFGS on the
inverse), the steps come from Hildreth's procedure.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.rr.disclosure_risk import Floats, Ints, RiskLimits, as_table, evaluate, highest, worst
from sfumato.kernel.rr.occurring import Near
from sfumato.kernel.rr.sqp_step import learn, quadratic_step

_NEAR = 24
_STEPS = 80
_TRIES = 12
TOP = -1e-9
"""The greatest log c inside the solver: at c = 1 itself some gradients are limits of 0/0."""
_LEAST = -16.0


@inner
def _cost(u: Any, weight: Any) -> float:
    total = 0.0
    for k in range(len(u)):
        total += np.log1p(weight[k] * np.exp(-2.0 * u[k]))
    return total


@inner
def _pick(out: Any, chosen: Any) -> int:
    """The greatest functions, as many as there is room for."""
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
def _merit(u: Any, weight: Any, penalty: float, table: Any, out: Any) -> float:
    """The cost, and the penalty for the function that exceeds 0 most; the functions are left in ``out``."""
    over = worst(u, table[0], table[1], table[2], out, np.empty((0, len(u))))
    return _cost(u, weight) + penalty * max(0.0, over)


@inner
def _search(
    u: Any, d: Any, size: float, goal: Any, weight: Any, table: Any, out: Any, program: Any, picked: Any, room: Any
) -> tuple[float, bool]:
    """The share of the step d to take, halved until the merit decreases enough, and whether it does.

    If the full step fails, it is corrected to where the functions really are (second-order correction); d becomes the
    corrected step if that works.
    """
    merit, aim, penalty = goal
    chosen, found = picked
    bent, other = room
    a, b, h, g = program
    for tried in range(_TRIES):
        if _merit(np.maximum(u + size * d, _LEAST), weight, penalty, table, out) <= merit + size * aim:
            return size, True
        if tried == 0 and size == 1.0:
            for i in range(found):
                b[i] = -out[chosen[i]]
                for k in range(len(d)):
                    b[i] += a[i, k] * d[k]
            quadratic_step(a, b, h, g, bent, other)
            if _merit(np.maximum(u + bent, _LEAST), weight, penalty, table, out) <= merit + aim:
                d[:] = bent
                return size, True
        size *= 0.5
    return size, False


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
    """Update the curvature from how the slopes changed along the step; ``g`` and ``grad`` are the new ones."""
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
def _descend(u: Any, free: Any, weight: Any, pi: Any, sizes: Any, limits: Any, close: float, course: Any) -> float:
    """Improve u in place until the step left is shorter than ``close``; the cost."""
    n, count = len(u), len(limits[0])
    near = min(_NEAR, count)
    out, grad = np.empty(count), np.empty((count, n))
    chosen = np.empty(near, np.int64)
    a, b, h = np.zeros((near + n, n)), np.empty(near + n), np.zeros((n, n))
    d, g, was, dual = np.empty(n), np.empty(n), np.empty(n), np.zeros(near + n)
    room = (np.empty(n), np.zeros(near + n))
    evaluate(np.exp(u), pi, sizes, limits, out, grad)
    _first_curvature(u, free, weight, h)
    _cost_slopes(u, free, weight, g)
    penalty, taken = 0.0, 0
    while taken < _STEPS and course[1] == 0:
        taken += 1
        course[0] = taken
        found = _pick(out, chosen)
        _straighten(u, free, out, grad, chosen, found, a, b)
        quadratic_step(a, b, h, g, d, dual)
        length, most = np.abs(d).max(), max(0.0, highest(out))
        if length < close and most < close:
            break
        # a penalty above the sum of the multipliers makes the merit decrease along the step (exact penalty)
        penalty = max(penalty, 1.5 * dual[:near].sum())
        aim = 1e-4 * min((g * d).sum() - penalty * most, 0.0)
        merit = _cost(u, weight) + penalty * most + 1e-13
        _lagrangian(g, dual, a, near, was)
        size, goal = min(1.0, 2.0 / max(length, 1e-300)), (merit, aim, penalty)
        size, sinks = _search(u, d, size, goal, weight, (pi, sizes, limits), out, (a, b, h, g), (chosen, found), room)
        for k in range(n):
            u[k] = max(min(u[k] + size * d[k], TOP), _LEAST) if free[k] else u[k]
        if not sinks:
            break
        evaluate(np.exp(u), pi, sizes, limits, out, grad)
        _cost_slopes(u, free, weight, g)
        _learn(h, free, d, g, grad, chosen, found, dual, was, a, size)
    return _cost(u, weight)


def descend(
    u: Floats,
    free: NDArray[np.bool_],
    weight: Floats,
    pi: Floats | None,
    sizes: Ints,
    limits: RiskLimits | Near,
    close: float,
    course: Ints | None = None,
) -> tuple[Floats, float, int]:
    """The local minimum that the steps from u lead to, up to ``close``: log c, cost, number of steps.

    ``course`` is for another thread: the number of steps so far, and anything but 0 to stop after the present one.
    """
    out, course = u.copy(), np.zeros(2, np.int64) if course is None else course
    cost = _descend(out, free, weight, as_table(pi, limits), sizes, limits, close, course)
    return out, cost, int(course[0])
