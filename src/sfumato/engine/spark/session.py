"""Sessions of Spark: one that already runs, a cluster by its address, or this machine; and what to say if it fails."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import current_thread, main_thread
from typing import Any

from sfumato import __version__
from sfumato.engine.settings import EngineSettings
from sfumato.errors import DataError, PolicyError


def session(settings: EngineSettings) -> Any:
    """The Spark session of a job: one that runs already, a cluster by its address, or this machine."""
    refuse_without_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and settings.master is None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = settings.master or "local[*]"
    builder: Any = SparkSession.builder
    if master.startswith("sc://"):
        return _connected(builder, master)
    for name in (None, "py4j.clientserver"):  # py4j reports Ctrl-C, and what that breaks off, with a traceback
        logging.getLogger(name).addFilter(_is_no_interrupt)
    handler = signal.getsignal(signal.SIGINT)
    quiet = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    try:
        return builder.master(master).appName("sfumato").config(map=quiet).getOrCreate()
    finally:
        if current_thread() is main_thread():  # Spark takes Ctrl-C for itself
            signal.signal(signal.SIGINT, handler)


def refuse_without_spark() -> None:
    """Raise unless PySpark is installed."""
    if find_spec("pyspark") is None:
        raise PolicyError(
            "the engine spark needs PySpark, which is not installed: pip install 'sfumato[spark]', "
            'or set name = "duckdb" under [engine]'
        )


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record is about something else than Ctrl-C during a call of Spark, or what failed because of it."""
    error = record.exc_info[1] if record.module in ("java_gateway", "clientserver") and record.exc_info else None
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is None


def _connected(builder: Any, address: str) -> Any:
    """A session of Spark Connect."""
    from pyspark.errors import PySparkImportError

    try:
        return builder.remote(address).getOrCreate()
    except PySparkImportError as e:
        raise PolicyError(
            f"Spark Connect ({address}) needs packages that are not installed ({e.getCondition()}): "
            "pip install 'pyspark[connect]'"
        ) from None


@contextmanager
def speaking() -> Iterator[None]:
    """Turn an error of Spark into one of ours, without the values that its message may quote."""
    refuse_without_spark()
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as e:
        if "No module named" in str(e):
            raise PolicyError(
                "Spark's executors cannot import sfumato or what it needs: install on them what is installed here, "
                f"sfumato[spark] {__version__}, and set PYSPARK_PYTHON to their Python; or use duckdb"
            ) from None
        name = e.getCondition() or type(e).__name__
        raise DataError(
            f"Spark cannot read or count the table ({name}); see the logs of the driver and the executors"
        ) from None
    except Exception as e:
        if type(e).__module__.startswith("py4j"):
            raise DataError(f"Spark failed ({type(e).__name__}); see the logs of the driver") from None
        raise
