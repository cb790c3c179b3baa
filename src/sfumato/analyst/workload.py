"""Random count queries: SELECT COUNT(*) WHERE pred(Q1) AND ... AND pred(Qqd) AND pred(S)."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.queries.bitmap import Predicates, Words, random_sets, range_sets
from sfumato.table.encode import Column, Domain, Kind
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

_ORDERED = (Kind.CONTINUOUS, Kind.ORDINAL, Kind.DATE)


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries with the domains they refer to, quasi-identifiers first, the sensitive attribute last.

    A domain lists the values that a query can name; nothing here says how often one occurs.
    """

    domains: Mapping[str, Domain]
    predicates: Predicates

    def __len__(self) -> int:
        return len(self.predicates.column)

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers that the queries may ask about."""
        return list(self.domains)[:-1]

    @property
    def sensitive(self) -> str:
        """The sensitive attribute."""
        return list(self.domains)[-1]

    def wanted(self, query: int) -> dict[str, tuple[str, ...]]:
        """The values that each predicate of one query allows."""
        names = list(self.domains)
        out = {}
        for j, column in enumerate(self.predicates.column[query].tolist()):
            name = names[column]
            leaves, lo = self.domains[name].leaves, int(self.predicates.lo[query, j])
            if self.domains[name].ordered:
                out[name] = tuple(leaves[lo : int(self.predicates.hi[query, j])])
            else:
                words = self.predicates.words[lo : lo + -(-len(leaves) // 64)]
                bits = np.unpackbits(words.view(np.uint8), bitorder="little", count=len(leaves))
                out[name] = tuple(leaves[v] for v in np.flatnonzero(bits))
        return out

    def sensitive_sets(self) -> Words:
        """The sensitive values that each query allows, as bit sets."""
        asked, domain = self.predicates, self.domains[self.sensitive]
        if domain.ordered:
            return range_sets(asked.lo[:, -1], asked.hi[:, -1], domain.size)
        return np.asarray(asked.words[asked.lo[:, -1, None] + np.arange(-(-domain.size // 64))])


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A workload of random count queries (ASAP, section 8.1.3; Xiao and Tao, Anatomy, VLDB 2006, section 6.1).

    Each query asks about ``dimension`` quasi-identifiers (qd), drawn afresh, and about the sensitive attribute. Each of
    these qd + 1 predicates allows ``values_of(|D|)`` values of its attribute's domain D: consecutive ones if the
    values are ordered (continuous, ordinal, date), otherwise any. ``selectivity`` (s) is the share of the rows that a
    query would count if all values were equally frequent and independent. The same ``seed`` gives the same queries.

    >>> Workload(dimension=3, selectivity=0.05).values_of(79)
    38
    >>> Workload(dimension=2, selectivity=0.001).values_of(10)
    1
    """

    dimension: int = 3
    selectivity: float = 0.05
    queries: int = 10_000
    seed: int = 0
    sensitive: str | None = None

    def __post_init__(self) -> None:
        for name, least in (("dimension", 1), ("queries", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise PolicyError(f"the {name} of a workload is {value!r}; it must be a whole number, {least} or more")
        s = self.selectivity
        if isinstance(s, bool) or not isinstance(s, int | float) or not 0 < s <= 1:
            raise PolicyError(f"the selectivity of a workload is {s!r}; it must be in (0, 1]")

    def values_of(self, size: int) -> int:
        """How many of ``size`` values a predicate allows: b = ceil(|D| s^(1/(qd+1))), at least 1, computed exactly."""
        power, share = self.dimension + 1, Fraction(str(self.selectivity))
        b = max(int(size * float(share) ** (1 / power)) - 1, 1)
        while b < size and Fraction(b, size) ** power < share:
            b += 1
        return b

    def draw(self, table: Microdata) -> Queries:
        """The queries for the domains of a table."""
        quasi, sensitive = table.quasi, self._sensitive(table)
        if self.dimension > len(quasi):
            raise PolicyError(
                f"a query of dimension {self.dimension} asks about {self.dimension} quasi-identifiers, but the table "
                "has "
                f"{len(quasi)}; lower the dimension"
            )
        rng = np.random.default_rng(self.seed)
        column = self._columns(rng, len(quasi))
        lo, hi, words = np.zeros(column.shape, np.int64), np.zeros(column.shape, np.int64), _BitSets()
        for c, attribute in enumerate([*quasi, sensitive]):
            at = np.nonzero(column == c)
            lo[at], hi[at] = self._draw_one(rng, attribute, len(at[0]), words)
        domains = {c.name: c.domain for c in [*quasi, sensitive]}
        return Queries(domains, Predicates(column, lo, hi, np.concatenate([*words.parts, np.zeros(1, np.uint64)])))

    def _sensitive(self, table: Microdata) -> Column:
        there = {c.name: c for c in table.sensitive}
        if not there:
            raise PolicyError("a workload needs a sensitive attribute, but the table has none; give a column that role")
        if self.sensitive is None and len(there) > 1:
            raise PolicyError(f"the table has the sensitive attributes {named(there)}; name one: sensitive = ...")
        name = self.sensitive or next(iter(there))
        if name not in there:
            raise PolicyError(f"{name!r} is not a sensitive attribute of the table; there are {named(there)}")
        return there[name]

    def _columns(self, rng: np.random.Generator, quasi: int) -> NDArray[np.int32]:
        """Which attributes each query asks about, by number, in table order; the sensitive one is the last."""
        sets = random_sets(_draws(rng, self.queries, self.dimension), quasi)
        bits = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little", count=quasi)
        chosen = np.nonzero(bits)[1].reshape(self.queries, self.dimension)
        return np.column_stack([chosen, np.full(self.queries, quasi)]).astype(np.int32)

    def _draw_one(
        self, rng: np.random.Generator, column: Column, number: int, words: "_BitSets"
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number of predicates on one attribute: each a range, or where its set starts among the words."""
        size, b = column.size, self.values_of(column.size)
        if column.kind in _ORDERED:
            first = rng.integers(0, size - b + 1, number)
            if column.domain.ordered:
                return first, first + b
            sets = range_sets(first, first + b, size)
        else:
            sets = random_sets(_draws(rng, number, b), size)
        start = words.add(sets)
        return start, start


class _BitSets:
    """Bit sets one after the other."""

    def __init__(self) -> None:
        self.parts: list[Words] = []
        self.length = 0

    def add(self, sets: Words) -> NDArray[np.int64]:
        """Where each set starts."""
        start: NDArray[np.int64] = self.length + sets.shape[1] * np.arange(len(sets), dtype=np.int64)
        self.parts.append(sets.ravel())
        self.length += sets.size
        return start


def _draws(rng: np.random.Generator, rows: int, columns: int) -> Words:
    return rng.integers(0, 2**64, (rows, columns), dtype=np.uint64, endpoint=False)
