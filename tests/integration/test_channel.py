"""A conversation over TLS: whatever goes wrong ends in words, within its limit, with nothing secret in them."""

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from integration.parties import together
from integration.tls import QUICK, Listening, credentials, hang_up, meet, raw_peer, within
from sfumato.errors import PeerError, PolicyError
from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.connection import connect
from sfumato.integration.memory import in_memory_pair
from sfumato.integration.wire import HEADER_BYTES, MOST, VERSION, Header, Message, Outgoing, Reason

SECRET = b"HIV-positive-4711"
BRIEF = replace(QUICK, silence=0.4)
PATIENT = replace(QUICK, silence=3.0)


def puppet(limits: TimeLimits = QUICK) -> tuple[Channel, Callable[[bytes], int], Outgoing, Callable[[], None]]:
    """Party A, and the means to send it any bytes as party B after the greeting, from which on the limits hold."""
    waiting = Listening()
    stream = raw_peer(waiting.address)
    outgoing = Outgoing(2)
    for frame in outgoing.frames(Message.HELLO, b"\x00\x02\x00\x00\x27\x10"):
        stream.sendall(frame)
    a = waiting.channel()
    a.limits = limits
    return a, stream.write, outgoing, stream.close


def frame(outgoing: Outgoing, kind: Message, payload: bytes) -> bytes:
    (only,) = outgoing.frames(kind, payload)
    return only


def refusal(channel: Channel, *, seconds: float = 60.0, at_most: int = 100, kind: Message = Message.AGREEMENT) -> str:
    """What party A says of what it received; it must say it in time, close, and give nothing away."""
    end = within(seconds, lambda: channel.receive(kind, at_most=at_most))
    assert isinstance(end, PeerError), end
    assert SECRET.decode() not in str(end)
    with pytest.raises(PeerError, match="is closed"):
        channel.send(Message.DIGEST, b"")
    return str(end)


