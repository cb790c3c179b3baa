"""Verify the structure of a release: rows, columns of each table, roles, values, labels, groups and noise.

Each step assumes that the steps before it found nothing broken; callers stop at the first that does.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.release.check.explained import ROUNDED
from sfumato.release.check.finding import Finding, verdict
from sfumato.release.check.joined import declared
from sfumato.release.check.label_looks import loss_of
from sfumato.release.check.made import told
from sfumato.release.check.statement import parse_manifest
from sfumato.release.manifest import ValueAttribute
from sfumato.release.part_tables import as_stored
from sfumato.table.checks import is_opaque
from sfumato.table.encode import Role
from sfumato.table.ordered_domain import MISSING
from sfumato.table.published import domain_codes, listed_words, outside, text_counts
from sfumato.table.taxonomy import Taxonomy, named

if TYPE_CHECKING:
    from sfumato.release.release import Release

Look = Callable[["Release"], Finding]


def structure(release: "Release") -> Iterator[Finding]:
    """The findings, up to the first that is broken."""
    found = _statement(release)
    yield found
    if found.status == "broken":
        return
    for look in (_rows, _columns, _roles, _values, *release.scheme_class.looks):
        found = look(release)
        yield found
        if found.status == "broken":
            return


def _statement(release: "Release") -> Finding:
    claim = "the manifest states everything it must, and nothing else"
    try:
        manifest = parse_manifest(release.manifest)
    except ReleaseError as e:
        return Finding(claim, "broken", str(e))
    return Finding(claim, "holds", f"{len(manifest.attributes)} attributes")


def _rows(release: "Release") -> Finding:
    claim, wanted = release.description.rows, release.scheme_class.columns_of(release.description)
    if release.tables.keys() != wanted.keys():
        return Finding("the tables are those of the scheme", "broken", f"the release has {named(release.tables)}")
    rows = next(iter(as_stored(release.tables).values())).height
    fault = None if rows == claim else f"the data have {rows}"
    return verdict(f"the release has {claim} rows", fault, f"the data have {rows}")


def _columns(release: "Release") -> Finding:
    claim = "each table has the columns that the scheme and the roles call for"
    tables = as_stored(release.tables)
    for name, wanted in release.scheme_class.columns_of(release.description).items():
        there = tables[name].columns
        if taken := release.scheme_class.own_columns & release.description.attributes.keys():
            return Finding(claim, "broken", f"an attribute has the name of the scheme's column {named(taken)}")
        if wrong := sorted(set(there) ^ wanted):
            return Finding(
                claim, "broken", f"table {name!r}: only in the manifest or only in the table: {named(wrong)}"
            )
        for column, dtype in tables[name].schema.items():
            if is_opaque(dtype):
                return Finding(claim, "broken", f"column {column!r} holds {dtype}")
    number = sum(len(t.columns) for t in tables.values())
    return Finding(claim, "holds", f"{number} columns")


def _roles(release: "Release") -> Finding:
    claim = "the attributes have the roles that the claims need"
    roles = [a.role for a in release.description.attributes.values()]
    quasi, sensitive = roles.count(Role.QUASI), roles.count(Role.SENSITIVE)
    fault = release.scheme_class.lacks(quasi, sensitive, len(roles))
    return verdict(claim, fault, f"{quasi} quasi-identifiers, {sensitive} sensitive")


def _values(release: "Release") -> Finding:
    """Whether every value that is published unchanged is in its stated domain, and a taxonomy is over that domain."""
    claim = "every value is in its domain"
    number = 0
    for name, entry in release.description.attributes.items():
        if not isinstance(entry, ValueAttribute):
            continue
        number += 1
        if why := _outside(_column(release, name), entry.domain) or _other_tree(name, entry):
            return Finding(claim, "broken", why)
    return Finding(claim, "holds", f"{number} attributes")


def _column(release: "Release", name: str) -> pl.Series:
    return next(t[name] for t in release.counted.values() if name in t.columns)


def _outside(column: pl.Series, domain: Sequence[str]) -> str | None:
    listed = isinstance(column.dtype, pl.Enum)
    if listed and (more := {*listed_words(column)} - {*domain}):
        return f"column {column.name!r} has categories that are not in its domain: {named(sorted(more))}"
    if column.null_count() and MISSING not in domain:
        return f"column {column.name!r} has missing values, but its domain says that none are missing"
    if listed or (not column.dtype.is_float() and text_counts(column).keys() <= {*domain}):
        return None
    codes = domain_codes(column, domain)  # also where a number is written in another way
    return outside(column, codes) if (codes < 0).any() else None


def _other_tree(name: str, entry: ValueAttribute) -> str | None:
    if entry.taxonomy is None:
        return None
    try:
        leaves = Taxonomy.from_tree(entry.taxonomy, what=f"the taxonomy of {name!r}").leaves
    except (SfumatoError, ValueError, RecursionError) as e:
        return str(e)
    return None if list(leaves) == list(entry.domain) else f"the taxonomy of {name!r} is not over its domain"


def stated(release: "Release") -> list[Finding]:
    """What a release states that cannot be verified from the public part: the publisher's word."""
    found = [*told(release.description), *declared(release.description)]
    for name in release.quasi() if release.scheme_class.shows_labels else ():
        least, most = loss_of(release, name)
        if most - least > ROUNDED:
            loss = release.description.label(name).loss
            found.append(
                Finding(f"{name!r} has a loss of {loss}", "stated", f"its labels allow {least:.4f} to {most:.4f}")
            )
    return found
