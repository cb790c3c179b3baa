"""Exact tests on a vector of counts: size, distinct, share, entropy, tail ratio and distances.

Each test compares two integers or, for the entropy, a sum of logarithms whose ties are settled by
prime factors, so that a count vector that lies exactly on the limit is judged right.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean

SIZE, DISTINCT, SHARE, ENTROPY, TAIL, EQUAL, ORDERED, TREE, AHEAD, SHARE_AT_LEAST = range(10)
"""What a test compares with its limit ``p/q``.

AHEAD is judged before a group is cut: each side must have at least p/q times as many rows as the most
frequent value of the whole group. It says nothing about a side alone.
"""

_CHEAP = (SIZE, DISTINCT, SHARE, SHARE_AT_LEAST, AHEAD)
"""Tests whose code is short; that of the others is compiled only if one of them is used."""

NO, YES, CLOSE = 0, 1, 2
"""A verdict; CLOSE: nearer to the limit than floating point tells, and not on it."""

_AUX = 6


class Tests(NamedTuple):
    """Tests in arrays. ``spec`` rows are (op, counted column, p, q, l); ``aux`` holds their vectors.

    aux of SHARE and SHARE_AT_LEAST: the limit of each value, numerators in row 0 and denominators in row 1. Of the
    distances: the totals in row 0; of TREE also lo, hi, parent and height of the nodes in rows 1-4
    and in [5, 0] how many nodes there are.
    """

    spec: NDArray[np.int64]
    aux: NDArray[np.int64]


def pack(rows: Sequence[tuple[int, int, int, int, int]], vectors: Sequence[Sequence[Any]]) -> Tests:
    """Put tests and their vectors into arrays."""
    width = max([1] + [len(v) for vs in vectors for v in vs])
    aux = np.zeros((len(rows), _AUX, width), dtype=np.int64)
    for t, vs in enumerate(vectors):
        for i, v in enumerate(vs):
            aux[t, i, : len(v)] = v
    return Tests(np.array(rows, dtype=np.int64).reshape(len(rows), 5), aux)


@lean
def _product(a: Any, b: Any) -> Any:
    """The 128-bit product of two non-negative 63-bit integers, as (high, low)."""
    mask = np.uint64(0xFFFFFFFF)
    s = np.uint64(32)
    # schoolbook multiplication in halves of 32 bits: no partial sum exceeds 64 bits
    a0, a1 = np.uint64(a) & mask, np.uint64(a) >> s
    b0, b1 = np.uint64(b) & mask, np.uint64(b) >> s
    low = a0 * b0
    mid = a1 * b0 + (low >> s)
    mid2 = a0 * b1 + (mid & mask)
    return a1 * b1 + (mid >> s) + (mid2 >> s), (mid2 << s) | (low & mask)


@lean
def at_most(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether a*b <= c*d, exactly, for non-negative 63-bit integers."""
    u = np.uint64
    if (u(a) | u(b) | u(c) | u(d)) >> u(32) == u(0):  # as most counts and limits are
        return u(a) * u(b) <= u(c) * u(d)
    h1, l1 = _product(a, b)
    h2, l2 = _product(c, d)
    return h1 < h2 or (h1 == h2 and l1 <= l2)


@lean
def _add_primes(number: int, times: int, primes: Any, powers: Any, used: int) -> int:
    """Add ``times`` times the prime exponents of ``number``; returns how many primes there are now."""
    f = 2
    while number > 1:
        # what is left has no factor below f, so it is a prime
        if f * f > number:
            f = number
        e = 0
        while number % f == 0:
            number //= f
            e += 1
        if e:
            i = 0
            while i < used and primes[i] != f:
                i += 1
            if i == used:
                primes[used] = f
                powers[used] = 0
                used += 1
            powers[i] += e * times
        f += 1
    return used


@lean
def _entropy(counts: Any, n: int, p: int, q: int, room: Any) -> int:
    """Whether H(counts) >= ln(p/q): n^n q^n >= p^n prod c^c, ties settled by unique factorization."""
    if n == 0:
        return NO
    weighted = 0.0
    for c in counts:
        if c > 1:
            weighted += c * np.log(c)
    # H = ln n - sum of c ln c / n; what is too near to ln(p/q) to trust the rounding is settled below
    gap = np.log(n) - weighted / n - np.log(p / q)
    if gap > 1e-11:
        return YES
    if gap < -1e-11:
        return NO
    primes, powers = room.ints[0], room.ints[1]
    used = _add_primes(n, n, primes, powers, 0)
    used = _add_primes(q, n, primes, powers, used)
    used = _add_primes(p, -n, primes, powers, used)
    for c in counts:
        if c > 1:
            used = _add_primes(c, -c, primes, powers, used)
    # n^n q^n = p^n prod c^c just when every prime has exponent 0
    for i in range(used):
        if powers[i] != 0:
            return CLOSE
    return YES


