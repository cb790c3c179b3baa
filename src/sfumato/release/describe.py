"""Describe a release: the manifest of a table that was published."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from sfumato.release.generalization import Shown
from sfumato.release.judgement import Judgement
from sfumato.release.label_meaning import finite_ends, read
from sfumato.release.manifest import (
    AttributeEntry,
    BoxAttribute,
    Claim,
    LabelAttribute,
    Manifest,
    MethodEntry,
    SchemeName,
    ValueAttribute,
)
from sfumato.release.sampling import ShownBox
from sfumato.requirement.catalogue import from_table
from sfumato.table.encode import Column, Kind
from sfumato.table.microdata import Microdata
from sfumato.table.numbers import day_text


def described(
    table: Microdata,
    *,
    title: str,
    scheme: SchemeName,
    method: Mapping[str, Any],
    judgements: Sequence[Judgement],
    shown: Sequence[Shown] = (),
    warnings: Sequence[str] = (),
) -> Manifest:
    """The manifest of a release of this table, all but the files, which are named when it is written."""
    of = {s.column.name: s for s in shown}
    attributes = {c.name: _attribute(c, of.get(c.name)) for c in table.columns.values()}
    return Manifest(
        sfumato=version("sfumato"),
        title=title,
        scheme=scheme,
        method=MethodEntry.from_plain(method),
        requirements=tuple(_claim(j) for j in judgements),
        attributes=attributes | {name: AttributeEntry() for name in table.plain.columns},
        rows=table.rows,
        warnings=tuple(warnings) or None,
        sampled_from=table.rows,
    )


def describe(table: Microdata, **facts: Any) -> dict[str, Any]:
    """The same as the plain mapping that a `Release` holds; see `described` for the facts."""
    return described(table, **facts).plain()


def _claim(judgement: Judgement) -> Claim:
    """A claim; its words follow from the parameters as they are written, so that a reader derives the same."""
    model, required = judgement.requirement.model, judgement.requirement.parameters()
    words = from_table({"model": model, **required}).words()
    return Claim(model=model, required=required, achieved=judgement.achieved, words=words)


def _attribute(column: Column, shown: Shown | None) -> AttributeEntry:
    if shown is None:
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
        "loss": round(float(np.mean(shown.hidden)), 4),
    }
    return BoxAttribute(**told, ranges=shown.ranges) if isinstance(shown, ShownBox) else LabelAttribute(**told)


def _shown_domain(column: Column, shown: Shown) -> list[Any]:
    """The domain of a quasi-identifier as far as it is public: declared values, or what the labels tell."""
    declared = column.domain.declared()
    if declared is not None:
        return declared
    if column.domain.measured:
        return _between_ends(column, shown)
    return [label for label, meaning in shown.nodes.items() if meaning is not None]


def _between_ends(column: Column, shown: Shown) -> list[Any]:
    """From the least to the greatest end that the labels show; nothing where they show fewer than two."""
    ends = finite_ends(read(shown.nodes))
    dated = column.kind is Kind.DATE
    return [day_text(end) if dated else end for end in (ends[0], ends[-1])] if len(ends) > 1 else []
