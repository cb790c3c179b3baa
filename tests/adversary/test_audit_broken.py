"""Releases that were broken on purpose: the audit says which claim does not hold, and the command ends with 4."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.against_truth import log_chance
from sfumato.cli import main
from sfumato.table.regular_file import digest

POLICY = """
[data]
source = "people.csv"

[attributes]
age = { role = "quasi", kind = "continuous", taxonomy = { intervals = [20, 40, 60, 80] } }
sex = { role = "quasi", taxonomy = { Any = ["M", "F"] } }
ill = { role = "sensitive" }
note = { role = "insensitive" }

[[require]]
model = "k-anonymity"
k = 5

[method]
name = "incognito"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest output: 300 people, published by a policy."""
    folder, rng = tmp_path_factory.mktemp("job"), np.random.default_rng(3)
    rows = 300
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, rows),
            "sex": rng.choice(["M", "F"], rows),
            "ill": rng.choice(["flu", "HIV", "cold"], rows, p=[0.5, 0.2, 0.3]),
            "note": rng.integers(0, 1000, rows),
        }
    )
    frame.write_csv(folder / "people.csv")
    (folder / "policy.toml").write_text(POLICY)
    sf.publish_policy(folder / "policy.toml", folder / "out")
    return folder


@pytest.fixture
def job(made: Path, tmp_path: Path) -> Path:
    """A copy of the output that may be broken; the source stays where it is."""
    import shutil

    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


def rewritten(out: Path, change: Callable[[dict[str, Any]], Any], data: pl.DataFrame | None = None) -> None:
    """The release with another table and a changed manifest, digests that agree, and no page."""
    release = out / "release"
    manifest = json.loads((release / "manifest.json").read_text())
    change(manifest)
    if data is not None:
        data.write_parquet(release / "data.parquet")
        data.write_csv(release / "data.csv")
    for entry in manifest["tables"]:
        entry["sha256"] = digest(release / entry["file"])
    (release / "README.html").unlink(missing_ok=True)
    (release / "manifest.json").write_text(json.dumps(manifest))


def audited(out: Path, code: int, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What the command says on both streams, and that it ends with a code."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(out), "--adversary", "linkage", "--adversary", "inference", *more])
    told = capsys.readouterr()
    assert ended.value.code == code, told
    return told.out + told.err


def data_of(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "release" / "data.parquet")


def test_an_honest_release_passes(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = audited(job, 0, capsys)
    assert "BROKEN" not in told
    assert "0 broken" in told
    kept = json.loads((job / "private" / "audit.json").read_text())
    assert kept["adversaries"]["holds"] is True
    assert kept["requirements"][0]["model"] == "k-anonymity"
    assert all("listed" in f for f in kept["adversaries"]["findings"])
    assert (job / "private" / "audit.json").stat().st_mode & 0o777 == 0o600


def test_rows_in_the_order_of_the_table(job: Path, made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The published rows sorted back into the order of the source, by note and illness."""
    truth = pl.read_csv(made / "people.csv").with_row_index("at")
    data = data_of(job).with_columns(pl.col("ill").cast(pl.String))
    order = data.with_row_index("row").join(truth, on=["ill", "note"]).unique("row").unique("at").sort("at")
    assert order.height > 250
    rest = [r for r in range(data.height) if r not in set(order["row"].to_list())]
    rewritten(job, lambda m: None, data[[*order["row"].to_list(), *rest]])
    told = audited(job, 4, capsys)
    assert "the rows are in a random order" in told


def test_a_reversed_order_and_an_order_inside_groups_are_noticed() -> None:
    rng = np.random.default_rng(0)
    codes, group = rng.integers(0, 50, 2000), rng.integers(0, 20, 2000)
    assert log_chance(codes, codes, None) < -100
    order = np.argsort(group, kind="stable")
    assert log_chance(codes[order], codes[order], group[order]) < -100
    assert log_chance(codes, rng.permutation(codes), None) > -14
    swapped = codes.copy()
    swapped[:200] = rng.permutation(swapped[:200])
    assert log_chance(codes, swapped, None) < -100


def test_shuffled_rows_raise_no_alarm() -> None:
    """The bound holds for random orders: of 2,000 of them none is below the limit of one in a million."""
    rng = np.random.default_rng(1)
    for rows, values in ((5, 2), (30, 3), (200, 200)):
        codes = rng.integers(0, values, rows)
        found = [log_chance(codes, rng.permutation(codes), None) for _ in range(700)]
        assert min(found) > np.log(1e-6)


def test_the_chance_of_full_agreement_is_exact_on_small_tables() -> None:
    from itertools import permutations

    for codes in ([0, 1, 2], [0, 0, 1, 1], [0, 0, 0]):
        here = np.array(codes)
        hits = [np.array_equal(here, p) for p in permutations(codes)]
        assert log_chance(here, here, None) == pytest.approx(np.log(np.mean(hits)))


