"""Two parties in one process, for tests and trials: the same frames and checks over a pair of plain sockets."""

import socket

from sfumato.integration.channel import Channel, TimeLimits


def in_memory_pair(*, limits: TimeLimits | None = None, record: bool = False) -> tuple[Channel, Channel]:
    """The two ends of a conversation between party A and party B, each for a thread of its own."""
    ours, theirs = socket.socketpair()
    first = Channel(ours, party=1, peer=2, limits=limits, record=record)
    return first, Channel(theirs, party=2, peer=1, limits=limits, record=record)
