"""Twice is not once: the ledger beside the source notices a second release of a table, and never stops a first."""

import datetime as dt
import errno
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.datasets import example_folder
from sfumato.errors import OutputError
from sfumato.method.catalogue import METHODS
from sfumato.publisher.ledger import LEDGER
from sfumato.publisher.publish import Published, publish_policy
from sfumato.release.files import stages
from sfumato.table.digest import table_digest

POLICY = """[data]
source = "ward.csv"
[attributes]
age = { role = "quasi", kind = "continuous" }
ill = { role = "sensitive" }
[[require]]
model = "l-diversity"
variant = "frequency"
l = 2
[method]
name = "METHOD"
"""


def ward(rows: int = 30) -> pl.DataFrame:
    return pl.DataFrame({"age": [20 + (7 * i) % 50 for i in range(rows)], "ill": ["flu", "HIV", "gout"] * (rows // 3)})


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ward().write_csv("ward.csv")
    for name in ("anatomy", "mondrian", "mondrian+", "mondrian++"):
        Path(f"{name}.toml").write_text(POLICY.replace("METHOD", name))
    return tmp_path


def entries(path: Path | str = LEDGER) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(path).read_text())["releases"]
    return found


def entry(**parts: Any) -> str:
    """A ledger with one release of the ward, by another policy."""
    of = {"table": table_digest(ward()), "policy": "p", "method": "m", "folder": "f", "date": "d", "manifest": "x"}
    return json.dumps({"releases": [{**of, "finished": True, **parts}]})


def of_ledger(made: Published) -> list[str]:
    return [w for w in made.warnings if "published" in w]


def test_the_first_release_is_written_down_and_not_warned_of(house: Path) -> None:
    made = publish_policy("anatomy.toml", "out")
    assert of_ledger(made) == []
    assert made.notes == ()
    [entry] = entries()
    assert entry["method"] == "anatomy"
    assert entry["folder"] == str(house / "out")
    assert entry["finished"] is True
    assert stat.S_IMODE(Path(LEDGER).stat().st_mode) == 0o600
    assert "flu" not in Path(LEDGER).read_text()


def test_a_second_release_with_fresh_draws_is_warned_of_everywhere(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_policy("anatomy.toml", "out")
    with pytest.raises(SystemExit) as end:
        main(["publish", "anatomy.toml", "-o", "again"])
    assert end.value.code in (0, None)
    told = capsys.readouterr().err
    assert f"in {house / 'out'}: hand over that release again" in told
    assert "31% (anatomy)" in told
    report = (house / "again" / "private" / "report.html").read_text()
    assert "hand over that release again" in report
    third = publish_policy("anatomy.toml", "third")
    assert "published under this policy 2 times, last on" in " ".join(third.warnings)
    assert len(entries()) == 3
    for file in [*(house / "again" / "release").iterdir()]:
        assert str(house).encode() not in file.read_bytes()


def test_force_says_that_it_redraws(house: Path) -> None:
    publish_policy("anatomy.toml", "out")
    made = publish_policy("anatomy.toml", "out", force=True)
    assert "--force replaces it with a release made with fresh draws" in of_ledger(made)[0]
    made = publish_policy("anatomy.toml", "third")
    assert "2 times" in of_ledger(made)[0]


def test_a_method_without_draws_is_noted_not_warned_of(house: Path) -> None:
    publish_policy("mondrian+.toml", "out")
    made = publish_policy("mondrian+.toml", "again")
    assert of_ledger(made) == []
    assert "mondrian+ makes the same release" in made.notes[0]


def test_another_policy_is_a_composition(house: Path) -> None:
    publish_policy("mondrian+.toml", "out")
    made = publish_policy("anatomy.toml", "again")
    assert "published under another policy on" in of_ledger(made)[0]
    assert "by mondrian+ in" in of_ledger(made)[0]
    assert "combine" in of_ledger(made)[0]


def test_the_title_and_comments_do_not_make_another_policy_but_a_taxonomy_does(house: Path) -> None:
    tree = 'ill = { role = "sensitive", taxonomy = "tree.json" }'
    Path("tree.json").write_text('{"Any": ["flu", "HIV", "gout"]}')
    text = Path("mondrian+.toml").read_text().replace('ill = { role = "sensitive" }', tree)
    Path("a.toml").write_text(text)
    Path("b.toml").write_text('title = "Other"  # a comment\n' + text)
    publish_policy("a.toml", "a")
    made = publish_policy("b.toml", "b")
    assert of_ledger(made) == []
    assert len(made.notes) == 1
    Path("tree.json").write_text('{"Any": {"infect": ["flu", "HIV"], "gout": {}}}')
    assert "other policies 2 times" in of_ledger(publish_policy("b.toml", "c"))[0]


def test_the_same_table_is_found_under_another_name_and_in_another_order(house: Path) -> None:
    publish_policy("anatomy.toml", "out")
    ward().reverse().select("ill", "age").write_parquet("copy.parquet")
    Path("copy.toml").write_text(POLICY.replace("METHOD", "anatomy").replace("ward.csv", "copy.parquet"))
    assert len(of_ledger(publish_policy("copy.toml", "copy"))) == 1
    ward(33).write_csv("ward.csv")
    assert of_ledger(publish_policy("anatomy.toml", "grown")) == []


def test_a_seed_repeats_the_draws(house: Path) -> None:
    publish_policy("anatomy.toml", "a", seed=1)
    made = publish_policy("anatomy.toml", "b", seed=1)
    assert of_ledger(made) == []
    assert len(made.notes) == 1
    assert len(of_ledger(publish_policy("anatomy.toml", "c", seed=2))) == 1


def test_a_release_that_is_gone_is_said_to_be_gone(house: Path) -> None:
    publish_policy("anatomy.toml", "out")
    Path("out").rename("elsewhere")
    assert "no longer holds it" in of_ledger(publish_policy("anatomy.toml", "again"))[0]


@pytest.mark.parametrize(
    "damage",
    [
        *("{", "[]", "null", '{"releases": 5}', '{"releases": [{}]}', '{"releases": [{"table": 1}]}', "\x00"),
        *("[" * 9999, entry(seed=[1]), entry(folder="a\0b")),
    ],
)
def test_a_damaged_ledger_is_set_aside(damage: str, house: Path) -> None:
    Path(LEDGER).write_text(damage)
    made = publish_policy("anatomy.toml", "out")
    assert any("was damaged and has been renamed to" in w for w in made.warnings)
    assert len(entries()) == 1
    [aside] = house.glob(f"{LEDGER}.damaged-*")
    assert aside.read_text() == damage
    assert len(of_ledger(publish_policy("anatomy.toml", "again"))) == 1


@pytest.mark.parametrize("kind", ["folder", "link", "dangling", "pipe"])
def test_a_ledger_that_cannot_be_read_is_said_and_no_obstacle(kind: str, house: Path) -> None:
    ledger = house / LEDGER
    if kind == "folder":
        ledger.mkdir()
    elif kind == "pipe":
        os.mkfifo(ledger)
    else:
        ledger.symlink_to(house / ("ward.csv" if kind == "link" else "nowhere"))
    before = Path("ward.csv").read_bytes()
    made = publish_policy("anatomy.toml", "out")
    assert any("cannot be read" in w for w in made.warnings)
    assert any("could be written" in w for w in made.warnings)
    assert Path("ward.csv").read_bytes() == before


@pytest.mark.parametrize("folder", ["\x1b[31mred", "\udcff", "a\nb"])
def test_a_folder_that_does_not_print_is_shown_as_escapes(folder: str, house: Path) -> None:
    Path(LEDGER).write_text(entry(folder=folder))
    [warning] = of_ledger(publish_policy("anatomy.toml", "out"))
    assert warning.isprintable()
    assert len(entries()) == 2


def test_a_pipe_in_the_place_of_an_earlier_release_is_not_waited_for(house: Path) -> None:
    (house / "old" / "release").mkdir(parents=True)
    os.mkfifo(house / "old" / "release" / "manifest.json")
    Path(LEDGER).write_text(entry(folder=str(house / "old")))
    [warning] = of_ledger(publish_policy("anatomy.toml", "out"))
    assert "which no longer holds it" in warning


def test_a_ledger_that_cannot_be_locked_is_read(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*arguments: object, **settings: object) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    publish_policy("anatomy.toml", "out")
    monkeypatch.setattr("sfumato.publisher.ledger.locked", read_only)
    made = publish_policy("anatomy.toml", "again")
    assert any("hand over that release again" in w for w in made.warnings)
    assert any("could be written" in w for w in made.warnings)


def test_no_ledger_comes_into_a_release(house: Path) -> None:
    publish_policy("mondrian.toml", "out")
    (house / "twice").mkdir()
    source = POLICY.replace("METHOD", "anatomy").replace("ward.csv", "../out/release/data.csv")
    Path("twice/p.toml").write_text(source.replace('kind = "continuous"', 'kind = "categorical"'))
    publish_policy("twice/p.toml", "twice/out")
    sf.load("out/release").check()
    assert len(entries("twice/" + LEDGER)) == 1


def test_a_job_in_a_folder_whose_name_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    try:
        Path(odd).mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    monkeypatch.chdir(odd)
    ward().write_csv(tmp_path / "ward.csv")
    Path("p.toml").write_text(POLICY.replace("METHOD", "anatomy").replace("ward.csv", "../ward.csv"))
    assert of_ledger(publish_policy("p.toml", "out")) == []
    assert len(of_ledger(publish_policy("p.toml", "again"))) == 1


def test_beside_the_policy_where_the_source_cannot_be(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (house / "data").mkdir()
    Path("ward.csv").rename("data/ward.csv")
    Path("p.toml").write_text(POLICY.replace("METHOD", "anatomy").replace("ward.csv", "data/ward.csv"))
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "data" and access(path, mode))
    assert publish_policy("p.toml", "out").warnings == publish_policy("p.toml", "out2", ledger=False).warnings
    assert not (house / "data" / LEDGER).exists()
    assert len(entries()) == 1
    assert len(of_ledger(publish_policy("p.toml", "again"))) == 1


def test_nowhere_to_write_is_a_warning(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    made = publish_policy("anatomy.toml", "out")
    assert any("could be written next to the source or the policy" in w for w in made.warnings)


def test_the_bundled_example_has_no_ledger(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(example_folder().iterdir())
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main(["demo", "-o", "demo", "--force"])
        assert end.value.code in (0, None)
    assert "published" not in capsys.readouterr().err
    publish_policy(example_folder() / "policy.toml", "out")
    assert sorted(example_folder().iterdir()) == before
    assert not Path(LEDGER).exists()


def test_a_release_that_never_came_is_not_counted(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry is written before the release takes its place; if it then does not, nothing was published."""

    def fail(stage: str) -> None:
        if stage == "before exchange":
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(stages, "reached", fail)
        with pytest.raises(OutputError):
            publish_policy("anatomy.toml", "out")
    assert of_ledger(publish_policy("anatomy.toml", "out")) == []
    assert len(entries()) == 1


def test_jobs_side_by_side_are_all_written_down(house: Path) -> None:
    jobs = [
        threading.Thread(target=publish_policy, args=("anatomy.toml", f"out{i}"), kwargs={"seed": i}) for i in range(6)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert sorted(e["seed"] for e in entries()) == list(range(6))
    assert all(e["finished"] for e in entries())


def test_every_method_says_whether_it_draws() -> None:
    quiet = {"mondrian", "mondrian+", "hilb", "hilb+", "incognito", "local-recoding", "tdr", "tdd", "tdssa"}
    assert {name for name, method in METHODS.items() if method().redrawn() is None} == quiet
    assert METHODS["mondrian"](strict=False).redrawn() is not None  # type: ignore[call-arg]


def test_cells_not_order_make_the_digest() -> None:
    frame = pl.DataFrame({"^a.*$": [1, 2, None], "b": ["x", "y", ""]})
    assert table_digest(frame) == table_digest(frame.reverse().select("b", pl.col("*").exclude("b")))
    for other in (
        frame.with_columns(b=pl.Series(["y", "x", ""])),
        frame.with_columns(b=pl.Series(["x", "y", None])),
        frame.head(2),
        frame.rename({"b": "c"}),
    ):
        assert table_digest(other) != table_digest(frame)


@pytest.mark.parametrize(
    ("one", "other"),
    [([[1], [2]], [[1], [3]]), ([b"\xff", b"a"], [b"\xfe", b"a"]), ([dt.timedelta(1)], [dt.timedelta(2)])],
)
def test_cells_of_every_type_count(one: list[Any], other: list[Any]) -> None:
    assert table_digest(pl.DataFrame({"x": one})) == table_digest(pl.DataFrame({"x": one[::-1]}))
    assert table_digest(pl.DataFrame({"x": one})) != table_digest(pl.DataFrame({"x": other}))
    structs = [pl.DataFrame({"x": [{"y": cell} for cell in cells]}) for cells in (one, other)]
    assert table_digest(structs[0]) != table_digest(structs[1])
