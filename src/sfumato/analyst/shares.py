"""How the rows of a label are spread over what it covers: as in the rest of the release, where other labels tell.

Labels of one attribute overlap: rows that show narrow labels suggest how those with wide ones are distributed within
them. The most likely distribution of the values, given all labels, is found by expectation maximization (Turnbull, JRSS
B 38, 1976: data grouped and censored to intervals); where no label tells, it stays even.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.release.labels import ColumnLabels
from sfumato.table.distortion import Floats
from sfumato.table.encode import Domain

Bools = NDArray[np.bool_]
SpreadRule = Literal["likely", "even"]

EVENLY = 0.05
"""The part of each label that is spread evenly whatever the others show, so that nothing possible has no share."""

MOST_CELLS = 20_000_000
"""The largest table of values and labels that is learned from."""

_STEPS = 500
_CLOSE = 1e-6


def even_shares(covers: Bools, measure: Floats) -> Floats:
    """Each label's rows in proportion to the measure of the values that it covers: values x labels.

    >>> even_shares(np.array([[True, True], [True, False]]), np.array([1.0, 3.0])).tolist()
    [[0.25, 1.0], [0.75, 0.0]]
    """
    weights = covers * np.asarray(measure, np.float64)[:, None]
    total = weights.sum(axis=0)
    empty = total <= 0
    weights[:, empty] = covers[:, empty]
    return np.asarray(weights / np.maximum(weights.sum(axis=0), 1e-300))


def likely_distribution(covers: Bools, measure: Floats, rows: Floats) -> Floats:
    """The most likely share of each value, if ``rows`` people show each label.

    >>> covers = np.array([[True, True], [True, False]])
    >>> likely_distribution(covers, np.ones(2), np.array([10.0, 30.0])).round(3).tolist()
    [1.0, 0.0]
    """
    covered = covers.astype(np.float64)
    share = np.maximum(np.asarray(measure, np.float64), 1e-300)
    share = share / share.sum()
    people = max(float(rows.sum()), 1.0)
    for _ in range(_STEPS):
        label = share @ covered
        new = share * (covered @ (rows / np.maximum(label, 1e-300))) / people
        if np.abs(new - share).sum() <= _CLOSE:
            return np.asarray(new)
        share = new
    return np.asarray(share)


def mixed(even: Floats, learned: Floats) -> Floats:
    """Mostly as learned, a little evenly."""
    return np.asarray((1 - EVENLY) * learned + EVENLY * even)


def likely_shares(covers: Bools, measure: Floats, rows: Floats) -> Floats:
    """Each label's rows as the release as a whole is distributed over what the label covers: values x labels."""
    even = even_shares(covers, measure)
    if covers.size > MOST_CELLS or covers.shape[1] < 2:
        return even
    return mixed(even, even_shares(covers, likely_distribution(covers, measure, rows)))


def narrower(covers: Bools) -> Floats | None:
    """1 where a label (row) covers everything that another (column) covers; None if there are too many labels."""
    if covers.shape[1] ** 2 > MOST_CELLS or covers.size > MOST_CELLS:
        return None
    outside = (~covers).astype(np.float32).T @ covers.astype(np.float32)
    return np.asarray(outside == 0, np.float64)


def check_spread(spread: str) -> None:
    """Refuse an unknown word."""
    if spread not in ("likely", "even"):
        raise PolicyError(f"spread = {spread!r}; it must be 'likely' (as the whole release suggests) or 'even'")


def label_shares(column: ColumnLabels, domain: Domain, spread: SpreadRule) -> Floats:
    """For each label, the shares of its rows up to each value of a table's domain that it stands for: the last is 1."""
    lengths = column.hi - column.lo
    ends = np.cumsum(lengths)
    label = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(label)) - (ends - lengths)[label]
    if spread == "even" or domain.size * len(lengths) > MOST_CELLS:
        return np.asarray((place + 1) / lengths[label])
    value = column.lo[label] + place
    value = value if domain.ordered else column.leaves[value]
    covers = np.zeros((domain.size, len(lengths)), np.bool_)
    covers[value, label] = True
    rows = np.bincount(column.of_row, minlength=len(lengths)).astype(np.float64)
    return np.asarray(np.cumsum(likely_shares(covers, np.ones(domain.size), rows), axis=0)[value, label])
