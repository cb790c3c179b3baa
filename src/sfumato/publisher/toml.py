"""Writing TOML: the values that a policy can hold, and a whole policy from its parsed content."""

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def escape(text: str) -> str:
    r"""The text with unprintable characters as TOML escapes, so that it stays on its line.

    >>> print(escape("a\nb"), toml('"a"'))
    a\nb "\"a\""
    """
    printed = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" if c != "\n" else "\\n" for c in printed)


def key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def toml(value: object) -> str:
    """A value as TOML writes it, tables inline.

    >>> toml({"k": 5, "strict": True, "x": [0.5, "a"]})
    '{ k = 5, strict = true, x = [0.5, "a"] }'
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {toml(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, str):
        return '"' + escape(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # TOML also writes inf and nan
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, Sequence) else str(value)


def document(content: Mapping[str, object]) -> str:
    """A whole file: values first, then a section for each table and each entry of a list of tables.

    >>> print(document({"title": "Ward", "require": [{"k": 5}]}), end="")
    title = "Ward"
    <BLANKLINE>
    [[require]]
    k = 5
    """
    return "\n".join(_lines(content)) + "\n"


def _lines(content: Mapping[str, object]) -> Iterator[str]:
    sections: dict[str, Any] = {n: v for n, v in content.items() if isinstance(v, Mapping) or _is_list(v)}
    yield from (f"{key(name)} = {toml(value)}" for name, value in content.items() if name not in sections)
    for name, value in sections.items():
        head = f"[[{key(name)}]]" if _is_list(value) else f"[{key(name)}]"
        entries: list[Mapping[str, object]] = value if isinstance(value, list) else [value]
        for entry in entries:
            yield from ("", head)
            yield from (f"{key(inner)} = {toml(told)}" for inner, told in entry.items())


def _is_list(value: object) -> bool:
    """Whether a value is a list of tables."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)
