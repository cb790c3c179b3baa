"""Which of two secret numbers is greater, and nothing else: the comparison of Damgård, Geisler and Krøigaard (2007).

With x of the lower party and y of the other as strings of bits, y is greater exactly if there is a position i with
x_i = 0, y_i = 1 and x_j = y_j at all higher positions j, that is, if one of

    c_i = 1 + x_i − y_i + Σ_{j>i} (x_j ⊕ y_j)

is 0; no term is negative, so nothing cancels. The lower party sends its bits, each encrypted under a fresh key of its
own. The other computes all c_i under encryption, blinds each so that only "0 or not" remains, and shuffles them, so
that the place of a 0 tells nothing. The lower party sees whether there is a 0 and says who won.

Each learns who won and nothing else, if both follow the protocol. All messages have the same size for all numbers,
and both sides do the same work for all numbers.
"""

import secrets
import struct
from typing import Final

from sfumato.errors import PeerError, PolicyError
from sfumato.integration.channel import Channel
from sfumato.integration.curve import (
    ONE,
    POINT,
    ZERO,
    Ciphertext,
    Decryption,
    blinded,
    check_point,
    split_points,
)
from sfumato.integration.wire import Kind, Reason

WIDEST: Final = 256
_WINNER: Final = struct.Struct(">H")


def greater(channel: Channel, value: int | None, *, bits: int) -> int:
    """The number of the party with the greater value; the same on both sides. The lower party wins a tie.

    A value is from 1 to 2^bits − 1; None stands for less than any of them.
    """
    if not 1 <= bits <= WIDEST:
        raise PolicyError(f"numbers of {bits} bits cannot be compared; the width must be in 1..{WIDEST}")
    number = 0 if value is None else value
    if number >> bits or number < 0 or value == 0:
        raise PolicyError(f"a compared value does not fit; it must be at least 1 and less than 2^{bits}")
    digits = [number >> place & 1 for place in reversed(range(bits))]
    return _ask(channel, digits) if channel.party < channel.peer else _answer(channel, digits)


def _ask(channel: Channel, digits: list[int]) -> int:
    """The lower party: encrypt the bits, look for a 0 in the answer, say who won."""
    key = Decryption()
    encrypted = [key.encrypt(digit) for digit in digits]
    channel.send(Kind.COMPARE_BITS, key.public + b"".join(part for pair in encrypted for part in pair))
    answer = _ciphertexts(channel.expect(Kind.COMPARE_BLINDED, exactly=2 * POINT * len(digits)))
    try:
        zeros = sum(key.is_zero(ciphertext) for ciphertext in answer)
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    if zeros > 1:
        raise channel.fail(Reason.BAD_MESSAGE, "the peer's answer to a comparison contradicts itself")
    winner = channel.peer if zeros else channel.party
    channel.send(Kind.COMPARE_WINNER, _WINNER.pack(winner))
    return winner


def _answer(channel: Channel, digits: list[int]) -> int:
    """The other party: compute under encryption, blind, shuffle."""
    payload = channel.expect(Kind.COMPARE_BITS, exactly=POINT + 2 * POINT * len(digits))
    try:
        points = [check_point(point) for point in split_points(payload)]
        terms = _terms(_pairs(points[1:]), digits)
        answer = [blinded(term, points[0]) for term in terms]
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    secrets.SystemRandom().shuffle(answer)
    channel.send(Kind.COMPARE_BLINDED, b"".join(part for pair in answer for part in pair))
    (winner,) = _WINNER.unpack(channel.expect(Kind.COMPARE_WINNER, exactly=_WINNER.size))
    if winner not in (channel.party, channel.peer):
        raise channel.fail(Reason.BAD_MESSAGE, f"the peer says that party {winner} won a comparison without it")
    return int(winner)


def _terms(theirs: list[Ciphertext], digits: list[int]) -> list[Ciphertext]:
    """The encrypted c_i, from the highest place down; the same operations whatever the digits are."""
    terms = []
    differing = ZERO
    for x, y in zip(theirs, digits, strict=True):
        terms.append(x + (ONE, ZERO)[y] + differing)
        differing += (x, ONE - x)[y]
    return terms


def _ciphertexts(payload: bytes) -> list[Ciphertext]:
    return _pairs(split_points(payload))


def _pairs(points: list[bytes]) -> list[Ciphertext]:
    return [Ciphertext(*pair) for pair in zip(points[::2], points[1::2], strict=True)]
