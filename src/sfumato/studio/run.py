"""A run as the studio sees it: a process of its own, its stages with their times, and its end."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfumato.engine.progress import Share
from sfumato.publisher.stage_words import STAGES, how_far
from sfumato.studio.wording import sentence, unexpected
from sfumato.studio.worker import Order

RunState = Literal["running", "published", "failed", "cancelled"]

GRACE = 2.0
"""Seconds between asking a process to end and killing it; a kernel does not react to signals."""
_LONGEST_LINE = 1 << 28


@dataclass
class Stage:
    """A stage of a run: when it began and ended, in seconds since the run began; None if it has not ended."""

    words: str
    began: float
    ended: float | None = None
    done: Share = field(default_factory=lambda: Share(0.0))

    def far(self, seconds: float) -> str:
        """How far it is, this many seconds after the run began: rows, and the time that is left."""
        return how_far(self.done, seconds - self.began)


@dataclass
class StudioRun:
    """One run of a policy. ``version`` is that of the job when it was started."""

    order: Order
    version: int
    state: RunState = "running"
    stages: list[Stage] = field(default_factory=list)
    compiling: bool = False
    error: str = ""
    infeasible: bool = False
    published: Mapping[str, Any] | None = None
    """What was published, with the facts of its report."""
    utility: Mapping[str, Any] | None = None
    """What the release is good for; None while it is not known."""
    seen: bool = False
    """Whether its result was shown."""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    _process: "asyncio.subprocess.Process | None" = field(default=None, repr=False)
    _cancelled: bool = False
    _killed: bool = False

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return (self.ended if self.ended is not None else time.monotonic()) - self.began

    @property
    def is_alive(self) -> bool:
        """Whether its process is still working, even if only on measures after the release was written."""
        return self._process is not None and self._process.returncode is None

    @property
    def folder(self) -> Path:
        """Where the release is, or would be."""
        return Path(self.order.out)

    async def go(self) -> None:
        """Start the process and listen to it until it ends."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "sfumato.studio.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LONGEST_LINE,
            )
            if self._cancelled:  # while the process was started
                await self.cancel()
            await self._listen(self._process)
            if self._killed:
                await asyncio.to_thread(self._clean_up)
        finally:
            self._finish()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            return
        process.stdin.write((json.dumps(asdict(self.order)) + "\n").encode())
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        async for line in process.stdout:
            self.hear(json.loads(line))
        await process.wait()

    def hear(self, message: Mapping[str, Any]) -> None:
        """Process a message from the process."""
        if "stage" in message:
            rows, done = message.get("rows"), message.get("rows_done")
            self._reach(str(message["stage"]), Share(message["done"], rows=rows, done=done))
        elif "compiling" in message:
            self.compiling = bool(message["compiling"])
        elif "published" in message:
            self._close_stage()
            self.published, self.state, self.ended = message["published"], "published", time.monotonic()
        elif "utility" in message:
            self.utility = message["utility"]
        elif "error" in message and self.state == "running":
            self.state, self.error = "failed", _words(message["error"])
            self.infeasible = message["error"]["kind"] == "Infeasible"

    def _reach(self, stage: str, done: Share) -> None:
        if self.state != "running":
            return
        words = STAGES["steps"].partition(" (")[0] if stage.startswith("step ") else STAGES.get(stage, stage)
        words = words.partition(" (")[0]
        if not self.stages or self.stages[-1].words != words:
            self._close_stage()
            self.stages.append(Stage(words, self.seconds))
        if done >= self.stages[-1].done:
            self.stages[-1].done = done

    def _close_stage(self) -> None:
        if self.stages and self.stages[-1].ended is None:
            self.stages[-1].ended = self.seconds

    def _finish(self) -> None:
        self._close_stage()
        self.compiling = False
        if self.ended is None:
            self.ended = time.monotonic()
        if self.state == "running":
            self.state = "cancelled" if self._cancelled else "failed"
            self.error = "" if self._cancelled else "The process of the run ended unexpectedly; nothing was written."
        if self.utility is None and self.state == "published":
            self.utility = {"figures": None, "notes": ["The measures were not taken."]}

    async def cancel(self) -> None:
        """End the process: by asking, so that it cleans up after itself, then by force; `go` cleans up after that."""
        process = self._process
        if process is not None and process.returncode is not None:
            return
        self._cancelled = True
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), GRACE)
            except TimeoutError:
                self._killed = True
                process.kill()
                await process.wait()

    def end(self, grace: float = GRACE) -> None:
        """End the process without an event loop, when the studio itself ends."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        if not _end(process.pid, grace):
            self._clean_up()

    def _clean_up(self) -> None:
        """Remove the draft that a killed process left."""
        from sfumato.release.files.output import recover

        recover(self.folder.parent)


def _words(error: Mapping[str, Any]) -> str:
    words = error.get("words")
    return sentence(words) if words else unexpected(str(error.get("kind")))


def _end(pid: int, grace: float) -> bool:
    """Ask a child to end and wait for it; if it does not, kill it. Whether it ended by itself."""
    until = time.monotonic() + grace
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < until:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return True
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return False
    return True
