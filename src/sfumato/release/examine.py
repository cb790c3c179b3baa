"""Verify the structure of a release: rows, columns of each table, roles, values, labels, groups and noise.

Each look assumes that the looks before it found nothing broken; whoever calls stops at the first that is.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.release import sampling
from sfumato.release.bucketization import COUNT, GROUP
from sfumato.release.explained import ROUNDED, fault_of, loss_bounds
from sfumato.release.finding import Finding, verdict
from sfumato.release.made import told
from sfumato.release.manifest import ValueAttribute
from sfumato.release.noise import look as noise
from sfumato.release.sampling import SIZE
from sfumato.release.statement import parse_manifest
from sfumato.table.checks import is_opaque
from sfumato.table.encode import Role
from sfumato.table.ordered_domain import MISSING
from sfumato.table.published import domain_codes, outside
from sfumato.table.taxonomy import Taxonomy, named

if TYPE_CHECKING:
    from sfumato.release.release import Release

Look = Callable[["Release"], Finding]


def structure(release: "Release") -> Iterator[Finding]:
    """What is found, up to the first that is broken."""
    found = _statement(release)
    yield found
    if found.status == "broken":
        return
    of_scheme: dict[str, list[Look]] = {
        "generalization": [_labels, _losses],
        "bucketization": [_buckets],
        "sampling": [_labels, _sample, _losses, noise],
        "randomization": [noise],
    }
    for look in (_rows, _columns, _roles, _values, *of_scheme[release.scheme]):
        found = look(release)
        yield found
        if found.status == "broken":
            return


def _statement(release: "Release") -> Finding:
    claim = "the manifest says all that it must, and nothing else"
    try:
        manifest = parse_manifest(release.manifest)
    except ReleaseError as e:
        return Finding(claim, "broken", str(e))
    return Finding(claim, "holds", f"{len(manifest.attributes)} attributes")


def _rows(release: "Release") -> Finding:
    claim, wanted = release.description.rows, _tables_of(release)
    if release.tables.keys() != wanted.keys():
        return Finding("the tables are those of the scheme", "broken", f"it has {named(release.tables)}")
    rows = next(iter(release.tables.values())).height
    fault = None if rows == claim else f"the data have {rows}"
    return verdict(f"the release has {claim} rows", fault, f"the data have {rows}")


def _tables_of(release: "Release") -> dict[str, set[str]]:
    """The columns that each table must have, by scheme and roles."""
    attributes = release.description.attributes
    if release.scheme == "bucketization":
        apart = {*release.with_role(Role.SENSITIVE)}
        return {"quasi": {*attributes} - apart | {GROUP}, "sensitive": apart | {GROUP, COUNT}}
    return {"data": {*attributes} | ({SIZE} if release.scheme == "sampling" else set())}


def _columns(release: "Release") -> Finding:
    claim = "each table has the columns that scheme and roles give it"
    for name, wanted in _tables_of(release).items():
        there = release.tables[name].columns
        own = {GROUP, COUNT} if release.bucketized else {SIZE} if release.scheme == "sampling" else set()
        if taken := own & release.description.attributes.keys():
            return Finding(claim, "broken", f"an attribute has the name of the scheme's own column {named(taken)}")
        if wrong := sorted(set(there) ^ wanted):
            return Finding(claim, "broken", f"table {name!r}: only in one of the two: {named(wrong)}")
        for column in release.tables[name].get_columns():
            if is_opaque(column.dtype):
                return Finding(claim, "broken", f"column {column.name!r} holds {column.dtype}")
    number = sum(t.width for t in release.tables.values())
    return Finding(claim, "holds", f"{number} columns")


def _roles(release: "Release") -> Finding:
    claim = "the attributes have the roles that the claims need"
    roles = [a.role for a in release.description.attributes.values()]
    quasi, sensitive = roles.count(Role.QUASI), roles.count(Role.SENSITIVE)
    if release.scheme != "randomization" and not quasi:
        return Finding(claim, "broken", "it needs a quasi-identifier, but none is declared")
    if release.scheme == "bucketization" and not sensitive:
        return Finding(claim, "broken", "bucketization needs a sensitive attribute, but none is declared")
    if release.scheme in ("sampling", "randomization") and sensitive != 1:
        return Finding(claim, "broken", f"{release.scheme} needs one sensitive attribute, but {sensitive} are declared")
    if release.scheme == "sampling" and len(roles) > quasi + 1:
        return Finding(claim, "broken", "a sample publishes quasi-identifiers and one sensitive attribute only")
    return Finding(claim, "holds", f"{quasi} quasi-identifiers, {sensitive} sensitive")


def _values(release: "Release") -> Finding:
    """Whether every value that is published as it is lies in its stated domain, and a taxonomy is over that domain."""
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
    return next(t[name] for t in release.tables.values() if name in t.columns)


def _outside(column: pl.Series, domain: Sequence[str]) -> str | None:
    if isinstance(column.dtype, pl.Enum) and (more := set(column.dtype.categories) - {*domain}):
        return f"column {column.name!r} has categories that its domain lacks: {named(sorted(more))}"
    if column.null_count() and MISSING not in domain:
        return f"column {column.name!r} lacks values, and its domain says that none are missing"
    codes = domain_codes(column, domain)
    return outside(column, codes) if (codes < 0).any() else None


def _other_tree(name: str, entry: ValueAttribute) -> str | None:
    if entry.taxonomy is None:
        return None
    try:
        leaves = Taxonomy.from_tree(entry.taxonomy, what=f"the taxonomy of {name!r}").leaves
    except (SfumatoError, ValueError, RecursionError) as e:
        return str(e)
    return None if list(leaves) == list(entry.domain) else f"the taxonomy of {name!r} is not over its domain"


def _labels(release: "Release") -> Finding:
    claim = "every label is explained and means what it shows"
    for name in release.quasi():
        if why := fault_of(name, release.description.label(name), release.tables["data"][name]):
            return Finding(claim, "broken", why)
    return Finding(claim, "holds", f"{len(release.quasi())} quasi-identifiers")


def _losses(release: "Release") -> Finding:
    claim = "no stated loss contradicts its labels"
    for name in release.quasi():
        least, most = loss_of(release, name)
        loss = release.description.label(name).loss
        if loss != round(loss, 4) or not least - ROUNDED <= loss <= most + ROUNDED:
            return Finding(claim, "broken", f"{name!r} states {loss}; its labels give {least:.4f} to {most:.4f}")
    return Finding(claim, "holds", f"{len(release.quasi())} quasi-identifiers")


def loss_of(release: "Release", name: str) -> tuple[float, float]:
    """The least and the greatest loss that the labels of a quasi-identifier can have."""
    data = release.tables["data"]
    weights = data[SIZE].to_numpy() if release.scheme == "sampling" else None
    return loss_bounds(release.description.label(name), data[name], weights)


def stated(release: "Release") -> list[Finding]:
    """What a release states that nobody can verify from the public part: the publisher's word."""
    found = told(release.description)
    for name in release.quasi() if release.scheme in ("generalization", "sampling") else ():
        least, most = loss_of(release, name)
        if most - least > ROUNDED:
            loss = release.description.label(name).loss
            found.append(
                Finding(f"{name!r} has a loss of {loss}", "stated", f"its labels allow {least:.2g} to {most:.2g}")
            )
    return found


