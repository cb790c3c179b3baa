"""A published table as one side of a join: the labels of each column, what they mean, and whom each row represents.

Earlier releases, the current one and private tables all take this form, so that joining them is written once.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError, ReleaseError, SfumatoError
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.files.store import MANIFEST
from sfumato.release.label_meaning import LabelMeaning, parse_label
from sfumato.release.manifest import AttributeEntry, LabelAttribute, SchemeName, ValueAttribute
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.requirement.join_template import THIS
from sfumato.table.encode import Column, Domain, Kind, Role
from sfumato.table.microdata import Microdata
from sfumato.table.names import MISSING, SUPPRESSED, named
from sfumato.table.numbers import day_number, number_of
from sfumato.table.published import distinct_texts, value_codes
from sfumato.table.regular_file import digest
from sfumato.table.taxonomy import Taxonomy

if TYPE_CHECKING:
    from sfumato.release.release import Release

Integers = NDArray[np.int64]

_MOST_ROWS = 1 << 27
_MOST_WEIGHT = 1 << 31


@dataclass(frozen=True, eq=False)
class EarlierColumn:
    """A published column: its distinct labels, the label of each row, and the meaning of each label.

    ``values`` are all single values that the publisher names, in a domain, a tree or a label; ``tree`` is the taxonomy,
    if it is public.
    """

    name: str
    role: Role
    kind: Kind
    labels: tuple[str, ...]
    of_row: Integers
    meanings: tuple[LabelMeaning, ...]
    values: frozenset[str] = frozenset()
    tree: Domain | None = None

    def inside(self, chosen: Sequence[str]) -> NDArray[np.bool_]:
        """Whether all that a label may mean is among these values or below these nodes, for each label."""
        wanted = {leaf for name in chosen for leaf in (name, *self.below(name))}
        return np.array([self._inside(i, wanted) for i in range(len(self.labels))], np.bool_)

    def _inside(self, label: int, wanted: set[str]) -> bool:
        known = self.meanings[label]
        listed = known.listed and bool(known.names) and set(known.names) <= wanted
        return self.labels[label] in wanted or listed

    def below(self, name: str) -> tuple[str, ...]:
        """The values below a node, as far as they are public."""
        if self.tree is not None and name in self.tree.named_ranges:
            lo, hi = self.tree.named_ranges[name]
            return self.tree.leaves[lo:hi]
        return next((m.names for n, m in zip(self.labels, self.meanings, strict=True) if n == name and m.listed), ())


@dataclass(frozen=True, eq=False)
class Earlier:
    """A published table, flat: one row per person, or several where sensitive values are in a table of their own.

    ``name`` is what templates call it, ``digests`` are the SHA-256 of its files. ``person`` is the person of each row
    (of a sample, the group), ``weights`` how much each row counts, and ``unit`` what one person counts: a bucketized
    release gives each person every value of the group, weighted by its share. ``randomized`` names columns whose
    values are noise; they are left out of ``columns``. ``plain_file``: not a sfumato release, so what its labels mean
    is known only from whoever read it. ``manifest`` is the SHA-256 of its manifest, if it was read from a folder.

    ``title``, ``scheme`` and ``rows`` are as stated in it.
    """

    name: str
    title: str
    scheme: SchemeName
    rows: int
    columns: Mapping[str, EarlierColumn]
    person: Integers
    weights: Integers
    unit: int = 1
    digests: Mapping[str, str] = field(default_factory=dict)
    randomized: tuple[str, ...] = ()
    plain_file: bool = False
    manifest: str = ""

    @property
    def sampled(self) -> bool:
        """Whether a row represents a group of people."""
        return SCHEMES[self.scheme].rows_are_groups

    def called(self, name: str) -> "Earlier":
        """The same table under another name."""
        return replace(self, name=name)

    def column(self, name: str) -> EarlierColumn:
        """A column; one that was randomized or is not published is refused."""
        if name in self.randomized:
            raise PolicyError(
                f"{name!r} of {self.name} was randomized: its values are noise, so a join on them is not counted; "
                "leave it out of templates and rules"
            )
        if name not in self.columns:
            raise PolicyError(f"{self.name} has no column {name!r}; choose from {named(self.columns)}")
        return self.columns[name]


def as_earlier(source: "Earlier | Release | str | Path", name: str) -> Earlier:
    """A release, its folder, or what was already read, under the name that templates use.

    >>> as_earlier(42, "T2")
    Traceback (most recent call last):
    sfumato.errors.PolicyError: T2 is a int; give a release, the folder of one, or what sf.earlier read from a file
    """
    from sfumato.release.release import Release

    if isinstance(source, Earlier):
        return source.called(name)
    if isinstance(source, Release):
        return _of_release(source, name, verified=False)
    if isinstance(source, str | Path):
        found = _of_release(_loaded(Path(source), name), name, verified=True)
        return replace(found, manifest=digest(Path(source) / MANIFEST))
    raise PolicyError(
        f"{name} is a {type(source).__name__}; give a release, the folder of one, or what sf.earlier read from a file"
    )


def _loaded(folder: Path, name: str) -> "Release":
    """The release in a folder; whatever is wrong with it, the message says which release it is."""
    from sfumato.release.release import load_whole

    try:
        return load_whole(folder)
    except SfumatoError as e:
        kind = ReleaseError if isinstance(e, ReleaseError) else PolicyError
        raise kind(f"the earlier release {name} ({folder}) cannot be used: {e}") from None


def _of_release(release: "Release", name: str, *, verified: bool) -> Earlier:
    _refuse_broken(release, name)
    return replace(this_table(release, name), digests=_digests(release, name, verified=verified))


def this_table(release: "Release", name: str = THIS) -> Earlier:
    """The release that is being made or checked, as a side of the join; its structure is known to hold."""
    manifest, scheme = release.description, release.scheme_class
    random = _randomized(release)
    frames = dict(release.tables)
    if scheme.separates:
        flat = _unbucketed(frames["quasi"], frames["sensitive"], name)
    else:
        rows, weights = frames["data"].height, scheme.weights(release)
        flat = _Flat(frames["data"], np.arange(rows), np.ones(rows, np.int64) if weights is None else weights)
    columns = {n: _published(flat.frame[n], entry) for n, entry in manifest.attributes.items() if n not in random}
    people = manifest.sampled_from if scheme.rows_are_groups else manifest.rows
    return Earlier(
        name, manifest.title, manifest.scheme, people, columns, flat.person, flat.weights, flat.unit, randomized=random
    )


def _refuse_broken(release: "Release", name: str) -> None:
    """Refuse a release whose structure does not hold: its labels cannot be read then."""
    from sfumato.release.check.examine import structure

    for finding in structure(release):
        if finding.status == "broken":
            raise ReleaseError(
                f"the earlier release {name} is broken: {finding.claim}: {finding.detail}; ask for an intact copy"
            )


def _digests(release: "Release", name: str, *, verified: bool) -> dict[str, str]:
    """The SHA-256 of the files, as verified on reading; of tables in memory, of the csv that they would be."""
    manifest = release.description
    stated = {t.file: t.sha256 for t in manifest.tables or ()}
    if verified:
        return stated
    written = {
        f"{n}.csv": hashlib.sha256(csv_of(f, manifest.output).write_csv().encode()).hexdigest()
        for n, f in release.tables.items()
    }
    for file, sha256 in written.items():
        if stated.get(file, sha256) != sha256:
            raise ReleaseError(
                f"the tables of the earlier release {name} are not those that its manifest describes (the SHA-256 of "
                f"{file} differs); load it from its folder"
            )
    return written


def _randomized(release: "Release") -> tuple[str, ...]:
    """The columns whose published values are noise."""
    manifest, scheme = release.description, release.scheme_class
    if scheme.randomizes:
        return tuple(n for n, way in manifest.distortions().items() if n in manifest.matrices and way.changes)
    return tuple(manifest.with_role(Role.SENSITIVE)) if scheme.rows_are_groups else ()


class _Flat(NamedTuple):
    frame: pl.DataFrame
    person: Integers
    weights: Integers
    unit: int = 1


def _unbucketed(quasi: pl.DataFrame, sensitive: pl.DataFrame, name: str) -> _Flat:
    """Each person with every combination of sensitive values of the group, weighted by its share."""
    both, of = value_codes(pl.concat([quasi[GROUP].cast(pl.Int128), sensitive[GROUP].cast(pl.Int128)]))
    group, held = both[: quasi.height].astype(np.int64), both[quasi.height :].astype(np.int64)
    count = sensitive[COUNT].to_numpy().astype(np.int64)
    unit = math.lcm(*np.unique(np.bincount(group, minlength=of)).tolist())
    kinds = np.bincount(held, minlength=of)
    if unit > _MOST_WEIGHT or int(kinds[group].sum()) > _MOST_ROWS:
        raise DataError(
            f"the groups of {name} are too many or too unequal to be joined exactly ({kinds[group].sum():,} pairs of "
            f"people and values, at most {_MOST_ROWS:,}; {unit:,} parts per person, at most {_MOST_WEIGHT:,})"
        )
    order = np.argsort(held, kind="stable")
    start = np.cumsum(kinds) - kinds
    person = np.repeat(np.arange(quasi.height), kinds[group])
    within = np.arange(len(person)) - np.repeat(np.cumsum(kinds[group]) - kinds[group], kinds[group])
    value = order[start[group][person] + within]
    sizes = np.bincount(group, minlength=of)
    frame = pl.concat([quasi.drop(GROUP)[person], sensitive.drop(GROUP, COUNT)[value]], how="horizontal")
    return _Flat(frame, person.astype(np.int64), count[value] * (unit // sizes[group][person]), unit)


def _published(column: pl.Series, entry: AttributeEntry) -> EarlierColumn:
    """A column of a release, read by what its manifest says."""
    shown = distinct_texts(column)
    labels, of_row = tuple(shown.texts), shown.of_row.astype(np.int64)
    if isinstance(entry, LabelAttribute):
        meanings = tuple(parse_label(label, entry.nodes.get(label)) for label in labels)
        listed = {n for m in meanings if m.listed for n in m.names}
        known = listed | {str(v) for v in entry.domain if isinstance(v, str) and entry.kind == Kind.CATEGORICAL}
        return EarlierColumn(column.name, entry.role, entry.kind, labels, of_row, meanings, frozenset(known))
    kind = entry.kind if isinstance(entry, ValueAttribute) else _kind_of(column)
    tree = None
    if isinstance(entry, ValueAttribute) and entry.taxonomy is not None:
        tree = Taxonomy.from_tree(entry.taxonomy, what=f"the taxonomy of {column.name!r} in the manifest")
    known = {*labels, *(entry.domain if isinstance(entry, ValueAttribute) else ())}
    meanings = tuple(exact_meaning(label, kind) for label in labels)
    return EarlierColumn(column.name, entry.role, kind, labels, of_row, meanings, frozenset(known), tree)


def _kind_of(column: pl.Series) -> Kind:
    """The kind of a column that is published as it is."""
    if column.dtype == pl.Date:
        return Kind.DATE
    return Kind.CONTINUOUS if column.dtype.is_numeric() else Kind.CATEGORICAL


def exact_meaning(text: str, kind: Kind) -> LabelMeaning:
    """What a value that is published unchanged means: a number or a day alone is an interval with nothing else in it.

    >>> exact_meaning("34", Kind.CONTINUOUS).interval[0], exact_meaning("34", Kind.CATEGORICAL).names
    (34.0, ('34',))
    """
    if text == SUPPRESSED:
        return LabelMeaning(None, (text,), False)
    if kind in (Kind.CONTINUOUS, Kind.DATE) and text != MISSING:
        number = day_number(text) if kind is Kind.DATE else number_of(text)
        if number is not None:
            return LabelMeaning((number, float(np.nextafter(number, np.inf))), (text,))
    return LabelMeaning(None, (text,))


def of_table(table: Microdata, name: str = THIS) -> Earlier:
    """A private table as if it were published unchanged, to see what matches it before anything is hidden."""
    columns = {c.name: _private(c) for c in table.columns.values()}
    columns |= {n: _published(table.plain[n], AttributeEntry()) for n in table.plain.columns}
    ones = np.ones(table.rows, np.int64)
    return Earlier(name, "", "generalization", table.rows, columns, np.arange(table.rows), ones)


def _private(column: Column) -> EarlierColumn:
    there = np.bincount(column.codes, minlength=column.size) > 0
    labels = tuple(leaf for leaf, here in zip(column.domain.leaves, there.tolist(), strict=True) if here)
    of_row = (np.cumsum(there) - 1)[column.codes].astype(np.int64)
    intervals = column.domain.intervals or {}
    meanings = tuple(
        LabelMeaning(intervals[n], (n,)) if n in intervals else exact_meaning(n, column.kind) for n in labels
    )
    values = frozenset(column.domain.leaves)
    return EarlierColumn(column.name, column.role, column.kind, labels, of_row, meanings, values, column.domain)
