"""What an analyst makes of a release: for each attribute, what a row shows and how that spreads over values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.condition import Values, as_number
from sfumato.engine.local import Counted
from sfumato.errors import PolicyError, ReleaseError, nearest
from sfumato.release.bucketization import COUNT, GROUP
from sfumato.release.release import Release
from sfumato.table.distortion import WORDS, Distortion, Floats, stated
from sfumato.table.encode import Kind, value_codes
from sfumato.table.line import MISSING
from sfumato.table.taxonomy import SUPPRESSED

_MOST_GRID = 100_000


@dataclass(frozen=True, eq=False)
class Seen:
    """One attribute: the code of what each row shows, the values there can be, and the weights of values given
    what is shown (values x shown), or the distortion to undo, or None where what is shown is the value."""

    name: str
    shown: Counted
    values: Values
    weights: Floats | Distortion | None

    @property
    def matrix(self) -> Floats:
        """The weights in full: values x shown."""
        if self.weights is None:
            return np.eye(len(self.values.texts))
        return self.weights.inverse if isinstance(self.weights, Distortion) else self.weights

    def classes(self, which: NDArray[np.int64], number: int) -> Floats:
        """The weight of each class of values given what is shown: shown x classes."""
        member = np.zeros((len(which), number))
        member[np.arange(len(which)), which] = 1.0
        way = self.weights
        if way is None:
            return member
        if isinstance(way, Distortion) and way.share is not None:  # as the inverse does, and it may be large
            return np.asarray((member - way.share / WORDS * member.sum(axis=0)) / way.retained)
        return np.asarray(self.matrix.T @ member)


class View:
    """A release as an analyst sees it; columns are read when they are first asked for."""

    def __init__(self, release: Release) -> None:
        if release.scheme not in ("randomization", "generalization", "bucketization"):
            raise PolicyError(f"queries are not answered from releases by {release.scheme}; analyse its tables")
        self.release = release
        self.attributes: Mapping[str, dict[str, Any]] = release.manifest["attributes"]
        self.ways = stated(release.manifest) if release.scheme == "randomization" else {}
        self.rows = release.tables["quasi" if release.bucketized else "data"].height
        self._seen: dict[str, Seen] = {}

    def __getitem__(self, name: str) -> Seen:
        if name not in self.attributes:
            raise PolicyError(f"the release has no attribute {name!r}{nearest(name, self.attributes)}")
        if name not in self._seen:
            self._seen[name] = self._look(name)
        return self._seen[name]

    def _look(self, name: str) -> Seen:
        about = self.attributes[name]
        if self.release.bucketized and about["role"] == "sensitive":
            return self._bucket(name)
        column = self.release.tables["quasi" if self.release.bucketized else "data"][name]
        if about.get("nodes") is not None:
            return _labelled(name, column, about)
        if isinstance(about.get("domain"), list):
            texts = tuple(str(v) for v in about["domain"])
            codes = _places(column, texts, name)
            way = self.ways.get(name)
            return Seen(name, Counted(codes, len(texts)), _values(texts, about), way if way and way.changes else None)
        codes, size = value_codes(column)
        first = np.full(size, -1, np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        words = column.gather(first).cast(pl.String).fill_null(MISSING).to_list()
        return Seen(name, Counted(codes, size), _values(tuple(words), about), None)

    def _bucket(self, name: str) -> Seen:
        """A sensitive value is known by its share in the group."""
        quasi, sensitive = self.release.tables["quasi"], self.release.tables["sensitive"]
        texts = tuple(str(v) for v in self.attributes[name]["domain"])
        groups = sensitive[GROUP].unique().sort()
        place = {g: i for i, g in enumerate(groups)}
        of_row = quasi[GROUP].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        of_value = sensitive[GROUP].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        counts = np.zeros((len(texts), len(groups)))
        np.add.at(counts, (_places(sensitive[name], texts, name), of_value), sensitive[COUNT].to_numpy())
        return Seen(
            name, Counted(of_row, len(groups)), _values(texts, self.attributes[name]), counts / counts.sum(axis=0)
        )


def _places(column: pl.Series, texts: Sequence[str], name: str) -> NDArray[np.int64]:
    """The place of each row's value in the stated domain."""
    numbers = column.dtype.is_float()
    if isinstance(column.dtype, pl.Enum) and not column.null_count():
        at = {t: i for i, t in enumerate(texts)}
        lookup = np.array([at.get(w, -1) for w in column.dtype.categories], np.int64)
        codes = lookup[column.to_physical().to_numpy()]
    else:
        place = {(float(t) if numbers else t): i for i, t in enumerate(texts) if not (numbers and t == MISSING)}
        known = column if numbers else column.cast(pl.String).fill_null(MISSING)
        missing = texts.index(MISSING) if MISSING in texts else -1
        codes = known.replace_strict(place, default=missing if numbers else -1, return_dtype=pl.Int64).to_numpy()
    if (codes < 0).any():
        raise ReleaseError(f"column {name!r} holds values that the manifest does not state")
    return np.asarray(codes, np.int64)


