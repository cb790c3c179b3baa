"""Earlier releases of a job, without a browser: what the page says is what the join gives away."""

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.datasets import hospital
from sfumato.errors import SfumatoError
from sfumato.studio import earlier
from sfumato.studio.job import Job


@pytest.fixture
def old(tmp_path: Path) -> Path:
    table = sf.read(hospital(rows=200), quasi=["age", "sex"])
    sf.publish(table, require=sf.KAnonymity(k=4), method="mondrian").write(tmp_path / "2024" / "release")
    return tmp_path / "2024"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    hospital(rows=200).select("age", "sex", "job", "diagnosis").write_csv(tmp_path / "people.csv")
    made = Job("x", tmp_path)
    made.open(str(tmp_path / "people.csv"))
    made.set_section("require", [{"model": "k-anonymity", "k": 5}])
    made.set_section("method", {"name": "mondrian"})
    return made


def test_the_join_is_that_of_the_library(job: Job, old: Path) -> None:
    earlier.choose(job, str(old))
    assert earlier.chosen(job) == [str(old / "release")]
    assert "after" not in job.content
    found = earlier.given_away(job)
    assert not found.published
    assert found.people.releases == ("T1", "T2")
    assert found.people.matches > 0
    assert found.people.pinned_down["T1"] is not None
    assert found.values["diagnosis"].confidence is not None
    assert found.why == {}


def test_what_the_policy_does_about_them(job: Job, old: Path) -> None:
    earlier.choose(job, str(old))
    earlier.set_regard(job, "audit")
    after = [{"release": str(old / "release"), "name": "T2"}]
    assert (job.content["after"], job.content["audit"]) == (after, [{"adversary": "sequential"}])
    assert earlier.regard(job) == "audit"
    assert [a.name for a in job.policy().after] == ["T2"]
    earlier.set_regard(job, "method")
    assert job.content["method"] == {"name": "tdssa", "score": "distortion"}
    assert "audit" not in job.content
    assert job.content["require"][1] == {"model": "anonymity", "y": "T1", "k": 5, "over": ["T1", "T2"]}
    tried = earlier.given_away(job)
    assert tried.people.anonymity is not None
    assert tried.people.anonymity >= 5
    earlier.set_regard(job, "look")
    assert job.content["require"] == [{"model": "k-anonymity", "k": 5}]
    assert not {"after", "audit", "method"} & set(job.content)
    assert earlier.chosen(job) == [str(old / "release")]
    earlier.set_regard(job, "audit")
    assert job.content["method"]["name"] != "tdssa", "with earlier releases a method has to be named"
    assert earlier.given_away(job).people.matches > 0
    earlier.forget(job, str(old / "release"))
    assert "after" not in job.content
    assert "audit" not in job.content


def test_what_is_not_a_release_is_refused(job: Job, old: Path, tmp_path: Path) -> None:
    with pytest.raises(SfumatoError):
        earlier.choose(job, str(tmp_path / "nowhere"))
    assert earlier.chosen(job) == []
    earlier.choose(job, str(old / "release"))
    with pytest.raises(SfumatoError, match="already"):
        earlier.choose(job, str(old))
    with pytest.raises(SfumatoError, match="no earlier release"):
        earlier.given_away(Job("y", tmp_path))
