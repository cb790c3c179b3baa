"""A manifest as read from a file: every key is known, every value has the right type and is within its limits."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sfumato.errors import DAMAGED, PolicyError, ReleaseError
from sfumato.release.manifest import (
    CONTEXT,
    MOST_ROWS,
    SCHEME_NAMES,
    ChosenEntry,
    Claim,
    EarlierEntry,
    LabelAttribute,
    Manifest,
    ManifestEntry,
    ValueAttribute,
)
from sfumato.release.rule import Inconsistent
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.table.encode import Kind, Role
from sfumato.table.taxonomy import named

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)+[0-9A-Za-z.+-]{0,40}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LARGEST = 1 << 62
_DEEPEST = 120
_CONTAINERS = (dict, list, tuple, Mapping)


def parse_manifest(plain: object) -> Manifest:
    """The manifest, if it states everything that it must, and nothing else."""
    if not isinstance(plain, dict):
        raise ReleaseError("manifest.json does not contain an object; this is not a sfumato release")
    _check_numbers(plain)
    scheme = plain.get("scheme")
    if scheme not in SCHEME_NAMES:
        raise ReleaseError(f"manifest.json states the scheme {scheme!r}; it must be one of {named(SCHEME_NAMES)}")
    _check_keys("manifest.json", plain, Manifest, scheme)
    if not _VERSION.fullmatch(plain["sfumato"]):
        raise ReleaseError(f"manifest.json states the version {plain['sfumato']!r}, which sfumato never had")
    for name in ("rows", "sampled_from"):
        if name in plain and not 1 <= plain[name] <= MOST_ROWS:
            raise ReleaseError(f"manifest.json states {name} = {plain[name]}; it must be 1 or more, up to 2^53")
    _check_parts(plain, scheme)
    return Manifest.from_plain(plain)


def _check_parts(plain: Mapping[str, Any], scheme: str) -> None:
    """Refuse claims, attributes, an output or warnings that no release can have."""
    if not plain["requirements"]:
        raise ReleaseError("manifest.json makes no claims: its list of requirements is empty")
    for entry in plain["requirements"]:
        _check_claim(entry)
    for name, entry in plain["attributes"].items():
        _check_attribute(name, entry, scheme)
    if "chosen" in plain["method"]:
        _check_chosen(plain["method"]["chosen"])
    if plain.get("output") not in (None, {"spreadsheet": "plain"}, {"spreadsheet": "safe"}):
        raise ReleaseError("manifest.json states an output that is neither plain nor safe for spreadsheets")
    _check_context(plain.get("context"))
    _check_after(plain)
    if not all(isinstance(w, str) and w for w in plain.get("warnings", ())):
        raise ReleaseError("manifest.json has a warning that is not text")


def _check_context(context: Mapping[str, Any] | None) -> None:
    """Refuse a context that is empty, or states something other than who published for whom and for what."""
    if context is None:
        return
    if not context or not context.keys() <= set(CONTEXT) or not all(isinstance(v, str) and v for v in context.values()):
        raise ReleaseError(f"manifest.json must have a text for each key of its context, out of {named(CONTEXT)}")


def _check_chosen(entry: object) -> None:
    """Refuse a reason for the choice of the method that no release can give."""
    _check_keys("the choice of the method of manifest.json", entry, ChosenEntry)
    assert isinstance(entry, Mapping)
    if not entry["among"] or not all(isinstance(name, str) for name in entry["among"]) or not entry["reason"]:
        raise ReleaseError("manifest.json must say among which methods its method was chosen, and why")


def _check_after(plain: Mapping[str, Any]) -> None:
    """Refuse earlier releases and rules that no release can name."""
    names = ["T1"]
    for entry in plain.get("after", ()):
        _check_keys("an earlier release of manifest.json", entry, EarlierEntry)
        names.append(entry["name"])
        digests = entry["tables"].values()
        if not digests or not all(isinstance(d, str) and _SHA256.fullmatch(d) for d in digests):
            raise ReleaseError("manifest.json names an earlier release without the SHA-256 of its tables")
        if entry["dangling"].keys() != {"here", "there"} or not all(_is(n, int) for n in entry["dangling"].values()):
            raise ReleaseError(
                "manifest.json must state how many rows here and there match nothing in an earlier release"
            )
        if not all(isinstance(name, str) for name in entry["join"]):
            raise ReleaseError("manifest.json joins an earlier release by something other than an attribute name")
        for name, said in (entry.get("attributes") or {}).items():
            _check_explained(name, said)
    if len(set(names)) < len(names) or ("after" in plain and len(names) == 1):
        raise ReleaseError("manifest.json must give each earlier release its own name, other than T1")
    for rule in plain.get("inconsistent", ()):
        if not isinstance(rule, Mapping) or not rule.keys() <= set(names) or len(rule) < 2:
            raise ReleaseError("manifest.json has a rule of inconsistency that is not about two of its releases")
        try:
            same = Inconsistent(sides=rule).plain() == rule
        except PolicyError as e:
            raise ReleaseError(f"manifest.json: {e}") from None
        if not same:
            raise ReleaseError("manifest.json has a rule of inconsistency that does not list values of attributes")


def _check_explained(name: str, said: object) -> None:
    """Refuse what no manifest says about a column of an earlier file."""
    what = f"manifest.json must state role, kind and nodes of {name!r} of an earlier file"
    if not isinstance(said, Mapping) or said.keys() != {"role", "kind", "nodes"}:
        raise ReleaseError(what)
    if said["role"] not in list(Role) or said["kind"] not in list(Kind) or not isinstance(said["nodes"], Mapping):
        raise ReleaseError(what)
    for label, meaning in said["nodes"].items():
        parts = meaning if isinstance(meaning, list) else None if meaning is None else [{}]
        if parts is not None and (not parts or not all(p is None or _is(p, str) or _is(p, float) for p in parts)):
            raise ReleaseError(f"manifest.json does not explain the label {label!r} of {name!r} of an earlier file")


def _check_numbers(plain: dict[str, Any]) -> None:
    """Refuse numbers that are not finite or larger than any count can be, and excessive nesting."""
    level: list[Any] = [plain]
    for depth in range(1, _DEEPEST + 2):
        below = [v for value in level for v in (value.values() if isinstance(value, Mapping) else value)]
        if depth > _DEEPEST and below:
            raise ReleaseError(f"manifest.json is nested more than {_DEEPEST} levels deep")
        others = [value for value in below if type(value) is not str]  # most are strings: the rest is slow for them
        for value in others:
            if isinstance(value, float) and not math.isfinite(value):
                raise ReleaseError(f"manifest.json contains {value}, which is not a number")
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise ReleaseError("manifest.json contains a number beyond 2^62, which no release has")
        level = [*{id(value): value for value in others if isinstance(value, _CONTAINERS)}.values()]  # each once


def _check_keys(what: str, entry: object, form: type[ManifestEntry], scheme: str | None = None) -> None:
    """Refuse an object with keys that its type lacks, or with values of other JSON types."""
    keys = form.fields_of(scheme)
    required = [name for name, key in keys.items() if not key.metadata["optional"]]
    if not isinstance(entry, Mapping):
        raise ReleaseError(f"{what} must be an object with {named(required)}; {DAMAGED}")
    if strange := sorted(map(str, entry.keys() - keys.keys())):
        raise ReleaseError(f"{what} has {named(strange)}, which no sfumato release has")
    kinds = _json_types(form)
    for name in sorted(keys, key=lambda n: keys[n].metadata["optional"]):
        if name not in entry:
            if name in required:
                raise ReleaseError(f"{what} lacks {name!r}; {DAMAGED}")
        elif not _is(entry[name], kinds[name]):
            raise ReleaseError(f"{what}: {name!r} must be of type {kinds[name].__name__}; {DAMAGED}")


def _json_types(form: type[ManifestEntry]) -> dict[str, type]:
    """The JSON type of each field: str, int, float, list or dict."""
    hints = get_type_hints(form)
    return {field.name: _json_type(hints[field.name]) for field in fields(form)}


def _json_type(hint: Any) -> type:
    if isinstance(hint, UnionType):  # a key that may be absent
        hint = next(part for part in get_args(hint) if part is not type(None))
    origin = get_origin(hint) or hint
    if origin in (str, int, float):
        return origin  # type: ignore[no-any-return]
    if origin is Literal or issubclass(origin, StrEnum):
        return str
    return list if origin is tuple or (issubclass(origin, Sequence) and not issubclass(origin, Mapping)) else dict


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _check_claim(entry: object) -> None:
    _check_keys("a requirement of manifest.json", entry, Claim)
    assert isinstance(entry, Mapping)
    for name, value in entry["achieved"].items():
        if not _is(value, float):
            raise ReleaseError(f"manifest.json states {name!r} = {value!r} as achieved; it must be a number")


def _check_attribute(name: str, entry: object, scheme: str) -> None:
    what = f"the attribute {name!r} of manifest.json"
    if not isinstance(entry, Mapping) or entry.get("role") not in list(Role):
        raise ReleaseError(f"{what} has no role; {DAMAGED}")
    if entry["role"] == Role.IDENTIFIER:
        raise ReleaseError(f"{what} is an identifier; a release must not contain any")
    form = SCHEMES[scheme].attribute_type(Role(entry["role"]))
    _check_keys(what, entry, form)
    if "kind" in form.fields_of() and entry["kind"] not in list(Kind):
        raise ReleaseError(f"{what} has the unknown kind {entry['kind']!r}")
    if form is ValueAttribute:
        _check_domain(what, entry["domain"])
    elif issubclass(form, LabelAttribute):
        if not all(_is(value, str) or _is(value, float) for value in entry["domain"]):
            raise ReleaseError(f"{what} has a domain that contains something other than strings and numbers")
        if not 0 <= entry["loss"] <= 1:
            raise ReleaseError(f"{what} has a loss of {entry['loss']}; it must be in [0, 1]")


def _check_domain(what: str, domain: list[Any]) -> None:
    if not domain or not all(isinstance(v, str) for v in domain):
        raise ReleaseError(f"{what} must list the values of its domain")
    if len(set(domain)) < len(domain):
        raise ReleaseError(f"{what} lists a value of its domain twice")
