"""The steward is told where labels show the value of one person."""

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.publisher.lone_ends import lone_ends

AGES = [20, 20, 30, 30, 41, 41, 41, 41]


def told(values: list[Any], method: Any = "mondrian", taxonomy: Any = None) -> list[str]:
    table = sf.read(pl.DataFrame({"age": values}), quasi=["age"], taxonomies={"age": taxonomy} if taxonomy else None)
    return lone_ends(table, sf.publish(table, require=sf.KAnonymity(k=2), method=method))


def test_extremes_of_one_person_are_named() -> None:
    assert told(AGES) == []
    (greatest,) = told([*AGES, 104])
    assert greatest.startswith("One person has the greatest value of 'age', 104, and a label ends there.")
    assert "{ width = ... }" in greatest
    (least,) = told([3, *AGES])
    assert least.startswith("One person has the least value of 'age', 3,")
    assert len(told([3, *AGES, 104], sf.TopDown(score="distortion"))) == 2


@pytest.mark.parametrize("taxonomy", [{"width": 5}, {"intervals": [0, 25, 60, 120]}])
def test_the_remedy_helps(taxonomy: Any) -> None:
    assert told([3, *AGES, 104], taxonomy=taxonomy) == []


def test_dates_and_decimals() -> None:
    days = [dt.date(1980, 1, d) for d in (1, 1, 2, 2)]
    (found,) = told([*days, dt.date(2013, 11, 12)])
    assert "2013-11-12" in found
    assert "month" in found
    odd = told([20.0, 20.0, 37.0001, 41.0, 41.0, 41.0])
    assert odd == ["One person's 'age', 37.0001, has more decimals than all others; labels show it. Round the column."]


def test_the_steward_is_told_and_the_public_is_not(tmp_path: Path) -> None:
    pl.DataFrame({"age": [*AGES, 104]}).write_csv(tmp_path / "t.csv")
    policy = '[data]\nsource = "t.csv"\n[attributes]\nage = "quasi"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n'
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    made = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert any("greatest value of 'age', 104" in warning for warning in made.warnings)
    assert "greatest value" in made.report.read_text(encoding="utf-8")
    assert "greatest value" not in (tmp_path / "out" / "release" / "manifest.json").read_text(encoding="utf-8")
