"""Lean functions make no arrays, nor do those that they call, whatever they are compiled for.

Numba would find out only when somebody asks for the one thing that needs the call that makes an array.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import sfumato.kernel
from sfumato.kernel.jit import Inner, inner, lean
from sfumato.kernel.mondrian.partition import twice

_MAKERS = {"empty", "zeros", "ones", "full", "arange", "array", "concatenate", "sort", "argsort", "copy", "astype"}


def _function(found: Any) -> FunctionType | None:
    """The Python function behind a compiled one."""
    function = getattr(found, "py_func", None)
    return function if isinstance(function, FunctionType) else None


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(sfumato.kernel.__path__, "sfumato.kernel."):
        yield importlib.import_module(found.name)


def _is_lean(found: Any) -> bool:
    return isinstance(found, Inner) and found.is_lean


def _all_lean() -> dict[str, Any]:
    everything = [found for module in _modules() for found in vars(module).values() if _is_lean(found)]
    return {f"{f.py_func.__module__}.{f.py_func.__name__}": f for f in everything}


def _called(function: FunctionType) -> list[FunctionType]:
    """The compiled functions that a function names, also those of a module that it names."""
    names, known = function.__code__.co_names, function.__globals__
    spaces = [known, *(vars(known[n]) for n in names if isinstance(known.get(n), ModuleType) and known[n] is not np)]
    found = [_function(space.get(name)) for space in spaces for name in names]
    return [f for f in found if f is not None]


def _makes_arrays(compiled: Any) -> list[str]:
    """The functions that make arrays among a compiled one and all that it calls."""
    function = _function(compiled)
    assert function is not None
    waiting, seen = [function], {function}
    while waiting:
        new = [called for called in _called(waiting.pop()) if called not in seen]
        seen.update(new)
        waiting += new
    return [f.__name__ for f in seen if _MAKERS & set(f.__code__.co_names)]


_LEAN = _all_lean()


@pytest.mark.parametrize("name", sorted(_LEAN))
def test_a_lean_function_makes_no_array(name: str) -> None:
    assert _makes_arrays(_LEAN[name]) == []


@inner
def _doubled(rows: Any) -> int:
    return len(twice(rows))


@lean
def _longer(rows: Any) -> int:
    return _doubled(rows) + 1


def test_an_array_that_is_made_further_down_is_found() -> None:
    assert _is_lean(_longer)
    assert not _is_lean(_doubled)
    assert _makes_arrays(_longer) == ["twice"]
    assert len(_LEAN) > 100
