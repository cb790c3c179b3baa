"""The public statement of a release: what it shows, how it was made, what was required and achieved."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from sfumato.release.generalization import Shown
from sfumato.release.judgement import Judgement
from sfumato.release.label_meaning import finite_ends, read
from sfumato.requirement.catalogue import from_table
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import OrderedDomain, day_text


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
    """A claim; its words follow from the parameters as they are written, so that a reader derives the same."""
    model, required = judgement.requirement.model, judgement.requirement.parameters()
    words = from_table({"model": model, **required}).words()
    return {"model": model, "required": required, "achieved": judgement.achieved, "words": words}


def _attribute(column: Column, shown: Shown | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": str(column.role), "kind": str(column.kind)}
    if shown is None:
        entry["domain"] = list(column.domain.leaves)
        if not isinstance(column.domain, OrderedDomain) and not column.domain.shown_or_suppressed:
            entry["taxonomy"] = column.domain.to_tree()
        return entry
    entry["domain"] = _shown_domain(column, shown)
    entry["nodes"] = shown.nodes
    entry["loss"] = round(float(np.mean(shown.hidden)), 4)
    return entry


def _shown_domain(column: Column, shown: Shown) -> list[Any]:
    """The domain of a quasi-identifier as far as it is public: declared values, or what the labels tell."""
    if isinstance(column.domain, OrderedDomain) and column.domain.form == "word":
        return list(column.domain.leaves)
    if isinstance(column.domain, OrderedDomain) or (column.domain.intervals is not None and column.domain.derived):
        return _between_ends(column, shown)
    if column.domain.intervals is not None:
        return list(column.domain.intervals[column.domain.outermost()])
    if column.domain.derived:
        return [label for label, meaning in shown.nodes.items() if meaning is not None]
    return list(column.domain.leaves)


def _between_ends(column: Column, shown: Shown) -> list[Any]:
    """From the least to the greatest end that the labels show; nothing where they show fewer than two."""
    ends = finite_ends(read({"nodes": shown.nodes}))
    dated = isinstance(column.domain, OrderedDomain) and column.domain.form == "date"
    return [day_text(end) if dated else end for end in (ends[0], ends[-1])] if len(ends) > 1 else []
