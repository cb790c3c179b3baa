"""The policy of a point: that of the comparison with its requirements and its method, for another folder if need be."""

import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from sfumato.method.base import Method
from sfumato.publisher.compare.points import Point
from sfumato.publisher.policy import Policy
from sfumato.publisher.toml import document
from sfumato.table.address import masked

_ELSEWHERE = ("after", "inconsistent", "templates")
"""Settings of a method that a policy states in other sections."""


def method_entry(method: Method) -> dict[str, Any]:
    """The ``[method]`` of a policy: the name, and the settings that are not the defaults.

    >>> from sfumato.method.mondrian import Mondrian
    >>> method_entry(Mondrian(strict=False))
    {'name': 'mondrian', 'strict': False}
    """
    changed = {f.name: getattr(method, f.name) for f in fields(method) if f.name not in _ELSEWHERE}
    defaults = {f.name: _default(f) for f in fields(method)}
    return {"name": method.name} | {n: v for n, v in changed.items() if v != defaults[n] and v is not None}


def _default(f: "Field[Any]") -> Any:
    return f.default if f.default is not MISSING else None


def fragment(point: Point) -> str:
    """The requirements and the method of a point, without the data that only a policy file names."""
    needed = [{"model": r.model, **r.parameters()} for r in point.requirements]
    return document({"require": needed, "method": method_entry(point.method)})


def policy_text(job: Policy, point: Point, folder: Path | None = None) -> str:
    """The policy with the requirements and the method of a point; paths are as seen from ``folder``, if it is given."""
    entries = [
        entry | {n: v for n, v in point.swept.items() if n in r.public_fields() and n in entry}
        for entry, r in zip(job.content["require"], point.requirements, strict=True)
    ]
    content = dict(job.content) | {"require": entries, "method": method_entry(point.method)}
    content["data"] = {**content["data"], "source": masked(job.source)}
    if "source" in content.get("population", {}):
        content["population"] = {**content["population"], "source": masked(str(content["population"]["source"]))}
    return document(content if folder is None else _moved(content, job.folder, folder))


def _moved(content: dict[str, Any], here: Path, there: Path) -> dict[str, Any]:
    """The content with every path that is relative to one folder made relative to another."""
    if here.resolve() == there.resolve():
        return content

    def path(name: object) -> object:
        if not isinstance(name, str) or "://" in name or "$" in name or Path(name).is_absolute():
            return name
        return os.path.relpath(here / name, there)

    def moved(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
        return {n: path(v) if n in names else v for n, v in entry.items()}

    out = dict(content)
    out["data"] = moved(content["data"], "source")
    out["attributes"] = {n: _attribute(entry, path) for n, entry in content["attributes"].items()}
    out["require"] = [moved(entry, "distributions") for entry in content["require"]]
    if "population" in content:
        out["population"] = moved(content["population"], "source")
    if "after" in content:
        out["after"] = [moved(entry, "release", "data") for entry in content["after"]]
    return out


def _attribute(entry: Any, path: Any) -> Any:
    """An attribute whose taxonomy may be a file."""
    if isinstance(entry, Mapping) and isinstance(entry.get("taxonomy"), str):
        return {**entry, "taxonomy": path(entry["taxonomy"])}
    return entry
