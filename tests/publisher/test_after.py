"""[[after]] and [[inconsistent]] in a policy, and --after: from the earlier release to the check of the join."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.publisher.policy import parse_policy

POLICY = """title = "Tests"
[data]
source = "tests.csv"
[attributes]
test = {{ role = "sensitive" }}
job = {{ role = "quasi" }}
pob = {{ role = "quasi", taxonomy = {{ Any = {{ Europe = ["UK", "FR"], US = {{}} }} }} }}
sex = {{ role = "quasi" }}
class = {{ role = "class" }}
[[require]]
model = "confidentiality"
x = {x}
y = {{ test = ["HIV"] }}
k = {k}
{rest}
[method]
name = "{method}"
"""
EARLIER = """title = "Patients"
[data]
source = "patients.csv"
[attributes]
pob = {{ role = "quasi", taxonomy = {tree} }}
sex = {{ role = "quasi" }}
zip = {{ role = "quasi" }}
[[require]]
model = "k-anonymity"
k = 1
"""
TREE = '{ Any = { Europe = ["UK", "FR"], US = {} } }'
FOLDER = '[[after]]\nrelease = "2024/release"\n'
TESTS = {
    "test": ["HIV", "HIV", "Eye", "Eye", "Allergy", "Allergy", "Allergy", "Allergy"],
    "job": ["Banker", "Banker", "Banker", "Clerk", "Driver", "Engineer", "Engineer", "Engineer"],
    "pob": ["UK", "UK", "UK", "FR", "US", "US", "FR", "FR"],
    "sex": list("MMFFMMMM"),
    "class": ["Yes"] * 4 + ["No"] * 2 + ["Yes"] * 2,
}
PATIENTS = {
    "pob": ["UK", "UK", "UK", "FR", "FR", "FR", "FR", "US"],
    "sex": list("MMFFMMMM"),
    "zip": ["Z3", "Z3", "Z5", "Z5", "Z3", "Z3", "Z3", "Z3"],
}


def policy(rest: str = FOLDER, *, k: float = 0.9, method: str = "tdssa", x: str = '["job", "pob", "zip"]') -> str:
    return POLICY.format(rest=rest, k=k, method=method, x=x)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder 2024 with an earlier release, made once."""
    folder = tmp_path_factory.mktemp("earlier")
    pl.DataFrame(PATIENTS).write_csv(folder / "patients.csv")
    (folder / "policy.toml").write_text(EARLIER.format(tree=TREE))
    sf.publish_policy(folder / "policy.toml", folder / "2024", ledger=False)
    return folder / "2024"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2024").symlink_to(earlier)
    pl.DataFrame(TESTS).write_csv("tests.csv")
    pl.DataFrame(PATIENTS).write_csv("old.csv")
    Path("policy.toml").write_text(policy())
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def refused(text: str, code: int, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What publishing a policy says on stderr, if it ends with a code and writes nothing."""
    Path("policy.toml").write_text(text)
    assert run("publish", "policy.toml", *more) == code
    assert not Path("out").exists()
    return " ".join(capsys.readouterr().err.split())


# Reading the policy.


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("[after]\nrelease = 'x'", "must be tables: write [[after]]"),
        ("[[after]]\nrelase = 'x'", "unknown key 'relase'; did you mean 'release'?"),
        ("[[after]]\nname = 'T2'", "must have either release"),
        ("[[after]]\nrelease = 'x'\ndata = 'y'", "must have either release"),
        ("[[after]]\nrelease = 2", "release under [[after]] of the policy must be a string"),
        ("[[after]]\ndata = 'old.csv'", "has no [after.attributes]"),
        ("[[after]]\nrelease = 'x'\n[after.attributes]\nsex = 'quasi'", "which states its own; remove them"),
        ("[[after]]\ndata = 'x'\n[after.attributes]\nsex = 'queasy'", "unknown role 'queasy'"),
        ("[[after]]\nrelease = 'x'\nname = 'T1'", "must not be T1, which is this table"),
        ("[[after]]\nrelease = 'x'\nname = 'a.b'", "a name must have no dot"),
        ("[[after]]\nrelease = 'x'\n[[after]]\nrelease = 'y'\nname = 't2'", "two earlier releases are called 'T2'"),
        ("[[after]]\nrelease = 'x'\n" * 5, "at most 4 can be joined"),
        ("[inconsistent]\nt1 = { sex = 'M' }", "must be tables: write [[inconsistent]]"),
        (
            "[[inconsistent]]\nt1 = { sex = 'M' }\nt3 = { ill = 'x' }",
            "names 't3', which is not one of the releases here",
        ),
        (f"{FOLDER}[[inconsistent]]\nt1 = {{ sex = 'M' }}", "about two releases"),
        (f"{FOLDER}[[inconsistent]]\nt1 = {{ sex = 'M' }}\nt2 = 'x'", "has nothing about T2"),
    ],
)
def test_a_policy_that_names_earlier_releases_wrongly_is_refused(rest: str, told: str) -> None:
    with pytest.raises(sf.PolicyError) as caught:
        parse_policy(policy(rest), folder=Path())
    assert told in str(caught.value)


def test_names_are_given_in_order_and_rules_name_them_in_either_case() -> None:
    rule = "[[inconsistent]]\nt1 = { sex = 'M' }\nT3 = { ill = ['a', 'b'] }"
    found = parse_policy(policy(f"{FOLDER}{FOLDER}{rule}"), folder=Path())
    assert [a.name for a in found.after] == ["T2", "T3"]
    assert found.inconsistent[0].sides == {"T1": {"sex": ("M",)}, "T3": {"ill": ("a", "b")}}


# From the policy to the check.


def test_publish_after_an_earlier_release_then_check_the_join(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml") == 0
    told = capsys.readouterr().out
    assert "Joined with T2" in told
    assert "Patients; by pob, sex; every row has a match" in told
    manifest = json.loads(Path("out/release/manifest.json").read_text())
    (entry,) = manifest["after"]
    assert (entry["name"], entry["title"], entry["join"]) == ("T2", "Patients", ["pob", "sex"])
    assert entry["tables"].keys() == {"data.csv", "data.parquet"}
    assert entry["dangling"] == {"here": 0, "there": 0}
    (claim,) = manifest["requirements"]
    assert claim["required"]["over"] == ["T1", "T2"]
    assert {"T1.pob", "T2.pob", "T1.sex", "T2.sex"} <= set(claim["required"]["x"])
    assert "2024" not in Path("out/release/manifest.json").read_text().replace(manifest["title"], "")
    assert run("check", "out/release") == 0
    assert "stated  in the join of T1 and T2, no combination" in capsys.readouterr().out
    assert run("check", "out/release", "--after", "2024/release") == 0
    assert "holds   in the join of T1 and T2, no combination" in capsys.readouterr().out


def test_the_option_names_a_release_as_the_policy_does(job: Path) -> None:
    Path("policy.toml").write_text(policy(""))
    assert run("publish", "policy.toml", "--after", "2024/release") == 0
    assert "[[after]]" in Path("out/private/policy.toml").read_text()
    assert sf.load("out/release").check(after=["2024/release"])


def test_a_broken_claim_is_found_with_the_earlier_release_only(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A forger who claims less than the join shows: without the earlier release nobody can tell."""
    assert run("publish", "policy.toml") == 0
    manifest = json.loads(Path("out/release/manifest.json").read_text())
    manifest["requirements"][0]["achieved"]["k"] /= 2
    Path("out/release/manifest.json").write_text(json.dumps(manifest))
    Path("out/release/README.html").unlink()
    assert run("check", "out/release") == 0
    assert run("check", "out/release", "--after", "2024/release") == 4
    assert "the manifest claims k = " in capsys.readouterr().out


def test_a_plain_file_is_published_after_and_checked(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared = f"pob = {{ role = 'quasi', taxonomy = {TREE} }}\nsex = {{ role = 'quasi' }}\nzip = {{ role = 'quasi' }}"
    Path("policy.toml").write_text(
        policy(f"[[after]]\ndata = 'old.csv'\ntitle = 'Old'\n[after.attributes]\n{declared}")
    )
    assert run("publish", "policy.toml") == 0
    assert "old.csv" not in Path("out/release/manifest.json").read_text()
    assert run("check", "out/release", "--after", "old.csv") == 0
    assert "holds   in the join of T1 and T2" in capsys.readouterr().out
    assert run("publish", "out/private/policy.toml", "-o", "again") == 2  # its paths are relative to the other folder


def test_two_earlier_releases_are_joined_and_checked_together(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second one by a plain file; a claim about both is verified with both only."""
    pl.DataFrame({"sex": list("MFM"), "town": ["Ulm", "Jena", "Ulm"]}).write_csv("towns.csv")
    second = "[[after]]\ndata = 'towns.csv'\n[after.attributes]\nsex = { role = 'quasi' }\ntown = { role = 'quasi' }\n"
    Path("policy.toml").write_text(policy(FOLDER + second, x='["job", "pob", "zip", "town"]'))
    assert run("publish", "policy.toml") == 0
    manifest = json.loads(Path("out/release/manifest.json").read_text())
    assert [(e["name"], e["join"]) for e in manifest["after"]] == [("T2", ["pob", "sex"]), ("T3", ["sex"])]
    assert manifest["requirements"][0]["required"]["over"] == ["T1", "T2", "T3"]
    capsys.readouterr()
    for given, status, told in (
        (["2024/release"], "stated  in the join of T1, T2 and T3", "give T3 (untitled"),
        (["towns.csv"], "stated  in the join of T1, T2 and T3", "give T2 (Patients"),
        (["towns.csv", "2024/release"], "holds   in the join of T1, T2 and T3", ""),
    ):
        assert run("check", "out/release", *(f"--after={name}" for name in given)) == 0
        shown = capsys.readouterr().out
        assert status in shown
        assert told in shown


def test_a_rule_is_stated_and_checked(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = '[[inconsistent]]\nt1 = { job = "Clerk" }\nt2 = { zip = "Z3" }\n'
    Path("policy.toml").write_text(policy(FOLDER + rule))
    assert run("publish", "policy.toml") == 0
    manifest = json.loads(Path("out/release/manifest.json").read_text())
    assert manifest["inconsistent"] == [{"T1": {"job": ["Clerk"]}, "T2": {"zip": ["Z3"]}}]
    assert run("check", "out/release", "--after", "2024/release") == 0
    assert "stated  nobody has job Clerk in T1 and zip Z3 in T2" in capsys.readouterr().out
    assert "Ruled out" in Path("out/private/report.html").read_text()


def test_the_ledger_does_not_warn_of_a_release_that_the_join_covers(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One table, two policies: this year's columns are published after last year's."""
    both = pl.DataFrame(TESTS).hstack(pl.DataFrame({"zip": PATIENTS["zip"]}))
    both.write_csv("tests.csv")
    first = EARLIER.format(tree=TREE).replace("patients.csv", "tests.csv")
    Path("first.toml").write_text(first.replace("[attributes]", 'others = "drop"\n[attributes]'))
    assert run("publish", "first.toml", "-o", "first") == 0
    second = policy('[[after]]\nrelease = "first/release"\n')
    Path("policy.toml").write_text(second.replace("[attributes]", 'others = "drop"\n[attributes]'))
    capsys.readouterr()
    assert run("publish", "policy.toml") == 0
    assert "Anyone who has both" not in capsys.readouterr().err
    assert run("publish", "policy.toml", "-o", "third") == 0


def test_rows_without_a_match_are_reported_to_the_steward(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody in T2 was born in the US as a woman: that row dangles before anything is hidden."""
    other = {**TESTS, "sex": list("MMFFFMMM")}
    pl.DataFrame(other).write_csv("tests.csv")
    assert run("publish", "policy.toml") == 0
    warned = " ".join(capsys.readouterr().err.split())
    assert "1 rows of this table match no row of T2" in warned
    assert "not population-related" in warned
    page = Path("out/private/report.html").read_text()
    assert "The tables are not population-related." in page
    assert json.loads(Path("out/private/audit.json").read_text())["dangling"] == {"T2": {"here": 1, "there": 0}}
    assert "population" not in Path("out/release/manifest.json").read_text()


def test_the_report_shows_the_join(job: Path) -> None:
    assert run("publish", "policy.toml") == 0
    page = Path("out/private/report.html").read_text()
    for told in ("Earlier releases", "T2: Patients", "The tables are population-related", "Holds for the join"):
        assert told in page
    assert "It holds for this release alone." not in page


# Bad input.


def test_without_a_common_attribute_and_a_rule_the_join_is_a_cross_product(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pl.DataFrame({"zip": PATIENTS["zip"]}).write_csv("old.csv")
    after = "[[after]]\ndata = 'old.csv'\n[after.attributes]\nzip = { role = 'quasi' }\n"
    told = refused(policy(after, x='["job", "zip"]'), 2, capsys)
    assert "cross product" in told


def test_an_earlier_release_that_cannot_be_read_is_named(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(policy(FOLDER.replace("2024", "2023")), 2, capsys)
    assert "the earlier release T2" in told
    assert "cannot be used" in told
    told = refused(policy(FOLDER.replace("/release", "")), 2, capsys)
    assert "give its release folder" in told
    told = refused(policy("[[after]]\ndata = 'nowhere.csv'\n[after.attributes]\nzip = { role = 'quasi' }\n"), 2, capsys)
    assert "the earlier release T2 cannot be read" in told


def test_an_earlier_release_that_was_changed_is_refused(
    job: Path, earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in (earlier / "release").iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    (changed / "data.csv").write_text((changed / "data.csv").read_text().replace("Z5", "Z3"))
    told = refused(policy('[[after]]\nrelease = "changed"\n'), 4, capsys)
    assert "its SHA-256 differs" in told


def test_taxonomies_that_disagree_on_a_value_are_refused(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = '{ Any = { Europe = ["FR"], Islands = ["UK"], US = {} } }'
    declared = f"pob = {{ role = 'quasi', taxonomy = {other} }}\nsex = {{ role = 'quasi' }}\nzip = {{ role = 'quasi' }}"
    told = refused(policy(f"[[after]]\ndata = 'old.csv'\n[after.attributes]\n{declared}\n"), 2, capsys)
    assert "the taxonomies of 'pob' disagree on 'UK': it is below 'Europe' in this table, but not in T2" in told


def test_templates_that_no_generalization_meets_end_with_3(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(policy(k=0.1), 3, capsys)
    assert "0.25" in told or "1/4" in told or "25" in told


def test_columns_that_are_not_declared_are_refused(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(policy("[[after]]\ndata = 'old.csv'\n[after.attributes]\nzip = { role = 'quasi' }\n"), 2, capsys)
    assert "2 columns that its attributes do not name: 'pob', 'sex'" in told


@pytest.mark.parametrize(("method", "told"), [("tdr", "only tdssa publishes with regard to [[after]]")])
def test_other_methods_do_not_ask_for_earlier_releases(
    job: Path, capsys: pytest.CaptureFixture[str], method: str, told: str
) -> None:
    assert told in refused(policy(method=method), 2, capsys)


def test_tdssa_needs_an_earlier_release(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none is named; add [[after]]" in refused(policy(""), 2, capsys)


def test_rules_need_an_earlier_release(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rest: Any = '[[inconsistent]]\nt1 = { sex = "M" }\nt2 = { zip = "Z3" }'
    assert "names 't2', which is not one of the releases here" in refused(policy(rest), 2, capsys)
