"""One Spark session for all tests of engines in a process."""

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two threads, where a task may fail twice before its job does; skipped where Spark cannot run."""
    pytest.importorskip("pyspark", reason="PySpark is not installed (sfumato[spark])")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from sfumato.engine.settings import EngineSettings
    from sfumato.engine.spark.session import session

    found = session(EngineSettings(name="spark", master="local[2,3]"))
    found.conf.set("spark.sql.shuffle.partitions", "2")
    yield found
    found.stop()
