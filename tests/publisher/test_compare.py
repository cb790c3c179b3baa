"""Comparisons: the frontier, sweeps, the cache, resuming, workers that die, and the policy of a point."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.publisher.compare import workers
from sfumato.publisher.compare.cache import OutcomeCache, key_of
from sfumato.publisher.compare.compare import compare_policy
from sfumato.publisher.compare.figures import Figures, Outcome, outcome_of
from sfumato.publisher.compare.frontier import frontier
from sfumato.publisher.compare.points import Point, checked_sweep, planned
from sfumato.publisher.policy import parse_policy
from sfumato.table.digest import coded_digest

ROWS = 60
K, L = sf.KAnonymity(k=3), sf.LDiversity(l=2)


def frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i * 7 % 41 for i in range(ROWS)],
            "zip": [f"{i * 5 % 7 % 4}" for i in range(ROWS)],
            "ill": ["abcdef"[i * 3 % 6] for i in range(ROWS)],
            "back": ["yes" if i % 3 else "no" for i in range(ROWS)],
        }
    )


def table() -> sf.Microdata:
    return sf.read(frame(), quasi=["age", "zip"], sensitive="ill", class_="back")


def naive_frontier(pairs: list[tuple[int, int]]) -> list[int]:
    """The twin: whoever is not beaten, by comparing everyone with everyone."""

    def beats(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    return [i for i, p in enumerate(pairs) if not any(beats(q, p) for q in pairs)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_the_frontier_is_what_nobody_beats(pairs: list[tuple[int, int]]) -> None:
    assert frontier([(float(a), float(b)) for a, b in pairs]) == naive_frontier(pairs)


@pytest.fixture(scope="module")
def compared() -> Any:
    return sf.compare(table(), require=L, methods=["mondrian", "mondrian+", "anatomy", "pg"], workers=1)


def test_figures_of_every_point(compared: Any) -> None:
    assert compared.frame["method"].to_list() == ["mondrian", "mondrian+", "anatomy"]
    assert compared.frame["point"].to_list() == [1, 2, 3]
    assert compared.frame["refuted"].to_list() == [True, False, False]
    assert set(compared.unserved) == {"pg"}
    for name in ("gain_worst", "gain_mean", "linked", "query_error", "class_error", "correlation", "loss"):
        assert compared.frame[name].null_count() == 0, name
    assert (compared.frame["gain_worst"] <= 0.5).all(), "l = 2 leaves at most one half"
    assert compared.frame["linked"][2] == 1.0, "a bucketized release shows exact quasi-identifiers"
    assert compared.frame["loss"][2] == 0.0


def test_refuted_methods_are_not_on_the_frontier(compared: Any) -> None:
    assert 1 not in compared.frontier
    assert compared.frontier
    assert compared.frame.filter(pl.col("frontier"))["point"].to_list() == compared.frontier
    alone = sf.compare(table(), require=L, methods=["mondrian"], workers=1)
    assert alone.frontier == [1], "if all are refuted, one of them still is best"


def test_it_shows_itself(compared: Any) -> None:
    picture = compared.plot()
    assert picture.startswith("<svg")
    assert "mondrian+" in picture
    assert compared.plot("linked", "loss") != picture
    with pytest.raises(PolicyError, match="there is no figure 'los'"):
        compared.plot("linked", "los")
    assert "<table>" in compared._repr_html_()
    assert repr(compared).endswith("private>")
    text = compared.markdown()
    assert text.count("|") > 20
    assert "Do not hand them over" in text
    page = compared.html()
    assert page.count("<tr") == 4
    assert "PRIVATE" in page
    assert "<script" not in page


def test_the_policy_of_a_point_states_requirements_and_method() -> None:
    found = sf.compare(table(), require=[K, L], methods=["mondrian+"], sweep={"k": [2, 4]}, workers=1)
    assert found.frame["k"].to_list() == [2, 4]
    assert "k = 4" in found.policy(2)
    assert 'name = "mondrian+"' in found.policy(2)
    with pytest.raises(PolicyError, match="numbered from 1 to 2"):
        found.policy(3)


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        ({"q": [1]}, "no requirement has a number 'q'"),
        ({"k": []}, "give numbers"),
        ({"k": "23"}, "give numbers"),
        ({"k": [True]}, "give numbers"),
        ({"k": [float("nan")]}, "give numbers"),
        ({"k": list(range(2, 2000))}, "at most 1,000"),
    ],
)
def test_wrong_sweeps(sweep: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        sf.compare(table(), require=K, methods=["mondrian"], sweep=sweep, workers=1)


def test_a_swept_value_must_be_one_that_the_model_allows() -> None:
    with pytest.raises(PolicyError, match="k = 0"):
        sf.compare(table(), require=K, methods=["mondrian"], sweep={"k": [0]}, workers=1)


def test_wrong_arguments() -> None:
    with pytest.raises(PolicyError, match="there is no method 'mondrain'"):
        sf.compare(table(), require=K, methods=["mondrain"])
    with pytest.raises(PolicyError, match="workers = 0"):
        sf.compare(table(), require=K, workers=0)
    with pytest.raises(PolicyError, match="none of the methods can serve"):
        sf.compare(table(), require=K, methods=["pg"], workers=1)
    with pytest.raises(PolicyError, match="no method is named"):
        sf.compare(table(), require=K, methods=[], workers=1)


def test_what_a_method_refuses_when_it_runs_is_listed() -> None:
    found = sf.compare(table(), require=sf.LDiversity(l=40), methods=["mondrian", "mondrian+"], workers=1)
    assert all(found.frame["why"].str.contains("l-diversity"))
    assert found.frontier == []
    assert found.frame["loss"].null_count() == 2


def test_the_same_point_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sf.compare(table(), require=[K, L], methods=["mondrian", "mondrian+"], workers=1, cache=tmp_path / "c")
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    kept = sorted((tmp_path / "c").iterdir())
    assert len(kept) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)
    monkeypatch.setattr(workers, "outcome_of", lambda point, rows: pytest.fail("measured again"))
    again = sf.compare(table(), require=[K, L], methods=["mondrian", "mondrian+"], workers=1, cache=tmp_path / "c")
    assert again.frame.equals(first.frame)


def test_a_different_table_policy_or_method_is_another_point() -> None:
    rows = table()
    digest = coded_digest(rows)
    plan = planned(rows, [K, L], [sf.Mondrian(), sf.Mondrian(labels="nodes"), sf.MondrianPlus()], {"k": [2, 3]})
    keys = {key_of(p, digest) for p in plan.points}
    assert len(keys) == len(plan.points) == 6
    other = sf.read(frame().with_columns(ill=pl.lit("a")), quasi=["age", "zip"], sensitive="ill", class_="back")
    assert coded_digest(other) != digest
    roles = sf.read(frame(), quasi=["age", "zip"], sensitive="ill", insensitive=["back"])
    assert coded_digest(roles) != digest
    tree = sf.read(frame(), quasi=["age", "zip"], sensitive="ill", class_="back", taxonomies={"zip": {"*": [*"0123"]}})
    assert coded_digest(tree) != coded_digest(
        sf.read(
            frame(),
            quasi=["age", "zip"],
            sensitive="ill",
            class_="back",
            taxonomies={"zip": {"*": {"low": ["0", "1"], "high": ["2", "3"]}}},
        )
    )
    assert digest == coded_digest(table())


def _point() -> Point:
    return Point(number=1, method=sf.Mondrian(), requirements=(K,))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"key": "', '"key": "0'),
        lambda text: text.replace('"rows": 60', '"rows": "60"'),
        lambda text: text.replace('"rows": 60', '"rows": NaN'),
        lambda text: text.replace('"rows": 60', '"more": 60'),
        lambda text: text.replace('"refused": null', '"refused": 3'),
        lambda text: text.replace('"refused": null', '"refused": "no"'),
        lambda text: text + " " * (2 << 20),
    ],
)
def test_a_damaged_outcome_is_measured_again(damage: Any, tmp_path: Path) -> None:
    cache, rows = OutcomeCache.at(tmp_path / "c"), table()
    key = key_of(_point(), coded_digest(rows))
    outcome = outcome_of(_point(), rows)
    cache.put(key, outcome)
    assert cache.get(key) == outcome
    (place,) = (tmp_path / "c").iterdir()
    place.write_text(damage(place.read_text()))
    assert cache.get(key) is None
    cache.put(key, outcome)
    assert cache.get(key) == outcome


def test_what_failed_is_not_kept_and_a_link_is_not_followed(tmp_path: Path) -> None:
    cache = OutcomeCache.at(tmp_path / "c")
    cache.put("0", Outcome(failed="lack of memory"))
    assert not list((tmp_path / "c").iterdir())
    cache.put("0", Outcome(figures=Figures(rows=1)))
    (tmp_path / "c" / "1.json").symlink_to(tmp_path / "c" / "0.json")
    assert cache.get("1") is None


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = sf.compare(table(), require=K, methods=["mondrian"], workers=1, cache=tmp_path / "file" / "c")
    assert found.frame["loss"].null_count() == 0


def test_nothing_private_goes_into_a_release(tmp_path: Path) -> None:
    sf.publish(table(), require=K).write(tmp_path / "release")
    with pytest.raises(sf.OutputError, match="private"):
        sf.compare(table(), require=K, workers=1, cache=tmp_path / "release" / "c")


def test_two_processes_find_what_one_finds() -> None:
    required, methods = [K, L], ["mondrian", "mondrian+", "incognito"]
    one = sf.compare(table(), require=required, methods=methods, workers=1)
    two = sf.compare(table(), require=required, methods=methods, workers=2)
    figures = ["method", "gain_worst", "gain_mean", "linked", "query_error", "loss", "groups"]
    assert_frame_equal(two.frame.select(figures), one.frame.select(figures))


def test_a_process_that_dies_costs_its_own_point_only() -> None:
    """A point whose method is too large to be sent back ends its process; the others are measured by another one."""
    rows = table()
    deadly = Point(number=2, method=_Deadly(), requirements=(K,))
    points = [_point(), deadly, Point(number=3, method=sf.MondrianPlus(), requirements=(K, L))]
    found: dict[int, Outcome] = {}
    workers.measure_all(points, rows, workers=2, told=lambda p, o: found.update({p.number: o}))
    assert found[1].figures is not None
    assert found[3].figures is not None
    assert found[2].failed is not None
    assert "its process ended" in found[2].failed


class _Deadly:
    """Stands for a method; to receive it, a process has to run what ends it."""

    def __reduce__(self) -> Any:
        return os._exit, (9,)


SCRIPT = """
import sys, time
from pathlib import Path
import polars as pl, sfumato as sf
from sfumato.publisher.compare import workers
measure = workers.outcome_of
def slow(point, rows):
    if point.number > 1:
        print("waiting", flush=True)
        time.sleep(600)
    return measure(point, rows)
