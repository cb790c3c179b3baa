"""The keep probabilities of randomized response with the lowest cost under a bound on disclosure (Problem 1)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, count, totals
from sfumato.errors import DataError, Infeasible, PolicyError, nearest
from sfumato.method.rr.in_table import table_optimum
from sfumato.method.rr.occurring import RiskBound, bounded_optimum, too_many_sets
from sfumato.method.rr.pairs import LimitedPairs, Watch
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import is_number
from sfumato.requirement.disclosure import Disclosure, JointShares, paper_risk
from sfumato.table.distortion import Distortion, Floats
from sfumato.table.microdata import Microdata

Mode = Literal["qi", "sensitive", "both"]

MODES = ("qi", "sensitive", "both")
MOST_CELLS = 30_000_000
"""The largest contingency table of quasi-identifiers for which the risk is computed."""

_MANY_CELLS = 200_000
_MOST_AT_ONCE = 1_000_000
_SHOWN = 3
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class OptimalResponse:
    """The solution of Problem 1: the distortion of each attribute, its cost, and the risk in both readings.

    ``keep`` are the probabilities p, 1 for what is not randomized; ``objective`` is Result 2's product of the squared
    norms of the inverse matrices; ``risk`` is the greatest Equation 6 over the people who occur (an upper bound of it
    where the domain is large); ``attack_success`` is how often the best attacker, who guesses the most frequent
    sensitive value among people with the same quasi-identifiers, is right in the most exposed group,
    ``attack_success_mean`` over all people.
    ``starts`` and ``agreeing``: from how many points the search started, and how many ended at this optimum.

    ``epsilon`` is that of each matrix, infinite for what is not randomized. It measures the noise once the matrices
    are known; it is local differential privacy only where the matrices do not depend on the private table, as the
    optimum does.
    """

    mode: Mode
    keep: Mapping[str, float]
    objective: float
    risk: float
    attack_success: float
    attack_success_mean: float
    epsilon: Mapping[str, float]
    distortions: Mapping[str, Distortion] = field(repr=False)
    starts: int = 1
    agreeing: int = 1


def optimal_response(
    table: Microdata, *, tau: float | Mapping[str, float] | Disclosure, mode: Mode = "both"
) -> OptimalResponse:
    """The keep probabilities of least expected squared error whose risk is at most tau for everyone (Problem 1).

    They are computed from the private table and, if published, reveal something about it: an adversary who knows all
    rows but one can recompute them for each value that the missing row may have. To publish, let ``rr`` fit them to
    noisy counts (its default), or set them by hand.

    >>> import polars as pl, sfumato as sf
    >>> frame = pl.DataFrame({"sex": ["m"] * 4 + ["f"] * 4, "ill": ["flu", "flu", "flu", "HIV"] * 2})
    >>> best = optimal_response(sf.read(frame, quasi=["sex"], sensitive="ill"), tau=0.5, mode="qi")
    >>> round(best.keep["sex"], 4), round(best.risk, 4), best.attack_success
    (0.7887, 0.5, 0.75)
    """
    wanted = tau if isinstance(tau, Disclosure) else Disclosure(tau=tau)
    return solve(Problem.of(table, wanted, mode))


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, a bound for each pair of quasi-identifiers and sensitive value, and what may be randomized."""

    table: Microdata | Counts
    people: JointShares
    bounds: Floats
    mode: Mode
    public_limits: Floats
    own_limits: bool

    @classmethod
    def of(cls, table: Microdata | Counts, wanted: Disclosure, mode: Mode) -> "Problem":
        """Count the table and find the bounds."""
        if mode not in MODES:
            raise PolicyError(f"mode = {mode!r}{nearest(str(mode), MODES)}")
        bound = wanted.bind(TableSchema(table))
        people, cell_of_row = people_of(table)
        limits = bound.limits(table.sensitive[0].domain.leaves)
        bounds = _bounds(table, bound, people, cell_of_row)
        return cls(table, people, bounds, mode, limits, bound.person is not None)

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers, then the sensitive attribute."""
        return [c.name for c in (*self.table.quasi, *self.table.sensitive)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each of them has."""
        return (*self.people.sizes, self.people.shares.shape[1])

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which of them are randomized."""
        quasi = [self.mode != "sensitive"] * len(self.people.sizes)
        return np.array([*quasi, self.mode != "qi"]) & (np.array(self.sizes) > 1)

    def risk(self, ways: Sequence[Distortion]) -> Floats:
        """Equation 6 for each pair that occurs."""
        return paper_risk(self.people, ways[:-1], ways[-1])

    def over(self, ways: Sequence[Distortion]) -> int:
        """The number of combinations of quasi-identifiers in which these distortions leave someone above the limit."""
        return int((self.risk(ways) > self.bounds * (1 + _ROUNDING)).any(axis=1).sum())

    def counts(self) -> NDArray[np.int64]:
        """The rows in each cell of the full domain of quasi-identifiers and sensitive attribute."""
        flat = np.zeros(self.table.entries, np.int64)
        for c in (*self.table.quasi, *self.table.sensitive):
            flat = flat * c.size + c.codes
        return totals(Counted(flat, math.prod(self.sizes)), self.table.weights)

    def least(self) -> Floats:
        """The limit of Equation 6 when everything that may be randomized is fully randomized (Property 1)."""
        shares = self.people.shares
        back = 1.0 if self.mode == "sensitive" else self.people.weight[:, None]
        return np.asarray(shares * back * (1.0 if self.mode == "qi" else shares))

    def kept(self) -> list[Distortion]:
        """Nothing is randomized."""
        return [Distortion.keeping(1.0, d, what=n) for n, d in zip(self.names, self.sizes, strict=True)]

    def result(
        self, ways: Sequence[Distortion], starts: int = 1, agreeing: int = 1, *, risk: float | None = None
    ) -> OptimalResponse:
        """The facts about these distortions; ``risk`` if it is known."""
        success = self.people.attack_success()
        return OptimalResponse(
            self.mode,
            {n: w.keep for n, w in zip(self.names, ways, strict=True)},
            math.prod(w.noise for w in ways),
            greatest_risk(self.people, ways) if risk is None else risk,
            float(success.max()),
            float(success @ self.people.weight),
            {n: w.epsilon for n, w in zip(self.names, ways, strict=True)},
            dict(zip(self.names, ways, strict=True)),
            starts,
            agreeing,
        )


def greatest_risk(people: JointShares, ways: Sequence[Distortion]) -> float:
    """The greatest Equation 6 over the people who occur, under distortions of the quasi-identifiers and the sensitive
    attribute; an upper bound of it where the domain is large and noise treats all other values alike."""
    if people.cells <= _MANY_CELLS or too_many_sets(people) or any(way.share is None for way in ways):
        return float(paper_risk(people, ways[:-1], ways[-1]).max())
    row = np.arange(len(people.cell))
    value = people.shares.argmax(axis=1)
    bound = RiskBound(people, LimitedPairs(row, value, np.log(people.shares[row, value])))
    return min(1.0, float(np.exp(bound.greatest(np.log([way.retained for way in ways])))))


def people_of(table: Microdata | Counts) -> tuple[JointShares, NDArray[np.int64]]:
    """The table as the risk sees it, and the combination of each row or vector among those that occur."""
    if not table.quasi or len(table.sensitive) != 1:
        raise PolicyError(
            "randomized response needs quasi-identifiers and one sensitive attribute; this table has "
            f"{len(table.quasi)} and {len(table.sensitive)}: give the columns these roles"
        )
    sizes = tuple(c.size for c in table.quasi)
    if math.prod(sizes) > MOST_CELLS:
        widest = max(table.quasi, key=lambda c: c.size)
        raise PolicyError(
            f"the contingency table of the {len(sizes)} quasi-identifiers has {math.prod(sizes):,} cells, more than "
            f"{MOST_CELLS:,}; drop or coarsen a quasi-identifier, first {widest.name!r} with its {widest.size:,} values"
        )
    groups = count([Counted(c.codes, c.size) for c in table.quasi])
    cell = np.zeros(len(groups.first), np.int64)
    for c in table.quasi:
        cell = cell * c.size + c.codes[groups.first]
    size = totals(Counted(groups.of_row, len(cell)), table.weights)
    (sensitive,) = table.sensitive
    pairs = Counted(groups.of_row * sensitive.size + sensitive.codes, len(cell) * sensitive.size)
    counts = totals(pairs, table.weights).reshape(len(cell), -1)
    return JointShares(sizes, size / table.rows, cell, counts / size[:, None]), groups.of_row


def _bounds(
    table: Microdata | Counts, wanted: Disclosure, people: JointShares, cell_of_row: NDArray[np.int64]
) -> Floats:
    """The limit of each pair: that of the sensitive value or, if people have their own, the smallest of these."""
    (sensitive,) = table.sensitive
    bounds = np.tile(wanted.limits(sensitive.domain.leaves), (len(people.cell), 1))
    if wanted.person is None:
        return bounds
    own = table.uncoded(wanted.person)
    if own is None:
        raise PolicyError(
            f"{wanted.person!r} holds limits per person; give it the role 'identifier', so that it stays private"
        )
    limits = [float(v) if is_number(v) else _as_number(v) for v in own.to_list()]
    if any(not 0 < v <= 1 for v in limits):
        bad = next(v for v in limits if not 0 < v <= 1)
        raise DataError(f"column {wanted.person!r} holds the limit {bad!r}; a person's limit must be in (0, 1]")
    np.minimum.at(bounds, (cell_of_row, sensitive.codes.astype(np.int64)), np.array(limits))
    return bounds


def _as_number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def solve(problem: Problem, watch: Watch = lambda done: None) -> OptimalResponse:
    """The optimum, from many starts; raises Infeasible, naming the groups responsible, if there is none.

    Where the domain is large, one start has to do, and the risk is bounded from above, unless there are too many
    quasi-identifiers for that; ``watch`` is called with its progress.
    """
    kept, bounds = problem.kept(), problem.bounds
    if (problem.people.shares <= bounds).all():  # nothing is randomized: everyone is traced back
        return problem.result(kept)
    refuse_hopeless(problem)
    if problem.people.cells > (_MOST_AT_ONCE if too_many_sets(problem.people) else _MANY_CELLS):
        return _solved_from_what_occurs(problem, watch)
    many = problem.people.cells > _MANY_CELLS
    found = table_optimum(problem.people, _pairs(problem), problem.free, 1 if many else None, watch)
    if found is None:
        raise _no_optimum(problem)
    return problem.result(_distortions(problem, found.shares), found.starts, found.agreeing)


def _solved_from_what_occurs(problem: Problem, watch: Watch) -> OptimalResponse:
    """A solution that keeps every limit, without going through all cells of the domain."""
    bound = RiskBound(problem.people, _pairs(problem))
    found = bounded_optimum(bound, problem.free, np.array(problem.sizes) - 1.0, watch)
    if found is None:
        raise _no_optimum(problem)
    shares, greatest = found
    if (problem.bounds == problem.bounds[0, 0]).all():
        risk = greatest * float(problem.bounds[0, 0])
    else:  # some have a limit of their own, or none
        row, value = np.nonzero(problem.people.occurring)
        every = LimitedPairs(row, value, np.log(problem.people.shares[row, value]))
        risk = min(1.0, float(np.exp(bound.of(every).rough(np.log(shares)).max())))
    return problem.result(_distortions(problem, shares), risk=risk)


def _no_optimum(problem: Problem) -> Infeasible:
    return Infeasible(f"no keep probabilities above 1/d reach the limit in mode {problem.mode!r}; raise tau a little")


def _distortions(problem: Problem, shares: Floats) -> list[Distortion]:
    return [
        Distortion.keeping(c + (1 - c) / d, d, what=n)
        for c, d, n in zip(shares, problem.sizes, problem.names, strict=True)
    ]


def _pairs(problem: Problem) -> LimitedPairs:
    """The pairs that can be the riskiest; of equal bounds in a combination, only that of the most frequent value."""
    shares, bounds = problem.people.shares, problem.bounds
    if (bounds == bounds[0, 0]).all():
        row = np.arange(len(shares))
        value = shares.argmax(axis=1)
    else:
        row, value = np.nonzero(problem.people.occurring & np.isfinite(bounds))
    return LimitedPairs(row, value, np.log(shares[row, value]) - np.log(bounds[row, value]))


def refuse_hopeless(problem: Problem) -> None:
    """Raise, naming the groups that make the limit unattainable however much is randomized."""
    least = problem.least()
    over = problem.people.occurring & (least >= problem.bounds)
    if not over.any():
        return
    rows, values = np.nonzero(over)
    order = np.argsort(-(least / problem.bounds)[over], kind="stable")[:_SHOWN]
    sensitive = problem.table.sensitive[0]
    told = []
    for i in order:
        at, value = rows[i], values[i]
        codes = np.unravel_index(problem.people.cell[at], problem.people.sizes)
        who = ", ".join(f"{c.name} = {c.domain.leaves[k]}" for c, k in zip(problem.table.quasi, codes, strict=True))
        size = round(float(problem.people.weight[at]) * problem.table.rows)
        held = round(size * float(problem.people.shares[at, value]))
        told.append(
            f"({who}), where {held} of {size} {'row' if size == 1 else 'rows'} have "
            f"{sensitive.name} = {sensitive.domain.leaves[value]} (least risk {least[at, value]:.4g})"
        )
    groups = len(np.unique(rows))
    most = float(least[over].max())
    remedy = [f"raise tau above {most:.6g}"] if most < 1 else []
    if problem.mode != "both":
        other = "quasi-identifiers" if problem.mode == "sensitive" else "sensitive attribute"
        remedy.insert(0, f'randomize the {other} too (mode = "both")')
    limit = float((problem.bounds[over]).min())
    raise Infeasible(
        f"disclosure: mode {problem.mode!r} cannot reduce the risk to {limit:.6g}, even if everything is fully "
        f"randomized: {groups} {'group prevents' if groups == 1 else 'groups prevent'} it, e.g. {'; '.join(told)}; "
        f"{', or '.join(remedy) or 'everyone has the same value, so no tau below 1 can be met'}"
    )
