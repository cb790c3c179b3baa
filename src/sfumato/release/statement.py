"""A manifest as read from a file: every key is known, every value has its type and is within its limits."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.errors import ReleaseError
from sfumato.table.encode import Kind, Role
from sfumato.table.taxonomy import named

SCHEMES = ("generalization", "bucketization", "randomization", "sampling")

_REQUIRED: dict[str, type] = {
    "sfumato": str,
    "title": str,
    "scheme": str,
    "method": dict,
    "requirements": list,
    "attributes": dict,
    "rows": int,
}
_OPTIONAL: dict[str, type] = {"tables": list, "warnings": list, "output": dict}
_OF_SCHEME: dict[str, dict[str, type]] = {
    "randomization": {"matrices": dict, "epsilon": dict},
    "sampling": {"sampled_from": int},
}
_CLAIM: dict[str, type] = {"model": str, "required": dict, "achieved": dict, "words": str}

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)+[0-9A-Za-z.+-]{0,40}", re.ASCII)
_LARGEST = 1 << 62
_MOST_ROWS = 1 << 53
_DEEPEST = 120


def checked(manifest: object) -> dict[str, Any]:
    """The manifest, if it says all that one must say, and nothing else."""
    if not isinstance(manifest, dict):
        raise ReleaseError("manifest.json holds no object; this is not a release of sfumato")
    _check_numbers(manifest)
    scheme = manifest.get("scheme")
    if scheme not in SCHEMES:
        raise ReleaseError(f"manifest.json states the scheme {scheme!r}; it must be one of {named(SCHEMES)}")
    of_scheme = _OF_SCHEME.get(scheme, {})
    _check_keys("manifest.json", manifest, _REQUIRED | of_scheme, _OPTIONAL)
    if not _VERSION.fullmatch(manifest["sfumato"]):
        raise ReleaseError(f"manifest.json states the version {manifest['sfumato']!r}, which sfumato never had")
    for name in ("rows", *(n for n, kind in of_scheme.items() if kind is int)):
        if not 1 <= manifest[name] <= _MOST_ROWS:
            raise ReleaseError(f"manifest.json states {name} = {manifest[name]}; it must be 1 or more, up to 2^53")
    if not manifest["requirements"]:
        raise ReleaseError("manifest.json claims nothing: its list of requirements is empty")
    for entry in manifest["requirements"]:
        _check_requirement(entry)
    for name, entry in manifest["attributes"].items():
        _check_attribute(name, entry, scheme)
    if manifest.get("output") not in (None, {"spreadsheet": "plain"}, {"spreadsheet": "safe"}):
        raise ReleaseError("manifest.json states an output that is neither plain nor safe for spreadsheets")
    if not all(isinstance(w, str) and w for w in manifest.get("warnings", ())):
        raise ReleaseError("manifest.json has a warning that is not text")
    return manifest


def _check_numbers(manifest: dict[str, Any]) -> None:
    """Refuse numbers that are not finite or not of a size that anything here counts, and bottomless nesting."""
    for value, depth in _walk(manifest):
        if depth > _DEEPEST:
            raise ReleaseError(f"manifest.json is nested more than {_DEEPEST} deep")
        if isinstance(value, float) and not math.isfinite(value):
            raise ReleaseError(f"manifest.json holds {value}, which is not a number")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise ReleaseError("manifest.json holds a number beyond 2^62; no release has one")


def _walk(manifest: object) -> Iterator[tuple[object, int]]:
    waiting: list[tuple[object, int]] = [(manifest, 0)]
    while waiting:
        value, depth = waiting.pop()
        yield value, depth
        if depth <= _DEEPEST and isinstance(value, Mapping | list | tuple):
            below = value.values() if isinstance(value, Mapping) else value
            waiting.extend((v, depth + 1) for v in below)


def _check_keys(what: str, entry: object, required: Mapping[str, type], optional: Mapping[str, type]) -> None:
    if not isinstance(entry, Mapping):
        raise ReleaseError(f"{what} must be an object with {named(required)}; the release is damaged")
    if strange := sorted(map(str, entry.keys() - required.keys() - optional.keys())):
        raise ReleaseError(f"{what} has {named(strange)}, which no release of sfumato has")
    for name, kind in {**required, **optional}.items():
        if name not in entry:
            if name in required:
                raise ReleaseError(f"{what} lacks {name!r}; the release is damaged")
        elif not _is(entry[name], kind):
            raise ReleaseError(f"{what}: {name!r} must be of type {kind.__name__}; the release is damaged")


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _check_requirement(entry: object) -> None:
    _check_keys("a requirement of manifest.json", entry, _CLAIM, {})
    assert isinstance(entry, Mapping)
    for name, value in entry["achieved"].items():
        if not _is(value, float):
            raise ReleaseError(f"manifest.json states {name!r} = {value!r} as achieved; it must be a number")


def labelled(scheme: str, role: object) -> bool:
    """Whether an attribute is shown by labels that the manifest explains."""
    return role == Role.QUASI and scheme in ("generalization", "sampling")


def _check_attribute(name: str, entry: object, scheme: str) -> None:
    what = f"the attribute {name!r} of manifest.json"
    if not isinstance(entry, Mapping) or entry.get("role") not in list(Role):
        raise ReleaseError(f"{what} has no role; the release is damaged")
    role = entry["role"]
    if role == Role.IDENTIFIER:
        raise ReleaseError(f"{what} is an identifier; a release holds none")
    if role == Role.INSENSITIVE:
        _check_keys(what, entry, {"role": str}, {})
        return
    coded: dict[str, type] = {"role": str, "kind": str, "domain": list}
    if labelled(scheme, role):
        coded |= {"nodes": dict, "loss": float} | ({"ranges": dict} if scheme == "sampling" else {})
    _check_keys(what, entry, coded, {} if labelled(scheme, role) else {"taxonomy": dict})
    if entry["kind"] not in list(Kind):
        raise ReleaseError(f"{what} has the unknown kind {entry['kind']!r}")
    if not labelled(scheme, role):
        _check_domain(what, entry["domain"])
    elif not 0 <= entry["loss"] <= 1:
        raise ReleaseError(f"{what} has a loss of {entry['loss']}; it must be in [0, 1]")


def _check_domain(what: str, domain: list[Any]) -> None:
    if not domain or not all(isinstance(v, str) for v in domain):
        raise ReleaseError(f"{what} must list the values of its domain")
    if len(set(domain)) < len(domain):
        raise ReleaseError(f"{what} names a value of its domain twice")
