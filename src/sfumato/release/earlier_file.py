"""Earlier releases that sfumato did not make: a plain file, with its attributes and taxonomies declared."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.release.earlier import Earlier, EarlierColumn, exact_meaning
from sfumato.release.label_meaning import LabelMeaning, shown_ends
from sfumato.table.encode import Attribute, Domain, Kind, Role, looks_numeric
from sfumato.table.hierarchy import TaxonomySpec, read_taxonomy
from sfumato.table.names import MISSING, SUPPRESSED, named
from sfumato.table.numbers import day_number, number_of
from sfumato.table.published import DistinctTexts, distinct_texts
from sfumato.table.regular_file import digest, located
from sfumato.table.source import read_frame


def earlier(
    source: object,
    *,
    quasi: Sequence[str] = (),
    sensitive: str | Sequence[str] | None = None,
    insensitive: Sequence[str] = (),
    taxonomies: Mapping[str, TaxonomySpec] | None = None,
    kinds: Mapping[str, str] | None = None,
    title: str = "",
    nulls: Sequence[str] = (),
) -> Earlier:
    """A table that was published before by other means, from a file or a data frame; columns not named are left out.

    Its cells may be values, nodes of the taxonomy, intervals such as ``[20, 40)``, or ``*``.

    Args:
        source: a file or a data frame.
        quasi: its quasi-identifiers.
        sensitive: its sensitive columns.
        insensitive: its other columns.
        taxonomies: name of a column → its tree, as for `read`.
        kinds: name of a column → its kind.
        title: what to call it.
        nulls: texts that mean a missing value.

    >>> old = earlier(pl.DataFrame({"age": ["[20, 40)", "41"], "ill": ["flu", "*"]}), quasi=["age"], sensitive="ill")
    >>> [m.interval[0] for m in old.columns["age"].meanings]
    [41.0, 20.0]
    """
    several = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    roles = {Role.QUASI: quasi, Role.SENSITIVE: several, Role.INSENSITIVE: insensitive}
    attributes = [
        Attribute(name=n, role=role, kind=(kinds or {}).get(n), taxonomy=(taxonomies or {}).get(n))  # type: ignore[arg-type]
        for role, names in roles.items()
        for n in names
    ]
    frame = read_frame(source, nulls=nulls)
    path = Path(source) if isinstance(source, str | Path) else None
    return from_frame(frame, attributes, name="T2", title=title, digests=_digest(frame, path))


def from_file(
    file: str,
    attributes: Sequence[Attribute],
    *,
    name: str,
    title: str = "",
    nulls: Sequence[str] = (),
    folder: Path | None = None,
) -> Earlier:
    """The table that a policy names; each of its columns must be declared, since each can be joined with."""
    if "://" in file:
        raise PolicyError(f"data of {name} is a database address; an earlier release must be a file: export it first")
    path = located(file, folder)
    try:
        frame = read_frame(path, nulls=nulls)
    except SfumatoError as e:
        raise type(e)(f"the earlier release {name} cannot be read: {e}") from None
    known = [a.name for a in attributes]
    if rest := [c for c in frame.columns if c not in known]:
        raise PolicyError(
            f"{name} has {len(rest)} columns that its attributes do not name: {named(rest)}; an adversary can join on "
            "any of them: give each a role under [after.attributes], or the role identifier if it was not published"
        )
    return from_frame(frame, attributes, name=name, title=title, digests=_digest(frame, path), folder=folder)


def _digest(frame: pl.DataFrame, path: Path | None) -> dict[str, str]:
    """The SHA-256 of a file, under a name that does not reveal where it was; for a frame, that of its csv file."""
    if path is None:
        return {"data.csv": hashlib.sha256(frame.write_csv().encode()).hexdigest()}
    return {f"data{path.suffix.lower()}": digest(path)}


def from_frame(
    frame: pl.DataFrame,
    attributes: Sequence[Attribute],
    *,
    name: str,
    title: str = "",
    digests: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Earlier:
    """Read the columns of a frame by their declarations."""
    if absent := [a.name for a in attributes if a.name not in frame.columns]:
        raise DataError(f"{name} has no column {named(absent)}, only {named(frame.columns)}; correct its attributes")
    chosen = [a for a in attributes if a.role is not Role.IDENTIFIER]
    if not chosen:
        raise PolicyError(f"{name} has no published column; give its columns roles other than identifier")
    columns = {a.name: _column(frame[a.name], a, name, folder) for a in chosen}
    return replace(flat(columns, frame.height, name=name, title=title), digests=digests or {})


def flat(columns: Mapping[str, EarlierColumn], rows: int, *, name: str, title: str) -> Earlier:
    """A plain table of one row per person."""
    ones, number = np.ones(rows, np.int64), np.arange(rows, dtype=np.int64)
    return Earlier(name, title, "generalization", rows, columns, number, ones, plain_file=True)


def _column(series: pl.Series, attribute: Attribute, name: str, folder: Path | None) -> EarlierColumn:
    shown = distinct_texts(series)
    tree = None
    if attribute.taxonomy is not None:
        plain = [t for t in shown.texts if t not in (SUPPRESSED, MISSING)]
        tree = read_taxonomy(attribute.taxonomy, plain, name=attribute.name, folder=folder)
    kind = attribute.kind or _kind(series, shown, tree)
    meanings = tuple(_meaning(text, kind, tree) for text in shown.texts)
    if unknown := [t for t, m in zip(shown.texts, meanings, strict=True) if m is None or not _allowed(t, m, attribute)]:
        where = "taxonomy" if tree is not None else "declared domain" if attribute.domain else "kind"
        raise DataError(
            f"column {attribute.name!r} of {name} has {len(unknown)} labels that are not in its {where}: "
            f"{named(unknown)}; correct its declaration under [after.attributes]"
        )
    listed = {n for m in meanings if m is not None and m.listed for n in m.names}
    values = frozenset(listed | set(tree.leaves if tree is not None else attribute.domain or ()))
    known = tuple(m for m in meanings if m is not None)
    of_row = shown.of_row.astype(np.int64)
    return EarlierColumn(attribute.name, attribute.role, kind, tuple(shown.texts), of_row, known, values, tree)


def _kind(series: pl.Series, shown: DistinctTexts, tree: Domain | None) -> Kind:
    """Numbers or days if all labels are such or intervals of such; otherwise categories."""
    if tree is not None:
        return Kind.CONTINUOUS if tree.measured else Kind.CATEGORICAL
    plain = [t for t in shown.texts if t not in (SUPPRESSED, MISSING)]
    single = [t for t in plain if shown_ends(t) is None]
    if series.dtype == pl.Date or (single and all(day_number(t) is not None for t in single)):
        return Kind.DATE
    numeric = looks_numeric(single) if single else bool(plain)
    return Kind.CONTINUOUS if numeric else Kind.CATEGORICAL


def _meaning(text: str, kind: Kind, tree: Domain | None) -> LabelMeaning | None:
    """What a cell means: a node, an interval, a value, or anything; None if it is none of these."""
    if text == SUPPRESSED and (tree is None or SUPPRESSED not in tree.named_ranges):
        return LabelMeaning(None, (text,), False)
    if text == MISSING:
        return LabelMeaning(None, (text,))
    if tree is not None and text in tree.named_ranges:
        lo, hi = tree.named_ranges[text]
        return LabelMeaning((tree.intervals or {}).get(text), tree.leaves[lo:hi])
    if kind in (Kind.CONTINUOUS, Kind.DATE):
        if (ends := shown_ends(text)) is not None:
            return LabelMeaning(ends)
        number = day_number(text) if kind is Kind.DATE else number_of(text)
        return None if number is None else exact_meaning(text, kind)
    return None if tree is not None else LabelMeaning(None, (text,))


def _allowed(text: str, meaning: LabelMeaning, attribute: Attribute) -> bool:
    """Whether a label of an attribute with a declared domain is in it."""
    return attribute.domain is None or text in (*attribute.domain, SUPPRESSED, MISSING) or meaning.interval is not None