@lean
def _tail(counts: Any, p: int, q: int, l: int, room: Any) -> bool:
    """Recursive (c, l): r_1 < c (r_l + ... + r_m) with c = p/q and r sorted from the largest."""
    r = room.ints[0]
    for i in range(len(counts)):  # insertion sort, from the largest down; most counts of a small group are 0
        value, at = counts[i], i
        while at > 0 and r[at - 1] < value:
            r[at] = r[at - 1]
            at -= 1
        r[at] = value
    tail = np.int64(0)
    for i in range(l - 1, len(counts)):
        tail += r[i]
    return len(counts) > 0 and not at_most(p, tail, q, r[0])


@lean
def _total(counts: Any, aux: Any) -> int:
    """How many rows the whole table has."""
    total = np.int64(0)
    for i in range(len(counts)):
        total += aux[0, i]
    return total


@lean
def _tree_cost(extra: Any, values: int, aux: Any) -> Any:
    """The cost of moving mass through a tree: at each node height times what its children exchange."""
    nodes = aux[5, 0]
    # Three numbers per node follow the differences: its surplus, what its children give and what they take.
    surplus, given, taken = values, values + nodes, values + 2 * nodes
    for i in range(values, values + 3 * nodes):
        extra[i] = 0
    cost = extra[0] * 0
    for node in range(nodes - 1, -1, -1):  # children come after their parent
        if aux[4, node] == 0:
            extra[surplus + node] = extra[aux[1, node]]
        cost += aux[4, node] * min(extra[given + node], extra[taken + node])
        if node > 0:
            up, more = aux[3, node], extra[surplus + node]
            extra[surplus + up] += more
            if more > 0:
                extra[given + up] += more
            else:
                extra[taken + up] -= more
    return cost


@lean
def _moved(op: int, extra: Any, values: int, aux: Any) -> Any:
    """The mass times distance that turns one distribution into the other, given the differences ``extra[:values]``."""
    if op == TREE:
        return _tree_cost(extra, values, aux)
    moved = extra[0] * 0
    if op == ORDERED:  # what lies left of a boundary in excess must cross it
        run = extra[0] * 0
        for i in range(values - 1):
            run += extra[i]
            moved += abs(run)
        return moved
    for i in range(values):
        moved += abs(extra[i])
    return moved


@lean
def _unit(op: int, values: int, aux: Any) -> int:
    """The divisor of mass times distance that makes the greatest distance 1."""
    if op == TREE:
        return max(aux[4, 0], 1)
    return max(values - 1, 1) if op == ORDERED else 2


@lean
def _distance(op: int, counts: Any, n: int, aux: Any, room: Any) -> float:
    """The distance of the counts to the totals, in floating point."""
    total, extra = _total(counts, aux), room.floats
    for i in range(len(counts)):
        extra[i] = counts[i] / max(n, 1) - aux[0, i] / max(total, 1)
    return _moved(op, extra, len(counts), aux) / _unit(op, len(counts), aux)


@lean
def _near(op: int, counts: Any, n: int, p: int, q: int, aux: Any, room: Any) -> int:
    """Whether the distance is at most p/q: in integers if they fit, otherwise as far as floats can tell."""
    total = _total(counts, aux)
    unit = _unit(op, len(counts), aux)
    if float(unit) * float(n) * float(total) < 4e18:
        extra = room.ints[0]
        for i in range(len(counts)):  # both distributions times n times total, so that all numbers are whole
            extra[i] = counts[i] * total - aux[0, i] * n
        return YES if at_most(_moved(op, extra, len(counts), aux), q, p, unit * n * total) else NO
    gap = p / q - _distance(op, counts, n, aux, room)
    return YES if gap > 1e-11 else (NO if gap < -1e-11 else CLOSE)


