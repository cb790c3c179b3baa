"""What a forger may try: each false release is found, and what nobody can verify is said to be stated."""

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.release.check.explained import loss_bounds
from sfumato.release.check.finding import Finding
from sfumato.release.manifest import LabelAttribute, Manifest
from sfumato.requirement.local_privacy import statement
from sfumato.table.published import text_counts

DISEASES = ["flu", "HIV", "cancer", "gout"]


def people(rows: int = 60, **more: Any) -> sf.Microdata:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, rows)
    frame = pl.DataFrame(
        {
            "name": [f"N{i}" for i in range(rows)],
            "age": age,
            "sex": rng.choice(["F", "M"], rows),
            "rank": rng.choice(["low", "medium", "high"], rows),
            "ill": [DISEASES[int(a) // 10 % 4] for a in age],
            "stay": rng.integers(1, 9, rows),
        }
    )
    options: dict[str, Any] = {
        "quasi": ["age", "sex", "rank"],
        "sensitive": "ill",
        "insensitive": ["stay"],
        "kinds": {"rank": "ordinal"},
        "domains": {"rank": ["low", "medium", "high"], "ill": DISEASES},
        "taxonomies": {"sex": {"Any": ["F", "M"]}},
    }
    return sf.read(frame, **(options | more))


def generalized(**more: Any) -> sf.Release:
    return sf.publish(
        people(**more),
        require=[sf.KAnonymity(k=4), sf.LDiversity(l=1.3)],
        method="mondrian",
        rng=np.random.default_rng(1),
    )


def bucketized() -> sf.Release:
    return sf.publish(people(), require=sf.LDiversity(l=2), method="anatomy", rng=np.random.default_rng(1))


def sampled(rows: int = 4000) -> sf.Release:
    table = people(rows, insensitive=[], quasi=["age", "sex"], kinds={}, domains={"ill": DISEASES})
    return sf.publish(table, require=sf.KAnonymity(k=5), method=sf.PG(p=0.4), rng=np.random.default_rng(1))


def randomized(rows: int = 4000) -> sf.Release:
    table = people(rows, quasi=["sex", "rank"])
    method = sf.RandomizedResponse(keep={"rank": 0.6, "ill": 0.5})
    return sf.publish(table, require=sf.Disclosure(tau=0.9), method=method, rng=np.random.default_rng(1))


MAKE: dict[str, Callable[[], sf.Release]] = {
    "generalized": generalized,
    "bucketized": bucketized,
    "sampled": sampled,
    "randomized": randomized,
}


def forged(
    release: sf.Release,
    folder: Path,
    change: Callable[[dict[str, Any]], Any] = lambda m: None,
    tables: dict[str, pl.DataFrame] | None = None,
) -> Path:
    """The release with other tables, digests that agree, and a changed manifest."""
    sf.Release(release.manifest, release.tables | (tables or {})).write(folder)
    (folder / "README.html").unlink()  # a forger leaves out the page, or writes the one that follows
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return folder


def broken(folder: Path) -> str:
    """What the check finds; it must find something broken, by exit code 4 and by `Release.check`."""
    with pytest.raises(sf.ReleaseError) as error:
        sf.load(folder).check()
    with pytest.raises(SystemExit) as ended:
        main(["check", str(folder)])
    assert ended.value.code == 4
    return str(error.value)


@pytest.mark.parametrize("name", MAKE)
def test_an_honest_release_is_accepted(name: str, tmp_path: Path) -> None:
    found = sf.load(forged(MAKE[name](), tmp_path / "out")).check()
    assert {f.status for f in found} <= {"holds", "stated"}
    assert [f.status for f in found[:5]] == ["holds"] * 5


# --- columns belong to their table ---------------------------------------------------------------------------


def test_a_sensitive_column_in_the_quasi_table_is_found(tmp_path: Path) -> None:
    release = bucketized()
    quasi = release.tables["quasi"]
    raw = quasi.with_columns(ill=pl.Series(["HIV"] * quasi.height))
    assert "'quasi'" in broken(forged(release, tmp_path / "out", tables={"quasi": raw}))


def test_a_quasi_identifier_in_the_sensitive_table_is_found(tmp_path: Path) -> None:
    release = bucketized()
    more = release.tables["sensitive"].with_columns(sex=pl.lit("F"))
    assert "'sensitive'" in broken(forged(release, tmp_path / "out", tables={"sensitive": more}))


@pytest.mark.parametrize("column", ["group", "count"])
def test_a_bucketized_release_without_its_join_is_found(column: str, tmp_path: Path) -> None:
    release = bucketized()
    less = release.tables["sensitive"].drop(column)
    assert column in broken(forged(release, tmp_path / "out", tables={"sensitive": less}))


def test_group_of_an_anonymous_table_is_no_attribute(tmp_path: Path) -> None:
    def called_group(m: dict[str, Any]) -> None:
        m["attributes"]["group"] = m["attributes"].pop("stay")

    release = bucketized()
    quasi = release.tables["quasi"].drop("stay")
    assert "'group'" in broken(forged(release, tmp_path / "out", called_group, tables={"quasi": quasi}))


# --- roles ---------------------------------------------------------------------------------------------------


def bare(m: dict[str, Any]) -> None:
    """All columns insensitive, and k still claimed."""
    m["attributes"] = {name: {"role": "insensitive"} for name in m["attributes"]}
    m["requirements"] = m["requirements"][:1]
    m["requirements"][0]["achieved"] = {"k": m["rows"]}


def test_a_claim_about_nobody_is_broken(tmp_path: Path) -> None:
    assert "quasi-identifier" in broken(forged(generalized(), tmp_path / "out", bare))


def test_labels_of_an_insensitive_column_are_refused(tmp_path: Path) -> None:
    change = lambda m: m["attributes"]["age"].update(role="insensitive")  # noqa: E731
    assert "'age'" in broken(forged(generalized(), tmp_path / "out", change))


def test_a_sensitive_column_called_insensitive_is_found(tmp_path: Path) -> None:
    change = lambda m: m["attributes"].update(ill={"role": "insensitive"})  # noqa: E731
    assert "l-diversity" in broken(forged(generalized(), tmp_path / "out", change))


def test_an_identifier_is_never_published(tmp_path: Path) -> None:
    change = lambda m: m["attributes"].update(stay={"role": "identifier"})  # noqa: E731
    assert "identifier" in broken(forged(generalized(), tmp_path / "out", change))


def test_roles_and_method_are_stated_not_verified() -> None:
    found = generalized().stated()
    assert {f.status for f in found} == {"stated"}
    assert any("roles" in f.claim and "'age'" in f.detail for f in found)
    assert any("mondrian" in f.claim for f in found)


# --- randomized values must look randomized ------------------------------------------------------------------


def raw_of(release: sf.Release, rows: int = 4000) -> pl.DataFrame:
    """The true values in the shape of the release."""
    table = people(rows, quasi=["sex", "rank"])
    return pl.DataFrame(
        [
            pl.Series(c.name, [c.domain.leaves[code] for code in c.codes]).cast(release.tables["data"][c.name].dtype)
            for c in table.columns.values()
        ]
    ).with_columns(release.tables["data"]["stay"])


@pytest.mark.parametrize("name", ["ill", "rank"])
def test_one_constant_value_does_not_look_randomized(name: str, tmp_path: Path) -> None:
    release = randomized()
    data = release.tables["data"]
    same = data.with_columns(pl.Series(name, [data[name][0]] * data.height, dtype=data[name].dtype))
    assert "do not look randomized" in broken(forged(release, tmp_path / "out", tables={"data": same}))


def test_a_constant_sample_does_not_look_randomized(tmp_path: Path) -> None:
    release = sampled()
    data = release.tables["data"]
    same = data.with_columns(pl.Series("ill", ["HIV"] * data.height, dtype=data["ill"].dtype))
    assert "do not look randomized" in broken(forged(release, tmp_path / "out", tables={"data": same}))


def test_a_raw_table_with_structure_does_not_look_randomized(tmp_path: Path) -> None:
    """Nobody of rank low has gout: the noise would have shown some."""
    release = randomized()
    raw = raw_of(release)
    odd = (raw["rank"] == "low") & (raw["ill"] == "gout")
    raw = raw.with_columns(ill=pl.when(odd).then(pl.lit("flu")).otherwise(pl.col("ill").cast(pl.String)))
    raw = raw.with_columns(pl.col("ill").cast(release.tables["data"]["ill"].dtype))
    assert "do not look randomized" in broken(forged(release, tmp_path / "out", tables={"data": raw}))


def test_a_raw_sample_with_a_rare_value_does_not_look_randomized(tmp_path: Path) -> None:
    release = sampled()
    data = release.tables["data"]
    values = ["flu" if i % 2 else "gout" for i in range(data.height)]
    raw = data.with_columns(pl.Series("ill", values, dtype=data["ill"].dtype))
    assert "do not look randomized" in broken(forged(release, tmp_path / "out", tables={"data": raw}))


@pytest.mark.parametrize("value", [{}, [], None, True])
def test_a_domain_of_labels_holds_strings_and_numbers(value: object, tmp_path: Path) -> None:
    """A dict among them once ended the check with a traceback (fuzz, seed 2026)."""

    def odd(m: dict[str, Any]) -> None:
        m["attributes"]["sex"]["domain"].append(value)

    assert "something other than strings and numbers" in broken(forged(generalized(), tmp_path / "out", odd))


def test_a_domain_grown_by_values_that_nobody_has_is_found(tmp_path: Path) -> None:
    """A larger domain would promise more: the noise must show its values."""

    def grown(m: dict[str, Any]) -> None:
        m["attributes"]["ill"]["domain"] += [f"made up {i}" for i in range(96)]

    release = randomized()
    frame = release.tables["data"].with_columns(pl.col("ill").cast(pl.String))
    assert "do not look randomized" in broken(forged(release, tmp_path / "out", grown, tables={"data": frame}))


@pytest.mark.parametrize("name", ["sampled", "randomized"])
def test_randomization_is_stated(name: str) -> None:
    found = {f.claim: f for f in MAKE[name]().check()}
    assert found["values were randomized as stated"].status == "stated"
    assert "not verifiable" in found["values were randomized as stated"].detail
    assert list(found.values())[-2].status == "stated"


# --- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raw.csv", ".raw.csv", "quasi.csv", "data.csv~", "manifest.json.bak"])
def test_an_unlisted_file_is_found(name: str, tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out")
    (folder / name).write_text("name,ill\nA,HIV\n")
    assert name in broken(folder)


def test_a_folder_or_a_link_beside_the_files_is_found(tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out")
    (folder / "private").mkdir()
    assert "private" in broken(folder)
    (folder / "private").rmdir()
    (folder / "raw").symlink_to(tmp_path)
    assert "raw" in broken(folder)
    (folder / "raw").unlink()
    os.mkfifo(folder / "pipe")
    assert "pipe" in broken(folder)


def test_a_csv_that_is_not_listed_is_found(tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out", lambda m: m["tables"].pop(1))
    assert "data.csv" in broken(folder)


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "device"])
def test_a_manifest_that_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out")
    manifest = folder / "manifest.json"
    manifest.rename(tmp_path / "kept.json")
    if kind == "fifo":
        os.mkfifo(manifest)
    elif kind == "folder":
        manifest.mkdir()
    else:
        manifest.symlink_to("/dev/zero" if kind == "device" else tmp_path / "kept.json")
    start = _used_by_children()
    command = [sys.executable, "-m", "sfumato", "check", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "manifest.json" in done.stderr
    assert _used_by_children() - start < 60


def _used_by_children() -> float:
    """Seconds of the processor: however loaded the machine is, an endless file would take more and more."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- the manifest --------------------------------------------------------------------------------------------

LIES: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "words": ("generalized", lambda m: m["requirements"][0].update(words="every group has at least 400 rows"), "400"),
    "no words": ("generalized", lambda m: m["requirements"][0].pop("words"), "words"),
    "achieved emptied": ("generalized", lambda m: m["requirements"][0].update(achieved={}), "nothing"),
    "achieved more names": ("generalized", lambda m: m["requirements"][0]["achieved"].update(l=9), "l = 9"),
    "achieved worse": ("generalized", lambda m: m["requirements"][0]["achieved"].update(k=1), "k = 1"),
    "tau above the limit": ("randomized", lambda m: m["requirements"][0].update(achieved={"tau": 0.99}), "0.99"),
    "no claims": ("generalized", lambda m: m.update(requirements=[]), "makes no claims"),
    "loss of an ordinal": ("generalized", lambda m: m["attributes"]["rank"].update(loss=0.0), "rank"),
    "loss of a tree": ("generalized", lambda m: m["attributes"]["sex"].update(loss=0.99), "sex"),
    "loss of another rounding": ("generalized", lambda m: m["attributes"]["sex"].update(loss=1e-9), "sex"),
    "loss above 1": ("generalized", lambda m: m["attributes"]["age"].update(loss=1.01), "age"),
    "no warnings": ("generalized", lambda m: m.pop("warnings"), "warning"),
    "another warning": ("generalized", lambda m: m.update(warnings=["all is well"]), "warning"),
    "rows": ("generalized", lambda m: m.update(rows=61), "60"),
    "rows by a truth": ("generalized", lambda m: m.update(rows=True), "rows"),
    "a meaning": ("generalized", lambda m: _first_interval(m, [20.0, 25.0]), "does not mean"),
    "an unused label": ("generalized", lambda m: m["attributes"]["age"]["nodes"].update({"[1, 2)": [1, 2]}), "[1, 2)"),
    "an ordinal run": ("generalized", lambda m: _first_run(m), "rank"),
    "a narrower domain": ("generalized", lambda m: m["attributes"]["age"].update(domain=[30.0, 40.0]), "age"),
    "an unknown kind": ("generalized", lambda m: m["attributes"]["age"].update(kind="fuzzy"), "kind"),
    "days for numbers": ("generalized", lambda m: m["attributes"]["age"].update(kind="date"), "age"),
    "an unknown method": ("generalized", lambda m: m["method"].update(name="magic"), "magic"),
    "a wrong setting": ("generalized", lambda m: m["method"].update(strict="maybe"), "strict"),
    "an unknown setting": ("generalized", lambda m: m["method"].update(raw=[1]), "raw"),
    "a method of another scheme": ("bucketized", lambda m: m["method"].update(name="incognito"), "incognito"),
    "another scheme": ("generalized", lambda m: m.update(scheme="sampling"), ""),
    "an odd scheme": ("generalized", lambda m: m.update(scheme="boxes"), "boxes"),
    "no version": ("generalized", lambda m: m.update(sfumato="yes"), "version"),
    "an unknown key": ("generalized", lambda m: m.update(raw=[["A", "HIV"]]), "raw"),
    "a key of a claim": ("generalized", lambda m: m["requirements"][0].update(proof="yes"), "proof"),
    "a key of an attribute": ("generalized", lambda m: m["attributes"]["stay"].update(raw=[1]), "raw"),
    "a file twice": ("generalized", lambda m: m["tables"].append(m["tables"][0]), "twice"),
    "epsilon of pg": ("sampled", lambda m: m["method"].update(epsilon=0.01), "epsilon"),
    "sampled from more": ("sampled", lambda m: m.update(sampled_from=10**10), "add up"),
    "boxes that meet": ("sampled", lambda m: _from_zero(m["attributes"]["age"]["ranges"]), "overlap"),
    "ranges far away": ("sampled", lambda m: m["attributes"]["age"]["ranges"].update(x=[0, 2**30]), "ranges"),
    "epsilon of a matrix": ("randomized", lambda m: m["matrices"]["ill"].update(epsilon=0.01), "epsilon"),
}


def _from_zero(ranges: dict[str, list[int]]) -> None:
    for ends in ranges.values():
        ends[0] = 0


def _first_interval(m: dict[str, Any], meaning: list[float]) -> None:
    nodes = m["attributes"]["age"]["nodes"]
    nodes[next(label for label in nodes if label.startswith("["))] = meaning


def _first_run(m: dict[str, Any]) -> None:
    nodes = m["attributes"]["rank"]["nodes"]
    nodes[next(iter(nodes))] = ["low", "high"]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_of_the_manifest_is_found(lie: str, tmp_path: Path) -> None:
    make, change, words = LIES[lie]
    assert words in broken(forged(MAKE[make](), tmp_path / "out", change))


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999", "1" + "0" * 400, "1" + "0" * 5000])
def test_what_is_no_number_is_found(number: str, tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out", lambda m: m["requirements"][0]["achieved"].update(k=87654321))
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace("87654321", number))
    broken(folder)


def test_a_key_that_occurs_twice_is_found(tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out")
    path = folder / "manifest.json"
    path.write_text('{"title": "k = 100", ' + path.read_text().lstrip()[1:])
    broken(folder)


@pytest.mark.parametrize("text", ["", "[]", "null", "[" * 100_000, '{"a":' * 5000, "\x00", '"x"'])
def test_what_is_no_manifest_is_found(text: str, tmp_path: Path) -> None:
    folder = forged(generalized(), tmp_path / "out")
    (folder / "manifest.json").write_text(text)
    broken(folder)


def test_free_text_is_free(tmp_path: Path) -> None:
    sf.load(forged(generalized(), tmp_path / "out", lambda m: m.update(title="Another"))).check()


def test_a_value_written_like_the_suppressed_label_is_no_forgery() -> None:
    frame = pl.DataFrame({"q": ["*", "b"] * 3, "ill": ["flu", "HIV"] * 3})
    table = sf.read(frame, quasi=["q"], sensitive="ill", domains={"q": ["*", "b"]})
    release = sf.publish(table, require=sf.LDiversity(l=2), method="mondrian")
    assert release.manifest["attributes"]["q"]["nodes"] == {"*": ["*", "b"]}
    release.check()


def test_a_weaker_claim_is_still_true(tmp_path: Path) -> None:
    def weaker(m: dict[str, Any]) -> None:
        m["requirements"][0]["required"]["k"] = 2
        m["requirements"][0]["words"] = sf.KAnonymity(k=2).words()

    sf.load(forged(generalized(), tmp_path / "out", weaker)).check()


# --- the tables ----------------------------------------------------------------------------------------------

COLUMNS: dict[str, Callable[[int], pl.Series]] = {
    "huge": lambda n: pl.Series([2**63 - 1] * n),
    "ten thousand million": lambda n: pl.Series([10**10] * n),
    "negative": lambda n: pl.Series([-1] * n),
    "none": lambda n: pl.Series([0] * n),
    "text": lambda n: pl.Series(["many"] * n),
    "part": lambda n: pl.Series([1.5] * n),
    "missing": lambda n: pl.Series([None] * n),
    "nested": lambda n: pl.Series([[1]] * n),
    "binary": lambda n: pl.Series([b"x"] * n),
    "struct": lambda n: pl.Series([{"a": 1}] * n),
    "truth": lambda n: pl.Series([True] * n),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize(("make", "table", "column"), [
    ("bucketized", "sensitive", "count"), ("bucketized", "sensitive", "group"), ("bucketized", "quasi", "group"),
    ("sampled", "data", "G"), ("generalized", "data", "age"), ("generalized", "data", "ill"),
    ("randomized", "data", "ill"),
])  # fmt: skip
def test_an_odd_column_is_found(make: str, table: str, column: str, kind: str, tmp_path: Path) -> None:
    release = MAKE[make]()
    frame = release.tables[table]
    odd = frame.with_columns(COLUMNS[kind](frame.height).alias(column))
    folder = tmp_path / "out"
    release.write(folder)
    odd.write_parquet(folder / f"{table}.parquet")
    if kind not in ("nested", "binary", "struct"):
        odd.write_csv(folder / f"{table}.csv")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for entry in manifest["tables"]:
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))
    broken(folder)


def test_sizes_beyond_memory_are_judged_without_listing_anyone(tmp_path: Path) -> None:
    """Groups of 10^10 people that add up: nothing contradicts them, and nothing is unrolled."""
    release = sampled()
    data = release.tables["data"].with_columns(G=pl.lit(10**10))
    folder = forged(
        release,
        tmp_path / "out",
        lambda m: (
            m.update(sampled_from=10**10 * data.height),
            m["requirements"][0].update(achieved={"k": 10**10}),
            [a.update(loss=round(sum(_halves(a, data, n)) / 2, 4)) for n, a in m["attributes"].items() if "loss" in a],
        ),
        tables={"data": data},
    )
    loaded = sf.load(folder)
    assert [f.status for f in loaded.findings()].count("broken") == 0
    with pytest.raises(sf.ReleaseError, match="cannot be counted"):
        loaded.groups()


def _halves(entry: dict[str, Any], data: pl.DataFrame, name: str) -> tuple[float, float]:
    return loss_bounds(LabelAttribute.from_plain(entry), text_counts(data[name]))


def test_a_table_that_unfolds_to_more_rows_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = bucketized()
    more = pl.concat([release.tables["sensitive"]] * 3)
    folder = forged(release, tmp_path / "out", tables={"sensitive": more})
    rows, read = release.manifest["rows"], pl.read_parquet

    def so_many(file: Path, **options: Any) -> pl.DataFrame:
        assert options["n_rows"] == rows + 1
        return read(file, **options)

    monkeypatch.setattr(pl, "read_parquet", so_many)
    assert f"more rows than the {rows} that the manifest states" in broken(folder)


def test_no_rows_are_no_claim(tmp_path: Path) -> None:
    for release in (generalized(), bucketized(), sampled(), randomized()):
        folder = tmp_path / release.scheme
        empty = {name: frame.clear() for name, frame in release.tables.items()}
        assert "rows" in broken(forged(release, folder, lambda m: m.update(rows=0), tables=empty))


# --- how it is told ------------------------------------------------------------------------------------------


def test_check_says_how_each_claim_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = forged(randomized(), tmp_path / "out")
    with pytest.raises(SystemExit) as ended:
        main(["check", str(folder)])
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[:-1]} == {"holds", "stated"}
    assert "0 broken" in lines[-1]
    with pytest.raises(SystemExit):
        main(["check", "--json", str(folder)])
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is True
    assert told["summary"] == {s: sum(c["status"] == s for c in told["claims"]) for s in ("holds", "broken", "stated")}
    assert {frozenset(c) for c in told["claims"]} == {frozenset({"claim", "status", "detail"})}


def test_json_of_a_broken_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = forged(generalized(), tmp_path / "out", lambda m: m["requirements"][0]["achieved"].update(k=9))
    with pytest.raises(SystemExit) as ended:
        main(["check", "--json", str(folder)])
    assert ended.value.code == 4
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is False
    assert told["summary"]["broken"] == 1


def test_a_finding_is_for_machines_too() -> None:
    assert Finding("a", "stated", "b").as_dict() == {"claim": "a", "status": "stated", "detail": "b"}


# --- the method must serve what is claimed, and say what its noise leaves bare ---------------------------------


@pytest.mark.parametrize("name", ["hilb-safe", "anatomy", "hilb"])
def test_a_method_that_cannot_serve_the_claims_is_found(name: str, tmp_path: Path) -> None:
    """Else a release of mondrian would lose the warning that it owes by calling itself hilb-safe."""

    def renamed(m: dict[str, Any]) -> None:
        m["method"] = {"name": name}
        m.pop("warnings", None)

    told = broken(forged(generalized(), tmp_path / "out", renamed))
    assert "whole number" in told or "at most l" in told


def test_the_warning_of_columns_without_noise_cannot_be_left_out(tmp_path: Path) -> None:
    def silenced(m: dict[str, Any]) -> None:
        m["warnings"] = [w for w in m["warnings"] if "without noise" not in w]

    assert "without noise" in broken(forged(randomized(), tmp_path / "out", silenced))


def test_a_release_without_any_noise_must_say_so(tmp_path: Path) -> None:
    def bare(m: dict[str, Any]) -> None:
        m["matrices"] = {}
        m["epsilon"] = statement(Manifest.from_plain(m), "none", None)
        m["warnings"] = [w for w in m["warnings"] if "without noise" not in w]

    assert "NOTHING WAS RANDOMIZED" in broken(forged(randomized(), tmp_path / "out", bare))


def test_a_guarantee_for_all_tables_needs_a_limit_that_all_meet(tmp_path: Path) -> None:
    def whole(m: dict[str, Any]) -> None:
        m["epsilon"] = statement(Manifest.from_plain(m), "whole release", None)

    assert "any two tables" in broken(forged(randomized(), tmp_path / "out", whole))
