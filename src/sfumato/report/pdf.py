"""Print a report to PDF with a browser of the Chromium family, if there is one on this machine.

The page is private, and so is everything that the browser leaves behind: it runs with a profile of its own in a
folder that only the owner can enter, which is removed afterwards, and without any service that uses the network. The
page itself forbids scripts and requests (its Content-Security-Policy).
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SECONDS = 60.0
_OPTIONS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
    *("--disable-dev-shm-usage", "--mute-audio", "--no-pdf-header-footer"),
)
_BY_HAND = "open report.html in a browser and print it to a file"


class Printed(NamedTuple):
    """A PDF, or why there is none and what to do instead."""

    content: bytes | None
    why: str = ""

    def file(self) -> dict[str, bytes]:
        """The file to write, by its name; none if there is no PDF."""
        return {"report.pdf": self.content} if self.content else {}


def print_pdf(page: str, *, seconds: float = SECONDS, browsers: Sequence[str] = BROWSERS) -> Printed:
    """The page as PDF; ``browsers`` are the names to look for on the PATH."""
    browser = next((found for name in browsers if (found := shutil.which(name))), None)
    if browser is None:
        return Printed(
            None, f"No report.pdf: Chromium, Chrome or Edge was not found on the PATH. Install one, or {_BY_HAND}."
        )
    with tempfile.TemporaryDirectory(prefix="sfumato-", ignore_cleanup_errors=True) as private:
        return _printed(browser, Path(private), page, seconds)


def _printed(browser: str, folder: Path, page: str, seconds: float) -> Printed:
    """Let a browser print a page in a private folder."""
    source, target = folder / "report.html", folder / "report.pdf"
    source.write_bytes(page.encode("utf-8", errors="xmlcharrefreplace"))
    as_root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium refuses it otherwise
    places = [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}", source.as_uri()]
    ended = _run([browser, *_OPTIONS, *as_root, *places], folder, seconds)
    content = target.read_bytes() if target.is_file() and not target.is_symlink() else b""
    if ended is None and content.startswith(b"%PDF"):
        return Printed(content)
    return Printed(None, f"No report.pdf: {browser} {ended or 'wrote none'}. To get one, {_BY_HAND}.")


def _run(command: Sequence[str], folder: Path, seconds: float) -> str | None:
    """Run a browser with everything it starts; how it failed, or None."""
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder)}
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as e:
        return f"could not be started ({e.strerror})"
    try:
        code = process.wait(seconds)
        return None if code == 0 else f"ended with code {code}"
    except subprocess.TimeoutExpired:
        return f"did not finish within {seconds:g} seconds"
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a browser that still runs, with everything that it started in its session."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
