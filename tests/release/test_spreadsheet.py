"""Cells that a spreadsheet would run: as they are by default, harmless on request, and the check knows which."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.errors import PolicyError, ReleaseError
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.publish import publish_policy
from sfumato.release.release import load

RISKY = ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", "'=x", "＝1", "=cmd|'/c calc'!A0"]
HARMLESS = ["-5", "+4.5e3", "flu", "a=b", "", "12", " =x"]
POLICY = """[data]
source = "ward.parquet"
[attributes]
"=age" = { role = "quasi", kind = "continuous" }
"-city" = { role = "quasi" }
ill = { role = "sensitive" }
"@note" = { role = "insensitive" }
balance = { role = "insensitive" }
[[require]]
MODEL
"""
K = 'model = "k-anonymity"\nk = 2'
L = 'model = "l-diversity"\nvariant = "frequency"\nl = 2\n[method]\nname = "anatomy"'


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    words = RISKY + HARMLESS
    table = {
        "=age": [20 + i % 7 for i in range(64)],
        "-city": [("=Ulm", "+Bonn")[i % 2] for i in range(64)],
        "ill": [words[i % len(words)] for i in range(64)],
        "@note": [words[(i * i) % len(words)] for i in range(64)],
        "balance": [-1.5 * i for i in range(64)],
    }
    pl.DataFrame(table).write_parquet("ward.parquet")
    return tmp_path


def published(model: str = K, output: str = '[output]\nspreadsheet = "safe"') -> Path:
    Path("policy.toml").write_text(POLICY.replace("MODEL", model) + output)
    publish_policy("policy.toml", "out")
    return Path("out/release")


def cells(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("model", [K, L], ids=["generalization", "bucketization"])
def test_no_cell_of_a_safe_file_can_be_run(model: str, house: Path) -> None:
    release = published(model)
    load(release).check()
    assert json.loads((release / "manifest.json").read_text())["output"] == {"spreadsheet": "safe"}
    files = list(release.glob("*.csv"))
    assert len(files) == (1 if model == K else 2)
    for file in files:
        found = cells(file)
        data = pl.read_parquet(file.with_suffix(".parquet"))
        assert all(c[:1] not in tuple("=+-@\t\r＝") or is_number(c) for row in found for c in row)
        assert [name.removeprefix("'") for name in found[0]] == data.columns  # no name begins with an apostrophe
        assert len(found) == data.height + 1
        for name, place in ((n, i) for i, n in enumerate(data.columns) if n in ("ill", "@note", "-city")):
            column = data[name].cast(pl.String).to_list()
            shown = [row[place] for row in found[1:]]
            assert [s[1:] if s.startswith("'") else s for s in shown] == column  # one apostrophe less is the value
            for cell, value in zip(shown, column, strict=True):
                assert cell == (f"'{value}" if value in (*RISKY, "=Ulm", "+Bonn") else value)


def test_numbers_stay_numbers(house: Path) -> None:
    release = published()
    data = pl.read_csv(release / "data.csv")
    assert data["balance"].dtype == pl.Float64
    assert sorted(data["balance"]) == sorted(pl.read_parquet("ward.parquet")["balance"])


def test_by_default_a_file_says_what_the_table_says(house: Path) -> None:
    release = published(output="")
    assert "output" not in json.loads((release / "manifest.json").read_text())
    found = cells(release / "data.csv")
    assert found[0] == ["=age", "-city", "ill", "@note", "balance"]
    assert "=1+1" in [row[2] for row in found]
    assert (release / "data.csv").read_bytes() == pl.read_parquet(release / "data.parquet").write_csv().encode()


def test_the_parquet_twin_is_untouched(house: Path) -> None:
    release = published()
    assert pl.read_parquet(release / "data.parquet").columns == ["=age", "-city", "ill", "@note", "balance"]
    assert set(RISKY) < set(pl.read_parquet(release / "data.parquet")["ill"].cast(pl.String))


@pytest.mark.parametrize("claimed", ["plain", "safe"])
def test_a_file_that_is_not_what_the_manifest_states_is_found(claimed: str, house: Path) -> None:
    release = published(output=f'[output]\nspreadsheet = "{"safe" if claimed == "plain" else "plain"}"')
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "output": {"spreadsheet": claimed}}))
    with pytest.raises(ReleaseError, match=r"data\.csv differs in content from data\.parquet"):
        load(release).check()


def test_an_apostrophe_too_many_is_found(house: Path) -> None:
    release = published()
    text = (release / "data.csv").read_text().replace("flu", "'flu")
    (release / "data.csv").write_text(text)
    manifest = json.loads((release / "manifest.json").read_text())
    for entry in manifest["tables"]:
        entry["sha256"] = hashlib.sha256((release / entry["file"]).read_bytes()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match=r"data\.csv"):
        load(release).check()


@pytest.mark.parametrize("output", [None, [], "safe", {}, {"spreadsheet": "other"}, {"spreadsheet": ["safe"]}])
def test_an_odd_statement_is_damage(output: Any, house: Path) -> None:
    release = published()
    manifest = json.loads((release / "manifest.json").read_text())
    (release / "manifest.json").write_text(json.dumps({**manifest, "output": output}))
    with pytest.raises(ReleaseError, match=r"output|spreadsheet"):
        load(release)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ('spreadsheet = "saef"', "did you mean 'safe'"),
        ("spreadsheet = true", "choose from 'plain', 'safe'"),
        ("spreadsheet = []", "choose from 'plain', 'safe'"),
        ('spredsheet = "safe"', "did you mean 'spreadsheet'"),
    ],
)
def test_another_value_is_refused_in_words(output: str, words: str, house: Path) -> None:
    with pytest.raises(PolicyError, match=words):
        parse_policy(POLICY.replace("MODEL", K) + f"[output]\n{output}\n", folder=house)


def test_a_written_copy_stays_safe(house: Path) -> None:
    release = load(published())
    release.write("copy")
    assert load("copy") == release
    assert Path("copy/data.csv").read_bytes() == Path("out/release/data.csv").read_bytes()
