"""`sfumato taxonomy`: what it prints and writes, and that a policy can use it."""

import json
from pathlib import Path

import pytest

from sfumato.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{z};{20 + i % 60};{d};{p}" for i in range(40) for z, d, p in [("1067", "I10.0", "x"), ("99084", "E11", "y")]
    ]
    Path("t.csv").write_bytes(("PLZ;Alter;ICD;Name\n" + "\n".join(rows) + "\n").encode("cp1252"))
    return tmp_path


def test_a_tree_is_printed(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("taxonomy", "t.csv", "PLZ") == 0
    told = capsys.readouterr()
    assert told.out == "01067;0106*;010**;01***;0****;*\n99084;9908*;990**;99***;9****;*\n"
    assert "add pad = 5" in told.err
    assert 'taxonomy = { mask = "right" }' in told.err
    assert "is public" in told.err


def test_a_tree_is_written_and_a_policy_uses_it(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("taxonomy", "t.csv", "Alter", "-o", "age.csv") == 0
    assert Path("age.csv").read_text().splitlines()[0] == "20;[20, 25);[20, 30);[20, 40);[0, 40);[0, 80)"
    assert 'taxonomy = "age.csv"' in capsys.readouterr().out
    assert run("taxonomy", "t.csv", "Alter", "-o", "age.csv") == 2
    assert run("taxonomy", "t.csv", "Alter", "-o", "age.csv", "--by", "quantiles", "--groups", "4", "--force") == 0
    Path("p.toml").write_text(
        '[data]\nsource = "t.csv"\nothers = "drop"\n[attributes]\nAlter = { role = "quasi", taxonomy = "age.csv" }\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 5\n[method]\nname = "mondrian"\n'
    )
    assert run("publish", "p.toml") == 0


def test_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("taxonomy", "t.csv", "ICD", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["by"], told["rule"], told["labels"]) == ("code", {"prefix": [3, 1]}, [2, 2, 2, 1])
    assert told["tree"] == {"*": {"E…": {"E11…": {"E11": {}}}, "I…": {"I10…": {"I10.0": {}}}}}


def test_what_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (
        ("t.csv", "Plz"),
        ("t.csv", "Name"),
        ("", "x"),
        ("none.csv", "x"),
        ("t.csv", "Alter", "--width", "-1"),
    ):
        assert run("taxonomy", *wrong) == 2
        assert capsys.readouterr().err.startswith("error: ")
