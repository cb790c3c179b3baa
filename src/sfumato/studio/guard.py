"""Who may talk to the studio: a guard in front of everything, as plain ASGI.

The studio shows private data, so it answers only the browser of the person who started it:

- **Host** must be the address it listens on. Another name that leads here is a web site that rebinds its DNS entry.
- **Origin** must be its own, wherever a browser sends one; requests that change something, and every websocket, must
  have one. NiceGUI's socket accepts any origin by itself.
- A **cookie** must hold the secret of this session. The address that is opened has a token, for which the cookie is
  given; the browser that is opened for the user gets a token that works once, since other users of the machine can see
  the command lines of processes.
- A **body** ends at its limit, whether or not its length was declared.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LIMIT = 1 << 20
"""The largest body of a request that is not an upload."""
UPLOAD_LIMIT = 2 << 30
"""The largest file that is uploaded; a larger one is opened by its path."""
UPLOADS = "/upload/"
"""Where uploads go."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})
_METHODS = _SAFE_METHODS | {"POST", "PUT"}


def _headers_of_answers(origin: str) -> list[tuple[bytes, bytes]]:
    """What every answer says: nothing from elsewhere is loaded, nobody frames the page, nothing is kept."""
    socket = origin.replace("http://", "ws://", 1)
    policy = (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {socket}; object-src 'none'; "
        "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"x-frame-options", b"DENY"),
    ]


class _TooLarge(Exception):  # noqa: N818 - ends one request
    """A body went beyond its limit."""


@dataclass
class Guard:
    """The application behind it, the port it listens on, and the secrets of this session."""

    app: App
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    body_limit: int = BODY_LIMIT
    upload_limit: int = UPLOAD_LIMIT
    _once: set[str] = field(default_factory=set, repr=False)
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def hosts(self) -> tuple[str, str]:
        """What a browser may call this machine."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{self.hosts[0]}/?token={self.token}"

    def url_once(self) -> str:
        """An address whose token works once, for the command line of a browser."""
        token = secrets.token_urlsafe(32)
        self._once.add(token)
        return f"http://{self.hosts[0]}/?token={token}"

    @property
    def cookie_name(self) -> str:
        """Cookies do not distinguish ports, so the name does."""
        return f"sfumato-studio-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.refusal(scope):
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_foreign(scope):
            await self._answer(send, 403, "This page answers only to the browser it was opened for.")
        elif (given := self._given_token(scope)) is not None:
            await self._exchange(given, send)
        elif (why := self.refusal(scope)) is not None:
            await self._answer(send, 403, why)
        else:
            await self._bounded(scope, receive, send)

    def refusal(self, scope: Scope) -> str | None:
        """Why a request is refused; None if it may pass."""
        if self._is_foreign(scope):
            return "This page answers only to the browser it was opened for."
        if not self._has_cookie(scope):
            return "Open the address that `sfumato studio` printed; it contains the token of this session."
        return None

    def _is_foreign(self, scope: Scope) -> bool:
        """Whether the host is not ours, or the origin another one, or missing where there must be one."""
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return True
        if scope["type"] == "http" and scope["method"] not in _METHODS:
            return True
        must = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        return (must and len(origins) != 1) or any(o != f"http://{hosts[0]}" for o in origins)

    def _has_cookie(self, scope: Scope) -> bool:
        pairs = (part.strip().partition("=") for line in _values(scope, b"cookie") for part in line.split(";"))
        return any(name == self.cookie_name and _same(value, [self._session]) for name, _, value in pairs)

    def _given_token(self, scope: Scope) -> str | None:
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        return next(iter(parse_qs(scope["query_string"].decode("latin-1")).get("token", [])), None)

    async def _exchange(self, given: str, send: Send) -> None:
        """Give the cookie for a token, and lead to an address without it."""
        if not _same(given, [self.token, *self._once]):
            await self._answer(
                send, 403, "This token is not valid, or no longer valid; open the address that was printed."
            )
            return
        self._once.discard(given)
        cookie = f"{self.cookie_name}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        await self._answer(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; its body ends at the limit."""
        limit = self.upload_limit if scope["path"].startswith(UPLOADS) else self.body_limit
        begun, read = False, 0
        told = _headers_of_answers(f"http://{_values(scope, b'host')[0]}")

        async def counted() -> AsgiMessage:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise _TooLarge
            return message

        async def marked(message: AsgiMessage) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with(message.get("headers", ()), told)}
            await send(message)

        try:
            if any(not n.isdigit() or int(n) > limit for n in _values(scope, b"content-length")):
                raise _TooLarge
            await self.app(scope, counted, marked)
        except _TooLarge:
            if not begun:
                most = f"{limit / (1 << 20):,.0f} MiB"
                await self._answer(send, 413, f"This file is larger than {most}; open it by its path.")

    async def _answer(self, send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        body = text.encode()
        own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        told = [*own, (b"cache-control", b"no-store"), *_headers_of_answers(f"http://{self.hosts[0]}"), *headers]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": body})


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _same(given: str, known: Iterable[str]) -> bool:
    """Whether a secret is one of the known ones, in a time that does not reveal how close it is."""
    return any([hmac.compare_digest(given.encode(), secret.encode()) for secret in known])  # noqa: C419 - all of them


def _with(headers: Iterable[tuple[bytes, bytes]], ours: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with ours; what the answer says itself comes first, and nothing is kept by default."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    added = [(n, v) for n, v in [*ours, (b"cache-control", b"no-store")] if n not in names]
    return [*given, *added]
