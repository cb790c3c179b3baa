"""How the tests are run: which examples Hypothesis draws, and which tests share a process.

Hypothesis draws new examples on every run of a developer, and always the same ones in CI. How long an example takes
says more about the machine than about the code, so nothing fails for it. A shell that runs the tests in the background
has them ignore Ctrl-C, and so would the processes that they start and interrupt.
"""

import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def shared_by(test: str) -> str:
    """What a test shares with others, so that it is started once: Spark, or a studio and its browser."""
    file = test.partition("::")[0]
    if "spark" in test:
        return "spark"
    return file if file.startswith("tests/studio/") or "browser" in file else test


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share something run in one process. The marks of xdist have no effect with pytest 9.2 (its #1386)."""
    from xdist.scheduler import LoadScopeScheduling

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared_by(nodeid)

    return Sharing(config, log)
