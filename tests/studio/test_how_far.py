"""A run as the studio follows it: stages, rows, the time that is left, and its end."""

import asyncio
from pathlib import Path

import pytest

from sfumato.studio.run import StudioRun
from sfumato.studio.worker import Order


def test_the_studio_shows_rows_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    run = StudioRun(Order("", "", "", None, "", False), 1)
    run.hear({"stage": "cuts", "done": 0.0, "rows": 80, "rows_done": None})
    now[0] = 110.0
    run.hear({"stage": "cuts", "done": 0.25, "rows": 80, "rows_done": 20})
    assert run.stages[-1].far(run.seconds) == "20 of 80 rows, about 30 s left"
    run.hear({"stage": "order", "done": 0.0})
    assert run.stages[-1].far(run.seconds) == ""


def test_what_is_cancelled_before_its_process_began_does_not_run(tmp_path: Path) -> None:
    order = Order(policy="", folder=str(tmp_path), source="", called=None, out=str(tmp_path / "out"), ledger=False)

    async def cancelled() -> StudioRun:
        run = StudioRun(order, 0)
        await run.cancel()
        await run.go()
        return run

    run = asyncio.run(cancelled())
    assert (run.state, run.error, run.is_alive) == ("cancelled", "", False)
    assert list(tmp_path.iterdir()) == []
