"""Mutated frames: whatever bytes arrive, the reader returns what was sent or refuses in words, as a naive twin does.

The same seed gives the same mutants.
"""

import io
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from fuzz.summary import Summary
from sfumato.errors import PeerError
from sfumato.integration.wire import HEADER_BYTES, VERSION, Incoming, Message, Outgoing

MOST = 24
"""A short frame, so that long messages have several."""
SENDER = 2
_KINDS = (
    Message.AGREEMENT,
    Message.COIN,
    Message.KEY_POINTS,
    Message.COMPARE_DIGITS,
    Message.INSTRUCTION,
    Message.DIGEST,
)
_EXTREMES = (0, 1, 2, MOST - 1, MOST, MOST + 1, 255, 256, 2**16 - 1, 2**31, 2**32 - 1, 2**64 - 1)
_FIELDS = ((0, 4), (4, 2), (6, 2), (8, 8), (16, 1), (17, 1), (18, 4))
_LENGTHS = (0, 1, 5, MOST, MOST + 1, 2 * MOST, 70)
_LONGEST_MESSAGE = 600


class Due(NamedTuple):
    """A message that the reader waits for."""

    kind: Message
    at_most: int


class Talk(NamedTuple):
    """What a party sends, frame by frame, and what the other waits for."""

    frames: list[bytes]
    due: list[Due]


def talk(rng: Random) -> Talk:
    """A short conversation, now and then with signs of life and an abort."""
    outgoing = Outgoing(SENDER, most=MOST)
    frames: list[bytes] = []
    due = []
    for _ in range(rng.randrange(1, 5)):
        if rng.random() < 0.2:
            frames += outgoing.frames(Message.ALIVE, b"")
        if rng.random() < 0.05:
            frames += outgoing.frames(Message.ABORT, bytes([rng.randrange(256)]))
        kind = _KINDS[rng.randrange(len(_KINDS))]
        payload = rng.randbytes(rng.choice(_LENGTHS))
        frames += outgoing.frames(kind, payload)
        due.append(Due(kind, len(payload) + rng.randrange(0, 3)))
    return Talk(frames, due)


def heard(stream: bytes, due: list[Due]) -> list[bytes]:
    """What the reader under test makes of a stream: the payloads up to the first refusal."""
    source = io.BytesIO(stream)
    incoming = Incoming(SENDER, most=MOST)
    found: list[bytes] = []

    def read(number: int) -> bytes:
        assert number <= max(MOST, HEADER_BYTES), "more is read than a frame can have"
        data = source.read(number)
        if len(data) < number:
            raise EOFError
        return data

    try:
        for kind, at_most in due:
            while (payload := incoming.message(read, kind, at_most)) is None:
                pass
            found.append(payload)
    except EOFError:
        pass
    except PeerError as error:
        if not 20 < len(str(error)) < _LONGEST_MESSAGE:
            raise AssertionError("not a readable sentence") from error
    return found


def naive(stream: bytes, due: list[Due]) -> list[bytes]:
    """The same, by the definition: split everything into frames first, then match them with what is due."""
    found = []
    frames = _split(stream)
    for kind, at_most in due:
        payload = b""
        started = False
        while True:
            frame = next(frames, None)
            if frame is None or frame.kind == Message.ABORT:
                return found
            if frame.kind == Message.ALIVE and not started and not frame.payload and not frame.more:
                continue
            whole = MOST if frame.more else None
            size = len(frame.payload)
            if frame.kind != kind or size != (whole or size) or (started and not size):
                return found
            payload += frame.payload
            if len(payload) > at_most:
                return found
            started = True
            if not frame.more:
                break
        found.append(payload)
    return found


class _Frame(NamedTuple):
    kind: int
    more: bool
    payload: bytes


def _split(stream: bytes) -> Iterator[_Frame]:
    at = sequence = 0
    while at + 22 <= len(stream):
        head = stream[at : at + 22]
        if head[:4] != b"SFMT" or head[4:8] != struct.pack(">HH", VERSION, SENDER) or head[17] > 1:
            return
        if int.from_bytes(head[8:16]) != sequence or int.from_bytes(head[18:22]) > MOST:
            return
        end = at + 22 + int.from_bytes(head[18:22])
        if end > len(stream):
            return
        yield _Frame(head[16], bool(head[17]), stream[at + 22 : end])
        at, sequence = end, sequence + 1


def _flip(rng: Random, frames: list[bytes]) -> bytes:
    stream = bytearray(b"".join(frames))
    for _ in range(rng.randrange(1, 4)):
        stream[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)
    return bytes(stream)


def _set_field(rng: Random, frames: list[bytes]) -> bytes:
    at = rng.randrange(len(frames))
    start, size = _FIELDS[rng.randrange(len(_FIELDS))]
    value = _EXTREMES[rng.randrange(len(_EXTREMES))] % 256**size
    frames[at] = frames[at][:start] + value.to_bytes(size) + frames[at][start + size :]
    return b"".join(frames)


def _repeat(rng: Random, frames: list[bytes]) -> bytes:
    frames.insert(rng.randrange(len(frames) + 1), frames[rng.randrange(len(frames))])
    return b"".join(frames)


def _swap(rng: Random, frames: list[bytes]) -> bytes:
    i, j = rng.randrange(len(frames)), rng.randrange(len(frames))
    frames[i], frames[j] = frames[j], frames[i]
    return b"".join(frames)


def _drop(rng: Random, frames: list[bytes]) -> bytes:
    del frames[rng.randrange(len(frames))]
    return b"".join(frames)


def _truncate(rng: Random, frames: list[bytes]) -> bytes:
    stream = b"".join(frames)
    return stream[: rng.randrange(len(stream))]


def _insert(rng: Random, frames: list[bytes]) -> bytes:
    stream = b"".join(frames)
    at = rng.randrange(len(stream) + 1)
    return stream[:at] + rng.randbytes(rng.randrange(1, 30)) + stream[at:]


def _cut_out(rng: Random, frames: list[bytes]) -> bytes:
    stream = b"".join(frames)
    at = rng.randrange(len(stream))
    return stream[:at] + stream[at + rng.randrange(1, 30) :]


def _noise(rng: Random, frames: list[bytes]) -> bytes:
    return (b"SFMT" if rng.random() < 0.5 else b"") + rng.randbytes(rng.randrange(0, 200))


def _leave(rng: Random, frames: list[bytes]) -> bytes:
    return b"".join(frames)


MUTATIONS: tuple[Callable[[Random, list[bytes]], bytes], ...] = (
    _flip, _set_field, _set_field, _repeat, _swap, _drop, _truncate, _insert, _cut_out, _noise, _leave,
)  # fmt: skip


def run(count: int, seed: int) -> Summary:
    """Feed that many mutants to the reader and to its twin."""
    rng = Random(seed)
    summary = Summary()
    for number in range(count):
        frames, due = talk(rng)
        mutate = MUTATIONS[rng.randrange(len(MUTATIONS))]
        stream = mutate(rng, frames)
        summary.inputs += 1
        try:
            found = heard(stream, due)
        except Exception as error:
            summary.tracebacks += 1
            summary.failures.append(f"{number} {mutate.__name__}: {type(error).__name__}: {error}")
            continue
        if found != naive(stream, due):
            summary.wrong += 1
            summary.failures.append(f"{number} {mutate.__name__}: the twin reads something else")
        elif len(found) == len(due):
            summary.accepted += 1
        else:
            summary.clean += 1
    return summary
