"""Which boxes cover each point: how many, and which."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.pg.box_overlap import divided


@inner
def _note(boxes: Any, points: Any, a: Any, b: Any, number: Any, place: Any, found: Any) -> None:
    """Count the boxes ``a`` that cover each of the points ``b``; if there is room, list them from ``place`` on."""
    for k in b:
        for i in a:
            outside = False
            for j in range(boxes.shape[2]):
                if points[0, k, j] < boxes[0, i, j] or points[0, k, j] >= boxes[1, i, j]:
                    outside = True
                    break
            if not outside:
                if len(found) > 0:
                    found[place[k] + number[k]] = i
                number[k] += 1


@kernel
def _cover(boxes: Any, points: Any, place: Any, found: Any) -> Any:
    number = np.zeros(points.shape[1], np.int64)
    todo = [(np.arange(boxes.shape[1]), np.arange(points.shape[1]))]
    while len(todo) > 0:
        a, b = todo.pop()
        if len(a) == 0 or len(b) == 0:
            continue
        if not divided(boxes, points, a, b, todo):
            _note(boxes, points, a, b, number, place, found)
    return number


class Covered(NamedTuple):
    """How many boxes cover each point, and these boxes, those of one point after those of another."""

    number: NDArray[np.int64]
    boxes: NDArray[np.int64]


def how_many_cover(lo: NDArray[np.int64], hi: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the boxes ``[lo, hi)`` cover each point.

    >>> lo, hi = np.array([[0], [2]]), np.array([[3], [5]])
    >>> how_many_cover(lo, hi, np.array([[2], [4], [9]])).tolist()
    [2, 1, 0]
    """
    nothing = np.zeros(0, np.int64)
    return np.asarray(_cover(np.stack([lo, hi]), np.stack([points, points + 1]), nothing, nothing))


def cover(
    lo: NDArray[np.int64], hi: NDArray[np.int64], points: NDArray[np.int64], number: NDArray[np.int64]
) -> Covered:
    """Which of the boxes cover each point; ``number`` is what `how_many_cover` found.

    >>> lo, hi, points = np.array([[0], [2]]), np.array([[3], [5]]), np.array([[2], [4], [9]])
    >>> found = cover(lo, hi, points, how_many_cover(lo, hi, points))
    >>> sorted(found.boxes[:2].tolist()), found.boxes[2:].tolist()
    ([0, 1], [1])
    """
    found = np.full(int(number.sum()), -1, np.int64)
    if len(found):
        _cover(np.stack([lo, hi]), np.stack([points, points + 1]), np.cumsum(number) - number, found)
    return Covered(number, found)
