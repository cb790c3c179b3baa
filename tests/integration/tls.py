"""Certificates, good and bad, and two ends of a TLS connection on this machine."""

import functools
import os
import queue
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from integration.parties import together
from sfumato.integration.certificates import Authority, KeyPair
from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.connection import HostPort, connect, listen
from sfumato.integration.credentials import Credentials, party_name

QUICK = TimeLimits(waiting=120.0, handshake=60.0, silence=60.0, busy=120.0, farewell=0.2)
"""No limit that a loaded machine reaches; only the farewell, which nobody may wait for, is short."""
ANY_PORT = HostPort("127.0.0.1", 0)


class House:
    """An authority that keeps its key, so that tests can have any certificate signed."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="sfumato-house-")  # goes with the process
        self.folder = folder = Path(self._temporary.name)
        self.authority = Authority.new()
        self.ca = folder / "ca.pem"
        self.ca.write_text(self.authority.certificate(*valid()))

    def issue(self, name: str, *, days: tuple[float, float] = (-1, 1), file: str | None = None) -> Credentials:
        """A certificate with this common name, valid between two days from now."""
        keys = KeyPair.new()
        stem = self.folder / (file or name.replace(" ", "-"))
        certificate, key_file = stem.with_suffix(".pem"), stem.with_suffix(".key")
        certificate.write_text(self.authority.issue(name, keys, *valid(*days)))
        with os.fdopen(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file_:
            file_.write(keys.pem())
        return Credentials(certificate=certificate, key_file=key_file, authority=self.ca)


def valid(first: float = -1, last: float = 1) -> tuple[datetime, datetime]:
    """Days from now, as times."""
    now = datetime.now(UTC)
    return now + timedelta(days=first), now + timedelta(days=last)


@functools.cache
def house() -> House:
    """The authority that both sides trust."""
    return House()


@functools.cache
def other_house() -> House:
    """An authority that nobody trusts."""
    return House()


@functools.cache
def credentials(party: int) -> Credentials:
    """The right ones."""
    return house().issue(party_name(party))


class Listening:
    """A party, A unless said otherwise, waiting in a thread."""

    def __init__(self, *, limits: TimeLimits = QUICK, given: Credentials | None = None, party: int = 1) -> None:
        self.refused: list[str] = []
        self._address: queue.Queue[HostPort] = queue.Queue()
        self._end: Channel | BaseException | None = None

        def wait() -> None:
            try:
                self._end = listen(
                    ANY_PORT, given or credentials(party), party=party, limits=limits,
                    listening=self._address.put, refused=self.refused.append,
                )  # fmt: skip
            except BaseException as error:
                self._end = error

        self._thread = threading.Thread(target=wait, daemon=True)
        self._thread.start()
        self.address = self._address.get(timeout=60)

    def turned_away(self) -> str:
        """Why the first caller was refused."""
        until = time.monotonic() + 60
        while not self.refused:
            assert time.monotonic() < until, "nobody was refused"
            time.sleep(0.01)
        return self.refused[0]

    def end(self) -> Channel | BaseException:
        """The channel, or the error."""
        self._thread.join(180)
        assert self._end is not None, "listening does not end"
        return self._end

    def channel(self) -> Channel:
        """The channel."""
        end = self.end()
        if isinstance(end, BaseException):
            raise end
        return end


def meet(limits: TimeLimits = QUICK) -> tuple[Channel, Channel]:
    """Party A and party B, connected over TLS."""
    waiting = Listening(limits=limits)
    b = connect(waiting.address, credentials(2), party=2, limits=limits)
    return waiting.channel(), b


def raw_peer(address: HostPort, given: Credentials | None = None) -> ssl.SSLSocket:
    """A TLS connection as party B, to send any bytes through."""
    context = (given or credentials(2)).context(server=False)
    raw = socket.create_connection((address.host, address.port), timeout=60)
    return context.wrap_socket(raw)


def hang_up(*channels: Channel) -> None:
    """End both sides at the same time."""
    first, second = channels
    together(first.close, second.close)


def within(seconds: float, work: Callable[[], object]) -> object:
    """The result of some work that must end in time."""
    done: queue.Queue[object] = queue.Queue()

    def run() -> None:
        try:
            done.put(work())
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.get(timeout=seconds)
    except queue.Empty:
        raise AssertionError(f"no end within {seconds} seconds") from None
