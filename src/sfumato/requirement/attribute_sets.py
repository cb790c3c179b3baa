"""Which attribute sets an adversary with QI-based distributions can use: those with a large enough signature.

A signature of a set has at most as many people as those of its subsets, so a set with too few is not extended
(candidate generation of Agrawal and Srikant). n attributes have up to 2^n sets; too many are refused up front.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.group import group_rows
from sfumato.requirement.distribution import Kinds

MOST_SETS = 20_000
MOST_CELLS = 500_000_000
"""Numbers kept for all attribute sets together, of 8 bytes each."""

Set = tuple[str, ...]


def number_of_sets(attributes: int, size: int | None) -> int:
    """How many sets of one up to ``size`` attributes there are.

    >>> number_of_sets(20, None), number_of_sets(20, 3)
    (1048575, 1350)
    """
    most = attributes if size is None else min(size, attributes)
    return sum(comb(attributes, number) for number in range(1, most + 1))


def large_sets(
    what: str, kinds: Kinds, people: NDArray[np.int64], *, least: float, size: int | None, numbers: int
) -> list[Set]:
    """The sets of up to ``size`` attributes with a signature of at least ``least`` people, by size, then in order.

    ``people`` are those of each kind; ``numbers`` are kept for each kind and set; ``what`` needs them.
    """
    most = min(MOST_SETS, max(1, MOST_CELLS // max(kinds.number * numbers, 1)))
    whole = kinds.names if size is None else kinds.names[:size]
    together = number_of_sets(len(whole), None)
    if together > most and _largest(kinds, people, whole) >= least:
        _refuse(what, kinds, together, most, numbers)  # a signature of them all is one of each of their subsets
    found: list[Set] = []
    level: list[Set] = [(name,) for name in kinds.names]
    while level:
        if len(found) + len(level) > most:
            _refuse(what, kinds, len(found) + len(level), most, numbers)
        kept = [chosen for chosen in level if _largest(kinds, people, chosen) >= least]
        found += kept
        if size is not None and kept and len(kept[0]) == size:
            break
        level = list(islice(_extended(kept), most + 1 - len(found)))
    return found


def _extended(kept: Sequence[Set]) -> Iterator[Set]:
    """The sets of one attribute more, all of whose subsets are kept, in order."""
    there, begun = set(kept), dict[Set, list[str]]()
    for chosen in kept:
        begun.setdefault(chosen[:-1], []).append(chosen[-1])
    for first, last in begun.items():
        for pair in combinations(last, 2):
            new = (*first, *pair)
            if all(part in there for part in combinations(new, len(new) - 1)):
                yield new


def _largest(kinds: Kinds, people: NDArray[np.int64], chosen: Sequence[str]) -> float:
    """How many people the largest signature has."""
    at = [kinds.names.index(name) for name in chosen]
    found = group_rows([kinds.codes[j] for j in at], [kinds.sizes[j] for j in at])
    return float(np.bincount(found.of_row, weights=people).max())


def _refuse(what: str, kinds: Kinds, number: int, most: int, numbers: int) -> None:
    """Say how many sets there are, what they would cost, the limit and the remedy."""
    size = len(kinds.names)
    while size > 1 and number_of_sets(len(kinds.names), size) > most:
        size -= 1
    gigabytes = number * kinds.number * numbers * 8 / 1e9
    raise PolicyError(
        f"{what} uses every set of quasi-identifiers with a large enough sample: {len(kinds.names)} of them make "
        f"at least {number:,} sets, each over {kinds.number:,} kinds of people ({gigabytes:,.1f} GB); the limit here "
        f"is {most:,} sets. Set size = {size} or less (sets of at most that many attributes), or use fewer "
        "quasi-identifiers"
    )
