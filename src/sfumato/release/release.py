"""A release as the outside world sees it: the manifest and the tables, nothing else."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.background import in_background
from sfumato.errors import PolicyError, ReleaseError, nearest
from sfumato.kernel.group import group_rows
from sfumato.release.check.claims import judged
from sfumato.release.check.digests import not_summed
from sfumato.release.check.examine import stated, structure
from sfumato.release.check.finding import Finding, Findings
from sfumato.release.check.joined import given_after, matching
from sfumato.release.check.made import examined, warned
from sfumato.release.check.page import explained_to_readers
from sfumato.release.check.public import PublicSchema
from sfumato.release.check.statement import parse_manifest
from sfumato.release.check.wording import reworded
from sfumato.release.files.output import whole_folder
from sfumato.release.files.store import fill, read_folder, read_page, verify_twins
from sfumato.release.glance import html, short
from sfumato.release.judgement import Judgement
from sfumato.release.manifest import Manifest
from sfumato.release.part_tables import counted, held, parts_of
from sfumato.release.population_match import judge_release
from sfumato.release.scheme.base import Scheme
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.sampling import SIZE
from sfumato.release.shown_groups import ShownGroups, shown_groups
from sfumato.requirement.base import GroupRequirement
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Role
from sfumato.table.frames import to_pandas
from sfumato.table.names import named
from sfumato.table.published import label_codes, text_counts

if TYPE_CHECKING:
    import pandas

    from sfumato.release.earlier import Earlier

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Release:
    """Everything to hand over. ``tables`` are Polars frames, ``manifest`` is the content of manifest.json.

    ``description`` is the manifest as a typed object; it is parsed once, on first use. ``page`` is README.html as it
    was read from a folder.
    """

    manifest: dict[str, Any]
    tables: Mapping[str, pl.DataFrame]
    _known: dict[Hashable, tuple[list[pl.DataFrame], Any]] = field(default_factory=dict, init=False, repr=False)
    """What has already been computed from the tables, and from which tables."""
    page: bytes | None = field(default=None, repr=False, kw_only=True)
    """README.html as it was read; a release that was not read from a folder has none yet."""
    folder: Path | None = field(default=None, repr=False, kw_only=True)
    """Where it was read from; only `check` also reads the csv files there."""

    @cached_property
    def description(self) -> Manifest:
        """The manifest as a typed object, as far as it can be read; `check` refuses one that is incomplete."""
        return Manifest.from_plain(self.manifest)

    @property
    def counted(self) -> Mapping[str, pl.DataFrame]:
        """The tables; for one in parts, its distinct rows without insensitive columns. `row_weights` goes with it."""
        return counted(self.tables)

    @property
    def row_weights(self) -> NDArray[np.int64] | None:
        """How many rows each row of the counted table of people represents; None means one."""
        parts = parts_of(self.tables, self.scheme_class.people)
        return None if parts is None else parts.weights

    @property
    def counted_columns(self) -> list[str]:
        """The columns of all counted tables."""
        return [name for table in self.counted.values() for name in table.columns]

    def counted_labels(self, x: tuple[str, ...]) -> NDArray[np.int64]:
        """A number for each row of the counted table of people: the same for rows that agree on ``x``, or on all
        quasi-identifiers."""
        people, chosen = self.counted[self.scheme_class.people], x or tuple(self.quasi())
        if not chosen:
            return np.zeros(people.height, np.int64)
        return self.remembered(("same labels", chosen), lambda: _equal_rows([people[n] for n in chosen]))

    def numbered(self, x: Sequence[str]) -> bool:
        """Whether the rows that agree on some columns have been numbered (`counted_labels`)."""
        return ("same labels", tuple(x)) in self._known

    def shown_groups(self) -> ShownGroups | None:
        """The groups of a large table that shows labels, counted once; None if they are found by numbering rows."""
        return self.remembered(("shown groups", self.scheme, *self.quasi()), lambda: shown_groups(self))

    def group_sizes(self, x: tuple[str, ...] = ()) -> NDArray[np.int64]:
        """How many rows each group has, in no order; counted without reading a table that is in parts."""
        return self.scheme_class.group_sizes(self, x)

    def class_sizes(self) -> NDArray[np.int64]:
        """How many people each class has, in no order: those who show the same quasi-identifiers."""
        return self.scheme_class.class_sizes(self)

    @property
    def scheme(self) -> str:
        """How people are shown."""
        return self.description.scheme

    @property
    def scheme_class(self) -> Scheme:
        """The scheme, which knows how its releases are read."""
        return SCHEMES[self.description.scheme]

    @property
    def warnings(self) -> list[str]:
        """Warnings for users of this release."""
        return list(self.description.warnings or ())

    def quasi(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return self.with_role(Role.QUASI)

    def with_role(self, role: Role) -> list[str]:
        """The names of the attributes that have a role."""
        return self.description.with_role(role)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        mine, theirs = ({k: v for k, v in r.manifest.items() if k != "tables"} for r in (self, other))
        return (
            mine == theirs
            and self.tables.keys() == other.tables.keys()
            and all(self.tables[n].equals(other.tables[n]) for n in self.tables)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return short(self)

    def _repr_html_(self) -> str:
        return html(self)

    def to_pandas(self, table: str | None = None) -> "pandas.DataFrame":
        """A table of the release as a pandas data frame; ``table`` names it if there are several.

        Labels and values become categories, dates timestamps. Needs pandas, but not pyarrow.
        """
        if table is None and len(self.tables) > 1:
            raise PolicyError(f"this release has the tables {named(self.tables)}; name one of them: to_pandas('quasi')")
        name = next(iter(self.tables)) if table is None else table
        if name not in self.tables:
            raise PolicyError(f"there is no table {name!r}{nearest(str(name), self.tables)}")
        return to_pandas(self.tables[name])

    def write(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the folder whole or not at all; an existing one is refused without ``force``."""
        manifest = parse_manifest(self.manifest)
        with whole_folder(Path(folder), force=force) as draft:
            fill(draft, manifest, self.tables)

    def check(self, after: Sequence["Earlier | Release | str | Path"] = (), *, digests: bool = False) -> list[Finding]:
        """Verify every claim of the manifest from the public part alone; raise if one does not hold.

        ``after`` are the earlier releases that claims about a join need. ``digests``: also compute the SHA-256 of csv
        files above 256 MiB, of which otherwise only every byte is compared with the table.
        """
        findings = Findings(self.findings(after, digests=digests))
        broken = [f for f in findings if f.status == "broken"]
        if broken:
            told = "; ".join(f"{f.claim}: {f.detail}" for f in broken)
            do = "does" if len(broken) == 1 else "do"
            raise ReleaseError(f"{len(broken)} of {len(findings)} claims {do} not hold: {told}")
        return findings

    def findings(
        self, after: Sequence["Earlier | Release | str | Path"] = (), *, digests: bool = False
    ) -> list[Finding]:
        """The status of each claim of the manifest: holds, broken, or stated (nothing contradicts it; not verified).

        If the structure is broken, the claims that depend on it are not judged. Claims about a join are stated unless
        the earlier releases are given, and so is the SHA-256 of a csv file above 256 MiB unless ``digests`` asks for
        it. For a release that was read from a folder, a csv file that differs from what the manifest says is an error.
        """
        now = Release(
            self.manifest, self.tables, page=self.page
        )  # the mapping may have been changed since it was first read
        looks = structure(now)
        found = [next(looks)]
        if found[0].status == "broken":
            return found
        twins = in_background(self.verify_twins, digests=digests)
        try:
            if now.scheme_class.labels_people:
                now.shown_groups()
            found += looks
            if any(finding.status == "broken" for finding in found):
                return found  # whatever the csv files hold
            try:
                found += _claims(now, given_after(now, after))
            finally:
                left_out = twins.result()  # a csv file with other rows is an error, whatever else was found
        finally:
            wait([twins])  # the files are not in use any more when this ends, however it ends
        return found + not_summed(left_out)

    def verify_twins(self, *, digests: bool) -> list[str]:
        """Raise if a csv file in the folder that this was read from is not what the manifest says.

        Returns the files whose SHA-256 was not computed; with ``digests`` there are none.
        """
        if self.folder is None:
            return []
        stated_files, output = self.manifest.get("tables"), self.description.output
        return verify_twins(self.folder, stated_files, output, self.tables, digests=digests)

    def stated(self) -> list[Finding]:
        """What else the manifest states that cannot be verified from the public part, for a release without faults."""
        return stated(self)

    @property
    def bucketized(self) -> bool:
        """Whether sensitive values are in a table of their own."""
        return self.tables.keys() == {"quasi", "sensitive"}

    @property
    def sampled(self) -> bool:
        """Whether a row represents a group, with its size next to it."""
        return self.scheme_class.rows_are_groups and "data" in self.tables and SIZE in self.tables["data"].columns

    def groups(self, x: tuple[str, ...] = ()) -> NDArray[np.int64]:
        """The group of each person: those with the same labels of ``x``, or of all quasi-identifiers; or the bucket.

        A sampled row represents its whole group, so it is counted once per person of the group.
        """
        return self.scheme_class.groups(self, x)

    def stating(self, **facts: Any) -> "Release":
        """The same release with other facts in its manifest; what was computed from its tables is kept."""
        told = self.manifest | facts
        order = dict.fromkeys([*Manifest.fields_of(self.scheme), *told])
        other = Release({name: told[name] for name in order if name in told}, self.tables)
        other._known.update(self._known)
        return other

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of ``compute`` on the tables; computed once as long as these are the same."""
        frames = list(self.counted.values())
        of, known = self._known.get(key, ([], None))
        value: T = known if [id(frame) for frame in of] == [id(frame) for frame in frames] else compute()
        self._known[key] = frames, value
        return value

    def rows_by_value(self, table: str, name: str) -> dict[str, int]:
        """How many rows of a counted table show each value of a column, as text; counted once."""
        return self.remembered(
            ("rows by value", table, name),
            lambda: text_counts(self.counted[table][name], self.row_weights),
        )

    def same_labels(self, x: tuple[str, ...]) -> NDArray[np.int64]:
        """A number for each row of the table of people: the same for rows that agree on ``x``, or on all
        quasi-identifiers."""
        people, chosen = self.tables[self.scheme_class.people], x or tuple(self.quasi())
        if not chosen:
            return np.zeros(people.height, np.int64)
        key = ("same labels" if self.row_weights is None else "same labels, by row", chosen)
        return self.remembered(key, lambda: _equal_rows([people[n] for n in chosen]))

    def classes(self) -> NDArray[np.int64]:
        """The class of each person: those who show the same quasi-identifiers, which bucketization shows exactly."""
        return self.scheme_class.classes(self)

    def exact_quasi(self) -> str:
        """Why a bucketized release cannot promise that people are indistinguishable."""
        sizes = self.class_sizes()
        return (
            f"bucketization shows exact quasi-identifiers, by which {int((sizes == 1).sum())} of {sizes.sum()} rows "
            "are unique; a bucketized release cannot claim this"
        )

    def judge(self, requirement: GroupRequirement | KMap) -> Judgement:
        """Judge any requirement on the groups of the release; k-map by its own population."""
        if isinstance(requirement, KMap) and self.scheme_class.labels_people:
            return judge_release(requirement, self)
        if not isinstance(requirement, GroupRequirement):
            raise PolicyError(
                f"{requirement.model} is not judged on the counts of groups; use check, or for r-robustness "
                "distribution_risk with the table"
            )
        view = PublicSchema(self.description.attributes, self.tables)
        bound = requirement.bind(view)
        return self.scheme_class.judge(self, bound, view)


def _claims(release: Release, given: "Mapping[str, Earlier]") -> list[Finding]:
    """How the claims about people, method and warnings stand, for a release of sound structure."""
    found = [*matching(release, given), *(judged(release, claim, given) for claim in release.description.requirements)]
    found.append(examined(release))
    if found[-1].status == "broken":
        return found
    found += [warned(release)] if release.scheme_class.shows_groups else []
    if any(f.status == "broken" for f in found):
        return found
    return [*found, *explained_to_readers(release), *reworded(release)]


def _equal_rows(columns: list[pl.Series]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows."""
    shown = [label_codes(column) for column in columns]
    return group_rows([codes for codes, _ in shown], [size for _, size in shown]).of_row


def load(folder: str | Path) -> Release:
    """Read a release that `Release.write` wrote, and verify the files that it reads against the manifest.

    These are the parquet files. The csv files that people open are read only by `Release.check`.

    Args:
        folder: the folder that holds manifest.json.
    """
    path = Path(folder)
    if path.name != "release" and (path / "release" / "manifest.json").is_file():
        raise PolicyError(f"{path} holds the public and the private part; give its release folder: {path / 'release'}")
    manifest, tables = read_folder(path)
    return Release(manifest, held(tables), page=read_page(path), folder=path.resolve())


def load_whole(folder: str | Path) -> Release:
    """The same, with the csv files verified too: for those who state the digests of all files."""
    found = load(folder)
    found.verify_twins(digests=True)
    return found


def refuse_unpublished(release: object) -> None:
    """Refuse anything but a release: an attack or an analyst must not be given the table behind it."""
    if not isinstance(release, Release):
        raise PolicyError(
            f"expected a release, not a {type(release).__name__}; publish a table (sf.publish), or load the "
            "folder of a release (sf.load)"
        )
