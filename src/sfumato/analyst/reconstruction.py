"""Counts of true values from perturbed ones: by inverting the matrix, or by expectation maximization."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.estimation import covariance_of_draw, iterative_bayes
from sfumato.errors import DataError, PolicyError
from sfumato.release.label_meaning import covered
from sfumato.release.release import Release
from sfumato.release.scheme.sampling import SIZE
from sfumato.table.distortion import inverse_of, retention_matrix
from sfumato.table.encode import Role
from sfumato.table.published import domain_codes

Floats = NDArray[np.float64]
ReconstructionWay = Literal["inversion", "em"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated counts with their standard errors; ``total`` is their sum.

    By inversion the counts are unbiased and may be negative; by EM none is negative. The covariance is that of the
    unbiased counts. It is conservative: it assumes that the rows' values are drawn from one distribution.
    """

    values: tuple[str, ...]
    counts: Floats
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """The standard error of each count."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @property
    def total(self) -> float:
        """The sum of all counts."""
        return float(self.counts.sum())

    def of(self, *values: str) -> tuple[float, float]:
        """The count of some values together, and its standard error."""
        if unknown := [v for v in values if v not in self.values]:
            raise PolicyError(f"there is no value {unknown[0]!r}; the domain has {len(self.values)} values")
        chosen = np.array([v in values for v in self.values], np.float64)
        return float(chosen @ self.counts), math.sqrt(max(float(chosen @ self.covariance @ chosen), 0.0))

    def frame(self) -> pl.DataFrame:
        """One row per value."""
        return pl.DataFrame({"value": self.values, "count": self.counts, "standard error": self.errors})


def reconstruct(
    observed: Sequence[float] | NDArray[Any],
    matrix: Floats,
    *,
    squares: Sequence[float] | NDArray[Any] | None = None,
    values: Sequence[str] | None = None,
    way: ReconstructionWay = "inversion",
) -> Estimate:
    """Estimate the counts of true values from the counts of published ones.

    ``matrix[a, b]`` is the probability that ``a`` is published as ``b``. If rows have weights, ``observed`` sums
    the weights of each published value and ``squares`` their squares.

    Args:
        observed: the count of each published value.
        matrix: the probabilities of what each value is published as.
        squares: the sum of squared weights of each published value.
        values: the names of the values.
        way: ``inversion`` is unbiased and may be negative; ``em`` never is.

    >>> e = reconstruct([70, 30], retention_matrix(0.5, 2))
    >>> e.counts.round(9).tolist(), e.errors.round(4).tolist()
    ([90.0, 10.0], [9.1652, 9.1652])
    """
    seen = np.asarray(observed, np.float64)
    if matrix.shape != (len(seen), len(seen)) or not np.allclose(matrix.sum(axis=1), 1) or (matrix < 0).any():
        raise PolicyError(
            f"the matrix must have one row and one column per value ({len(seen)}), and each row must add up to 1"
        )
    inverse = inverse_of(matrix)
    if inverse is None:
        raise DataError("the counts cannot be reconstructed: the perturbation matrix has no usable inverse")
    if way not in ("inversion", "em"):
        raise PolicyError(f"way = {way!r}; it must be 'inversion' or 'em'")
    counts = seen @ inverse if way == "inversion" else expectation_maximization(seen, matrix)
    weight = seen if squares is None else np.asarray(squares, np.float64)
    share = weight / max(weight.sum(), 1e-300)
    names = tuple(values) if values is not None else tuple(str(i) for i in range(len(seen)))
    return Estimate(names, np.asarray(counts), weight.sum() * covariance_of_draw(inverse.T, share))


def expectation_maximization(observed: Floats, matrix: Floats) -> Floats:
    """The most likely counts of true values, none negative (`iterative_bayes`).

    >>> expectation_maximization(np.array([80.0, 20.0]), retention_matrix(0.5, 2)).round(3).tolist()
    [100.0, 0.0]
    """
    total = observed.sum()
    if not total:
        return np.zeros(len(observed))
    return np.asarray(total * iterative_bayes(observed / total, lambda x: x @ matrix, lambda x: matrix @ x))


def sensitive_counts(
    release: Release, *, within: Mapping[str, Any] | None = None, way: ReconstructionWay = "inversion"
) -> Estimate:
    """How many people have each sensitive value, estimated from a PG release.

    ``within`` selects people: ``{"age": (30, 50), "sex": ["F"]}``, half-open intervals and lists of values.
    People are assumed to be spread evenly over their boxes; the standard errors do not cover deviations from that.

    Args:
        release: a release of pg.
        within: which people to count; by default all.
        way: ``inversion`` is unbiased and may be negative; ``em`` never is.
    """
    name, domain, p = perturbed(release)
    if p == 0:
        raise DataError("the retention probability is 0: the published values reveal nothing about the true ones")
    data = release.tables["data"]
    weight = data[SIZE].to_numpy().astype(np.float64)
    for attribute, region in (within or {}).items():
        if attribute not in release.quasi():
            raise PolicyError(f"{attribute!r} is not a quasi-identifier; there are {', '.join(release.quasi())}")
        weight = weight * _share(release, attribute, region)
    codes = domain_codes(data[name], domain, DataError)
    observed = np.bincount(codes, weights=weight, minlength=len(domain))
    squares = np.bincount(codes, weights=weight**2, minlength=len(domain))
    return reconstruct(observed, retention_matrix(p, len(domain)), squares=squares, values=domain, way=way)


def perturbed(release: Release) -> tuple[str, list[str], float]:
    """The sensitive attribute of a PG release, its domain, and the retention probability."""
    names = release.with_role(Role.SENSITIVE)
    p = release.description.method.settings.get("p")
    if not release.sampled or len(names) != 1 or not isinstance(p, int | float):
        raise PolicyError(f"this is a {release.scheme} release; only a sample by pg states how it was perturbed")
    return names[0], release.description.domain(names[0]), float(p)


def _share(release: Release, attribute: str, region: Any) -> Floats:
    """The share of each row's box that lies within the region, on one attribute."""
    entry = release.description.label(attribute)
    labels = release.tables["data"][attribute].cast(pl.String)
    shares = {label: covered(entry, label, region) for label in labels.unique().to_list()}
    return labels.replace_strict(shares, return_dtype=pl.Float64).to_numpy()
