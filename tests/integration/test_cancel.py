"""A publisher who cancels in the middle: nothing half is left on either side, and the other side hears of it."""

from dataclasses import dataclass
from pathlib import Path

from integration.parties import together
from integration.test_faults import pair
from integration.test_two_processes import write_side
from sfumato.engine.progress import Progress, silent
from sfumato.errors import PeerError
from sfumato.integration.certificates import make_certificates
from sfumato.integration.channel import Channel
from sfumato.integration.connection import HostPort
from sfumato.publisher.integrate import Meeting, integrate_policy
from sfumato.publisher.integrate_section import IntegrateSection
from sfumato.publisher.publish import Published


class CancelledError(Exception):
    """What a listener raises to end a job."""


@dataclass(frozen=True, kw_only=True)
class InMemory(Meeting):
    """Both sides in one process."""

    channel: Channel

    def open(self, section: IntegrateSection) -> Channel:
        return self.channel


def jobs(folder: Path, stop_at: str = "") -> tuple[object, object, list[str]]:
    """Both sides at work; the first is cancelled at a stage. What each ended with, and what the first told."""
    channels, told = pair(Channel), list[str]()

    def heard(stage: str, done: float) -> None:
        told.append(stage)
        if stop_at and stage.startswith(stop_at):
            raise CancelledError

    def side(party: str, channel: Channel, progress: Progress) -> Published:
        meeting = InMemory(address=HostPort("127.0.0.1", 1), listens=False, channel=channel)
        policy, out = folder / f"{party}.toml", folder / f"out-{party}"
        return integrate_policy(policy, out, meeting=meeting, keep=False, progress=progress)

    mine, theirs = together(lambda: side("a", channels[0], heard), lambda: side("b", channels[1], silent))
    return mine, theirs, told


def test_a_cancelled_job_leaves_nothing_on_either_side(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    write_side(tmp_path, "a", ["Sex"])
    write_side(tmp_path, "b", ["Job", "Salary"])
    given = {p.name for p in tmp_path.iterdir()}
    for stage in ("agree", "align", "steps", "step 3:", "labels", "write"):
        mine, theirs, _ = jobs(tmp_path, stage)
        assert isinstance(mine, CancelledError), stage
        assert isinstance(theirs, PeerError), stage
        assert {p.name for p in tmp_path.iterdir()} == given, stage
    mine, theirs, told = jobs(tmp_path)
    assert isinstance(mine, Published)
    assert isinstance(theirs, Published)
    assert told[-3:] == ["labels", "write", "done"]
