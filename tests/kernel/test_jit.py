"""How kernels are compiled: inner ones once per type and only as a part of others, and somebody may listen."""

import gc
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sfumato.command import progress
from sfumato.kernel import cache, jit
from sfumato.kernel.link import InnerLibrary

SOURCE = """
import numpy as np
from sfumato.kernel.jit import inner, kernel, lean

@inner
def scaled(x, by):
    return x * by

@inner
def total(values, by):
    out = 0
    for x in values:
        out += scaled(x, by)
    return out

@kernel
def both(values):
    return total(values, 2) + scaled(values[0], 100)

@kernel
def made(size):
    return np.full(size, 7)

@inner
def total_of(pair):
    return total(pair[1][1:], 1)

@lean
def second(pair):
    return total_of(pair) + pair[0][0]

@kernel
def seconds(pair, times):
    out = 0
    for _ in range(times):
        out += second(pair)
    return out

@lean
def same(values):
    return values

@kernel
def first_of_same(values):
    return same(values)[0]

@lean
def fresh(size):
    return np.zeros(size)[0]

@kernel
def refreshed(size):
    return fresh(size)
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Kernels that nobody compiled before."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(cache._config, "CACHE_DIR", str(place))
    source = tmp_path / "some_kernels.py"
    source.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("some_kernels", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "some_kernels", module)
    spec.loader.exec_module(module)
    return module


def test_inner_functions_are_compiled_once_per_type_and_never_alone(kernels: ModuleType) -> None:
    assert kernels.both(np.array([1, 2, 3])) == 112
    for function in (kernels.scaled, kernels.total):
        (compiled,) = function.compiled.overloads.values()
        assert isinstance(compiled.library, InnerLibrary)


def test_lean_functions_leave_references_as_they_are(kernels: ModuleType) -> None:
    pair = (np.array([10, 20]), np.array([1, 2, 3]))
    before = [sys.getrefcount(a) for a in pair]
    assert kernels.seconds(pair, 1000) == 15_000
    assert [sys.getrefcount(a) for a in pair] == before


def test_lean_functions_neither_return_nor_make_arrays(kernels: ModuleType) -> None:
    with pytest.raises(Exception, match=r"same counts no references, so it cannot return array.*; make it @inner"):
        kernels.first_of_same(np.array([1, 2]))
    with pytest.raises(Exception, match=r"No implementation of function .*zeros"):
        kernels.refreshed(3)


def test_compilation_is_heard_and_collects_no_garbage(kernels: ModuleType) -> None:
    heard: list[tuple[bool, bool]] = []
    with jit.hearing_compilation(lambda begun: heard.append((begun, gc.isenabled()))):
        assert kernels.both(np.array([1])) == 102
        assert kernels.both(np.array([2])) == 204
    assert kernels.made(2).tolist() == [7, 7]
    assert heard == [(True, False), (False, True)]


def test_a_kernel_that_fails_to_compile_ends_it_too(kernels: ModuleType) -> None:
    heard: list[bool] = []
    with jit.hearing_compilation(heard.append), pytest.raises(Exception, match=r"No implementation|Invalid use"):
        kernels.both(np.array(["a"]))
    assert heard == [True, False]
    assert gc.isenabled()


def test_progress_says_that_it_compiles(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "is_terminal", lambda stream: True)
    monkeypatch.setattr(cache, "_said", [])
    with progress.progress_bar() as show:
        show("cuts", 0.0)
        kernels.both(np.array([1]))
        shown = capsys.readouterr().err
    assert "Cutting into groups: compiling (once)" in shown
    assert "Cutting into groups" in shown.rpartition("compiling")[2]


def test_what_is_not_cached_is_not_said_to_be_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_said", ["the disk is full"])
    assert progress.compiling_words() == "compiling"


@pytest.mark.parametrize(("terminal", "told"), [(True, "compiling (once)\n"), (False, "")])
def test_a_command_without_progress_says_it_in_a_line(
    kernels: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
    told: str,
) -> None:
    monkeypatch.setattr(progress, "is_terminal", lambda stream: terminal)
    monkeypatch.setattr(cache, "_said", [])
    with progress.compile_note():
        kernels.both(np.array([1]))
        kernels.made(1)
    assert capsys.readouterr().err == told


def test_all_methods_compile_by_the_same_decorators() -> None:
    for source in Path(jit.__file__).parent.rglob("*.py"):
        if source.name not in ("jit.py", "compiled.py", "native.py", "link.py", "cache.py", "shipped.py"):
            assert "numba" not in source.read_text(), source
