"""Run the code blocks of a page in order, in one folder: Python, console sessions, and files that a page shows.

A console block is a session: lines that begin with ``$`` are commands, the others what they print. Each line shown must
be printed, in this order; ``...`` stands for anything. ``exit=4`` behind the language is the exit code of its last
command.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docs.tools.blocks import DOCS, Block, blocks
from sfumato.cli import main
from sfumato.method.catalogue import from_table as method_from_table
from sfumato.requirement.catalogue import from_table as requirement_from_table


class NotAsShown(AssertionError):  # noqa: N818 - the fact
    """A page shows what is not so."""


def run_page(page: Path, folder: Path) -> dict[str, Any]:
    """Run all blocks of a page in a folder; the names that its Python leaves behind."""
    names: dict[str, Any] = {"__name__": "__docs__"}
    with contextlib.chdir(folder):
        for block in blocks(page):
            _run(block, page, names)
    return names


def example(page: Path) -> dict[str, Any]:
    """The names that the Python of a page leaves behind; warnings of refuted methods are expected."""
    with tempfile.TemporaryDirectory() as folder:
        return run_page(page, Path(folder))


def _run(block: Block, page: Path, names: dict[str, Any]) -> None:
    where = f"{page.name}, line {block.line}"
    if block.language in ("python", "run"):
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
    elif block.language == "console":
        _session(block, where)
    elif block.language == "toml":
        _policy(block.text, where)
    if block.file is not None and block.language != "console":
        Path(block.file).write_text(block.text, encoding="utf-8")


def _policy(text: str, where: str) -> None:
    """Part of a policy: what it says about method and requirements must be accepted."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotAsShown(f"{where}: {error}") from error
    if isinstance(told.get("method"), dict) and "name" in told["method"]:
        method_from_table(told["method"])
    for entry in told.get("require", ()):
        requirement_from_table(entry)


def _session(block: Block, where: str) -> None:
    """Run the commands of a console block and compare what they print with what is shown."""
    found = re.search(r"exit=(\d+)", block.info)
    last = int(found[1]) if found else 0
    commands = list(_commands(block.text))
    for number, (command, shown) in enumerate(commands, 1):
        code, printed = _execute(command)
        if code != (last if number == len(commands) else 0):
            raise NotAsShown(f"{where}: {command} ended with {code}:\n{printed}")
        _compare(shown, printed, f"{where}: {command}")


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a session, each with the lines shown below it; a backslash continues a command."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.M)[1:]:
        command, *shown = part.splitlines()
        yield command, shown


def _execute(command: str) -> tuple[int, str]:
    """Run one command; those of sfumato in this process. Its exit code and all that it prints."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "sfumato":
        kept = ["--cache", "cache"] if arguments[0] == "compare" else []  # in the folder of the page, not in the user's
        return _sfumato([*arguments, *kept])
    if program != "python":
        raise NotAsShown(f"a page may run sfumato and python, not {program}")
    paths = os.pathsep.join([str(DOCS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    return done.returncode, done.stdout + done.stderr


def _sfumato(arguments: Sequence[str]) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, printed.getvalue()


def _compare(shown: Sequence[str], printed: str, where: str) -> None:
    """Every line shown must be printed, in this order; lines between them may be left out."""
    lines = iter(printed.splitlines())
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        wanted = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("...")))
        if not any(wanted.fullmatch(there.rstrip()) for there in lines):
            raise NotAsShown(f"{where} does not print\n{line}\nbut\n{printed}")
