"""The Spark engine: pieces, whole jobs, and tasks that fail once; `test_same_release` compares its releases."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.base import AsIs, Engine
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.pieces import Pieces
from sfumato.engine.settings import EngineSettings
from sfumato.engine.spark.engine import SparkEngine
from sfumato.engine.spark.executors import on_executors
from sfumato.engine.spark.session import _is_no_interrupt
from sfumato.method.piecewise import PieceCutting
from sfumato.table.encode import Attribute, Role

SETTINGS = EngineSettings(name="spark", master="local[2,3]")
"""Two threads; a task may fail twice before the job does."""
ROLES = {"age": Role.QUASI, "job": Role.QUASI, "ill": Role.SENSITIVE, "note": Role.INSENSITIVE, "who": Role.IDENTIFIER}


def attributes(columns: Sequence[str]) -> list[Attribute]:
    return [Attribute(name=n, role=ROLES[n]) for n in columns]


def table(rows: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 40, rows) / 2,
            "job": [None if i % 11 == 0 else j for i, j in enumerate(rng.choice(["clerk", "boss"], rows))],
            "ill": rng.choice(["a", "b", "c"], rows),
            "note": rng.choice(["1", "2"], rows),
            "who": [f"p{i % 100}" for i in range(rows)],
        }
    )


def rows_of(release: sf.Release) -> Counter[Any]:
    return Counter(map(str, release.tables["data"].rows()))


def made(engine: Engine, method: Any, require: Any) -> sf.Release:
    return method.release(engine.prepared(method.prepared), [require], draws=Draws())  # type: ignore[no-any-return]


def test_spark_counts_what_memory_counts(spark: Any) -> None:
    there = SparkEngine.read(table(), attributes, missing="category", settings=SETTINGS)
    here = LocalEngine.read(table(), attributes, missing="category")
    assert dict(there.tally("who").iter_rows()) == dict(here.tally("who").iter_rows())
    assert there.table.people(["who"]) == here.table.people(["who"]) == (100, 20)
    assert there.digest() == SparkEngine.read(table().reverse(), attributes, missing="drop", settings=SETTINGS).digest()


@pytest.mark.parametrize("killed", [False, True], ids=["fails", "killed"])
def test_an_executor_that_fails_cuts_its_piece_again(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, killed: bool
) -> None:
    names, marks, first = ["age", "job", "ill"], str(tmp_path), PieceCutting.of
    whole = table(200).select(names)
    here = LocalEngine.read(whole, attributes, missing="category")
    monkeypatch.setattr("sfumato.engine.values.BYTES_PER_VECTOR", SETTINGS.memory_bytes // 2 // 60)
    monkeypatch.setattr("sfumato.engine.values.BYTES_PER_CODE", 0)

    def failing(pieces: Pieces, cutting: Any) -> Any:
        work = first(pieces, cutting)

        def fails_once(codes: Any, weights: Any) -> Any:
            from pyspark import TaskContext

            made, context = work(codes, weights), TaskContext.get()
            mark = Path(marks) / f"{context.stageId()}-{context.partitionId()}"
            if not mark.exists():
                mark.touch()
                if killed:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("a worker died")
            return made

        return fails_once

    there = SparkEngine.read(whole, attributes, missing="category", settings=SETTINGS)
    assert there.pieces is not None
    monkeypatch.setattr(PieceCutting, "of", failing)
    one, two = (made(e, sf.Mondrian(), sf.LDiversity(l=2)) for e in (here, there))
    assert list(tmp_path.iterdir())
    assert two.manifest == one.manifest
    assert rows_of(two) == rows_of(one)


def test_executors_that_lose_a_piece_or_lack_sfumato_are_noticed(spark: Any) -> None:
    spark.createDataFrame([(0, 1, 2), (1, 1, 3)], "region int, q0 int, n long").createOrReplaceTempView("two")

    def lacking(codes: Any, weights: Any) -> Any:
        raise ModuleNotFoundError("No module named 'sfumato'")

    question = "select * from two"
    found = on_executors(spark, question, 2, [2], lambda codes, weights: [*codes, weights], lambda share: None)
    assert [[a.tolist() for a in piece] for piece in found] == [[[1], [2]], [[1], [3]]]
    with pytest.raises(sf.SfumatoError, match="3 pieces were cut by executors, but 2 came back"):
        on_executors(spark, question, 3, [2], lambda codes, weights: [*codes, weights], lambda share: None)
    with pytest.raises(sf.PolicyError, match="cannot import sfumato"):
        on_executors(spark, question, 2, [2], lacking, lambda share: None)


def test_a_job_on_files_and_on_a_table_of_the_cluster(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for i in range(2):
        table().slice(60 * i, 60).write_csv(tmp_path / "parts" / f"{i}.csv")
    roles = "\n".join(f'{name} = "{role}"' for name, role in ROLES.items())
    rest = f'missing = "category"\n[attributes]\n{roles}\n[[require]]\nmodel = "k-anonymity"\nk = 3\n'
    rest += '[method]\nname = "mondrian"\n[engine]\nmaster = "local[2,3]"\n'
    (tmp_path / "policy.toml").write_text(f'[data]\nsource = "parts"\n{rest}')
    one = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "one", engine="spark", ledger=False).release
    two = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "two", engine="duckdb", ledger=False).release
    assert one.manifest == two.manifest
    assert rows_of(one) == rows_of(two)
    spark.read.csv(str(tmp_path / "parts"), header=True).createOrReplaceTempView("people")
    source = 'source = "spark://"\nquery = "select * from people"'
    (tmp_path / "policy.toml").write_text(f"[data]\n{source}\n{rest}")
    three = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "three", ledger=False).release
    assert rows_of(three) == rows_of(one)


@pytest.mark.parametrize("killed", [False, True], ids=["fails", "killed"])
def test_a_task_that_fails_runs_again_with_the_same_rows(spark: Any, tmp_path: Path, killed: bool) -> None:
    """Each task fails once, or its worker is killed, and runs again: every row is published once, with its values."""
    marks = str(tmp_path)

    def fails_once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        mark = Path(marks) / f"{context.stageId()}-{context.partitionId()}"
        yield from batches
        if not mark.exists():
            mark.touch()
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("a worker died")

    whole = table().with_columns(note=pl.int_range(pl.len()), job=pl.col("job").fill_null("none"))
    frame = spark.createDataFrame(whole.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
    frame.mapInArrow(fails_once, frame.schema).createOrReplaceTempView("failing")
    there = SparkEngine.read("spark://", attributes, query="select * from failing", settings=SETTINGS)
    assert list(tmp_path.iterdir())
    counts = there.count(["ill"])
    shown = there.publish([AsIs("age"), AsIs("ill"), AsIs("note")], Draws())
    assert isinstance(shown, pl.DataFrame)
    assert sorted(shown.rows()) == sorted(whole.select("age", "ill", "note").rows())
    assert counts.rows == whole.height


def test_what_spark_cannot_read_is_said(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match="needs a query"):
        SparkEngine.read("spark://", attributes, settings=SETTINGS)
    with pytest.raises(sf.DataError, match="Spark cannot read or count"):
        SparkEngine.read("spark://", attributes, query="select * from nowhere", settings=SETTINGS)


def test_spark_connect_gives_the_same_release(tmp_path: Path) -> None:
    """A server of Spark Connect on this machine, in a process of its own; rows, batches and pieces."""
    for name in ("pyspark", "grpc", "grpc_status", "google.rpc"):
        pytest.importorskip(name, reason="Spark Connect is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.connect_job"],
        cwd=Path(__file__).parents[2],
        env=ours | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("equal\n")


STOPPED = """
import sys
from sfumato.cli import main
from sfumato.engine.spark.rows import SparkRows

