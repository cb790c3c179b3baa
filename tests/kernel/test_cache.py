"""Compiled kernels are kept where only this user can write, heal when damaged, and do without when they must."""

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import njit

import sfumato
from sfumato.kernel import cache

SOURCE = "def add(x):\n    return x + {}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A private folder for the cache, with nothing said yet."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(cache._config, "CACHE_DIR", str(place))
    monkeypatch.setattr(cache, "_said", [])
    monkeypatch.setattr(cache, "_user_folder", lambda: None)
    cache.is_private.cache_clear()
    yield place
    cache.is_private.cache_clear()


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function of its own module, which Numba needs to cache it."""
    source = tmp_path / "addition.py"
    source.write_text(SOURCE.format(1))
    spec = importlib.util.spec_from_file_location("addition", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "addition", module)
    spec.loader.exec_module(module)
    return module.add  # type: ignore[no-any-return]


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled anew, with its cache, as another process would."""
    dispatcher = njit(function)
    dispatcher._cache = cache.cache_of(function, "stamp")
    return dispatcher


def hits(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_hits.values())


def files(folder: Path, end: str) -> list[Path]:
    return sorted(folder.rglob(f"*.{end}"))


def test_a_second_run_compiles_nothing(folder: Path, add: Callable[..., Any]) -> None:
    assert compiled(add)(1) == 2
    assert len(files(folder, "nbi")) == len(files(folder, "nbc")) == 1
    again = compiled(add)
    assert again(1) == 2
    assert hits(again) == 1


@pytest.mark.parametrize("end", ["nbi", "nbc"])
@pytest.mark.parametrize("harm", ["cut", "garbage", "empty", "a bit", "zeros"])
def test_a_damaged_file_heals(folder: Path, add: Callable[..., Any], end: str, harm: str, caplog: Any) -> None:
    assert compiled(add)(1) == 2
    (file,) = files(folder, end)
    raw = file.read_bytes()
    at = len(raw) * 2 // 3
    spoiled = {
        "cut": raw[:at],
        "garbage": hashlib.sha256(raw).digest() * 40,
        "empty": b"",
        "a bit": raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :],
        "zeros": raw[:at] + bytes(len(raw) - at),
    }
    file.write_bytes(spoiled[harm])
    hurt = compiled(add)
    assert hurt(1) == 2
    assert hits(hurt) == 0 or end == "nbi"  # what the index says beside the names does not matter
    healed = compiled(add)
    assert healed(1) == 2
    assert hits(healed) == 1
    assert not caplog.records


def test_a_changed_source_is_compiled_again(folder: Path, add: Callable[..., Any]) -> None:
    assert compiled(add)(1) == 2
    other = njit(add)
    other._cache = cache.cache_of(add, "another stamp")
    assert other(1) == 2
    assert hits(other) == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_not_used(folder: Path, add: Callable[..., Any], mode: int) -> None:
    compiled(add)(1)
    inside = files(folder, "nbi")[0].parent
    inside.chmod(mode)
    cache.is_private.cache_clear()
    assert cache.cache_of(add, "stamp") is None
    inside.chmod(0o700)
    folder.chmod(mode)  # whoever can write above it can put another in its place
    cache.is_private.cache_clear()
    assert cache.cache_of(add, "stamp") is None
    folder.chmod(mode | 0o1000)  # unless names are kept by the sticky bit, as in /tmp
    cache.is_private.cache_clear()
    assert cache.cache_of(add, "stamp") is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_folder_of_another_user_is_not_used(folder: Path, add: Callable[..., Any]) -> None:
    compiled(add)(1)
    inside = files(folder, "nbi")[0].parent
    os.chown(inside, 65534, 65534)
    cache.is_private.cache_clear()
    assert cache.cache_of(add, "stamp") is None


