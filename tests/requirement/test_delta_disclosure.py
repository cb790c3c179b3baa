"""δ-disclosure: exact at the limit, in every method that serves it, in the check, the report and the policy."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from report_page import Page
from sfumato.cli import cli
from sfumato.errors import PolicyError, ReleaseError
from sfumato.report.report import render_report
from sfumato.requirement.base import Tally
from sfumato.requirement.delta_disclosure import DeltaDisclosure, _limits
from strategies import Facts, discloses_little, examples, satisfies

KEY = ("ill",)


def judged(requirement: DeltaDisclosure, counts: list[int], totals: list[int]) -> bool:
    bound = requirement.with_parameters(sensitive="ill")
    matrix = np.array([counts])
    tally = Tally(matrix.sum(axis=1), {KEY: matrix}, {}, {KEY: np.array(totals)})
    return bool(bound.holds(None, tally)[0])  # type: ignore[arg-type]


def test_every_small_table_and_group() -> None:
    """All groups of all tables of up to eight rows with three values, by the definition."""
    for totals in itertools.product(range(4), range(3), range(4)):
        everyone = [{"ill": str(v)} for v, c in enumerate(totals) for _ in range(c)]
        facts = Facts(everyone, "ill", ["0", "1", "2"])
        for counts in itertools.product(*(range(t + 1) for t in totals)):
            rows = [{"ill": str(v)} for v, c in enumerate(counts) for _ in range(c)]
            for delta in (0.1, 0.3, math.log(2), 1, 5, 1e9) if rows else ():
                r = DeltaDisclosure(delta=delta)
                assert judged(r, [*counts], [*totals]) == satisfies(r, rows, facts)


@given(st.data(), st.integers(1, 10**6), st.integers(0, 10**6), st.floats(0.001, 20))
@examples(300)
def test_no_share_lies_between_a_limit_and_the_next(data: st.DataObject, count: int, more: int, delta: float) -> None:
    requirement, rows = DeltaDisclosure(delta=delta), count + more
    exact, p = Fraction(str(delta)).limit_denominator(10**9), Fraction(count, rows)
    low, high = _limits(exact, count, rows)
    assert discloses_little(requirement, low, p)
    assert discloses_little(requirement, high, p)
    n = data.draw(st.integers(1, rows))
    above, below = int(high * n) + 1, math.ceil(low * n) - 1
    assert above > n or not discloses_little(requirement, Fraction(above, n), p)
    assert below < 0 or not discloses_little(requirement, Fraction(below, n), p)


@pytest.mark.parametrize("delta", [0, -1, float("nan"), float("inf"), 1e-10, 1e10, "1", True, None, [1]])
def test_wrong_delta(delta: Any) -> None:
    with pytest.raises(PolicyError, match="must be a number"):
        DeltaDisclosure(delta=delta)


def frame(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ills = rng.choice(["flu", "gout", "HIV"], rows, p=[0.5, 0.3, 0.2])
    return pl.DataFrame({"age": rng.integers(20, 60, rows), "sex": rng.choice(["F", "M"], rows), "ill": ills})


def table() -> sf.Microdata:
    return sf.read(frame(), quasi=["age", "sex"], sensitive="ill", taxonomies={"age": {"width": 5}})


METHODS = [
    sf.Mondrian(),
    sf.Mondrian(strict=False),
    sf.Mondrian(scheme="bucketization"),
    sf.Incognito(),
    sf.Incognito(suppression=0.2),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_methods_keep_it_and_the_check_agrees(method: Any) -> None:
    requirement = DeltaDisclosure(delta=0.9)
    release = sf.publish(table(), require=requirement, method=method, rng=np.random.default_rng(1))
    assert {f.status for f in release.check()} == {"holds"}
    judgement = release.judge(requirement)
    assert judgement.holds
    assert judgement.groups > 1
    assert release.manifest["requirements"][0]["achieved"] == judgement.achieved
    assert judgement.achieved["delta"] < 0.9


def test_a_declared_value_that_nobody_has_is_not_asked_for() -> None:
    data = sf.read(frame(), quasi=["age"], sensitive="ill", domains={"ill": ["flu", "gout", "HIV", "plague"]})
    release = sf.publish(data, require=DeltaDisclosure(delta=0.9), method="mondrian")
    assert {f.status for f in release.check()} == {"holds"}


def test_a_release_that_breaks_it_is_found() -> None:
    release = sf.publish(table(), require=DeltaDisclosure(delta=0.9), method="mondrian")
    entry = release.manifest["requirements"][0]
    lower = entry | {"required": entry["required"] | {"delta": 0.01}, "words": DeltaDisclosure(delta=0.01).words()}
    with pytest.raises(ReleaseError, match="groups fail"):
        sf.Release(release.manifest | {"requirements": [lower]}, release.tables).check()
    better = entry | {"achieved": {"delta": entry["achieved"]["delta"] / 2}}
    with pytest.raises(ReleaseError, match="the manifest claims"):
        sf.Release(release.manifest | {"requirements": [better]}, release.tables).check()


def test_the_report_says_what_it_promises() -> None:
    data = table()
    release = sf.publish(data, require=DeltaDisclosure(delta=0.9), method="mondrian")
    words = Page(render_report(release=release, table=data)).words
    assert "δ-disclosure privacy" in words
    assert "no value can be attributed or ruled out" in words
    assert "must be less than 0.9" in words
    assert "Not all requirements are met." not in words


POLICY = """
title = "Ward"
[data]
source = "ward.csv"
[attributes]
age = { role = "quasi", kind = "continuous" }
sex = { role = "quasi" }
ill = { role = "sensitive" }
[[require]]
model = "delta-disclosure"
delta = 0.9
[method]
name = "mondrian"
"""


def test_a_policy_there_and_back(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "ward.csv")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    out = str(tmp_path / "out")
    run = CliRunner().invoke(cli, ["publish", str(tmp_path / "policy.toml"), "-o", out])
    assert run.exit_code == 0, run.output
    manifest = json.loads((tmp_path / "out/release/manifest.json").read_text(encoding="utf-8"))
    assert manifest["requirements"][0]["required"] == {"delta": 0.9, "sensitive": "ill"}
    assert CliRunner().invoke(cli, ["check", f"{out}/release"]).exit_code == 0


def test_it_is_listed() -> None:
    listed = CliRunner().invoke(cli, ["models"]).output
    assert "delta-disclosure (delta, [sensitive]): no sensitive value is much more or less frequent" in listed
