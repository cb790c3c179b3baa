"""Why a release loses too much information, where that can be computed, and what would help."""

import math
from collections.abc import Iterator

from sfumato.engine.counts import Counted, Integers, totals
from sfumato.engine.draws import Draws
from sfumato.errors import SfumatoError
from sfumato.method.anatomy import Anatomy
from sfumato.method.base import silent
from sfumato.method.diversity import diversity
from sfumato.method.hilb_safe import HilbSafe
from sfumato.method.incognito.incognito import Incognito
from sfumato.method.incognito.levels import Ladder
from sfumato.method.mondrian import Mondrian
from sfumato.method.mondrian_plus import MondrianPlus
from sfumato.publisher.price import LITTLE, PricedJob
from sfumato.report.plots import percent
from sfumato.report.summary import Summary
from sfumato.requirement.base import names, rounded_down
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.encode import Column
from sfumato.table.taxonomy import SUPPRESSED, named

TIGHT = 0.7
"""How close to its bound the most common value of the whole table may be before groups have no room."""
SOME = 0.05
"""A suppression limit that costs little."""
_MOST_ROWS = 200_000
_MANY_QUASI = 8


def causes(job: PricedJob, summary: Summary) -> list[str]:
    """Why so much was lost: that no cut was allowed, or else all that can be computed."""
    return list(_no_cut(job, summary)) or [
        *_mirrored(job),
        *_binding(job, summary),
        *_shown_or_hidden(job, summary),
        *_dimensions(job, summary),
    ]


def ways(job: PricedJob, summary: Summary) -> Iterator[str]:
    """Other settings and methods that lose less, each with its drawback."""
    if isinstance(job.method, Incognito):
        if job.method.suppression < SOME:
            yield f"suppression = {SOME} (a few rows that fit no group are left out)"
        yield "mondrian, which gives each group its own labels"
    if isinstance(job.method, MondrianPlus | HilbSafe):
        if not job.method.picks:
            yield "mondrian++ or hilb-safe (as safe, with smaller groups; a whole l)"
        yield "mondrian-blur (as safe if all tables behind the groups are equally likely, and it cuts far more)"
        yield "mondrian (but an adversary who knows the algorithm can learn more than l allows)"
    if not isinstance(job.method, Anatomy) and _diverse(job):
        yield "anatomy (shows exact quasi-identifiers: people can be found, their values guessed with 1/l at most)"
    yield _weaker(job)


def _weaker(job: PricedJob) -> str:
    """What would ask for less; with the models' names where they call different parameters the same."""
    told = {r.weaker or "a weaker requirement": r.model for r in job.requirements}
    parameters = [words.split()[-1] for words in told]
    several = len(set(parameters)) < len(parameters)
    return " and ".join(f"{words} of {model}" if several else words for words, model in told.items())


def _no_cut(job: PricedJob, summary: Summary) -> Iterator[str]:
    """Methods that look ahead do not cut a group in which a value makes up more than 1/(2l) of the rows."""
    if not isinstance(job.method, MondrianPlus | HilbSafe):
        return
    for r, name, value, share in _commonest_values(job):
        limit = 1 / (2 * r.l)
        rule = (
            f"Why: {job.method.name} cuts a group only if its most common value makes up at most "
            f"1/(2l) = {percent(limit)}"
        )
        guess = summary.guesses.get(name)
        if share > limit:
            most = rounded_down(1 / (2 * share))
            lower = f"l must be {most:.4g} or less" if most > 1 else "no l above 1 is low enough"
            yield (
                f"{rule} of it, but in the whole table {value!r} makes up {percent(share)} of {name!r}, so no cut "
                f"was allowed; for a first cut {lower}"
            )
        elif not job.method.picks and guess is not None and guess.mean > limit:
            average = percent(guess.mean)
            yield f"{rule} of it, and in the groups where it stopped that value makes up {average} on average"


def _mirrored(job: PricedJob) -> Iterator[str]:
    """If the most common value nearly reaches its bound in the whole table, groups must resemble the table."""
    for r, name, value, share in _commonest_values(job):
        if share * r.l > TIGHT:
            yield (
                f"Why: in the whole table {value!r} makes up {percent(share)} of {name!r}, and a group may have at "
                f"most 1/l = {percent(1 / r.l)}, so groups have little room to differ from the table"
            )


def _commonest_values(job: PricedJob) -> Iterator[tuple[LDiversity, str, str, float]]:
    """For each attribute under frequency l-diversity its most common value, with its share."""
    for r in job.requirements:
        if isinstance(r, LDiversity) and r.variant == "frequency":
            for name in names(r.sensitive):
                yield r, name, *_commonest(job.table[name], job.table.weights)


def _commonest(column: Column, weights: Integers) -> tuple[str, float]:
    counts = totals(Counted(column.codes, column.size), weights)
    return column.domain.leaves[int(counts.argmax())], float(counts.max() / counts.sum())


def _binding(job: PricedJob, summary: Summary) -> Iterator[str]:
    """Which of several requirements costs the most: how many groups there would be without it."""
    if not isinstance(job.method, Mondrian) or len(job.requirements) < 2 or not _can_try(job):
        return
    now = summary.groups.number if summary.groups else 0
    for r in job.requirements:
        others = [other for other in job.requirements if other is not r]
        try:
            without = job.method.groups(job.table.people(), others, draws=Draws(), progress=silent).number
        except SfumatoError:
            continue
        if without >= 2 * now:
            yield f"Without the requirement that {r.words()}, there would be {without:,} groups instead of {now:,}"


def _can_try(job: PricedJob) -> bool:
    """Whether the method can be run again on the people of the table."""
    return job.table.joint and job.table.rows <= _MOST_ROWS


def _shown_or_hidden(job: PricedJob, summary: Summary) -> Iterator[str]:
    """The attributes that can only be shown or suppressed, and were suppressed."""
    lost = [c.name for c in job.table.quasi if summary.kept.get(c.name, 1.0) < LITTLE and _has_no_levels(job, c)]
    if lost:
        yield (
            f"There are no levels between the values of {named(lost)} and {SUPPRESSED}: give a taxonomy (a file or a "
            "tree; for numbers { width = 10 })"
        )


def _has_no_levels(job: PricedJob, column: Column) -> bool:
    """Whether a value can only be shown or suppressed; incognito generalizes numbers only along given levels."""
    if column.domain.size <= 2:
        return False
    if isinstance(job.method, Incognito):
        return Ladder.of(column.name, column.domain).top <= 1
    return column.domain.shown_or_suppressed


def _dimensions(job: PricedJob, summary: Summary) -> Iterator[str]:
    """Many quasi-identifiers cannot all be kept."""
    if len(job.table.quasi) >= _MANY_QUASI and not summary.exact:
        yield (
            f"{len(job.table.quasi)} quasi-identifiers share the detail that {summary.published:,} rows allow: declare "
            "as quasi only what outsiders can know, and leave out what analysts do not need"
        )


def _diverse(job: PricedJob) -> bool:
    """Whether anatomy could serve what is required."""
    try:
        wanted = diversity("anatomy", job.requirements)
    except SfumatoError:
        return False
    return math.ceil(wanted.l) == wanted.l and wanted.k == 1 and len(job.table.sensitive) == 1
