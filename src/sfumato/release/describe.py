"""Describe a release: build the manifest of what a scheme made."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.release.judgement import Judgement
from sfumato.release.label_meaning import stated_ends
from sfumato.release.manifest import (
    AttributeEntry,
    BoxAttribute,
    Claim,
    LabelAttribute,
    Manifest,
    MethodEntry,
    SchemeName,
    ValueAttribute,
    this_version,
)
from sfumato.release.scheme.base import Made
from sfumato.release.scheme.group_labels import Shown
from sfumato.requirement.catalogue import from_table
from sfumato.table.encode import Column, Kind
from sfumato.table.microdata import Microdata
from sfumato.table.numbers import day_text


def describe(made: Made, *, title: str, scheme: SchemeName, method: Mapping[str, Any]) -> Manifest:
    """The manifest of a release, except for the warnings, and the files, which are added when it is written."""
    return Manifest(
        sfumato=this_version(),
        title=title,
        scheme=scheme,
        method=MethodEntry.from_plain(method),
        requirements=tuple(_claim(j) for j in made.judgements),
        attributes=made.attributes,
        rows=made.rows,
        **made.facts,
    )


def attribute_entries(
    table: Microdata, shown: Sequence[Shown] = (), sizes: NDArray[np.int64] | None = None
) -> dict[str, AttributeEntry]:
    """What the manifest says of each attribute: those that show labels by these, given the sizes of groups."""
    of = {s.name: s for s in shown}
    attributes = {c.name: _attribute(c, of.get(c.name), sizes) for c in table.columns.values()}
    return attributes | {name: AttributeEntry() for name in table.plain.columns}


def _claim(judgement: Judgement) -> Claim:
    """A claim; its words follow from the parameters as written, so that a reader derives the same."""
    model, required = judgement.requirement.model, judgement.requirement.parameters()
    words = from_table({"model": model, **required}).words()
    return Claim(model=model, required=required, achieved=judgement.achieved, words=words)


def _attribute(column: Column, shown: Shown | None, sizes: NDArray[np.int64] | None) -> AttributeEntry:
    if shown is None or sizes is None:
        return ValueAttribute(
            role=column.role,
            kind=column.kind,
            domain=list(column.domain.leaves),
            taxonomy=column.domain.public_tree(),
        )
    told: dict[str, Any] = {
        "role": column.role,
        "kind": column.kind,
        "domain": _shown_domain(column, shown),
        "nodes": shown.nodes,
        "loss": shown.loss(sizes),
    }
    return LabelAttribute(**told) if shown.ranges is None else BoxAttribute(**told, ranges=shown.ranges)


def _shown_domain(column: Column, shown: Shown) -> list[Any]:
    return shown_domain(column.kind, column.domain.declared(), column.domain.measured, shown)


def shown_domain(kind: Kind, declared: list[str | float] | None, measured: bool, shown: Shown) -> list[Any]:
    """The domain of a quasi-identifier as far as it is public: declared values, or what the labels reveal."""
    if declared is not None:
        return declared
    if measured:
        return _between_ends(kind, shown)
    return [label for label, meaning in shown.nodes.items() if meaning is not None]


def _between_ends(kind: Kind, shown: Shown) -> list[Any]:
    """From the least to the greatest end that the labels show; nothing if they show fewer than two."""
    ends = stated_ends(shown.nodes)
    dated = kind is Kind.DATE
    return [day_text(end) if dated else end for end in (ends[0], ends[-1])] if len(ends) > 1 else []
