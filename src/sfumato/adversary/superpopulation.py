"""How many people are unique in a population of which only a sample is known, by models of class sizes.

A class is everyone with the same quasi-identifiers. Two models, both for a simple random sample of n out of N people:

Zayatz (1991) takes the distribution of class sizes in the sample for that in the population. A class of j people shows
one of them in the sample with a hypergeometric probability, from which follows how likely a sample unique is also
unique in the population.

Pitman (Hoshino 2001): class sizes follow Pitman's sampling formula with parameters α and θ of maximum likelihood.
Of m people, the expected number of classes with j people is C(m, j) (1-α)_{j-1} (θ+α)_{m-j} / (θ+1)_{m-1}, with rising
factorials (x)_i; m = n says how well the model fits the sample, m = N how many people are unique in the population.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, lgamma, log, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

_ZOOMS, _SIDE = 25, 13
_LEAST, _MOST = 1e-4, 1 - 1e-4
_FITS = 0.25
"""By how much the number of classes of one and of two may differ from the model's, relatively, in a model that fits."""
_COMPARED = 2
_CHANCE = 2.0
"""How many standard deviations (of Poisson numbers) chance can explain."""


@dataclass(frozen=True, kw_only=True)
class PopulationUniques:
    """How many people of a population are expected to be unique in it, and how sure that is.

    ``error`` is the standard error from the sample under the model; it does not say whether the model is right.
    ``off`` is how far the model is from the sample: the largest relative difference of the numbers of classes with one
    and with two people, beyond what chance explains. ``parameters`` are those of the model.
    """

    model: str
    estimate: float
    error: float
    off: float
    parameters: dict[str, float]

    def share(self, size: int) -> float:
        """The share of the population that is unique."""
        return self.estimate / size


def population_uniques(sizes: NDArray[np.int64], size: int) -> PopulationUniques:
    """The estimate by the model that fits: Pitman's if it describes the sample well, otherwise Zayatz's.

    ``sizes`` are the class sizes of the sample, ``size`` is how many people the population has.

    >>> population_uniques(np.array([1, 1, 3]), 5)
    PopulationUniques(model='census', estimate=2.0, error=0.0, off=0.0, parameters={})
    """
    sizes = sizes[sizes > 0]
    sampled = int(sizes.sum())
    if sampled == 0 or size < sampled:
        raise DataError(f"a population of {size:,} people cannot have a sample of {sampled:,}; correct its size")
    alone = int((sizes == 1).sum())
    if size == sampled or alone == 0:
        # a class that is not alone in the sample is not alone in the population, but unseen people may be
        told = "census" if size == sampled else "no sample uniques"
        return PopulationUniques(model=told, estimate=float(alone), error=0.0, off=0.0, parameters={})
    fitted = pitman(sizes, size)
    return fitted if fitted is not None and fitted.off <= _FITS else zayatz(sizes, size)


def zayatz(sizes: NDArray[np.int64], size: int) -> PopulationUniques:
    """The estimate of Zayatz; its error by the delta method, classes taken for independent draws.

    >>> round(zayatz(np.array([1] * 50 + [2] * 25), 1000).estimate, 1)
    263.0
    """
    values, classes = np.unique(sizes, return_counts=True)
    sampled = int(sizes.sum())
    once = np.array([_once(int(j), sampled, size) for j in values])
    seen = float(classes @ once)  # of classes distributed like these, how many show one person
    alone = float(classes[values == 1].sum())
    likely = alone * once[values == 1].sum() / seen  # that a sample unique is unique in the population
    estimate = float(alone * likely * size / sampled)
    # the estimate is c1² / Σ cj Hj up to constants; its logarithm has these derivatives by the counts cj
    slope = np.where(values == 1, 2 / max(alone, 1.0), 0.0) - once / seen
    spread = float(classes @ slope**2) - float(classes @ slope) ** 2 / float(classes.sum())
    parameters = {"likely": float(likely)}
    return PopulationUniques(
        model="zayatz", estimate=estimate, error=estimate * sqrt(max(spread, 0.0)), off=0.0, parameters=parameters
    )


def _once(j: int, sampled: int, size: int) -> float:
    """The probability that a sample shows exactly one of the j people of a class (hypergeometric)."""
    if size - j < sampled - 1:
        return 0.0
    chosen = _log_choose(size - j, sampled - 1) - _log_choose(size, sampled)
    return j * exp(chosen)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def pitman(sizes: NDArray[np.int64], size: int) -> PopulationUniques | None:
    """The estimate by Pitman's model; None if the likelihood has no maximum inside (all alone, or nobody)."""
    sample = _Sample.of(sizes)
    alpha, theta = _fitted(sample)
    if not _LEAST * 2 < alpha < _MOST - _LEAST or not isfinite(theta):
        return None
    estimate = expected_classes(alpha, theta, size, 1)
    shown = [expected_classes(alpha, theta, sample.people, j) for j in range(1, _COMPARED + 1)]
    found = [sample.classes_of(j) for j in range(1, _COMPARED + 1)]
    beyond = (max(abs(e - f) - _CHANCE * sqrt(e), 0.0) / max(e, f, 1.0) for e, f in zip(shown, found, strict=True))
    off = max(beyond)
    error = estimate * sqrt(_log_variance(sample, alpha, theta, size))
    parameters = {"alpha": alpha, "theta": theta}
    return PopulationUniques(model="pitman", estimate=estimate, error=error, off=off, parameters=parameters)


