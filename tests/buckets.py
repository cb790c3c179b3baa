"""Bucketized releases with groups of k rows, for tests of who uses them: no privacy is claimed."""

from collections.abc import Sequence
from dataclasses import dataclass

import sfumato as sf
from sfumato.engine.counts import Counts
from sfumato.method.base import Groups, GroupScheme, Progress
from sfumato.requirement.base import Requirement


@dataclass(frozen=True, kw_only=True)
class SizedBuckets(sf.Mondrian):
    """Mondrian's groups of at least k rows, whatever is required."""

    scheme: GroupScheme = "bucketization"
    k: int = 1

    def of_vectors(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress) -> Groups:
        return super().of_vectors(counts, [sf.KAnonymity(k=self.k)], progress)


def in_buckets(table: sf.Microdata, k: int) -> sf.Release:
    """The table in buckets of at least k rows."""
    return sf.publish(table, require=sf.LDiversity(l=1), method=SizedBuckets(k=k))
