"""A PostgreSQL server of the test session's own: on 127.0.0.1, in a temporary folder, gone at the end."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "moon-and-6-pence"


class Server:
    """PostgreSQL's programs, run as the user ``postgres`` where the session is root's, which they refuse."""

    def __init__(self, programs: Path, folder: Path, prefix: list[str]) -> None:
        self.programs, self.folder, self.prefix = programs, folder, prefix
        self.data, self.port = folder / "data", 0

    def run(self, program: str, *arguments: str) -> None:
        command = [*self.prefix, str(self.programs / program), *arguments]
        with (self.folder / f"{program}.log").open("a") as log:  # a pipe would wait for the server to end
            done = subprocess.run(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=400,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {(self.folder / f'{program}.log').read_text()}")

    def start(self) -> None:
        settings = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        secret, log = str(self.folder / "password"), str(self.folder / "server.log")
        options = ["--username=steward", f"--pwfile={secret}", "--auth=scram-sha-256"]
        self.run("initdb", "-D", str(self.data), *options, "--encoding=UTF8", "--locale=C", "--no-sync")
        begin = ["start", "-D", str(self.data), "-w", "-t", "300", "-l", log]
        for left in reversed(range(5)):
            self.port = _free_port()
            try:
                self.run("pg_ctl", *begin, "-o", f"-p {self.port} {settings}")
                break
            except RuntimeError:  # another process may have taken the port in the meantime
                if not left:
                    raise

    def stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "stop", "-D", str(self.data), "-m", "immediate", "-w", "-t", "300")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _programs() -> Path:
    """The folder of initdb and pg_ctl: Debian's, or on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found += [Path(program).resolve() for program in [shutil.which("initdb")] if program]
    for program in reversed(found):
        if (program.parent / "pg_ctl").exists():
            return program.parent
    pytest.skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed")


def _prefix() -> list[str]:
    """How to run a program as a user other than root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("the test starts PostgreSQL on POSIX systems only")
    if os.geteuid() != 0:
        return []
    import pwd

    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
    if shutil.which("runuser") is None:
        pytest.skip("PostgreSQL refuses to run as root, and there is no runuser to run it as postgres")
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running PostgreSQL server's database."""
    programs, prefix = _programs(), _prefix()
    folder = Path(tempfile.mkdtemp(prefix="sfumato-postgresql-"))
    server = Server(programs, folder, prefix)
    try:
        (folder / "password").write_text(PASSWORD)
        if prefix:
            shutil.chown(folder, "postgres")
            shutil.chown(folder / "password", "postgres")
        server.start()
        yield f"postgresql://steward:{PASSWORD}@127.0.0.1:{server.port}/postgres"
    finally:
        try:
            server.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
