"""What travels: messages of a known kind, cut into numbered frames that are checked before they are read.

A frame is a header of 22 bytes and at most a MiB of payload:

    magic "SFMT" | version | sender's party number | sequence number | kind | more follows | payload length

Frames of a sender are numbered from 0, so that one that is lost, repeated or out of order is noticed. A message
longer than one frame says so in all but its last frame. The reader states the kind and the greatest length of the
message it expects, and refuses anything else as soon as it has seen the header: nothing is kept or allocated for it.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from sfumato.errors import PeerError

VERSION: Final = 1
"""The version of the protocol; both sides must speak the same."""
PARTIES: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST: Final = 1 << 20
"""The longest payload of one frame, in bytes."""
_MAGIC: Final = b"SFMT"
_HEADER: Final = struct.Struct(">4sHHQBBI")
HEADER_BYTES: Final = _HEADER.size


class Message(IntEnum):
    """What a message is about."""

    HELLO = 1
    ABORT = 2
    ALIVE = 3
    GOODBYE = 4
    AGREEMENT = 10
    COIN_COMMITMENT = 11
    COIN = 12
    RECORD_DIGEST = 20
    KEY_NUMBER = 21
    KEY_POINTS = 22
    KEY_TAGS = 23
    COMPARE_DIGITS = 30
    COMPARE_BLINDED = 31
    COMPARE_WINNER = 32
    INSTRUCTION = 40
    FINISHED = 41
    DIGEST = 42
    RECORD_VALUES = 43


class Reason(IntEnum):
    """Why a side gives up. Only the number travels, so no data can slip into it."""

    FAILED = 1
    CANCELLED = 2
    POLICY_DIFFERS = 3
    DATA_DIFFERS = 4
    BAD_MESSAGE = 5
    BAD_INSTRUCTION = 6
    TIME_LIMIT = 7

    @property
    def words(self) -> str:
        """What to tell the user of the side that is given up."""
        return _REASONS[self]


_REASONS: Final = {
    Reason.FAILED: "it failed; its own message says why",
    Reason.CANCELLED: "it was cancelled there",
    Reason.POLICY_DIFFERS: "its policy does not agree with this one on what both must share",
    Reason.DATA_DIFFERS: "its table does not fit this one",
    Reason.BAD_MESSAGE: "it received a message that it does not accept; check that both run the same version",
    Reason.BAD_INSTRUCTION: "it received an instruction that contradicts its own table or breaks a requirement",
    Reason.TIME_LIMIT: "it waited too long for this side",
}


def letter(party: int) -> str:
    """The name of a party.

    >>> letter(1), letter(2)
    ('A', 'B')
    """
    return PARTIES[party - 1] if 1 <= party <= len(PARTIES) else str(party)


@dataclass(frozen=True, slots=True)
class Header:
    """The first bytes of a frame."""

    version: int
    party: int
    sequence: int
    kind: int
    more: int
    length: int

    def encode(self) -> bytes:
        """The bytes of the header.

        >>> Header(1, 2, 7, Message.HELLO, 0, 5).encode().hex(" ", 2)
        '5346 4d54 0001 0002 0000 0000 0000 0007 0100 0000 0005'
        """
        return _HEADER.pack(_MAGIC, self.version, self.party, self.sequence, self.kind, self.more, self.length)

    @staticmethod
    def decode(data: bytes) -> "Header":
        """Read a header; the fields are not judged yet."""
        magic, *fields = _HEADER.unpack(data)
        if magic != _MAGIC:
            raise PeerError("what arrived is not a sfumato message; check that the address is the other publisher's")
        return Header(*fields)


@dataclass(slots=True)
class Outgoing:
    """Cuts the messages that a party sends into frames, and numbers them."""

    party: int
    sequence: int = 0
    most: int = MOST

    def frames(self, kind: Message, payload: bytes) -> Iterator[bytes]:
        """The frames of a message, ready to be sent."""
        view = memoryview(payload)
        for start in range(0, max(len(payload), 1), self.most):
            part = view[start : start + self.most]
            more = int(start + self.most < len(payload))
            header = Header(VERSION, self.party, self.sequence, kind, more, len(part))
            self.sequence += 1
            yield header.encode() + part


@dataclass(slots=True)
class Incoming:
    """Reads the frames of one peer, in their order."""

    party: int
    sequence: int = 0
    most: int = MOST

    def message(self, read: Callable[[int], bytes], kind: Message, at_most: int) -> bytes | None:
        """The payload of the next message, which must be of this kind and length; None if the peer is only busy.

        ``read`` returns exactly as many bytes as it is asked for, or raises.
        """
        parts: list[bytes] = []
        room = at_most
        while True:
            header = self._header(read, room, kind, first=not parts)
            payload = read(header.length)
            if header.kind == Message.ALIVE:
                return None
            if header.kind == Message.ABORT:
                raise PeerError(f"party {letter(self.party)} gave up: {_reason(payload).words}")
            parts.append(payload)
            room -= header.length
            if not header.more:
                return b"".join(parts)

    def _header(self, read: Callable[[int], bytes], room: int, kind: Message, *, first: bool) -> Header:
        header = Header.decode(read(HEADER_BYTES))
        self._check_sender(header)
        self._check_kind(header, kind, first=first)
        limit = min(self.most, _SHORT.get(header.kind, room))
        if header.length > limit:
            raise PeerError(f"{self._name(header)} has {header.length} bytes; at most {limit} are allowed here")
        if (header.more and header.length != self.most) or (header.length == 0 and not first and header.kind == kind):
            raise PeerError(f"{self._name(header)} is cut into frames of the wrong length")
        self.sequence += 1
        return header

    def _check_sender(self, header: Header) -> None:
        if header.version != VERSION:
            raise PeerError(
                f"party {letter(self.party)} speaks version {header.version} of the protocol, this side version "
                f"{VERSION}; install the same version of sfumato on both sides"
            )
        if header.party != self.party:
            raise PeerError(
                f"a message claims to be from party {letter(header.party)}; this connection is with party "
                f"{letter(self.party)}"
            )
        if header.sequence != self.sequence:
            raise PeerError(
                f"message {header.sequence} of party {letter(self.party)} arrived where message {self.sequence} was "
                "due: it was repeated, lost or reordered"
            )

    def _check_kind(self, header: Header, kind: Message, *, first: bool) -> None:
        steers = header.kind == Message.ABORT or (header.kind == Message.ALIVE and first and kind != Message.HELLO)
        if header.kind != kind and not steers:
            raise PeerError(f"{self._name(header)} arrived where {kind.name} was due")
        if header.more not in (0, 1) or (header.more and header.kind in _SHORT):
            raise PeerError(f"{self._name(header)} has an unknown mark {header.more}")

    def _name(self, header: Header) -> str:
        kind = Message(header.kind).name if header.kind in _KINDS else f"of unknown kind {header.kind}"
        return f"a message {kind} of party {letter(self.party)}"


_SHORT: Final[dict[int, int]] = {Message.HELLO: 6, Message.ABORT: 1, Message.ALIVE: 0, Message.GOODBYE: 0}
"""The lengths of the messages that control the connection."""
_KINDS: Final = frozenset(Message)
_CODES: Final = frozenset(Reason)


def _reason(payload: bytes) -> Reason:
    code = payload[0] if payload else Reason.FAILED
    return Reason(code) if code in _CODES else Reason.FAILED
