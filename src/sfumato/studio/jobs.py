"""The jobs of all windows, by their random names: a window reaches its own job and no other."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.studio.job import Job
from sfumato.studio.workspace import new_folder

MOST = 50
"""How many jobs are kept; beyond that, the least recently used one that is not running is closed."""


@dataclass
class Jobs:
    """All jobs of a studio; ``folder`` is its private folder, ``given`` what the command line named to open."""

    folder: Path
    given: str | None = None
    _jobs: dict[str, Job] = field(default_factory=dict)

    def new(self) -> Job:
        """A job for a new window."""
        job = Job(secrets.token_urlsafe(16), new_folder(self.folder))
        self._jobs[job.id] = job
        idle = [j.id for j in self._jobs.values() if j.run is None or not j.run.is_alive]
        if len(self._jobs) > MOST and idle:
            self.close(idle[0])
        return job

    def get(self, name: str) -> Job | None:
        """The job of this name; None if there is none, or no longer."""
        job = self._jobs.pop(name, None)
        if job is not None:
            self._jobs[name] = job  # the one that was used last is last
        return job

    def close(self, name: str) -> None:
        """Forget a job and remove its files."""
        job = self._jobs.pop(name, None)
        if job is not None:
            job.end()

    def end(self) -> None:
        """Forget all jobs."""
        for name in list(self._jobs):
            self.close(name)
