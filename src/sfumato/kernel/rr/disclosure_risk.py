"""Many increasing functions of kept shares, their gradients, and the step back to where none exceeds 0.

The variables are kept shares ``c`` in (0, 1], one per axis of a table and one for the values that follow it. Function
j belongs to one cell of the table; it is the logarithm of the chance that a draw from the cell, spread by the kept
shares, is traced back to it, times the same chance for one of the cell's values.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.noise import blend, spread
from sfumato.kernel.rr.occurring import Near, traced_at_most

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RiskLimits(NamedTuple):
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
        # the matrix c I + q J with each entry squared: (c + q)^2 on the diagonal, q^2 elsewhere
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
def _slopes(c: Any, sizes: Any, cell: Any, seen: Any, once: Any, back: Any, grad: Any) -> None:
    """The gradients by the axes: how the squared probabilities change, less how the table as seen does, spread back."""
    m, stride = len(sizes), len(seen)
    own, every, own2, every2 = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    _factors(c, sizes, own, every, own2, every2)
    # one column per axis, spread back together: lines m times as long, which vectorize
    moved, one = np.empty((len(seen), m)), np.empty(len(seen))
    for k in range(m):
        d, q = sizes[k], every[k]
        stride //= d
        one[:] = seen
        blend(one, d, stride, 1.0, -1.0 / d)
        for i in range(len(one)):
            moved[i, k] = one[i] * once[i] * once[i] / c[k]
        slope_own = 2.0 * (c[k] + q) * (1.0 - 1.0 / d) + 2.0 * q / d
        first = slope_own / own2[k]
        one[:] = back
        blend(one, d, stride, first, (-2.0 * q / d - first * every2[k]) / (own2[k] + d * every2[k]))
        for j in range(len(cell)):
            grad[j, k] = one[cell[j]]
    spread(moved.reshape(-1), sizes, own2, every2)
    for j in range(len(cell)):
        i = cell[j]
        for k in range(m):
            grad[j, k] = c[k] * (grad[j, k] - moved[i, k]) / back[i]


@inner
def _traced(c: Any, pi: Any, sizes: Any, cell: Any, out: Any, grad: Any) -> None:
    """The logarithm of the chance that a draw from each cell is traced back to it, over the whole table."""
    m = len(sizes)
    own, every, own2, every2 = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    _factors(c, sizes, own, every, own2, every2)
    seen = pi.copy()
    spread(seen, sizes, own, every)
    once = seen.copy()
    _inverse(once)
    back = once.copy()
    spread(back, sizes, own2, every2)
    for j in range(len(cell)):
        out[j] = np.log(pi[cell[j]] * back[cell[j]])
    if len(grad) > 0:
        _slopes(c, sizes, cell, seen, once, back, grad)


@inner
def _in_table(c: Any, pi: Any, sizes: Any, limits: Any, out: Any, grad: Any) -> None:
    if pi is not None:  # None is known at compile time, so this is then not compiled
        _traced(c, pi, sizes, limits.cell, out, grad)


@inner
def _from_what_occurs(c: Any, near: Any, sizes: Any, out: Any, grad: Any) -> None:
    if near is not None:
        traced_at_most(c, sizes, near, out, grad)


@inner
def evaluate(c: Any, pi: Any, sizes: Any, limits: Any, out: Any, grad: Any) -> None:
    """The functions at c and, where ``grad`` has rows, their gradients by log c; ``pi`` is as ``as_table`` says."""
    _in_table(c, pi[0], sizes, limits, out, grad)
    _from_what_occurs(c, pi[1], sizes, out, grad)
    m = len(sizes)
    for j in range(len(out)):
        traced, slope = (1.0, 0.0) if c[m] == 1.0 else _value_back(limits.shares[j], limits.value[j], c[m])
        out[j] += limits.offset[j] + np.log(traced)
        if len(grad) > 0:
            grad[j, m] = c[m] * slope / traced


def as_table(pi: Floats | None, limits: "RiskLimits | Near") -> tuple[Floats | None, "RiskLimits | Near | None"]:
    """The table and nothing, or, without a table, what bounds the functions from above (``kernel.rr.occurring``)."""
    return (None, limits) if pi is None else (pi, None)


@kernel
def _all_levels(c: Any, pi: Any, sizes: Any, limits: Any, out: Any, grad: Any) -> None:
    evaluate(c, pi, sizes, limits, out, grad)


def levels(
    c: Floats, pi: Floats | None, sizes: Ints, limits: RiskLimits | Near, *, gradients: bool = False
) -> tuple[Floats, Floats]:
    """The functions at c, and their gradients by log c (functions x variables) if asked for."""
    out = np.empty(len(limits.offset))
    grad = np.empty((len(out) if gradients else 0, len(sizes) + 1))
    _all_levels(c, as_table(pi, limits), sizes, limits, out, grad)
    return out, grad


@kernel
def _values_back(shares: Any, row: Any, value: Any, c: float, out: Any) -> None:
    for j in range(len(out)):
        out[j] = np.log(_value_back(shares[row[j]], value[j], c)[0])


def values_back(shares: Floats, row: Ints, value: Ints, c: float) -> Floats:
    """The logarithm of the chance that a value is traced back to itself, where the shares are those of its row."""
    out = np.zeros(len(row))
    if c < 1.0:
        _values_back(shares, row, value, c, out)
    return out


@kernel
def _in_whole_table(c: Any, sizes: Any, x: Any) -> None:
    m = len(sizes)
    own, every, own2, every2 = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    _factors(c, sizes, own, every, own2, every2)
    spread(x, sizes, own, every)
    _inverse(x)
    spread(x, sizes, own2, every2)


def traced_exactly(c: Floats, sizes: Ints, cell: Ints, weight: Floats) -> Floats:
    """The logarithm of the chance that a draw from each cell is traced back to it, by a pass through the whole table;
    ``cell`` and ``weight`` are all cells that occur."""
    x = np.zeros(int(sizes.prod()))
    x[cell] = weight
    _in_whole_table(c, sizes, x)
    return np.asarray(np.log(weight * x[cell]))


@inner
def highest(out: Any) -> float:
    best = -np.inf
    for x in out:
        best = max(best, x)
    return best


@inner
def worst(u: Any, pi: Any, sizes: Any, limits: Any, out: Any, none: Any) -> float:
    evaluate(np.exp(u), pi, sizes, limits, out, none)
    return highest(out)


@inner
def _to_border(
    u: Any, way: Any, pi: Any, sizes: Any, limits: Any, out: Any, none: Any, first: float, steps: int
) -> bool:
    """Move u along ``-way`` until no function exceeds 0, as little as necessary; False if that is impossible."""
    here = u.copy()
    if worst(here, pi, sizes, limits, out, none) <= 0.0:
        return True
    low, high = 0.0, first
    while worst(u - high * way, pi, sizes, limits, out, none) > 0.0:
        low = high
        high *= 4.0
        if high > 16.0:
            return False
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if worst(u - middle * way, pi, sizes, limits, out, none) > 0.0:
            low = middle
        else:
            high = middle
    for k in range(len(u)):
        u[k] -= high * way[k]
    return True


@kernel
def _borders(starts: Any, ways: Any, pi: Any, sizes: Any, limits: Any, first: float, steps: int, good: Any) -> None:
    out, none = np.empty(len(limits[0])), np.empty((0, starts.shape[1]))
    for i in range(len(starts)):
        good[i] = _to_border(starts[i], ways[i], pi, sizes, limits, out, none, first, steps)


def to_border(
    starts: Floats, ways: Floats, pi: Floats, sizes: Ints, limits: RiskLimits, first: float, steps: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Each start moved back along its way until no function exceeds 0, and whether that can be done.

    ``first`` is the length of the first trial, four times as long each time; then ``steps`` bisections.
    """
    moved, good = starts.copy(), np.empty(len(starts), np.bool_)
    _borders(moved, ways, as_table(pi, limits), sizes, limits, first, steps, good)
    return moved, good
