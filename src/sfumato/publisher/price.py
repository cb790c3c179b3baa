"""When a release costs too much information: what was lost. Why, and what would help, says `remedy`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sfumato.engine.overview import Overview
from sfumato.method.base import Method
from sfumato.report.plots import percent
from sfumato.report.summary import Summary
from sfumato.requirement.base import Requirement

LITTLE = 0.2
"""If less than this share of the information is kept, almost nothing is left."""
MANY = 0.1
"""If more than this share of the rows is left out, the release no longer represents the people in the table."""
BARE = 0.05
"""An attribute that keeps less than this share is practically hidden."""


@dataclass(frozen=True)
class PricedJob:
    """What was to be published, and how."""

    table: Overview
    requirements: Sequence[Requirement]
    """Bound to the table."""
    method: Method


def remedies(job: PricedJob, summary: Summary) -> list[str]:
    """One warning for each way in which a release costs too much; none if the cost is reasonable."""
    return [*_price(job, summary), *_rows(job, summary), *_noise(summary)]


def _price(job: PricedJob, summary: Summary) -> Iterator[str]:
    """What the groups cost, worst first; why, and what would help."""
    if what := _lost(summary):
        from sfumato.publisher.remedy import causes, ways  # it knows most methods, whose kernels take time to import

        yield ". ".join([what, *causes(job, summary), f"What helps: {'; '.join(ways(job, summary))}."])


def _lost(summary: Summary) -> str:
    """What was lost, if that is far too much."""
    groups, kept = summary.groups, summary.information
    if groups is not None and groups.number == 1 and groups.largest > 1:
        if summary.exact:
            return f"Nothing links quasi-identifiers to sensitive values: all {groups.largest:,} rows form one group"
        return (
            f"The quasi-identifiers carry no information: all {groups.largest:,} rows form one group with the same "
            "labels"
        )
    if kept is not None and kept < LITTLE:
        return f"Almost nothing is left: the labels keep {percent(kept)} of the information in the quasi-identifiers"
    if summary.randomized:
        return ""
    lost = {n: share for n, share in summary.kept.items() if n in summary.hidden or share < BARE}
    return f"Almost nothing is left of {_shares(lost, ' kept')}" if lost else ""


def _shares(attributes: Mapping[str, float], what: str = "") -> str:
    return ", ".join(f"{name!r} ({percent(share)}{what})" for name, share in attributes.items())


def _rows(job: PricedJob, summary: Summary) -> Iterator[str]:
    """Rows that are missing from the release."""
    if summary.left_out > MANY * summary.read:
        allowed = getattr(job.method, "suppression", None)
        limit = f" (suppression = {allowed:g})" if allowed is not None else ""
        yield (
            f"{summary.left_out:,} of {summary.read:,} rows ({percent(summary.left_out / summary.read)}) are left out "
            f"by {summary.method}{limit} because their groups fail the requirements, so the release does not cover "
            "everyone. Lower suppression, or use mondrian, which leaves nobody out."
        )
    if summary.dropped > MANY * summary.read:
        yield (
            f"{summary.dropped:,} of {summary.read:,} rows ({percent(summary.dropped / summary.read)}) were dropped "
            'for missing values; people with missing values may differ from others. missing = "category" keeps them.'
        )


def _noise(summary: Summary) -> Iterator[str]:
    """Randomized attributes that are mostly noise."""
    if not summary.randomized:
        return
    noisy = {name: share for name, share in summary.kept.items() if share < LITTLE}
    if noisy:
        yield (
            f"Few values are expected to stay unchanged: {_shares(noisy)}. Raise tau, or use coarser or fewer "
            "quasi-identifiers."
        )
