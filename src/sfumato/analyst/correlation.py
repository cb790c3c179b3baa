"""What a release keeps of the associations between attributes: Cramér's V of every pair, as an analyst estimates it.

Each attribute is put into at most ``BINS`` bins: neighbouring values with about equally many people if the values are
ordered, otherwise the most frequent values and the rest. The analyst spreads a label evenly over the values it stands
for, the sensitive values of a bucket evenly over its people, and undoes noise by its public matrix. The change is the
difference from the V of the private table, which is negative where an association was lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.randomized import onto_simplex
from sfumato.errors import PolicyError
from sfumato.release.labels import ColumnLabels, read_labels, read_values
from sfumato.release.manifest import LabelAttribute
from sfumato.release.release import Release, refuse_unpublished
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.requirement.base import as_fraction
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column, Kind, Role
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.published import domain_codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = 8
_ORDERED = (Kind.CONTINUOUS, Kind.ORDINAL, Kind.DATE)


class Association(NamedTuple):
    """Cramér's V of a pair of attributes in the private table, and as estimated from the release."""

    first: str
    second: str
    truth: float
    estimate: float

    @property
    def change(self) -> float:
        """The estimate less the truth: negative where an association was lost."""
        return self.estimate - self.truth


@dataclass(frozen=True)
class CorrelationChange:
    """The associations of all pairs of attributes, before and after."""

    pairs: tuple[Association, ...]

    @property
    def mean(self) -> float:
        """The average size of the change, from 0 to 1."""
        return float(np.mean([abs(p.change) for p in self.pairs]))

    @property
    def greatest(self) -> Association:
        """The pair that changes most."""
        return max(self.pairs, key=lambda p: abs(p.change))

    @property
    def frame(self) -> pl.DataFrame:
        """One row per pair."""
        columns = ("first", "second", "truth", "estimate", "change")
        return pl.DataFrame([(*p, p.change) for p in self.pairs], schema=columns, orient="row")


class _Shown(NamedTuple):
    """What each row shows of an attribute, and the weight of each bin given what is shown: shown x bins."""

    of_row: Integers
    bins: Floats

    def weights(self) -> NDArray[np.float32]:
        """The weight of each bin for each row."""
        return np.asarray(self.bins.astype(np.float32)[self.of_row])


def correlation_change(release: Release, truth: Microdata) -> CorrelationChange:
    """How Cramér's V of each pair of coded attributes differs between a release and the table it was made from.

    An attribute that the release does not show counts as associated with nothing.

    >>> import sfumato as sf
    >>> frame = pl.DataFrame({"age": [20, 21, 40, 41], "ill": ["flu", "flu", "HIV", "HIV"]})
    >>> table = sf.read(frame, quasi=["age"], sensitive="ill")
    >>> found = correlation_change(sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian"), table)
    >>> [(p.first, p.second, round(p.truth, 3), round(p.estimate, 3)) for p in found.pairs]
    [('age', 'ill', 1.0, 1.0)]
    """
    refuse_unpublished(release)
    refuse_raw(truth)
    if len(truth.columns) < 2:
        raise PolicyError("an association needs two coded attributes; give a second column a role")
    binned = {name: bins_of(column) for name, column in truth.columns.items()}
    before = {n: _one_hot(binned[n][c.codes], _number(binned[n])) for n, c in truth.columns.items()}
    people = release.scheme_class.weights(release)
    after = {n: s.weights() for n, s in _all_shown(release, truth, binned).items()}
    return CorrelationChange(
        tuple(
            Association(a, b, cramers_v(_joint(before, a, b, None)), _estimated(after, a, b, people))
            for a, b in combinations(truth.columns, 2)
        )
    )


def _estimated(after: Mapping[str, NDArray[np.float32]], a: str, b: str, people: Integers | None) -> float:
    if a not in after or b not in after:
        return 0.0
    return cramers_v(onto_simplex(_joint(after, a, b, people)))


def _joint(weights: Mapping[str, NDArray[np.float32]], a: str, b: str, people: Integers | None) -> Floats:
    """The joint shares of the bins of two attributes."""
    left = weights[a] if people is None else weights[a] * people[:, None].astype(np.float32)
    table = left.T.astype(np.float64) @ weights[b]
    return np.asarray(table / table.sum())


def cramers_v(joint: Floats) -> float:
    """Cramér's V of a joint distribution, from 0 (independent) to 1.

    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), cramers_v(np.full((2, 2), 0.25))
    (1.0, 0.0)
    """
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    table = joint[np.ix_(first > 0, second > 0)]
    if min(table.shape) < 2:
        return 0.0
    expected = np.outer(first[first > 0], second[second > 0])
    squared = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(max(squared, 0.0) / (min(table.shape) - 1), 1.0)))


