"""hilb-safe: the look-ahead of Mondrian+ on the Hilbert order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.kernel.arrange import sort_order
from sfumato.kernel.hilb.line_split import halve
from sfumato.method.base import Groups, Progress
from sfumato.method.cutting import numbered
from sfumato.method.diversity import Diversity, DiversityMethod
from sfumato.method.hilbert_order import hilbert_ranks
from sfumato.method.mondrian_plus import MondrianPlus
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class HilbSafe(DiversityMethod):
    """Look-ahead on the Hilbert order, then uniform Anatomy inside the groups: use it in place of Hilb."""

    name: ClassVar[str] = "hilb-safe"
    summary: ClassVar[str] = "groups as small as l and k allow, drawn at random among neighbours on the Hilbert curve"
    guarantees: ClassVar[str] = MondrianPlus.guarantees
    picks: ClassVar[bool] = True

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        ranks, sensitive = hilbert_ranks(table), table[wanted.sensitive]
        order = sort_order(ranks.codes.astype(np.int64), ranks.size)
        l = wanted.l
        starts = halve(
            ranks.codes[order], sensitive.codes[order], sensitive.size, p=l.numerator, q=l.denominator, least=wanted.k
        )
        return Groups(numbered(order, starts), len(starts))
