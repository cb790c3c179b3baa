"""Read the columns of a release with the domains of a table: which of its values a label covers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DAMAGED, DataError, ReleaseError
from sfumato.release.label_meaning import LabelMeaning, fits, parse_label
from sfumato.table.encode import Domain
from sfumato.table.published import distinct_texts, domain_codes

Integers = NDArray[np.int64]

_ANOTHER = "the release was made from another table; give the table it was made from"


class ColumnLabels(NamedTuple):
    """A column as an analyst reads it: the label of each row, and the codes that each label stands for.

    On an ordered domain label ``i`` stands for the codes ``lo[i] .. hi[i]-1``, otherwise for ``leaves[lo[i]:hi[i]]``.
    """

    of_row: Integers
    lo: Integers
    hi: Integers
    leaves: Integers


class Meanings:
    """What labels mean in a domain: the values between the ends of an interval, the leaves below a name, and everything
    that fits a mask.

    >>> from sfumato.table.ordered_domain import OrderedDomain
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> ages = OrderedDomain.of_numbers([20.0, 25.0, 39.0, 40.0])
    >>> Meanings(ages).codes(parse_label("[20, 40)", [20.0, 40.0])).tolist()
    [0, 1, 2]
    >>> Meanings(Taxonomy.flat(["a", "b", "c"])).codes(parse_label("*", None)).tolist()
    [0, 1, 2]
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.leaf = {leaf: code for code, leaf in enumerate(domain.leaves)}

    def codes(self, label: LabelMeaning, *, partly: bool = False) -> Integers:
        """The codes of the values that a label stands for, sorted; none if it has a name that the domain does not
        know, unless ``partly`` known labels are allowed."""
        if label.interval is not None:
            return self.domain.codes_between(*label.interval)
        if not label.listed:
            return self._below(label.names[0])
        leaves = [self.leaf.get(name, -1) for name in label.names]
        if leaves and min(leaves) >= 0:
            return np.unique(np.array(leaves, np.int64))
        parts = [self._named(name) for name in label.names]
        if not parts or (not partly and not all(len(part) for part in parts)):
            return np.zeros(0, np.int64)
        return np.unique(np.concatenate(parts))

    def _named(self, name: str) -> Integers:
        if name in self.leaf:
            return np.array([self.leaf[name]])
        return self._below(name)

    def _below(self, name: str) -> Integers:
        """The leaves below a node of the tree, or else those that fit the name as a mask."""
        if name in self.domain.named_ranges:
            return np.arange(*self.domain.named_ranges[name], dtype=np.int64)
        return np.flatnonzero([fits(leaf, name) for leaf in self.domain.leaves])


def as_ranges(codes: Integers) -> list[tuple[int, int]]:
    """Sorted codes as half-open ranges of neighbours.

    >>> as_ranges(np.array([1, 2, 5]))
    [(1, 3), (5, 6)]
    """
    return [
        (int(part[0]), int(part[-1]) + 1)
        for part in np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
        if len(part)
    ]


def read_labels(column: pl.Series, nodes: Mapping[str, Any], domain: Domain) -> ColumnLabels:
    """A column of labels; ``nodes`` is what the manifest says about them."""
    if column.null_count():
        raise ReleaseError(f"column {column.name!r} of the release lacks labels; {DAMAGED}")
    shown, meanings = distinct_texts(column), Meanings(domain)
    of_row = shown.of_row.astype(np.int64)
    codes = [_codes(meanings, column.name, label, nodes) for label in shown.texts]
    if domain.ordered:
        ends = np.array([(c[0], c[-1] + 1) for c in codes])
        return ColumnLabels(of_row, ends[:, 0], ends[:, 1], np.zeros(0, np.int64))
    hi = np.cumsum([len(c) for c in codes])
    return ColumnLabels(of_row, np.append(0, hi[:-1]), hi, np.concatenate(codes))


def _codes(meanings: Meanings, name: str, label: str, nodes: Mapping[str, Any]) -> Integers:
    """What one label stands for: at least one value, and on a line only neighbours."""
    if label not in nodes:
        raise ReleaseError(f"the manifest does not explain the label {label!r} of {name!r}; {DAMAGED}")
    codes = meanings.codes(parse_label(label, nodes[label]))
    gap = meanings.domain.ordered and len(codes) and codes[-1] - codes[0] >= len(codes)
    if not len(codes) or gap:
        raise DataError(f"the label {label!r} of {name!r} does not fit the values of the table; {_ANOTHER}")
    return codes


def exact(codes: NDArray[Any], size: int) -> ColumnLabels:
    """A column of values: each is a label for itself."""
    values = np.arange(size)
    return ColumnLabels(codes.astype(np.int64, copy=False), values, values + 1, values)


def read_values(column: pl.Series, domain: Domain) -> ColumnLabels:
    """A column that is published unchanged."""
    codes = domain_codes(column, domain.leaves, lambda fault: DataError(f"{fault}; {_ANOTHER}"))
    return exact(codes, domain.size)
