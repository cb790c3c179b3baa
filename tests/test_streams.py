"""What the commands do when nobody reads, the disk is full or nothing can be shown."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.cli import main
from test_cli import GOOD, job, run, ward

__all__ = ["job"]
COMMAND = [sys.executable, "-m", "sfumato"]
FULL = Path("/dev/full")


def sfumato(*arguments: str, **how: object) -> "subprocess.CompletedProcess[bytes]":
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300, "check": False} | how
    return subprocess.run([*COMMAND, *arguments], **given)  # type: ignore[call-overload, no-any-return]


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_device_is_told() -> None:
    with FULL.open("wb") as full:
        done = sfumato("methods", stdout=full)
        assert (done.returncode, done.stderr) == (
            2,
            b"error: cannot print the result: no space left on the device; free some space, or write elsewhere\n",
        )
        assert sfumato("publish", "nowhere.toml", stderr=full).returncode == 2
        assert sfumato("nonsense", stderr=full).returncode == 2


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_result_that_cannot_be_printed_was_written_all_the_same(job: Path, how: list[str]) -> None:
    with FULL.open("wb") as full:
        done = sfumato("publish", "policy.toml", *how, stdout=full)
        told = done.stderr.decode().splitlines()
        assert done.returncode == 2
        assert told[-1].startswith("error: cannot print the result: no space left on the device")
        assert told[-1].endswith("out was written completely: hand over out/release, keep out/private")
        assert sfumato("check", "out/release").returncode == 0
        proposed = sfumato("init", "ward.csv", "-o", "mine.toml", stdout=full)
        assert proposed.returncode == 2
        assert proposed.stderr.decode().endswith(". mine.toml was written completely\n")
        assert "[attributes" in Path("mine.toml").read_text()


def test_an_interrupt_while_the_result_is_printed_does_not_deny_what_was_written(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def press(value: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.command.publish.print_json", press)
    assert run("publish", "policy.toml", "--json") == 130
    told = capsys.readouterr().err
    assert "nothing was written" not in told
    assert "stopped while printing. out was written completely" in told
    assert (job / "out" / "release" / "manifest.json").is_file()


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_traceback_that_cannot_be_shown_changes_no_exit_code() -> None:
    with FULL.open("wb") as full:
        assert sfumato("publish", "nowhere.toml", "--debug", stderr=full).returncode == 2


def test_a_pipe_that_nobody_reads_is_left_quietly() -> None:
    receive, send = os.pipe()
    os.close(receive)
    done = sfumato("methods", "--json", stdout=send)
    os.close(send)
    assert (done.returncode, done.stderr) == (141, b"")


def test_closed_streams_are_no_error() -> None:
    done = subprocess.run(["sh", "-c", f"{' '.join(COMMAND)} models >&- 2>&-"], check=False, timeout=300)
    assert done.returncode == 0


def test_what_an_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("age,größe😀\n1,2\n2,3\n", encoding="utf-8")
    done = sfumato("init", str(tmp_path / "w.csv"), env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0, done.stderr
    assert "größe".encode("latin-1") + b"\\U0001f600" in done.stdout


def test_a_name_that_is_not_utf8_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("age,sex\n1,M\n2,F\n")
    assert run("init", name) == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_a_seed_warns(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml", "--seed", "1") == 0
    told = capsys.readouterr()
    assert told.err.startswith("warning: --seed makes the randomness repeatable")
    assert "experiments only" in told.err
    assert run("publish", "policy.toml", "--seed", "1", "--json", "-o", "again") == 0
    assert "experiments only" in capsys.readouterr().err
    assert run("publish", "policy.toml", "-o", "third") == 0
    assert "experiments" not in capsys.readouterr().err


def test_messages_cannot_steer_a_terminal(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "\x1b[2Jgone\nerror: fine.toml") == 2
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert len(told.splitlines()) == 1


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_told_and_nothing_is_left(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ward(3000).write_csv("ward.csv")
    with _small_disk(job / "disk") as disk:
        assert run("publish", "policy.toml", "-o", "disk/out") == 2
        assert "o space left on" in capsys.readouterr().err
        assert list(disk.iterdir()) == []
        (disk / "fill").write_bytes(bytes(60 << 10))
        ended = run("init", "ward.csv", "-o", "disk/p.toml")
        assert ended in (0, 2)
        assert [p.name for p in disk.iterdir() if p.name != "fill"] == (["p.toml"] if ended == 0 else [])


def test_init_on_a_full_disk(job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(self: Path, text: str, encoding: str) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    assert run("init", "ward.csv", "-o", "mine.toml") == 2
    told = capsys.readouterr().err
    assert "no space left on the device" in told
    assert "nothing was written" in told
    assert not Path("mine.toml").exists()


def test_what_is_not_a_file_is_refused_at_once(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.toml")
    assert run("publish", "pipe.toml") == 2
    assert "is not a regular file" in capsys.readouterr().err
    os.mkfifo("sex.csv")
    Path("policy.toml").write_text(GOOD.replace('{ Any = ["M", "F"] }', '"sex.csv"'))
    assert run("publish", "policy.toml") == 2
    assert "is not a regular file" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["publish", "/dev/zero"])
    assert end.value.code == 2


def test_publishing_without_any_stream(job: Path) -> None:
    command = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, "sh", *COMMAND, "publish", "policy.toml"], timeout=300, check=False)
    assert done.returncode == 0
    assert (job / "out" / "release" / "manifest.json").is_file()


def test_names_and_values_cannot_steer_the_terminal(
    job: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{20 + i % 6},{'ab'[i % 2]}\x1b[2J\n" for i in range(60))
    (job / "odd.csv").write_text("age\x1b[31m,ill\n" + rows)
    assert run("init", "odd.csv", "-o", "odd.toml") == 0
    assert run("publish", "odd.toml", "-o", "odd") == 0
    assert run("check", "odd/release") == 0
    assert run("query", "odd/release", "SELECT COUNT(*), ill GROUP BY ill") == 0
    told = capfd.readouterr()
    assert "\x1b" not in told.out + told.err
    assert r"\x1b[31m" in told.out
