"""Randomness that two parties make together, so that neither shapes it: commit, then reveal (Blum 1981)."""

import hashlib
import hmac
import secrets
from typing import Final

from sfumato.integration.channel import Channel
from sfumato.integration.wire import Message, Reason, letter

_BYTES: Final = 32


def joint_randomness(channel: Channel, purpose: str) -> bytes:
    """32 random bytes, the same on both sides: uniform if at least one side draws its part at random.

    Each commits to its part before it sees the other's. A side that does not like the outcome can only give up.
    """
    mine = secrets.token_bytes(_BYTES)
    promise = channel.exchange(Message.COIN_COMMITMENT, _commitment(channel.party, purpose, mine), exactly=_BYTES)
    theirs = channel.exchange(Message.COIN, mine, exactly=_BYTES)
    if not hmac.compare_digest(promise, _commitment(channel.peer, purpose, theirs)):
        words = f"party {letter(channel.peer)} did not keep its commitment when the joint random numbers were drawn"
        raise channel.fail(Reason.BAD_MESSAGE, words)
    parts = (mine, theirs) if channel.party < channel.peer else (theirs, mine)
    return _hash("coin", purpose, *parts)


def _commitment(party: int, purpose: str, part: bytes) -> bytes:
    return _hash("commitment", f"{party} {purpose}", part)


def _hash(role: str, purpose: str, *parts: bytes) -> bytes:
    """A hash that is different for each role and purpose."""
    name = f"sfumato two publishers v1: {role}: {purpose}".encode()
    return hashlib.sha256(hashlib.sha256(name).digest() + b"".join(parts)).digest()
