"""The only source of randomness: the operating system's entropy, or a given generator in experiments."""

import math
import os

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.arrange import shuffle


class Draws:
    """The random draws of a job: secret, from the operating system's entropy, or repeatable, from a generator.

    >>> sorted(Draws().order(4).tolist()), Draws(np.random.default_rng(2)).secret
    ([0, 1, 2, 3], False)
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise PolicyError(
                f"rng is {rng!r}; it must be a NumPy generator such as numpy.random.default_rng(1), for experiments, "
                "or left out for secret draws"
            )
        self._rng = rng

    @property
    def secret(self) -> bool:
        """Whether nobody can repeat the draws."""
        return self._rng is None

    def order(self, number: int) -> NDArray[np.int64]:
        """A random permutation."""
        if self._rng is not None:
            return self._rng.permutation(number)
        return shuffle(number, lambda words: np.frombuffer(os.urandom(4 * words), dtype=np.uint32))

    def words(self, number: int) -> NDArray[np.uint64]:
        """Random 64-bit numbers."""
        if self._rng is not None:
            return self._rng.integers(0, 2**64, size=number, dtype=np.uint64)
        return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)

    def bytes(self, number: int) -> NDArray[np.uint8]:
        """Random bytes."""
        return np.frombuffer(os.urandom(number) if self._rng is None else self._rng.bytes(number), dtype=np.uint8)

    def below(self, limits: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each limit a whole number from 0 up to it, uniform except for one part in 2^64 / limit."""
        return (self.words(len(limits)) % limits.astype(np.uint64)).astype(np.int64)

    def two_sided_geometric(self, number: int, epsilon: float) -> NDArray[np.int64]:
        """Integers k with probability proportional to a^|k|, where a is e^-epsilon or minimally more.

        This is discrete Laplace noise. Each number is the difference of two geometric draws, made of coin flips
        with probability a = A / 2^64 for an integer A, so the distribution is exact: no floating point, and no
        truncated tail.
        """
        chance = math.nextafter(math.exp(-epsilon), 1.0)  # the error of exp is smaller than this
        heads = np.uint64(min(math.ceil(chance * 2**64), 2**64 - 1))
        return self._geometric(number, heads) - self._geometric(number, heads)

    def _geometric(self, number: int, heads: np.uint64) -> NDArray[np.int64]:
        """The number of heads before the first tail."""
        found = np.zeros(number, np.int64)
        going = np.arange(number)
        while len(going):
            going = going[self.words(len(going)) < heads]
            found[going] += 1
        return found
