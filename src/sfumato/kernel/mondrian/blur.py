"""Recursive partitioning in which a cut may be refused at random, the likelier the closer it is to failing.

How close is counted in exchanges: the least number of times that two rows on different sides would have to exchange
their counted codes before a side fails. A refusal has a price, the group bears the prices of all refusals above it,
and the sides of a cut must be the better the more has been spent. Prices and spendings are whole units.

A group decides by its own counts, by the codes on the axes, and by what was accepted and refused above it. The counts
of the two sides of a cut that is not made matter only for whether it is refused.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import Space
from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.mondrian.cut import balanced_cut, clear_counts, load_counts
from sfumato.kernel.mondrian.partition import (
    FIRST,
    LAST,
    LEFT,
    PIECES,
    SMALL,
    THREADS,
    WIDTH,
    Parts,
    divide,
    flag_range,
    make_room,
    measure,
    pack_rows,
    take_greatest,
    twice,
)

ONE = 1 << 20
"""What ``Rules.levels`` are multiples of."""

_NEVER = np.int64(1) << 40
"""More exchanges than any table allows: the cut cannot fail."""

_CUT_A, _CUT_B, _LIGHTER = range(3)
"""By axis: the codes ``[a, b)`` that its cut splits off, and the weight of the lighter side if the cut waits."""

_FLAT, _SPENT, _BORNE, _BUDGET = range(4)
"""Of a group: axes with one code, units that refusals above it cost, all that it bears, and what it can bear."""


class Rules(NamedTuple):
    """What is spent, and what must hold then.

    ``levels[c, e]``: after ``e`` units a side must weigh at least this many times ONE as much as each code of counted
    column ``c``. ``refusals[i]``: a random word below it refuses a cut whose price times distance is ``i``.
    ``numbers``: the least weight of a side, the greatest price of a refusal, the price times distance at which a cut is
    refused rarely enough, and the units that each axis on which a group differs has cost it. ``prefer``: by axis.
    """

    levels: NDArray[np.int64]
    refusals: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    prefer: NDArray[np.float64]


_LEAST, _DEAREST, _ENOUGH, _PER_AXIS = range(4)


@inner
def _most(sizes: Any, c: int, s: Any) -> int:
    """The weight of the most frequent code of a counted column in the group."""
    most = np.int64(0)
    for v in range(sizes[c]):
        most = max(most, s.sides[1, c, v])
    return most


@inner
def _budget(levels: Any, sizes: Any, s: Any) -> int:
    """The most units that the group's own counts allow to spend; -1 if none."""
    low, total = levels.shape[1] - 1, s.sums[1, -1]
    for c in range(len(levels)):
        most, high = _most(sizes, c, s), low + 1
        low = -1
        while low + 1 < high:  # levels rise with what is spent
            middle = (low + high) // 2
            if most * levels[c, middle] <= total * ONE:
                low = middle
            else:
                high = middle
    return low


@inner
def _expected(levels: Any, sizes: Any, spent: int, lighter: int, s: Any) -> float:
    """The distance to failure of a cut whose sides are like the group, on its lighter side."""
    least = 1e18
    for c in range(len(levels)):
        share = _most(sizes, c, s) / s.sums[1, -1]
        least = min(least, lighter * (ONE / levels[c, spent] - share))
    return least


@inner
def _price(rules: Any, sizes: Any, spent: int, lighter: int, s: Any) -> int:
    """The least price at which a cut with sides like the group is refused rarely."""
    distance = _expected(rules.levels, sizes, spent, lighter, s)
    if distance * rules.levels.shape[1] <= rules.numbers[_ENOUGH]:
        return np.int64(rules.levels.shape[1])
    return max(np.int64(np.ceil(rules.numbers[_ENOUGH] / distance)), np.int64(1))


@inner
def _count_left(rows: Any, weights: Any, counted: Any, start: int, end: int, j: int, a: int, b: int, s: Any) -> None:
    """Count the rows with codes ``[a, b)`` on axis ``j`` on the left side."""
    s.sums[0, -1] = 0
    for i in range(start, end):
        code = np.int64(rows[i, j])
        if code >= a and code < b:
            s.sums[0, -1] += weights[i]
            for c in range(counted.shape[1]):
                s.sides[0, c, counted[i, c]] += weights[i]


@inner
def _distance(levels: Any, sizes: Any, spent: int, s: Any) -> int:
    """How many exchanges between the sides make one of them fail: at most 0 if one does, _NEVER if none can.

    A code that the whole group has no more often than a side may hold cannot make that side fail.
    """
    least = _NEVER
    for side in range(2):
        weight = s.sums[0, -1] if side == 0 else s.sums[1, -1] - s.sums[0, -1]
        for c in range(len(levels)):
            room = weight * ONE // levels[c, spent]
            for v in range(sizes[c]):
                if s.sides[1, c, v] > room:
                    inside = s.sides[0, c, v] if side == 0 else s.sides[1, c, v] - s.sides[0, c, v]
                    least = min(least, room + 1 - inside)
    return least


