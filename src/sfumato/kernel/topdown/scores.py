"""What refining a candidate gains and costs: integers throughout, one division for the score."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.state import State, kill
from sfumato.kernel.topdown.xlogx import GAIN_BITS, xlogx

NOTHING = np.int64(1) << 62
"""The size of the smallest group if there is none."""


@lean
def rows_between(classes: Any, b: int, a: int) -> int:
    """How many rows a difference of two rows of counts stands for; the last column counts all classes."""
    return classes[a, classes.shape[1] - 1] - classes[b, classes.shape[1] - 1]


@lean
def impurity(state: State, b: int, a: int) -> int:
    """What makes a set of rows impure: |R| · entropy in fixed point (Eq. 4.3), or |R|²."""
    classes, known, bits = state.classes, state.known, state.run[r.BITS]
    total = rows_between(classes, b, a)
    if state.run[r.MEASURE] != r.INFORMATION:
        return total * total
    out = xlogx(total, known, bits)
    for c in range(classes.shape[1] - 1):
        out -= xlogx(classes[a, c] - classes[b, c], known, bits)
    return out


@lean
def gain(state: State, total: int, before: int, after: int) -> int:
    """What a refinement of ``total`` rows gains, by the measure; information (Eq. 4.2) in units of 2^-30."""
    if state.run[r.MEASURE] == r.DISTORTION:
        return total
    if state.run[r.MEASURE] == r.DISCERNIBILITY:
        return before - after
    unit = total << (state.run[r.BITS] - GAIN_BITS)
    # the quotient rounded to the nearest whole number
    return max(np.int64(0), (2 * (before - after) + unit) // (2 * unit))


@lean
def beneficial(state: State, b: int, a: int) -> bool:
    """Whether more than one class is involved; if the measure ignores the class, whether any row is."""
    classes = state.classes
    if state.run[r.MEASURE] != r.INFORMATION:
        return rows_between(classes, b, a) > 0
    number = 0
    for c in range(classes.shape[1] - 1):
        if classes[a, c] > classes[b, c]:
            number += 1
    return number > 1


@lean
def best_cut(state: State, at: int, lo: int, hi: int) -> int:
    """The code that splits an interval into the two purest parts; the first of equals, -1 if it has only one value."""
    classes = state.classes
    best, least = -1, NOTHING
    for cut in range(lo + 1, hi):
        if rows_between(classes, at + cut - 1, at + cut) == 0 or rows_between(classes, at + cut, at + hi) == 0:
            continue
        after = impurity(state, at + lo, at + cut) + impurity(state, at + cut, at + hi)
        if after < least:
            best, least = cut, after
    return best


@lean
def enlist(state: State, label: int) -> None:
    """Put a label among the candidates."""
    state.labels[label, r.STATUS] = r.LIVE
    state.labels[label, r.DIRTY] = 1
    state.labels[state.run[r.CANDIDATES], r.LISTED] = label
    state.run[r.CANDIDATES] += 1


@lean
def offer(state: State, label: int) -> None:
    """Make a label of a tree or a line a candidate if it can be refined with benefit."""
    labels = state.labels
    attribute, lo, hi = labels[label, r.ATTRIBUTE], labels[label, r.LO], labels[label, r.HI]
    at = state.attributes[attribute, r.CLASSES]
    labels[label, r.STATUS] = r.DEAD
    if not beneficial(state, at + lo, at + hi):
        return
    after = np.int64(0)
    if state.attributes[attribute, r.KIND] == r.LINE:
        cut = best_cut(state, at, lo, hi)
        labels[label, r.CUT] = cut
        if cut < 0:
            return
        after = impurity(state, at + lo, at + cut) + impurity(state, at + cut, at + hi)
    else:
        if labels[label, r.PARTS] == 0:
            return
        for i in range(labels[label, r.PARTS]):
            part = labels[label, r.FIRST] + i
            after += impurity(state, at + labels[part, r.LO], at + labels[part, r.HI])
    total = rows_between(state.classes, at + lo, at + hi)
    labels[label, r.GAIN] = gain(state, total, impurity(state, at + lo, at + hi), after)
    enlist(state, label)


@lean
def show_hidden(state: State, attribute: int) -> None:
    """Make the values of a set that occur live, and its hidden rest too."""
    labels, base, rest = state.labels, state.attributes[attribute, r.BASE], state.attributes[attribute, r.SPARE]
    at = state.attributes[attribute, r.CLASSES]
    for code in range(state.attributes[attribute, r.SIZE]):
        if rows_between(state.classes, at + code, at + code + 1) > 0:
            labels[base + code, r.STATUS] = r.LIVE
            labels[rest, r.PARTS] += 1
            labels[rest, r.STATUS] = r.LIVE


@lean
def offer_alike(state: State, attribute: int) -> None:
    """As ``offer_set`` for a set whose values are kept by class counts: one gain for all values with the same."""
    labels, classes, alike = state.labels, state.classes, state.alike
    base, at = state.attributes[attribute, r.BASE], state.attributes[attribute, r.CLASSES]
    hidden, first = state.attributes[attribute, r.HIDDEN], state.attributes[attribute, r.ALIKE]
    others = hidden + 1  # a work row
    if state.run[r.BEGUN] == 0:
        show_hidden(state, attribute)
    good = beneficial(state, at, hidden)
    before, rows = impurity(state, at, hidden), rows_between(classes, at, hidden)
    for kind in range(first, first + state.attributes[attribute, r.KINDS]):
        number = alike[kind, r.NUMBER_OF]
        if not good:
            for i in range(alike[kind, r.MEMBERS], alike[kind, r.MEMBERS] + number):
                kill(labels, state.attributes, state.members[i])
            alike[kind, r.NUMBER_OF] = 0
        elif number > 0:
            code = at + state.members[alike[kind, r.MEMBERS]] - base
            for c in range(classes.shape[1]):
                classes[others, c] = classes[hidden, c] - classes[code + 1, c] + classes[code, c]
            after = impurity(state, code, code + 1) + impurity(state, at, others)
            total = rows_between(classes, code, code + 1) if state.run[r.MEASURE] == r.DISTORTION else rows
            alike[kind, r.GAIN_OF] = gain(state, total, before, after)


@lean
def offer_set(state: State, attribute: int) -> None:
    """Make the hidden values of a set candidates, or update what disclosing each of them gains (Eq. 4.5)."""
    if state.attributes[attribute, r.KINDS] > 0:
        offer_alike(state, attribute)
        return
    labels, classes = state.labels, state.classes
    base, at = state.attributes[attribute, r.BASE], state.attributes[attribute, r.CLASSES]
    rest, hidden = state.attributes[attribute, r.SPARE], state.attributes[attribute, r.HIDDEN]
    others = hidden + 1  # a work row
    good = beneficial(state, at, hidden)
    before, rows = impurity(state, at, hidden), rows_between(classes, at, hidden)
    for code in range(state.attributes[attribute, r.SIZE]):
        value = base + code
        here = rows_between(classes, at + code, at + code + 1)
        if labels[value, r.STATUS] == r.ABSENT and here > 0:
            enlist(state, value)
            labels[rest, r.PARTS] += 1
            labels[rest, r.STATUS] = r.LIVE
        if labels[value, r.STATUS] != r.LIVE:
            continue
        if not good:
            kill(labels, state.attributes, value)
            continue
        for c in range(classes.shape[1]):
            classes[others, c] = classes[hidden, c] - classes[at + code + 1, c] + classes[at + code, c]
        after = impurity(state, at + code, at + code + 1) + impurity(state, at, others)
        total = here if state.run[r.MEASURE] == r.DISTORTION else rows
        labels[value, r.GAIN] = gain(state, total, before, after)
        labels[value, r.DIRTY] = 1


@lean
def loss(state: State, label: int) -> int:
    """The privacy that refining a candidate costs (Eqs. 4.4 and 5.1), summed over the templates it is in."""
    templates, kept = state.templates, state.kept
    attribute = state.labels[label, r.ATTRIBUTE]
    out = np.int64(0)
    for j in range(len(templates)):
        if state.places[j, attribute, r.PLACE] < 0:
            continue
        now, of = templates[j, r.NOW], templates[j, r.NOW_OF]
        then, then_of = kept[j, label, r.WORST], kept[j, label, r.WORST_OF]
        if templates[j, r.MODE] != r.BY_SHARE:
            out += (now - min(now, then)) << GAIN_BITS
        # then / then_of > now / of, without a division
        elif then * of > now * then_of:
            out += (then << GAIN_BITS) // then_of - (now << GAIN_BITS) // of
    return out


@lean
def involved(state: State, label: int) -> int:
    """How many templates a candidate is in."""
    number = np.int64(0)
    for j in range(len(state.templates)):
        if state.places[j, state.labels[label, r.ATTRIBUTE], r.PLACE] >= 0:
            number += 1
    return number


@lean
def rescore(state: State, label: int) -> None:
    """The score (Eq. 4.1): the gain, or the gain divided by the average loss plus one; one division of integers."""
    amount = state.labels[label, r.GAIN]
    one = np.float64(1 << GAIN_BITS)
    unit = 1.0 if state.run[r.MEASURE] == r.INFORMATION else one
    if state.run[r.PER_LOSS]:
        number = involved(state, label)
        state.score[label] = np.float64(amount * number) / np.float64(loss(state, label) + (number << GAIN_BITS)) * unit
    else:
        state.score[label] = np.float64(amount) / one * unit
    state.labels[label, r.DIRTY] = 0
