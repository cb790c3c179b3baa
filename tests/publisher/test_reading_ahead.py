"""The table is read while the rest is imported: the same rows, the same refusals."""

import os
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.publisher.policy import read_policy
from sfumato.publisher.publish import publish_policy
from sfumato.publisher.reading_ahead import read_ahead

POLICY = """[data]
source = "t.csv"
{more}
[attributes]
age = {{ role = "quasi", kind = "continuous" }}
[[require]]
model = "k-anonymity"
k = 2
"""


def job(folder: Path, more: str = "", text: str = "age\n20\n21\n30\n31\n") -> Path:
    (folder / "t.csv").write_text(text)
    (folder / "policy.toml").write_text(POLICY.format(more=more))
    return folder / "policy.toml"


def test_the_rows_are_those_of_the_file(tmp_path: Path) -> None:
    ahead = read_ahead(job(tmp_path, 'nulls = ["30"]'))
    assert ahead is not None
    assert ahead.nulls == ("30",)
    frame = ahead.frame.result(timeout=300)
    assert frame["age"].to_list() == ["20", "21", None, "31"]
    assert ahead.ranks.result(timeout=300)["age"].values.to_list() == ["20", "21", "31"]


def test_a_release_is_made_of_them(tmp_path: Path) -> None:
    policy = job(tmp_path)
    ahead = read_ahead(policy)
    assert ahead is not None
    ahead.frame.result(timeout=300)
    (tmp_path / "t.csv").write_text("age\n1\n1\n")  # so that a second reading would be noticed
    made = publish_policy(policy, tmp_path / "out", ahead=ahead)
    assert made.summary.published == 4


def test_the_digest_is_that_of_the_file_that_was_read(tmp_path: Path) -> None:
    policy = job(tmp_path)
    known = sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    ahead = read_ahead(policy)
    assert ahead is not None
    assert ahead.digest.result(timeout=300) == known
    ahead.frame.result(timeout=300)
    (tmp_path / "t.csv").write_text("age\n1\n1\n")
    publish_policy(policy, tmp_path / "out", ahead=ahead)
    assert known in (tmp_path / "out" / "private" / "report.html").read_text()


@pytest.mark.parametrize("name", ["policy.toml", "./policy.toml", "../{}/policy.toml"])
def test_names_relative_to_the_working_folder_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    job(tmp_path)
    monkeypatch.chdir(tmp_path)
    ahead, read = read_ahead(Path(name.format(tmp_path.name))), read_policy(name.format(tmp_path.name))
    assert ahead is not None
    assert ahead.reads(read.source, read.nulls, read.folder)


def test_rows_that_another_policy_asked_for_are_not_taken(tmp_path: Path) -> None:
    ahead = read_ahead(job(tmp_path))
    policy = job(tmp_path, 'nulls = ["30"]\nmissing = "drop"')
    made = publish_policy(policy, tmp_path / "out", ahead=ahead)
    assert (made.summary.published, made.summary.dropped) == (3, 1)


def test_a_fault_of_the_file_is_told_where_the_rows_are_needed(tmp_path: Path) -> None:
    policy = job(tmp_path, text="age\n")
    ahead = read_ahead(policy)
    assert ahead is not None
    with pytest.raises(sf.DataError, match="no rows"):
        publish_policy(policy, tmp_path / "out", ahead=ahead)
    assert isinstance(ahead.ranks.exception(timeout=300), sf.DataError)


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "x = 1",
        "[data]\nsource = 3",
        '[data]\nsource = "absent.csv"',
        '[data]\nsource = "$HOME/t.csv"',
        '[data]\nsource = "sqlite:///t.csv"\nquery = "select 1"',
        '[data]\nsource = "t.csv"\nnulls = [1]',
        '[data]\nsource = "t.csv"\nunknown = 1',
        '[data]\nsource = "t.xlsx"',
    ],
)
def test_anything_unusual_is_left_to_the_policy(tmp_path: Path, text: str) -> None:
    pl.DataFrame({"age": [1]}).write_csv(tmp_path / "t.csv")
    (tmp_path / "t.xlsx").write_bytes(b"")
    (tmp_path / "policy.toml").write_text(text)
    assert read_ahead(tmp_path / "policy.toml") is None


def test_a_policy_that_cannot_be_read_is_left_to_the_policy(tmp_path: Path) -> None:
    assert read_ahead(tmp_path / "absent.toml") is None
    assert read_ahead(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "policy.toml")
    assert read_ahead(tmp_path / "policy.toml") is None
    os.mkfifo(tmp_path / "p.csv")
    (tmp_path / "other.toml").write_text('[data]\nsource = "p.csv"\n')
    assert read_ahead(tmp_path / "other.toml") is None
