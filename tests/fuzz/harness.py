"""One odd input through the command line, in this process: what came out, and whether that is acceptable."""

import contextlib
import io
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from sfumato.cli import main

Outcome = Literal["clean", "accepted", "traceback", "hang", "wrong"]

LIMIT = 60
"""Seconds of work after which an input counts as hanging; one that waits has twice as long on the clock."""
_MEMORY = 1 << 30
_LONGEST = 3000
_BUG_WORDS = ("Traceback", "panicked", "This is a bug")
_REFUSALS = (2, 3, 4)

GOOD = """title = "Ward"
[data]
source = "ward.csv"
[attributes]
name = { role = "identifier" }
age = { role = "quasi", kind = "continuous" }
sex = { role = "quasi", taxonomy = { Any = ["M", "F"] } }
zip = { role = "quasi" }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = 2
[method]
name = "mondrian"
"""


def ward(rows: int = 16) -> dict[str, list[str]]:
    """A small table, as text."""
    return {
        "name": [f"Patient {i}" for i in range(rows)],
        "age": [str(20 + 3 * (i % 5)) for i in range(rows)],
        "sex": ["MF"[i % 2] for i in range(rows)],
        "zip": [("02138", "10001", "94105")[i % 3] for i in range(rows)],
        "ill": [("flu", "HIV", "gout")[i * i % 3] for i in range(rows)],
    }


def to_csv(columns: dict[str, list[str]]) -> str:
    """The table as csv, written by hand so that every cell is as it is."""
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Case:
    """An input: the files that differ from the good ones, the command, and what should come of it."""

    name: str
    files: dict[str, bytes | Callable[[Path], object]]
    arguments: tuple[str, ...] = ("publish", "policy.toml", "-o", "out")
    expect: Literal["refused", "accepted", "either"] = "either"
    shows: tuple[str, set[str]] | None = None
    """A column of the release and the labels that it must have."""

    def __str__(self) -> str:
        return self.name


def case(name: str, *, policy: str | bytes = GOOD, data: str | bytes | None = None, **other: object) -> Case:
    """A case of ``publish`` with another policy or another table."""
    files: dict[str, bytes | Callable[[Path], object]] = {}
    for file, content in (("policy.toml", policy), ("ward.csv", data if data is not None else to_csv(ward()))):
        files[file] = content.encode() if isinstance(content, str) else content
    extra = other.pop("files", {})
    return Case(name, {**files, **extra}, **other)  # type: ignore[arg-type, dict-item]


def run_case(case: Case, folder: Path) -> tuple[Outcome, str]:
    """Run a case in an empty folder; the outcome, and for a defect what happened."""
    for file, content in case.files.items():
        if callable(content):
            content(folder / file)
        else:
            (folder / file).write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, _, err = run_command(case.arguments, folder)
    if code is None:
        return "hang", f"no end within {LIMIT} seconds of work"
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 > _MEMORY:
        return "wrong", "took more than 1 GiB of memory"
    if code == 1 or any(word in err for word in _BUG_WORDS):
        return "traceback", err.strip()[-600:]
    if code in _REFUSALS:
        return _judge_refusal(case, folder, err)
    if code != 0:
        return "wrong", f"exit code {code}: {err[-300:]}"
    return _judge_success(case, folder)


def _judge_refusal(case: Case, folder: Path, err: str) -> tuple[Outcome, str]:
    if case.expect == "accepted":
        return "wrong", f"refused: {err.strip()[:600]}"
    told = [line for line in err.strip().splitlines() if not line.startswith("warning:")]
    usage = told[:1] and told[0].startswith("Usage:")
    if not usage and (len(told) != 1 or not told[0].startswith("error: ")):
        return "wrong", f"not one paragraph: {err[:600]!r}"
    if len(err) > _LONGEST:
        return "wrong", f"a message of {len(err)} characters: {err[:200]!r}"
    made = [p.name for p in folder.iterdir() if p.name not in case.files and p.name.lstrip(".").startswith("out")]
    if made:
        return "wrong", f"refused, yet wrote {made}"
    return "clean", ""


def _judge_success(case: Case, folder: Path) -> tuple[Outcome, str]:
    if case.expect == "refused":
        return "wrong", "accepted what should be refused"
    if case.arguments[0] == "publish" and (folder / "out" / "release").is_dir():
        code, _, err = run_command(("check", "out/release"), folder)
        if code != 0:
            return "wrong", f"check of the release: exit {code}: {err[:400]}"
        if case.shows is not None:
            column, labels = case.shows
            data = pl.read_parquet(folder / "out" / "release" / "data.parquet").cast(pl.String)
            if set(data[column]) != labels:
                return "wrong", f"{column} shows {sorted(set(data[column]))} and not {sorted(labels)}"
    return "accepted", ""


class TooLong(BaseException):
    """No ``Exception``, so that nothing on the way takes it for an error of its own."""


def run_command(arguments: tuple[str, ...], folder: Path) -> tuple[int | None, str, str]:
    """The exit code (None: it hangs), and what was written to stdout and stderr, by Rust too."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        with _captured() as told, limited(LIMIT):
            try:
                main(list(arguments))
                code: int | None = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
            except TooLong:
                code = None
            except BaseException as error:
                code = 1
                print(f"Traceback: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os.chdir(here)
    return code, *told()


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong after so many seconds of work, or twice as many on the clock."""

    def stop(number: int, frame: object) -> None:
        raise TooLong

    before = [signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)]
    signal.setitimer(signal.ITIMER_REAL, 2 * seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGPROF, before[1])


@contextlib.contextmanager
def _captured() -> Iterator[Callable[[], tuple[str, str]]]:
    """Capture by file descriptor, since what Polars panics about does not pass through Python."""
    files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]  # noqa: SIM115 - closed below
    saved = [os.dup(1), os.dup(2)]
    streams = sys.stdout, sys.stderr
    for number, file in enumerate(files, 1):
        os.dup2(file.fileno(), number)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(n, "w", closefd=False), encoding="utf-8", write_through=True) for n in (1, 2)
    )
    texts = ["", ""]
    try:
        yield lambda: (texts[0], texts[1])
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = streams
        for number, (file, old) in enumerate(zip(files, saved, strict=True), 1):
            os.dup2(old, number)
            os.close(old)
            file.seek(0)
            texts[number - 1] = file.read().decode("utf-8", "replace")
            file.close()
