"""A release as the outside world sees it: the manifest and the tables, nothing else."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, ReleaseError
from sfumato.kernel.group import group_rows
from sfumato.release.bucketization import COUNT, GROUP, refuse_exact
from sfumato.release.claims import judged
from sfumato.release.examine import stated, structure, whole_numbers
from sfumato.release.finding import Finding
from sfumato.release.judgement import Judgement, judge, judge_sizes
from sfumato.release.made import examined, warned
from sfumato.release.manifest import Manifest
from sfumato.release.output import whole_folder
from sfumato.release.public import PublicSchema
from sfumato.release.sampling import SIZE
from sfumato.release.statement import parse_manifest
from sfumato.release.store import fill, read_folder
from sfumato.requirement.base import GroupRequirement, names
from sfumato.table.encode import Role
from sfumato.table.published import label_codes, value_codes

_MOST_PEOPLE = 1 << 53
_MOST_LISTED = 1 << 30


@dataclass(frozen=True, eq=False)
class Release:
    """All that leaves the house. ``tables`` are Polars frames, ``manifest`` is what manifest.json says.

    ``description`` is the manifest as a typed object; it is read once, when it is first asked for.
    """

    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    @cached_property
    def description(self) -> Manifest:
        """The manifest as a typed object, as far as it can be read; `check` refuses one that is not whole."""
        return Manifest.from_plain(self.manifest)

    @property
    def scheme(self) -> str:
        """How groups are shown."""
        return self.description.scheme

    @property
    def warnings(self) -> list[str]:
        """What whoever uses the release should know."""
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

    def write(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the folder whole or not at all; an existing one is refused without ``force``."""
        manifest = parse_manifest(self.manifest)
        with whole_folder(Path(folder), force=force) as draft:
            fill(draft, manifest, self.tables)

    def check(self) -> list[Finding]:
        """Verify every claim of the manifest from the public part alone; raises if one does not hold."""
        findings = self.findings()
        broken = [f for f in findings if f.status == "broken"]
        if broken:
            told = "; ".join(f"{f.claim}: {f.detail}" for f in broken)
            raise ReleaseError(f"{len(broken)} of {len(findings)} claims do not hold: {told}")
        return findings

    def findings(self) -> list[Finding]:
        """How each claim of the manifest stands: holds, broken, or stated (not verifiable from the public part).

        Where the structure is broken, the claims that rest on it are not judged.
        """
        now = Release(self.manifest, self.tables)  # the mapping may have been changed since it was first read
        found = list(structure(now))
        if any(finding.status == "broken" for finding in found):
            return found
        found += [judged(now, claim) for claim in now.description.requirements]
        found.append(examined(now))
        grouped = now.scheme in ("generalization", "bucketization") and found[-1].status != "broken"
        return [*found, warned(now)] if grouped else found

    def stated(self) -> list[Finding]:
        """What else the manifest states that nobody can verify from the public part, for a release without fault."""
        return stated(self)

    @property
    def bucketized(self) -> bool:
        """Whether sensitive values stand in a table of their own."""
        return self.tables.keys() == {"quasi", "sensitive"}

    @property
    def sampled(self) -> bool:
        """Whether a row stands for a group, whose size is beside it."""
        return self.scheme == "sampling" and "data" in self.tables and SIZE in self.tables["data"].columns

    def groups(self, x: tuple[str, ...] = ()) -> NDArray[np.int64]:
        """The group of each row: rows that agree on the labels of ``x``, or of all quasi-identifiers; else its bucket.

        A sampled row stands for its whole group, so it is counted as often as the group has people.
        """
        if self.bucketized:
            return value_codes(self.tables["quasi"][GROUP])[0].astype(np.int64)
        of_row = self._by_labels(x)
        return np.repeat(of_row, self._sizes(_MOST_LISTED)) if self.sampled else of_row

    def _by_labels(self, x: tuple[str, ...]) -> NDArray[np.int64]:
        data = self.tables["data"]
        columns = [label_codes(data[n]) for n in x or self.quasi()]
        if not columns:
            return np.zeros(data.height, np.int64)
        return group_rows([codes for codes, _ in columns], [size for _, size in columns]).of_row

    def _sizes(self, most: int) -> NDArray[np.int64]:
        """How many people each row of a sample stands for, together ``most`` or fewer."""
        sizes = self.tables["data"][SIZE]
        if why := whole_numbers(sizes, most // max(sizes.len(), 1)):
            raise ReleaseError(f"the sizes of the groups cannot be counted: {why}")
        return np.asarray(sizes.to_numpy(), np.int64)

    def classes(self) -> NDArray[np.int64]:
        """The class of each row: rows that show the same quasi-identifiers, which bucketization shows exactly."""
        if not self.bucketized or not self.quasi():
            return self.groups()
        coded = [value_codes(self.tables["quasi"][name]) for name in self.quasi()]
        return group_rows([codes for codes, _ in coded], [size for _, size in coded]).of_row

    def exact_quasi(self) -> str:
        """Why a bucketized release keeps no promise about who is told apart."""
        sizes = np.bincount(self.classes())
        return (
            f"bucketization shows exact quasi-identifiers, by which {int((sizes == 1).sum())} of {sizes.sum()} rows "
            "are unique; a bucketized release cannot claim this"
        )

    def judge(self, requirement: GroupRequirement) -> Judgement:
        """Judge any requirement on the groups of the release."""
        if not isinstance(requirement, GroupRequirement):
            raise PolicyError(
                f"{requirement.model} is not judged on the counts of groups; take check, or for r-robustness "
                "distribution_risk with the table"
            )
        view = PublicSchema(self.description.attributes, self.tables)
        bound = requirement.bind(view)
        if self.bucketized:
            refuse_exact([bound])
            sensitive = self.tables["sensitive"]
            codes, number = value_codes(sensitive[GROUP])
            groups = np.repeat(codes.astype(np.int64), sensitive[COUNT].to_numpy())
            return judge(bound, view, view.counted, groups, number)
        if self.sampled and (bound.columns() or bound.distinct_columns()):
            raise PolicyError(f"{bound.model} cannot be judged on a sample; only sizes of groups are known")
        groups = self._by_labels(names(bound.groups_by()))
        if self.sampled:
            return judge_sizes(bound, view, groups, self._sizes(_MOST_PEOPLE))
        return judge(bound, view, view.counted, groups, int(groups.max()) + 1)


def load(folder: str | Path) -> Release:
    """Read a release that `Release.write` wrote, and verify its files against the manifest."""
    path = Path(folder)
    if path.name != "release" and (path / "release" / "manifest.json").is_file():
        raise PolicyError(f"{path} holds the public and the private part; name its release folder: {path / 'release'}")
    manifest, tables = read_folder(path)
    return Release(manifest, tables)


def refuse_unpublished(release: object) -> None:
    """An attack or an analyst is given a release, not the table behind it."""
    if not isinstance(release, Release):
        raise PolicyError(
            f"a release is expected, and this is a {type(release).__name__}; publish a table (sf.publish), or load the "
            "folder of a release (sf.load)"
        )
