"""The folder on disk: what is written is what is read, what is changed is found, and nothing secret is in it."""

import contextlib
import csv
import datetime as dt
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import OutputError, ReleaseError, SfumatoError
from sfumato.method.mondrian import Mondrian
from sfumato.release.release import Release, load
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Anonymity, Confidentiality
from sfumato.table.microdata import read
from strategies import examples

SECRET = "Aloysius Quibble"


def frame(rows: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["F", "M"], rows),
            "city": rng.choice(["Ulm", "Bonn", "Köln"], rows),
            "since": [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 900, rows)],
            "ill": rng.choice(["flu", "HIV", "cancer"], rows),
            "stay": [None if v == 0 else int(v) for v in rng.integers(0, 9, rows)],
        }
    )


def published(required: list[Requirement] | None = None, **more: Any) -> Release:
    options: dict[str, Any] = {
        "quasi": ["age", "sex", "city", "since"],
        "sensitive": "ill",
        "identifiers": ["name"],
        "insensitive": ["stay"],
        "taxonomies": {"sex": {"Any": ["F", "M"]}, "ill": {"Any": {"infect": ["flu", "HIV"], "cancer": {}}}},
    }
    table = read(frame(), **(options | more))
    rng = np.random.default_rng(12)  # the same bytes each time
    return Mondrian().publish(table, required or [KAnonymity(k=4), LDiversity(l=1.5)], title="A test", rng=rng)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    published().write(tmp_path / "release")
    return tmp_path / "release"


def left_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


# --- there and back --------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
titles = words.filter(lambda w: w.strip() != "")
plains: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "real": st.one_of(st.none(), st.floats()),
    "text": st.one_of(st.none(), words),
    "truth": st.one_of(st.none(), st.booleans()),
    "day": st.one_of(st.none(), st.dates()),
    "instant": st.one_of(st.none(), st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
}


@st.composite
def releases(draw: st.DrawFn) -> Release:
    """A release with awkward names and labels: quotes, commas, newlines, brackets, any script, nulls."""
    rows = draw(st.integers(1, 12))
    names = draw(st.lists(titles, min_size=5, max_size=5, unique=True))
    values = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    kind = draw(st.sampled_from(sorted(plains)))

    def column(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(strategy, min_size=rows, max_size=rows))

    data = pl.DataFrame(
        {
            names[0]: column(st.sampled_from(values)),
            names[1]: column(st.one_of(st.none(), st.integers(-5, 5))),
            names[2]: column(st.sampled_from(values)),
            names[3]: column(plains[kind]),
            names[4]: column(st.sampled_from(values)),
        },
        strict=False,
    )
    root = draw(words.filter(lambda w: w not in [*values, "width", "intervals", "mask"]))
    table = read(
        data,
        quasi=names[:3],
        sensitive=names[4],
        insensitive=[names[3]],
        taxonomies={names[0]: {root: values}},
        kinds={names[2]: draw(st.sampled_from(["categorical", "ordinal"]))},
        domains={names[2]: values},
        missing="category",
    )
    return Mondrian().publish(table, [KAnonymity(k=draw(st.integers(1, rows))), TCloseness(t=1)], title=draw(words))


@given(releases())
@examples(100)
def test_there_and_back(release: Release) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        release.write(folder)
        again = load(folder)
        assert again == release
        assert [f.status for f in again.check()] == [*(f.status for f in release.check()), "holds"]  # README.html
        with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        data = release.tables["data"]
        assert header == data.columns
        assert len(rows) == data.height
        coded = [i for i, dtype in enumerate(data.dtypes) if dtype == pl.Enum]
        assert [[row[i] for i in coded] for row in rows] == [[row[i] for i in coded] for row in data.iter_rows()]


