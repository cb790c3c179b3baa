"""Which boxes overlap: divide and conquer that never compares all with all unless it must."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

_FEW = 4096
_SAMPLES = 4


@inner
def _compare(boxes: Any, others: Any, a: Any, b: Any, same: bool, hit: Any, second: Any, shared: Any) -> None:
    """Note for each of the others ``b`` which boxes ``a`` it meets: the first, and another one; mark such boxes."""
    for k in b:
        for i in a:
            if same and i == k:
                continue
            apart = False
            for j in range(boxes.shape[2]):
                if boxes[0, i, j] >= others[1, k, j] or others[0, k, j] >= boxes[1, i, j]:
                    apart = True
                    break
            if not apart:
                if hit[k] < 0:
                    hit[k] = i
                elif hit[k] != i:
                    second[k] = i
                    shared[i] = shared[hit[k]] = 1


@inner
def _sides(boxes: Any, chosen: Any, j: int, at: int) -> Any:
    """How many of the chosen boxes reach below ``at`` on axis ``j``, and how many above."""
    left = right = 0
    for i in chosen:
        left += boxes[0, i, j] < at
        right += boxes[1, i, j] > at
    return left, right


@inner
def _side(boxes: Any, chosen: Any, j: int, at: int, below: bool, number: int) -> Any:
    """The chosen boxes that reach below ``at``, or above it."""
    out = np.empty(number, np.int64)
    used = 0
    for i in chosen:
        if (boxes[0, i, j] < at) if below else (boxes[1, i, j] > at):
            out[used] = i
            used += 1
    return out


@inner
def _plane(boxes: Any, others: Any, a: Any, b: Any) -> Any:
    """The axis and place that leave the least to compare, and how much that is."""
    best, axis, place = float(len(a)) * len(b), -1, np.int64(0)
    for j in range(boxes.shape[2]):
        for sample in range(_SAMPLES):
            at = boxes[0, a[(2 * sample + 1) * len(a) // (2 * _SAMPLES)], j]
            left, right = _sides(boxes, a, j, at)
            other_left, other_right = _sides(others, b, j, at)
            cost = float(left) * other_left + float(right) * other_right
            if cost < best:
                best, axis, place = cost, j, at
    return axis, place, best


@inner
def divided(boxes: Any, others: Any, a: Any, b: Any, todo: Any) -> bool:
    """Divide what is to be compared by a plane and add both sides to ``todo``; False if they are better compared here.

    A plane that leaves nearly all pairs to compare is not worth copying the boxes that it cuts.
    """
    if float(len(a)) * len(b) <= _FEW:
        return False
    axis, at, cost = _plane(boxes, others, a, b)
    if axis < 0 or cost > 0.95 * len(a) * len(b):
        return False
    left, right = _sides(boxes, a, axis, at)
    other_left, other_right = _sides(others, b, axis, at)
    todo.append((_side(boxes, a, axis, at, True, left), _side(others, b, axis, at, True, other_left)))
    todo.append((_side(boxes, a, axis, at, False, right), _side(others, b, axis, at, False, other_right)))
    return True


@kernel
def _meet(boxes: Any, others: Any, same: bool) -> Any:
    hit, second = np.full(others.shape[1], -1, np.int64), np.full(others.shape[1], -1, np.int64)
    shared = np.zeros(boxes.shape[1], np.uint8)
    todo = [(np.arange(boxes.shape[1]), np.arange(others.shape[1]))]
    while len(todo) > 0:
        a, b = todo.pop()
        if len(a) == 0 or len(b) == 0:
            continue
        if not divided(boxes, others, a, b, todo):
            _compare(boxes, others, a, b, same, hit, second, shared)
    return hit, second, shared


class Met(NamedTuple):
    """For each of the others two boxes that it meets, -1 if there is none; and which boxes are such a pair."""

    hit: NDArray[np.int64]
    second: NDArray[np.int64]
    shared: NDArray[np.uint8]


def meet(
    lo: NDArray[np.int64], hi: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], *, same: bool = False
) -> Met:
    """Which of the boxes ``[lo, hi)`` the boxes ``[low, high)`` meet.

    Boxes are rows, axes columns; ``same``: both are the same boxes, and none meets itself.

    >>> lo, hi = np.array([[0], [3]]), np.array([[3], [5]])
    >>> hit, second, shared = meet(lo, hi, np.array([[2], [4], [9]]), np.array([[4], [5], [10]]))
    >>> sorted([int(hit[0]), int(second[0])]), hit[1:].tolist(), second[1:].tolist()
    ([0, 1], [1, -1], [-1, -1])
    """
    return Met(*_meet(np.stack([lo, hi]), np.stack([low, high]), same))
