"""A preview is what publishing would make of a sample: same method, same requirements, all rows of a small table."""

from pathlib import Path

import polars as pl
import pytest

from sfumato.adversary.uniqueness import PeopleTable
from sfumato.datasets import hospital
from sfumato.errors import Infeasible
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.preview import preview, sampled

POLICY = """
[data]
source = "x.csv"
others = "drop"
[attributes]
age = { role = "quasi" }
sex = { role = "quasi" }
diagnosis = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = %d
"""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return hospital(rows=600)


def test_a_preview_of_a_sample(people: pl.DataFrame) -> None:
    job = parse_policy(POLICY % 5 + '[method]\nname = "mondrian"\n', folder=Path())
    sample = sampled(people, 200)
    found = preview(job, sample, of=people.height)
    assert (found.rows, found.of, found.whole, found.method, found.choice) == (200, 600, False, "mondrian", None)
    assert found.release.description.rows == 200
    assert min(found.release.tables["data"].group_by("age", "sex").len()["len"]) >= 5
    assert found.unique_before == PeopleTable(sample).unique_by(["age", "sex"]).unique
    assert found.summary.published == 200
    assert found.gain.linked is not None
    assert found.gain.linked <= 1 / 5


def test_a_job_without_a_method_gets_the_one_that_would_be_chosen(people: pl.DataFrame) -> None:
    found = preview(parse_policy(POLICY % 5, folder=Path()), people, of=600)
    assert found.whole
    assert found.choice is not None
    assert found.release.description.method.chosen is not None
    assert found.method == found.choice.method.name == "local-recoding"  # it loses less than mondrian here


def test_what_cannot_be_met_is_said(people: pl.DataFrame) -> None:
    with pytest.raises(Infeasible, match="lower k to 600 or less"):
        preview(parse_policy(POLICY % 601 + '[method]\nname = "mondrian"\n', folder=Path()), people, of=600)


def test_a_sample_has_rows_of_the_table_without_repetition(people: pl.DataFrame) -> None:
    first, second = sampled(people, 300), sampled(people, 300)
    assert first.height == 300
    assert first.is_duplicated().sum() <= people.is_duplicated().sum()
    assert first.join(people, on=people.columns, how="anti", nulls_equal=True).height == 0
    assert not first.equals(second)  # equal with probability 600! / 300!
    assert sampled(people, 600) is people
