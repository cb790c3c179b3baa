"""A conversation with one other party over a connected socket: every wait has an end, every byte is counted.

The same class serves TLS (``connection``) and a pair of plain sockets in one process (``memory``).
"""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, Literal, NamedTuple

from sfumato.errors import PeerError, PolicyError
from sfumato.integration.tls_words import tls_words
from sfumato.integration.wire import VERSION, Incoming, Message, Outgoing, Reason, letter

_HELLO: Final = struct.Struct(">HI")
_SHORTEST: Final = 0.02
"""The least number of seconds between two signs of life."""
_PIECE: Final = 1 << 16
_BROKEN: Final = (OSError, EOFError, ValueError, PeerError)


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """How many seconds to wait for a peer: to appear, to prove who it is, to say anything, to finish its work, to
    take its leave."""

    waiting: float = 600.0
    handshake: float = 10.0
    silence: float = 60.0
    busy: float = 3600.0
    farewell: float = 5.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or not 0 < value <= 86400:
                raise PolicyError(f"the time limit {field.name} is {value!r}; it must be in (0, 86400] seconds")


class RecordedMessage(NamedTuple):
    """A message of a recorded conversation."""

    way: Literal["sent", "received"]
    kind: Message
    payload: bytes


class Channel:
    """Messages to and from one peer. Any failure raises PeerError and closes the connection."""

    def __init__(
        self, stream: socket.socket, *, party: int, peer: int, limits: TimeLimits | None = None, record: bool = False
    ) -> None:
        self.party, self.peer = party, peer
        self.limits = limits or TimeLimits()
        self.sent = self.received = 0
        self.transcript: list[RecordedMessage] | None = [] if record else None
        self._stream = stream
        self._outgoing, self._incoming = Outgoing(party), Incoming(peer)
        self._turn = threading.RLock()  # OpenSSL must not read and write one connection at the same time
        self._open, self._torn = True, False
        self._interval = self.limits.silence / 4

    def greet(self) -> None:
        """Exchange the first messages: the version, the number of parties, and how long each tolerates silence."""
        mine = _HELLO.pack(2, max(1, int(self.limits.silence * 1000)))
        parties, silence = _HELLO.unpack(self.exchange(Message.HELLO, mine, exactly=_HELLO.size))
        if parties != 2:
            raise self.fail(Reason.BAD_MESSAGE, f"the peer expects {parties} parties; version {VERSION} serves two")
        self._interval = max(min(self.limits.silence, silence / 1000) / 4, _SHORTEST)

    def send(self, kind: Message, payload: bytes) -> None:
        """Send a message."""
        with self._turn, self._explained():
            for frame in self._outgoing.frames(kind, payload):
                self._write(frame, time.monotonic() + self.limits.silence)
        self._record("sent", kind, payload)

    def receive(self, kind: Message, *, at_most: int) -> bytes:
        """The next message, which must be of this kind and at most this many bytes long."""
        end = time.monotonic() + self.limits.busy
        with self._turn, self._explained():
            while (payload := self._incoming.message(self._read_in_time, kind, at_most)) is None:
                if time.monotonic() > end:
                    raise self.fail(
                        Reason.TIME_LIMIT,
                        f"party {letter(self.peer)} has been busy for more than {self.limits.busy:g} seconds without "
                        "an answer; raise the time limit if its table is that large",
                    )
        self._record("received", kind, payload)
        return payload

    def expect(self, kind: Message, *, exactly: int) -> bytes:
        """The next message, which must have exactly this length."""
        payload = self.receive(kind, at_most=exactly)
        if len(payload) != exactly:
            who = f"a message {kind.name} of party {letter(self.peer)}"
            raise self.fail(Reason.BAD_MESSAGE, f"{who} has {len(payload)} bytes; it must have {exactly}")
        return payload

    def exchange(
        self, kind: Message, payload: bytes, *, at_most: int | None = None, exactly: int | None = None
    ) -> bytes:
        """Both sides send a message of this kind, the lower party number first, so that no two wait for each other."""
        if self.party < self.peer:
            self.send(kind, payload)
        answer = self.receive(kind, at_most=at_most or 0) if exactly is None else self.expect(kind, exactly=exactly)
        if self.party > self.peer:
            self.send(kind, payload)
        return answer

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Around long work: tell the peer now and then that this side is alive."""
        done = threading.Event()
        thread = threading.Thread(target=self._tell_alive, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def abort(self, reason: Reason) -> None:
        """Tell the peer why this side gives up, as far as it still listens, and close. Never raises."""
        with self._turn:
            if self._open:
                with contextlib.suppress(*_BROKEN):
                    for frame in self._outgoing.frames(Message.ABORT, bytes([reason])):
                        self._write(frame, time.monotonic() + self.limits.farewell)
            self._shut()

    def close(self) -> None:
        """End in good order: both say goodbye, then the connection is closed. Never raises."""
        with self._turn:
            if self._open:
                until = time.monotonic() + self.limits.farewell
                with contextlib.suppress(*_BROKEN):
                    for frame in self._outgoing.frames(Message.GOODBYE, b""):
                        self._write(frame, until)
                    while self._incoming.message(lambda n: self._read(n, until), Message.GOODBYE, 0) is None:
                        pass
            self._shut()

    def _tell_alive(self, done: threading.Event) -> None:
        while not done.wait(self._interval):
            if self._turn.acquire(blocking=False):  # else the main thread is talking, which is sign enough
                try:
                    for frame in self._outgoing.frames(Message.ALIVE, b"") if self._open else ():
                        self._write(frame, time.monotonic() + self.limits.silence)
                except _BROKEN:
                    return  # the main thread meets the same failure, and reports it
                finally:
                    self._turn.release()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what a socket raises into words, tell the peer as far as possible, and close."""
        who = f"party {letter(self.peer)}"
        if not self._open:
            raise PeerError(f"the connection with {who} is closed; start again")
        try:
            yield
        except TimeoutError:
            self.abort(Reason.TIME_LIMIT)
            limit = f"{self.limits.silence:g} seconds"
            raise PeerError(
                f"{who} was silent for more than {limit}; check that it is still running, and retry"
            ) from None
        except PeerError:
            self.abort(Reason.BAD_MESSAGE)
            raise
        except EOFError:
            self._shut()
            raise PeerError(f"{who} closed the connection before the end; its own message says why") from None
        except ssl.SSLError as error:
            self._shut()
            raise PeerError(f"the connection with {who} broke: {tls_words(error)}") from None
        except OSError as error:
            self._shut()
            words = (error.strerror or "no reason given").lower()
            raise PeerError(f"the connection with {who} broke ({words}); its own message may say why") from None
        except BaseException:
            self.abort(Reason.CANCELLED)  # Ctrl-C: nobody knows how much of a message was read or sent
            raise

    def fail(self, reason: Reason, words: str) -> PeerError:
        """Give up because of what the peer sent: tell it why, and return the error to raise."""
        self.abort(reason)
        return PeerError(words)

    def _record(self, way: Literal["sent", "received"], kind: Message, payload: bytes) -> None:
        if self.transcript is not None:
            self.transcript.append(RecordedMessage(way, kind, payload))

    def _read_in_time(self, number: int) -> bytes:
        return self._read(number, time.monotonic() + self.limits.silence)

    def _read(self, number: int, until: float) -> bytes:
        """Exactly so many bytes."""
        data = bytearray()
        while len(data) < number:
            self._set_time_left(until)
            part = self._stream.recv(min(_PIECE, number - len(data)))
            if not part:
                raise EOFError
            data += part
        self.received += number
        return bytes(data)

    def _write(self, frame: bytes, until: float) -> None:
        """Send a whole frame. One that is cut short is the last one: nothing after it could be understood."""
        if self._torn:
            raise EOFError
        self._torn = True
        view = memoryview(frame)
        while view:
            self._set_time_left(until)
            view = view[self._stream.send(view[:_PIECE]) :]
        self.sent += len(frame)
        self._torn = False

    def _set_time_left(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._stream.settimeout(left)

    def _shut(self) -> None:
        """Close. What the peer still sends is read for a moment first: unread bytes would make the system reset
        the connection, and the peer might lose the last message."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError, ValueError):
            self._stream.shutdown(socket.SHUT_WR)
            until = time.monotonic() + self.limits.farewell
            while True:
                self._set_time_left(until)
                if not self._stream.recv(_PIECE):
                    break
        self._stream.close()
