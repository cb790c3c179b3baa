"""Uploads: 200 MB arrive piece by piece, in bounded memory, and nothing is left of one that breaks off."""

import http.client
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.studio.live import PATIENCE, Studio, await_that
from tests.studio.test_guard import cookie, request

PIECE = 1 << 20
PIECES = 200


@pytest.fixture
def job(studio: Studio) -> tuple[str, dict[str, str]]:
    """The name of a new job, and the headers of a browser that may talk to it."""
    known = {"Cookie": cookie(studio), "Origin": studio.origin}
    address = request(studio, "GET", "/new", known).getheader("location") or ""
    return address.split("/")[2], known


def peak(studio: Studio) -> int:
    """The most memory that the studio has used, in bytes."""
    status = Path(f"/proc/{studio.process.pid}/status")
    if not status.exists():
        pytest.skip("memory is looked up in /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def uploads(studio: Studio) -> list[Path]:
    return [f for f in studio.folder.rglob("*") if f.is_file() and f.name != "sfumato.lock"]


def put(studio: Studio, job: tuple[str, dict[str, str]], name: str, body: Iterator[bytes], size: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=PATIENCE)
    headers = {**job[1], "X-File-Name": name, "Content-Length": str(size)}
    connection.request("PUT", f"/upload/{job[0]}", body=body, headers=headers)
    return connection.getresponse().read().decode()


def test_200_mb_are_received_in_bounded_memory(studio: Studio, job: tuple[str, dict[str, str]]) -> None:
    assert "must end in" in put(studio, job, "table.exe", iter([b"a"]), 1)
    put(studio, job, "warm.sav", iter([b"\0"]), 1)  # what reads such files is imported
    before = peak(studio)
    told = put(studio, job, "wards.sav", (b"\0" * PIECE for _ in range(PIECES)), PIECE * PIECES)
    assert "wards.sav" in told  # it is not an SPSS file, and says so by its own name
    assert peak(studio) - before < 48 << 20
    assert uploads(studio) == []


def test_nothing_is_left_of_an_upload_that_breaks_off(studio: Studio, job: tuple[str, dict[str, str]]) -> None:
    with socket.create_connection(("127.0.0.1", studio.port), timeout=PATIENCE) as raw:
        lines = {"Host": f"127.0.0.1:{studio.port}", **job[1], "X-File-Name": "a.csv", "Content-Length": "99999999"}
        head = f"PUT /upload/{job[0]} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines.items()) + "\r\n"
        raw.sendall(head.encode() + b"a" * (1 << 18))
        await_that(lambda: uploads(studio) != [])
    await_that(lambda: uploads(studio) == [])


def test_200_mb_in_a_browser(window: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    with file.open("w") as sink:
        sink.write("age,note\n")
        for row in range(2_000):
            sink.write(f"{row % 90},{row % 7:x}{'a' * 105_000}\n")
    assert file.stat().st_size > 200 << 20
    page = window()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("heading", name="note", exact=True).wait_for()
    assert len(page.content()) < 300_000  # the browser gets no more than it shows
