"""The algorithm-aware adversary on tables too large to enumerate: worlds are drawn, beliefs have intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.algorithm_aware import AnyMethod, Case, make_case
from sfumato.adversary.budget import refuse_work
from sfumato.adversary.knowledge import Fact, Known
from sfumato.adversary.observation import Observation
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Drawn, Groups, PartitionMethod
from sfumato.method.diversity import DiversityMethod
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement, whole_number
from sfumato.requirement.wilson import deviations, wilson_interval
from sfumato.table.microdata import Microdata

MOST_DRAWN = 2_000_000_000
MOST_BELIEFS = 50_000_000


@dataclass(frozen=True)
class SampledWorlds:
    """Beliefs from ``draws`` tables drawn from the naive world: rows are people, columns ``values``.

    ``agreeing`` of them agree with the knowledge, and from ``accepted`` of those the method publishes what was seen;
    ``undecided`` ones may publish it, but with a probability that was not determined. ``low`` and ``high`` enclose the
    smart belief, each with the given confidence. Without knowledge the naive belief is exact: the published shares.
    """

    values: tuple[str, ...]
    naive: NDArray[np.float64]
    smart: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    draws: int
    agreeing: int
    accepted: int
    undecided: int
    confidence: float
    naive_is_exact: bool

    def told_apart(self) -> list[tuple[int, str]]:
        """The people and values for which the smart adversary's belief differs from the naive one's.

        The error over all people and values together is at most 1 - confidence; the intervals are widened accordingly.
        """
        if not self.accepted:
            return []
        each = 1 - (1 - self.confidence) / self.smart.size
        low, high = _interval(self.smart, self.accepted, self.undecided, each)
        slack = 0.0 if self.naive_is_exact else _half_width(self.naive, self.agreeing, each)
        apart = (self.naive - slack > high) | (self.naive + slack < low)
        return [(int(person), self.values[value]) for person, value in np.argwhere(apart)]


def sampled_worlds(
    table: Microdata,
    *,
    method: AnyMethod,
    require: Requirement | Sequence[Requirement] = (),
    knowledge: Fact | Sequence[Fact] | None = None,
    draws: int = 2000,
    confidence: float = 0.99,
    published: Drawn | None = None,
    rng: np.random.Generator | None = None,
) -> SampledWorlds:
    """Draw tables from the naive world, under bucketization, and test from which of them the method publishes the same.

    Any callable method works. If draws follow the grouping (pick-up), the groups before the draws are
    compared. If neither these nor a single outcome is likely to recur, nothing is accepted, and the result says so.

    Args:
        table: the private table.
        method: a name, an object, or any function from a table to groups.
        require: the requirements, one or several.
        knowledge: facts about counts that the adversary knows in addition to the release.
        draws: how many tables to draw.
        confidence: of the intervals.
        published: what was published; by default one outcome is drawn.
        rng: for experiments only; without one all randomness is fresh secret entropy.
    """
    whole_number("sampled_worlds", "draws", draws, 1)
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise PolicyError(f"sampled_worlds: confidence = {confidence!r}; it must be a number between 0 and 1")
    case = make_case(table, method, require, "bucketization")
    rows, size = table.rows, table[case.sensitive].size
    refuse_work("sampled_worlds: draws x rows", draws * rows, MOST_DRAWN, "use fewer draws or a smaller table")
    refuse_work("sampled_worlds: rows x sensitive values", rows * size, MOST_BELIEFS, "use a smaller table")
    if case.perturbs and knowledge:
        raise PolicyError(
            "if values may be changed, beliefs under knowledge can only be computed exactly; use `worlds`"
        )
    source = Draws(rng)
    drawn = case.once(published, source)
    known = Known(knowledge or (), table)
    counts = np.zeros((2, rows, size), np.int64)
    tally = {"agreeing": 0, "accepted": 0, "undecided": 0}
    judge = _Judge(case, drawn)
    for _ in range(draws):
        world = _drawn_world(case, drawn, source)
        if not known.hold(lambda n, world=world: world if n == case.sensitive else table[n].codes):  # type: ignore[misc]
            continue
        tally["agreeing"] += 1
        counts[0, np.arange(table.rows), world] += 1
        verdict = judge(world, source)
        if verdict is None:
            tally["undecided"] += 1
        elif verdict:
            tally["accepted"] += 1
            counts[1, np.arange(table.rows), world] += 1
    return _result(case, counts, tally, draws, confidence, None if knowledge else _shares(case, drawn))


def _shares(case: Case, drawn: Drawn) -> NDArray[np.float64]:
    """The share of each value in the group of each person, as published."""
    size = case.table[case.sensitive].size
    cells = drawn.groups.of_row * size + drawn.table[case.sensitive].codes
    counts = np.bincount(cells, minlength=drawn.groups.number * size).reshape(drawn.groups.number, size)
    return np.asarray((counts / counts.sum(axis=1, keepdims=True))[drawn.groups.of_row])


def _drawn_world(case: Case, drawn: Drawn, source: Draws) -> NDArray[np.int64]:
    """A table of the naive world: the values of each group in random order, or any values where they may be changed."""
    codes = drawn.table[case.sensitive].codes.astype(np.int64)
    if case.perturbs:
        return source.below(np.full(len(codes), case.table[case.sensitive].size))
    order = np.argsort(drawn.groups.of_row, kind="stable")
    mixed = source.order(len(codes))
    mixed = mixed[np.argsort(drawn.groups.of_row[mixed], kind="stable")]
    world = np.empty_like(codes)
    world[order] = codes[mixed]
    return world


class _Judge:
    """Decides whether the method publishes what was seen from a world: True, False, or None for undecided."""

    def __init__(self, case: Case, drawn: Drawn) -> None:
        self.case = case
        self.seen: Observation = case.seen(drawn)
        self.groups = drawn.groups
        self.before = self._before(case.table)
        self.picks = isinstance(case.method, DiversityMethod) and case.method.picks

    def _before(self, table: Microdata) -> Groups | None:
        case = self.case
        if not isinstance(case.method, PartitionMethod) or case.perturbs:
            return None
        return case.method.before_draws(table, bind(case.requirements, table))

    def __call__(self, world: NDArray[np.int64], source: Draws) -> bool | None:
        table = self.case.with_world(world)
        try:
            if self.before is None:
                return self.case.seen(self.case.draw(table, source)) == self.seen
            before = self._before(table)
        except Infeasible:
            return False
        if before is not None and _same(before, self.before):
            return True
        return None if self.picks and before is not None and _refines(self.groups, before) else False


def _same(a: Groups, b: Groups) -> bool:
    """Whether two partitions are the same, however the groups are numbered."""
    if a.number != b.number:
        return False
    return _refines(a, b)


def _refines(a: Groups, b: Groups) -> bool:
    """Whether each group of the first lies in one of the second."""
    return len(np.unique(a.of_row * b.number + b.of_row)) == a.number


def _result(
    case: Case,
    counts: NDArray[np.int64],
    tally: dict[str, int],
    draws: int,
    confidence: float,
    shares: NDArray[np.float64] | None,
) -> SampledWorlds:
    if not tally["agreeing"]:
        raise PolicyError(
            f"none of the {draws} tables drawn agrees with the knowledge; use more draws, or `worlds` on fewer people"
        )
    naive = counts[0] / tally["agreeing"] if shares is None else shares
    smart = counts[1] / tally["accepted"] if tally["accepted"] else np.full(naive.shape, np.nan)
    low, high = _interval(smart, tally["accepted"], tally["undecided"], confidence)
    leaves = case.table[case.sensitive].domain.leaves
    return SampledWorlds(
        leaves, naive, smart, low, high, draws, **tally, confidence=confidence, naive_is_exact=shares is not None
    )


def _interval(
    share: NDArray[np.float64], accepted: int, undecided: int, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's interval for a share of the accepted draws; undecided draws may all have counted, or none."""
    if not accepted or undecided:
        return np.zeros(share.shape), np.ones(share.shape)
    return wilson_interval(share, accepted, confidence)


def _half_width(share: NDArray[np.float64], draws: int, confidence: float) -> NDArray[np.float64]:
    return np.asarray(deviations(confidence) * np.sqrt(np.maximum(share * (1 - share), 1 / draws) / draws))