def test_messages_of_all_lengths_arrive_as_they_were_sent() -> None:
    a, b = meet()
    for size in (0, 1, 17, MOST - 1, MOST, MOST + 1, 3 * MOST + 5):
        payload = bytes(range(256)) * (size // 256 + 1)
        payload = payload[:size]
        sent, got = together(
            lambda p=payload: a.send(Message.DIGEST, p), lambda n=size: b.receive(Message.DIGEST, at_most=n)
        )
        assert sent is None
        assert got == payload
    assert a.sent == b.received > 6 * MOST
    hang_up(a, b)


def test_an_exchange_of_long_messages_does_not_block_itself() -> None:
    a, b = meet()
    long = bytes(5 * MOST)
    got = together(
        lambda: a.exchange(Message.DIGEST, long + b"a", at_most=6 * MOST),
        lambda: b.exchange(Message.DIGEST, long + b"b", at_most=6 * MOST),
    )
    assert got == (long + b"b", long + b"a")
    hang_up(a, b)


def test_a_truncated_message() -> None:
    a, write, outgoing, close = puppet()
    write(frame(outgoing, Message.AGREEMENT, SECRET)[:-3])
    close()
    assert "party B closed the connection before the end" in refusal(a)


def test_a_replayed_message() -> None:
    a, write, outgoing, _ = puppet()
    first = frame(outgoing, Message.AGREEMENT, SECRET)
    write(first + first)
    assert a.receive(Message.AGREEMENT, at_most=100) == SECRET
    assert "message 1 of party B arrived where message 2 was due: it was repeated, lost or reordered" in refusal(a)


def test_reordered_messages() -> None:
    a, write, outgoing, _ = puppet()
    first, second = (frame(outgoing, Message.AGREEMENT, SECRET) for _ in range(2))
    write(second + first)
    assert "arrived where message 1 was due" in refusal(a)


def test_an_oversize_message_is_refused_before_it_is_read() -> None:
    a, write, outgoing, _ = puppet()
    write(frame(outgoing, Message.AGREEMENT, SECRET * 10)[:HEADER_BYTES])  # the payload never comes
    assert "has 170 bytes; at most 100 are allowed here" in refusal(a)
    a, write, outgoing, _ = puppet()
    write(Header(VERSION, 2, 1, Message.AGREEMENT, 0, 2**32 - 1).encode())
    assert "has 4294967295 bytes; at most 1048576" in refusal(a, at_most=1 << 40)


def test_many_frames_do_not_get_around_the_limit() -> None:
    a, write, outgoing, _ = puppet()
    frames = list(outgoing.frames(Message.AGREEMENT, bytes(3 * MOST)))
    end, _ = together(
        lambda: refusal(a, at_most=2 * MOST), lambda: [write(frames[0]), write(frames[1]), write(frames[2])]
    )
    assert "has 1048576 bytes; at most 0 are allowed here" in str(end)


def test_another_kind_version_party_and_no_message_at_all() -> None:
    for data, words in (
        (
            Header(VERSION, 2, 1, Message.COIN, 0, 0).encode(),
            "a message COIN of party B arrived where AGREEMENT was due",
        ),
        (Header(VERSION, 2, 1, 99, 0, 0).encode(), "of unknown kind 99"),
        (Header(VERSION + 1, 2, 1, Message.AGREEMENT, 0, 0).encode(), "install the same version"),
        (Header(VERSION, 3, 1, Message.AGREEMENT, 0, 0).encode(), "claims to be from party C"),
        (Header(VERSION, 2, 1, Message.AGREEMENT, 7, 0).encode(), "unknown mark 7"),
        (b"x" * HEADER_BYTES, "not a sfumato message"),
    ):
        a, write, _, _ = puppet()
        write(data)
        assert words in refusal(a)


def test_a_peer_of_another_version_is_told_apart_at_the_greeting() -> None:
    waiting = Listening(limits=TimeLimits(waiting=5.0, farewell=0.2))
    raw_peer(waiting.address).write(Header(VERSION + 1, 2, 0, Message.HELLO, 0, 6).encode() + bytes(6))
    assert "speaks version 2 of the protocol, this side version 1; install the same version" in str(waiting.end())


def test_a_peer_with_three_parties_is_refused() -> None:
    waiting = Listening(limits=TimeLimits(waiting=5.0, farewell=0.2))
    raw_peer(waiting.address).write(frame(Outgoing(2), Message.HELLO, b"\x00\x03\x00\x00\x27\x10"))
    assert "expects 3 parties" in str(waiting.end())


def test_silence_ends_after_its_limit() -> None:
    a, _, _, _ = puppet(BRIEF)
    started = time.monotonic()
    assert "party B was silent for more than 0.4 seconds" in refusal(a)
    assert 0.4 <= time.monotonic() - started < 30
    a, write, outgoing, _ = puppet(BRIEF)
    write(frame(outgoing, Message.AGREEMENT, SECRET)[:-1])  # silence in the middle of a message
    assert "was silent" in refusal(a)


def test_bytes_that_trickle_in_do_not_extend_the_limit() -> None:
    a, write, outgoing, _ = puppet(BRIEF)
    data, refused = frame(outgoing, Message.AGREEMENT, SECRET), threading.Event()

    def read() -> str:
        try:
            return refusal(a)
        finally:
            refused.set()

    def trickle() -> int:
        for sent, byte in enumerate(data):
            if refused.wait(0.1):
                return sent
            write(bytes([byte]))
        return len(data)

    end, sent = together(read, trickle)
    assert "was silent" in str(end)
    assert isinstance(sent, OSError) or sent < len(data)  # type: ignore[operator]


def test_a_peer_that_does_not_read_ends_after_its_limit() -> None:
    a, _, _, _ = puppet(BRIEF)
    end = within(60, lambda: a.send(Message.DIGEST, bytes(64 * MOST)))
    assert isinstance(end, PeerError)
    assert "was silent for more than 0.4 seconds" in str(end)


def test_the_default_limit_of_silence_is_a_minute() -> None:
    assert TimeLimits().silence == 60.0


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), 1e9, "60", None])
def test_a_wrong_time_limit_is_refused(wrong: object) -> None:
    with pytest.raises(PolicyError, match=r"silence is .*; it must be in \(0, 86400\] seconds"):
        TimeLimits(silence=wrong)  # type: ignore[arg-type]


def test_a_killed_peer_is_noticed() -> None:
    waiting = Listening()
    given = credentials(2)
    script = f"""
        import time
        from pathlib import Path
        from sfumato.integration.connection import HostPort, connect
        from sfumato.integration.credentials import Credentials
        given = Credentials(
            certificate=Path({str(given.certificate)!r}), key_file=Path({str(given.key_file)!r}),
            authority=Path({str(given.authority)!r}),
        )
        connect(HostPort({waiting.address.host!r}, {waiting.address.port}), given, party=2)
        print("connected", flush=True)
        time.sleep(600)
    """
    peer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert peer.stdout is not None
        assert peer.stdout.readline() == "connected\n"
        a = waiting.channel()
        peer.kill()
        words = refusal(a)
        assert "closed the connection" in words or "broke" in words
    finally:
        peer.kill()
        peer.wait()


