"""Meeting the other publisher: one listens, one connects, both prove who they are before a message is read."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sfumato.errors import PeerError, PolicyError
from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.credentials import Credentials, check_party
from sfumato.integration.tls_words import tls_words
from sfumato.integration.wire import Reason

_RETRY: Final = 0.3
_POLL: Final = 0.05
_CALLERS: Final = 16


@dataclass(frozen=True)
class HostPort:
    """A host and a port."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> "HostPort":
        """Read HOST:PORT.

        >>> HostPort.parse("127.0.0.1:7000"), HostPort.parse("[::1]:0")
        (HostPort(host='127.0.0.1', port=7000), HostPort(host='::1', port=0))
        """
        host, colon, port = text.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        bracketed = len(host) - len(bare)
        if not colon or not bare or bracketed not in (0, 2) or (":" in bare and bracketed != 2):
            raise PolicyError(f"{text!r} is not an address; write HOST:PORT, such as 192.0.2.7:7000 or [::1]:7000")
        if not (port.isascii() and port.isdigit() and int(port[:6]) < 1 << 16):
            raise PolicyError(f"the port in {text!r} must be a whole number from 0 to 65535")
        return HostPort(bare, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _ignore(_: object) -> None:
    return None


def listen(
    address: HostPort,
    credentials: Credentials,
    *,
    party: int,
    limits: TimeLimits | None = None,
    listening: Callable[[HostPort], object] = _ignore,
    refused: Callable[[str], object] = _ignore,
    record: bool = False,
) -> Channel:
    """Wait for the other party. A caller that cannot prove to be it is refused, and the wait goes on.

    ``listening`` is called with the address once it can be reached, ``refused`` with why a connection was rejected.
    """
    limits = limits or TimeLimits()
    context = credentials.context(server=True)
    until = time.monotonic() + limits.waiting
    reception = _Reception(
        lambda raw: _meet(raw, context, party=party, limits=limits, record=record, server=True), refused
    )
    with _bound(address) as server:
        listening(HostPort(*server.getsockname()[:2]))
        try:
            while reception.channel is None and (left := until - time.monotonic()) > 0:
                server.settimeout(min(left, _POLL))
                with contextlib.suppress(TimeoutError):
                    reception.admit(server.accept()[0])
        finally:
            reception.close()
    if reception.channel is None:
        waited = f"the other publisher did not arrive within {limits.waiting:g} seconds"
        raise PeerError(f"{waited}; last seen: {reception.last}")
    return reception.channel


class _Reception:
    """Meets several callers at once, so that a stranger who says nothing does not block the way.

    The first connection that proves to be the other party is accepted; later ones are rejected.
    """

    def __init__(self, meet: Callable[[socket.socket], Channel], refused: Callable[[str], object]) -> None:
        self._meet, self._refused = meet, refused
        self._lock = threading.Lock()
        self._places = threading.Semaphore(_CALLERS)
        self._closed = False
        self.channel: Channel | None = None
        self.last = "nobody connected"

    def admit(self, raw: socket.socket) -> None:
        """Meet a caller in a thread; if too many are being met already, hang up."""
        if self._places.acquire(blocking=False):
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()
        else:
            raw.close()

    def close(self) -> None:
        """Take nobody any more."""
        with self._lock:
            self._closed = True

    def _serve(self, raw: socket.socket) -> None:
        try:
            channel = self._meet(raw)
        except PeerError as error:
            with self._lock:
                self.last = str(error)
                if not self._closed:
                    self._refused(self.last)
            return
        finally:
            self._places.release()
        with self._lock:
            taken = self.channel is None and not self._closed
            if taken:
                self.channel = channel
        if not taken:
            channel.abort(Reason.FAILED)


def connect(
    address: HostPort, credentials: Credentials, *, party: int, limits: TimeLimits | None = None, record: bool = False
) -> Channel:
    """Call the other party; until it listens, try again and again."""
    limits = limits or TimeLimits()
    context = credentials.context(server=False)
    until = time.monotonic() + limits.waiting
    while True:
        try:
            raw = socket.create_connection((address.host, address.port), timeout=max(0.1, until - time.monotonic()))
            break
        except (socket.gaierror, UnicodeError):
            raise PeerError(f"the host {address.host!r} is unknown; check the address") from None
        except (OSError, OverflowError) as error:
            if time.monotonic() + _RETRY > until:
                words = getattr(error, "strerror", None) or "no answer"
                raise PeerError(
                    f"nobody listens at {address} after {limits.waiting:g} seconds ({words.lower()}); start the other "
                    "publisher with --listen, and check address and firewall"
                ) from None
            time.sleep(_RETRY)
    return _meet(raw, context, party=party, limits=limits, record=record, server=False)


def _bound(address: HostPort) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=_CALLERS)
    except (OSError, UnicodeError) as error:
        words = (getattr(error, "strerror", None) or "not a host").partition(" (while")[0].lower()
        raise PolicyError(f"cannot listen at {address} ({words}); choose another host or port") from None


def _meet(
    raw: socket.socket, context: ssl.SSLContext, *, party: int, limits: TimeLimits, record: bool, server: bool
) -> Channel:
    """Handshake, check of the certificate's party, greeting. A failure closes the socket."""
    peer = 3 - party
    raw.settimeout(limits.handshake)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream: ssl.SSLSocket | None = None
    try:
        stream = context.wrap_socket(raw, server_side=server, do_handshake_on_connect=False)
        stream.do_handshake()
        check_party(stream, peer)
        channel = Channel(stream, party=party, peer=peer, limits=limits, record=record)
        channel.greet()
        return channel
    except ssl.SSLError as error:
        failure = PeerError(f"no secure connection: {tls_words(error)}")
    except TimeoutError:
        failure = PeerError(
            f"no secure connection within {limits.handshake:g} seconds; check that the address is right"
        )
    except OSError:
        failure = PeerError("no secure connection: the other side hung up")
    except PeerError as error:
        failure = error
    (stream or raw).close()
    raise failure