def expected_classes(alpha: float, theta: float, people: int, j: int) -> float:
    """The expected number of classes with j of so many people under Pitman's model.

    >>> round(sum(j * expected_classes(0.4, 3.0, 20, j) for j in range(1, 21)), 9)
    20.0
    """
    told = _log_choose(people, j) + _rising(1 - alpha, j - 1) + _rising(theta + alpha, people - j)
    return exp(told - _rising(theta + 1, people - 1))


def _rising(x: float, times: int) -> float:
    """The logarithm of x (x+1) … with so many factors."""
    return lgamma(x + times) - lgamma(x)


@dataclass(frozen=True)
class _Sample:
    """The class sizes that occur, and how many classes have each."""

    values: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "_Sample":
        return cls(*np.unique(sizes, return_counts=True))

    @property
    def people(self) -> int:
        return int(self.values @ self.classes)

    def classes_of(self, j: int) -> int:
        return int(self.classes[self.values == j].sum())

    def likelihood(self, alpha: float, theta: float) -> float:
        """The logarithm of Pitman's sampling formula, up to a constant."""
        return self._by_sizes(alpha) + self.by_number(alpha, theta)

    def _by_sizes(self, alpha: float) -> float:
        """The part that depends on α alone."""
        return sum(int(c) * _rising(1 - alpha, int(j) - 1) for j, c in zip(self.values, self.classes, strict=True))

    def by_number(self, alpha: float, theta: float) -> float:
        """The part that depends on how many classes there are."""
        more = int(self.classes.sum()) - 1
        return more * log(alpha) + _rising(theta / alpha + 1, more) - _rising(theta + 1, self.people - 1)

    def likelihoods(self, alpha: float, thetas: Sequence[float]) -> list[float]:
        """The same for one α and several θ."""
        sizes = self._by_sizes(alpha)
        return [sizes + self.by_number(alpha, theta) for theta in thetas]


def _fitted(sample: _Sample) -> tuple[float, float]:
    """α and θ of greatest likelihood, on a grid that narrows around the best point; θ > -α."""
    a, t = (_LEAST, _MOST), (-12.0, log(sample.people) + 12.0)  # t is the logarithm of θ + α
    best = (-inf, 0.5, 0.0)
    for _ in range(_ZOOMS):
        best = max(best, *_on_grid(sample, a, t))
        a, t = _around(best[1], a, (_LEAST, _MOST)), _around(best[2], t, (-12.0, log(sample.people) + 12.0))
    return best[1], exp(best[2]) - best[1]


def _on_grid(sample: _Sample, a: tuple[float, float], t: tuple[float, float]) -> Iterator[tuple[float, float, float]]:
    for alpha in np.linspace(*a, _SIDE).tolist():
        places = np.linspace(*t, _SIDE).tolist()
        for place, likely in zip(places, sample.likelihoods(alpha, [exp(p) - alpha for p in places]), strict=True):
            yield likely, alpha, place


def _around(centre: float, span: tuple[float, float], limits: tuple[float, float]) -> tuple[float, float]:
    reach = (span[1] - span[0]) * 0.3
    return max(limits[0], centre - reach), min(limits[1], centre + reach)


def _log_variance(sample: _Sample, alpha: float, theta: float, size: int) -> float:
    """The variance of the logarithm of the estimate: by the curvature of the likelihood in α and log(θ+α)."""
    place, steps = log(theta + alpha), np.array([1e-3 * alpha * (1 - alpha), 1e-3])

    def at(i: float, j: float, measure: str) -> float:
        a, t = alpha + i * steps[0], place + j * steps[1]
        b = exp(t) - a
        return sample.likelihood(a, b) if measure == "fit" else log(expected_classes(a, b, size, 1))

    curve = np.empty((2, 2))
    centre = at(0, 0, "fit")
    curve[0, 0] = at(1, 0, "fit") - 2 * centre + at(-1, 0, "fit")
    curve[1, 1] = at(0, 1, "fit") - 2 * centre + at(0, -1, "fit")
    curve[0, 1] = curve[1, 0] = (at(1, 1, "fit") - at(1, -1, "fit") - at(-1, 1, "fit") + at(-1, -1, "fit")) / 4
    slope = np.array([at(1, 0, "log") - at(-1, 0, "log"), at(0, 1, "log") - at(0, -1, "log")]) / 2
    information = -curve
    if np.linalg.det(information) <= 0 or information[0, 0] <= 0:
        return inf
    return float(slope @ np.linalg.solve(information, slope))
