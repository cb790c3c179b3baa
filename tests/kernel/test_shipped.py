"""Kernels that come compiled in a wheel are used where they fit, and only there."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from sfumato.kernel import cache, shipped

STAMP = "0123456789abcdef0123"
BUILD = """
import sys
from pathlib import Path
from numba import njit
from addition import add
from sfumato.kernel import cache, shipped
made = njit(add)
made._cache = cache.cache_of(add, sys.argv[1])
made(1), made(1.5)
print(shipped.pack([made], sys.argv[1], Path(sys.argv[2])))
"""
needs_level = pytest.mark.skipif(not shipped._fits(), reason="this processor is below the level of compiled kernels")


def _built(folder: Path, cpu: str) -> Path:
    """A package with `add` for whole numbers and floats, compiled for a processor in another process."""
    (folder / "private").mkdir(mode=0o700)
    (folder / "addition.py").write_text("def add(x):\n    return x + 1\n", encoding="utf-8")
    own = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    own |= {"NUMBA_CACHE_DIR": str(folder / "private"), "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", BUILD, STAMP, str(folder / "package")],
        env=own, check=True, timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("wheel"), shipped.level().cpu)


@pytest.fixture
def add(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The function, in a process that has not compiled it."""
    monkeypatch.syspath_prepend(str(package.parents[1]))
    monkeypatch.setattr(cache, "_said", [])
    monkeypatch.setattr(cache, "_user_folder", lambda: None)
    monkeypatch.setattr(cache._config, "CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    cache.is_private.cache_clear()
    yield importlib.import_module("addition").add
    sys.modules.pop("addition", None)
    cache.is_private.cache_clear()


def _loaded(function: Callable[..., Any], place: Path, stamp: str = STAMP) -> Any:
    dispatcher = njit(function)
    dispatcher._cache = shipped.cache_for(function, stamp, place)
    return dispatcher


def _hits(dispatcher: Any) -> int:
    return sum(dispatcher.stats.cache_hits.values())


@needs_level
def test_what_the_wheel_brought_is_not_compiled(add: Any, package: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)  # no folder is private: nothing could be kept
    kernel = _loaded(add, package.parent)
    assert (kernel(1), kernel(2.5), _hits(kernel)) == (2, 3.5, 2)
    assert cache.are_kept()  # nothing had to be said
    assert not list(tmp_path.rglob("*.nb?"))


@needs_level
def test_other_types_are_compiled_and_kept(add: Any, package: Path, tmp_path: Path) -> None:
    kernel = _loaded(add, package.parent)
    assert (kernel(1j), _hits(kernel)) == (1 + 1j, 0)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1
    again = _loaded(add, package.parent)
    assert (again(1j), again(1), _hits(again)) == (1 + 1j, 2, 2)


@needs_level
@pytest.mark.parametrize("end", ["nbi", "nbc"])
@pytest.mark.parametrize("harm", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: raw[:-40] + bytes(40)])
def test_damage_is_compiled_around(add: Any, package: Path, tmp_path: Path, end: str, harm: Any) -> None:
    folder = tmp_path / "package" / package.name
    folder.mkdir(parents=True)
    for file in package.iterdir():
        raw = file.read_bytes()
        (folder / file.name).write_bytes(harm(raw) if file.name.endswith(end) else raw)
    kernel = _loaded(add, folder.parent)
    assert kernel(1) == 2
    assert _hits(kernel) == 0 or end == "nbi"  # the end of an index is a digest that nobody needs


def test_another_environment_or_source_is_not_served(
    add: Any, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(_loaded(add, package.parent, "fedcba9876543210")._cache, cache.KernelCache)
    assert isinstance(_loaded(add, tmp_path)._cache, cache.KernelCache)
    for module in (shipped.numba, shipped.llvmlite):
        with monkeypatch.context() as other:
            other.setattr(module, "__version__", "0.1")
            assert isinstance(_loaded(add, package.parent)._cache, cache.KernelCache)


@needs_level
def test_an_index_with_another_stamp_is_not_served(add: Any, package: Path, tmp_path: Path) -> None:
    """Only 16 digits of the stamp are in the folder's name; the files have all of it."""
    kernel = _loaded(add, package.parent, STAMP[:16] + "9999")
    assert isinstance(kernel._cache, shipped.ShippedCache)
    assert (kernel(1), _hits(kernel)) == (2, 0)


@pytest.mark.skipif(not shipped.level().features, reason="every processor of this architecture fits")
def test_an_older_processor_is_not_served(add: Any, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = dict.fromkeys(shipped.level().features, True)
    for missing in (None, *sorted(found)):
        monkeypatch.setattr(shipped._host, "get_host_cpu_features", lambda m=missing: found | ({m: False} if m else {}))
        shipped._fits.cache_clear()
        assert shipped._fits() is (missing is None)
        assert isinstance(_loaded(add, package.parent)._cache, cache.KernelCache) is (missing is not None)
    monkeypatch.undo()
    shipped._fits.cache_clear()


def test_kernels_for_another_processor_are_not_packed(tmp_path: Path) -> None:
    another = "generic" if shipped.level().cpu != "generic" else "cortex-a72"
    assert list(_built(tmp_path, another).iterdir()) == []