def test_without_a_folder_it_says_so_once_and_works(
    folder: Path, add: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: object, function: object, stamp: str) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(cache.KernelCache, "__init__", refuse)
    with caplog.at_level(logging.WARNING):
        assert cache.cache_of(add, "stamp") is None
        assert cache.cache_of(add, "stamp") is None
    assert [r.getMessage().startswith("compiled kernels are not cached") for r in caplog.records] == [True]
    assert "NUMBA_CACHE_DIR" in caplog.text


def test_the_users_own_folder_is_tried(
    folder: Path, add: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "_user_folder", lambda: str(mine))
    folder.chmod(0o777)
    assert compiled(add)(1) == 2
    assert len(files(mine, "nbi")) == 1


def test_a_full_disk_costs_the_cache_only(
    folder: Path, add: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: object, name: str, data: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.SealedFile, "_save_data", full)
    with caplog.at_level(logging.WARNING):
        assert compiled(add)(1) == 2
        assert compiled(add)(2) == 3
    assert "No space left on device" in caplog.text
    assert len(caplog.records) == 1


@pytest.fixture
def site() -> Iterator[Path]:
    """A copy of the package that everybody can read and only root can write."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(sfumato.__file__).parent, Path(folder) / "sfumato", ignore=ignored)
        yield Path(folder)


def as_nobody(*arguments: str, site: Path, home: str = "/nonexistent") -> "subprocess.CompletedProcess[str]":
    """Run Python as a user who owns nothing, as in a container, or nothing but a home."""
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-B", *arguments]
    bare = {"HOME": home, "PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    return subprocess.run(become, env=bare, cwd="/", capture_output=True, text=True, timeout=300, check=False)


READ_ONLY = """
import numpy as np
from sfumato.command.streams import prepare_streams
prepare_streams()
from sfumato.kernel import cache, group, jit
assert jit.kernel(lambda x: x + 1)(np.arange(3)).tolist() == [1, 2, 3]
print("works", len(cache._used))
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to become nobody")
def test_a_read_only_installation_works_for_a_user_without_a_home(site: Path) -> None:
    if as_nobody("-c", "import numba", site=site).returncode:
        pytest.skip("nobody may not run this Python")
    done = as_nobody("-c", READ_ONLY, site=site)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "works 0\n"
    assert done.stderr.count("warning: compiled kernels are not cached") == 1
    assert len(done.stderr.splitlines()) == 1


GROUPED = """
import sys
import numpy as np
from sfumato.kernel import group, jit
heard = []
with jit.hearing_compilation(heard.append):
    found = group.group_rows([np.array([1, 0, 1])], [2])
print(found.of_row.tolist(), sum(heard), "numba.np.arraymath" in sys.modules)
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to become nobody")
def test_a_read_only_installation_is_cached_in_the_users_home(site: Path) -> None:
    if as_nobody("-c", "import numba", site=site).returncode:
        pytest.skip("nobody may not run this Python")
    home = site / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    first, second = (as_nobody("-c", GROUPED, site=site, home=str(home)) for _ in range(2))
    assert (first.stdout, first.stderr) == ("[0, 1, 0] 1 True\n", "")
    assert (second.stdout, second.stderr) == ("[0, 1, 0] 0 False\n", "")  # nothing compiled, no compiler loaded


def test_four_first_runs_at_once_work_and_leave_a_whole_cache(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    own = {**os.environ, "NUMBA_CACHE_DIR": str(place)}
    start = [sys.executable, "-c", GROUPED]
    runs = [subprocess.Popen(start, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    ends = [run.communicate(timeout=300) for run in runs]
    assert [(out[:9], err) for out, err in ends] == [(b"[0, 1, 0]", b"")] * 4
    fifth = subprocess.run(start, env=own, capture_output=True, text=True, check=False)
    assert (fifth.stdout, fifth.stderr) == ("[0, 1, 0] 0 False\n", "")


def test_numba_runs_without_being_compiled(tmp_path: Path) -> None:
    code = "from sfumato.kernel import jit; print(jit.kernel(lambda x: x + 1)(1))"
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