@pytest.mark.parametrize("reason", list(Reason))
def test_an_abort_says_why_to_the_other_side(reason: Reason) -> None:
    a, b = meet()
    b.abort(reason)
    assert refusal(a) == f"party B gave up: {reason.words}"
    b.abort(reason)  # once more does nothing
    b.close()


def test_an_abort_with_an_unknown_reason_is_an_abort() -> None:
    for payload in (b"\xff", b""):
        a, write, outgoing, _ = puppet()
        write(frame(outgoing, Message.ABORT, payload))
        assert "party B gave up: it failed" in refusal(a)


def test_an_abort_arrives_even_while_the_other_side_is_sending() -> None:
    a, b = meet()
    b.send(Message.DIGEST, bytes(100))  # unread at A when it gives up
    a.abort(Reason.CANCELLED)
    assert "gave up: it was cancelled there" in refusal(b)


def test_what_this_side_does_not_accept_is_told_to_the_other() -> None:
    a, b = meet()
    b.send(Message.COIN, b"")
    refusal(a)
    assert "it received a message that it does not accept" in refusal(b)


def test_ctrl_c_while_waiting_tells_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = meet()

    def interrupt(_: int) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(a, "_read_in_time", interrupt)
    with pytest.raises(KeyboardInterrupt):
        a.receive(Message.AGREEMENT, at_most=1)
    assert "it was cancelled there" in refusal(b)


def test_a_side_that_computes_is_not_taken_for_dead() -> None:
    a, b = meet(PATIENT)

    def work() -> None:
        with b.computing():
            time.sleep(PATIENT.silence + 1)
        b.send(Message.DIGEST, b"done")

    got, _ = together(lambda: a.receive(Message.DIGEST, at_most=10), work)
    assert got == b"done"
    hang_up(a, b)


def test_the_pace_of_signs_of_life_follows_the_less_patient_side() -> None:
    waiting = Listening(limits=PATIENT)
    b = connect(waiting.address, credentials(2), party=2, limits=TimeLimits())
    a = waiting.channel()

    def work() -> None:
        with b.computing():
            time.sleep(PATIENT.silence + 1)
        b.send(Message.DIGEST, b"done")

    assert together(lambda: a.receive(Message.DIGEST, at_most=10), work)[0] == b"done"
    hang_up(a, b)


def test_a_side_that_is_busy_for_ever_is_given_up() -> None:
    a, b = meet(replace(QUICK, silence=4.0, busy=1.0))
    with b.computing():
        assert "has been busy for more than 1 seconds" in refusal(a)
    assert "it waited too long for this side" in refusal(b)


def test_ctrl_c_between_the_frames_of_a_long_message_tells_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = meet()
    write = a._write

    def interrupted(frame: bytes, until: float) -> None:
        write(frame, until)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(a, "_write", interrupted)
    end, words = together(lambda: a.send(Message.AGREEMENT, bytes(2 * MOST)), lambda: refusal(b, at_most=2 * MOST))
    assert isinstance(end, KeyboardInterrupt)
    assert "it was cancelled there" in str(words)


def test_a_peer_that_claims_no_patience_at_all_does_not_make_this_side_spin() -> None:
    waiting = Listening()
    raw_peer(waiting.address).write(frame(Outgoing(2), Message.HELLO, b"\x00\x02\x00\x00\x00\x00"))
    a = waiting.channel()
    before, begun = a.sent, time.monotonic()
    with a.computing():
        time.sleep(0.3)
    assert a.sent - before <= 60 * (time.monotonic() - begun) * HEADER_BYTES


def test_the_transcript_holds_what_was_said_both_ways() -> None:
    a, b = in_memory_pair(record=True)
    a.send(Message.DIGEST, b"1")
    b.receive(Message.DIGEST, at_most=1)
    b.send(Message.COIN, b"2")
    a.receive(Message.COIN, at_most=1)
    assert a.transcript == [("sent", Message.DIGEST, b"1"), ("received", Message.COIN, b"2")]
    assert b.transcript == [("received", Message.DIGEST, b"1"), ("sent", Message.COIN, b"2")]
    hang_up(a, b)
