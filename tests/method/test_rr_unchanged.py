"""Where nothing, or not all, is randomized: refused, or said loudly with an infinite ε."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.release.manifest import Manifest
from sfumato.requirement.local_privacy import by_attribute
from sfumato.table.distortion import Distortion
from sfumato.table.microdata import Microdata

DOMAINS = {"sex": ["m", "f"], "town": ["A", "B", "C"], "ill": ["flu", "HIV", "cold"]}
LOUD = "NOTHING WAS RANDOMIZED"


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({n: rng.choice(values, 240) for n, values in DOMAINS.items()})


def table(**more: Any) -> Microdata:
    return sf.read(frame(), quasi=["sex", "town"], sensitive="ill", domains=DOMAINS, **more)


def published(tau: float = 1.0, data: Microdata | None = None, **settings: Any) -> sf.Release:
    method = sf.RandomizedResponse(**settings)
    rng = np.random.default_rng(5)
    return sf.publish(data or table(), require=sf.Disclosure(tau=tau), method=method, rng=rng)


@pytest.mark.parametrize("fit", ["noisy", "counts"])
@pytest.mark.parametrize("tau", [0.9, 1.0])
def test_a_limit_that_needs_no_noise_is_refused(fit: str, tau: float) -> None:
    with pytest.raises(sf.PolicyError, match=r"would publish 'sex', 'town', 'ill' as in .* unchanged = \"allow\""):
        published(tau, fit=fit)


@pytest.mark.parametrize("fit", ["noisy", "counts"])
def test_allowed_it_is_said_loudly_with_infinite_epsilon(fit: str) -> None:
    release = published(0.95, fit=fit, unchanged="allow")
    shown = release.tables["data"].cast(pl.String).select(list(DOMAINS))
    assert sorted(shown.rows()) == sorted(frame().rows())  # the raw table
    assert release.warnings[0].startswith(LOUD)
    told = release.manifest["epsilon"]
    assert told["attributes"] == dict.fromkeys(DOMAINS, "infinite")
    assert (told["randomized"], told["total"], told["guarantee"]) == ("infinite", "infinite", "none")
    assert told["words"].startswith("Nothing was randomized")
    json.dumps(release.manifest, allow_nan=False)
    findings = release.check()
    assert "no value was randomized" in [f.claim for f in findings]
    assert not any("were randomized" in f.claim for f in findings)
    assert any("no attribute was randomized" in f.detail and "ill ∞" in f.detail for f in findings)


def test_the_command_the_report_and_the_audit_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame().write_csv(tmp_path / "d.csv")
    text = """[data]
