"""Start and end the studio: a socket on this machine, the guard, the pages, and the folder that goes with it."""

import contextlib
import gc
import glob
import os
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from sfumato.errors import PolicyError, os_words
from sfumato.studio.guard import Guard, Receive, Scope, Send
from sfumato.studio.jobs import Jobs
from sfumato.studio.workspace import workspace
from sfumato.table.address import may_hold_secret
from sfumato.table.regular_file import check_file, located

_LARGEST_MESSAGE = 1 << 20


def serve(given: str | None, *, port: int, browser: bool, ready: Callable[[str], None]) -> None:
    """Run the studio until it is interrupted; ``ready`` is called with the address to open, including its token.

    ``given`` is the table or policy that windows open with. The address is reported as soon as it can be opened: what a
    browser asks meanwhile waits for the pages, which take a moment to import.
    """
    _refuse_missing(given)
    if find_spec("nicegui") is None:
        raise PolicyError("the studio needs NiceGUI, which is not installed; run: pip install 'sfumato[studio]'")
    with workspace() as folder, _listening(port) as bound:
        jobs = Jobs(folder, given)
        guard = Guard(_not_yet, bound.getsockname()[1])
        ready(guard.url)
        if browser:
            threading.Thread(target=webbrowser.open, args=(guard.url_once(),), daemon=True).start()
        try:
            _run(guard, jobs, bound, folder)
        except KeyboardInterrupt:
            return
        finally:
            jobs.end()


def _refuse_missing(given: str | None) -> None:
    """Refuse a file that is not there at once; what else may be wrong with it, a page says."""
    if given and "://" not in given and not may_hold_secret(given) and not glob.has_magic(given):
        path = located(given, None)
        if not path.exists():
            check_file(path, given)


async def _not_yet(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("the pages are not ready yet")


def _run(guard: Guard, jobs: Jobs, bound: socket.socket, folder: Path) -> None:
    os.environ["NICEGUI_STORAGE_PATH"] = str(folder / "storage")
    gc.disable()
    try:
        import uvicorn

        from sfumato.studio.app import application

        guard.app = application(jobs)
    finally:
        gc.freeze()
        gc.enable()
    config = uvicorn.Config(
        guard,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="wsproto",
        ws_max_size=_LARGEST_MESSAGE,
        timeout_graceful_shutdown=2,
        log_config=None,
    )
    uvicorn.Server(config).run(sockets=[bound])


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket on this machine only; port 0 means any free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
        if os.name != "nt":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", port))
        except OSError as e:
            raise PolicyError(f"cannot listen on port {port}: {os_words(e)}; choose another --port") from None
        made.listen(128)
        yield made
