"""The journalist who looks for people in a population of which only the size is known: expected risks under a model.

The table is assumed to be a simple random sample of the population: each of its N people is in the table with the same
probability π = n/N. Of a class with f people in the table, the number F in the population is then not known, but
negative binomial given f: Pr(F = h | f) = C(h-1, f-1) π^f (1-π)^(h-f) (Benedetti and Franconi 1998; the individual risk
of μ-Argus and sdcMicro). The risk of a row is the expectation of 1/F. It is an estimate, not a bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.superpopulation import PopulationUniques, population_uniques
from sfumato.errors import DataError, PolicyError

MOST_PEOPLE = 1 << 53

_STEPS = 64
"""Classes of up to this many people are computed by recurrence, larger ones by quadrature."""
_POINTS = 40
_CHUNK = 10_000


@dataclass(frozen=True, kw_only=True)
class PopulationRisk:
    """Expected risks among the people of a population of a known ``size``; ``fraction`` of them are in the table.

    ``greatest`` and ``mean`` are those of a row, ``unique_rows`` the expected number of rows that are the only ones of
    their kind in the whole population.
    """

    size: int
    fraction: float
    greatest: float
    mean: float
    unique_rows: float
    weighted: bool = False
    """Whether sampling weights say how many people a row stands for; otherwise everyone is as likely to be sampled."""
    uniques: PopulationUniques | None = None
    """How many people of the population are unique in it, by a model of class sizes."""


def checked_size(size: object, what: str = "the population's size") -> int:
    """The number of people in a population."""
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_PEOPLE:
        raise PolicyError(f"{what} is {size!r}; it must be a whole number from 1 to 2^53")
    return size


def refuse_smaller(size: int, rows: int) -> None:
    """Refuse a population that has fewer people than the table."""
    if size < rows:
        raise DataError(
            f"the population has {size:,} people, fewer than the {rows:,} rows of the table, which is part of it; "
            "correct its size"
        )


def expected_inverses(sizes: NDArray[np.int64], fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """E(1/F | f) where each class has its own share of people in the table.

    >>> expected_inverses(np.array([1, 2]), np.array([1.0, 1.0])).tolist()
    [1.0, 0.5]
    """
    pairs, place = np.unique(np.column_stack([fractions, sizes]), axis=0, return_inverse=True)
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), _CHUNK):
        part = pairs[start : start + _CHUNK]
        found[start : start + _CHUNK] = _each(part[:, 1].astype(np.int64), part[:, 0])
    return np.asarray(found[place.ravel()])


def _each(sizes: NDArray[np.int64], fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for a few classes."""
    small = np.array([_small(f)[min(s, _STEPS)] for f, s in zip(fractions.tolist(), sizes.tolist(), strict=True)])
    nodes, weights = np.polynomial.laguerre.laggauss(_POINTS)  # type: ignore[no-untyped-call, unused-ignore]
    flat = 1 / (fractions[:, None] + (1 - fractions[:, None]) * np.exp(-nodes / np.maximum(sizes, _STEPS)[:, None]))
    large = flat @ weights / np.maximum(sizes, _STEPS)
    return np.asarray(fractions * np.where(sizes <= _STEPS, small, large))


def population_risk(
    group_of_row: NDArray[np.int64], size: int, *, rows: int | None = None, weights: NDArray[np.int64] | None = None
) -> PopulationRisk:
    """The expected risks of rows in classes; ``group_of_row[i]`` numbers the class of row ``i`` from 0.

    ``rows`` is how many people were sampled, if not all of their rows are among these; with ``weights`` an entry stands
    for that many rows.

    >>> found = population_risk(np.array([0, 1, 1]), 30)
    >>> round(found.greatest, 4), round(found.mean, 4), round(found.unique_rows, 2)
    (0.2558, 0.1404, 0.1)
    """
    if len(group_of_row) == 0:
        raise DataError("the table has no rows, so there is no risk to measure")
    members_of = np.bincount(group_of_row, weights=weights).astype(np.int64)
    sampled = int(members_of.sum()) if rows is None else rows
    refuse_smaller(checked_size(size), sampled)
    sizes, classes = np.unique(members_of, return_counts=True)
    sizes, classes = sizes[sizes > 0], classes[sizes > 0]
    fraction, members = sampled / size, sizes * classes
    risks = expected_inverse(sizes, fraction)
    return PopulationRisk(
        size=size,
        fraction=fraction,
        greatest=float(risks.max()),
        mean=float(members @ risks / members.sum()),
        unique_rows=float(members[sizes == 1].sum() * fraction),
        uniques=population_uniques(members_of, size) if rows is None else None,
    )


def expected_inverse(sizes: NDArray[np.int64], fraction: float) -> NDArray[np.float64]:
    """E(1/F | f) for each number f of people in the table.

    It is π I(f) with I(f) = ∫ u^(f-1) / (π + (1-π)u) du from 0 to 1 (write 1/F as the integral of t^(F-1) and
    substitute u = πt / (1 - (1-π)t)).

    >>> expected_inverse(np.array([1, 2, 1000]), 1.0).tolist()
    [1.0, 0.5, 0.001]
    """
    small, large = _small(fraction), _large(np.maximum(sizes, _STEPS), fraction)
    return np.asarray(fraction * np.where(sizes <= _STEPS, small[np.minimum(sizes, _STEPS)], large))


def _large(sizes: NDArray[np.int64], fraction: float) -> NDArray[np.float64]:
    """I(f) for large f: with u = e^(-x/f) the integrand is e^-x times a function that is nearly constant."""
    nodes, weights = np.polynomial.laguerre.laggauss(_POINTS)  # type: ignore[no-untyped-call, unused-ignore]
    flat = 1 / (fraction + (1 - fraction) * np.exp(-nodes / sizes[:, None]))
    return np.asarray(flat @ weights / sizes)


def _small(fraction: float) -> NDArray[np.float64]:
    """I(f) for f up to `_STEPS`; the entry for 0 is not used.

    As π I(f) + (1-π) I(f+1) = 1/f, one follows from the other. Going up multiplies errors by π/(1-π), going down by the
    inverse, so the direction depends on π.
    """
    rest, found = 1 - fraction, np.zeros(_STEPS + 1)
    if fraction <= 0.5:
        found[1] = -np.log(fraction) / rest
        for f in range(1, _STEPS):
            found[f + 1] = (1 / f - fraction * found[f]) / rest
        return found
    found[-1] = _large(np.array([_STEPS]), fraction)[0]
    for f in range(_STEPS - 1, 0, -1):
        found[f] = (1 / f - rest * found[f + 1]) / fraction
    return found
