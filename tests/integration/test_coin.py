"""Randomness that neither side shapes."""

import hashlib

import pytest

from integration.parties import converse, together
from integration.tls import QUICK
from sfumato.errors import PeerError
from sfumato.integration.channel import Channel
from sfumato.integration.coin import joint_randomness
from sfumato.integration.memory import in_memory_pair
from sfumato.integration.wire import Message


def draw(channel: Channel) -> bytes:
    return joint_randomness(channel, "rows")


def test_both_draw_the_same_and_never_the_same_again() -> None:
    seen = set()
    for _ in range(20):
        left, right, _, _ = converse(draw, draw)
        assert left == right
        assert len(left) == 32
        seen.add(left)
    assert len(seen) == 20


def test_another_purpose_is_noticed() -> None:
    a, b = in_memory_pair(limits=QUICK)
    ends = together(lambda: joint_randomness(a, "rows"), lambda: joint_randomness(b, "record ids"))
    assert all(isinstance(end, PeerError) for end in ends)


@pytest.mark.parametrize("party", [1, 2])
def test_a_part_that_was_not_promised_is_refused(party: int) -> None:
    """The cheat chooses its part after it has seen the other's."""
    honest, cheat = in_memory_pair(limits=QUICK)[:: 1 if party == 1 else -1]

    def lie() -> None:
        cheat.exchange(Message.COIN_COMMITMENT, bytes(32), exactly=32)
        cheat.exchange(Message.COIN, bytes(32), exactly=32)

    end, _ = together(lambda: draw(honest), lie)
    assert isinstance(end, PeerError)
    assert "did not keep its commitment" in str(end)


def test_repeating_the_other_sides_promise_does_not_help() -> None:
    """Who echoes commitment and part is found out: the commitment names its party."""
    honest, echo = in_memory_pair(limits=QUICK)

    def repeat() -> None:
        echo.send(Message.COIN_COMMITMENT, echo.receive(Message.COIN_COMMITMENT, at_most=32))
        echo.send(Message.COIN, echo.receive(Message.COIN, at_most=32))

    end, _ = together(lambda: draw(honest), repeat)
    assert isinstance(end, PeerError)


def test_a_commitment_tells_nothing_of_its_part() -> None:
    """32 secret bytes are hashed together with the role, the party and the purpose."""
    _, _, a, _ = converse(draw, draw)
    b, c = in_memory_pair(record=True)
    together(lambda: draw(b), lambda: draw(c))
    assert b.transcript is not None
    (_, _, promise), _, (_, _, part), _ = b.transcript
    assert promise != hashlib.sha256(part).digest()
    assert a.sent == b.sent  # always the same number of bytes
