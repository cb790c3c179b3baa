"""Hilb and its look-ahead versions, as published. Their promise against an aware adversary is refuted.

Hilb (Ghinita et al., VLDB 2007) as ASAP reviews it in section 6.2.2; Hilb+ is Algorithm 2 with line 10
corrected for the last group and with the table's eligibility checked; Hilb++ adds stratified pick-up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.kernel.hilb.anatomy import make_buckets
from sfumato.kernel.hilb.frontier import greedy_groups
from sfumato.method.base import Groups, Progress
from sfumato.method.diversity import Diversity, DiversityMethod, diversity
from sfumato.method.hilbert_order import hilbert_ranks
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_FRONTIER = (
    "Theorem 6.2 of ASAP is false: a row that the frontier passes over shares a value with the group. Smallest "
    "counterexample, l = 2: {t1, t3} with a, b and {t2, t4, t5, t6} with a, b, c, c give t4 = c with confidence 2/3; "
    "with a, c, c, d they give t1 = t2 = a with certainty. Use hilb-safe instead"
)


def _groups(table: Microdata, sensitive: Column, l: int, *, ahead: bool) -> Groups:
    """The groups that the frontier forms along the Hilbert order; ties are broken by the order of rows."""
    rank = hilbert_ranks(table).codes.astype(np.int64)
    order = np.argsort(rank, kind="stable")
    place = np.empty(table.rows, np.int64)
    place[order] = np.arange(table.rows)
    buckets = make_buckets(np.zeros(table.rows, np.int64), 1, sensitive.codes, sensitive.size, order)
    out = np.empty(table.rows, np.int64)
    number = greedy_groups(buckets.rows, buckets.first, place, l, ahead, out)
    if number < 0:
        raise SfumatoError(f"no {l}-diverse group can be split off, although the table is eligible; please report it")
    return Groups(out, number)


@dataclass(frozen=True, kw_only=True)
class Hilb(DiversityMethod):
    """Split off the fewest neighbours on the Hilbert curve, of different values, that leave the rest l-diverse."""

    name: ClassVar[str] = "hilb"
    summary: ClassVar[str] = "small groups of neighbours on the Hilbert curve with distinct sensitive values"
    guarantees: ClassVar[str] = "frequency l-diversity, against an adversary who does not know the algorithm"
    refuted: ClassVar[str | None] = (
        "an adversary who knows the algorithm learns from the rows it passed over. Smallest counterexample, l = 2: "
        "{t1, t3} and {t2, t4}, both with a, b, leave only two of four tables: t1 = t2 and t3 = t4. "
        "Use hilb-safe instead"
    )
    ahead: ClassVar[bool] = False

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        diversity(self.name, requirements).whole_for_small_groups(self.name)

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        return _groups(table, table[wanted.sensitive], wanted.whole_for_small_groups(self.name), ahead=self.ahead)


@dataclass(frozen=True, kw_only=True)
class HilbPlus(Hilb):
    """Hilb+ (ASAP, Algorithm 2, corrected): split off l neighbours if the rest would hold in the worst case."""

    name: ClassVar[str] = "hilb+"
    summary: ClassVar[str] = "hilb with look-ahead, as published"
    refuted: ClassVar[str | None] = _FRONTIER
    ahead: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class HilbPlusPlus(HilbPlus):
    """Hilb++ (ASAP, section 7): Hilb+, then stratified pick-up inside its groups."""

    name: ClassVar[str] = "hilb++"
    summary: ClassVar[str] = "hilb+ with stratified pick-up, as published"
    picks: ClassVar[bool] = True
