"""Which boxes cover each point, summed up: how many, one of them, what all of them hold together, the best of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.pg.box_overlap import _plane, _side, _sides

_FEW = 4096


@inner
def _add(
    boxes: Any,
    points: Any,
    a: Any,
    b: Any,
    owner: Any,
    size: Any,
    held: Any,
    score: Any,
    value: Any,
    sums: Any,
    top: Any,
) -> None:
    """Add to each of the points ``b`` what the boxes ``a`` that cover it hold, and note the greatest score.

    ``sums``: number, owner, size, held.
    """
    for k in b:
        for i in a:
            outside = False
            for j in range(boxes.shape[2]):
                if points[0, k, j] < boxes[0, i, j] or points[0, k, j] >= boxes[1, i, j]:
                    outside = True
                    break
            if not outside:
                g = owner[i]
                sums[0, k] += 1
                sums[1, k] = g
                sums[2, k] += size[g]
                if held.shape[0] > 0:
                    sums[3, k] += held[g, value[k]]
                if score.shape[0] > 0:
                    top[k] = max(top[k], score[g, value[k]])


@kernel
def _cover(boxes: Any, points: Any, owner: Any, size: Any, held: Any, score: Any, value: Any) -> Any:
    sums, top = np.zeros((4, points.shape[1]), np.int64), np.zeros(points.shape[1])
    sums[1] = -1
    todo = [(np.arange(boxes.shape[1]), np.arange(points.shape[1]))]
    while len(todo) > 0:
        a, b = todo.pop()
        if len(a) == 0 or len(b) == 0:
            continue
        axis, at, cost = -1, np.int64(0), 0.0
        if float(len(a)) * len(b) > _FEW:
            axis, at, cost = _plane(boxes, points, a, b)
        # a plane that leaves nearly all pairs to compare is not worth copying the boxes that it cuts
        if axis < 0 or cost > 0.95 * len(a) * len(b):
            _add(boxes, points, a, b, owner, size, held, score, value, sums, top)
            continue
        left, right = _sides(boxes, a, axis, at)
        point_left, point_right = _sides(points, b, axis, at)
        todo.append((_side(boxes, a, axis, at, True, left), _side(points, b, axis, at, True, point_left)))
        todo.append((_side(boxes, a, axis, at, False, right), _side(points, b, axis, at, False, point_right)))
    return sums, top


class Covered(NamedTuple):
    """For each point: how many boxes cover it, the owner of one of them (-1: none), the sizes of all their owners
    together, how often these hold the point's value, and the greatest score of one of them for it."""

    number: NDArray[np.int64]
    owner: NDArray[np.int64]
    size: NDArray[np.int64]
    held: NDArray[np.int64]
    top: NDArray[np.float64]


def cover(
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    owner: NDArray[np.int64],
    points: NDArray[np.int64],
    size: NDArray[np.int64],
    *,
    value: NDArray[np.int64] | None = None,
    held: NDArray[np.int64] | None = None,
    score: NDArray[np.float64] | None = None,
) -> Covered:
    """Sum up the boxes ``[lo, hi)`` that cover each point; boxes of the same owner must not overlap.

    ``held[owner, v]`` is how often an owner holds v, ``score[owner, v]`` is any figure of 0 or more, ``value`` the v of
    each point; without them these are 0.

    >>> lo, hi, owner = np.array([[0], [2]]), np.array([[3], [5]]), np.array([0, 1])
    >>> points, held = np.array([[2], [4], [9]]), np.array([[1, 2], [4, 0]])
    >>> found = cover(lo, hi, owner, points, np.array([3, 4]), value=np.array([0, 1, 0]), held=held, score=held / 4)
    >>> found.number.tolist(), found.size.tolist(), found.held.tolist(), found.top.tolist()
    ([2, 1, 0], [7, 4, 0], [5, 0, 0], [1.0, 0.0, 0.0])
    """
    counts = np.zeros((0, 1), np.int64) if held is None else held
    scores = np.zeros((0, 1)) if score is None else score
    values = np.zeros(len(points), np.int64) if value is None else value
    sums, top = _cover(np.stack([lo, hi]), np.stack([points, points + 1]), owner, size, counts, scores, values)
    return Covered(sums[0], sums[1], sums[2], sums[3], top)
