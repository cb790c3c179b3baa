"""When the price of a release is absurd: why, as far as it can be computed, and what would help."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.method.ahead import HilbSafe, MondrianPlus
from sfumato.method.base import Method, silent
from sfumato.method.diversity import diversity
from sfumato.method.incognito import Incognito
from sfumato.method.mondrian import Mondrian
from sfumato.report.plots import percent
from sfumato.report.summary import Summary
from sfumato.requirement.base import Requirement, names, rounded_down
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import Taxonomy, named

LITTLE = 0.2
"""Information kept below this share is next to nothing."""
MANY = 0.1
"""The share of rows left out above which the release is about other people than the table."""
_MOST_ROWS = 200_000
_MANY_QUASI = 8


@dataclass(frozen=True)
class Job:
    """What was to be published, and how."""

    table: Microdata
    requirements: Sequence[Requirement]
    """Bound to the table."""
    method: Method


def remedies(job: Job, summary: Summary) -> list[str]:
    """One warning for each way in which a release costs too much; none where the price is fair."""
    return [*_price(job, summary), *_rows(job, summary), *_noise(summary)]


def _price(job: Job, summary: Summary) -> Iterator[str]:
    """What the groups cost, from worst to bad."""
    groups, kept = summary.groups, summary.information
    if groups is not None and groups.number == 1 and groups.largest > 1:
        what = f"Nothing but totals is published: all {groups.largest:,} rows form one group" + (
            ", so that nothing links quasi-identifiers and sensitive values" if summary.exact else " that looks alike"
        )
    elif kept is not None and kept < LITTLE:
        what = f"Almost nothing is left: the labels keep {percent(kept)} of the information in the quasi-identifiers"
    elif summary.hidden:
        those = "attribute shows" if len(summary.hidden) == 1 else "attributes show"
        what = f"{len(summary.hidden)} {those} one label for everyone: {named(summary.hidden)}"
    else:
        return
    causes = [*_skew(job), *_binding(job, summary), *_untreed(job, summary), *_dimensions(job, summary)]
    yield ". ".join([what, *causes, *_ways(job, summary)])


def _skew(job: Job) -> Iterator[str]:
    """The commonest sensitive value against what each l-diversity leaves room for."""
    for r in job.requirements:
        if not isinstance(r, LDiversity) or r.variant != "frequency":
            continue
        for name in names(r.sensitive):
            value, share = _commonest(job.table[name])
            if isinstance(job.method, MondrianPlus | HilbSafe) and share * 2 * r.l > 1:
                most = rounded_down(1 / (2 * share))
                lower = f"lower l to {most:.4g}" if most > 1 else "no l above 1 allows one"
                yield (
                    f"Why: {job.method.name} cuts a group only while its commonest value has at most 1/(2l) = "
                    f"{percent(1 / (2 * r.l))} of it, and {value!r} has {percent(share)} of {name!r} in the whole "
                    f"table, so that no cut was allowed; for a first cut {lower}"
                )
            elif share * r.l > 0.7:
                yield (
                    f"Why: {value!r} has {percent(share)} of {name!r} and may have at most 1/l = {percent(1 / r.l)} of "
                    "a group, so that groups must mirror the whole table"
                )


def _commonest(column: Column) -> tuple[str, float]:
    counts = np.bincount(column.codes, minlength=column.size)
    return column.domain.leaves[int(counts.argmax())], float(counts.max() / counts.sum())


def _binding(job: Job, summary: Summary) -> Iterator[str]:
    """Which of several requirements costs the most: how many groups there would be without it."""
    if not isinstance(job.method, Mondrian) or len(job.requirements) < 2 or job.table.rows > _MOST_ROWS:
        return
    now = summary.groups.number if summary.groups else 0
    for r in job.requirements:
        others = [other for other in job.requirements if other is not r]
        try:
            without = job.method.groups(job.table, others, rng=None, progress=silent).number
        except SfumatoError:
            continue
        if without >= 2 * now:
            yield f"Without the requirement that {r.words()} there would be {without:,} groups instead of {now:,}"


def _untreed(job: Job, summary: Summary) -> Iterator[str]:
    """The attributes that can only be shown or suppressed, and were suppressed."""
    lost = [
        c.name
        for c in job.table.quasi
        if isinstance(c.domain, Taxonomy) and c.domain.shown_or_suppressed and summary.kept.get(c.name, 1.0) < LITTLE
    ]
    if lost:
        have, values = ("has", "its values") if len(lost) == 1 else ("have", "their values")
        yield f"{named(lost)} {have} no taxonomy, so that {values} can only be shown or suppressed: give one"


def _dimensions(job: Job, summary: Summary) -> Iterator[str]:
    """Many quasi-identifiers cannot all be kept."""
    if len(job.table.quasi) >= _MANY_QUASI and not summary.exact:
        yield (
            f"{len(job.table.quasi)} quasi-identifiers share the detail that {summary.published:,} rows allow: declare "
            "as quasi only what outsiders can know, and leave out what analysts do not need"
        )


def _ways(job: Job, summary: Summary) -> Iterator[str]:
    """Other settings and methods that lose less, each with its catch."""
    ways = []
    if isinstance(job.method, Incognito):
        ways.append("a larger suppression (rows that no group fits are left out)")
        ways.append("mondrian, which shows each group at its own level")
    if isinstance(job.method, MondrianPlus | HilbSafe):
        ways.append("mondrian (whoever knows the algorithm can learn more than l allows)")
    if not summary.exact and _diverse(job):
        ways.append("anatomy (keeps quasi-identifiers exact, so that people can be found but not their values)")
    ways.append("weaker requirements (a lower k or l)")
    yield "What helps: " + "; ".join(ways)


def _diverse(job: Job) -> bool:
    """Whether anatomy could serve what is required."""
    try:
        wanted = diversity("anatomy", job.requirements)
    except SfumatoError:
        return False
    return math.ceil(wanted.l) == wanted.l and wanted.k == 1 and len(job.table.sensitive) == 1


def _rows(job: Job, summary: Summary) -> Iterator[str]:
    """Rows that are missing from the release."""
    if summary.left_out > MANY * summary.read:
        limit = f" (suppression = {job.method.suppression:g})" if isinstance(job.method, Incognito) else ""
        yield (
            f"{summary.left_out:,} of {summary.read:,} rows ({percent(summary.left_out / summary.read)}) are left out "
            f"by {summary.method}{limit}: those of groups that fail the requirements, so that what is published is not "
            "about everybody. Lower suppression, or take mondrian, which leaves nobody out"
        )
    if summary.dropped > MANY * summary.read:
        yield (
            f"{summary.dropped:,} of {summary.read:,} rows ({percent(summary.dropped / summary.read)}) were dropped for "
            'missing values; people with missing values may differ from the others. missing = "category" keeps them'
        )


def _noise(summary: Summary) -> Iterator[str]:
    """Randomized attributes that are mostly noise."""
    if summary.scheme != "randomization":
        return
    noisy = [f"{name} ({percent(share)})" for name, share in summary.kept.items() if share < LITTLE]
    if noisy:
        yield (
            f"Few values are expected to stay as they are: {named(noisy)}. Raise tau, or take coarser or fewer "
            "quasi-identifiers"
        )
