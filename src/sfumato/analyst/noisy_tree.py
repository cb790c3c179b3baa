"""Decision trees from a PG release that classify the microdata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.reconstruction import perturbed
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.pg.noisy_tree import Grown, grow, walk
from sfumato.release.release import Release
from sfumato.release.scheme.sampling import SIZE, Places, boxes_of
from sfumato.requirement.base import whole_number
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata
from sfumato.table.published import domain_codes

_BINS = 256
_LIMIT, _LIMIT_A_CLASS = 13.0, 2.0
_DEEPEST = 30
_GOLDEN = (5**0.5 - 1) / 2

Classes = Mapping[str, Sequence[str]]
"""The classes to distinguish: a name, and the sensitive values that belong to it."""


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """A binary tree over the quasi-identifiers that predicts to which class a person's sensitive value belongs.

    It is grown on unbiased estimates of how many people of each class a node has: perturbed values, weighted by the
    sizes G of their groups, minus what perturbation adds. A node is cut where the Gini index falls most, if the
    decrease is significant (chi-square on what was observed).

    ``classes`` are predicted from ``attributes``; ``grown`` holds the nodes, ``edges`` and ``places`` their cuts.
    """

    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    grown: Grown
    edges: tuple[NDArray[np.float64], ...]
    places: Mapping[str, Places] | None

    @classmethod
    def from_release(
        cls, release: Release, classes: Classes | None = None, *, least: int = 20, deepest: int = _DEEPEST
    ) -> "DecisionTree":
        """Grow a tree on a PG release; without ``classes`` each sensitive value is a class of its own."""
        name, domain, p = perturbed(release)
        if p == 0:
            raise DataError("the retention probability is 0: the published values reveal nothing about the true ones")
        names, of_value = classes_of(domain, classes)
        data = release.tables["data"]
        lo, hi = boxes_of(release.description, data, release.quasi())
        seen = of_value[domain_codes(data[name], domain, DataError)]
        away = np.asarray((1 - p) / len(domain) * np.bincount(of_value, minlength=len(names)), np.float64)
        grown, edges = _grown(_spread(lo, hi), seen, data[SIZE].to_numpy(), p, away, least, deepest)
        places = {n: Places(n, release.description.label(n)) for n in release.quasi()}
        return cls(names, tuple(places), grown, edges, places)

    @classmethod
    def from_table(
        cls,
        table: Microdata,
        classes: Classes | None = None,
        *,
        rows: NDArray[np.int64] | None = None,
        seen: NDArray[np.int64] | None = None,
        least: int = 20,
        deepest: int = _DEEPEST,
    ) -> "DecisionTree":
        """Grow the same tree on private rows, for comparison; ``seen`` replaces their sensitive codes."""
        (column,) = table.sensitive
        names, of_value = classes_of(column.domain.leaves, classes)
        chosen = np.arange(table.rows) if rows is None else rows
        values = column.codes[chosen] if seen is None else seen
        features = np.stack([c.codes[chosen] for c in table.quasi], axis=1).astype(np.float64)
        nothing = np.zeros(len(names))
        grown, edges = _grown(features, of_value[values], np.ones(len(chosen)), 1.0, nothing, least, deepest)
        return cls(names, tuple(c.name for c in table.quasi), grown, edges, None)

    @property
    def leaves(self) -> int:
        """How many leaves the tree has."""
        return int((self.grown.feature < 0).sum())

    def predict(self, table: Microdata) -> NDArray[np.int64]:
        """The class, as an index into ``classes``, that the tree predicts for each row of a table."""
        if lacking := [n for n in self.attributes if n not in {c.name for c in table.quasi}]:
            raise PolicyError(
                f"the tree tests {', '.join(self.attributes)}, but the table has no quasi-identifier {lacking[0]!r}"
            )
        features = np.stack([self._feature(table[n]) for n in self.attributes], axis=1)
        leaf = walk(self.grown, _binned(features, self.edges))
        return np.asarray(self.grown.weight.argmax(axis=1)[leaf])

    def _feature(self, column: Column) -> NDArray[np.float64]:
        if self.places is None:
            return column.codes.astype(np.float64)
        places = self.places[column.name]
        cells = places.of(column.domain)
        middle = np.where(cells >= 0, 2.0 * cells + 1, float(places.cells))
        return np.asarray(middle[column.codes])

    def error(self, table: Microdata, classes: Classes | None = None) -> float:
        """The share of the rows whose class is not the predicted one."""
        (column,) = table.sensitive
        names, of_value = classes_of(column.domain.leaves, classes)
        if names != self.classes:
            raise PolicyError(f"the tree distinguishes {', '.join(self.classes)}, not {', '.join(names)}")
        return float((self.predict(table) != of_value[column.codes]).mean())


def classes_of(domain: Sequence[str], classes: Classes | None) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names of the classes, and the class of each value of the domain.

    >>> classes_of(["flu", "cold", "HIV"], {"mild": ["flu", "cold"], "grave": ["HIV"]})[1].tolist()
    [0, 0, 1]
    """
    if classes is None:
        return tuple(domain), np.arange(len(domain))
    of_value = np.full(len(domain), -1, np.int64)
    place = {value: i for i, value in enumerate(domain)}
    for number, (name, values) in enumerate(classes.items()):
        for value in values:
            if place.get(str(value), -1) < 0 or of_value[place[str(value)]] >= 0:
                raise PolicyError(f"class {name!r} has the value {value!r}, which is unknown or in another class")
            of_value[place[str(value)]] = number
    if (of_value < 0).any():
        raise PolicyError(f"no class has the value {domain[int((of_value < 0).argmax())]!r}; give each value one class")
    return tuple(classes), of_value


