"""Checks on labels: each is explained and means what it shows, and the losses fit."""

from typing import TYPE_CHECKING

from sfumato.release.check.explained import ROUNDED, fault_of, loss_bounds
from sfumato.release.check.finding import Finding
from sfumato.table.published import text_counts

if TYPE_CHECKING:
    from sfumato.release.release import Release


def labels_explained(release: "Release") -> Finding:
    claim = "every label is explained and means what it shows"
    for name in release.quasi():
        column, rows = release.counted["data"][name], release.scheme_class.rows_by_label(release, name)
        if why := fault_of(name, release.description.label(name), column, rows):
            return Finding(claim, "broken", why)
    return Finding(claim, "holds", f"{len(release.quasi())} quasi-identifiers")


def losses_fit(release: "Release") -> Finding:
    claim = "no stated loss contradicts its labels"
    for name in release.quasi():
        least, most = loss_of(release, name)
        loss = release.description.label(name).loss
        if loss != round(loss, 4) or not least - ROUNDED <= loss <= most + ROUNDED:
            return Finding(claim, "broken", f"{name!r} states {loss}; its labels give {least:.4f} to {most:.4f}")
    return Finding(claim, "holds", f"{len(release.quasi())} quasi-identifiers")


def loss_of(release: "Release", name: str) -> tuple[float, float]:
    """The least and the greatest loss that the labels of a quasi-identifier can have."""
    people = release.scheme_class.weights(release) if release.row_weights is None else None
    if people is None:
        return loss_bounds(release.description.label(name), release.scheme_class.rows_by_label(release, name))
    return loss_bounds(release.description.label(name), text_counts(release.counted["data"][name], people))
