"""The manifest as a type: what a release shows, how it was made, what was required and achieved.

Each class is an object of manifest.json, and each of its fields is a key, in the order of the file.
`statement.parse_manifest` reads and validates it, `plain` writes it, `manifest_schema` derives the JSON schema from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Literal, NotRequired, Self, TypedDict, get_args

from sfumato.errors import DAMAGED, ReleaseError
from sfumato.table.distortion import Distortion, stated
from sfumato.table.domain import Meaning
from sfumato.table.encode import Kind, Role
from sfumato.table.taxonomy import named

SchemeName = Literal["generalization", "bucketization", "randomization", "sampling"]
SCHEME_NAMES: tuple[SchemeName, ...] = get_args(SchemeName)

MOST_ROWS = 1 << 53

CONTEXT = ("operator", "recipient", "purpose", "legal_basis", "reference")
"""What a publisher may state about the context of a release."""


@cache
def this_version() -> str:
    """The version of sfumato that is running."""
    return version("sfumato")


def key(about: str, default: Any = None, *, optional: bool = False, scheme: SchemeName | None = None) -> Any:
    """A key of the manifest: what it says, whether it may be absent (None), and the one scheme that has it."""
    metadata = {"about": about, "optional": optional, "scheme": scheme}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


class ManifestEntry:
    """An object of manifest.json."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @classmethod
    def fields_of(cls, scheme: str | None = None) -> dict[str, Field[Any]]:
        """The keys that such an object has in a release of this scheme, in the order of the file."""
        return {f.name: f for f in fields(cls) if f.metadata["scheme"] in (None, scheme)}

    @classmethod
    def from_plain(cls, plain: object) -> Self:
        """The object with the keys that are present; the others keep their defaults."""
        known = plain if isinstance(plain, Mapping) else {}
        return cls(**{name: known[name] for name in cls.fields_of() if name in known})

    def plain(self) -> dict[str, Any]:
        """The JSON to write; an optional key that is None is left out."""
        return self._plain(self.fields_of())

    def _plain(self, keys: Mapping[str, Field[Any]]) -> dict[str, Any]:
        found = {name: (getattr(self, name), f.metadata["optional"]) for name, f in keys.items()}
        return {name: _plain(value) for name, (value, optional) in found.items() if value is not None or not optional}


_AS_IS = frozenset({str, float, int, list})
"""What JSON has too: nearly all values, of which there may be one per label."""


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if type(value) in _AS_IS:
        return value
    if isinstance(value, ManifestEntry):
        return value.plain()
    if isinstance(value, Mapping):
        return {name: below if type(below) in _AS_IS else _plain(below) for name, below in value.items()}
    if isinstance(value, tuple):
        return [_plain(below) for below in value]
    return str(value) if isinstance(value, StrEnum) else value


@dataclass(frozen=True, kw_only=True)
class ChosenEntry(ManifestEntry):
    """That the publisher named no method, and why this one was chosen."""

    among: Sequence[str] = key("the methods among which the table decided, in order of preference", tuple)
    reason: str = key("the reason as a sentence", "")


@dataclass(frozen=True, kw_only=True)
class MethodEntry(ManifestEntry):
    """The method that made the release, with its name and public settings."""

    name: str = key("the name of the method", "")
    settings: Mapping[str, Any] = key("its public settings", dict)
    chosen: ChosenEntry | None = key("why it was chosen, if the publisher named none", optional=True)

    @classmethod
    def from_plain(cls, plain: object) -> Self:
        known = plain if isinstance(plain, Mapping) else {}
        settings = {n: v for n, v in known.items() if n not in ("name", "chosen")}
        chosen = ChosenEntry.from_plain(known["chosen"]) if known.get("chosen") is not None else None
        return cls(name=str(known.get("name", "")), settings=settings, chosen=chosen)

    def plain(self) -> dict[str, Any]:
        named = {"name": self.name} if self.name else {}
        why = {"chosen": self.chosen.plain()} if self.chosen is not None else {}
        return named | {n: _plain(v) for n, v in self.settings.items()} | why


@dataclass(frozen=True, kw_only=True)
class Claim(ManifestEntry):
    """A requirement that the release meets."""

    model: str = key("the privacy model", "")
    required: Mapping[str, Any] = key("the parameters of the model", dict)
    achieved: Mapping[str, float] = key("what the worst group achieves", dict)
    words: str = key("the claim as a sentence", "")


