"""The release that both publishers make of the common table: the same rows, the same manifest, the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sfumato.engine.decision import Groups
from sfumato.engine.local import as_published, recode
from sfumato.errors import PolicyError, ReleaseError
from sfumato.integration.columns import MaskedColumn
from sfumato.integration.common_table import CommonTable, first_of, groups_of
from sfumato.integration.rows import PublishedRows
from sfumato.method.topdown.templates import templates_of
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.release.check.explained import loss_bounds
from sfumato.release.check.public import PublicSchema
from sfumato.release.describe import attribute_entries, describe, shown_domain
from sfumato.release.judgement import Judgement
from sfumato.release.manifest import AttributeEntry, LabelAttribute
from sfumato.release.release import Release
from sfumato.release.scheme.base import Decision, Made
from sfumato.release.scheme.group_labels import Shown, shown_as
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import text_counts


def shown_labels(common: CommonTable, groups: Groups) -> list[Shown]:
    """What groups show of each masked attribute."""
    first, shown = first_of(groups), []
    for name, labels, of_record in zip(common.names, common.labels, common.of_record, strict=True):
        there, of_group = np.unique(of_record[first], return_inverse=True)
        shown.append(shown_as(name, [labels[i] for i in there], of_group.astype(np.int64)))
    return shown


_GREATEST_LOSSES = (
    "the stated losses are the greatest that the labels allow; the publishers did not exchange the true ones"
)


@dataclass(frozen=True)
class JointRelease:
    """What a release is made of, besides its rows."""

    method: TopDownTwoParty
    requirements: Sequence[Requirement]
    columns: Mapping[str, MaskedColumn]
    class_column: Column | None
    title: str
    spreadsheet: str = "plain"

    def build(
        self, common: CommonTable, rows: PublishedRows, losses: Mapping[str, float] | None, *, stopped: bool = False
    ) -> Release:
        """The release, judged and checked; ``stopped``: the refinement ended before it was complete.

        ``losses``: the losses of the masked attributes, which only their holders know; None if these did not tell.
        """
        shown = shown_labels(common, groups_of(common))
        data = {"data": pl.DataFrame([*_labels(shown, rows), *self._class(rows), *rows.unchanged])}
        attributes = self._attributes(shown, data["data"], losses) | dict(rows.entries or {})
        draft = Release(self._described(data, attributes, []), data)
        view = PublicSchema(draft.description.attributes, data)
        judgements = [_judged(draft, r, view) for r in self.requirements]
        made = Made(data, judgements, attributes, common.records)
        bound = [j.requirement for j in judgements]
        warnings = self._left_out(bound, view)
        warnings += [
            f"refinement was stopped after {common.steps} steps; the table is valid, and could show more"
        ] * stopped
        warnings += [_GREATEST_LOSSES] * (losses is None)
        decision = Decision(warnings=warnings)
        release = self.method.described(made, decision, bound, _no_rows(), self.title)
        if self.spreadsheet != "plain":
            release = release.stating(output={"spreadsheet": self.spreadsheet})
        release.check()
        return release

    def _described(
        self, tables: Mapping[str, pl.DataFrame], attributes: Mapping[str, AttributeEntry], judgements: list[Judgement]
    ) -> dict[str, object]:
        made = Made(dict(tables), judgements, attributes, tables["data"].height)
        return describe(made, title=self.title, scheme="generalization", method=self.method.settings()).plain()

    def _attributes(
        self, shown: Sequence[Shown], data: pl.DataFrame, losses: Mapping[str, float] | None
    ) -> dict[str, AttributeEntry]:
        found: dict[str, AttributeEntry] = {}
        for s in shown:
            column = self.columns[s.name]
            domain = shown_domain(column.kind, column.declared, column.measured, s)
            entry = LabelAttribute(role=Role.QUASI, kind=column.kind, domain=domain, nodes=s.nodes)
            loss = loss_bounds(entry, text_counts(data[s.name]))[1] if losses is None else losses[s.name]
            found[s.name] = replace(entry, loss=round(loss, 4))
        if self.class_column is not None:
            found |= attribute_entries(_only(self.class_column))
        return found

    def _class(self, rows: PublishedRows) -> list[pl.Series]:
        if self.class_column is None or rows.classes is None:
            return []
        column = self.class_column
        return [as_published(Column(column.name, column.role, column.kind, column.domain, rows.classes))]

    def _left_out(self, bound: Sequence[Requirement], view: PublicSchema) -> list[str]:
        """Warnings about templates that others imply."""
        _, redundant = templates_of([r for r in bound if isinstance(r, GroupRequirement)], view)
        return [x.words() for x in redundant]


def _labels(shown: Sequence[Shown], rows: PublishedRows) -> list[pl.Series]:
    return [recode(s.name, s.labels, s.of_group[rows.group]) for s in shown]


def _judged(release: Release, requirement: Requirement, view: PublicSchema) -> Judgement:
    """Judge a requirement on the release; raise if it does not hold."""
    if not isinstance(requirement, GroupRequirement):
        raise PolicyError(f"tds2p does not serve {requirement.model}; require templates or k-anonymity")
    judgement = release.scheme_class.judge(release, requirement.bind(view), view)
    if not judgement.holds:
        raise ReleaseError(
            f"{judgement.failing} of {judgement.groups} groups violate {requirement.words()!r}; nothing is published"
        )
    return judgement


def _only(column: Column) -> Microdata:
    return Microdata({column.name: column}, pl.DataFrame(), pl.DataFrame(), len(column.codes))


def _no_rows() -> Microdata:
    """No private table: every warning follows from the release itself."""
    return Microdata({}, pl.DataFrame(), pl.DataFrame(), 0)
