"""Who gets in: the other party with its certificate, over TLS 1.3, and nobody else; refusals in words and in time."""

import socket
import ssl
import time
from pathlib import Path

import pytest

from integration.tls import (
    ANY_PORT,
    QUICK,
    Listening,
    credentials,
    hang_up,
    house,
    meet,
    other_house,
    raw_peer,
    within,
)
from sfumato.errors import PeerError, PolicyError
from sfumato.integration.channel import TimeLimits
from sfumato.integration.connection import HostPort, connect, listen
from sfumato.integration.credentials import Credentials, party_name
from sfumato.integration.wire import Message


def test_two_parties_meet_over_tls_1_3() -> None:
    a, b = meet()
    assert isinstance(b._stream, ssl.SSLSocket)
    assert b._stream.version() == "TLSv1.3"
    a.send(Message.AGREEMENT, b"from A")
    assert b.receive(Message.AGREEMENT, at_most=10) == b"from A"
    b.send(Message.AGREEMENT, b"from B")
    assert a.receive(Message.AGREEMENT, at_most=10) == b"from B"
    hang_up(a, b)


@pytest.mark.parametrize(
    ("given", "here", "there"),
    [
        (lambda: other_house().issue(party_name(2)), "another authority", "another authority"),
        (
            lambda: _trusting(other_house().issue(party_name(2)), house().ca),
            "unknown to it|closed the connection|hung up",
            "another authority",
        ),
        (lambda: house().issue(party_name(2), days=(-9, -2), file="old"), "has expired", "has expired"),
        (lambda: house().issue(party_name(2), days=(3, 9), file="young"), "not valid|does not accept", "not valid yet"),
        (lambda: credentials(1), "closed the connection|is not that of party", "not that of party B"),
        (lambda: house().issue("sfumato party C"), "closed|hung up", "not that of party B"),
        (lambda: house().issue("an employee"), "closed|hung up", "not that of party B"),
    ],
)
def test_a_wrong_certificate_is_refused_on_both_sides_and_the_right_party_still_gets_in(given, here, there) -> None:  # type: ignore[no-untyped-def]
    waiting = Listening()
    started = time.monotonic()
    with pytest.raises(PeerError, match=here):
        connect(waiting.address, given(), party=2, limits=QUICK)
    assert time.monotonic() - started < QUICK.waiting / 2, "it did not wait for another chance"
    words = waiting.turned_away()
    if given().authority == house().ca:
        assert there in words
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    a = waiting.channel()
    assert len(waiting.refused) == 1
    hang_up(a, b)


def _trusting(given: Credentials, authority: Path) -> Credentials:
    return Credentials(certificate=given.certificate, key_file=given.key_file, authority=authority)


def test_either_party_may_listen() -> None:
    waiting = Listening(party=2)
    strange = other_house().issue(party_name(1), file="strange-a")
    for wrong in (strange, _trusting(strange, house().ca), credentials(2)):
        with pytest.raises(PeerError):
            connect(waiting.address, wrong, party=1, limits=QUICK)
    a = connect(waiting.address, credentials(1), party=1, limits=QUICK)
    b = waiting.channel()
    a.send(Message.DIGEST, b"x")
    assert b.receive(Message.DIGEST, at_most=1) == b"x"
    hang_up(a, b)


def test_a_listener_with_a_wrong_certificate_is_refused_by_the_caller() -> None:
    every = []
    for given, words in (
        (other_house().issue(party_name(1)), "another authority"),
        (house().issue(party_name(1), days=(-9, -2), file="old-a"), "has expired"),
        (_trusting(house().issue(party_name(2), file="twin"), house().ca), "not that of party A"),
    ):
        every.append(Listening(limits=TimeLimits(waiting=5.0, farewell=0.2), given=given))
        with pytest.raises(PeerError, match=words):
            connect(every[-1].address, credentials(2), party=2, limits=QUICK)
    for waiting in every:
        assert isinstance(waiting.end(), PeerError)


def test_a_caller_without_a_certificate_is_refused() -> None:
    waiting = Listening()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(house().ca)
    with socket.create_connection((waiting.address.host, waiting.address.port), timeout=60) as raw:
        assert isinstance(within(60, lambda: context.wrap_socket(raw).read(1)), ssl.SSLError)
    assert "did not return a certificate" in waiting.turned_away()
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    hang_up(waiting.channel(), b)


def test_older_tls_is_refused() -> None:
    waiting = Listening()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(house().ca)
    context.load_cert_chain(credentials(2).certificate, credentials(2).key_file)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((waiting.address.host, waiting.address.port)) as raw, pytest.raises(ssl.SSLError):
        context.wrap_socket(raw)
    assert "does not speak TLS 1.3" in waiting.turned_away()
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    hang_up(waiting.channel(), b)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", bytes(300), b"\x16\x03\x01" + b"\xff" * 400, b"SFMT"])
def test_strangers_that_do_not_speak_tls_are_turned_away(garbage: bytes) -> None:
    waiting = Listening(limits=TimeLimits(waiting=20.0, handshake=0.5, silence=2.0))
    with socket.create_connection((waiting.address.host, waiting.address.port)) as raw:
        raw.sendall(garbage)
        waiting.turned_away()
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    hang_up(waiting.channel(), b)
    assert len(waiting.refused) == 1


def test_silent_strangers_do_not_block_the_way() -> None:
    """Each may be silent for two minutes before it is turned away; the other party does not wait for them."""
    waiting = Listening(limits=TimeLimits(handshake=120.0))
    strangers = [socket.create_connection((waiting.address.host, waiting.address.port)) for _ in range(10)]
    started = time.monotonic()
    b = connect(waiting.address, credentials(2), party=2, limits=TimeLimits())
    a = waiting.channel()
    assert time.monotonic() - started < 60
    for stranger in strangers:
        stranger.close()
    hang_up(a, b)


