"""Messages of the right kind with mutated contents: each protocol ends with a result or with a PeerError in words."""

import random
from collections.abc import Callable

import pytest

from integration.parties import together
from integration.tls import QUICK
from sfumato.errors import PeerError
from sfumato.integration.alignment import by_intersection, by_record_id
from sfumato.integration.channel import Channel
from sfumato.integration.coin import joint_randomness
from sfumato.integration.memory import in_memory_pair
from sfumato.integration.secure_comparison import greater
from sfumato.integration.wire import Message

PROTOCOLS: dict[str, tuple[Callable[[Channel], object], tuple[int, int]]] = {
    "comparison": (lambda channel: greater(channel, 2, bits=3), (2, 1)),
    "coin": (lambda channel: joint_randomness(channel, "rows"), (2, 2)),
    "record ids": (lambda channel: by_record_id(channel, ["1", "2", "3"]), (3, 3)),
    "intersection": (lambda channel: by_intersection(channel, ["1", "2", "3"]), (3, 3)),
}
"""Each with the number of messages that A and B send."""


class Liar:
    """Sends the truth up to some message, and mutants from there on."""

    def __init__(self, channel: Channel, rng: random.Random, truths: int) -> None:
        self._send, self._rng, self._truths = channel.send, rng, truths

    def send(self, kind: Message, payload: bytes) -> None:
        self._truths -= 1
        self._send(kind, payload if self._truths >= 0 else mutated(self._rng, payload))


def mutated(rng: random.Random, payload: bytes) -> bytes:
    """Bits flipped, bytes set, pieces cut out, moved, repeated or replaced."""
    at, size = rng.randrange(len(payload) + 1), rng.choice([1, 8, 16, 32, 64])
    kind = rng.randrange(6)
    if kind == 0 and payload:
        at = min(at, len(payload) - 1)
        return payload[:at] + bytes([payload[at] ^ 1 << rng.randrange(8)]) + payload[at + 1 :]
    if kind == 1:
        return payload[:at] + payload[at + size :]
    if kind == 2:
        return payload[:at] + payload[at : at + size] + payload[at:]
    if kind == 3:
        return payload[:at] + rng.randbytes(len(payload[at : at + size])) + payload[at + size :]
    if kind == 4:
        return payload[:at] + bytes(len(payload[at : at + size])) + payload[at + size :]
    return payload[size:] + payload[:size]


@pytest.mark.parametrize("liar", [0, 1])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_peer_whose_messages_are_mutated(protocol: str, liar: int) -> None:
    rng = random.Random(f"{protocol} {liar}")
    work, messages = PROTOCOLS[protocol]
    refused = 0
    for _ in range(60):
        ends = in_memory_pair(limits=QUICK)
        ends[liar].send = Liar(ends[liar], rng, rng.randrange(messages[liar])).send  # type: ignore[method-assign]
        found = together(*(lambda end=end: _finish(end, work) for end in ends))
        honest = found[1 - liar]
        if isinstance(honest, PeerError):
            refused += 1
            assert 20 < len(str(honest)) < 400
        else:
            assert not isinstance(honest, BaseException), honest
    assert refused > 20


def _finish(channel: Channel, work: Callable[[Channel], object]) -> object:
    try:
        return work(channel)
    finally:
        channel._shut()