def bins_of(column: Column) -> Integers:
    """The bin of each code of a column.

    >>> from sfumato.table.encode import Attribute, encode
    >>> bins_of(encode(pl.Series([1, 1, 2, 3]), Attribute(name="x", role=Role.QUASI))).tolist()
    [0, 1, 2]
    """
    if column.size <= BINS:
        return np.arange(column.size)
    held = np.bincount(column.codes, minlength=column.size)
    if column.kind in _ORDERED or column.domain.ordered:
        middle = (np.cumsum(held) - held / 2) / held.sum()
        return np.asarray(np.unique(np.minimum((middle * BINS).astype(np.int64), BINS - 1), return_inverse=True)[1])
    out = np.full(column.size, BINS - 1)
    out[np.argsort(-held, kind="stable")[: BINS - 1]] = np.arange(BINS - 1)
    return out


def _number(bins: Integers) -> int:
    return int(bins.max()) + 1


def _one_hot(which: Integers, number: int) -> NDArray[np.float32]:
    return np.eye(number, dtype=np.float32)[which]


def _all_shown(release: Release, truth: Microdata, binned: Mapping[str, Integers]) -> dict[str, _Shown]:
    names = [n for n in truth.columns if n in release.description.attributes]
    return {n: _shown(release, truth[n], binned[n]) for n in names}


def _shown(release: Release, column: Column, bins: Integers) -> _Shown:
    """How a release shows an attribute, whatever its scheme."""
    scheme, entry = release.scheme_class, release.description.attributes[column.name]
    if scheme.separates and column.role is Role.SENSITIVE:
        return _bucketed(release, column, bins)
    shown = release.tables[scheme.people][column.name]
    if isinstance(entry, LabelAttribute):
        return _spread(read_labels(shown, entry.nodes, column.domain), column, bins)
    way = _noise(release, column)
    if way is not None:
        return _restored(release, shown, column, bins, way)
    labels = read_values(shown, column.domain)
    return _Shown(labels.of_row, np.eye(_number(bins))[bins])


def _spread(labels: ColumnLabels, column: Column, bins: Integers) -> _Shown:
    """Labels over the bins of the values they stand for, all values alike."""
    out = np.zeros((len(labels.lo), _number(bins)))
    for i, (lo, hi) in enumerate(zip(labels.lo.tolist(), labels.hi.tolist(), strict=True)):
        codes = np.arange(lo, hi) if column.domain.ordered else labels.leaves[lo:hi]
        out[i] = np.bincount(bins[codes], minlength=out.shape[1]) / len(codes)
    return _Shown(labels.of_row, out)


def _bucketed(release: Release, column: Column, bins: Integers) -> _Shown:
    """The values of a bucket, spread evenly over its people."""
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    values = read_values(sensitive[column.name], column.domain)
    groups, place = np.unique(quasi[GROUP].to_numpy(), return_inverse=True)
    out = np.zeros((len(groups), _number(bins)))
    at = np.searchsorted(groups, sensitive[GROUP].to_numpy())
    np.add.at(out, (at, bins[values.of_row]), sensitive[COUNT].to_numpy())
    return _Shown(place, out / out.sum(axis=1, keepdims=True))


def _noise(release: Release, column: Column) -> Distortion | None:
    """The noise that a published value went through, if any."""
    manifest, size = release.description, len(release.description.domain(column.name))
    if release.scheme_class.randomizes:
        return manifest.distortions().get(column.name) if column.name in manifest.matrices else None
    if release.scheme_class.rows_are_groups and column.role is Role.SENSITIVE:
        return Distortion.retaining(as_fraction(manifest.settings["p"]), size)
    return None


def _restored(release: Release, shown: pl.Series, column: Column, bins: Integers, way: Distortion) -> _Shown:
    """Values with their noise undone: unbiased weights, some of them negative."""
    texts = release.description.domain(column.name)
    codes = domain_codes(shown, texts, PolicyError)
    place = {leaf: code for code, leaf in enumerate(column.domain.leaves)}
    last = _number(bins) - 1
    of_text = np.array([bins[place[t]] if t in place else last for t in texts])
    if np.linalg.matrix_rank(way.matrix) < way.size:  # nothing of the value is left
        return _Shown(codes.astype(np.int64), np.full((way.size, last + 1), 1 / (last + 1)))
    return _Shown(codes.astype(np.int64), way.inverse.T @ np.eye(last + 1)[of_text])
