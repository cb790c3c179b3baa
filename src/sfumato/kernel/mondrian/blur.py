"""Recursive partitioning in which a cut may be refused at random, the likelier the closer it is to failing.

A group bears the prices of the refusals that concern it (see `refusal`), and the sides of a cut must be the better the
more they bear. A group decides by its own counts, by the codes on the axes, and by what was accepted and refused above
it. The counts of the two sides of a cut that is not made matter only for whether it is refused.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import Space
from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.mondrian.cut import balanced_cut, clear_counts, load_counts
from sfumato.kernel.mondrian.partition import (
    FIRST,
    LAST,
    LEFT,
    PIECES,
    SMALL,
    THREADS,
    WIDTH,
    GroupOrder,
    divide,
    flag_range,
    make_room,
    measure,
    pack_rows,
    take_greatest,
    twice,
)
from sfumato.kernel.mondrian.refusal import (
    AXIS,
    DEAREST,
    FROM,
    LEAST,
    NEXT,
    PER_AXIS,
    PRICE,
    RISKS,
    TO,
    Rules,
    borne,
    budget,
    count_left,
    is_refused,
    price_of,
)

_CUT_A, _CUT_B, _LIGHTER = range(3)
"""By axis: the codes ``[a, b)`` that its cut splits off, and the weight of the lighter side if the cut waits."""

_FLAT, _LAST, _AXES, _BORNE, _BUDGET = range(5)
"""Of a group: axes with one code, the last refusal on the way to it, units for the axes on which it differs, all units
that it bears, and what it can bear."""


@lean
def _begin(
    space: Any, rules: Any, rows: Any, weights: Any, counted: Any, sizes: Any, start: int, end: int, state: Any,
    measures: Any, ledger: Any, s: Any, cuts: Any,
) -> None:  # fmt: skip
    """Count the group, measure its axes, and find out what it bears and what it can spend."""
    load_counts(weights, counted, start, end, s)
    for j in range(measures.shape[1]):
        measures[FIRST, j], measures[LAST, j] = 0, -1  # stays so on an axis with one code
    state[_FLAT] = np.int64(measure(space, rows, start, end, np.uint64(state[_FLAT]), measures, s.bits))
    state[_AXES] = 0
    for j in range(measures.shape[1]):
        measures[LEFT, j] = measures[WIDTH, j] * rules.prefer[j]
        cuts[_LIGHTER, j] = 0
        if measures[FIRST, j] < measures[LAST, j]:
            state[_AXES] += rules.numbers[PER_AXIS]
    state[_BORNE] = state[_AXES] + borne(ledger, state[_LAST], measures, -1, 0, 0)
    state[_BUDGET] = budget(rules.levels, sizes, s)


@lean
def _by_side(j: int, state: Any, measures: Any, ledger: Any, cuts: Any, units: Any) -> None:
    """What each side of the cut of axis ``j`` would bear."""
    lo, hi, a, b = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j]), cuts[_CUT_A, j], cuts[_CUT_B, j]
    units[0] = state[_AXES] + borne(ledger, state[_LAST], measures, j, a, b - 1)
    units[1] = state[_AXES] + borne(ledger, state[_LAST], measures, j, b if a <= lo else lo, a - 1 if b > hi else hi)


@lean
def _offer(
    space: Any, rules: Any, rows: Any, weights: Any, sizes: Any, start: int, end: int, j: int, state: Any,
    measures: Any, ledger: Any, s: Any, cuts: Any, units: Any,
) -> int:  # fmt: skip
    """Find the cut of axis ``j`` and its price; -1 if there is none, or if it is too dear for now and waits."""
    lo, hi = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j])
    total = s.sums[1, -1]
    left, a, b = balanced_cut(space, rows, weights, rules.numbers[LEAST], total, start, end, j, lo, hi, s)
    if left < 0:
        return np.int64(-1)
    cuts[_CUT_A, j], cuts[_CUT_B, j] = a, b
    _by_side(j, state, measures, ledger, cuts, units)
    price = price_of(rules, sizes, (left, total - left), units, s)
    if 2 * price > state[_BUDGET] - state[_BORNE] or price > rules.numbers[DEAREST]:
        cuts[_LIGHTER, j] = min(left, total - left)
        return np.int64(-1)
    return price


@lean
def _refuse(j: int, price: int, state: Any, ledger: Any, entered: Any, cuts: Any) -> None:
    """Enter a refusal into the ledger and let the group bear its price."""
    at = entered[0]
    ledger[at, AXIS], ledger[at, FROM], ledger[at, TO] = j, cuts[_CUT_A, j], cuts[_CUT_B, j]
    ledger[at, PRICE], ledger[at, NEXT] = price, state[_LAST]
    entered[0] += 1
    state[_LAST] = at
    state[_BORNE] += price


@lean
def _blurred_cut(
    space: Any, rules: Any, rows: Any, weights: Any, counted: Any, sizes: Any, start: int, end: int, state: Any,
    ledger: Any, entered: Any, words: Any, used: Any, measures: Any, flags: Any, s: Any, cuts: Any, units: Any,
) -> bool:  # fmt: skip
    """Flag the rows to split off, if a cut is accepted; the ledger must have room to refuse each axis twice.

    Axes are tried by preference. A cut that costs more than half of what is left is not tried. If the rules ask
    for it, it waits until the others have been refused; then all that is left goes into those that wait, the most
    balanced of the preferred first.
    """
    _begin(space, rules, rows, weights, counted, sizes, start, end, state, measures, ledger, s, cuts)
    found = last = False
    while not found and state[_BORNE] <= state[_BUDGET]:
        j = take_greatest(measures)
        if j < 0 and (last or not rules.numbers[RISKS]):
            break
        if j < 0:  # every axis was tried: now the cuts that were too dear, by balance, width and preference
            last = True
            for i in range(measures.shape[1]):
                measures[LEFT, i] = cuts[_LIGHTER, i] * measures[WIDTH, i] * rules.prefer[i]
            continue
        if last:
            price = min(state[_BUDGET] - state[_BORNE], rules.numbers[DEAREST])
            _by_side(j, state, measures, ledger, cuts, units)
        else:
            price = _offer(space, rules, rows, weights, sizes, start, end, j, state, measures, ledger, s, cuts, units)
        if price < 0 or (last and price == 0):
            continue
        count_left(rows, weights, counted, start, end, j, cuts[_CUT_A, j], cuts[_CUT_B, j], s)
        if is_refused(rules, sizes, units, price, words, used, s):
            _refuse(j, price, state, ledger, entered, cuts)
        else:
            found = True
            flag_range(rows, start, end, j, cuts[_CUT_A, j], cuts[_CUT_B, j], flags)
    clear_counts(counted, start, end, s)
    return found


@kernel
def _split(
    space: Any, rules: Any, rows: Any, packed: Any, ids: Any, weights: Any, counted: Any, sizes: Any,
    begin: int, finish: int, ledger: Any, stop: int, words: Any, used: Any, ends: Any, room: Any, cuts: Any,
) -> Any:  # fmt: skip
    """Split ``[begin, finish)``; ranges of fewer than ``stop`` rows, and all when words run out, are handed back.

    ``ledger`` begins with the refusals above, the last one last. Returns what is handed back and the ledger; ``ends``
    has a 1 where a group starts, and next to it what the group bears.
    """
    measures, _, flags, buffer, scratch = room
    stack = np.zeros((64, 4), np.int64)
    pending = np.zeros((64, 4), np.int64)
    state, units, entered = np.zeros(5, np.int64), np.zeros(2, np.int64), np.zeros(1, np.int64)
    while entered[0] < len(ledger) and ledger[entered[0], PRICE] > 0:  # skip the refusals above
        entered[0] += 1
    depth, given_back = 1, 0
    stack[0, 0], stack[0, 1], stack[0, 3] = begin, finish, entered[0] - 1
    while depth > 0:
        depth -= 1
        start, end, state[_FLAT], state[_LAST] = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if end - start < stop or used[0] + len(space.axes) > words.shape[1]:
            if given_back == len(pending):
                pending = twice(pending)
            for x in range(4):
                pending[given_back, x] = stack[depth, x]
            given_back += 1
            continue
        while entered[0] + 2 * len(space.axes) > len(ledger):
            ledger = twice(ledger)
        found = _blurred_cut(
            space, rules, rows, weights, counted, sizes, start, end, state, ledger, entered, words, used, measures,
            flags, scratch, cuts, units,
        )  # fmt: skip
        if not found:
            ends[start, 0], ends[start, 1] = 1, state[_BORNE]
            continue
        if depth + 2 > len(stack):
            stack = twice(stack)
        middle = divide(packed, ids, weights, counted, flags, start, end, buffer)
        for x in range(2):
            stack[depth + x, 2], stack[depth + x, 3] = state[_FLAT], state[_LAST]
        stack[depth, 0], stack[depth, 1] = start, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, end
        depth += 2
    return pending[:given_back], ledger


class Arrays(NamedTuple):
    """The rows to partition: their codes by axis, weights, and the counted columns with their numbers of codes."""

    space: Space
    codes: Sequence[NDArray[Any]]
    weights: NDArray[np.int64]
    counted: Sequence[NDArray[Any]]
    sizes: Sequence[int]


class Blurred(NamedTuple):
    """The groups, and how many units each bears."""

    parts: GroupOrder
    borne: NDArray[np.int64]


class _Piece(NamedTuple):
    """A range of rows that is not finished, and the refusals on the way to it."""

    begin: int
    finish: int
    refused: NDArray[np.int64]


class _Table:
    """The rows while they are partitioned."""

    def __init__(self, arrays: Arrays, rules: Rules) -> None:
        self.space, self.rules = arrays.space, rules
        self.rows, self.packed = pack_rows(list(arrays.codes))
        self.ids = np.arange(len(self.rows), dtype=np.int64)
        self.weights = arrays.weights.astype(np.int64, copy=True)
        self.counted = np.stack(arrays.counted, axis=1).astype(np.int32)
        self.sizes = np.array(arrays.sizes, np.int64)
        self.ends = np.zeros((len(self.rows), 2), np.int64)

    def whole(self) -> _Piece:
        """All rows, and nothing refused yet."""
        return _Piece(0, len(self.rows), np.zeros((0, 5), np.int64))

    def split(self, piece: _Piece, stop: int, words: NDArray[np.uint64]) -> tuple[list[_Piece], int]:
        """What is handed back, and how many random words were used."""
        used = np.zeros(1, np.int64)
        room = make_room(self.space, piece.finish - piece.begin, self.packed, self.counted, self.sizes)
        ledger = np.zeros((len(piece.refused) + 64, 5), np.int64)
        ledger[: len(piece.refused)] = piece.refused
        pending, ledger = _split(
            self.space, self.rules, self.rows, self.packed, self.ids, self.weights, self.counted, self.sizes,
            piece.begin, piece.finish, ledger, stop, words, used, self.ends, tuple(room),
            np.zeros((3, len(self.space.axes)), np.int64),
        )  # fmt: skip
        handed_back = [_Piece(begin, finish, _chain(ledger, last)) for begin, finish, _, last in pending.tolist()]
        return handed_back, int(used[0])

    def blurred(self) -> Blurred:
        """The groups that were made."""
        starts = np.flatnonzero(self.ends[:, 0])
        return Blurred(GroupOrder(self.ids, starts, self.rows), self.ends[starts, 1])


def _chain(ledger: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """The refusals up to ``last``, in their order, as a ledger of their own."""
    places = []
    while last >= 0:
        places.append(last)
        last = int(ledger[last, NEXT])
    chain = ledger[places[::-1]]
    chain[:, NEXT] = np.arange(-1, len(chain) - 1)
    return chain


def blurred_partition(
    arrays: Arrays,
    rules: Rules,
    draw: Callable[[int], NDArray[np.uint64]],
    progress: Callable[[float], None] = lambda done: None,
) -> Blurred:
    """Partition rows by the most balanced cut of the most preferred axis that is not refused.

    ``draw`` gives random words; which group gets which does not depend on threads.
    """
    table = _Table(arrays, rules)
    n, axes = len(table.rows), len(arrays.codes)

    def words_for(rows: int) -> NDArray[np.uint64]:
        words = np.zeros((2, rows // 4 + 64 + axes), np.uint64)
        words[0] = draw(words.shape[1])
        return words

    pieces, stops = [table.whole()], chain((n, max(n // PIECES, SMALL)) if n > SMALL else (), repeat(0))
    with ThreadPoolExecutor(THREADS) as pool:
        while pieces:  # one cut first, so that both threads have something to do
            stop = next(stops)
            pieces.sort(key=lambda piece: piece.begin - piece.finish)
            work = [(piece, words_for((piece.finish - piece.begin) // (4 if stop else 1))) for piece in pieces]
            handed_back = pool.map(lambda w, least=stop: table.split(w[0], least, w[1])[0], work)
            pieces = [piece for pending in handed_back for piece in pending]
            progress(1 - sum(piece.finish - piece.begin for piece in pieces) / n)
    return table.blurred()


def replayed(arrays: Arrays, rules: Rules, words: NDArray[np.uint64]) -> tuple[Blurred, NDArray[np.uint64]]:
    """The partition of a small table for given words, and the limits with which those used were compared."""
    table = _Table(arrays, rules)
    both = np.zeros((2, len(words) + len(arrays.codes)), np.uint64)
    both[0, : len(words)] = words
    pending, used = table.split(table.whole(), 0, both)
    if pending:
        raise ValueError(f"{len(words)} words are too few for this table")
    return table.blurred(), both[1, :used]
