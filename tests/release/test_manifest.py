"""The manifest as a type: read, written to the byte as it was, refused where it is wrong, and described by a schema."""

import copy
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from fuzz.releases import releases
from sfumato.release.check.statement import parse_manifest
from sfumato.release.manifest import AttributeEntry, BoxAttribute, Claim, LabelAttribute, Manifest, ValueAttribute
from sfumato.release.manifest_schema import manifest_schema, text
from sfumato.table.encode import Kind, Role

SCHEMA = Path(__file__).parents[2] / "docs" / "manifest.schema.json"

Json = dict[str, Any]


def written(release: sf.Release, folder: Path) -> tuple[str, Json]:
    """The text of a manifest, and what it says."""
    release.write(folder)
    found = (folder / "manifest.json").read_text(encoding="utf-8")
    return found, json.loads(found)


def faults(value: Any, schema: Json, root: Json, where: str = "") -> list[str]:
    """Where a value breaks a schema; all the words of JSON schema that ours uses, and no others."""
    known = {"$schema", "$defs", "title", "description", *_RULES}
    assert schema.keys() <= known, sorted(schema.keys() - known)
    if other := _type(value, schema["type"], root, where) if "type" in schema else []:
        return other
    return [
        f for word, rule in schema.items() if word in _RULES for f in _RULES[word](value, rule, root, where, schema)
    ]


def _type(value: Any, rule: Any, _: Json, where: str, *__: Json) -> list[str]:
    kinds = {"object": dict, "array": list, "string": str, "null": type(None), "integer": int, "number": (int, float)}
    good = any(
        isinstance(value, kinds[k]) and not isinstance(value, bool) for k in ([rule] if isinstance(rule, str) else rule)
    )
    return [] if good else [f"{where}: {value!r} is not of type {rule}"]


def _properties(value: Any, rule: Json, root: Json, where: str, _: Json) -> list[str]:
    there = {n: s for n, s in rule.items() if isinstance(value, dict) and n in value}
    return [f for n, s in there.items() for f in faults(value[n], s, root, f"{where}/{n}")]


def _additional(value: Any, rule: Any, root: Json, where: str, schema: Json) -> list[str]:
    others = [n for n in value if n not in schema.get("properties", {})] if isinstance(value, dict) else []
    if rule is False:
        return [f"{where}: {n!r} is unknown" for n in others]
    return [f for n in others for f in faults(value[n], rule, root, f"{where}/{n}")]


def _one_of(value: Any, rule: list[Json], root: Json, where: str, _: Json) -> list[str]:
    fitting = [s for s in rule if not faults(value, s, root, where)]
    return [] if len(fitting) == 1 else [f"{where}: {len(fitting)} variants fit"]


def _limit(holds: Callable[[Any, Any], bool]) -> Callable[..., list[str]]:
    def rule(value: Any, limit: Any, _: Json, where: str, __: Json) -> list[str]:
        return [] if value is None or holds(value, limit) else [f"{where}: {value!r} is beyond {limit!r}"]

    return rule


_RULES: dict[str, Callable[..., list[str]]] = {
    "$ref": lambda v, ref, root, where, _: faults(v, root["$defs"][ref.rpartition("/")[2]], root, where),
    "type": _type,
    "enum": _limit(lambda v, words: v in words),
    "properties": _properties,
    "required": lambda v, names, root, where, _: [f"{where}: no {n!r}" for n in names if n not in v],
    "additionalProperties": _additional,
    "items": lambda v, s, root, where, _: [f for x in v or () for f in faults(x, s, root, f"{where}[]")],
    "oneOf": _one_of,
    "minimum": _limit(lambda v, least: v >= least),
    "maximum": _limit(lambda v, most: v <= most),
    "minItems": _limit(lambda v, least: len(v) >= least),
    "uniqueItems": _limit(lambda v, _: len(set(v)) == len(v)),
    "minProperties": _limit(lambda v, least: len(v) >= least),
    "maxProperties": _limit(lambda v, most: len(v) <= most),
}


