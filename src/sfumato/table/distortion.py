"""How the values of one attribute are randomized: the distortion matrix, public and exact."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.noise import Noise, product, replaced, replaced_by

Floats = NDArray[np.float64]

WORDS = 1 << 32
"""A random word has 32 bits: probabilities are multiples of 1 / WORDS, so that values are drawn exactly as stated."""

_WORST_CONDITION = 1e9
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Distortion:
    """Pr(shown u | true v) of an attribute with ``size`` values: each value is kept with probability p, and all
    other values are equally likely (Guo, Ying, Wu, Eq. 1), or a ``matrix`` whose columns sum to 1 (PRAM).

    Probabilities are rounded to multiples of 2^-32, always towards more randomness if there is one keep
    probability, so that values are drawn from exactly the stated matrix.

    >>> d = Distortion.keeping(0.75, 3, what="sex")
    >>> d.matrix.round(3).tolist(), round(d.epsilon, 3), round(d.noise, 2)
    ([[0.75, 0.125, 0.125], [0.125, 0.75, 0.125], [0.125, 0.125, 0.75]], 1.792, 6.12)
    """

    size: int
    share: int | None
    ends: NDArray[np.int64] | None = None

    @classmethod
    def keeping(cls, keep: float, size: int, *, what: str) -> "Distortion":
        """Each value is kept with probability ``keep``, otherwise one of the others is drawn."""
        if isinstance(keep, bool) or not isinstance(keep, int | float | np.number) or not 0 <= keep <= 1:
            raise PolicyError(f"{what}: the keep probability is {keep!r}; it must be in (1/{size}, 1]")
        if size > 1 and keep * size <= 1:
            raise PolicyError(
                f"{what}: the keep probability {keep:.6g} is not above 1/{size}, so the release would say "
                f"nothing about it; raise it above {1 / size:.6g}, or leave the column out"
            )
        share = 0 if size == 1 else int(np.ceil((1.0 - float(keep)) * WORDS / (size - 1) - _ROUNDING))
        if size > 1 and share * size >= WORDS:
            raise PolicyError(f"{what}: the keep probability {keep!r} is within 2^-32 of 1/{size}; raise it")
        return cls(size, share)

    @classmethod
    def retaining(cls, p: Fraction, size: int) -> "Distortion":
        """Each value is kept with probability ``p``, else drawn from all values including itself (PG, Equation 11).

        At p = 0 the shown value does not depend on the true one at all.

        >>> Distortion.retaining(Fraction(1, 2), 2).matrix.tolist(), Distortion.retaining(Fraction(0), 3).epsilon
        ([[0.75, 0.25], [0.25, 0.75]], 0.0)
        """
        if p == 0:
            return cls(size, None, _ends(np.full((size, size), 1 / size)))
        return cls(size, math.ceil((1 - p) * WORDS / size))

    @classmethod
    def given(cls, rows: object, size: int, *, what: str) -> "Distortion":
        """A given matrix: ``rows[u][v]`` is Pr(shown u | true v)."""
        matrix = _numbers(rows, size, what)
        return cls(size, None, _ends(matrix))

    @classmethod
    def from_entry(cls, entry: object, size: int, *, what: str) -> "Distortion":
        """The distortion that a manifest states."""
        if not isinstance(entry, Mapping) or len(entry.keys() & {"keep", "matrix"}) != 1:
            raise PolicyError(f"{what} must have either a keep probability or a matrix, not both")
        if "keep" in entry:
            return cls.keeping(entry["keep"], size, what=what)
        return cls.given(entry["matrix"], size, what=what)

    def entry(self) -> dict[str, Any]:
        """The distortion as the manifest states it."""
        return {"keep": self.keep} if self.share is not None else {"matrix": self.matrix.tolist()}

    @property
    def keep(self) -> float:
        """The least probability with which a value is kept."""
        if self.share is None:
            return float(np.diag(self.matrix).min())
        return 1.0 - (self.size - 1) * self.share / WORDS

    @property
    def retained(self) -> float:
        """c of P = c I + (1 - c)/d J: the share that is always kept (1 if there is one value)."""
        return 1.0 - self.size * (self.share or 0) / WORDS

    @cached_property
    def matrix(self) -> Floats:
        """The matrix itself; its columns sum to 1."""
        if self.ends is not None:
            steps: NDArray[np.int64] = np.diff(self.ends, axis=1, prepend=0)
            return np.asarray(np.ascontiguousarray(steps.T) / WORDS)
        q = (self.share or 0) / WORDS
        return np.asarray(np.full((self.size, self.size), q) + (self.keep - q) * np.eye(self.size))

    @cached_property
    def inverse(self) -> Floats:
        """Its inverse (Lemma 4 if there is one keep probability)."""
        if self.share is None:
            return np.asarray(np.linalg.inv(self.matrix), np.float64)
        q = self.share / WORDS
        return (np.eye(self.size) - q) / self.retained

    @property
    def noise(self) -> float:
        """The squared Frobenius norm of the inverse, the factor in Result 2: d if nothing is changed."""
        if self.share is None:
            return float((self.inverse**2).sum())
        return 1.0 + (self.size - 1) / self.retained**2

    @property
    def epsilon(self) -> float:
        """The greatest log ratio within a row of the matrix; infinite if some true value rules out a shown one.

        It is the ε of local differential privacy if the matrix does not depend on the private table.
        """
        if self.size == 1:
            return 0.0
        if self.share is not None:
            return float(np.log(self.keep * WORDS / self.share)) if self.share else float("inf")
        low, high = self.matrix.min(axis=1), self.matrix.max(axis=1)
        if (low[high > 0] == 0).any():
            return float("inf")
        return float(np.log(high[high > 0] / low[high > 0]).max())

    @property
    def changes(self) -> bool:
        """Whether any value is ever changed."""
        if self.share is not None:
            return self.share != 0
        return bool((np.diag(self.matrix) < 1).any())

    @property
    def is_random(self) -> bool:
        """Whether any draw is random: a matrix of zeros and ones merely renames values, and can be undone."""
        if self.share is not None:
            return self.share != 0
        return bool(((self.matrix > 0) & (self.matrix < 1)).any())

    def draw(self, codes: NDArray[Any], noise: Noise) -> NDArray[Any]:
        """Randomize codes; ``noise`` returns fresh random bytes."""
        if not self.changes:
            return codes
        if self.share is not None:
            return replaced(codes, noise, self.share, self.size)
        assert self.ends is not None
        return replaced_by(codes, noise, self.ends)


def _numbers(rows: object, size: int, what: str) -> Floats:
    """A given matrix, if values can be drawn from it and it can be undone."""
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (size, size):
        raise PolicyError(f"{what}: the matrix must be {size} x {size} numbers, one row and one column per value")
    if not np.isfinite(matrix).all() or (matrix < 0).any() or (matrix > 1).any():
        raise PolicyError(f"{what}: the matrix has entries that are not probabilities; they must be in [0, 1]")
    if np.abs(matrix.sum(axis=0) - 1).max() > _ROUNDING:
        turned = np.abs(matrix.sum(axis=1) - 1).max() <= _ROUNDING
        remedy = "transpose it, since its rows do" if turned else "make each column sum to 1"
        raise PolicyError(
            f"{what}: the matrix is not stochastic: column v must hold the probabilities of the values shown for v, "
            f"but its columns sum to {', '.join(f'{s:.10g}' for s in matrix.sum(axis=0)[:5])}, not 1; {remedy}"
        )
    if not _invertible(matrix):
        raise PolicyError(
            f"{what}: the matrix is not invertible, so the distribution could not be reconstructed; "
            "make its columns differ more"
        )
    return matrix


def _ends(matrix: Floats) -> NDArray[np.int64]:
    """Cumulative probabilities of each column in units of 2^-32, by largest remainders; they sum to 2^32 exactly."""
    exact = matrix.T / matrix.sum(axis=0)[:, None] * WORDS
    units = np.floor(exact).astype(np.int64)
    for v, column in enumerate(exact - units):
        missing = WORDS - int(units[v].sum())
        order = np.argsort(-column, kind="stable")
        possible = [u for u in order if matrix[u, v] > 0]
        for u in possible[:missing]:
            units[v, u] += 1
    return np.cumsum(units, axis=1)


def distorted(
    x: Floats, sizes: Sequence[int], ways: Sequence[Distortion], *, power: int = 1, undo: bool = False
) -> Floats:
    """The product of all matrices with a table: one pass per attribute, never a D x D matrix (Lemma 2).

    ``x`` is flat in row-major order; ``power`` 2 squares each entry of the matrices and transposes them,
    as Equation 9 requires; ``undo`` uses the inverses. With both: the squared inverses, not transposed.
    """
    shape = tuple(sizes)
    if all(w.share is not None for w in ways):
        own, every = np.array([_two_numbers(w, power, undo) for w in ways]).reshape(-1, 2).T.copy()
        return product(x, np.array(shape, np.int64), own, every)
    table = x.reshape(shape)
    for axis, way in enumerate(ways):
        matrix = (way.inverse if undo else way.matrix) ** power
        along = matrix if undo or power == 1 else matrix.T
        table = np.moveaxis(np.tensordot(along, table, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(table).ravel()


def _two_numbers(way: Distortion, power: int, undo: bool) -> tuple[float, float]:
    """The coefficients of the matrix written as own I + every J (J: all ones)."""
    q, c = (way.share or 0) / WORDS, way.retained
    own, every = (1.0 / c, -q / c) if undo else (c, q)
    return (own, every) if power == 1 else ((own + every) ** 2 - every**2, every**2)


def _invertible(matrix: Floats) -> bool:
    return bool(np.linalg.cond(matrix) <= _WORST_CONDITION)


def inverse_of(matrix: Floats) -> Floats | None:
    """The inverse; None if there is none, or if it would magnify rounding errors beyond use."""
    return np.asarray(np.linalg.inv(matrix), np.float64) if _invertible(matrix) else None


def retention_matrix(p: float, size: int) -> Floats:
    """The matrix of perturbed generalization (Equation 11): kept with probability p, else drawn from the whole domain.

    >>> retention_matrix(0.5, 2).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    return np.asarray(p * np.eye(size) + (1 - p) / size)


def stated(matrices: object, domains: Mapping[str, Sequence[Any] | None]) -> dict[str, Distortion]:
    """The distortion of every attribute with a domain, as a manifest states it; without a matrix nothing is changed.

    ``domains`` are those of all attributes, None for attributes that have none.
    """
    if not isinstance(matrices, Mapping):
        raise PolicyError("the manifest does not state matrices")
    if strange := [n for n in matrices if n not in domains]:
        raise PolicyError(f"the manifest has a matrix for {strange[0]!r}, which is not an attribute")
    found = {}
    for name, domain in domains.items():
        if name in matrices and (domain is None or len(set(map(str, domain))) < max(len(domain), 1)):
            raise PolicyError(f"the manifest does not state a domain of distinct values for {name!r}")
        if domain:
            entry = matrices.get(name, {"keep": 1.0})
            found[name] = Distortion.from_entry(entry, len(domain), what=f"the matrix of {name!r}")
    return found