source = "d.csv"
[attributes]
sex = { role = "quasi", domain = ["m", "f"] }
town = { role = "quasi", domain = ["A", "B", "C"] }
ill = { role = "sensitive", domain = ["flu", "HIV", "cold"] }
[[require]]
model = "disclosure"
tau = 0.95
[method]
name = "rr"
"""
    (tmp_path / "p.toml").write_text(text)
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as done:
        main(["publish", str(tmp_path / "p.toml"), "-o", str(out), "--seed", "1"])
    assert done.value.code == 2
    assert 'unchanged = "allow"' in capsys.readouterr().err
    assert not out.exists()
    (tmp_path / "p.toml").write_text(text + 'unchanged = "allow"\n')
    with pytest.raises(SystemExit) as done:
        main(["publish", str(tmp_path / "p.toml"), "-o", str(out), "--seed", "1"])
    assert done.value.code == 0
    assert LOUD in capsys.readouterr().err
    audit = json.loads((out / "private" / "audit.json").read_text())["response"]
    assert (audit["epsilon"], audit["epsilons"]) == ("∞", dict.fromkeys(DOMAINS, "∞"))
    report = (out / "private" / "report.html").read_text()
    assert "Nothing was randomized" in report
    assert LOUD in report
    assert "ε = 0" not in report
    assert "randomized 0 attributes" not in report


def test_part_of_it_unchanged_is_refused_too() -> None:
    """At this limit the optimum of RR-Both leaves the sensitive attribute as it is, as in Table 3 at l = 2."""
    with pytest.raises(sf.PolicyError, match=r"would publish 'ill' as in the private table"):
        published(0.38, fit="counts")
    release = published(0.38, fit="counts", unchanged="allow")
    assert release.manifest["matrices"].keys() == {"sex", "town"}
    assert release.warnings[0] == "Published as in the private table, without noise (ε is infinite): 'ill'."
    assert release.manifest["epsilon"]["attributes"]["ill"] == "infinite"
    assert release.manifest["epsilon"]["total"] == "infinite"
    assert 0 < release.manifest["epsilon"]["attributes"]["sex"] < math.inf


def test_what_is_left_as_it_is_by_design_is_said() -> None:
    """RR-QI leaves the sensitive attribute, and every class or insensitive column is as it is."""
    data = frame().with_columns(kind=pl.Series(["x", "y"] * 120), note=pl.Series(range(240)))
    more = sf.read(
        data,
        quasi=["sex", "town"],
        sensitive="ill",
        class_="kind",
        insensitive=["note"],
        domains={**DOMAINS, "kind": ["x", "y"]},
    )
    release = published(0.3, more, mode="qi")
    assert release.warnings[0].endswith("(ε is infinite): 'ill', 'kind', 'note'.")
    stated = release.manifest["epsilon"]
    assert [n for n, e in stated["attributes"].items() if e == "infinite"] == ["ill", "kind", "note"]
    assert stated["total"] == "infinite"
    assert "differ in one row, but not in 'ill', 'kind', 'note', and that both meet" in stated["words"]
    assert "For 'ill', 'kind', 'note' there is no bound" in stated["words"]
    randomized = 1.0 + stated["attributes"]["sex"] + stated["attributes"]["town"]
    assert stated["randomized"] == pytest.approx(randomized)
    assert release.check()


@pytest.mark.parametrize(
    "settings",
    [
        {"keep": {"sex": 1.0}},
        {"keep": {"sex": 0.9, "town": 1}},
        {"matrices": {"sex": [[1, 0], [0, 1]]}},
        {"matrices": {"sex": [[0, 1], [1, 0]]}},  # swapped by a public rule: nothing is hidden
    ],
)
def test_by_hand_without_chance_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(sf.PolicyError, match="with no noise"):
        published(1.0, **settings)
    release = published(1.0, **settings, unchanged="allow")
    assert release.manifest["epsilon"]["attributes"]["town"] == "infinite"
    assert release.warnings[0].startswith(LOUD) == ("keep" not in settings or settings["keep"]["sex"] == 1)
    release.check()


def test_an_identity_matrix_changes_nothing_and_is_not_stated() -> None:
    same = Distortion.given(np.eye(3), 3, what="m")
    swap = Distortion.given([[0, 1], [1, 0]], 2, what="m")
    assert (same.changes, same.is_random, same.epsilon) == (False, False, math.inf)
    assert (swap.changes, swap.is_random, swap.epsilon) == (True, False, math.inf)
    assert published(1.0, matrices={"sex": np.eye(2).tolist()}, unchanged="allow").manifest["matrices"] == {}


def test_a_domain_of_one_value_needs_no_noise() -> None:
    data = sf.read(
        frame().with_columns(sex=pl.lit("m")), quasi=["sex", "town"], sensitive="ill", domains={**DOMAINS, "sex": ["m"]}
    )
    release = published(0.2, data, mode="qi", fit="counts")
    assert release.manifest["epsilon"]["attributes"]["sex"] == 0
    assert release.warnings[0] == "Published as in the private table, without noise (ε is infinite): 'ill'."


@pytest.mark.parametrize(
    "change",
    [
        {"total": 0.0},
        {"randomized": 0.1},
        {"guarantee": "whole release"},
        {"guarantee": "perfect"},
        {"attributes": {"sex": 0.1, "town": 0.1, "ill": 0.1}},
        {"attributes": {}},
        {"words": "Perfectly safe."},
        {"fit": 0.1},
        {"fit": -1},
        {"fit": None},
    ],
)
@pytest.mark.parametrize("fit", ["noisy", "counts"])
def test_check_finds_a_false_statement_about_epsilon(change: dict[str, Any], fit: str) -> None:
    release = published(0.3, mode="qi", fit=fit)
    release.check()
    manifest = json.loads(json.dumps(release.manifest))
    manifest["epsilon"] |= change
    if manifest == release.manifest or (fit == "noisy" and change == {"fit": 0.1}):
        return  # true still, or what nobody outside can see
    with pytest.raises(sf.ReleaseError, match=r"ε|guarantee"):
        sf.Release(manifest, release.tables).check()


def test_a_release_must_state_its_epsilon() -> None:
    release = published(0.3, mode="qi")
    silent = {n: v for n, v in release.manifest.items() if n != "epsilon"}
    with pytest.raises(sf.ReleaseError, match="lacks 'epsilon'"):
        sf.Release(silent, release.tables).check()
    assert by_attribute(Manifest.from_plain(silent))["ill"] == math.inf


def test_no_column_without_noise_is_left_out_of_warning_and_guarantee() -> None:
    more = [f"column{i}" for i in range(9)]
    frame = pl.DataFrame({"sex": ["F", "M"] * 20, "ill": ["flu", "HIV"] * 20, **{name: range(40) for name in more}})
    domains = {"sex": ["F", "M"], "ill": ["flu", "HIV"]}
    table = sf.read(frame, quasi="sex", sensitive="ill", domains=domains, insensitive=more)
    method = sf.RandomizedResponse(keep={"sex": 0.7, "ill": 0.7})
    release = sf.publish(table, require=sf.Disclosure(tau=1), method=method)
    for name in more:
        assert repr(name) in release.warnings[0]
        assert release.manifest["epsilon"]["words"].count(repr(name)) == 2


def test_a_refusal_by_noisy_counts_says_that_it_is_drawn() -> None:
    frame = pl.DataFrame({"sex": ["F", "M"] * 200, "ill": ["flu", "flu", "HIV", "HIV"] * 100})
    table = sf.read(frame, quasi="sex", sensitive="ill", domains={"sex": ["F", "M"], "ill": ["flu", "HIV"]})
    with pytest.raises(sf.PolicyError, match="Another run may decide otherwise"):
        sf.publish(table, require=sf.Disclosure(tau=0.9), method="rr")
    with pytest.raises(sf.PolicyError, match=r"tau is met without it\."):
        sf.publish(table, require=sf.Disclosure(tau=0.9), method=sf.RandomizedResponse(fit="counts"))
