"""A studio that runs for a test."""

import contextlib
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 300
"""Seconds that something may take on a loaded machine, even if kernels have to be compiled first."""


@dataclass
class Studio:
    """A running studio: its process, the address with its token, and what it has printed."""

    process: "subprocess.Popen[str]"
    url: str
    folder: Path
    """TMPDIR of the studio, in which its private folder is."""
    printed: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    @property
    def token(self) -> str:
        return self.url.partition("token=")[2]

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def running(folder: Path, *arguments: str, **env: str) -> Iterator[Studio]:
    """Start `sfumato studio` with an own folder for temporary files; end it afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "studio", "--no-browser", *arguments],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1", **env},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: queue.Queue[str] = queue.Queue()
    made = Studio(process, "", folder)

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            made.printed.append(line)
            lines.put(line)
        lines.put("")  # it has ended

    threading.Thread(target=read, daemon=True).start()
    try:
        while not made.url:
            line = lines.get(timeout=PATIENCE)
            assert line, f"the studio ended: {''.join(made.printed)}"
            made.url = line.strip() if re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\s*", line) else ""
        yield made
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_that(condition: Callable[[], object], page: Any = None) -> None:
    """Wait until something holds; if it never does, say what a page shows."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            shown = page.locator("body").inner_text() if page else "no page given"
            raise AssertionError(f"this took too long; the page shows: {shown}")
        time.sleep(0.02)


def is_foreign(url: str, studio: Studio) -> bool:
    """Whether an address leads away from the studio."""
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(studio.url).netloc
