"""Requirements and trials of a job, without a browser."""

from pathlib import Path

import pytest

from sfumato.datasets import hospital
from sfumato.errors import PolicyError
from sfumato.publisher import preview as previewing
from sfumato.studio import trial
from sfumato.studio.job import Job
from sfumato.table.microdata import Microdata


@pytest.fixture
def job(tmp_path: Path) -> Job:
    hospital(rows=300).drop("patient", "record", "admitted", "job", "zip").write_csv(tmp_path / "people.csv")
    made = Job("x", tmp_path)
    made.open(str(tmp_path / "people.csv"))
    for name, role in {"age": "quasi", "sex": "quasi", "stay": "insensitive", "readmitted": "insensitive"}.items():
        made.set_attribute(name, role=role)
    made.set_section("require", [{"model": "k-anonymity", "k": 5}])
    return made


def test_parameters_reach_the_policy_and_wrong_ones_do_not(job: Job) -> None:
    trial.set_parameter(job, 0, "k", 7)
    assert job.policy().requirements[0].parameters() == {"k": 7}
    with pytest.raises(PolicyError, match="1 or more"):
        trial.set_parameter(job, 0, "k", 0)
    assert job.content["require"] == [{"model": "k-anonymity", "k": 7}]
    trial.add_requirement(job, "l-diversity")
    trial.set_parameter(job, 1, "variant", "recursive")
    assert job.content["require"][1] == {"model": "l-diversity", "l": 3, "variant": "recursive", "c": 3}
    trial.set_parameter(job, 1, "variant", "distinct")
    assert job.content["require"][1] == {"model": "l-diversity", "l": 3, "variant": "distinct"}
    trial.remove_requirement(job, 0)
    assert [r.model for r in job.policy().requirements] == ["l-diversity"]


def test_every_model_that_is_offered_can_be_added(job: Job) -> None:
    assert "k-map" not in trial.addable(job)
    for model in trial.addable(job):
        trial.add_requirement(job, model)
    assert len(job.policy().requirements) == 1 + len(trial.addable(job))


def test_what_a_requirement_is_about(job: Job) -> None:
    trial.add_requirement(job, "l-diversity")
    needed = job.policy().requirements[1]
    assert trial.about(job, needed) == "diagnosis"
    job.set_attribute("stay", role="sensitive")
    assert trial.about(job, needed) == "diagnosis and stay"
    assert trial.about(job, needed.with_parameters(sensitive="stay")) == "stay"


def test_a_preview_is_kept_until_the_policy_changes(job: Job) -> None:
    first = trial.preview_of(job)
    assert trial.preview_of(job) is first
    assert first.whole
    assert first.choice is trial.choice_of(job)
    trial.set_parameter(job, 0, "k", 50)
    assert trial.preview_of(job).summary.information < first.summary.information
    coded = job.microdata()
    trial.set_parameter(job, 0, "k", 6)
    assert job.microdata() is coded, "what is required does not change the codes"
    job.set_attribute("sex", role="insensitive")
    assert job.microdata() is not coded


def test_a_large_table_is_asked_by_its_sample(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "ASKED_ROWS", 100)
    monkeypatch.setattr(trial, "sampled", lambda frame: previewing.sampled(frame, 80))
    sample = trial.sample_of(job)
    assert sample.height == 80
    assert trial.sample_of(job) is sample
    assert trial.preview_of(job).rows == 80
    assert trial.asked_table(job).rows == 80
    trial.draw_another(job)
    assert trial.sample_of(job) is not sample
    assert job.microdata().rows == 300
    assert trial.impossible_of(job) == {}, "80 rows are enough for k = 5, and so are 300"
    trial.set_parameter(job, 0, "k", 200)
    assert trial.impossible_of(job) == {}, "what is impossible is asked of the whole table"


def test_a_method_is_taken_with_the_settings_by_which_it_serves(job: Job) -> None:
    plan = trial.offers_of(job)
    tdr = next(p for p in plan.points if p.method.name == "tdr")
    trial.take_method(job, tdr.method)
    assert job.content["method"] == {"name": "tdr", "score": "distortion"}
    trial.take_method(job, None)
    assert "method" not in job.content


def test_methods_are_asked_about_the_table_not_a_copy(job: Job) -> None:
    assert isinstance(trial.asked_table(job), Microdata)
    assert trial.asked_table(job) is job.microdata()
