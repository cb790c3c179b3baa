"""The public statement of a release: what it shows, how it was made, what was required and achieved."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.release.generalization import Shown
from sfumato.release.judgement import Judgement
from sfumato.release.label_meaning import finite_ends, read
from sfumato.release.scheme import Made
from sfumato.requirement.catalogue import from_table
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import OrderedDomain, day_text


def describe(made: Made, *, title: str, scheme: str, method: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of a release, all but warnings and the files, which are named when it is written."""
    return {
        "sfumato": version("sfumato"),
        "title": title,
        "scheme": scheme,
        "method": dict(method),
        "requirements": [_requirement(j) for j in made.judgements],
        "attributes": dict(made.attributes),
        "rows": made.rows,
        **made.facts,
    }


def attribute_entries(
    table: Microdata, shown: Sequence[Shown] = (), sizes: NDArray[np.int64] | None = None
) -> dict[str, dict[str, Any]]:
    """What the manifest says of each attribute: those that show labels by these, given the sizes of groups."""
    of = {s.name: s for s in shown}
    attributes = {c.name: _attribute(c, of.get(c.name), sizes) for c in table.columns.values()}
    return attributes | {name: {"role": str(Role.INSENSITIVE)} for name in table.plain.columns}


def _requirement(judgement: Judgement) -> dict[str, Any]:
    """A claim; its words follow from the parameters as they are written, so that a reader derives the same."""
    model, required = judgement.requirement.model, judgement.requirement.parameters()
    words = from_table({"model": model, **required}).words()
    return {"model": model, "required": required, "achieved": judgement.achieved, "words": words}


def _attribute(column: Column, shown: Shown | None, sizes: NDArray[np.int64] | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": str(column.role), "kind": str(column.kind)}
    if shown is None or sizes is None:
        entry["domain"] = list(column.domain.leaves)
        if not isinstance(column.domain, OrderedDomain) and not column.domain.shown_or_suppressed:
            entry["taxonomy"] = column.domain.to_tree()
        return entry
    entry["domain"] = _shown_domain(column, shown)
    entry["nodes"] = shown.nodes
    entry["loss"] = shown.loss(sizes)
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
