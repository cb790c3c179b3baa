"""A comparison for a job, without a browser."""

from pathlib import Path

import pytest

from sfumato.datasets import hospital
from sfumato.errors import PolicyError
from sfumato.studio import comparing
from sfumato.studio.comparing import Comparing
from sfumato.studio.job import Job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    hospital(rows=200).select("age", "sex", "diagnosis").write_csv(tmp_path / "people.csv")
    made = Job("x", tmp_path)
    made.open(str(tmp_path / "people.csv"))
    made.set_section("require", [{"model": "k-anonymity", "k": 5}])
    return made


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.publisher.compare.compare.checked_workers", lambda workers: 1)


def test_a_point_is_taken_with_its_requirements_and_its_method(job: Job) -> None:
    now = Comparing(job, ["mondrian"], {"k": [2, 20]})
    now.go()
    assert now.error is None
    assert (now.over, now.rows, now.done) == (True, 200, 1.0)
    assert now.result is not None
    assert [p.label for p in now.result.points] == ["mondrian, k = 2", "mondrian, k = 20"]
    second = comparing.point_of(now.result, 2)
    assert "k = 20" in comparing.shown_sections(job, second)
    assert 'data-key="2"' in now.result.plot(chosen=True)
    assert "data-key" not in now.result.plot()
    assert now.version == job.version
    comparing.take(job, second)
    assert job.content["require"] == [{"model": "k-anonymity", "k": 20}]
    assert job.content["method"] == {"name": "mondrian"}
    assert job.policy().method.name == "mondrian"
    assert now.version != job.version


def test_a_comparison_is_cancelled_between_two_points(job: Job) -> None:
    now = Comparing(job, ["mondrian"], {"k": [2, 3, 4]})
    heard = now._heard

    def cancelling(stage: str, share: float) -> None:
        heard(stage, share)
        now.cancel()

    now._heard = cancelling  # type: ignore[method-assign]
    now.go()
    assert now.over
    assert (now.result, now.error) == (None, None)
    assert now.done == 0.0


def test_what_goes_wrong_is_kept(job: Job) -> None:
    now = Comparing(job, ["hilb"], {})
    now.go()
    assert isinstance(now.error, PolicyError)


def test_what_can_be_varied(job: Job) -> None:
    assert list(comparing.swept(job)) == ["k"]
    assert comparing.numbers("2, 5; 10 0.5") == [2, 5, 10, 0.5]
    with pytest.raises(PolicyError, match="not a list of numbers"):
        comparing.numbers("two")