def waits(self, others):
    print("here", flush=True)
    sleep = self.stored.spark.sql("select reflect('java.lang.Thread', 'sleep', 600000L)")
    self.stored.watched("compress", sleep.collect)

SparkRows.counted = waits
main(sys.argv[1:])
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_job_that_is_stopped_leaves_nothing_behind(spark: Any, tmp_path: Path, number: int, code: int) -> None:
    """While the cluster counts: no release, no draft, no spilled row, and no folder of Spark."""
    there = tmp_path / "tmp"
    there.mkdir()
    table().write_parquet(tmp_path / "t.parquet")
    roles = "\n".join(f'{name} = "{role}"' for name, role in ROLES.items())
    (tmp_path / "policy.toml").write_text(
        f'[data]\nsource = "t.parquet"\nmissing = "category"\n[attributes]\n{roles}\n[[require]]\n'
        'model = "k-anonymity"\nk = 3\n[method]\nname = "mondrian"\n[engine]\nname = "spark"\nmaster = "local[1]"\n'
    )
    ours = os.environ | {"TMPDIR": str(there), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={there}"}
    asked = ["publish", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in ours.items() if not name.startswith(("PYSPARK_GATEWAY", "SPARK_"))},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        assert list(there.glob("sfumato-spill-*"))
        process.send_signal(number)
        _, told = process.communicate(timeout=300)
    assert process.returncode == code
    assert "Traceback" not in told
    deadline = time.monotonic() + 120
    while any(there.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not list(there.iterdir())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["policy.toml", "t.parquet", "tmp"]


@pytest.mark.parametrize(
    ("module", "cause", "kept"),
    [("clientserver", KeyboardInterrupt, False), ("clientserver", OSError, True), ("another", KeyboardInterrupt, True)],
)
def test_what_ctrl_c_broke_off_is_not_reported(module: str, cause: type[BaseException], kept: bool) -> None:
    """py4j logs the broken pipe that follows Ctrl-C; every other error of it is shown."""
    broken = BrokenPipeError()
    broken.__context__ = cause()
    error = (BrokenPipeError, broken, None)
    record = logging.LogRecord("py4j", logging.ERROR, f"{module}.py", 1, "shutting down", (), error)
    assert _is_no_interrupt(record) is kept
