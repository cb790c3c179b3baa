"""The guard: what a browser cannot show, tried with raw requests and a raw websocket."""

import asyncio
import base64
import http.client
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.studio.guard import Guard
from tests.studio.live import PATIENCE, Studio, running

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def cookie(studio: Studio) -> str:
    """The cookie that is given for the token."""
    answer = request(studio, "GET", f"/?token={studio.token}")
    assert answer.status == 303
    assert answer.getheader("location") == "/"
    told = answer.getheader("set-cookie") or ""
    assert "HttpOnly" in told
    assert "SameSite=Strict" in told
    return told.partition(";")[0]


def request(
    studio: Studio, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
    connection.request(method, path, body=body, headers=headers or {})
    answer = connection.getresponse()
    answer.text = answer.read()  # type: ignore[attr-defined]
    return answer


def handshake(studio: Studio, **headers: str | None) -> int:
    """The status of the answer to a websocket handshake with these headers."""
    sent = {
        "Host": f"127.0.0.1:{studio.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = [f"GET {SOCKET} HTTP/1.1", *(f"{n}: {v}" for n, v in sent.items() if v is not None)]
    with socket.create_connection(("127.0.0.1", studio.port), timeout=PATIENCE) as raw:
        raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(raw.recv(64).split()[1])


def test_without_the_token_nothing_is_answered(studio: Studio) -> None:
    for path in ("/", "/new", "/w/x/table", "/_nicegui/3/static/nicegui.js", "/docs", "/?token=wrong", SOCKET):
        answer = request(studio, "GET", path)
        assert answer.status == 403, path
        assert answer.getheader("set-cookie") is None


def test_the_cookie_opens_the_studio_and_the_token_leaves_the_address(studio: Studio) -> None:
    answer = request(studio, "GET", "/", {"Cookie": cookie(studio)})
    assert answer.status == 303
    assert "token" not in (answer.getheader("location") or "")
    page = request(studio, "GET", answer.getheader("location") or "", {"Cookie": cookie(studio)})
    assert page.status == 200
    assert "frame-ancestors 'none'" in (page.getheader("content-security-policy") or "")
    assert page.getheader("cache-control") == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}"])
def test_another_host_is_refused_even_with_the_cookie(studio: Studio, host: str) -> None:
    sent = {"Host": host.format(port=studio.port), "Cookie": cookie(studio)}
    assert request(studio, "GET", "/", sent).status == 403
    assert request(studio, "GET", f"/?token={studio.token}", sent).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"])
def test_another_origin_is_refused_even_with_the_cookie(studio: Studio, origin: str) -> None:
    sent = {"Origin": origin.format(port=studio.port), "Cookie": cookie(studio)}
    assert request(studio, "GET", "/", sent).status == 403
    assert request(studio, "PUT", "/upload/x", sent, b"a").status == 403


def test_a_change_needs_an_origin(studio: Studio) -> None:
    known = {"Cookie": cookie(studio)}
    assert request(studio, "POST", "/new", known, b"").status == 403
    assert request(studio, "PUT", "/upload/x", known, b"").status == 403
    assert request(studio, "PUT", "/upload/x", {**known, "Origin": studio.origin}, b"").status == 404
    assert request(studio, "DELETE", "/new", {**known, "Origin": studio.origin}).status == 403


def test_a_websocket_needs_host_origin_and_cookie(studio: Studio) -> None:
    known, own = cookie(studio), studio.origin
    assert handshake(studio, Origin=own, Cookie=known) == 101
    assert handshake(studio, Origin=own.replace("127.0.0.1", "localhost"), Cookie=known) == 403
    for origin in ("http://evil.example", "null", None, own.replace("http", "https"), f"http://evil.example, {own}"):
        assert handshake(studio, Origin=origin, Cookie=known) == 403, origin
    name = known.partition("=")[0]
    for wrong in (None, "", f"{name}=", f"{name}=wrong", f"other{known}", known.replace("=", "-", 1)):
        assert handshake(studio, Origin=own, Cookie=wrong) == 403, wrong
    assert handshake(studio, Origin="http://evil.example", Host="evil.example", Cookie=known) == 403


def test_polling_is_guarded_as_the_websocket_is(studio: Studio) -> None:
    path = SOCKET.replace("=websocket", "=polling")
    assert request(studio, "GET", path, {"Cookie": cookie(studio)}).status == 200
    assert request(studio, "GET", path, {"Cookie": cookie(studio), "Origin": "null"}).status == 403
    assert request(studio, "GET", path).status == 403


def test_bodies_end_at_their_limit_declared_or_not(studio: Studio) -> None:
    known = {"Cookie": cookie(studio), "Origin": studio.origin}
    declared = request(studio, "POST", "/_nicegui/x", {**known, "Content-Length": str(1 << 21)}, b"")
    assert declared.status == 413
    upload = request(studio, "PUT", "/upload/x", {**known, "Content-Length": str(3 << 30)}, b"")
    assert upload.status == 413


def asked(guard: Guard, query: bytes = b"", method: str = "GET", path: str = "/", **named: Any) -> int:
    """The status of a guard's answer to a request; ``parts`` are the pieces of its body, ``cookie`` its cookie."""
    sent: list[dict[str, Any]] = []
    parts = iter(named.get("parts", [b""]))

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": next(parts), "more_body": True}

    headers = [
        (b"host", b"127.0.0.1:8000"),
        (b"origin", b"http://127.0.0.1:8000"),
        (b"cookie", named.get("cookie", b"")),
    ]
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers}
    asyncio.run(guard(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize(("path", "most"), [("/x", 100), ("/upload/x", 1000)])
def test_a_body_of_unknown_length_is_counted(path: str, most: int) -> None:
    read = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read
        while True:
            read += len((await receive())["body"])

    guard = Guard(app, 8000, body_limit=100, upload_limit=1000)
    known = f"{guard.cookie_name}={guard._session}".encode()
    assert asked(guard, method="PUT", path=path, parts=[b"a" * 30] * 1000, cookie=known) == 413
    assert most - 30 < read <= most


def test_a_token_for_a_browser_works_once() -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None: ...

    guard = Guard(nothing, 8000)
    query = guard.url_once().partition("?")[2].encode()
    assert [asked(guard, query), asked(guard, query)] == [303, 403]


def test_the_folder_is_private_and_goes_with_the_studio(tmp_path: Path) -> None:
    left = tmp_path / "sfumato-studio-left"
    left.mkdir(mode=0o700)
    (left / "sfumato.lock").write_bytes(b"a folder of sfumato studio\n")
    (left / "rows.csv").write_text("name\nAnn\n")
    strange = tmp_path / "sfumato-studio-other"
    strange.mkdir()
    (strange / "notes.txt").write_text("not ours")
    with running(tmp_path) as studio:
        (own,) = [f for f in tmp_path.glob("sfumato-studio-*") if f != strange]
        assert own != left  # what a killed studio left is gone
        assert own.stat().st_mode & 0o777 == 0o700
        assert studio.stop() == 143
    assert list(tmp_path.iterdir()) == [strange]


def test_what_is_not_needed_for_the_first_page_is_not_imported() -> None:
    script = "import sfumato.cli, sfumato.studio.server, sfumato.studio.app, sfumato.studio.pages.table, sys; "
    script += "sys.exit(', '.join({'polars', 'numpy', 'numba'} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == ""
