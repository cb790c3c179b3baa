"""The JSON schema of manifest.json, derived from the type: ``python -m sfumato.release.manifest_schema`` prints it.

It lists the keys and the types of their values. What a schema cannot express, e.g. that a loss fits its labels,
`Release.check` verifies.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import UnionType
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from sfumato.release.manifest import (
    MOST_ROWS,
    SCHEME_NAMES,
    AttributeEntry,
    ChosenEntry,
    Claim,
    EarlierEntry,
    LabelAttribute,
    Manifest,
    ManifestEntry,
    MethodEntry,
    TableFile,
    ValueAttribute,
)
from sfumato.release.scheme.base import Scheme
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.table.encode import Role

JsonSchema = dict[str, Any]

_PLAIN: dict[Any, JsonSchema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}
_LIMITS: dict[str, JsonSchema] = {
    "rows": {"minimum": 1, "maximum": MOST_ROWS},
    "sampled_from": {"minimum": 1, "maximum": MOST_ROWS},
    "loss": {"minimum": 0, "maximum": 1},
    "requirements": {"minItems": 1},
}


def manifest_schema() -> JsonSchema:
    """The schema: one variant per scheme, since each has its own keys."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "manifest.json of a sfumato release",
        "oneOf": [_of_scheme(SCHEMES[name]) for name in SCHEME_NAMES],
        "$defs": {form.__name__: _object(form) for form in (MethodEntry, Claim, TableFile, EarlierEntry)},
    }


def _of_scheme(scheme: Scheme) -> JsonSchema:
    found = _object(Manifest, scheme.name)
    found["properties"]["scheme"]["enum"] = [scheme.name]
    roles = [role for role in Role if role is not Role.IDENTIFIER]
    forms = {form: [str(r) for r in roles if scheme.attribute_type(r) is form] for form in _forms(scheme, roles)}
    variants = [_attribute(form, named) for form, named in forms.items()]
    found["properties"]["attributes"]["additionalProperties"] = {"oneOf": variants}
    return {"title": scheme.name} | found


def _forms(scheme: Scheme, roles: Sequence[Role]) -> list[type[AttributeEntry]]:
    return list(dict.fromkeys(scheme.attribute_type(role) for role in roles))


def _attribute(form: type[AttributeEntry], roles: list[str]) -> JsonSchema:
    found = _object(form)
    found["properties"]["role"]["enum"] = roles
    if form is ValueAttribute:
        found["properties"]["domain"] |= {"minItems": 1, "uniqueItems": True}
    if issubclass(form, LabelAttribute):
        found["properties"]["nodes"]["additionalProperties"]["minItems"] = 1
    return found


def _object(form: type[ManifestEntry], scheme: str | None = None) -> JsonSchema:
    """An object with the fields of a class as its properties."""
    if form is MethodEntry:
        properties = {"name": {"type": "string"}, "chosen": _object(ChosenEntry)}
        return {"type": "object", "properties": properties, "required": ["name"]}
    keys, hints = form.fields_of(scheme), get_type_hints(form)
    properties = {
        name: {"description": key.metadata["about"]}
        | _type(_without_none(hints[name]) if key.metadata["optional"] else hints[name])
        | _LIMITS.get(name, {})
        for name, key in keys.items()
    }
    required = [name for name, key in keys.items() if not key.metadata["optional"]]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _without_none(hint: Any) -> Any:
    """The type of a key, if present."""
    return next(part for part in get_args(hint) if part is not type(None))


def _type(hint: Any) -> JsonSchema:
    """The schema of a type."""
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin = get_origin(hint) or hint
    if origin is UnionType:
        return _either([_type(part) for part in get_args(hint)])
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if is_typeddict(origin):
        return _typed_dict(origin)
    if issubclass(origin, StrEnum):
        return {"type": "string", "enum": [str(word) for word in origin]}
    if issubclass(origin, ManifestEntry):
        return {"$ref": f"#/$defs/{origin.__name__}"}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(get_args(hint)[1])}
    return {"type": "array", "items": _type(get_args(hint)[0])}


def _either(parts: list[JsonSchema]) -> JsonSchema:
    """Any of several types: a list of their names, with the details of the one that has more to say."""
    bare = [part["type"] for part in parts if part.keys() == {"type"}]
    more = [part for part in parts if part.keys() != {"type"}]
    if len(more) == 1:
        return more[0] | {"type": [more[0]["type"], *bare]}
    return {"type": bare} if not more else {"anyOf": parts}


def _typed_dict(form: Any) -> JsonSchema:
    hints = get_type_hints(form, include_extras=True)
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    properties = {name: _type(get_args(hint)[0] if name in optional else hint) for name, hint in hints.items()}
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name in hints if name in form.__required_keys__]
    return found | ({"required": required} if required else {"minProperties": 1, "maxProperties": 1})


def text() -> str:
    """The schema as written in docs/manifest.schema.json."""
    return json.dumps(manifest_schema(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    print(text(), end="")
