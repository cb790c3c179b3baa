"""`sfumato plan`, and a whole job by pg from a policy file."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli import cli, main
from sfumato.publisher.plan import plan_of

POLICY = """
title = "Ward"
[data]
source = "ward.csv"
[attributes]
age = { role = "quasi", kind = "continuous" }
sex = { role = "quasi", taxonomy = { Any = ["f", "m"] } }
ill = { role = "sensitive", domain = ["flu", "HIV", "cancer", "none"] }
[[require]]
model = "rho-breach"
rho1 = 0.3
rho2 = 0.6
lambda = 0.5
[[require]]
model = "growth"
delta = 0.3
lambda = 0.5
[method]
name = "pg"
s = 0.15
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 37},{'fm'[i % 2]},{['flu', 'HIV', 'none'][i * i % 3]}" for i in range(300)]
    (tmp_path / "ward.csv").write_text("age,sex,ill\n" + "\n".join(rows) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "policy.toml"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


def test_a_policy_becomes_a_release_with_a_report_that_tells_all(policy: Path, tmp_path: Path) -> None:
    done = run("publish", policy, "-o", tmp_path / "out")
    assert done.exit_code == 0
    release = sf.load(tmp_path / "out" / "release")
    release.check()
    method = release.manifest["method"]
    assert method["k"] == 7
    report = (tmp_path / "out" / "private" / "report.html").read_text()
    for words in (f"p = {method['p']:g}", "k = 7", "ε = ", "independent of the values of others", "the worst attack"):
        assert words in report
    audit = json.loads((tmp_path / "out" / "private" / "audit.json").read_text())
    assert audit["rows"]["published"] == release.manifest["rows"] < 300 * 0.15
    assert audit["risk"]["after"]["smallest"] >= 7
    assert run("check", tmp_path / "out" / "release").exit_code == 0


def test_the_plan_of_a_policy(policy: Path) -> None:
    plan = plan_of(policy)
    assert (plan.domain, plan.skew, plan.rho1, plan.rho2, plan.growth) == (4, 0.5, 0.3, 0.6, 0.3)
    assert 7 in plan.ks
    told = json.loads(run("plan", policy, "--json").output)
    solved = {line["k"]: line for line in told["retentions"]}
    assert solved[7]["theorem"] == min(
        sf.pg_retention(k=7, domain=4, skew=0.5, rho1=0.3, rho2=0.6),
        sf.pg_retention(k=7, domain=4, skew=0.5, growth=0.3),
    )
    assert solved[7]["theorem"] <= solved[7]["exact"]


def test_table_iii_on_the_terminal_is_rounded_up() -> None:
    out = run("plan", "--domain", 50, "--lambda", 0.1, "--rho1", 0.2, "-k", 10, "-p", 0.3).output
    assert "0.3679" in out  # the paper prints .36
    assert "0.1589" in out
    assert "largest p" not in out
    solved = run("plan", "--domain", 50, "--lambda", 0.1, "--rho1", 0.2, "--rho2", 0.5, "-k", 6, "-p", 0.3).output
    assert "largest p for k = 6: 0.368452407 by theorem, 0.418604651 by the worst attack" in solved


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan"], "name a policy"),
        (["plan", "--domain", "50", "--lambda", "0.001"], "below 1/50"),
        (["plan", "--domain", "1", "--lambda", "0.5"], "2 or more"),
        (["plan", "--domain", "50", "--lambda", "0.1", "-p", "1.5"], "p = 1.5"),
        (["plan", "--domain", "50", "--lambda", "0.1", "-k", "0"], "k = 0"),
        (["plan", "--domain", "50", "--lambda", "0.1", "--rho2", "0.5"], "give rho1"),
    ],
)
def test_bad_plans(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err


def test_a_plan_needs_promises_and_a_declared_domain(policy: Path) -> None:
    policy.write_text(POLICY.replace(', domain = ["flu", "HIV", "cancer", "none"]', ""))
    with pytest.raises(sf.PolicyError, match="not declared"):
        plan_of(policy)
    policy.write_text(
        POLICY.replace('domain = ["flu", "HIV", "cancer", "none"]', 'taxonomy = { Any = ["flu", "HIV", "none"] }')
    )
    assert plan_of(policy).domain == 3


def test_a_plan_counts_the_missing_category_that_pg_draws_from(policy: Path) -> None:
    policy.write_text(POLICY.replace("[attributes]", 'missing = "category"\n[attributes]'))
    release = sf.publish_policy(policy, policy.parent / "out", ledger=False).release
    assert plan_of(policy).domain == len(release.manifest["attributes"]["ill"]["domain"]) == 5


def test_what_the_policy_lacks_can_be_named_on_the_command_line(policy: Path) -> None:
    policy.write_text(POLICY.replace(', domain = ["flu", "HIV", "cancer", "none"]', ""))
    assert json.loads(run("plan", policy, "--domain", 4, "--json").output)["domain"] == 4
    promises = POLICY[POLICY.index("[[require]]") : POLICY.index("[method]")]
    policy.write_text(POLICY.replace(promises, '[[require]]\nmodel = "k-anonymity"\nk = 3\n'))
    with pytest.raises(sf.PolicyError, match="give --lambda"):
        plan_of(policy)
    told = json.loads(run("plan", policy, "--lambda", 0.5, "--delta", 0.3, "--json").output)
    assert told["retentions"][0]["theorem"] == sf.pg_retention(k=2, domain=4, skew=0.5, growth=0.3)


def test_every_promise_of_a_policy_is_solved_for_with_its_own_lambda(policy: Path) -> None:
    more = '[[require]]\nmodel = "rho-breach"\nrho1 = 0.3\nrho2 = 0.35\nlambda = 0.4\n[method]'
    policy.write_text(POLICY.replace("[method]", more))
    run("publish", policy, "-o", policy.parent / "out")
    p = sf.load(policy.parent / "out" / "release").manifest["method"]["p"]
    told = json.loads(run("plan", policy, "--json").output)
    assert {line["k"]: line["theorem"] for line in told["retentions"]}[7] == p
    assert [r["lambda"] for r in told["promises"]] == [0.5, 0.5, 0.4]
