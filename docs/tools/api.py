"""The API reference: mkdocs calls `on_page_markdown`, which lists the public names of each room for mkdocstrings."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2] / "src")]

from sfumato import _public  # noqa: E402

_MARK = re.compile(r"^<!-- api ([\w ]+) -->$", re.M)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """The hook of mkdocs: a page with marks for rooms, each replaced by the names that live there."""
    return _MARK.sub(lambda mark: "\n\n".join(map(directive, named_in(mark[1].split()))), markdown)


def named_in(rooms: list[str]) -> list[str]:
    """The public names of some rooms, in the order of the alphabet; former names are left out."""
    return sorted(
        name for name, (module, there) in _public().items() if name == there and module.split(".")[1] in rooms
    )


def rooms_of(markdown: str) -> list[str]:
    """The rooms that a page has marks for."""
    return [room for mark in _MARK.finditer(markdown) for room in mark[1].split()]


def directive(name: str) -> str:
    """What mkdocstrings replaces by the docstring and the signature."""
    module, there = _public()[name]
    return f"::: {module}.{there}\n    options:\n      heading_level: 3"
