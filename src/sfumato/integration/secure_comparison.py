"""Which of two secret numbers is greater, and nothing else, after Damgård, Geisler and Krøigaard (2007).

Both numbers are written with digits in base 4: x of the lower party, y of the other. y is greater exactly if at some
place x has the lesser digit and all digits before it are the same, that is, if one of

    c_i = [x_i ≥ y_i] + Σ_{j before i} [x_j ≠ y_j]

is 0; no term is negative, so nothing cancels. The lower party sends, for each of its digits, whether it is at least
1, 2 and 3, each answer encrypted under a fresh key of its own: T_0 = 1, T_1, T_2, T_3, T_4 = 0. From these the other
computes all c_i under encryption, since [x ≥ y] = T_y and [x ≠ y] = 1 − T_y + T_{y+1}. It blinds each c_i so that only
"0 or not" remains, and shuffles them, so that the place of a 0 tells nothing. The lower party sees whether there is a
0 and says who won. (The original has base 2; base 4 needs half as many terms, and these are what costs time.)

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
from sfumato.integration.wire import Message, Reason

WIDEST: Final = 256
_BASE_BITS: Final = 2
_MARKS: Final = 3
"""Answers per digit."""
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
    digits = [number >> place & _MARKS for place in reversed(range(0, bits, _BASE_BITS))]
    return _ask(channel, digits) if channel.party < channel.peer else _answer(channel, digits)


def _ask(channel: Channel, digits: list[int]) -> int:
    """The lower party: encrypt the digits, look for a 0 in the answer, say who won."""
    key = Decryption()
    marks = [key.encrypt(int(digit >= mark)) for digit in digits for mark in range(1, _MARKS + 1)]
    channel.send(Message.COMPARE_DIGITS, key.public + _joined(marks))
    answer = _pairs(split_points(channel.expect(Message.COMPARE_BLINDED, exactly=2 * POINT * len(digits))))
    try:
        zeros = sum(key.is_zero(ciphertext) for ciphertext in answer)
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    if zeros > 1:
        raise channel.fail(Reason.BAD_MESSAGE, "the peer's answer to a comparison contradicts itself")
    winner = channel.peer if zeros else channel.party
    channel.send(Message.COMPARE_WINNER, _WINNER.pack(winner))
    return winner


def _answer(channel: Channel, digits: list[int]) -> int:
    """The other party: compute under encryption, blind, shuffle."""
    payload = channel.expect(Message.COMPARE_DIGITS, exactly=POINT + 2 * POINT * _MARKS * len(digits))
    try:
        public, *points = [check_point(point) for point in split_points(payload)]
        answer = [blinded(term, public) for term in _terms(_pairs(points), digits)]
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    secrets.SystemRandom().shuffle(answer)
    channel.send(Message.COMPARE_BLINDED, _joined(answer))
    (winner,) = _WINNER.unpack(channel.expect(Message.COMPARE_WINNER, exactly=_WINNER.size))
    if winner not in (channel.party, channel.peer):
        raise channel.fail(Reason.BAD_MESSAGE, f"the peer says that party {winner} won a comparison it had no part in")
    return int(winner)


def _terms(marks: list[Ciphertext], digits: list[int]) -> list[Ciphertext]:
    """The encrypted c_i, from the highest place down; the same operations whatever the digits are."""
    terms = []
    differing = ZERO
    for place, y in enumerate(digits):
        steps = (ONE, *marks[place * _MARKS : (place + 1) * _MARKS], ZERO)
        terms.append(steps[y] + differing)
        differing += ONE - steps[y] + steps[y + 1]
    return terms


def _pairs(points: list[bytes]) -> list[Ciphertext]:
    return [Ciphertext(*pair) for pair in zip(points[::2], points[1::2], strict=True)]


def _joined(ciphertexts: list[Ciphertext]) -> bytes:
    return b"".join(part for ciphertext in ciphertexts for part in ciphertext)