def test_too_many_callers_at_once_are_hung_up_on() -> None:
    waiting = Listening(limits=TimeLimits(waiting=20.0, handshake=1.0))
    strangers = [socket.create_connection((waiting.address.host, waiting.address.port)) for _ in range(30)]
    closed = 0
    for stranger in strangers:
        stranger.settimeout(60)
        closed += stranger.recv(1) == b""
        stranger.close()
    assert closed == 30  # the first sixteen after a second, the others at once
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    hang_up(waiting.channel(), b)


def test_only_the_first_connection_of_the_other_party_is_taken() -> None:
    waiting = Listening()
    first = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    a = waiting.channel()
    with pytest.raises(PeerError):
        connect(waiting.address, credentials(2), party=2, limits=TimeLimits(waiting=0.5, silence=1.0))
    a.send(Message.DIGEST, b"still there")
    assert first.receive(Message.DIGEST, at_most=20) == b"still there"
    hang_up(a, first)


def test_who_connects_and_hangs_up_is_turned_away() -> None:
    waiting = Listening()
    socket.create_connection((waiting.address.host, waiting.address.port)).close()
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    a = waiting.channel()
    a.send(Message.DIGEST, b"you")
    assert b.receive(Message.DIGEST, at_most=20) == b"you"
    hang_up(a, b)


def test_who_listens_but_does_not_speak_tls_is_refused_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = HostPort(*silent.getsockname()[:2])
        limits = TimeLimits(waiting=2.0, handshake=0.5, silence=1.0)
        end = within(60, lambda: connect(address, credentials(2), party=2, limits=limits))
    assert isinstance(end, PeerError)
    assert "no secure connection within 0.5 seconds" in str(end)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = HostPort(*taken.getsockname()[:2])
        with pytest.raises(PolicyError, match="cannot listen at"):
            listen(free, credentials(1), party=1)
    limits = TimeLimits(waiting=0.5)
    end = within(60, lambda: connect(free, credentials(2), party=2, limits=limits))
    assert isinstance(end, PeerError)
    assert "nobody listens at 127.0.0.1" in str(end)
    end = within(60, lambda: listen(ANY_PORT, credentials(1), party=1, limits=limits))
    assert isinstance(end, PeerError)
    assert "did not arrive within 0.5 seconds" in str(end)
    assert "nobody connected" in str(end)


def test_an_unknown_host_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PeerError, match=r"'a\.\.b' is unknown"):
        connect(HostPort("a..b", 7), credentials(2), party=2)
    with pytest.raises(PolicyError, match=r"cannot listen at a\.\.b:7 \([a-z ]+\); choose another"):
        listen(HostPort("a..b", 7), credentials(1), party=1)

    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", fail)
    with pytest.raises(PeerError, match="'bank' is unknown"):
        connect(HostPort("bank", 7), credentials(2), party=2)


def test_both_cannot_be_the_same_party() -> None:
    waiting = Listening()
    with pytest.raises(PeerError, match="not that of party B"):
        connect(waiting.address, credentials(1), party=1, limits=QUICK)
    raw_peer(waiting.address).close()
    b = connect(waiting.address, credentials(2), party=2, limits=QUICK)
    hang_up(waiting.channel(), b)


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":7", "::1:7", "[::1:7", "::1]:7", "h:65536", "h:-1", "h:7x", "h:٣", "h:" + "9" * 99]
)
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match=r"HOST:PORT|whole number"):
        HostPort.parse(text)


def test_addresses_are_written_as_they_are_read() -> None:
    for text in ("localhost:1", "[::1]:65535", "192.0.2.7:0"):
        assert str(HostPort.parse(text)) == text


class TestFiles:
    """What can be wrong with the files of the policy."""

    def test_a_private_key_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        given = credentials(1)
        loose = tmp_path / "a.key"
        loose.write_bytes(given.key_file.read_bytes())
        loose.chmod(0o640)
        with pytest.raises(PolicyError, match=r"mode 0640\); run `chmod 600"):
            Credentials(certificate=given.certificate, key_file=loose, authority=given.authority).context(server=True)

    def test_missing_large_and_foreign_files_are_refused(self, tmp_path: Path) -> None:
        given = credentials(1)
        large, empty = tmp_path / "large.pem", tmp_path / "empty.pem"
        large.write_bytes(bytes(2 << 20))
        empty.touch(0o600)
        for key, path, words in (
            ("certificate", tmp_path / "none.pem", "no such file"),
            ("key_file", tmp_path, "no such file"),
            ("authority", large, "larger than a MiB"),
            ("authority", empty, "holds no certificate"),
            ("certificate", empty, "not a certificate and its private key"),
            ("key_file", empty, "not a certificate and its private key"),
            ("certificate", credentials(2).certificate, "not a certificate and its private key"),
        ):
            files = {"certificate": given.certificate, "key_file": given.key_file, "authority": given.authority}
            with pytest.raises(PolicyError, match=words):
                Credentials(**{**files, key: path}).context(server=False)

    def test_a_key_with_a_password_is_refused_without_a_question(self, tmp_path: Path) -> None:
        locked = tmp_path / "locked.key"
        locked.write_text(_LOCKED)
        locked.chmod(0o600)
        given = credentials(1)
        with pytest.raises(PolicyError, match="protected by a password"):
            Credentials(certificate=given.certificate, key_file=locked, authority=given.authority).context(server=True)


_LOCKED = """-----BEGIN PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF

AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
-----END PRIVATE KEY-----
"""
