"""What was published before about the same people: choose earlier releases, and see what the join gives away.

Plain Python; the join is `sfumato.adversary.sequential_join`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.adversary.sequential_join import SequentialJoin, sequential_join
from sfumato.errors import PolicyError
from sfumato.publisher.preview import preview
from sfumato.release.release import Release, load
from sfumato.requirement.join_template import MOST_RELEASES, THIS
from sfumato.studio.job import Job
from sfumato.studio.people import with_role
from sfumato.studio.trial import REQUIRE, choice_of, entries, take_method

CHOSEN = "earlier"
TRIED_ROWS = 50_000
"""Up to this many rows, a table that was not published yet is joined as a trial would publish it."""
REGARDS = {
    "look": "Only look at the join here",
    "audit": "Publish by any method, and report what the join gives away",
    "method": "Publish so that promises hold in the join (tdssa)",
}
"""What the policy does about earlier releases."""
_AUDIT = {"adversary": "sequential"}
_LEAST = 5


def chosen(job: Job) -> list[str]:
    """The folders of the earlier releases, the latest first: those of the policy, or those to look at only."""
    named = [str(entry["release"]) for entry in job.content.get("after", ()) if "release" in entry]
    found: list[str] = named or job.extras.setdefault(CHOSEN, [])
    return list(found)


def regard(job: Job) -> str:
    """What the policy does about them."""
    if "after" not in job.content:
        return "look"
    return "audit" if _AUDIT in job.content.get("audit", ()) else "method"


def choose(job: Job, folder: str) -> None:
    """Add an earlier release; one that cannot be read is refused."""
    path = Path(folder.strip()).expanduser().absolute()
    path = path / "release" if (path / "release").is_dir() else path
    load(path)
    known = chosen(job)
    if str(path) in known:
        raise PolicyError("this release has already been chosen")
    if len(known) + 1 >= MOST_RELEASES:
        raise PolicyError(f"at most {MOST_RELEASES - 1} earlier releases can be joined with this table")
    _set(job, [*known, str(path)], regard(job))


def forget(job: Job, folder: str) -> None:
    """Leave out an earlier release."""
    _set(job, [known for known in chosen(job) if known != folder], regard(job))


def set_regard(job: Job, what: str) -> None:
    """Say what the policy does about them; a method that has to be named is chosen by a trial."""
    folders = chosen(job)
    _set(job, folders, "look")
    _set_method(job, what)
    _set(job, folders, what)


def _set(job: Job, folders: list[str], what: str) -> None:
    job.extras[CHOSEN] = folders
    audits: list[Mapping[str, Any]] = [a for a in job.content.get("audit", ()) if a != _AUDIT]
    given = what != "look" and bool(folders)
    before = [{"release": folder, "name": f"T{i}"} for i, folder in enumerate(folders, 2)]
    others = [dict(e) for e in job.content.get("after", ()) if "release" not in e]
    job.set_section("after", [*before, *others] if given else others or None)
    job.set_section("audit", [*audits, *([_AUDIT] if given and what == "audit" else [])] or None)
    _require(job, [THIS, *(str(e["name"]) for e in before)] if given and what == "method" else [])


def _require(job: Job, over: list[str]) -> None:
    """Require that the join of these releases hides people among as many as the table alone does; if none, no more."""
    alone = [entry for entry in entries(job) if "over" not in entry]
    least = [int(entry["k"]) for entry in alone if entry.get("model") == "k-anonymity"]
    joined = {"model": "anonymity", "y": THIS, "k": max(least, default=_LEAST), "over": over}
    job.set_section(REQUIRE, [*alone, joined] if over else alone)


def _set_method(job: Job, what: str) -> None:
    """Name the method: tdssa regards earlier releases, and without one named it would be the only choice."""
    named = job.content.get("method", {}).get("name")
    if what == "method" and named != "tdssa":
        job.set_section("method", {"name": "tdssa", "score": "distortion"})
    elif what != "method" and named == "tdssa":
        job.set_section("method", None)
    if what == "audit" and "method" not in job.content:
        take_method(job, choice_of(job).method)


@dataclass(frozen=True)
class JoinFindings:
    """What the join of a release with earlier ones gives away.

    ``published`` says whether the release is the published one, or a trial of what would be published; ``people`` is
    about finding rows, ``values`` about each sensitive attribute; ``why`` says of attributes why they are not there.
    """

    published: bool
    people: SequentialJoin
    values: Mapping[str, SequentialJoin]
    why: Mapping[str, str]


def given_away(job: Job) -> JoinFindings:
    """Join the release of a job, or a trial of it, with the earlier ones."""
    folders = chosen(job)
    if not folders:
        raise PolicyError("no earlier release was chosen yet")
    published, release = _release(job)
    sides: list[Release | str] = [release, *folders]
    values: dict[str, SequentialJoin] = {}
    why: dict[str, str] = {}
    for name in with_role(job, "sensitive"):
        try:
            values[name] = sequential_join(sides, y=f"T1.{name}")
        except PolicyError as error:
            why[name] = str(error)
    return JoinFindings(published, sequential_join(sides), values, why)


def _release(job: Job) -> tuple[bool, Release]:
    """The release that was published last, if the policy still says the same, or a trial on the whole table."""
    run = job.run
    if run is not None and run.published is not None and run.version == job.version:
        return True, load(run.folder / "release")
    if job.frame is None:
        raise PolicyError("no table is open; open one first")
    if job.frame.height > TRIED_ROWS:
        raise PolicyError(f"the table has more than {TRIED_ROWS:,} rows; publish it first, then join its release")
    return False, preview(job.policy(), job.frame, of=job.frame.height).release
