"""No module waits for itself: a job imports modules on two threads, and each module is locked while it is imported.

Two threads that wait for each other's modules get half of one instead: an error that comes and goes.
"""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sfumato

_ROOT = Path(sfumato.__file__).parent
_PUBLIC = {"sfumato", "sfumato.datasets"}
"""Packages that hand out names of their modules: they are imported by whoever uses them, before any job."""


def _modules() -> dict[str, Path]:
    found = {}
    for file in _ROOT.rglob("*.py"):
        parts = file.relative_to(_ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _imported(body: list[ast.stmt]) -> set[str]:
    """What a module names in imports that run with it."""
    named = set()
    for node in body:
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module
            named.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_for_types(node):
            for inner in ("body", "orelse", "finalbody"):
                named |= _imported(getattr(node, inner, []))
    return named


def test_modules_and_their_packages_are_imported_in_one_order() -> None:
    modules = _modules()
    waits: dict[str, set[str]] = {}
    for name, file in modules.items():
        named = _imported(ast.parse(file.read_text(encoding="utf-8")).body)
        own = name.rpartition(".")[0]
        packages = {n.rpartition(".")[0] for n in named & set(modules)} | {own}
        waits[name] = (named & set(modules) | packages & set(modules)) - _PUBLIC - {name}
    assert len(list(TopologicalSorter(waits).static_order())) >= len(modules) - len(_PUBLIC)
    assert "sfumato.publisher.advice" in waits["sfumato.publisher.write_steps"]


_TWO_THREADS = """
import sys, threading, time
from importlib import import_module
import sfumato.publisher.publish
sys.setswitchinterval(1e-5)
errors = []
def load(names):
    try:
        for name in names:
            import_module(name)
    except BaseException as error:
        errors.append(repr(error))
other = threading.Thread(target=load, args=(["sfumato.publisher.write_steps", "sfumato.report.report"],))
other.start()
time.sleep(float(sys.argv[1]))
load(["sfumato.publisher.choose"])
other.join()
print(errors)
"""


@pytest.mark.parametrize("pause", ["0", "0.005", "0.01", "0.015", "0.02"])
def test_a_method_is_chosen_while_the_report_is_imported(pause: str) -> None:
    command = [sys.executable, "-c", _TWO_THREADS, pause]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"