@dataclass(frozen=True, kw_only=True)
class AttributeEntry(ManifestEntry):
    """An attribute that is published without being coded: an insensitive column has only its role."""

    role: Role = key("the role of the attribute for an adversary and for an analyst", Role.INSENSITIVE)


@dataclass(frozen=True, kw_only=True)
class ValueAttribute(AttributeEntry):
    """An attribute of which rows show a value of the domain, the true one or a random one."""

    kind: Kind = key("how the values relate to each other", Kind.CATEGORICAL)
    domain: Sequence[str] = key("the possible values, in order", tuple)
    taxonomy: Mapping[str, Any] | None = key("a tree over the domain: name -> children", optional=True)


@dataclass(frozen=True, kw_only=True)
class LabelAttribute(AttributeEntry):
    """A quasi-identifier of which rows show labels."""

    kind: Kind = key("how the values relate to each other", Kind.CATEGORICAL)
    domain: Sequence[str | float] = key("the values, or the ends of their range, as far as they are public", tuple)
    nodes: Mapping[str, Meaning] = key("label -> its values, or the ends of its half-open interval", dict)
    loss: float = key("the average share of the domain that the labels hide, from 0 to 1", 0.0)


@dataclass(frozen=True, kw_only=True)
class BoxAttribute(LabelAttribute):
    """A quasi-identifier of a sample."""

    ranges: Mapping[str, Sequence[int]] = key("label -> the ranks of its ends among the ends of all labels", dict)


@dataclass(frozen=True, kw_only=True)
class TableFile(ManifestEntry):
    """A file of a table."""

    name: str = key("the table: data, quasi or sensitive", "")
    file: str = key("the file, next to manifest.json", "")
    sha256: str = key("the SHA-256 of the file", "")
    columns: Sequence[str] = key("the columns, in order", tuple)


class MatrixEntry(TypedDict, total=False):
    """How an attribute was randomized: one probability to keep a value, or Pr(row is shown | column is true)."""

    keep: float
    matrix: list[list[float]]


class EpsilonEntry(TypedDict):
    """ε of each attribute, of fitting the matrices, and of a row; "infinite" where there is no bound."""

    attributes: dict[str, float | str]
    fit: NotRequired[float]
    randomized: float | str
    total: float | str
    guarantee: str
    words: str


class EarlierAttribute(TypedDict):
    """An attribute of a plain file that was published before."""

    role: str
    kind: str
    nodes: dict[str, Sequence[str | float | None] | None]


class OutputEntry(TypedDict):
    """How the csv files are written: "safe" where spreadsheets cannot take a text for a formula."""

    spreadsheet: Literal["plain", "safe"]


@dataclass(frozen=True, kw_only=True)
class EarlierEntry(ManifestEntry):
    """An earlier release that the publisher joined this one with."""

    name: str = key("what templates call it; this release is T1", "")
    title: str = key("its title; may be empty", "")
    scheme: SchemeName = key("how it shows people", "generalization")
    rows: int = key("how many people it is about", 0)
    tables: Mapping[str, str] = key("file -> its SHA-256", dict)
    join: Sequence[str] = key("the attributes that both releases have, by which rows are matched", tuple)
    dangling: Mapping[str, int] = key(
        "here, there -> how many rows of this and of the earlier release match nothing", dict
    )
    attributes: Mapping[str, EarlierAttribute] | None = key("for a plain file: what its labels mean", optional=True)