@inner
def _is_refused(rules: Any, sizes: Any, spent: int, price: int, words: Any, used: Any, s: Any) -> bool:
    """Whether the cut whose left side is counted is refused; ``words`` holds random words and what they were below."""
    distance = _distance(rules.levels, sizes, spent, s)
    for c in range(len(rules.levels)):
        for v in range(sizes[c]):
            s.sides[0, c, v] = 0
    if distance == _NEVER:
        return False
    if distance <= 0:
        return True
    limit = rules.refusals[min(price * distance, np.int64(len(rules.refusals) - 1))]
    word = words[0, used[0]]
    words[1, used[0]] = limit
    used[0] += 1
    return word < limit


@inner
def _begin(
    space: Any, rules: Any, rows: Any, weights: Any, counted: Any, sizes: Any, start: int, end: int, state: Any,
    measures: Any, s: Any, cuts: Any,
) -> None:  # fmt: skip
    """Count the group, measure its axes, and find out what it bears and what it can spend."""
    load_counts(weights, counted, start, end, s)
    state[_FLAT] = np.int64(measure(space, rows, start, end, np.uint64(state[_FLAT]), measures, s.bits))
    state[_BORNE] = state[_SPENT]
    for j in range(measures.shape[1]):
        measures[LEFT, j] = measures[WIDTH, j] * rules.prefer[j]
        cuts[_LIGHTER, j] = 0
        if measures[WIDTH, j] > 0:
            state[_BORNE] += rules.numbers[_PER_AXIS]
    state[_BUDGET] = _budget(rules.levels, sizes, s)


@inner
def _offer(
    space: Any, rules: Any, rows: Any, weights: Any, sizes: Any, start: int, end: int, j: int, state: Any,
    measures: Any, s: Any, cuts: Any,
) -> int:  # fmt: skip
    """Find the cut of axis ``j`` and its price; -1 if there is none, or if it is too dear for now and waits."""
    lo, hi = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j])
    least, total = rules.numbers[_LEAST], s.sums[1, -1]
    lighter, a, b = balanced_cut(space, rows, weights, least, total, start, end, j, lo, hi, s)
    if lighter < 0:
        return np.int64(-1)
    cuts[_CUT_A, j], cuts[_CUT_B, j] = a, b
    if not _can_fail(rules.levels, sizes, state[_BORNE], lighter, s):
        return np.int64(0)
    price = _price(rules, sizes, state[_BORNE], lighter, s)
    if 2 * price > state[_BUDGET] - state[_BORNE] or price > rules.numbers[_DEAREST]:
        cuts[_LIGHTER, j] = lighter
        return np.int64(-1)
    return price


@inner
def _can_fail(levels: Any, sizes: Any, spent: int, lighter: int, s: Any) -> bool:
    """Whether a side of this weight can fail, wherever the rows of the group stand."""
    able = 0
    for c in range(len(levels)):
        able += _most(sizes, c, s) > lighter * ONE // levels[c, spent]
    return able > 0


@inner
def _blurred_cut(
    space: Any, rules: Any, rows: Any, weights: Any, counted: Any, sizes: Any, start: int, end: int, state: Any,
    words: Any, used: Any, measures: Any, flags: Any, s: Any, cuts: Any,
) -> bool:  # fmt: skip
    """Flag the rows to split off, if a cut is accepted; what is refused is added to the units spent in ``state``.

    Axes are tried by preference. A cut that costs more than half of what is left waits until the others have been
    refused; then all that is left goes into those that wait, the most balanced of the preferred first.
    """
    _begin(space, rules, rows, weights, counted, sizes, start, end, state, measures, s, cuts)
    found = last = False
    while not found and state[_BORNE] <= state[_BUDGET]:
        j = take_greatest(measures)
        if j < 0 and last:
            break
        if j < 0:
            last = True
            for i in range(measures.shape[1]):
                measures[LEFT, i] = cuts[_LIGHTER, i] * measures[WIDTH, i] * rules.prefer[i]
            continue
        if last:
            price = min(state[_BUDGET] - state[_BORNE], rules.numbers[_DEAREST])
        else:
            price = _offer(space, rules, rows, weights, sizes, start, end, j, state, measures, s, cuts)
        if price < 0 or (last and price == 0):
            continue
        _count_left(rows, weights, counted, start, end, j, cuts[_CUT_A, j], cuts[_CUT_B, j], s)
        if _is_refused(rules, sizes, state[_BORNE], price, words, used, s):
            state[_SPENT] += price
            state[_BORNE] += price
        else:
            found = True
            flag_range(rows, start, end, j, cuts[_CUT_A, j], cuts[_CUT_B, j], flags)
    clear_counts(counted, start, end, s)
    return found


