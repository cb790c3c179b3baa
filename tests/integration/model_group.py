"""A stand-in for libsodium in which a point is its own logarithm: fast, and everything in it can be decrypted.

The protocols run on it unchanged; with a small order, all draws of a protocol can be enumerated.
"""

from types import SimpleNamespace

from sfumato.integration import curve


def encode(number: int) -> bytes:
    """The point with this logarithm; the neutral element and the generator as on the curve."""
    return {0: curve.NEUTRAL, 1: curve.GENERATOR}.get(number) or number.to_bytes(32, "little")


def decode(point: bytes) -> int:
    """The logarithm of a point."""
    if point == curve.NEUTRAL:
        return 0
    return 1 if point == curve.GENERATOR else int.from_bytes(point, "little")


def model(order: int = curve.ORDER) -> SimpleNamespace:
    """The functions of libsodium that the protocols use, in the additive group modulo the order."""

    def scalar(value: bytes) -> int:
        return int.from_bytes(value, "little") % order

    return SimpleNamespace(
        crypto_scalarmult_ed25519_noclamp=lambda n, p: encode(scalar(n) * decode(p) % order),
        crypto_scalarmult_ed25519_base_noclamp=lambda n: encode(scalar(n)),
        crypto_core_ed25519_add=lambda p, q: encode((decode(p) + decode(q)) % order),
        crypto_core_ed25519_sub=lambda p, q: encode((decode(p) - decode(q)) % order),
        crypto_core_ed25519_scalar_mul=lambda a, b: (scalar(a) * scalar(b) % order).to_bytes(32, "little"),
        crypto_core_ed25519_scalar_add=lambda a, b: ((scalar(a) + scalar(b)) % order).to_bytes(32, "little"),
        crypto_core_ed25519_from_uniform=lambda h: encode(int.from_bytes(h) % order),
        crypto_core_ed25519_is_valid_point=lambda p: decode(p) < order,
    )
