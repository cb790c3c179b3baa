"""Ctrl-C while a command runs: it is never lost, whatever swallows the exception, and the exit code is 130."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.command.signals import interrupts
from sfumato.method.base import Enough
from test_cli import job, run

__all__ = ["job"]


def swallowing() -> None:
    """As an extension module that ignores errors while it is imported."""
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def changing() -> None:
    """As a class whose attributes are told their names while it is made."""
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        raise RuntimeError("Error calling __set_name__") from None


@pytest.mark.parametrize("press", [swallowing, changing])
@pytest.mark.parametrize("place", ["publish.read_policy", "job_steps.begin_digests_and_report", "publish.make_release"])
def test_an_interrupt_is_not_lost(
    job: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    press: Callable[[], None],
    place: str,
) -> None:
    from importlib import import_module

    module, name = place.split(".")
    there = import_module(f"sfumato.publisher.{module}")
    work = getattr(there, name)

    def pressed(*args: object, **given: object) -> object:
        press()
        return work(*args, **given)

    monkeypatch.setattr(there, name, pressed)
    before = {file.name for file in Path().iterdir()}
    assert run("publish", "policy.toml") == 130
    assert capsys.readouterr().err == "\nstopped; nothing was written\n"
    assert {file.name for file in Path().iterdir()} == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_after_all_was_written_does_not_deny_it() -> None:
    told: list[str] = []
    with interrupts() as pressed:
        heard = pressed.heeded("discard", lambda stage, done: told.append(stage))
        heard("write", 0.0)
        swallowing()
        heard("done", 1.0)
        with pytest.raises(KeyboardInterrupt):
            heard("write", 0.5)
    assert told == ["write", "done"]


@pytest.mark.parametrize("choice", ["publish", "discard"])
@pytest.mark.parametrize("follows", ["step 2: b", "labels"])
def test_an_interrupt_waits_for_the_end_of_a_step_even_of_the_last(choice: str, follows: str) -> None:
    ended = KeyboardInterrupt if choice == "discard" else Enough if follows != "labels" else None
    with interrupts() as pressed:
        heard = pressed.heeded(choice, lambda stage, done: None)
        heard("step 1: a", 0.1)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(ended) if ended else contextlib.nullcontext():
            heard(follows, 0.2)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_exit_code_is_ours_where_an_executed_string_was_interrupted(tmp_path: Path) -> None:
    """Python itself would end such a process by the signal, if it runs a module."""
    (tmp_path / "odd.py").write_text(
        "import signal, sfumato.cli as c\n"
        "@c.cli.command()\n"
        "def odd():\n"
        "    exec('signal.raise_signal(signal.SIGINT)', {'signal': signal})\n"
        "c.main(['odd'])\n"
    )
    command = [sys.executable, "-m", "odd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (130, b"\nstopped; nothing was written\n")