@pytest.mark.parametrize("name", sorted(releases()))
def test_reading_and_writing_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    before, plain = written(releases()[name], tmp_path / "out")
    again = parse_manifest(plain).plain()
    assert again == plain
    assert json.dumps(again, ensure_ascii=False, indent=1, allow_nan=False) + "\n" == before
    after, _ = written(sf.load(tmp_path / "out"), tmp_path / "again")
    assert after == before


@pytest.mark.parametrize("name", sorted(releases()))
def test_what_is_described_is_what_is_written(name: str) -> None:
    """A release in memory, which has no files yet, is already written in the order of the type."""
    release = releases()[name]
    assert json.dumps(release.description.plain()) == json.dumps(release.manifest)


@pytest.mark.parametrize("name", sorted(releases()))
def test_every_manifest_fits_the_schema(name: str, tmp_path: Path) -> None:
    schema = manifest_schema()
    _, plain = written(releases()[name], tmp_path / "out")
    variant = next(v for v in schema["oneOf"] if v["title"] == plain["scheme"])
    assert faults(plain, variant, schema) == []
    assert faults(plain, schema, schema) == []


def test_the_schema_in_the_docs_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == text(), (
        "run: python -m sfumato.release.manifest_schema > docs/manifest.schema.json"
    )


def _first(manifest: Json, role: str) -> Json:
    found: Json = next(a for a in manifest["attributes"].values() if a["role"] == role)
    return found


WRONG: list[tuple[str, Callable[[Json], Any], str]] = [
    ("mondrian", lambda m: m.pop("title"), "manifest.json lacks 'title'; the release is damaged"),
    ("mondrian", lambda m: m.update(raw=[1]), "manifest.json has 'raw', which no sfumato release has"),
    ("mondrian", lambda m: m.update(rows="80"), "manifest.json: 'rows' must be of type int; the release is damaged"),
    ("mondrian", lambda m: m.update(rows=True), "manifest.json: 'rows' must be of type int; the release is damaged"),
    ("mondrian", lambda m: m.update(rows=0), "manifest.json states rows = 0; it must be 1 or more, up to 2^53"),
    ("mondrian", lambda m: m.update(matrices={}), "manifest.json has 'matrices', which no sfumato release has"),
    (
        "mondrian",
        lambda m: m.update(sampled_from=9),
        "manifest.json has 'sampled_from', which no sfumato release has",
    ),
    ("mondrian", lambda m: m.update(method=[]), "manifest.json: 'method' must be of type dict; the release is damaged"),
    (
        "mondrian",
        lambda m: m.update(warnings="?"),
        "manifest.json: 'warnings' must be of type list; the release is damaged",
    ),
    (
        "mondrian",
        lambda m: m.update(requirements=[]),
        "manifest.json makes no claims: its list of requirements is empty",
    ),
    (
        "mondrian",
        lambda m: m["requirements"].append(5),
        "a requirement of manifest.json must be an object with 'model', 'required', 'achieved', 'words'; the "
        "release is damaged",
    ),
    (
        "mondrian",
        lambda m: m["requirements"][0].pop("words"),
        "a requirement of manifest.json lacks 'words'; the release is damaged",
    ),
    (
        "mondrian",
        lambda m: m["requirements"][0]["achieved"].update(k="5"),
        "manifest.json states 'k' = '5' as achieved; it must be a number",
    ),
    (
        "mondrian",
        lambda m: m["attributes"].update(x=5),
        "the attribute 'x' of manifest.json has no role; the release is damaged",
    ),
    (
        "mondrian",
        lambda m: m["attributes"].update(x={"role": "identifier"}),
        "the attribute 'x' of manifest.json is an identifier; a release must not contain any",
    ),
    (
        "mondrian",
        lambda m: m["attributes"]["age"].pop("nodes"),
        "the attribute 'age' of manifest.json lacks 'nodes'; the release is damaged",
    ),
    (
        "mondrian",
        lambda m: m["attributes"]["age"].update(kind="odd"),
        "the attribute 'age' of manifest.json has the unknown kind 'odd'",
    ),
    (
        "mondrian",
        lambda m: m["attributes"]["age"].update(loss=2),
        "the attribute 'age' of manifest.json has a loss of 2; it must be in [0, 1]",
    ),
    (
        "mondrian",
        lambda m: m["attributes"]["ill"].update(domain=[]),
        "the attribute 'ill' of manifest.json must list the values of its domain",
    ),
    (
        "mondrian",
        lambda m: m["attributes"]["stay"].update(kind="ordinal"),
        "the attribute 'stay' of manifest.json has 'kind', which no sfumato release has",
    ),
    (
        "pg",
        lambda m: m["attributes"]["age"].pop("ranges"),
        "the attribute 'age' of manifest.json lacks 'ranges'; the release is damaged",
    ),
    (
        "pg",
        lambda m: m.update(sampled_from=0),
        "manifest.json states sampled_from = 0; it must be 1 or more, up to 2^53",
    ),
    ("rr", lambda m: m.pop("epsilon"), "manifest.json lacks 'epsilon'; the release is damaged"),
    (
        "anatomy",
        lambda m: m["attributes"]["age"].update(nodes={}),
        "the attribute 'age' of manifest.json has 'nodes', which no sfumato release has",
    ),
]