@lean
def verdict(spec: Any, aux: Any, counts: Any, n: int, distinct: int, costly: Any) -> int:
    """Judge one vector of counts by one test; ``costly`` is what ``costly_tests`` gives."""
    op, p, q = spec[0], spec[2], spec[3]
    if op == SIZE:
        return YES if n >= p else NO
    if op == DISTINCT:
        return YES if distinct >= p else NO
    if op == AHEAD:
        return YES
    if op == SHARE:
        for i in range(len(counts)):
            if not at_most(counts[i], aux[1, i], aux[0, i], n):
                return NO
        return YES
    if op == SHARE_AT_LEAST:
        for i in range(len(counts)):
            if not at_most(aux[0, i], n, counts[i], aux[1, i]):
                return NO
        return YES
    if costly is not None:  # None is known at compile time, so what follows is then not compiled
        if op == ENTROPY:
            return _entropy(counts, n, p, q, costly)
        if op == TAIL:
            return YES if _tail(counts, p, q, spec[4], costly) else NO
        return _near(op, counts, n, p, q, aux, costly)
    return NO


class JudgeRoom(NamedTuple):
    """Working memory for the tests that are not cheap, for one thread."""

    ints: NDArray[np.int64]
    floats: NDArray[np.float64]


def make_room(values: int, aux: NDArray[np.int64]) -> JudgeRoom:
    """Room to judge vectors of up to so many counts.

    For prime factors: a 63-bit number has at most 15 different ones, and limit and size have some too. For distances:
    the differences, and three numbers per node of a tree, of which there are no more than ``aux`` has columns.
    """
    differences = values + 3 * aux.shape[-1]
    return JudgeRoom(np.empty((2, max(16 * (values + 3), differences)), np.int64), np.empty(differences, np.float64))


def costly_tests(tests: Tests, values: int) -> JudgeRoom | None:
    """Room for vectors of up to ``values`` counts if a test is not cheap; if none is, None, and none is compiled."""
    return None if np.isin(tests.spec.reshape(-1, 5)[:, 0], _CHEAP).all() else make_room(values, tests.aux)


@kernel
def _judge_rows(spec: Any, aux: Any, counts: Any, costly: Any, out: Any) -> None:
    for g in range(len(counts)):
        n = np.int64(0)
        distinct = np.int64(0)
        for c in counts[g]:
            n += c
            distinct += c > 0
        out[g] = verdict(spec, aux, counts[g], n, distinct, costly)


def verdicts(spec: NDArray[np.int64], aux: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int8]:
    """Judge each row of a matrix of counts by one test."""
    out = np.empty(len(counts), np.int8)
    _judge_rows(spec, aux, counts, costly_tests(Tests(spec, aux), counts.shape[1]), out)
    return out


@kernel
def _greatest(counts: Any, sizes: Any, most: Any) -> None:
    for g in range(len(counts)):
        n, top = np.int64(0), np.int64(0)
        for c in counts[g]:
            n += c
            top = max(top, c)
        sizes[g], most[g] = n, top


def greatest(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum and the greatest count of each row of a matrix: NumPy takes ten times as long for rows of few counts.

    >>> [found.tolist() for found in greatest(np.array([[3, 1, 0], [2, 2, 2]]))]
    [[4, 6], [3, 2]]
    """
    sizes, most = np.empty(len(counts), np.int64), np.empty(len(counts), np.int64)
    _greatest(counts, sizes, most)
    return sizes, most


@kernel
def _shares_at_most(sizes: Any, most: Any, p: int, q: int, out: Any) -> None:
    for g in range(len(sizes)):
        out[g] = at_most(most[g], q, p, sizes[g])


def shares_at_most(sizes: NDArray[np.int64], most: NDArray[np.int64], p: int, q: int) -> NDArray[np.bool_]:
    """Whether the most frequent value of each group makes up at most ``p/q`` of it, exactly.

    >>> shares_at_most(np.array([3, 3]), np.array([1, 2]), 1, 3).tolist()
    [True, False]
    """
    out = np.empty(len(sizes), np.bool_)
    _shares_at_most(sizes, most, p, q, out)
    return out


@kernel
def _measure_rows(op: int, counts: Any, aux: Any, room: Any, out: Any) -> None:
    for g in range(len(counts)):
        n = np.int64(0)
        for c in counts[g]:
            n += c
        out[g] = _distance(op, counts[g], n, aux, room)


def distances(op: int, counts: NDArray[np.int64], aux: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distance of each row of a matrix of counts to the totals."""
    out = np.empty(len(counts), np.float64)
    _measure_rows(op, counts, aux, make_room(counts.shape[1], aux), out)
    return out
