"""Randomized response as a method: policies, checks of the public part, and what is refused."""

import json
import shutil
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import main
from sfumato.kernel.rr.sqp import descend
from sfumato.method.rr import in_table, occurring
from sfumato.method.rr import optimize as response
from sfumato.method.rr.pairs import LimitedPairs
from sfumato.requirement.disclosure import JointShares
from sfumato.table.distortion import Distortion
from sfumato.table.microdata import Microdata

POLICY = """title = "Ills"
[data]
source = "ills.csv"
[attributes]
name = {{ role = "identifier" }}
sex = {{ role = "quasi", domain = ["m", "f"] }}
town = {{ role = "quasi", domain = ["A", "B", "C", "D"] }}
ill = {{ role = "sensitive", domain = ["flu", "HIV", "cold"] }}
[[require]]
model = "disclosure"
{tau}
[method]
name = "rr"
{method}
"""


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(300)],
            "sex": rng.choice(["m", "f"], 300),
            "town": rng.choice(["A", "B", "C"], 300, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["flu", "HIV", "cold"], 300, p=[0.6, 0.1, 0.3]),
        }
    )


def table() -> Microdata:
    domains = {"sex": ["m", "f"], "town": ["A", "B", "C", "D"], "ill": ["flu", "HIV", "cold"]}
    return sf.read(frame(), quasi=["sex", "town"], sensitive="ill", identifiers=["name"], domains=domains)


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    out, err = capsys.readouterr()
    return int(done.value.code or 0), out, err


def job(folder: Path, method: str = "", tau: str = "tau = 0.4") -> Path:
    frame().write_csv(folder / "ills.csv")
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(method=method, tau=tau))
    return policy


