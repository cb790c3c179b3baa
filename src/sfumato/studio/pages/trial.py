"""Try: what the policy makes of a sample, before anything is published."""

from sfumato.studio.frame import next_step
from sfumato.studio.job import Job
from sfumato.studio.preview_panel import PreviewPanel
from sfumato.studio.widgets import card, heading


def render(job: Job) -> None:
    """The page."""
    heading(
        "What would come out?",
        "The policy, tried on a sample. Nothing is written and nothing is published; go back and change what you like.",
    )
    with card("On a sample"):
        PreviewPanel(job, whole=True)
    next_step(job, "try")
