"""Injector (Li and Li, ICDE 2008), as reviewed by ART: negative rules are mined and buckets respect them.

From ART (sections 1 and 5): rules "people like these never have that value" with confidence 1 and an expectation of at
least minExp = 0.9 are mined from the data, then l-diverse buckets are formed that exclude what the rules exclude.
Chosen here: rules are over all attribute sets up to a size; a bucket takes one row of each of l values, the most
frequent first, as Anatomy does, but skips values without a row that fits as long as the rest stays l-eligible; among
a few rows of a value drawn at random, it takes the one that can take the most values of the bucket.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError, SfumatoError
from sfumato.kernel.hilb.anatomy import make_buckets
from sfumato.kernel.injector import fit
from sfumato.method.base import Drawn, Groups, GroupScheme, PartitionMethod, Progress
from sfumato.method.diversity import diversity
from sfumato.requirement.attribute_sets import large_sets
from sfumato.requirement.base import Requirement, is_number
from sfumato.requirement.distribution import Kinds, kinds_of, tallied
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_TRIES = 64


@dataclass(frozen=True, kw_only=True)
class Injector(PartitionMethod):
    """Mine rules X => not y that hold without exception, and group rows that can take each other's values.

    A rule counts if X has enough people that ``min_exp`` or more of them would be expected to have y. ``size`` is the
    most attributes X may have (default: all). The rules are kept as far as rows can be found; l-diversity always is.
    """

    name: ClassVar[str] = "injector"
    stage: ClassVar[str] = "rules"
    summary: ClassVar[str] = "l-diverse buckets of rows that could have each other's values, according to the data"
    guarantees: ClassVar[str] = (
        "frequency l-diversity, against an adversary who does not know the algorithm; against negative rules only as "
        "far as rows that fit are found, and not r-robustness"
    )
    refuted: ClassVar[str | None] = (
        "the rules come from the sensitive values, so the grouping reveals something about them. Counterexample, "
        "l = 2, t1, t2, t3 alike and t4, t5, t6 alike: {t1, t3} with a, c, {t2, t5} with a, b and {t4, t6} with b, c: "
        "t2 has a with probability 2/3. Use anatomy or mondrian++ instead"
    )
    scheme: GroupScheme = "bucketization"
    min_exp: float = 0.9
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.min_exp) or not self.min_exp > 0:
            raise PolicyError(f"{self.name}: min_exp = {self.min_exp!r}; it must be a number above 0")
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1):
            raise PolicyError(
                f"{self.name}: size = {self.size!r}; it must be a whole number, 1 or more; leave it out for all"
            )

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        diversity(self.name, requirements).whole_for_small_groups(self.name)

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        l, sensitive = wanted.whole_for_small_groups(self.name), table[wanted.sensitive]
        kinds = kinds_of(table.quasi)
        barred = _bits(excluded(kinds, sensitive, min_exp=self.min_exp, size=self.size))[kinds.of_row]
        progress("cuts", 0.0)
        whole = np.zeros(table.rows, np.int64)
        buckets = make_buckets(whole, 1, sensitive.codes, sensitive.size, draws.order(table.rows))
        values = np.zeros((table.rows // l + 1, barred.shape[1]), np.uint64)
        of_row = np.empty(table.rows, np.int64)
        words = draws.words(sensitive.size + l)
        number = fit(buckets.rows, buckets.first, buckets.value, barred, l, _TRIES, words, values, of_row)
        if number < 0:
            raise SfumatoError(f"{self.name} was given a table that is not {l}-eligible; please report it")
        return Groups(of_row, number)

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        return None

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        raise PolicyError(f"the secret draws of {self.name} depend on hidden values; its outcomes cannot be enumerated")


def excluded(kinds: Kinds, sensitive: Column, *, min_exp: float, size: int | None) -> NDArray[np.bool_]:
    """Which values each kind of person cannot take: one of its signatures has none where ``min_exp`` are expected."""
    width = sensitive.size
    cells = kinds.of_row * width + sensitive.codes
    counts = np.bincount(cells, minlength=kinds.number * width).reshape(kinds.number, width)
    share = counts.sum(axis=0) / len(kinds.of_row)
    out = np.zeros((kinds.number, width), np.bool_)
    people, least = counts.sum(axis=1), min_exp / share.max()
    for chosen in large_sets("injector", kinds, people, least=least, size=size, numbers=1):
        of_kind, have = tallied(kinds, counts, chosen)
        rule = (have == 0) & (have.sum(axis=1, keepdims=True) * share >= min_exp)
        out |= rule[of_kind]
    return out


def _bits(barred: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Booleans packed into 64-bit words."""
    words = -(-barred.shape[1] // 64)
    out = np.zeros((len(barred), words), np.uint64)
    for value in range(barred.shape[1]):
        out[:, value // 64] |= barred[:, value].astype(np.uint64) << np.uint64(value % 64)
    return out