def whole_numbers(column: pl.Series, most: int) -> str | None:
    """Why a column does not hold whole numbers from 1 up to ``most``, or None."""
    if not column.dtype.is_integer() or column.null_count():
        return f"column {column.name!r} must hold whole numbers"
    least, greatest = column.min(), column.max()
    if not isinstance(least, int) or not isinstance(greatest, int) or least < 1 or greatest > most:
        return f"column {column.name!r} must hold numbers from 1 to {most}; it has {least!r} to {greatest!r}"
    return None


def _buckets(release: "Release") -> Finding:
    """Whether each group has as many sensitive values as people, each combination once."""
    claim, quasi, sensitive = "the groups of both tables agree", release.tables["quasi"], release.tables["sensitive"]
    for column in (quasi[GROUP], sensitive[GROUP]):
        if not column.dtype.is_integer() or column.null_count():
            return Finding(claim, "broken", f"column {GROUP!r} must hold whole numbers")
    if why := whole_numbers(sensitive[COUNT], release.description.rows):
        return Finding(claim, "broken", why)
    if sensitive.drop(COUNT).is_duplicated().any():
        return Finding(claim, "broken", "a group lists a combination of sensitive values twice")
    people, values = _held(quasi[GROUP], None), _held(sensitive[GROUP], sensitive[COUNT])
    fault = None if people.equals(values) else "a group has more or fewer sensitive values than people"
    return verdict(claim, fault, f"{people.height} groups")


def _held(group: pl.Series, count: pl.Series | None) -> pl.DataFrame:
    weight = pl.Series(COUNT, np.ones(len(group), np.int64)) if count is None else count.cast(pl.Int64)
    both = pl.DataFrame([group.cast(pl.Int128).alias(GROUP), weight.alias(COUNT)])
    return both.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)


def _sample(release: "Release") -> Finding:
    claim = "the groups are as large as stated, and nobody's quasi-identifiers fit two rows"
    sizes, stated = release.tables["data"][SIZE], release.description.sampled_from
    k = release.description.method.settings.get("k")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        return Finding(claim, "broken", "the manifest states no whole number k")
    if why := whole_numbers(sizes, stated):
        return Finding(claim, "broken", why)
    least, people = int(np.min(sizes.to_numpy())), sum(sizes.to_list())
    if least < k:
        return Finding(claim, "broken", f"the smallest group has {least} people, fewer than k = {k}")
    if people != stated:
        return Finding(claim, "broken", f"the sizes add up to {people}, not to {stated}")
    try:
        overlapping = sampling.overlapping(release.description, release.tables["data"], release.quasi())
    except ReleaseError as e:
        return Finding(claim, "broken", str(e))
    fault = f"{overlapping} boxes meet" if overlapping else None
    return verdict(claim, fault, f"{sizes.len()} boxes apart; sizes of {least} or more add up to {people}")
