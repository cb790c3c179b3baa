"""The pages of the studio in their order. Each is a module with ``render(job)``, imported when it is first shown."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from sfumato.studio.job import Job


def _open(job: Job) -> str | None:
    return None if job.is_open else "Open a table first."


def _always(job: Job) -> str | None:
    return None


def _published(job: Job) -> str | None:
    return None if job.run is not None and job.run.published is not None else "Publish first."


@dataclass(frozen=True)
class PageStep:
    """A page: its name in the address, its title, its module, and why it cannot be shown yet (None if it can)."""

    key: str
    title: str
    module: str
    lacks: Callable[[Job], str | None] = _open
    beside: bool = False
    """Whether it is off the main path from a table to its release."""

    def render(self, job: Job) -> None:
        """Show the page of a job."""
        import_module(self.module).render(job)


STEPS = (
    PageStep("table", "Table", "sfumato.studio.pages.table", _always),
    PageStep("roles", "Roles", "sfumato.studio.pages.roles"),
    PageStep("taxonomies", "Taxonomies", "sfumato.studio.pages.taxonomies"),
    PageStep("requirements", "Requirements", "sfumato.studio.pages.requirements"),
    PageStep("try", "Try", "sfumato.studio.pages.trial"),
    PageStep("run", "Run", "sfumato.studio.pages.run"),
    PageStep("result", "Result", "sfumato.studio.pages.result", _published),
    PageStep("compare", "Compare", "sfumato.studio.pages.compare", beside=True),
    PageStep("earlier", "Earlier releases", "sfumato.studio.pages.sequential", beside=True),
)


def step_of(key: str) -> PageStep | None:
    """The page of this name."""
    return next((step for step in STEPS if step.key == key), None)


def after(key: str) -> PageStep | None:
    """The page that follows on the way."""
    way = [step for step in STEPS if not step.beside]
    keys = [step.key for step in way]
    place = keys.index(key) + 1 if key in keys else len(way)
    return way[place] if place < len(way) else None
