"""Marginals of weighted matchings: n items, k kinds of places with room for ``count[j]`` items each, all places filled.

A matching weighs the product of ``weight[item, kind]`` over its items. How much of the total weight has item i in
kind j is a ratio of permanents; a state is how many places of each kind are filled, so its digits add up to the number
of items placed, and one table forwards and one backwards give all ratios in states x kinds steps. All terms are
positive: nothing cancels. Rows and columns are scaled, which changes no ratio; if products could still underflow,
the same sums are computed in logarithms.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner

LEAST_EXPONENT = -600.0


@inner
def states(count: Any) -> float:
    """How many states there are: the product of the rooms plus one."""
    number = 1.0
    for c in count:
        number *= c + 1.0
    return number


@inner
def _join(a: float, b: float) -> float:
    """The logarithm of a sum."""
    # ln(e^a + e^b), with the larger one taken out so that nothing overflows
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@inner
def _scale(weight: Any) -> float:
    """Take logarithms in place, columns scaled to mean 0 and rows to weights that add up to 1.

    Returns a lower bound of the logarithm of the weight of a possible matching.
    """
    # Every item and every place is used once in each matching, so a factor on a row or column multiplies all matchings
    # alike.
    n, k = weight.shape
    for j in range(k):
        total, positive = 0.0, 0
        for i in range(n):
            weight[i, j] = np.log(weight[i, j]) if weight[i, j] > 0.0 else -np.inf
            if weight[i, j] > -np.inf:
                total += weight[i, j]
                positive += 1
        for i in range(n):
            weight[i, j] -= total / positive if positive else 0.0
    exponent = 0.0
    for i in range(n):
        total, least = -np.inf, np.inf
        for j in range(k):
            if weight[i, j] > -np.inf:
                total = _join(total, weight[i, j])
                least = min(least, weight[i, j])
        if total > -np.inf:
            for j in range(k):
                weight[i, j] -= total
            exponent += least - total  # no matching has less than the least weight of each row
    return exponent


@inner
def _step(digit: Any, count: Any) -> int:
    """The next state; how the number of items placed changes."""
    change = 0
    for j in range(len(count)):
        if digit[j] < count[j]:
            digit[j] += 1
            return change + 1
        change -= digit[j]
        digit[j] = 0
    return change


@inner
def _step_back(digit: Any, count: Any) -> int:
    """The state before; how the number of items placed changes."""
    change = 0
    for j in range(len(count)):
        if digit[j] > 0:
            digit[j] -= 1
            return change - 1
        digit[j] = count[j]
        change += count[j]
    return change


@inner
def _plain(weight: Any, count: Any, stride: Any, ahead: Any, behind: Any, share: Any) -> None:
    """Forwards, then backwards, by products."""
    k, last = len(count), len(ahead) - 1
    digit = np.zeros(k, np.int64)
    placed = 0
    ahead[0] = 1.0  # ahead[s]: the weight of all ways in which the first items fill the places of state s
    for s in range(1, last + 1):
        placed += _step(digit, count)
        total = 0.0
        for j in range(k):
            if digit[j] > 0:
                total += ahead[s - stride[j]] * weight[placed - 1, j]
        ahead[s] = total
    behind[last] = 1.0  # behind[s]: the weight of all ways to fill the places that state s leaves
    for s in range(last - 1, -1, -1):
        placed += _step_back(digit, count)
        total = 0.0
        for j in range(k):
            if digit[j] < count[j]:
                term = weight[placed, j] * behind[s + stride[j]]
                total += term
                share[placed, j] += ahead[s] * term
        behind[s] = total


@inner
def _in_logs(logs: Any, count: Any, stride: Any, ahead: Any, behind: Any, share: Any) -> None:
    """The same in logarithms; ``share`` comes out exponentiated, each row to its own scale."""
    n, k, last = len(logs), len(count), len(ahead) - 1
    digit = np.zeros(k, np.int64)
    for i in range(n):
        for j in range(k):
            share[i, j] = -np.inf
    placed = 0
    ahead[0] = 0.0
    for s in range(1, last + 1):
        placed += _step(digit, count)
        total = -np.inf
        for j in range(k):
            if digit[j] > 0:
                total = _join(total, ahead[s - stride[j]] + logs[placed - 1, j])
        ahead[s] = total
    behind[last] = 0.0
    for s in range(last - 1, -1, -1):
        placed += _step_back(digit, count)
        total = -np.inf
        for j in range(k):
            if digit[j] < count[j]:
                term = logs[placed, j] + behind[s + stride[j]]
                total = _join(total, term)
                share[placed, j] = _join(share[placed, j], ahead[s] + term)
        behind[s] = total
    for i in range(n):
        top = -np.inf
        for j in range(k):
            top = max(top, share[i, j])
        for j in range(k):
            share[i, j] = np.exp(share[i, j] - top) if top > -np.inf else 0.0


@inner
def shares(weight: Any, count: Any) -> Any:
    """``share[i, j]``: the part of all weight in which item i is in kind j; zeros where no matching is possible.

    ``weight`` is overwritten.
    """
    n, k = weight.shape
    stride = np.ones(k, np.int64)
    for j in range(1, k):
        stride[j] = stride[j - 1] * (count[j - 1] + 1)
    number = stride[k - 1] * (count[k - 1] + 1)
    share = np.zeros((n, k))
    ahead, behind = np.empty(number), np.empty(number)
    if _scale(weight) > LEAST_EXPONENT:
        for i in range(n):
            for j in range(k):
                weight[i, j] = np.exp(weight[i, j])
        _plain(weight, count, stride, ahead, behind, share)
    else:
        _in_logs(weight, count, stride, ahead, behind, share)
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += share[i, j]
        for j in range(k):
            share[i, j] /= total if total > 0.0 else 1.0
    return share
