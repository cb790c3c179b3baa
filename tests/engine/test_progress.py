"""What a listener is told on each engine: stages, shares, rows, and the time that is left."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.duckdb.engine import DuckDBEngine
from sfumato.engine.progress import Share, silent, watched, with_rows
from sfumato.engine.spark.engine import SparkEngine
from sfumato.engine.stored_rows import Limits
from sfumato.publisher.log import Log

POLICY = """[data]
source = "t.parquet"
[attributes]
age = "quasi"
ill = "sensitive"
[[require]]
model = "k-anonymity"
k = 5
[method]
name = "mondrian"
[engine]
name = "{}"
master = "local[2,3]"
"""


def told(folder: Path, engine: str, **settings: Any) -> list[tuple[str, float]]:
    frame = pl.DataFrame({"age": [i % 40 for i in range(600)], "ill": ["abc"[i % 3] for i in range(600)]})
    frame.write_parquet(folder / "t.parquet")
    text = POLICY.format(engine)
    (folder / "policy.toml").write_text(text if engine == "spark" else text.replace('master = "local[2,3]"\n', ""))
    heard: list[tuple[str, float]] = []
    listener = settings.pop("progress", lambda stage, done: heard.append((stage, done)))
    sf.publish_policy(folder / "policy.toml", folder / "out", ledger=False, progress=listener, **settings)
    return heard


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in (DuckDBEngine, SparkEngine):
        read = engine.read
        monkeypatch.setattr(engine, "read", partial(read, limits=Limits(in_memory=100, part_rows=200)))


@pytest.mark.parametrize("engine", ["local", "duckdb", "spark"])
def test_every_engine_tells_stages_and_rows(
    engine: str, tmp_path: Path, in_parts: None, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    heard = told(tmp_path, engine)
    stages = list(dict.fromkeys(stage for stage, _ in heard))
    assert stages[:4] == ["read", "code", "compress", "cuts"]
    assert all(0 <= done <= 1 for _, done in heard)
    after = [done for stage, done in heard if stage not in ("read", "done")]
    assert all(isinstance(done, Share) and done.rows == 600 for done in after)
    cuts = [done for stage, done in heard if stage == "cuts" and isinstance(done, Share) and done.done is not None]
    assert cuts[-1] == 1
    assert cuts[-1].done == 600
    assert all(share == share.done / 600 for share in cuts if share.done is not None)
    if engine != "local":
        for counted in ("order", "parts"):
            assert [d.done for s, d in heard if s == counted and isinstance(d, Share)][-1] == 600
    log = (tmp_path / "out/private/log.txt").read_text()
    assert " compress: 600 rows\n" in log
    assert " cuts: 600 rows\n" in log


def test_a_listener_of_two_plain_arguments_still_serves(tmp_path: Path) -> None:
    found: dict[str, float] = {}

    def listen(stage: str, done: float) -> None:
        found[stage] = round(done + 0.0, 2)

    told(tmp_path, "duckdb", progress=listen)
    assert found["cuts"] == 1.0


def test_the_log_says_now_and_then_how_far_a_long_stage_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    log = Log()
    hear = log.listening(silent)
    for second in range(0, 40, 2):
        now[0] = float(second)
        hear("cuts", Share.of_rows(second * 10, 400))
    lines = [line.partition(" ")[2] for line in log.lines]
    assert lines == [
        "cuts: 0 of 400 rows",
        "cuts: 100 of 400 rows, about 30 s left",
        "cuts: 200 of 400 rows, about 20 s left",
        "cuts: 300 of 400 rows, about 10 s left",
    ]


def test_a_long_call_is_told_and_stopped() -> None:
    heard: list[float] = []
    told, ended, stopped = threading.Event(), threading.Event(), list[bool]()

    def hear(share: float) -> None:
        heard.append(share)
        told.set()

    def stop() -> None:
        stopped.append(True)
        ended.set()

    assert watched(lambda: told.wait(60) and 7, lambda: 0.5, hear, lambda: None) == 7
    assert set(heard) == {0.5}

    def refuse(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched(lambda: ended.wait(60), lambda: -1.0, refuse, stop)
    assert stopped == [True]
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 // 0, lambda: 0.0, heard.append, lambda: None)


def test_rows_are_told_with_every_share_unless_they_are_known() -> None:
    heard: list[Share] = []
    tell = with_rows(lambda stage, done: heard.append(done), 50)  # type: ignore[arg-type]
    tell("labels", 0.0)
    tell("cuts", Share.of_rows(1, 4))
    assert [(share.rows, share.done) for share in heard] == [(50, None), (4, 1)]
    assert with_rows(silent, 50) is silent
