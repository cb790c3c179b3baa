"""The group of prime order inside ed25519, in which the protocols compute, and ElGamal encryption in it.

Points are 32 bytes, scalars 32 bytes below the order, both as libsodium writes them. The discrete logarithm and the
decisional Diffie-Hellman problem are assumed to be hard in this group.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha512
from typing import Final, NamedTuple, TypeVar

from sfumato.errors import PeerError
from sfumato.integration.sodium import bindings

T = TypeVar("T")
U = TypeVar("U")
POINT: Final = 32
NEUTRAL: Final = b"\x01" + bytes(POINT - 1)
GENERATOR: Final = b"\x58" + b"\x66" * 31
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_BITS: Final = (bytes(POINT), b"\x01" + bytes(POINT - 1))
_WORKERS, _SLICE = 8, 256
_HASH_PURPOSE: Final = b"sfumato two publishers v1: key to ed25519\x00"


def random_scalar() -> bytes:
    """Uniform among the scalars except 0, from the operating system's entropy."""
    return (secrets.randbelow(ORDER - 1) + 1).to_bytes(POINT, "little")


def times(scalar: bytes, point: bytes) -> bytes:
    """A multiple of a point. The point must be valid and the scalar not 0; else PeerError."""
    try:
        product: bytes = bindings().crypto_scalarmult_ed25519_noclamp(scalar, point)
    except RuntimeError:
        raise _invalid() from None
    return product


def times_generator(scalar: bytes) -> bytes:
    """A multiple of the generator; the scalar is not 0."""
    product: bytes = bindings().crypto_scalarmult_ed25519_base_noclamp(scalar)
    return product


def plus(p: bytes, q: bytes) -> bytes:
    """The sum of two points that are known to be valid."""
    total: bytes = bindings().crypto_core_ed25519_add(p, q)
    return total


def minus(p: bytes, q: bytes) -> bytes:
    """The difference of two points that are known to be valid."""
    difference: bytes = bindings().crypto_core_ed25519_sub(p, q)
    return difference


def multiply_add(a: bytes, b: bytes, c: bytes) -> bytes:
    """a·b + c of scalars."""
    sodium = bindings()
    scalar: bytes = sodium.crypto_core_ed25519_scalar_add(sodium.crypto_core_ed25519_scalar_mul(a, b), c)
    return scalar


def check_point(point: bytes) -> bytes:
    """Accept a point of a peer: in canonical form, on the curve, of the prime order, and not the neutral one."""
    if not bindings().crypto_core_ed25519_is_valid_point(point):
        raise _invalid()
    return point


def hash_to_point(text: bytes) -> bytes:
    """A point whose logarithm nobody knows: the sum of the images of two independent hashes (as in RFC 9380, 3)."""
    digest = sha512(_HASH_PURPOSE + text).digest()
    sodium = bindings()
    return plus(
        sodium.crypto_core_ed25519_from_uniform(digest[:POINT]), sodium.crypto_core_ed25519_from_uniform(digest[POINT:])
    )


def split_points(payload: bytes) -> list[bytes]:
    """The points of a message, not checked yet."""
    return [payload[at : at + POINT] for at in range(0, len(payload), POINT)]


def in_parallel(work: Callable[[T], U], items: Sequence[T]) -> list[U]:
    """The result of each item, in order. libsodium releases Python's lock, so threads share the work."""
    workers = min(os.cpu_count() or 1, _WORKERS)
    slices = [items[at : at + _SLICE] for at in range(0, len(items), _SLICE)]
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda part: [work(item) for item in part], slices)
        return [result for part in parts for result in part]


class Ciphertext(NamedTuple):
    """(r·G, m·G + r·H): the number m, encrypted for the holder of the logarithm of H."""

    hint: bytes
    masked: bytes

    def __add__(self, other: "Ciphertext") -> "Ciphertext":  # type: ignore[override]
        """The encrypted sum."""
        return Ciphertext(plus(self.hint, other.hint), plus(self.masked, other.masked))

    def __sub__(self, other: "Ciphertext") -> "Ciphertext":
        """The encrypted difference."""
        return Ciphertext(minus(self.hint, other.hint), minus(self.masked, other.masked))


ZERO: Final = Ciphertext(NEUTRAL, NEUTRAL)
ONE: Final = Ciphertext(NEUTRAL, GENERATOR)
"""Public numbers in the form of a ciphertext."""


class Decryption:
    """A fresh key: it encrypts numbers, and reveals about a ciphertext only whether it encrypts 0."""

    def __init__(self) -> None:
        self._secret = random_scalar()
        self.public = times_generator(self._secret)

    def encrypt(self, bit: int) -> Ciphertext:
        """Encrypt 0 or 1, with the same work for both; the owner of the key needs no multiple of an arbitrary point."""
        r = random_scalar()
        return Ciphertext(times_generator(r), times_generator(multiply_add(r, self._secret, _BITS[bit])))

    def is_zero(self, ciphertext: Ciphertext) -> bool:
        """Whether a received ciphertext encrypts 0; both of its points are checked."""
        return times(self._secret, ciphertext.hint) == check_point(ciphertext.masked)


def blinded(ciphertext: Ciphertext, public: bytes) -> Ciphertext:
    """An encryption of 0 if it was one of 0, and of a uniformly random other number if not; nothing else remains.

    The number is multiplied by a random scalar. A fresh encryption of 0 is added first: without it, the holder of the
    key, who knows the randomness of the original encryptions, could test guesses of how they were combined.
    """
    fresh, factor = random_scalar(), random_scalar()
    hint = plus(ciphertext.hint, times_generator(fresh))
    masked = plus(ciphertext.masked, times(fresh, public))
    return Ciphertext(times(factor, hint), times(factor, masked))


def _invalid() -> PeerError:
    return PeerError("the peer sent a point that is not in the group; check that both run the same version of sfumato")
