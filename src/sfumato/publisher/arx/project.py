"""An ARX project as a job of sfumato: a policy, its table and its hierarchies; what cannot be mapped is listed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.publisher.arx.archive import Archive, Assignment
from sfumato.publisher.arx.criteria import loss_of, requirement_of
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.proposal import comment
from sfumato.publisher.toml import document
from sfumato.release.files.output import refuse_public, whole_folder
from sfumato.table.regular_file import located

TABLE, POLICY = "data.csv", "policy.toml"
_ROLES = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
_JAVA_DATES = {
    **{"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d"},
    **{"HH": "%H", "H": "%H", "mm": "%M", "ss": "%S", "hh": "%I", "a": "%p"},
}


@dataclass
class Imported:
    """A job made from a project: the policy as a table, the files that go with it, and what was not mapped."""

    content: dict[str, Any]
    files: dict[str, bytes] = field(repr=False)
    unmapped: list[str]

    def text(self) -> str:
        """The policy file, with what was not mapped as comments."""
        lines = comment("Made from an ARX project by `sfumato import`. Read every line before you publish.")
        for note in self.unmapped:
            lines += comment(f"Not mapped: {note}")
        return "\n".join(lines) + "\n\n" + document(self.content)


def import_project(path: str | Path, out: str | Path) -> Imported:
    """Write the policy, the table and the hierarchies of an ARX project into a new folder, all or nothing.

    Only their owner can read the files: they hold the private table.
    """
    folder = located(out, None, OutputError)
    refuse_public(folder)
    found = read_project(located(path, None))
    with whole_folder(folder) as draft:
        for name, content in {**found.files, POLICY: found.text().encode()}.items():
            (draft / name).touch(mode=0o600)
            (draft / name).write_bytes(content)
    return found


def read_project(path: Path) -> Imported:
    """The job that an ARX project describes."""
    archive = Archive(path)
    try:
        return _Project(archive).imported()
    finally:
        archive.close()


class _Project:
    """One project while it is read."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.unmapped: list[str] = []
        self.files: dict[str, bytes] = {TABLE: archive.table()}
        self.dates: list[str] = []

    def imported(self) -> Imported:
        """Everything, checked as a policy is."""
        project, config = self._xml("project.xml"), self._xml("input/config.xml")
        attributes = {a.name: self._attribute(a) for a in self.archive.assignments()}
        content: dict[str, Any] = {"title": self._title(project), "data": {"source": TABLE, "missing": "category"}}
        separator = _text(project, "separator") or ","
        if separator != ",":
            content["data"]["separator"] = separator
        if self.dates:
            content["data"]["dates"] = self.dates[0] if len(self.dates) == 1 else self.dates
        content["data"]["others"] = "error"
        content["attributes"] = attributes
        content["require"] = self._requirements(config, attributes)
        content["method"] = self._method(config)
        found = Imported(content, self.files, self.unmapped)
        try:
            parse_policy(found.text(), folder=Path())
        except PolicyError as error:
            raise DataError(f"{self.archive.where} has settings that a policy cannot have: {error}") from None
        return found

    def _xml(self, name: str) -> ElementTree.Element:
        return self.archive.xml(name)

    def _title(self, project: ElementTree.Element) -> str:
        name = _text(project, "name")
        if name:
            self.unmapped.append(f"the name of the project, {name!r}: a title is public, so write one yourself.")
        return ""

    def _attribute(self, told: Assignment) -> dict[str, Any]:
        """The line of a column; its hierarchy becomes a file."""
        role = _ROLES.get(told.role)
        if role is None:
            raise DataError(
                f"{self.archive.where}: column {told.name!r} has the type {told.role!r}, which ARX 3 does not have"
            )
        entry: dict[str, Any] = {"role": role}
        if told.more.get("responseVariable") == "true":
            self.unmapped.append(
                f"{told.name!r} is a target variable, which only measures utility in ARX; give it the role class if "
                "it is to be predicted."
            )
        if told.more.get("microAggregationFunction"):
            self.unmapped.append(
                f"{told.name!r} is micro-aggregated ({told.more['microAggregationFunction']}); it is generalized here."
            )
        levels = [f"{key} = {told.more[key]}" for key in ("min", "max") if told.more.get(key, "All") != "All"]
        if levels:
            self.unmapped.append(f"the limits of generalization of {told.name!r} ({', '.join(levels)}).")
        if role in ("quasi", "sensitive"):
            entry |= self._kind(told, role)
        return entry

    def _kind(self, told: Assignment, role: str) -> dict[str, Any]:
        """Taxonomy and kind."""
        if told.hierarchy:
            return {"taxonomy": self._hierarchy(told)}
        if role == "sensitive":
            return {}
        kind = told.datatype.casefold()
        if kind.startswith("date"):
            written = _strptime(told.format)
            if written is None:
                self.unmapped.append(f"the date format of {told.name!r}, {told.format!r}: set dates under [data].")
            elif written != "%Y-%m-%d" and written not in self.dates:
                self.dates.append(written)
            return {"kind": "date"} if written else {}
        if kind.startswith("ordinal"):
            self.unmapped.append(f"the order of the values of {told.name!r}: list them as its domain, in order.")
            return {}
        return {"kind": "continuous"} if kind.startswith(("integer", "decimal")) else {}

    def _hierarchy(self, told: Assignment) -> str:
        """The file for the hierarchy, under a name of our own, whatever the column is called."""
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", told.name)[:60].strip("_") or "column"
        name = next(n for i in range(10_000) if (n := f"{stem}{i or ''}.csv") not in self.files)
        self.files[name] = self.archive.hierarchy(told.hierarchy)
        return name

    def _requirements(self, config: ElementTree.Element, attributes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """The models that have a counterpart; the others are listed."""
        found = []
        for criterion in config.iter("criterion"):
            text = (criterion.text or "").strip()
            entry = requirement_of(text)
            if (
                entry is None
                or attributes.get(entry.get("sensitive", ""), {"role": "sensitive"})["role"] != "sensitive"
            ):
                self.unmapped.append(f"the privacy model {text!r}.")
            else:
                found.append(entry)
        if not found:
            found = [{"model": "k-anonymity", "k": 5}]
            self.unmapped.append("no privacy model could be mapped, so k-anonymity with k = 5 is required; correct it.")
        return found

    def _method(self, config: ElementTree.Element) -> dict[str, Any]:
        """Full-domain search, as in ARX; its suppression limit and quality model."""
        method: dict[str, Any] = {"name": "incognito"}
        limit = _number(_text(config, "relativeMaxOutliers"))
        if limit:
            method["suppression"] = min(limit, 1.0)
        metric = _text(config, "metric")
        loss = loss_of(metric)
        if loss is not None:
            method["loss"] = loss
        elif metric:
            self.unmapped.append(f"the quality model {metric!r}; the loss that ARX calls Loss is used.")
        for weight in config.iter("attributeWeight"):
            if _number(_text(weight, "weight")) not in (None, 0.0, 0.5):
                self.unmapped.append(f"the weight of {_text(weight, 'attribute')!r}.")
        return method


def _text(element: ElementTree.Element, tag: str) -> str:
    """The text below an element; a separator may be a space, so a single character is not stripped."""
    text = element.findtext(tag) or ""
    return text if len(text) == 1 else text.strip()


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _strptime(java: str) -> str | None:
    """A date format of Java as Python writes it; None if it has parts that Python does not.

    >>> _strptime("dd.MM.yyyy"), _strptime("dd.MM.YYYY")
    ('%d.%m.%Y', None)
    """
    out = []
    for part in _parts(java):
        if part[0].isalpha():
            if part not in _JAVA_DATES:
                return None
            out.append(_JAVA_DATES[part])
        else:
            out.append(part.replace("%", "%%"))
    return "".join(out) if {"%d", "%m"} <= set(out) or {"%d", "%b"} <= set(out) else None


def _parts(java: str) -> Iterator[str]:
    for match in re.finditer(r"([A-Za-z])\1*|[^A-Za-z]+", java):
        yield match[0]