@pytest.mark.parametrize(("name", "change", "told"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_manifest_is_refused_by_type_and_by_schema(name: str, change: Any, told: str, tmp_path: Path) -> None:
    schema = manifest_schema()
    _, plain = written(releases()[name], tmp_path / "out")
    change(plain)
    with pytest.raises(sf.ReleaseError, match=re.escape(told)) as error:
        parse_manifest(plain)
    assert str(error.value) == told + ": ask its publisher for an intact copy" * told.endswith("damaged")
    assert faults(plain, schema, schema) != []
    with pytest.raises(sf.ReleaseError, match=re.escape(told)):
        sf.Release(plain, releases()[name].tables).write(tmp_path / "never")
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("plain", [[], None, "x", 5])
def test_what_is_no_object_is_no_manifest(plain: object) -> None:
    for read in (parse_manifest, Manifest.from_plain):
        with pytest.raises(sf.ReleaseError, match=r"manifest\.json does not contain an object"):
            read(plain)
        with pytest.raises(sf.ReleaseError, match="states the scheme 'odd'"):
            read({"scheme": "odd"})


def test_numbers_that_json_does_not_have_are_refused() -> None:
    plain = copy.deepcopy(releases()["mondrian"].manifest)
    plain["attributes"]["age"]["loss"] = math.nan
    with pytest.raises(sf.ReleaseError, match="contains nan, which is not a number"):
        parse_manifest(plain)


def test_the_parts_of_a_manifest_are_typed() -> None:
    found = releases()["mondrian"].description
    assert found.method.name == "mondrian"
    assert found.requirements[0] == Claim.from_plain(releases()["mondrian"].manifest["requirements"][0])
    assert found.with_role(Role.QUASI) == ["age", "sex", "rank", "since"] == list(found.labelled)
    assert found.label("rank").kind is Kind.ORDINAL
    assert found.domain("ill") == ["flu", "HIV", "cancer", "gout"]
    assert type(found.attributes["stay"]) is AttributeEntry
    assert type(found.attributes["ill"]) is ValueAttribute
    assert type(found.attributes["age"]) is LabelAttribute
    assert type(releases()["pg"].description.attributes["age"]) is BoxAttribute
    assert set(releases()["rr"].description.distortions()) == {"sex", "rank", "ill"}
    with pytest.raises(sf.ReleaseError, match="does not explain the labels of 'ill'"):
        found.label("ill")
    with pytest.raises(sf.ReleaseError, match="does not state the domain of 'stay'"):
        found.domain("stay")


def test_a_check_reads_the_mapping_as_it_is_now() -> None:
    """Who changes the mapping after it was read does not get the old answer."""
    base = releases()["mondrian"]
    release = sf.Release(copy.deepcopy(base.manifest), base.tables)
    assert release.description.rows == base.description.rows
    release.check()
    release.manifest["rows"] += 1
    with pytest.raises(sf.ReleaseError, match="the release has 81 rows"):
        release.check()