@pytest.mark.parametrize(
    "required",
    [
        [KAnonymity(k=4)],
        [KAnonymity(k=3, entity="name")],
        [LDiversity(l=2, variant="distinct")],
        [LDiversity(l=1.5, variant="entropy")],
        [LDiversity(l=2, c=3, variant="recursive")],
        [TCloseness(t=0.5, distance="equal")],
        [TCloseness(t=0.5, distance="ordered")],
        [TCloseness(t=0.5, distance="hierarchical")],
        [AlphaK(alpha=0.75, k=3)],
        [Anonymity(x=["age", "sex"], k=3)],
        [Anonymity(x="age", y=["ill", "stay"], k=3)],
        [Anonymity(x="age", y="name", k=3)],
        [Confidentiality(x="age", y="ill", k=0.75)],
        [Confidentiality(y={"ill": ["HIV"]}, k=0.75)],
        [Confidentiality(y={"ill": ["HIV", "flu"]}, k={"HIV": 0.5, "flu": 0.9})],
        [Confidentiality(x="age", y={"sex": ["F"]}, k=0.9)],
    ],
    ids=lambda r: r[0].words(),
)
def test_every_requirement_there_and_back(required: list[Requirement], tmp_path: Path) -> None:
    release = published(required)
    release.write(tmp_path / "out")
    again = load(tmp_path / "out")
    assert again == release
    assert [f.status for f in again.check()] == [*(f.status for f in release.check()), "holds"]  # README.html
    assert "broken" not in {f.status for f in again.check()}


def test_a_release_can_be_written_whatever_number_type_its_parameters_have(tmp_path: Path) -> None:
    """NumPy's whole numbers pass the constructor of a requirement; so they must pass the manifest."""
    release = published([KAnonymity(k=np.int64(4))])  # type: ignore[arg-type]
    assert release.manifest["requirements"][0]["required"] == {"k": 4}
    release.write(tmp_path / "out")
    assert load(tmp_path / "out") == release


def test_a_fraction_as_a_parameter_can_be_written(tmp_path: Path) -> None:
    release = published([TCloseness(t=Fraction(2, 3))])  # type: ignore[arg-type]
    release.write(tmp_path / "out")
    assert load(tmp_path / "out") == release
    assert {f.status for f in load(tmp_path / "out").check()} == {"holds"}


def test_values_given_as_a_tuple_come_back_equal(tmp_path: Path) -> None:
    release = published([Confidentiality(y={"ill": ("HIV",)}, k=0.9)])
    release.write(tmp_path / "out")
    assert load(tmp_path / "out") == release


def test_limits_of_a_quasi_identifier_can_be_checked(tmp_path: Path) -> None:
    """A limit for each value, on an attribute that is published generalized: seen in part, not a crash."""
    release = published([Confidentiality(x="age", y={"sex": ["F"]}, k={"F": 0.9})])
    assert "broken" not in {f.status for f in release.check()}


@pytest.mark.parametrize("rule", [{"width": 10}, {"intervals": [0, 30, 60]}, {"mask": "right"}])
def test_hierarchical_closeness_by_a_built_tree_can_be_checked(rule: dict[str, Any]) -> None:
    data = frame().with_columns(ill=pl.Series(np.random.default_rng(1).integers(10, 60, 60)).cast(pl.String))
    table = read(data, quasi=["age"], sensitive="ill", taxonomies={"ill": rule})
    release = Mondrian().publish(table, [TCloseness(t=0.5, distance="hierarchical")])
    assert "broken" not in {f.status for f in release.check()}


SENSITIVE: dict[str, dict[str, Any]] = {
    "numbers": {"kinds": {"ill": "continuous"}},
    "numbers of a declared domain": {
        "kinds": {"ill": "continuous"},
        "domains": {"ill": ["1", "2", "3", "4", "5", "6", "7", "8", "9"]},
    },
    "numbers with a tree": {
        "kinds": {"ill": "continuous"},
        "taxonomies": {"ill": {"Any": {"high": ["4", "3", "9"], "low": ["2", "1"]}}},
    },
    "numbers with a width": {"taxonomies": {"ill": {"width": 2}}},
    "ordinal": {"kinds": {"ill": "ordinal"}, "domains": {"ill": ["4", "3", "2", "1", "0"]}},
    "categories": {"taxonomies": {"ill": {"Any": {"high": ["4", "3", "9"], "low": ["2", "1"]}}}},
}


