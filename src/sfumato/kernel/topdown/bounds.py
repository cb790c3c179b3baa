"""The worst that refining each candidate would leave, and what of it still holds without counting again."""

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.state import State, kill
from sfumato.kernel.topdown.tallies import tally

_NEVER = np.int64(1) << 62
"""More rows than there are."""


@lean
def keep_least(state: State, j: int, label: int, amount: int) -> None:
    """Refining the candidate would leave a group of this size."""
    if amount < state.kept[j, label, r.WORST]:
        state.kept[j, label, r.WORST] = amount
        state.labels[label, r.DIRTY] = 1
        if amount < state.templates[j, r.LIMIT]:
            kill(state.labels, state.attributes, label)


@lean
def keep_share(state: State, j: int, label: int, value: int, count: int, of: int) -> None:
    """Refining the candidate would leave a group in which a sensitive value has this share."""
    at = state.templates[j, r.LIMITS] + value
    # shares are compared crosswise, in whole numbers: count / of > p / q
    if count * state.limits[at, 1] > state.limits[at, 0] * of:
        kill(state.labels, state.attributes, label)
    if count * state.kept[j, label, r.WORST_OF] > state.kept[j, label, r.WORST] * of:
        state.kept[j, label, r.WORST] = count
        state.kept[j, label, r.WORST_OF] = of
        state.labels[label, r.DIRTY] = 1


@lean
def _note_sensitive(state: State, j: int, link: int) -> None:
    """Record what of the sensitive values a leaf that was just counted holds."""
    held, enough = np.int64(0), np.int64(1)
    for value in range(state.templates[j, r.VALUES]):
        count, at = state.cells[len(state.cells) - 1, r.BY_VALUE + value], state.templates[j, r.LIMITS] + value
        held = max(held, count)
        if count > 0 and state.limits[at, 0] == 0:
            enough = _NEVER
        elif count > 0:  # the fewest rows of which ``count`` are at most p / q: count q / p, rounded up
            enough = max(enough, (count * state.limits[at, 1] + state.limits[at, 0] - 1) // state.limits[at, 0])
    state.tops[r.HELD, link], state.tops[r.ENOUGH, link] = held, enough


@lean
def note_top(state: State, j: int, place: int, leaf: int, total: int) -> None:
    """Record what of a leaf that was just counted tells later whether it has to be counted again."""
    templates, tops, first = state.templates, state.tops, state.templates[j, r.LEAF]
    link = templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place
    codes = templates[j, r.ROWS] + place * templates[j, r.NUMBER]
    most, holder = np.int64(0), np.int64(-1)
    for i in range(state.leaves[first + leaf, r.BEGIN], state.leaves[first + leaf, r.END]):
        code = np.int64(state.rows[codes + state.order[first + i]])
        if state.cells[code, r.COUNT] > most:
            most, holder = state.cells[code, r.COUNT], code
    tops[r.TOTAL, link], tops[r.MOST, link], tops[r.HOLDER, link] = total, most, holder
    if templates[j, r.MODE] == r.BY_SHARE:
        _note_sensitive(state, j, link)
    elif templates[j, r.MODE] == r.BY_DISTINCT:
        tops[r.LONELY, link] = tally(state, j, place, leaf)
        tops[r.HOLDER_ALONE, link] = state.cells[holder, r.ALONE]


@lean
def _keeps_shares(state: State, j: int, link: int) -> bool:
    """Whether no value of a leaf that lost only disclosed values can leave a rest that matters.

    Apart from a value there are at least ``left`` rows, and at most HELD of them have the same sensitive value. If that
    share keeps the limits and is at most what the template attains now, it costs nothing, now or later.
    """
    left = state.tops[r.TOTAL, link] - state.tops[r.MOST, link]
    held, now, of = state.tops[r.HELD, link], state.templates[j, r.NOW], state.templates[j, r.NOW_OF]
    return left >= state.tops[r.ENOUGH, link] and held * of <= now * left


@lean
def still_counted(state: State, j: int, label: int, link: int) -> bool:
    """Whether a leaf that lost only disclosed values needs no count; judges the one value that can have become worse.

    The other values have as many rows as before. Only the rest without a value can be smaller than all that was
    recorded for it, and only if the value has more than half of the rows. Likewise for distinct values: if those of
    the rest (T less the a that only the value has) are fewer than the n of the value, all others lack those a and have
    at most T - a < n; so it is the one that has most.
    """
    total, most, holder = state.tops[r.TOTAL, link], state.tops[r.MOST, link], state.tops[r.HOLDER, link]
    if most < 0:
        return False
    if state.templates[j, r.MODE] == r.BY_SHARE:
        return _keeps_shares(state, j, link)
    rest = least = total - most
    if state.templates[j, r.MODE] == r.BY_DISTINCT:
        rest, least = total - state.tops[r.HOLDER_ALONE, link], total - min(state.tops[r.LONELY, link], most)
    if least >= most:
        return True
    attribute = state.labels[label, r.ATTRIBUTE]
    if state.codes[r.SHOWN, state.attributes[attribute, r.OFFSET] + holder] != label:
        return False
    value = state.attributes[attribute, r.BASE] + holder
    if state.labels[value, r.STATUS] == r.LIVE:
        keep_least(state, j, value, rest if rest > 0 else most)
    return True
