"""A release as the outside world sees it: the manifest and the tables, nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import Counted
from sfumato.errors import PolicyError, ReleaseError, SfumatoError
from sfumato.kernel.group import group_rows
from sfumato.release.bucketization import COUNT, GROUP
from sfumato.release.judgement import Judgement, judge
from sfumato.release.output import whole_folder
from sfumato.release.sampling import SIZE, examine
from sfumato.release.store import fill, read_folder
from sfumato.requirement.base import GroupRequirement, Promise, Requirement, Schema, names
from sfumato.requirement.catalogue import from_table
from sfumato.table.distortion import stated
from sfumato.table.encode import Attribute, Domain, Kind, Role, encode, value_codes
from sfumato.table.line import MISSING, Line
from sfumato.table.taxonomy import Taxonomy, named


@dataclass(frozen=True)
class Finding:
    """What a check found about one claim: the claim in words, and how it stands."""

    claim: str
    status: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        """For machines."""
        return {"claim": self.claim, "status": self.status, "detail": self.detail}


@dataclass(frozen=True, eq=False)
class Release:
    """All that leaves the house. ``tables`` are Polars frames, ``manifest`` is what manifest.json says."""

    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]

    @property
    def scheme(self) -> str:
        """How groups are shown."""
        return str(self.manifest["scheme"])

    @property
    def warnings(self) -> list[str]:
        """What whoever uses the release should know."""
        return list(self.manifest.get("warnings", ()))

    def quasi(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return [n for n, a in self.manifest["attributes"].items() if a.get("role") == Role.QUASI]

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
        with whole_folder(Path(folder), force=force) as draft:
            fill(draft, self.manifest, self.tables)

    def check(self) -> list[Finding]:
        """Verify every claim of the manifest from the public part alone; raises if one does not hold."""
        findings = self.findings()
        broken = [f for f in findings if f.status == "broken"]
        if broken:
            told = "; ".join(f"{f.claim}: {f.detail}" for f in broken)
            raise ReleaseError(f"{len(broken)} of {len(findings)} claims do not hold: {told}")
        return findings

    def findings(self) -> list[Finding]:
        """How each claim of the manifest stands: holds, broken, or not to be seen from the public part."""
        looks = [self._rows, self._columns, self._scheme_look()]
        structure = []
        for look in looks:
            structure.append(look())
            if structure[-1].status == "broken":
                return structure
        if self.sampled:
            structure += [Finding(*found) for found in examine(self.manifest, self.tables["data"], self.quasi())]
            if any(finding.status == "broken" for finding in structure):
                return structure
        return structure + [self._claim(entry) for entry in self.manifest["requirements"]]

    def _scheme_look(self) -> Callable[[], Finding]:
        """What is checked of the tables themselves depends on how they show people."""
        if self.bucketized:
            return self._buckets
        return {"randomization": self._matrices}.get(self.scheme, self._labels)

    @property
    def bucketized(self) -> bool:
        """Whether sensitive values stand in a table of their own."""
        return self.tables.keys() == {"quasi", "sensitive"}

    @property
    def sampled(self) -> bool:
        """Whether a row stands for a group, whose size is beside it."""
        return self.scheme == "sampling" and "data" in self.tables and SIZE in self.tables["data"].columns

    def _rows(self) -> Finding:
        rows, claim = self.tables["quasi" if self.bucketized else "data"].height, self.manifest["rows"]
        status = "holds" if rows == claim else "broken"
        return Finding(f"the release has {claim} rows", status, f"the data have {rows}")

    def _columns(self) -> Finding:
        told = set(self.manifest["attributes"])
        there = {c for t in self.tables.values() for c in t.columns}
        if self.bucketized:
            told |= {GROUP, COUNT}
        if self.scheme == "sampling":
            told |= {SIZE}
        claim = "the columns are the attributes of the manifest"
        if there == told:
            return Finding(claim, "holds", f"{len(told)} columns")
        return Finding(claim, "broken", f"only in one of the two: {named(sorted(there ^ told))}")

    def _labels(self) -> Finding:
        data = self.tables["data"]
        for name in self.quasi():
            known = self.manifest["attributes"][name]["nodes"]
            unknown = [v for v in data[name].cast(pl.String).unique() if v not in known]
            if unknown:
                return Finding("every label is explained", "broken", f"{name!r} has {named(unknown)}")
        return Finding("every label is explained", "holds", f"{len(self.quasi())} quasi-identifiers")

    def _buckets(self) -> Finding:
        """Whether each group has as many sensitive values as people."""
        claim = "the groups of both tables agree"
        people = self.tables["quasi"].group_by(GROUP).len(COUNT).sort(GROUP).cast(pl.Int64)
        values = self.tables["sensitive"].group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP).cast(pl.Int64)
        if people.equals(values):
            return Finding(claim, "holds", f"{people.height} groups")
        return Finding(claim, "broken", "a group has more or fewer sensitive values than people")

    def _matrices(self) -> Finding:
        """Whether the matrices can be drawn from and undone, and all values lie in the stated domains."""
        claim = "values were randomized by the stated matrices"
        try:
            ways = stated(self.manifest)
            view = _PublicSchema(self)
            for name in self.manifest["matrices"]:
                view.counted(name)
        except (SfumatoError, TypeError, ValueError, AttributeError) as e:
            return Finding(claim, "broken", str(e))
        told = ", ".join(f"{n}: keep {ways[n].keep:.4g} of {ways[n].size}" for n in self.manifest["matrices"])
        return Finding(claim, "holds", f"stochastic, invertible, all values in their domains; {told or 'none changed'}")

    def _claim(self, entry: dict[str, Any]) -> Finding:
        """Judge one requirement again; a claim that makes no sense is no claim."""
        try:
            return self._judged(entry)
        except ReleaseError:
            raise
        except (SfumatoError, AttributeError, KeyError, TypeError, ValueError, IndexError) as e:
            raise ReleaseError(f"the claim {entry['model']!r} of manifest.json cannot be judged: {e}") from e

    def _judged(self, entry: dict[str, Any]) -> Finding:
        """Judge one requirement from the labels and the published values."""
        if isinstance(entry["required"].get("distributions"), str):
            raise ReleaseError(f"the claim {entry['model']!r} names a file; a release states its distributions itself")
        requirement = from_table({"model": entry["model"], **entry["required"]})
        if isinstance(requirement, Promise):
            verdict = requirement.verify(self.manifest, self.tables)
            return self._told(requirement, entry, verdict.status, verdict.achieved, verdict.detail)
        if not isinstance(requirement, GroupRequirement):
            raise ReleaseError(f"nothing here can judge the claim {entry['model']!r}")
        view = _PublicSchema(self)
        if hidden := view.hidden(requirement):
            return self._in_part(requirement, hidden)
        judgement = self.judge(requirement)
        detail = ", ".join(f"{n} = {v:.6g}" for n, v in judgement.achieved.items())
        if not judgement.holds:
            detail = f"{judgement.failing} of {judgement.groups} groups fail; {detail}"
        status = "holds" if judgement.holds else "broken"
        return self._told(requirement, entry, status, judgement.achieved, detail)

    def _told(
        self, requirement: Requirement, entry: dict[str, Any], status: str, achieved: dict[str, float], detail: str
    ) -> Finding:
        """What was found, beside what the manifest claims to have achieved."""
        same = all(abs(v - achieved.get(n, np.inf)) <= 1e-9 * max(1.0, abs(v)) for n, v in entry["achieved"].items())
        if status == "holds" and not same:
            return Finding(requirement.words(), "broken", f"claimed {entry['achieved']}, found {detail}")
        return Finding(requirement.words(), status, detail)

    def _in_part(self, requirement: GroupRequirement, hidden: str) -> Finding:
        """What can be said where the requirement counts a column that is not published."""
        groups = self.groups(names(requirement.groups_by()))
        least, k = int(np.bincount(groups).min()), requirement.parameters().get("k", 1)
        if isinstance(k, int) and least < k:
            return Finding(requirement.words(), "broken", f"a group has only {least} rows")
        return Finding(
            requirement.words(),
            "unseen",
            f"{hidden!r} is not published as it was counted; every group has at least {least} rows",
        )

    def groups(self, x: tuple[str, ...] = ()) -> NDArray[np.int64]:
        """The group of each row: rows that agree on the labels of ``x``, or of all quasi-identifiers.

        A sampled row stands for its whole group, so it is counted as often as the group has people.
        """
        if self.bucketized:
            return value_codes(self.tables["quasi"][GROUP])[0].astype(np.int64)
        data = self.tables["data"]
        columns = [_codes(data[n]) for n in x or self.quasi()]
        if not columns:
            return np.zeros(data.height, np.int64)
        of_row = group_rows(columns, [int(c.max()) + 1 for c in columns]).of_row
        return np.repeat(of_row, data[SIZE].to_numpy()) if self.sampled else of_row

    def judge(self, requirement: GroupRequirement) -> Judgement:
        """Judge any requirement on the groups of the release."""
        if not isinstance(requirement, GroupRequirement):
            raise PolicyError(
                f"{requirement.model} is not judged on the counts of groups; take check, or for r-robustness "
                "distribution_risk with the table"
            )
        view = _PublicSchema(self)
        bound = requirement.bind(view)
        if self.bucketized:
            if bound.groups_by() is not None or bound.distinct_columns():
                raise PolicyError(f"{bound.model} cannot be judged on a bucketized release")
            sensitive = self.tables["sensitive"]
            codes, number = value_codes(sensitive[GROUP])
            groups = np.repeat(codes.astype(np.int64), sensitive[COUNT].to_numpy())
            return judge(bound, view, view.counted, groups, number)
        if self.sampled and (bound.columns() or bound.distinct_columns()):
            raise PolicyError(f"{bound.model} cannot be judged on a sample; only sizes of groups are known")
        groups = self.groups(names(bound.groups_by()))
        return judge(bound, view, view.counted, groups, int(groups.max()) + 1)


def _codes(column: pl.Series) -> NDArray[Any]:
    """Whole numbers that are equal where the values of a column are, also where these are missing."""
    return (column.to_physical() if column.dtype == pl.Enum else column.rank("dense").fill_null(0)).to_numpy()


class _PublicSchema(Schema):
    """What requirements may ask about a release, answered from the public part."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.attributes: dict[str, dict[str, Any]] = release.manifest["attributes"]

    def _with_role(self, role: Role) -> list[str]:
        return [n for n, a in self.attributes.items() if a.get("role") == role]

    def quasi_names(self) -> list[str]:
        return self._with_role(Role.QUASI)

    def sensitive_names(self) -> list[str]:
        return self._with_role(Role.SENSITIVE)

    def all_names(self) -> list[str]:
        return list(self.attributes)

    def domain(self, name: str) -> Domain:
        entry = self.attributes[name]
        if entry.get("taxonomy") is not None:
            return Taxonomy.from_tree(entry["taxonomy"], what=f"the taxonomy of {name!r} in the manifest")
        if entry.get("kind") == Kind.ORDINAL:
            return Line.of_words(entry["domain"])
        if len(set(entry["domain"])) < len(entry["domain"]):
            raise ReleaseError(f"manifest.json names a value of {name!r} twice")
        return Taxonomy.flat(entry["domain"])

    def counted(self, name: str) -> Counted:
        """The codes of a published column; of a bucketized one, a code for each of the values counted."""
        if self.release.bucketized:
            table = self.release.tables["sensitive"]
            column = table[name].gather(np.repeat(np.arange(table.height), table[COUNT].to_numpy()))
        else:
            column = self.release.tables["data"][name]
        if "domain" not in self.attributes[name]:
            return Counted(*value_codes(column))
        domain = tuple(str(v) for v in self.attributes[name]["domain"])
        if column.null_count() and MISSING not in domain:
            raise ReleaseError(f"column {name!r} lacks values, and the manifest states none are missing")
        stated = Attribute(name=name, role=Role.SENSITIVE, kind=Kind.CATEGORICAL, domain=domain)
        try:
            coded = encode(column, stated)
        except SfumatoError as e:
            raise ReleaseError(f"column {name!r} is not what the manifest states: {e}") from None
        return Counted(coded.codes, coded.size)

    def hidden(self, requirement: GroupRequirement) -> str | None:
        """A column that the requirement counts and that is not published as it was, if there is one."""
        for (name,) in requirement.columns():
            if name not in self.attributes:
                raise ReleaseError(f"a claim is about {name!r}, and there is no such attribute")
        for key in (*requirement.columns(), *requirement.distinct_columns()):
            for name in key:
                if self.attributes.get(name, {}).get("role", Role.QUASI) == Role.QUASI:
                    return name
        return None


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
