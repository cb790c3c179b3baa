"""The job of a window, without a browser: what is opened and decided is in its policy, and the policy publishes."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from sfumato.datasets import example_folder, hospital
from sfumato.errors import PolicyError, SfumatoError
from sfumato.publisher.column_roles import profile
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.publish import publish_policy
from sfumato.studio.distribution import distribution
from sfumato.studio.job import Job
from sfumato.studio.jobs import MOST, Jobs
from sfumato.studio.run import StudioRun
from sfumato.studio.uploads import shown_name, suffix_of


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "job").mkdir()
    return Job("name", tmp_path / "job")


def test_the_shown_policy_runs_from_the_command_line(job: Job, tmp_path: Path) -> None:
    hospital(rows=400).write_csv(tmp_path / "ward.csv")
    job.open(str(tmp_path / "ward.csv"))
    job.set_attribute("age", role="quasi", taxonomy={"width": 10})
    job.set_section("require", [{"model": "k-anonymity", "k": 4}])
    job.set_section("method", {"name": "mondrian"})
    (tmp_path / "policy.toml").write_text(job.shown_policy())
    made = publish_policy(tmp_path / "policy.toml", tmp_path / "out", ledger=False)
    assert made.release.description.requirements[0].required == {"k": 4}
    assert made.facts["rows"] == 400
    assert job.microdata().rows == 400


def test_a_job_knows_how_much_of_its_table_has_been_read(job: Job, tmp_path: Path) -> None:
    shares: list[float] = []

    class Watched(Job):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "reading" and isinstance(value, float):
                shares.append(value)

    watched = Watched(job.id, job.folder)
    (tmp_path / "parts").mkdir()
    for part in "abcd":
        hospital(rows=100).write_csv(tmp_path / "parts" / f"{part}.csv")
    watched.open(str(tmp_path / "parts"))
    assert shares == sorted(shares)
    assert len({round(share, 1) for share in shares}) == 5
    assert shares[-1] == 1.0


def test_what_was_said_of_a_column_returns_with_its_role(job: Job) -> None:
    job.open(str(example_folder() / "policy.toml"))
    before = job.attributes["zip"]
    job.set_attribute("zip", role="drop")
    assert job.attributes["zip"] == {"role": "drop"}
    assert "zip" in job.policy().left_out
    job.set_attribute("zip", role="quasi")
    assert job.attributes["zip"] == before


def test_an_upload_is_called_by_its_name_and_replaces_the_last(job: Job) -> None:
    for number in range(2):
        path = job.folder / f"{number}.csv"
        path.write_text("age,ill\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]}\n" for i in range(60)))
        job.open_upload(path, "ward.csv")
    assert [p.name for p in job.folder.iterdir()] == ["1.csv"]
    assert tomllib.loads(job.shown_policy())["data"]["source"] == "ward.csv"
    assert job.policy().source == str(job.folder / "1.csv")
    (job.folder / "2.csv").write_text("")
    with pytest.raises(SfumatoError, match=r"ward\.csv") as told:
        job.open_upload(job.folder / "2.csv", "ward.csv")
    assert "2.csv" not in str(told.value)
    assert [p.name for p in job.folder.iterdir()] == ["1.csv"]


def test_a_database_is_opened_and_no_password_is_shown(job: Job, tmp_path: Path) -> None:
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="a database to read from")
    with adbc.connect(str(tmp_path / "ward.db")) as connection, connection.cursor() as cursor:
        cursor.execute("create table ward (age integer, ill text)")
        cursor.execute("insert into ward values (30, 'a'), (31, 'b'), (40, 'a'), (41, 'b')")
        connection.commit()
    job.open(f"sqlite:///{tmp_path / 'ward.db'}", query="select * from ward")
    assert parse_policy(job.shown_policy(), folder=tmp_path).query == "select * from ward"
    assert job.microdata().rows == 4
    with pytest.raises(SfumatoError) as told:
        job.open("postgresql://ann:hunter2@127.0.0.1:1/ward", query="select 1")
    assert "hunter2" not in str(told.value)
    assert job.microdata().rows == 4  # what was open stays open


def test_nothing_runs_without_a_table_or_twice(job: Job) -> None:
    with pytest.raises(PolicyError, match="no table is open"):
        job.start()
    job.open(str(example_folder() / "policy.toml"))
    run = job.start()
    assert isinstance(run, StudioRun)
    assert "password" not in run.order.policy
    assert Path(run.order.out).is_relative_to(job.folder)


def test_jobs_are_apart_and_the_oldest_is_closed(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    first = jobs.new()
    assert len({jobs.new().id for _ in range(MOST)}) == MOST
    assert jobs.get(first.id) is None
    assert not first.folder.exists()
    assert jobs.get("nobody") is None
    jobs.end()
    assert list(tmp_path.iterdir()) == []


def test_distributions_are_small() -> None:
    ages = distribution(profile(pl.Series("age", [str(i % 90) for i in range(900)])))
    assert ages.ordered
    assert (ages.labels, sum(ages.rows)) == (("0", "89"), 900)
    words = distribution(profile(pl.Series("w", [*"aaabbcdefghij", None])))
    assert (words.labels[0], words.rows[0], words.others, words.alone) == ("a", 3, 4, 8)
    days = distribution(profile(pl.Series("d", [f"2025-0{1 + i % 9}-11" for i in range(90)])))
    assert days.labels == ("2025-01-11", "2025-09-11")


@pytest.mark.parametrize("name", ["a.exe", "a", "", "a.csv/..", "a.csv.sh", ".csv"])
def test_other_files_are_refused(name: str) -> None:
    with pytest.raises(SfumatoError, match="must end in"):
        suffix_of(name)


def test_the_name_of_a_file_is_only_a_name() -> None:
    assert shown_name("../../etc/pass\nwd.csv") == "passwd.csv"
    assert shown_name("C:\\Users\\ann\\ward.xlsx") == "ward.xlsx"
    assert len(shown_name("a" * 500 + ".csv")) == 120