@pytest.mark.parametrize("method", ['mode = "qi"', 'mode = "qi"\nfit = "counts"', 'mode = "both"\nunchanged = "allow"'])
def test_from_policy_to_query(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["publish", str(job(tmp_path, method)), "-o", str(tmp_path / "out"), "--seed", "1"]
    code, out, err = run(arguments, capsys)
    assert (code, "The risk that tau bounds" in err) == (0, True)
    assert ("not a guarantee" in err) == ("counts" in method)
    assert "disclosure" in out
    release = sf.load(tmp_path / "out" / "release")
    assert release.scheme == "randomization"
    assert set(release.manifest["matrices"]) <= {"sex", "town", "ill"}
    assert not any("not declared" in w for w in release.warnings)
    statuses = {f.claim: f.status for f in release.check()}
    assert statuses["values were randomized as stated"] == "stated"
    assert list(statuses.values())[-3] == "stated"
    audit = json.loads((tmp_path / "out" / "private" / "audit.json").read_text())
    assert audit["response"]["after"] <= 0.4 + 1e-9
    assert audit["requirements"][0]["achieved"] == {}  # the risk itself is computed from the private table
    assert audit["response"]["attack"] >= audit["response"]["after"]
    report = (tmp_path / "out" / "private" / "report.html").read_text()
    for words in ("How values were randomized", "Best attacker, worst group", "Traced back"):
        assert words in report
    code, out, _ = run(
        ["query", str(tmp_path / "out" / "release"), "SELECT COUNT(*), sex GROUP BY sex", "--json"], capsys
    )
    assert code == 0
    assert sum(g["count"] for g in json.loads(out)["groups"]) == pytest.approx(300)
    code, _, err = run(["query", str(tmp_path / "out" / "release"), "SELECT COUNT(*) WHERE il = 'flu'"], capsys)
    assert (code, "did you mean 'ill'" in err) == (2, True)


@pytest.mark.parametrize(
    ("method", "tau", "code", "told"),
    [
        ('mode = "all"', "tau = 0.4", 2, "choose from 'both', 'qi', 'sensitive'"),
        ("keep = { sex = 0.5 }", "tau = 1", 2, "not above 1/2"),
        ("keep = { sex = 0.4 }", "tau = 1", 2, "not above 1/2"),
        ("keep = { sex = 1.5 }", "tau = 1", 2, "must be in (1/2, 1]"),
        ("keep = { sx = 0.9 }", "tau = 1", 2, "did you mean 'sex'"),
        ("keep = 0.9", "tau = 1", 2, "one entry per attribute"),
        ("matrices = { sex = [[0.9, 0.2], [0.2, 0.8]] }", "tau = 1", 2, "not stochastic"),
        ("matrices = { sex = [[0.9, 0.1], [0.2, 0.8]] }", "tau = 1", 2, "transpose it"),
        ("matrices = { sex = [[0.5, 0.5], [0.5, 0.5]] }", "tau = 1", 2, "not invertible"),
        ("matrices = { sex = [[0.9, 0.1]] }", "tau = 1", 2, "must be 2 x 2 numbers"),
        ("matrices = { sex = [[1.1, 0.1], [-0.1, 0.9]] }", "tau = 1", 2, "not probabilities; they must be in"),
        ("matrices = { sex = [[1, 0], [0, 1]] }\nkeep = { sex = 0.9 }", "tau = 1", 2, "both a keep probability"),
        ('fit = "exact"', "tau = 0.4", 2, "'noisy' or 'counts'"),
        ('unchanged = "maybe"', "tau = 0.4", 2, "'refuse' or 'allow'"),
        ("fit_epsilon = 0", "tau = 0.4", 2, "fit_epsilon = 0; it must be a number from 0.01 to 40"),
        ("fit_epsilon = true", "tau = 0.4", 2, "fit_epsilon = True"),
        ("fit_epsilon = inf", "tau = 0.4", 2, "fit_epsilon = inf"),
        ("fit_epsilon = 0.01", "tau = 0.4", 3, "raise fit_epsilon (it is 0.01)"),
        ("", "tau = 0", 2, "must be in (0, 1]"),
        ("", "tau = 1.2", 2, "must be in (0, 1]"),
        ("", "", 2, "needs tau"),
        ("", "tau = { HIV = 0 }", 2, "tau of 'HIV'"),
        ("", "tau = { AIDS = 0.1 }", 2, "not a value of 'ill'"),
        ("", 'person = "nobody"', 2, "no column 'nobody'"),
        ("", 'person = "name"', 2, "a person's limit"),
        ("", "tau = 0.01", 3, "prevent it, e.g. (sex = "),
        ("keep = { sex = 0.9 }", "tau = 0.4", 3, "with the given matrices"),
        ('domains = "some"', "tau = 0.4", 2, "'observed' or 'declared'"),
    ],
)
def test_what_is_refused(
    method: str, tau: str, code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["publish", str(job(tmp_path, method, tau)), "-o", str(tmp_path / "out"), "--seed", "1"]
    found, out, err = run(arguments, capsys)
    assert (found, out) == (code, "")
    assert told in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_other_requirements_are_refused() -> None:
    with pytest.raises(sf.PolicyError, match="cannot serve k-anonymity"):
        sf.publish(table(), require=sf.KAnonymity(k=2), method="rr")
    with pytest.raises(sf.PolicyError, match="disclosure is not a requirement on groups"):
        sf.publish(table(), require=sf.Disclosure(tau=0.5), method="mondrian")
    two = sf.read(frame(), quasi=["sex"], sensitive=["ill", "town"])
    with pytest.raises(sf.PolicyError, match="one sensitive attribute"):
        sf.publish(two, require=sf.Disclosure(tau=0.5), method="rr")
    with pytest.raises(sf.PolicyError, match="one sensitive attribute"):
        sf.optimal_response(sf.read(frame(), quasi=["sex"]), tau=0.5)


def test_a_domain_that_nobody_declared_is_told_or_refused() -> None:
    data = sf.read(frame(), quasi=["sex", "town"], sensitive="ill")
    method, strict = sf.RandomizedResponse(mode="qi"), sf.RandomizedResponse(mode="qi", domains="declared")
    release = sf.publish(data, require=sf.Disclosure(tau=0.4), method=method, rng=np.random.default_rng(1))
    assert any("was not declared" in w for w in release.warnings)
    with pytest.raises(sf.PolicyError, match="is not declared"):
        sf.publish(data, require=sf.Disclosure(tau=0.4), method=strict, rng=np.random.default_rng(1))
    sf.publish(table(), require=sf.Disclosure(tau=0.4), method=strict, rng=np.random.default_rng(1))


def test_values_that_do_not_occur_are_drawn_too() -> None:
    release = sf.publish(table(), require=sf.Disclosure(tau=1.0), method=sf.RandomizedResponse(keep={"town": 0.4}))
    assert "D" in release.tables["data"]["town"].cast(pl.String).unique()  # 300 draws, each 1/5: missing but for 1e-29


def test_limits_a_person_and_a_value() -> None:
    limits = [0.2 if i == 0 else 0.9 for i in range(300)]
    data = frame().with_columns(limit=pl.Series(limits))
    domains = {"sex": ["m", "f"], "town": ["A", "B", "C", "D"], "ill": ["flu", "HIV", "cold"]}
    own = sf.read(data, quasi=["sex", "town"], sensitive="ill", identifiers=["name", "limit"], domains=domains)
    with pytest.raises(sf.PolicyError, match="cannot use limits per person"):
        sf.publish(own, require=sf.Disclosure(person="limit"), method="rr")
    to_the_table = sf.RandomizedResponse(fit="counts", unchanged="allow")
    release = sf.publish(own, require=sf.Disclosure(person="limit"), method=to_the_table)
    assert "limit" not in release.tables["data"].columns
    problem = response.Problem.of(own, sf.Disclosure(person="limit"), "both")
    best = response.solve(problem)
    risk = problem.risk(list(best.distortions.values()))
    assert (risk <= problem.bounds * (1 + 1e-9)).all()
    _, cell_of_row = response.people_of(own)
    first = risk[cell_of_row[0], int(own["ill"].codes[0])]
    assert first <= 0.2 * (1 + 1e-9)
    assert best.risk > 0.2  # others need not
    values = sf.optimal_response(table(), tau={"HIV": 0.05})
    assert values.risk > 0.05  # of the values without a limit
    kept = response.Problem.of(table(), sf.Disclosure(tau={"HIV": 0.05}), "both")
    assert kept.risk(list(values.distortions.values()))[:, 1].max() <= 0.05 * (1 + 1e-9)
    in_part = sf.Disclosure(tau={"HIV": 0.05}, person="limit")
    assert "own limit (limit)" in in_part.words()
    assert in_part.parameters() == {"tau": {"HIV": 0.05}, "person": "limit"}


def test_a_contingency_table_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "MOST_CELLS", 7)
    with pytest.raises(sf.PolicyError, match=r"has 8 cells, more than 7; drop or coarsen .* first 'town' with its 4"):
        sf.optimal_response(table(), tau=0.4)


def tampered(release: sf.Release, **changes: object) -> sf.Release:
    return sf.Release({**release.manifest, **changes}, release.tables)


def test_check_sees_what_can_be_seen() -> None:
    release = sf.publish(table(), require=sf.Disclosure(tau=0.4), method=sf.RandomizedResponse(mode="qi", fit="counts"))
    release.check()
    matrices = release.manifest["matrices"]
    for broken, told in [
        ({**matrices, "town": {"keep": 0.2}}, "not above 1/4"),
        ({**matrices, "town": {"matrix": [[1, 0], [0, 1]]}}, "must be 4 x 4 numbers"),
        ({**matrices, "zip": {"keep": 0.5}}, "which is not an attribute"),
        ({**matrices, "town": {}}, "must have either a keep probability or a matrix"),
        ({**matrices, "town": {"keep": "much"}}, "keep probability is 'much'"),
        (None, "'matrices' must be"),
    ]:
        with pytest.raises(sf.ReleaseError, match=told):
            tampered(release, matrices=broken).check()
    attributes = json.loads(json.dumps(release.manifest["attributes"]))
    attributes["town"]["domain"] = ["A", "B", "X", "Y"]
    with pytest.raises(sf.ReleaseError, match="column 'town' has categories that are not in its domain"):
        tampered(release, attributes=attributes).check()


def test_a_seed_repeats_and_the_folder_reads_back(tmp_path: Path) -> None:
    method = sf.RandomizedResponse(mode="qi")
    one, two = (
        sf.publish(table(), require=sf.Disclosure(tau=0.4), method=method, rng=np.random.default_rng(4))
        for _ in range(2)
    )
    assert one == two
    one.write(tmp_path / "release")
    assert sf.load(tmp_path / "release") == one
    shutil.rmtree(tmp_path / "release")


def test_help_names_the_language() -> None:
    from sfumato.cli import cli

    told = CliRunner().invoke(cli, ["query", "--help"]).output
    assert "GROUP BY" in told


def test_missing_numbers_are_randomized_checked_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dose = [None, 1.5, 3.0, 2.25] * 30
    pl.DataFrame({"dose": dose, "ill": ["flu", "HIV", "cold"] * 40}).write_csv(tmp_path / "d.csv")
    (tmp_path / "p.toml").write_text(
        '[data]\nsource = "d.csv"\nmissing = "category"\n[attributes]\n'
        'dose = { role = "quasi", kind = "continuous" }\nill = { role = "sensitive" }\n'
        '[[require]]\nmodel = "disclosure"\ntau = 0.3\n[method]\nname = "rr"\nfit = "counts"\nunchanged = "allow"\n'
    )
    assert run(["publish", str(tmp_path / "p.toml"), "-o", str(tmp_path / "out")], capsys)[0] == 0
    _, out, _ = run(["check", str(tmp_path / "out" / "release")], capsys)
    assert "estimated from the release" in out


def test_the_remedy_names_the_limit_of_the_values_that_have_one() -> None:
    people = pl.DataFrame({"sex": ["m"] * 4 + ["f"] * 4, "ill": ["flu", "flu", "flu", "HIV"] * 2})
    with pytest.raises(sf.Infeasible, match=r"raise tau above 0\.03125"):
        sf.optimal_response(sf.read(people, quasi=["sex"], sensitive="ill"), tau={"HIV": 0.01})


def test_a_matrix_that_sums_to_one_up_to_rounding_has_no_negative_entry() -> None:
    given = np.array([[0.5 + 3e-10, 0.1, 0.1], [0.5 + 3e-10, 0.8, 0.1], [2e-10, 0.1, 0.8]])
    way = Distortion.given(given, 3, what="m")
    assert (way.matrix >= 0).all()
    assert way.matrix.sum(axis=0).tolist() == [1.0] * 3
    assert np.abs(way.matrix - given).max() < 1e-9
    assert (Distortion.from_entry(way.entry(), 3, what="m").matrix == way.matrix).all()


def test_the_missing_category_is_drawn_whether_or_not_it_occurs() -> None:
    """Else the release would tell that somebody's value is missing."""
    towns = frame()["town"].to_list()
    manifests = []
    for first in (towns[0], None):
        data = frame().with_columns(town=pl.Series([first, *towns[1:]]))
        domains = {"sex": ["m", "f"], "town": ["A", "B", "C"], "ill": ["flu", "HIV", "cold"]}
        people = sf.read(data, quasi=["sex", "town"], sensitive="ill", domains=domains, missing="category")
        release = sf.publish(people, require=sf.Disclosure(tau=1), method=sf.RandomizedResponse(keep={"town": 0.4}))
        shown = release.tables["data"]["town"].cast(pl.String).fill_null("(missing)")
        assert "(missing)" in shown.unique()  # 300 draws, each 1/5: missing but for 1e-29
        manifests.append(release.manifest)
    assert manifests[0] == manifests[1]
    assert manifests[0]["attributes"]["town"]["domain"] == ["A", "B", "C", "(missing)"]


def test_a_large_domain_is_solved_from_what_occurs_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """300,000 cells, 200 people: the exact risk keeps the limit; too many combinations are refused."""
    rng = np.random.default_rng(3)
    names = [f"q{i}" for i in range(6)]
    frame = pl.DataFrame({n: rng.integers(0, 8, 200).astype(str) for n in names} | {"s": rng.choice(list("abc"), 200)})
    table = sf.read(frame, quasi=names, sensitive="s", domains={n: [str(v) for v in range(9)] for n in names})
    problem = response.Problem.of(table, sf.Disclosure(tau=0.5), "both")
    heard: list[tuple[str, float]] = []
    method = sf.RandomizedResponse(fit="counts", unchanged="allow")
    found = method.response(table, sf.Disclosure(tau=0.5), progress=lambda stage, done: heard.append((stage, done)))
    assert problem.people.cells > 200_000
    assert problem.over(list(found.distortions.values())) == 0
    assert problem.risk(list(found.distortions.values())).max() <= found.risk <= 0.5
    assert heard
    assert {stage for stage, _ in heard} == {"response"}
    monkeypatch.setattr(occurring, "MOST_SETS", 100)
    in_table = response.solve(problem)  # too many quasi-identifiers for the bound, few enough cells to go through all
    assert problem.over(list(in_table.distortions.values())) == 0
    assert in_table.objective <= found.objective * 1.01
    monkeypatch.setattr(response, "_MOST_AT_ONCE", 100)
    with pytest.raises(sf.PolicyError, match="drop or coarsen a quasi-identifier"):
        response.solve(problem)


def test_points_that_are_lowered_stop_when_the_user_interrupts() -> None:
    """Each would go on for ten minutes; what they have done so far is told."""
    told: list[float] = []

    def lower(point: np.ndarray, *, course: np.ndarray) -> tuple[np.ndarray, float, int]:
        for _ in range(60_000):
            if course[1]:
                break
            course[0] += 1
            time.sleep(0.01)
        return point, 0.0, int(course[0])

    def tell(done: float) -> None:
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_table._side_by_side(lower, [np.zeros(1)] * 5, tell)
    assert time.monotonic() - begin < 300
    assert sorted(told) == told
    assert 0 < told[-1] < 1


def test_a_search_that_is_told_to_stop_takes_no_step() -> None:
    people = JointShares((2,), np.array([0.5, 0.5]), np.array([0, 1]), np.array([[0.75, 0.25], [0.75, 0.25]]))
    row, value = np.nonzero(people.occurring)
    pairs = LimitedPairs(row, value, np.log(people.shares[row, value] / 0.5))
    risk = in_table.RiskInTable.of(people, pairs)
    start, free, weight = np.full(2, -0.5), np.array([True, False]), np.array([1.0, 1.0])
    start[1] = 0.0
    stopped = descend(start, free, weight, *risk, 1e-9, np.array([0, 1]))
    assert (stopped[0] == start).all()
    assert stopped[2] == 0
    assert descend(start, free, weight, *risk, 1e-9)[2] > 0
