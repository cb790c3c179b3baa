"""The public statement of a release: what it shows, how it was made, what was required and achieved."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from sfumato.errors import ReleaseError
from sfumato.release.generalization import Shown
from sfumato.release.judgement import Judgement
from sfumato.release.meaning import finite_ends, read
from sfumato.table.encode import Column, Role
from sfumato.table.line import Line, day_text
from sfumato.table.microdata import Microdata

_MUST_HAVE: dict[str, type] = {
    "sfumato": str,
    "title": str,
    "scheme": str,
    "method": dict,
    "requirements": list,
    "attributes": dict,
    "rows": int,
}


def describe(
    table: Microdata,
    *,
    title: str,
    scheme: str,
    method: Mapping[str, Any],
    judgements: Sequence[Judgement],
    shown: Sequence[Shown] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The manifest of a release of this table, all but the files, which are named when it is written."""
    of = {s.column.name: s for s in shown}
    attributes = {c.name: _attribute(c, of.get(c.name)) for c in table.columns.values()}
    attributes |= {name: {"role": str(Role.INSENSITIVE)} for name in table.plain.columns}
    return {
        "sfumato": version("sfumato"),
        "title": title,
        "scheme": scheme,
        "method": dict(method),
        "requirements": [_requirement(j) for j in judgements],
        "attributes": attributes,
        "rows": table.rows,
        **({"warnings": list(warnings)} if warnings else {}),
    }


def _requirement(judgement: Judgement) -> dict[str, Any]:
    requirement = judgement.requirement
    return {
        "model": requirement.model,
        "required": requirement.parameters(),
        "achieved": judgement.achieved,
        "words": requirement.words(),
    }


def _attribute(column: Column, shown: Shown | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": str(column.role), "kind": str(column.kind)}
    if shown is None:
        entry["domain"] = list(column.domain.leaves)
        if not isinstance(column.domain, Line) and not column.domain.shown_or_suppressed:
            entry["taxonomy"] = column.domain.to_tree()
        return entry
    entry["domain"] = _shown_domain(column, shown)
    entry["nodes"] = shown.nodes
    entry["loss"] = round(float(np.mean(shown.hidden)), 4)
    return entry


def _shown_domain(column: Column, shown: Shown) -> list[Any]:
    """The domain of a quasi-identifier as far as it is public: declared values, or what the labels tell."""
    if isinstance(column.domain, Line) and column.domain.form == "word":
        return list(column.domain.leaves)
    if isinstance(column.domain, Line) or (column.domain.intervals is not None and column.domain.derived):
        return _between_ends(column, shown)
    if column.domain.intervals is not None:
        return list(column.domain.intervals[column.domain.outermost()])
    if column.domain.derived:
        return [label for label, meaning in shown.nodes.items() if meaning is not None]
    return list(column.domain.leaves)


def _between_ends(column: Column, shown: Shown) -> list[Any]:
    """From the least to the greatest end that the labels show; nothing where they show fewer than two."""
    ends = finite_ends(read({"nodes": shown.nodes}))
    dated = isinstance(column.domain, Line) and column.domain.form == "date"
    return [day_text(end) if dated else end for end in (ends[0], ends[-1])] if len(ends) > 1 else []


def checked(manifest: object) -> dict[str, Any]:
    """A manifest read from a file, if it has the parts that one must have."""
    if not isinstance(manifest, dict):
        raise ReleaseError("manifest.json holds no object; this is not a release of sfumato")
    for name, kind in _MUST_HAVE.items():
        if not isinstance(manifest.get(name), kind):
            raise ReleaseError(f"manifest.json lacks {name!r}, or it is no {kind.__name__}; the release is damaged")
    for entry in manifest["requirements"]:
        _check_requirement(entry)
    for name, entry in manifest["attributes"].items():
        _check_attribute(name, entry, labelled=manifest["scheme"] in ("generalization", "sampling"))
    return manifest


def _check_requirement(entry: object) -> None:
    parts = [entry.get(part) for part in ("required", "achieved")] if isinstance(entry, dict) else []
    if not isinstance(entry, dict) or "model" not in entry or not all(isinstance(p, dict) for p in parts):
        raise ReleaseError("manifest.json has a requirement without model, required and achieved")
    for name, value in entry["achieved"].items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ReleaseError(f"manifest.json states {name!r} = {value!r} as achieved; it is a number")


def _check_attribute(name: str, entry: object, *, labelled: bool) -> None:
    if not isinstance(entry, dict) or entry.get("role") not in list(Role):
        raise ReleaseError(f"manifest.json describes the attribute {name!r} without a role; the release is damaged")
    if labelled and entry["role"] == Role.QUASI and not isinstance(entry.get("nodes"), dict):
        raise ReleaseError(f"manifest.json does not explain the labels of {name!r}; the release is damaged")
    if entry["role"] in (Role.SENSITIVE, Role.CLASS) and not isinstance(entry.get("domain"), list):
        raise ReleaseError(f"manifest.json states no domain of {name!r}; the release is damaged")
