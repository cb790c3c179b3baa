"""Try the policy of a job on a sample of its rows, and ask what can serve it.

Plain Python, and every answer is the library's. Answers are kept as long as they are true: a sample as long as the
table is open, the rest until the policy changes.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError
from sfumato.publisher.after import published_after
from sfumato.publisher.choose import Choice, choose
from sfumato.publisher.offers import impossible, offers
from sfumato.publisher.preview import Preview, preview, sampled
from sfumato.requirement.base import Requirement
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.dial import matching_entry, starting_entry
from sfumato.studio.job import Job
from sfumato.studio.people import in_words, with_role
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    import polars as pl

    from sfumato.publisher.compare.points import ComparisonPlan

SAMPLE, REQUIRE = "sample", "require"
ASKED_ROWS = 100_000
"""Up to this many rows, methods are asked about the whole table; for a larger one, about the sample."""
_UNOFFERED = {"k-map": "population"}
"""Models that need a section of the policy."""


def sample_of(job: Job) -> "pl.DataFrame":
    """The rows on which things are tried, drawn once as long as the table is open."""
    if job.frame is None:
        raise PolicyError("no table is open; open one first")
    known = job.extras.get(SAMPLE)
    if known is None or known[0] is not job.frame:
        known = job.extras[SAMPLE] = job.frame, sampled(job.frame)
    found: pl.DataFrame = known[1]
    return found


def draw_another(job: Job) -> None:
    """Forget the sample; the next question is about another one."""
    job.extras.pop(SAMPLE, None)
    job.changed()


def preview_of(job: Job) -> Preview:
    """What the policy makes of the sample."""
    return timed_preview_of(job)[0]


def timed_preview_of(job: Job) -> tuple[Preview, float]:
    """What the policy makes of the sample, with its figures, and how many seconds it took to find that out."""

    def tried() -> tuple[Preview, float]:
        begun = time.perf_counter()
        made = preview(job.policy(), sample_of(job), of=_rows(job))
        _ = made.summary, made.gain
        return made, time.perf_counter() - begun

    found: tuple[Preview, float] = job.kept("preview", tried)
    return found


def _rows(job: Job) -> int:
    return 0 if job.frame is None else job.frame.height


def asked_table(job: Job) -> Microdata:
    """The coded table that methods are asked about."""
    if _rows(job) <= ASKED_ROWS:
        return job.microdata()
    policy, sample = job.policy(), sample_of(job)
    return Microdata.from_frame(sample, policy.covering(sample.columns), missing=policy.missing, folder=policy.folder)


def offers_of(job: Job) -> "ComparisonPlan":
    """The methods that can serve the policy, and why the others cannot."""

    def asked() -> "ComparisonPlan":
        policy = published_after(job.policy())
        return offers(asked_table(job), policy.requirements, policy.named)

    found: ComparisonPlan = job.kept("offers", asked)
    return found


def choice_of(job: Job) -> Choice:
    """The method that would be chosen if none were named, by a trial on the sample; raises if none may be."""

    def chosen() -> Choice:
        if "method" not in job.content and (tried := preview_of(job).choice) is not None:
            return tried
        policy = job.policy()
        sample = sample_of(job)
        attributes = policy.covering(sample.columns)
        table = Microdata.from_frame(sample, attributes, missing=policy.missing, folder=policy.folder)
        named = published_after(policy).named
        earlier = named if getattr(named, "after", ()) else None
        return choose(table, policy.requirements, earlier=earlier)

    found: Choice = job.kept("choice", chosen)
    return found


def impossible_of(job: Job) -> dict[int, str]:
    """The requirements that the table cannot meet at all, by their place, with the reason and the remedy."""
    found: dict[int, str] = job.kept("impossible", lambda: impossible(job.microdata(), job.policy().requirements))
    return found


# -- requirements ------------------------------------------------------------------------------------------------


def entries(job: Job) -> list[dict[str, Any]]:
    """The requirements as the policy writes them."""
    return [dict(entry) for entry in job.content.get(REQUIRE, ())]


def set_parameter(job: Job, place: int, word: str, value: Any) -> None:
    """Change a parameter of a requirement; a wrong value is refused, and nothing changes."""
    every = entries(job)
    changed = {**every[place], word: value}
    model = MODELS.get(str(changed.get("model")))
    every[place] = matching_entry(model, changed) if model is not None else changed
    from_table(every[place])
    job.set_section(REQUIRE, every)


def remove_requirement(job: Job, place: int) -> None:
    """Require one thing less."""
    every = entries(job)
    job.set_section(REQUIRE, every[:place] + every[place + 1 :])


def add_requirement(job: Job, model: str) -> None:
    """Require one thing more, to begin with as its dials stand."""
    private = with_role(job, "sensitive")
    entry = starting_entry(MODELS[model], next(iter(private), None))
    from_table(entry)
    job.set_section(REQUIRE, [*entries(job), entry])


def addable(job: Job) -> dict[str, str]:
    """The models that can be required here, each with what it says."""
    there = [name for name in MODELS if name not in _UNOFFERED or _UNOFFERED[name] in job.content]
    return {name: MODELS[name].summary for name in there}


def about(job: Job, needed: Requirement) -> str:
    """What a requirement is about, in words."""
    named = getattr(needed, "sensitive", None)
    listed: Sequence[str] = [named] if isinstance(named, str) else named or with_role(job, "sensitive")
    return in_words(list(listed)) or "sensitive value"


def take_method(job: Job, method: Any) -> None:
    """Publish by a method with its settings; None: leave the choice to sfumato."""
    from sfumato.publisher.compare.written import method_entry

    job.set_section("method", None if method is None else method_entry(method))
