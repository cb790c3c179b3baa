"""`sfumato compare` at the command line: what it prints and writes, and what it says to wrong input."""

import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli import main
from sfumato.publisher.policy import read_policy

POLICY = """title = "People <b>"
[data]
source = "people.csv"
[attributes]
age = "quasi"
zip = "quasi"
ill = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "l-diversity"
l = 2
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = range(60)
    ill, zips = ["abcdef"[i * 3 % 6] for i in rows], [f"z{i * 5 % 7 % 4}" for i in rows]
    pl.DataFrame({"age": [20 + i * 7 % 41 for i in rows], "zip": zips, "ill": ill}).write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "policy.toml"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    return int(end.value.code or 0)


BOTH = ("--method", "mondrian", "--method", "mondrian+", "--workers", "1")


def test_a_folder_with_the_comparison(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "comparison"
    assert run("compare", job, *BOTH, "--method", "pg", "--sweep", "k=2,4", "-o", out) == 0
    told = capsys.readouterr()
    assert "1  mondrian, k = 2" in told.out
    assert "4  mondrian+, k = 4" in told.out
    assert "\npg: pg " in told.out
    assert "Do not hand them over" in told.err
    assert sorted(p.name for p in out.iterdir()) == ["compare.csv", "compare.html", "compare.json", "compare.md"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in out.iterdir())
    assert "People &lt;b&gt;" in (out / "compare.html").read_text()
    found = json.loads((out / "compare.json").read_text())
    assert [p["k"] for p in found["points"]] == [2, 4, 2, 4]
    assert pl.read_csv(out / "compare.csv").height == 4
    kept = tmp_path / "cache" / "sfumato" / "compare"
    assert len(list(kept.iterdir())) == 4
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert run("compare", job, *BOTH, "-o", out) == 2
    assert "already exists" in capsys.readouterr().err
    assert run("compare", job, *BOTH, "-o", out, "--force") == 0
    (out / "notes.txt").write_text("mine")
    capsys.readouterr()
    assert run("compare", job, *BOTH, "-o", out, "--force") == 2
    assert "notes.txt" in capsys.readouterr().err


def test_one_file_and_json(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", job, *BOTH, "--json", "-o", tmp_path / "c.md") == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["method"] for p in found["points"]] == ["mondrian", "mondrian+"]
    assert found["points"][0]["refuted"]
    assert found["points"][1]["refuted"] is None
    assert (tmp_path / "c.md").read_text().startswith("# Comparison of methods: People")


def test_the_policy_of_a_point(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "sub" / "taken.toml"
    assert run("compare", job, *BOTH, "--sweep", "k=2,4", "--take", "4", "-o", taken) == 0
    assert "mondrian+, k = 4" in capsys.readouterr().out
    policy = read_policy(taken)
    assert policy.method.name == "mondrian+"
    assert policy.requirements[0].parameters()["k"] == 4
    assert run("publish", taken, "-o", tmp_path / "out") == 0
    assert run("compare", job, *BOTH, "--take", "9", "-o", tmp_path / "nine.toml") == 2
    assert "numbered from 1 to 2" in capsys.readouterr().err
    assert not (tmp_path / "nine.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--method", "mondrain"], "did you mean 'mondrian'"),
        (["--method", "pg"], "none of the methods can serve"),
        (["--sweep", "k"], "must be a parameter and its values, e.g. k=2,5,10"),
        (["--sweep", "k="], "must be a parameter and its values, e.g. k=2,5,10"),
        (["--sweep", "k=two"], "must be a parameter and its values, e.g. k=2,5,10"),
        (["--sweep", "k=inf"], "give numbers"),
        (["--sweep", "k=nan"], "give numbers"),
        (["--sweep", "k=2", "--sweep", "k=3"], "twice"),
        (["--sweep", "z=2"], "no requirement has a number 'z'"),
        (["--sweep", "k=0"], "k = 0"),
        (["--sweep", "k=1.5"], "k = 1.5"),
        (["--take", "1"], "name the file with -o"),
        (["--workers", "0"], "--workers"),
        (["--cache", ""], "the name is empty"),
    ],
)
def test_wrong_input(arguments: list[str], told: str, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", job, *arguments) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_nothing_is_written_into_a_release(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", job, "-o", tmp_path / "out") == 0
    for place in ("c.html", "c"):
        assert run("compare", job, *BOTH, "-o", tmp_path / "out" / "release" / place) == 2
        assert "but a comparison is private" in capsys.readouterr().err
    assert run("compare", job, *BOTH, "-o", tmp_path / "people.csv") == 2
    assert run("compare", tmp_path / "none.toml") == 2


sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def page(job: Path, tmp_path: Path) -> Iterator[Any]:
    """The page of a comparison in a browser, with what it asked for or complained of."""
    assert run("compare", job, "--workers", "1", "--sweep", "l=2,3", "-o", tmp_path / "c.html") == 0
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.troubles = []
        opened.on("console", lambda message: opened.troubles.append(message.text))
        opened.on("request", lambda request: opened.troubles.append(request.url))
        opened.goto((tmp_path / "c.html").as_uri())
        yield opened
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_page_in_a_browser(page: Any, tmp_path: Path) -> None:
    assert page.troubles == [(tmp_path / "c.html").as_uri()]
    for section in ("picture", "table", "meanings", "refuted", "absent"):
        assert page.locator(f"section#{section} h2").is_visible()
    assert page.get_by_text("PRIVATE: do not hand over").first.is_visible()
    assert page.locator("svg.cmp circle.dot").count() >= 4
    assert page.locator("tr.best").count() >= 1
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_if_no_point_can_publish_the_command_fails_and_still_shows_why(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", job, *BOTH, "--sweep", "k=61,100") == 3
    told = capsys.readouterr()
    assert "mondrian+, k = 100" in told.out
    assert "none of the 4 points can publish this table; the first one: " in told.err
    assert run("compare", job, *BOTH, "--sweep", "k=3,100") == 0