def _values(texts: tuple[str, ...], about: Mapping[str, Any]) -> Values:
    found = [math.nan if t == MISSING else as_number(t) for t in texts]
    numeric = about.get("kind") != Kind.ORDINAL and all(n is not None for n in found)
    return Values(texts, np.array(found, np.float64) if numeric else None, about.get("kind") == Kind.ORDINAL)


def _labelled(name: str, column: pl.Series, about: Mapping[str, Any]) -> Seen:
    """A generalized attribute: each label's rows are spread evenly over what it covers."""
    labels = column.cast(pl.String).unique().sort().to_list()
    codes = (
        column.cast(pl.String).replace_strict({l: i for i, l in enumerate(labels)}, return_dtype=pl.Int64).to_numpy()
    )
    nodes: Mapping[str, Any] = about["nodes"]
    if strange := [l for l in labels if l not in nodes]:
        raise ReleaseError(f"column {name!r} shows {strange[0]!r}, which the manifest does not explain")
    bounds = [_bounds(nodes[l]) for l in labels]
    if any(b is not None for b in bounds) and about.get("kind") in (Kind.CONTINUOUS, Kind.DATE):
        values, weights = _on_line(labels, bounds, about)
    else:
        values, weights = _on_leaves(labels, nodes, about)
    return Seen(name, Counted(codes, len(labels)), values, weights)


def _bounds(meaning: Any) -> tuple[float, float] | None:
    if not isinstance(meaning, list) or len(meaning) != 2:
        return None
    low, high = as_number(meaning[0]), as_number(meaning[1])
    return None if low is None or high is None or high < low else (low, high)


def _on_leaves(labels: list[str], nodes: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[Values, Floats]:
    texts = tuple(
        dict.fromkeys([*(str(v) for v in about["domain"]), *(str(v) for l in labels for v in nodes[l] or ())])
    )
    texts = texts or (SUPPRESSED,)  # all is suppressed, and the manifest does not tell what
    place = {t: i for i, t in enumerate(texts)}
    weights = np.zeros((len(texts), len(labels)))
    for j, label in enumerate(labels):
        covered = [place[str(v)] for v in nodes[label]] if nodes[label] is not None else list(range(len(texts)))
        weights[covered, j] = 1.0 / len(covered)
    return _values(texts, about), weights


def _on_line(labels: list[str], bounds: list[Any], about: Mapping[str, Any]) -> tuple[Values, Floats]:
    """Numbers: whole ones one by one where all ends are whole, else the pieces between the ends."""
    known = [b for b in bounds if b is not None]
    low, high = min(b[0] for b in known), max(b[1] for b in known)
    whole = all(float(x).is_integer() for b in known for x in b) and high - low <= _MOST_GRID
    ends = np.arange(low, high + 1) if whole else np.unique([x for b in known for x in b])
    left, right = ends[:-1], ends[1:]
    missing = MISSING in labels
    weights = np.zeros((len(left) + missing, len(labels)))
    for j, (label, b) in enumerate(zip(labels, bounds, strict=True)):
        if label == MISSING:
            weights[-1, j] = 1.0
            continue
        a, z = b if b is not None else (low, high)
        part = np.maximum(np.minimum(right, z) - np.maximum(left, a), 0.0)
        weights[: len(left), j] = part / part.sum()
    dates = about.get("kind") == Kind.DATE
    texts = [str(np.datetime64(int(x), "D")) if dates else f"{x:g}" for x in left] + [MISSING] * missing
    numbers = np.append(left if whole else (left + right) / 2, [math.nan] * missing)
    return Values(tuple(texts), cast(Any, numbers)), weights
