"""One step of sequential quadratic programming in few variables, without a linear algebra library."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner


@inner
def _solved(m: Any, x: Any, n: int) -> None:
    """Solve the leading n x n system in place by elimination with row exchange; a ridge keeps it solvable."""
    for k in range(n):
        m[k, k] += 1e-13 * m[k, k]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[best, k]):
                best = i
        if best != k:
            for l in range(n):
                m[k, l], m[best, l] = m[best, l], m[k, l]
            x[k], x[best] = x[best], x[k]
        if m[k, k] == 0.0:
            m[k, k] = 1e-300
        for i in range(k + 1, n):
            f = m[i, k] / m[k, k]
            for l in range(k, n):
                m[i, l] -= f * m[k, l]
            x[i] -= f * x[k]
    for k in range(n - 1, -1, -1):
        for l in range(k + 1, n):
            x[k] -= m[k, l] * x[l]
        x[k] /= m[k, k]


@inner
def _shift(h: Any, g: Any, a: Any, dual: Any, d: Any) -> None:
    """d = -H (g + a' dual)."""
    rows, n = a.shape
    pull = g.copy()
    for i in range(rows):
        if dual[i] != 0.0:
            for k in range(n):
                pull[k] += dual[i] * a[i, k]
    for k in range(n):
        d[k] = 0.0
        for l in range(n):
            d[k] -= h[k, l] * pull[l]


@inner
def quadratic_step(a: Any, b: Any, h: Any, g: Any, d: Any, dual: Any) -> None:
    """min d'Bd/2 + g'd with a d <= b: Lawson and Hanson's active sets on the dual; h is the inverse of B."""
    rows, n = a.shape
    most = n + 2
    held = np.empty(most, np.int64)
    matrix, x = np.empty((most, most)), np.empty(most)
    count = 0
    dual[:] = 0.0
    _shift(h, g, a, dual, d)
    for _ in range(8 * rows):
        worst, at = 1e-12, -1  # the constraint that d violates most enters the active set
        for i in range(rows):
            over = -b[i]
            for k in range(n):
                over += a[i, k] * d[k]
            fresh = True
            for j in range(count):
                fresh = fresh and held[j] != i
            if over > worst and fresh:
                worst, at = over, i
        if at < 0 or count == most:
            return
        held[count] = at
        count += 1
        while count > 0:
            # With A the active constraints, d = -H (g + A'x) meets them with equality if A H A' x = -b - A H g.
            for i in range(count):
                x[i] = -b[held[i]]
                for k in range(n):
                    for l in range(n):
                        x[i] -= a[held[i], k] * h[k, l] * g[l]
                for j in range(count):
                    matrix[i, j] = 0.0
                    for k in range(n):
                        for l in range(n):
                            matrix[i, j] += a[held[i], k] * h[k, l] * a[held[j], l]
            _solved(matrix, x, count)
            # Multipliers must not be negative: go towards x only until the first one is 0, and drop its constraint.
            part, leaving = 1.0, -1
            for i in range(count):
                if x[i] <= 0.0:
                    now = dual[held[i]]
                    ratio = now / (now - x[i]) if now > x[i] else 0.0
                    if leaving < 0 or ratio < part:
                        part, leaving = ratio, i
            for i in range(count):
                dual[held[i]] += (part if leaving >= 0 else 1.0) * (x[i] - dual[held[i]])
            if leaving < 0:
                break
            dual[held[leaving]] = 0.0
            count -= 1
            held[leaving] = held[count]
        _shift(h, g, a, dual, d)


@inner
def learn(h: Any, s: Any, y: Any, bs: Any) -> None:
    """Damped BFGS on the inverse; ``bs`` is B s."""
    n = len(s)
    sbs, sy = 0.0, 0.0
    for k in range(n):
        sbs += s[k] * bs[k]
        sy += s[k] * y[k]
    if sbs <= 1e-18:
        return
    if sy < 0.2 * sbs:  # Powell's damping: mix y with B s until s'y = 0.2 s'Bs, so that B stays positive definite
        mix = 0.8 * sbs / (sbs - sy)
        for k in range(n):
            y[k] = mix * y[k] + (1.0 - mix) * bs[k]
        sy = 0.2 * sbs
    hy = np.zeros(n)
    yhy = 0.0
    for k in range(n):
        for l in range(n):
            hy[k] += h[k, l] * y[l]
        yhy += hy[k] * y[k]
    for k in range(n):
        for l in range(n):
            h[k, l] += (1.0 + yhy / sy) * s[k] * s[l] / sy - (hy[k] * s[l] + s[k] * hy[l]) / sy