def test_a_group_that_is_too_small(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(job)
    labels = data.group_by("age", "sex").len().sort("len")
    age, sex = labels["age"][0], labels["sex"][0]
    mine = (data["age"] == age) & (data["sex"] == sex)
    few = pl.concat([data.filter(mine)[:3], data.filter(~mine)])
    rewritten(job, lambda m: m.update(rows=few.height), few)
    told = audited(job, 4, capsys)
    assert "k-anonymity" in told or "at least 5 rows" in told


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda m: m.update(seed=7), "seed"),
        (lambda m: m["method"].update(seed=7), "seed"),
        (lambda m: m["requirements"][0]["required"].update(k=50), "k"),
        (lambda m: m["requirements"][0]["achieved"].update(k=500), "k"),
        (lambda m: m["requirements"][0].update(words="nobody can be found"), "nobody can be found"),
    ],
)
def test_a_manifest_that_was_edited(
    job: Path, change: Callable[[dict[str, Any]], Any], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewritten(job, change)
    assert word in audited(job, 4, capsys)


def test_an_index_column(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = data_of(job).with_row_index("row")
    rewritten(job, lambda m: [t.update(columns=data.columns) for t in m["tables"]], data)
    assert "row" in audited(job, 4, capsys)


def test_values_of_other_people(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The illness of two groups is exchanged: k-anonymity still holds, but the release is not about this table."""
    data = data_of(job)
    flu = data["ill"].cast(pl.String) == "flu"
    other = data.with_columns(ill=pl.when(pl.Series(flu)).then(pl.lit("cold")).otherwise(data["ill"].cast(pl.String)))
    rewritten(job, lambda m: None, other.with_columns(pl.col("ill").cast(data["ill"].dtype)))
    told = audited(job, 4, capsys)
    assert "the release shows the people of the table" in told


def test_a_damaged_file_is_refused(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / "release" / "data.parquet").write_bytes(b"PAR1")
    assert "data.parquet" in audited(job, 4, capsys)


def test_a_source_that_changed_ends_with_2(
    job: Path, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.read_csv(made / "people.csv")
    frame[:-1].vstack(frame[:1]).write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    told = audited(job, 2, capsys, "--policy", str(tmp_path / "policy.toml"))
    assert "has changed since the release was made" in told
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "people.csv")
    audited(job, 0, capsys, "--policy", str(tmp_path / "policy.toml"))  # another order of rows is the same table


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--adversary", "linkge"], "did you mean 'linkage'"),
        (["--budget", "0"], "must be a number of seconds above 0"),
        (["--budget", "nan"], "must be a number of seconds above 0"),
        (["--margin", "1"], "it must be in [0, 1)"),
        (["--sample", "0"], "0 is not in the range"),
        (["--policy", "nowhere.toml"], "cannot be read"),
        (["--after", "nowhere"], "nowhere"),
    ],
)
def test_wrong_input_ends_with_2(
    job: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (job / "private" / "audit.json").read_bytes()
    assert told in audited(job, 2, capsys, *arguments)
    assert (job / "private" / "audit.json").read_bytes() == before


def test_wrong_folders_end_with_2(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the public part alone" in audited(job / "release", 2, capsys)
    assert "does not contain a release" in audited(tmp_path / "nothing", 2, capsys)
    (job / "private" / "audit.json").write_text("[")
    assert "is damaged" in audited(job, 2, capsys)
    (job / "private" / "audit.json").unlink()
    (job / "private" / "policy.toml").unlink()
    assert "--policy POLICY" in audited(job, 2, capsys)


def test_findings_go_elsewhere_on_request(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (job / "private" / "audit.json").read_bytes()
    told = audited(job, 0, capsys, "--json", "--out", str(tmp_path / "found.json"))
    assert "listed" not in told
    assert json.loads(told)["holds"] is True
    assert json.loads((tmp_path / "found.json").read_text())["findings"][0]["listed"] is not None
    assert (job / "private" / "audit.json").read_bytes() == before
    inside = audited(job, 2, capsys, "--out", str(job / "release" / "found.json"))
    assert "public part" in inside


def test_an_audit_section(made: Path, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = POLICY + '\n[[audit]]\nadversary = "corruption"\ncorrupted = 0.25\n'
    (made / "audited.toml").write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(job), "--policy", str(made / "audited.toml"), "--adversary", "corruption", "--json"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [f["variant"] for f in found] == ["0.25 of the others"]


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("[audit]\nadversary = 'linkage'", "must be tables"),
        ("[[audit]]\ncorrupted = 1", "an audit needs an adversary"),
        ("[[audit]]\nadversary = 'corruptoin'", "did you mean 'corruption'"),
        ("[[audit]]\nadversary = 'corruption'\ncorruptd = 1", "has no setting 'corruptd'"),
        ("[[audit]]\nadversary = 'corruption'\ncorrupted = 2", "must be 1 (any one other person)"),
        ("[[audit]]\nadversary = 'corruption'\ncorrupted = []", "corrupted is empty"),
        ("[[audit]]\nadversary = 'distribution'\nsize = 0", "must be a whole number"),
        ("[[audit]]\nadversary = 'algorithm-aware'\nlimit = true", "must be a whole number"),
    ],
)
def test_wrong_audit_sections(section: str, told: str) -> None:
    from sfumato.publisher.policy import parse_policy

    with pytest.raises(sf.PolicyError) as error:
        parse_policy(POLICY + section, folder=Path())
    assert told in str(error.value)