def _spread(lo: NDArray[np.int64], hi: NDArray[np.int64]) -> NDArray[np.float64]:
    """One cell of each row's box per attribute, so that rows are spread evenly over boxes that many share.

    The positions are multiples of the golden ratio modulo 1, which fill an interval evenly however many are used.
    Midpoints would not work: if a wide box holds people with only one value, all of them would count as the middle one.
    """
    rows, axes = np.ogrid[1 : len(lo) + 1, 1 : lo.shape[1] + 1]
    part = (rows * _GOLDEN + axes * _GOLDEN**2) % 1.0
    return np.asarray(2.0 * np.floor(lo + part * (hi - lo)) + 1.0)


def _grown(
    features: NDArray[np.float64], seen: NDArray[np.int64], weights: NDArray[Any], p: float,
    away: NDArray[np.float64], least: int, deepest: int,
) -> tuple[Grown, tuple[NDArray[np.float64], ...]]:  # fmt: skip
    """Bin the features and grow."""
    whole_number("the tree", "least", least, 1)
    whole_number("the tree", "deepest", deepest, 1)
    edges = tuple(_edges(features[:, j]) for j in range(features.shape[1]))
    bins = _binned(features, edges)
    limit = _LIMIT + _LIMIT_A_CLASS * (len(away) - 1)
    size = max(len(e) for e in edges) + 1
    grown = grow(
        bins, seen.astype(np.int64), weights.astype(np.float64), p=p, away=away, size=size, least=least,
        limit=limit, deepest=deepest,
    )  # fmt: skip
    return grown, edges


def _edges(feature: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the bins of a feature begin, except the first: between its values or, if there are many, quantiles."""
    values = np.unique(feature)
    if len(values) > _BINS:
        values = np.unique(np.quantile(feature, np.linspace(0, 1, _BINS), method="nearest"))
    return np.asarray((values[1:] + values[:-1]) / 2)


def _binned(features: NDArray[np.float64], edges: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    bins = [np.searchsorted(e, features[:, j], side="right") for j, e in enumerate(edges)]
    return np.stack(bins, axis=1).astype(np.int64)


def majority(table: Microdata, classes: Classes) -> pl.DataFrame:
    """How many rows each class has: the error of always guessing the largest is what a tree must beat."""
    (column,) = table.sensitive
    names, of_value = classes_of(column.domain.leaves, classes)
    counts = np.bincount(of_value[column.codes], minlength=len(names))
    return pl.DataFrame({"class": names, "rows": counts})