@pytest.mark.parametrize("form", SENSITIVE)
@pytest.mark.parametrize("missing", [False, True])
def test_a_sensitive_attribute_of_any_form_can_be_checked(form: str, missing: bool, tmp_path: Path) -> None:
    """The check takes the domain, its order and its tree from the manifest, and finds what the publisher found."""
    values = [None if missing and i % 11 == 0 else str(1 + i * i % 7 % 4) for i in range(60)]
    data = frame().select("age", "sex").with_columns(ill=pl.Series(values))
    table = read(data, quasi=["age", "sex"], sensitive="ill", missing="category", **SENSITIVE[form])
    required = [TCloseness(t=0.6, distance="ordered"), TCloseness(t=0.6), LDiversity(l=1.2), AlphaK(alpha=0.9, k=2)]
    if "taxonomies" in SENSITIVE[form]:
        required.append(TCloseness(t=0.6, distance="hierarchical"))
    release = Mondrian().publish(table, required)
    release.write(tmp_path / "out")
    assert {f.status for f in load(tmp_path / "out").check()} == {"holds"}


def test_an_open_interval_can_be_written(tmp_path: Path) -> None:
    """TOML has inf: intervals = [0, 65, inf]; refused at once, or written."""
    data = pl.DataFrame({"age": [20, 30, 70, 80]})
    try:
        table = read(data, quasi=["age"], taxonomies={"age": {"intervals": [0, 65, math.inf]}})
    except SfumatoError:
        return
    release = Mondrian().publish(table, [KAnonymity(k=2)])
    release.write(tmp_path / "out")
    assert load(tmp_path / "out") == release


@pytest.mark.parametrize("values", [["(missing)", None], ["5", "5.0"], [5.0, math.nan]], ids=str)
def test_an_honest_claim_about_an_insensitive_column_holds(values: list[Any]) -> None:
    """The check counts the values of a published column as the publisher did."""
    data = pl.DataFrame({"age": range(8), "note": values * 4}, strict=False)
    table = read(data, quasi=["age"], insensitive=["note"])
    release = Mondrian().publish(table, [Anonymity(x="age", y="note", k=2)])
    assert [f.status for f in release.check()][-1] == "holds"


@pytest.mark.parametrize("column", [[[1]] * 4, [b"x"] * 4, [dt.timedelta(1)] * 4], ids=["list", "bytes", "duration"])
def test_what_cannot_be_written_is_refused_in_words(column: list[Any], tmp_path: Path) -> None:
    data = pl.DataFrame({"age": range(4), "note": column})
    with pytest.raises(SfumatoError, match="note"):
        Mondrian().publish(read(data, quasi=["age"], insensitive=["note"]), [KAnonymity(k=2)]).write(tmp_path / "out")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["a[1]", "a*", "what?", "year=2020", "{a,b}", "~", "sp ace", "ünï", "%41", "x.parquet"]
)
def test_folder_of_any_name(name: str, tmp_path: Path) -> None:
    """A folder's name is no pattern: other folders that it would match lie beside it."""
    other = published([KAnonymity(k=20)])
    for near in ("a1", "ax", "whats", "a", "b"):
        other.write(tmp_path / near)
    release = published()
    release.write(tmp_path / name)
    assert load(tmp_path / name) == release


def test_load_names_the_release_folder(tmp_path: Path) -> None:
    published().write(tmp_path / "out" / "release")
    with pytest.raises(SfumatoError, match=r"out/release"):
        load(tmp_path / "out")


