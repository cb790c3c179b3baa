"""Reconstruction from randomized values: distributions with their covariance (Guo, Ying, Wu, Eq. 2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sfumato.analyst.estimation import covariance_of_draw, iterative_bayes
from sfumato.errors import PolicyError
from sfumato.table.distortion import Distortion, Floats, distorted

SamplingModel = Literal["fixed", "iid"]
Estimator = Literal["unbiased", "simplex", "bayes"]

_MOST_COVARIANCE = 5_000


def check_sampling(sampling: str) -> None:
    """Refuse an unknown word."""
    if sampling not in ("fixed", "iid"):
        raise PolicyError(
            f"sampling = {sampling!r}; it must be 'fixed' (exactly this table) or 'iid' (a sample of people)"
        )


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """π̂ = P⁻¹ λ: the distribution of some attributes, from the shares λ that a release of ``rows`` rows shows.

    ``seen`` and all results are tables with one axis per attribute.

    >>> way = Distortion.keeping(0.75, 2, what="sex")
    >>> back = Reconstruction(np.array([0.5, 0.5]), (way,), 100)
    >>> back.unbiased().tolist(), back.standard_errors().round(4).tolist()
    ([0.5, 0.5], [0.0866, 0.0866])
    """

    seen: Floats
    ways: Sequence[Distortion]
    rows: int

    def estimate(self, estimator: Estimator = "unbiased") -> Floats:
        """The distribution by one of the estimators."""
        if estimator not in ("unbiased", "simplex", "bayes"):
            raise PolicyError(f"estimator = {estimator!r}; it must be 'unbiased', 'simplex' or 'bayes'")
        if estimator == "bayes":
            return self.bayes()
        return self.unbiased() if estimator == "unbiased" else onto_simplex(self.unbiased())

    def unbiased(self) -> Floats:
        """P⁻¹ λ, which sums to 1; entries may be negative."""
        return self._through(self.seen, undo=True)

    def bayes(self, steps: int = 10_000, tolerance: float = 1e-10) -> Floats:
        """Iterative Bayes (EM): the distribution under which the observation is most likely; no entry is negative."""
        turned = partial(self._through, turned=True)
        return iterative_bayes(self.seen, self._through, turned, steps=steps, close=tolerance)

    def variances(self, sampling: SamplingModel = "fixed") -> Floats:
        """The diagonal of the covariance, without the matrix.

        ``iid``: the rows are a sample (Eq. 2). ``fixed``: the query is about exactly this table, and only the
        randomization is random; then diag(π) takes the place of ππᵀ, and P = I gives 0.
        """
        check_sampling(sampling)
        pi = self.unbiased()
        squared = distorted(self.seen.ravel(), self.seen.shape, self.ways, power=2, undo=True).reshape(self.seen.shape)
        return np.maximum(squared - (pi if sampling == "fixed" else pi**2), 0.0) / self.rows

    def standard_errors(self, sampling: SamplingModel = "fixed") -> Floats:
        """The standard error of each entry of the unbiased estimate."""
        return np.sqrt(self.variances(sampling))

    def covariance(self, sampling: SamplingModel = "fixed") -> Floats:
        """The covariance matrix of the unbiased estimate, cells x cells in row-major order, by plugging λ and π̂ in."""
        check_sampling(sampling)
        if self.seen.size > _MOST_COVARIANCE:
            raise PolicyError(
                f"the covariance of {self.seen.size:,} cells has {self.seen.size**2:,} entries; use fewer attributes, "
                f"at most {_MOST_COVARIANCE:,} cells, or ask for the standard errors"
            )
        back: Floats = np.ones((1, 1))
        for way in self.ways:
            back = np.kron(back, way.inverse).astype(np.float64, copy=False)
        return covariance_of_draw(back, self.seen.ravel(), fixed=sampling == "fixed") / self.rows

    def _through(self, table: Floats, *, undo: bool = False, turned: bool = False) -> Floats:
        if turned and any(w.share is None for w in self.ways):
            for axis, way in enumerate(self.ways):
                table = np.moveaxis(np.tensordot(way.matrix.T, table, axes=(1, axis)), 0, axis)
            return np.asarray(table)
        return distorted(np.ascontiguousarray(table).ravel(), table.shape, self.ways, undo=undo).reshape(table.shape)


def onto_simplex(x: Floats) -> Floats:
    """The nearest distribution: no negative entries, sum 1 (Euclidean projection).

    >>> onto_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    down = np.sort(x.ravel())[::-1]
    excess = (np.cumsum(down) - 1.0) / np.arange(1, len(down) + 1)
    last = int(np.flatnonzero(down > excess)[-1])
    return np.asarray(np.maximum(x - excess[last], 0.0))


def euclidean(p: Floats, q: Floats) -> float:
    """The Euclidean distance."""
    return float(np.sqrt(((np.asarray(p) - np.asarray(q)) ** 2).sum()))


def smoothed(p: Floats, rows: int) -> Floats:
    """The rule for empty cells: onto the simplex, then half a row more in every cell."""
    inside = onto_simplex(np.asarray(p, np.float64))
    return (inside * rows + 0.5) / (rows + 0.5 * inside.size)


def kullback_leibler(p: Floats, q: Floats, *, rows: int) -> float:
    """Σ p ln(p/q) after `smoothed` of both, since it is undefined if a cell is empty; ``rows`` is the table's size."""
    a, b = smoothed(p, rows), smoothed(q, rows)
    return float((a * np.log(a / b)).sum())


def chi_squared(p: Floats, q: Floats, *, rows: int) -> float:
    """Σ (p − q)²/p after `smoothed` of both, since it is undefined if a cell is empty."""
    a, b = smoothed(p, rows), smoothed(q, rows)
    return float(((a - b) ** 2 / a).sum())


def uncertainty(joint: Floats) -> float:
    """The uncertainty coefficient of two attributes (Eq. 12): mutual information over the entropy of the second.

    >>> uncertainty(np.array([[0.5, 0.0], [0.0, 0.5]])), uncertainty(np.full((2, 2), 0.25))
    (1.0, 0.0)
    """
    table = onto_simplex(np.asarray(joint, np.float64))
    first, second = table.sum(axis=1), table.sum(axis=0)
    some = table > 0
    information = (table[some] * np.log(table[some] / np.outer(first, second)[some])).sum()
    entropy = -(second[second > 0] * np.log(second[second > 0])).sum()
    return max(0.0, float(information / entropy)) if entropy > 0 else 0.0


def too_large(names: Sequence[str], sizes: Sequence[int], most: int) -> None:
    """Refuse a contingency table beyond the limit, with its size and what to drop."""
    cells = math.prod(sizes)
    if cells > most:
        widest = max(range(len(sizes)), key=lambda k: sizes[k])
        raise PolicyError(
            f"the contingency table of {', '.join(names)} has {cells:,} cells, more than {most:,}; drop an attribute, "
            f"first {names[widest]!r} with its {sizes[widest]:,} values, or ask for less at a time"
        )