workers.outcome_of = slow
rows = sf.read(pl.read_csv(sys.argv[1]), quasi=["age", "zip"], sensitive="ill", class_="back")
required = [sf.KAnonymity(k=3), sf.LDiversity(l=2)]
sf.compare(rows, require=required, methods=["mondrian", "mondrian+"], workers=1, cache=sys.argv[2])
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_comparison_that_was_ended_goes_on_where_it_was(end: signal.Signals, tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "t.csv")
    arguments = [sys.executable, "-c", SCRIPT, str(tmp_path / "t.csv"), str(tmp_path / "c")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(end)
        assert process.wait(120) != 0
    (kept,) = (tmp_path / "c").iterdir()
    before = kept.stat().st_mtime_ns
    time.sleep(0.01)
    rows = sf.read(pl.read_csv(tmp_path / "t.csv"), quasi=["age", "zip"], sensitive="ill", class_="back")
    found = sf.compare(rows, require=[K, L], methods=["mondrian", "mondrian+"], workers=1, cache=tmp_path / "c")
    assert found.frame["loss"].null_count() == 0
    assert kept.stat().st_mtime_ns == before, "the finished point was not measured again"
    assert len(list((tmp_path / "c").iterdir())) == 2


POLICY = """title = "People"
[data]
source = "people.csv"
[attributes]
age = "quasi"
zip = { role = "quasi", taxonomy = "zip.json" }
ill = "sensitive"
back = "class"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "l-diversity"
l = 2
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    frame().write_csv(tmp_path / "in" / "people.csv")
    (tmp_path / "in" / "zip.json").write_text(json.dumps({"*": {"low": ["0", "1"], "high": ["2", "3"]}}))
    (tmp_path / "in" / "policy.toml").write_text(POLICY)
    return tmp_path / "in" / "policy.toml"


def test_the_policy_of_a_point_can_be_published_from_elsewhere(job: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    names = ["mondrian", "mondrian+"]
    found = compare_policy(job, methods=names, sweep={"k": [2, 5]}, workers=1, keep=False, folder=there)
    (there / "policy.toml").write_text(found.policy(4))
    taken = parse_policy(found.policy(4), folder=there)
    assert [r.parameters().get("k") for r in taken.requirements] == [5, None]
    assert taken.method == sf.MondrianPlus()
    made = sf.publish_policy(there / "policy.toml", tmp_path / "out").release
    assert made.description.requirements[0].achieved["k"] >= 5
    assert made.description.method.chosen is None, "the policy names it now"


def test_checked_sweep_reaches_only_numbers() -> None:
    assert checked_sweep({"l": [2, 2.5, 2]}, [K, L]) == {"l": [2, 2.5]}
    with pytest.raises(PolicyError, match="no requirement has a number 'variant'"):
        checked_sweep({"variant": [1]}, [L])