# --- changed by someone ---------------------------------------------------------------------------------


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the manifest."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def replace_data(folder: Path, data: pl.DataFrame) -> None:
    """Replace the tables and state their digests, as a careful forger would."""
    data.write_parquet(folder / "data.parquet")
    data.write_csv(folder / "data.csv")
    (folder / "README.html").unlink(missing_ok=True)  # a release needs no page, and it would give the forger away

    def restate(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"]:
            entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
            entry["columns"] = data.columns

    edit(folder, restate)


def found(folder: Path) -> str:
    """Load and check, which must end in a ReleaseError; what it says."""
    with pytest.raises(ReleaseError) as error:
        load(folder).check()
    return str(error.value)


@given(st.data())
@examples(30)
def test_a_changed_byte_is_found(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        published().write(folder)
        file = folder / data.draw(st.sampled_from(["data.csv", "data.parquet"]))
        content = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
        file.write_bytes(bytes(content))
        assert file.name in found(folder)


@pytest.mark.parametrize("file", ["data.csv", "data.parquet"])
def test_a_missing_truncated_or_linked_file_is_found(folder: Path, file: str) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[:-1])
    assert file in found(folder)
    (folder / file).unlink()
    assert file in found(folder)
    (folder.parent / "elsewhere").write_bytes(content)
    (folder / file).symlink_to(folder.parent / "elsewhere")
    assert file in found(folder)


def test_a_missing_or_broken_manifest_is_found(folder: Path) -> None:
    manifest = folder / "manifest.json"
    for text in ("", "[]", "{", "null", '"x"', "{}", "\ud7ff", "[" * 100_000):
        manifest.write_text(text, encoding="utf-8")
        assert "manifest" in found(folder)
    manifest.write_bytes(b"\xff\xfe")
    assert "manifest" in found(folder)
    manifest.unlink()
    with pytest.raises(SfumatoError, match=r"manifest\.json"):
        load(folder)


@pytest.mark.parametrize(
    "name", ["../x.parquet", "/etc/passwd", "..", "sub/data.parquet", "data.parquet\x00", "other.parquet", "", None, 7]
)
def test_a_file_elsewhere_is_never_followed(folder: Path, name: Any) -> None:
    shutil.copy(folder / "data.parquet", folder.parent / "x.parquet")
    (folder / "sub").mkdir()
    shutil.copy(folder / "data.parquet", folder / "sub" / "data.parquet")

    def change(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"]:
            if entry["file"] == "data.parquet":
                entry["file"] = name

    edit(folder, change)
    found(folder)


def test_a_name_elsewhere_is_never_followed(folder: Path) -> None:
    shutil.copy(folder / "data.parquet", folder.parent / "x.parquet")

    def change(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"]:
            entry["name"], entry["file"] = "../x", "../x.parquet"

    edit(folder, change)
    found(folder)


CLAIMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "more rows": lambda m: m.update(rows=m["rows"] + 1),
    "a higher k": lambda m: m["requirements"][0]["required"].update(k=50),
    "another k achieved": lambda m: m["requirements"][0]["achieved"].update(k=50),
    "a lower k achieved": lambda m: m["requirements"][0]["achieved"].update(k=1),
    "another l achieved": lambda m: m["requirements"][1]["achieved"].update(l=2.999),
    "an l that is not achieved": lambda m: m["requirements"][1]["required"].update(l=3),
    "k that is no number": lambda m: m["requirements"][0]["achieved"].update(k=float("nan")),
    "an extra claim": lambda m: m["requirements"].append(
        {"model": "t-closeness", "required": {"t": 0.0001}, "achieved": {"t": 0.0001}}
    ),
    "achieved more than it has": lambda m: m["requirements"][0]["achieved"].update(l=7),
    "a label that nobody explains": lambda m: m["attributes"]["age"]["nodes"].popitem(),
    "a quasi-identifier without labels": lambda m: m["attributes"]["age"].pop("nodes"),
    "a quasi-identifier that is not there": lambda m: m["attributes"].update(zip={"role": "quasi", "nodes": {}}),
    "a domain that lacks a value": lambda m: m["attributes"]["ill"].update(domain=["flu"], taxonomy={"Any": ["flu"]}),
    "other columns": lambda m: m["tables"][0]["columns"].reverse(),
    "no tables": lambda m: m.update(tables=[]),
    "only the csv": lambda m: m["tables"].pop(0),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_wrong_claim_is_found(claim: str, folder: Path) -> None:
    load(folder).check()
    edit(folder, CLAIMS[claim])
    found(folder)


MALFORMED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an unknown model": lambda m: m["requirements"][0].update(model="q-anonymity"),
    "an unknown parameter": lambda m: m["requirements"][0]["required"].update(q=3),
    "a parameter out of range": lambda m: m["requirements"][0]["required"].update(k=0),
    "required that is no table": lambda m: m["requirements"][0].update(required=5),
    "achieved that is no table": lambda m: m["requirements"][0].update(achieved=[1]),
    "achieved that is text": lambda m: m["requirements"][0]["achieved"].update(k="4"),
    "an attribute that is no table": lambda m: m["attributes"].update(age=3),
    "labels that are no table": lambda m: m["attributes"]["age"].update(nodes=7),
    "a taxonomy that is no tree": lambda m: m["attributes"]["ill"].update(taxonomy=[1]),
    "a domain with a value twice": lambda m: m["attributes"]["ill"].update(taxonomy=None, domain=["flu", "flu"]),
    "no domain": lambda m: [m["attributes"]["ill"].pop(n) for n in ("taxonomy", "domain")],
    "a claim about an insensitive column": lambda m: m["requirements"].append(
        {"model": "confidentiality", "required": {"x": "age", "y": "stay", "k": 0.9}, "achieved": {"k": 0.1}}
    ),
    "a claim about a column that is not there": lambda m: m["requirements"].append(
        {"model": "l-diversity", "required": {"l": 2, "sensitive": "wealth"}, "achieved": {"l": 2}}
    ),
    "a table of another name": lambda m: [e.update(name="quasi", file=f"quasi.{e['file'][5:]}") for e in m["tables"]],
}


@pytest.mark.parametrize("damage", MALFORMED)
def test_a_malformed_manifest_is_found(damage: str, folder: Path) -> None:
    """Whatever the manifest says, the check ends in a ReleaseError (exit code 4), never in a crash or exit code 2."""
    if damage == "a table of another name":
        for end in ("csv", "parquet"):
            (folder / f"data.{end}").rename(folder / f"quasi.{end}")
    edit(folder, MALFORMED[damage])
    found(folder)


@given(st.data())
@examples(60)
def test_a_mangled_manifest_never_crashes(data: st.DataObject) -> None:
    """Replace, anywhere in the manifest, one value by another kind of value."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        published().write(folder)

        def mangle(manifest: dict[str, Any]) -> None:
            node: Any = manifest
            while True:
                keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
                key = data.draw(st.sampled_from(keys))
                inside = isinstance(node[key], dict | list) and node[key]
                if not inside or data.draw(st.booleans()):
                    node[key] = data.draw(st.sampled_from([None, True, -1, 1.5, "", "x", [], ["x"], {}, {"x": 1}]))
                    return
                node = node[key]

        edit(folder, mangle)
        with contextlib.suppress(SfumatoError):
            load(folder).check()


def test_replaced_labels_are_found(folder: Path) -> None:
    """With a digest that matches: one person told apart, an unknown label, another sensitive value, rows removed."""
    data = pl.read_parquet(folder / "data.parquet").with_columns(pl.col(pl.Enum).cast(pl.String))
    first = pl.int_range(pl.len()) == 0
    narrow = data.with_columns(age=pl.when(first).then(pl.lit("[18, 19)")).otherwise("age"))
    replace_data(folder, narrow)
    assert "[18, 19)" in found(folder)
    known = data["age"].unique().sort()
    moved = data.with_columns(age=pl.when(first).then(pl.lit(known[0])).otherwise("age"))
    moved = moved.with_columns(sex=pl.when(first).then(pl.lit("M")).otherwise("sex"))
    moved = moved.with_columns(since=pl.when(first).then(pl.lit(data["since"].max())).otherwise("since"))
    replace_data(folder, moved)
    assert "rows" in found(folder)
    replace_data(folder, data.with_columns(ill=pl.lit("flu")))
    assert "1/1.5" in found(folder)
    replace_data(folder, data.with_columns(ill=pl.when(first).then(pl.lit("gout")).otherwise("ill")))
    assert "ill" in found(folder)
    replace_data(folder, data.with_columns(ill=pl.when(first).then(None).otherwise("ill")))
    assert "ill" in found(folder)
    replace_data(folder, data.slice(1))
    assert "rows" in found(folder)
    replace_data(folder, data.drop("sex"))
    assert "sex" in found(folder)
    replace_data(folder, data)
    load(folder).check()


@pytest.mark.parametrize("name", ["ill", "stay"])
def test_a_column_that_is_gone_is_found(name: str, folder: Path) -> None:
    """Every attribute of the manifest is a column of the data, whether a claim counts it or not."""
    replace_data(folder, pl.read_parquet(folder / "data.parquet").drop(name))
    assert name in found(folder)


def test_an_extra_column_is_found(folder: Path) -> None:
    """A column that no attribute of the manifest describes is no part of what was published."""
    data = pl.read_parquet(folder / "data.parquet")
    replace_data(folder, data.with_columns(name=pl.lit(SECRET)))
    assert "name" in found(folder)


def test_a_csv_that_differs_from_the_parquet_is_found(folder: Path) -> None:
    """The check reads the parquet table; the csv twin that people open must say the same."""
    data = pl.read_parquet(folder / "data.parquet")
    data.with_columns(age=pl.lit("18"), name=pl.lit(SECRET)).write_csv(folder / "data.csv")

    def restate(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"]:
            entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()

    edit(folder, restate)
    assert "data.csv" in found(folder)


# --- whole or not at all ----------------------------------------------------------------------------------


def test_an_existing_folder_is_refused(folder: Path) -> None:
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(OutputError, match="exists"):
        published().write(folder)
    assert (folder / "manifest.json").read_bytes() == before
    published([KAnonymity(k=10)]).write(folder, force=True)
    assert load(folder).manifest["requirements"][0]["required"]["k"] == 10
    assert left_in(folder.parent) == ["release"]


@pytest.mark.parametrize("force", [False, True])
def test_what_sfumato_did_not_write_is_never_removed(force: bool, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.docx").write_text("years of work")
    file = tmp_path / "file"
    file.write_text("a file")
    link = tmp_path / "link"
    link.symlink_to(home)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    for target in (home, file, link, dangling):
        with pytest.raises(OutputError, match="exists"):
            published().write(target, force=force)
    assert (home / "thesis.docx").read_text() == "years of work"
    assert left_in(tmp_path) == ["dangling", "file", "home", "link"]


def test_a_folder_with_a_folder_inside_is_not_taken_for_a_release(tmp_path: Path) -> None:
    """Names alone do not make a release: a folder called data.csv may hold anything."""
    inside = tmp_path / "out" / "data.csv"
    inside.mkdir(parents=True)
    (inside / "thesis.docx").write_text("years of work")
    with pytest.raises(OutputError):
        published().write(tmp_path / "out", force=True)
    assert (inside / "thesis.docx").exists()


@pytest.mark.parametrize("step", ["write_csv", "write_parquet"])
@pytest.mark.parametrize("force", [False, True])
def test_a_failure_in_the_middle_leaves_nothing(
    step: str, force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, old = published(), published([KAnonymity(k=10)])
    if force:
        old.write(tmp_path / "out")

    def fail(*args: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, step, fail)
        with pytest.raises(OutputError, match="no space left on the device"):
            release.write(tmp_path / "out", force=force)
    assert left_in(tmp_path) == (["out"] if force else [])
    if force:
        assert load(tmp_path / "out") == old


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(5, "Input/output error")])
def test_a_failure_at_the_manifest_leaves_nothing(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = published()

    def fail(*args: Any, **more: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.release.files.store.json.dumps", fail)
        with pytest.raises((OutputError, type(error))):
            release.write(tmp_path / "deep" / "out")
    assert left_in(tmp_path / "deep") == []


def test_an_old_release_survives_a_failed_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old folder is moved away, then the new one cannot take its place: the old one must come back."""
    old, new = published([KAnonymity(k=10)]), published()
    old.write(tmp_path / "out")
    rename, calls = Path.rename, []

    def fail_at_the_second(self: Path, target: Any) -> Any:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.release.files.output.exchange", lambda one, other: False)  # a system that has none
        patch.setattr(Path, "rename", fail_at_the_second)
        with pytest.raises(OutputError):
            new.write(tmp_path / "out", force=True)
    assert left_in(tmp_path) == ["out"]
    assert load(tmp_path / "out") == old


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        published().write(tmp_path / "file" / "out")
    with pytest.raises(OutputError):
        published().write(tmp_path / ("x" * 300))
    assert left_in(tmp_path) == ["file"]


def test_files_and_modes(folder: Path) -> None:
    assert left_in(folder) == ["README.html", "data.csv", "data.parquet", "manifest.json"]
    assert folder.stat().st_mode & 0o777 == 0o755


# --- secrets ---------------------------------------------------------------------------------------------


def test_no_secret_is_in_the_folder(tmp_path: Path) -> None:
    """No identifier, path, seed, time or index in any file, nor in what parquet keeps beside the data."""
    source = tmp_path / "very-private-source.csv"
    frame().write_csv(source)
    roles: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "ill", "identifiers": ["name"]}
    table = read(source, **roles, insensitive=["stay"], kinds={"age": "continuous"})
    rng = np.random.default_rng(987_654_321)
    release = Mondrian(strict=False).publish(table, [KAnonymity(k=4, entity="name")], rng=rng)
    release.write(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        content = file.read_bytes()
        for secret in (
            SECRET.encode(),
            b"very-private",
            str(tmp_path).encode(),
            b"987654321",
            b"seed",
            *((b"pandas", b"index") if file.name != "README.html" else ()),  # it says how to load the release
        ):
            assert secret not in content, (file.name, secret)
        assert dt.date.today().isoformat().encode() not in content
    meta = pq.read_metadata(tmp_path / "out" / "data.parquet")
    assert set(meta.metadata or {}) <= {b"ARROW:schema"}
    assert "name" not in pq.read_schema(tmp_path / "out" / "data.parquet").names
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert set(manifest) <= {
        *("sfumato", "title", "scheme", "method", "requirements", "attributes", "rows", "tables", "warnings")
    }


def test_a_pandas_index_stays_at_home(tmp_path: Path) -> None:
    pandas = frame().drop("since").to_pandas()
    pandas.index = [f"{SECRET}-{i}" for i in range(len(pandas))]
    table = read(pandas, quasi=["age"], sensitive="ill")
    Mondrian().publish(table, [KAnonymity(k=4)]).write(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert SECRET.encode() not in file.read_bytes()


def test_values_hidden_by_the_labels_are_not_listed_elsewhere(tmp_path: Path) -> None:
    """Values of quasi-identifiers that no label shows occur nowhere: not in domains, meanings or dictionaries."""
    rng = np.random.default_rng(5)
    data = pl.DataFrame(
        {
            "job": [*rng.choice(["clerk", "cook"], 40), "astronaut", "falconer", "luthier"],
            "zip": [*rng.choice(["47110", "47120"], 40), "47999", "46001", "30303"],
            "pay": [*rng.integers(100, 200, 40).astype(float).tolist(), 151.75, 131.25, 163.5],
        }
    )
    table = read(data, quasi=["job", "zip", "pay"], taxonomies={"zip": {"mask": "right"}})
    release = Mondrian(labels="nodes").publish(table, [KAnonymity(k=10)])
    release.write(tmp_path / "out")
    content = b"".join(file.read_bytes() for file in (tmp_path / "out").iterdir()).decode("latin-1")
    for value in ("astronaut", "falconer", "luthier", "47999", "46001", "30303", "151.75", "131.25", "163.5"):
        assert value not in content


def test_the_end_of_an_interval_is_no_value_of_somebody_else() -> None:
    """Numbers without a common step: the upper end of a label must not be a number that only another group holds.

    The group of the men hides .5123...; the label of the women must not show it.
    """
    odd = 0.512345678901234
    women = [0.1111111111111 * i for i in range(1, 5)]
    men = [0.0101010101010101, odd, 0.7777777777777, 0.9999999999999]
    data = pl.DataFrame({"sex": ["F"] * 4 + ["M"] * 4, "pay": women + men})
    release = Mondrian().publish(read(data, quasi=["sex", "pay"]), [KAnonymity(k=4)])
    assert sorted(release.tables["data"]["sex"].cast(pl.String).unique()) == ["F", "M"]
    assert str(odd) not in json.dumps(release.manifest) + release.tables["data"].write_csv()
