"""The API reference names everything that is public, and every docstring names every parameter."""

import inspect
import re

import pytest

import sfumato as sf
from docs.tools.api import named_in, on_page_markdown, rooms_of
from docs.tools.blocks import DOCS
from sfumato import _public

NAMES = sorted(name for name, (_, there) in _public().items() if name == there)
PAGE = (DOCS / "api.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name() -> None:
    assert named_in(rooms_of(PAGE)) == NAMES
    built = on_page_markdown(PAGE, page=None, config=None, files=None)
    assert len(re.findall("^::: ", built, re.M)) == len(NAMES)


def documented(thing: object) -> str:
    """The docstring, for a class with those of its fields, methods and bases."""
    if not inspect.isclass(thing):
        return inspect.getdoc(thing) or ""
    own = [k for k in thing.__mro__ if k.__module__.startswith("sfumato.")]
    return "\n".join(text for kind in own for text in re.findall(r'"""(.*?)"""', inspect.getsource(kind), re.S))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is_and_what_each_parameter_means(name: str) -> None:
    thing = getattr(sf, name)
    assert (inspect.getdoc(thing) or "").strip(), name
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return
    wanted = [p for p in inspect.signature(thing).parameters if p not in ("self", "args", "kwargs")]
    text = documented(thing)
    assert [p for p in wanted if not re.search(rf"\b{p}\b", text)] == []


@pytest.mark.parametrize("name", [n for n in NAMES if inspect.isclass(getattr(sf, n))])
def test_methods_of_a_public_class_say_what_they_do(name: str) -> None:
    kind = getattr(sf, name)
    silent = [n for n, f in vars(kind).items() if inspect.isfunction(f) and n[0] != "_" and not inspect.getdoc(f)]
    inherited = [n for n in silent if any(inspect.getdoc(vars(k)[n]) for k in kind.__mro__[1:] if n in vars(k))]
    assert set(silent) == set(inherited)