@dataclass(frozen=True, kw_only=True)
class Manifest(ManifestEntry):
    """Everything a release says about itself."""

    sfumato: str = key("the version of sfumato that made the release", "")
    title: str = key("the title of the release; may be empty", "")
    context: Mapping[str, str] | None = key(
        "who published it, for whom and for what, as far as the publisher discloses it", optional=True
    )
    scheme: SchemeName = key("how groups are shown", "generalization")
    method: MethodEntry = key("name and public settings of the method", MethodEntry)
    requirements: tuple[Claim, ...] = key("what was required and achieved", ())
    attributes: Mapping[str, AttributeEntry] = key("name -> description of the attribute", dict)
    rows: int = key("how many rows are published", 0)
    matrices: Mapping[str, MatrixEntry] = key("name -> how it was randomized", dict, scheme="randomization")
    epsilon: EpsilonEntry = key("the ε of the noise, and what it guarantees", dict, scheme="randomization")
    after: tuple[EarlierEntry, ...] | None = key(
        "the earlier releases that it was joined with", optional=True, scheme="generalization"
    )
    inconsistent: tuple[Mapping[str, Mapping[str, Sequence[str]]], ...] | None = key(
        "rules: values in several releases that cannot belong to one person", optional=True, scheme="generalization"
    )
    warnings: tuple[str, ...] | None = key("warnings for users of the release", optional=True)
    sampled_from: int = key("how many people are in all groups together", 0, scheme="sampling")
    output: OutputEntry | None = key("how the csv files are written", optional=True)
    tables: tuple[TableFile, ...] | None = key("the files of the tables", optional=True)

    @classmethod
    def from_plain(cls, plain: object) -> Self:
        """The manifest as far as it can be read; `statement.parse_manifest` refuses one that is incomplete."""
        if not isinstance(plain, Mapping):
            raise ReleaseError("manifest.json does not contain an object; this is not a sfumato release")
        if plain.get("scheme") not in SCHEME_NAMES:
            raise ReleaseError(
                f"manifest.json states the scheme {plain.get('scheme')!r}; it must be one of {named(SCHEME_NAMES)}"
            )
        known = {name: plain[name] for name in cls.fields_of(plain["scheme"]) if name in plain}
        several: dict[str, type[ManifestEntry]] = {
            "requirements": Claim,
            "tables": TableFile,
            "after": EarlierEntry,
        }
        known |= {n: tuple(each.from_plain(e) for e in known[n]) for n, each in several.items() if n in known}
        known["method"] = MethodEntry.from_plain(known.get("method", {}))
        known["attributes"] = {n: attribute_from(n, a) for n, a in known.get("attributes", {}).items()}
        known |= {n: tuple(known[n]) for n in ("warnings", "inconsistent") if n in known}
        return cls(**known)

    def plain(self) -> dict[str, Any]:
        return self._plain(self.fields_of(self.scheme))

    @property
    def other_version(self) -> str | None:
        """The version of sfumato that wrote it; None if it was this one."""
        return None if self.sfumato == this_version() else self.sfumato

    @property
    def settings(self) -> Mapping[str, Any]:
        """The public settings of the method."""
        return self.method.settings

    @property
    def randomized(self) -> bool:
        """Whether it states how values were randomized."""
        return "matrices" in self.fields_of(self.scheme)

    @property
    def sampled(self) -> bool:
        """Whether it states how many people the rows stand for."""
        return "sampled_from" in self.fields_of(self.scheme)

    def with_role(self, role: Role) -> list[str]:
        """The names of the attributes that have a role."""
        return [n for n, a in self.attributes.items() if a.role is role]

    @property
    def labelled(self) -> dict[str, LabelAttribute]:
        """The attributes that are shown by labels."""
        return {n: a for n, a in self.attributes.items() if isinstance(a, LabelAttribute)}

    def label(self, name: str) -> LabelAttribute:
        """An attribute that is shown by labels."""
        entry = self.attributes.get(name)
        if not isinstance(entry, LabelAttribute):
            raise ReleaseError(f"the manifest does not explain the labels of {name!r}; {DAMAGED}")
        return entry

    def domain(self, name: str) -> list[str]:
        """The values of an attribute's domain as text."""
        entry = self.attributes.get(name)
        if not isinstance(entry, ValueAttribute | LabelAttribute):
            raise ReleaseError(f"the manifest does not state the domain of {name!r}")
        return [str(value) for value in entry.domain]

    def distortions(self) -> dict[str, Distortion]:
        """How each attribute with a domain was randomized."""
        coded = ValueAttribute | LabelAttribute
        domains = {n: a.domain if isinstance(a, coded) else None for n, a in self.attributes.items()}
        return stated(self.matrices, domains)


def attribute_from(name: str, plain: object) -> AttributeEntry:
    """The entry of an attribute, by the keys that are present."""
    if not isinstance(plain, Mapping) or plain.get("role") not in list(Role):
        raise ReleaseError(f"the attribute {name!r} of manifest.json has no role; {DAMAGED}")
    known = dict(plain) | {"role": Role(plain["role"])}
    if known.get("kind") in list(Kind):
        known["kind"] = Kind(known["kind"])
    if known.get("nodes") is None:
        return (ValueAttribute if isinstance(known.get("domain"), list) else AttributeEntry).from_plain(known)
    if not isinstance(known.get("domain", []), list):
        raise ReleaseError(f"the manifest does not state the domain of {name!r}")
    return (BoxAttribute if "ranges" in known else LabelAttribute).from_plain(known)
