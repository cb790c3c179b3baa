"""Bucketized releases with groups of k rows, for tests of who uses them: no privacy is claimed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sfumato as sf
from sfumato.method.base import Groups, Scheme
from sfumato.requirement.base import Requirement


@dataclass(frozen=True, kw_only=True)
class SizedBuckets(sf.Mondrian):
    """Mondrian's groups of at least k rows, whatever is required."""

    scheme: Scheme = "bucketization"
    k: int = 1

    def groups(self, table: sf.Microdata, requirements: Sequence[Requirement], **more: Any) -> Groups:
        return super().groups(table, [sf.KAnonymity(k=self.k)], **more)


def in_buckets(table: sf.Microdata, k: int) -> sf.Release:
    """The table in buckets of at least k rows."""
    return sf.publish(table, require=sf.LDiversity(l=1), method=SizedBuckets(k=k))