@kernel
def _split(
    space: Any, rules: Any, rows: Any, packed: Any, ids: Any, weights: Any, counted: Any, sizes: Any,
    begin: int, finish: int, spent: int, stop: int, words: Any, used: Any, is_start: Any, room: Any, cuts: Any,
) -> Any:  # fmt: skip
    """Split ``[begin, finish)``; ranges of fewer than ``stop`` rows, and all when words run out, are handed back."""
    measures, flags, buffer, scratch = room
    stack = np.zeros((64, 4), np.int64)
    pending = np.zeros((64, 4), np.int64)
    state = np.zeros(4, np.int64)
    depth, given_back = 1, 0
    stack[0, 0], stack[0, 1], stack[0, 3] = begin, finish, spent
    while depth > 0:
        depth -= 1
        start, end, state[_FLAT], state[_SPENT] = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if end - start < stop or used[0] + len(space.axes) > words.shape[1]:
            if given_back == len(pending):
                pending = twice(pending)
            for x in range(4):
                pending[given_back, x] = stack[depth, x]
            given_back += 1
            continue
        found = _blurred_cut(
            space, rules, rows, weights, counted, sizes, start, end, state, words, used, measures, flags, scratch, cuts
        )
        if not found:
            is_start[start] = 1
            continue
        if depth + 2 > len(stack):
            stack = twice(stack)
        middle = divide(packed, ids, weights, counted, flags, start, end, buffer)
        for x in range(2):
            stack[depth + x, 2], stack[depth + x, 3] = state[_FLAT], state[_SPENT]
        stack[depth, 0], stack[depth, 1] = start, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, end
        depth += 2
    return pending[:given_back]


class Arrays(NamedTuple):
    """The rows to partition: their codes by axis, weights, and the counted columns with their numbers of codes."""

    space: Space
    codes: Sequence[NDArray[Any]]
    weights: NDArray[np.int64]
    counted: Sequence[NDArray[Any]]
    sizes: Sequence[int]


class _Table:
    """The rows while they are partitioned."""

    def __init__(self, arrays: Arrays, rules: Rules) -> None:
        self.space, self.rules = arrays.space, rules
        self.rows, self.packed = pack_rows(list(arrays.codes))
        self.ids = np.arange(len(self.rows), dtype=np.int64)
        self.weights = arrays.weights.astype(np.int64, copy=True)
        self.counted = np.stack(arrays.counted, axis=1).astype(np.int32)
        self.sizes = np.array(arrays.sizes, np.int64)
        self.is_start = np.zeros(len(self.rows), np.uint8)

    def split(self, begin: int, finish: int, spent: int, stop: int, words: NDArray[np.uint64]) -> tuple[list[Any], int]:
        """What is handed back, and how many random words were used."""
        used = np.zeros(1, np.int64)
        room = make_room(self.space, finish - begin, self.packed, self.counted, self.sizes)
        pending = _split(
            self.space, self.rules, self.rows, self.packed, self.ids, self.weights, self.counted, self.sizes,
            begin, finish, spent, stop, words, used, self.is_start, tuple(room),
            np.zeros((3, len(self.space.axes)), np.int64),
        )  # fmt: skip
        return pending.tolist(), int(used[0])

    def parts(self) -> Parts:
        """The groups that were made."""
        return Parts(self.ids, np.flatnonzero(self.is_start), self.rows)


def blurred_partition(
    arrays: Arrays,
    rules: Rules,
    draw: Callable[[int], NDArray[np.uint64]],
    progress: Callable[[float], None] = lambda done: None,
) -> Parts:
    """Partition rows by the most balanced cut of the most preferred axis that is not refused.

    ``draw`` gives random words; which group gets which does not depend on threads.
    """
    table = _Table(arrays, rules)
    n, axes = len(table.rows), len(arrays.codes)

    def words_for(rows: int) -> NDArray[np.uint64]:
        words = np.zeros((2, rows // 4 + 64 + axes), np.uint64)
        words[0] = draw(words.shape[1])
        return words

    pieces, _ = table.split(0, n, 0, max(n // PIECES, SMALL), words_for(n // 16))
    with ThreadPoolExecutor(THREADS) as pool:
        while pieces:
            pieces.sort(key=lambda piece: piece[0] - piece[1])
            work = [(*piece, words_for(piece[1] - piece[0])) for piece in pieces]
            handed_back = pool.map(lambda w: table.split(w[0], w[1], w[3], 0, w[4])[0], work)
            pieces = [piece for pending in handed_back for piece in pending]
            progress(1 - sum(end - start for start, end, _, _ in pieces) / n)
    return table.parts()


def replayed(arrays: Arrays, rules: Rules, words: NDArray[np.uint64]) -> tuple[Parts, NDArray[np.uint64]]:
    """The partition of a small table for given words, and the limits with which those used were compared."""
    table = _Table(arrays, rules)
    both = np.zeros((2, len(words) + len(arrays.codes)), np.uint64)
    both[0, : len(words)] = words
    pending, used = table.split(0, len(table.rows), 0, 0, both)
    if pending:
        raise ValueError(f"{len(words)} words are too few for this table")
    return table.parts(), both[1, :used]
