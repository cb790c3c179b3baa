"""β-likeness: exact at the limit, in every method that serves it, in the check, the report and the policy."""

import itertools
import json
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
from sfumato.requirement.beta_likeness import BetaLikeness, _limit
from strategies import Facts, examples, gains_little, satisfies

KEY = ("ill",)


def judged(requirement: BetaLikeness, counts: list[int], totals: list[int]) -> bool:
    bound = requirement.with_parameters(sensitive="ill")
    matrix = np.array([counts])
    tally = Tally(matrix.sum(axis=1), {KEY: matrix}, {}, {KEY: np.array(totals)})
    return bool(bound.holds(None, tally)[0])  # type: ignore[arg-type]


def facts_of(totals: list[int]) -> Facts:
    return Facts(
        [{"ill": str(v)} for v, c in enumerate(totals) for _ in range(c)], "ill", [*map(str, range(len(totals)))]
    )


@pytest.mark.parametrize("variant", ["basic", "enhanced"])
def test_every_small_table_and_group(variant: Any) -> None:
    """All groups of all tables of up to eight rows with three values, by the definition."""
    for totals in itertools.product(range(4), range(3), range(4)):
        facts = facts_of([*totals])
        for counts in itertools.product(*(range(t + 1) for t in totals)):
            rows = [{"ill": str(v)} for v, c in enumerate(counts) for _ in range(c)]
            for beta in (0.25, 1 / 3, 0.5, 1, 2) if rows else ():
                r = BetaLikeness(beta=beta, variant=variant)
                assert judged(r, [*counts], [*totals]) == satisfies(r, rows, facts)


@given(st.data(), st.lists(st.integers(0, 10**6), min_size=1, max_size=5).filter(any), st.booleans())
@examples(300)
def test_a_gain_on_the_limit_is_allowed_and_one_above_is_not(
    data: st.DataObject, totals: list[int], hard: bool
) -> None:
    v = data.draw(st.sampled_from([i for i, t in enumerate(totals) if t]))
    rows, beta = sum(totals), Fraction(data.draw(st.integers(1, 30)), data.draw(st.integers(1, 9)))
    p = Fraction(totals[v], rows)
    limit = _limit(beta, hard, totals[v], rows)
    requirement = BetaLikeness(beta=float(beta), variant="enhanced" if hard else "basic")
    assert limit.denominator <= rows
    assert gains_little(requirement, limit, p)
    n = data.draw(st.integers(1, rows))
    c = int(limit * n) + 1  # the first count above the limit
    assert c > n or not gains_little(requirement, Fraction(c, n), p)


@pytest.mark.parametrize("beta", [0, -1, float("nan"), float("inf"), 1e-10, 1e10, "1", True, None, [1]])
def test_wrong_beta(beta: Any) -> None:
    with pytest.raises(PolicyError, match="must be a number"):
        BetaLikeness(beta=beta)


def test_wrong_variants() -> None:
    with pytest.raises(PolicyError, match="did you mean 'enhanced'"):
        BetaLikeness(beta=1, variant="enhaced")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="contradicts"):
        BetaLikeness(beta=1, variant="basic", enhanced=True)
    with pytest.raises(PolicyError, match="true or false"):
        BetaLikeness(beta=1, enhanced="yes")  # type: ignore[arg-type]
    assert BetaLikeness(beta=1, enhanced=True) == BetaLikeness(beta=1, variant="enhanced")
    assert BetaLikeness(beta=1, enhanced=False) == BetaLikeness(beta=1)


def frame(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ills = rng.choice(["flu", "gout", "HIV"], rows, p=[0.6, 0.3, 0.1])
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


@pytest.mark.parametrize("variant", ["basic", "enhanced"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_methods_keep_it_and_the_check_agrees(method: Any, variant: Any) -> None:
    requirement = BetaLikeness(beta=0.8, variant=variant)
    release = sf.publish(table(), require=requirement, method=method, rng=np.random.default_rng(1))
    assert {f.status for f in release.check()} == {"holds"}
    judgement = release.judge(requirement)
    assert judgement.holds
    assert judgement.groups > 1
    assert release.manifest["requirements"][0]["achieved"] == judgement.achieved
    assert judgement.achieved["beta"] <= 0.8


def test_a_release_that_breaks_it_is_found() -> None:
    release = sf.publish(table(), require=BetaLikeness(beta=0.8), method="mondrian")
    entry = release.manifest["requirements"][0]
    lower = entry | {"required": entry["required"] | {"beta": 0.01}, "words": BetaLikeness(beta=0.01).words()}
    with pytest.raises(ReleaseError, match="groups fail"):
        sf.Release(release.manifest | {"requirements": [lower]}, release.tables).check()
    better = entry | {"achieved": {"beta": entry["achieved"]["beta"] / 2}}
    with pytest.raises(ReleaseError, match="the manifest claims"):
        sf.Release(release.manifest | {"requirements": [better]}, release.tables).check()
    data = release.tables["data"]
    group = (data["age"] == data["age"][0]) & (data["sex"] == data["sex"][0])
    spoiled = data.with_columns(ill=pl.when(group).then(pl.lit("HIV")).otherwise(pl.col("ill").cast(pl.String)))
    with pytest.raises(ReleaseError):
        sf.Release(release.manifest, {"data": spoiled}).check()


def test_the_report_says_what_it_promises() -> None:
    data = table()
    release = sf.publish(data, require=BetaLikeness(beta=0.8, variant="enhanced"), method="mondrian")
    words = Page(render_report(release=release, table=data)).words
    assert "Enhanced β-likeness" in words
    assert "by a factor of no more than 1 + 0.8" in words
    assert "Only a gain is bounded." in words
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
model = "beta-likeness"
beta = 0.8
%s
[method]
name = "mondrian"
"""


@pytest.mark.parametrize("line", ['variant = "enhanced"', "enhanced = true"])
def test_a_policy_there_and_back(tmp_path: Path, line: str) -> None:
    frame().write_csv(tmp_path / "ward.csv")
    (tmp_path / "policy.toml").write_text(POLICY % line, encoding="utf-8")
    out = str(tmp_path / "out")
    run = CliRunner().invoke(cli, ["publish", str(tmp_path / "policy.toml"), "-o", out])
    assert run.exit_code == 0, run.output
    manifest = json.loads((tmp_path / "out/release/manifest.json").read_text(encoding="utf-8"))
    required = manifest["requirements"][0]["required"]
    assert required == {"beta": 0.8, "variant": "enhanced", "sensitive": "ill"}
    assert CliRunner().invoke(cli, ["check", f"{out}/release"]).exit_code == 0


def test_it_is_listed() -> None:
    listed = CliRunner().invoke(cli, ["models"]).output
    assert "beta-likeness (beta, [variant], [enhanced], [sensitive]): no sensitive value" in listed
