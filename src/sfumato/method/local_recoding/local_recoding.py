"""Local recoding: each group shows one node of the taxonomy per attribute, and boxes are peeled off by rising cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping, Groups
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import CountingMethod, Progress
from sfumato.method.local_recoding.adopting import adopted
from sfumato.method.local_recoding.joining import joined, passes
from sfumato.method.local_recoding.lattice import lattice_of
from sfumato.method.local_recoding.loans import DISCOUNTS, Begun, can_lend
from sfumato.method.local_recoding.paths import Integers, Objective, objective_named
from sfumato.method.local_recoding.peeling import GroupTests, Vectors, peeled
from sfumato.method.local_recoding.renewing import renewed
from sfumato.method.local_recoding.reopening import reopened
from sfumato.method.mondrian import plan_tests
from sfumato.release.judgement import TableSchema, on_groups, whole_tally
from sfumato.release.manifest import Manifest
from sfumato.release.scheme.base import Grouped
from sfumato.requirement.base import GroupRequirement, Requirement, as_fraction, is_number, share, whole_number
from sfumato.table.batches import Told, part_of
from sfumato.table.taxonomy import named

_PASSES = 4
"""Groups are adopted and boxes reopened once per this many passes with loans."""


@dataclass(frozen=True, kw_only=True)
class LocalRecoding(CountingMethod):
    """Peel boxes off the table, the cheapest first, until everyone is in one.

    A box has one node of the taxonomy per quasi-identifier. Boxes are visited by rising cost, and a box becomes a group
    as soon as those of its rows that are left meet the requirements. Rows that are left at the end join the groups
    for which that costs least, or are suppressed if that is allowed. Equal rows stay together, and the groups do not
    depend on the order of the rows.

    ``objective``: what labels cost, granularity, ncp, entropy or discernibility; see
    `sfumato.method.local_recoding.paths`. ``labels``: a group shows one node (``nodes``), or the children of it that
    occur as a set (``siblings``). ``suppression``: the largest share of the rows that may be left out, if they fit
    nowhere. ``rounds``: how often a table that is small enough is peeled again with prices that follow from the
    solutions so far, 0 to 12; each round takes several times as long as peeling.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"job": ["Nurse", "Cook", "None", "None"], "sex": ["F", "M", "M", "M"]})
    >>> job = {"Any": {"Work": ["Nurse", "Cook"], "None": {}}}
    >>> table = sf.read(people, quasi=["job", "sex"], taxonomies={"job": job})
    >>> release = sf.publish(table, require=sf.KAnonymity(k=2), method=sf.LocalRecoding())
    >>> sorted(release.tables["data"].select(sf_job="job", sf_sex="sex").rows())
    [('None', 'M'), ('None', 'M'), ('Work', '*'), ('Work', '*')]
    """

    name: ClassVar[str] = "local-recoding"
    stage: ClassVar[str] = "boxes"
    summary: ClassVar[str] = "one node of the taxonomy per label, cheapest boxes first; the labels of ARX, finer"
    guarantees: ClassVar[str] = (
        "every monotone requirement, against an adversary who does not exploit how the algorithm chose its boxes"
    )
    refuted: ClassVar[str | None] = (
        "if a requirement reads sensitive values, a box that is shown reveals that cheaper boxes failed, and that pins "
        "people down. Smallest counterexample, a share of 'a' of at most 1/2: one person of zip 1 and two of zip 2 "
        "shown as one group with a, b, b: the one of zip 1 certainly has a, else the zips would be shown. "
        "For frequency l-diversity, use mondrian+ or mondrian-blur instead"
    )
    beside: ClassVar[frozenset[str]] = frozenset({"suppressed", "suppressed_share"})

    objective: Objective = "granularity"
    labels: Literal["nodes", "siblings"] = "nodes"
    suppression: float = 0.0
    rounds: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        objective_named(self.objective)
        if self.labels not in ("nodes", "siblings"):
            raise PolicyError(f"local-recoding: labels = {self.labels!r}; it must be 'nodes' or 'siblings'")
        share(self.name, "suppression", self.suppression, zero=True)
        if whole_number(self.name, "rounds", self.rounds, 0) > len(DISCOUNTS):
            raise PolicyError(f"local-recoding: rounds = {self.rounds}; it must be at most {len(DISCOUNTS)}")

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """No warning if only sizes decide: then the boxes reveal nothing about sensitive values."""
        return self.if_steered(requirements, "the boxes and the rows left out")

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        _monotone(on_groups(requirements, self.name))

    def redrawn(self) -> str | None:
        return None

    def shows_sets(self) -> bool:
        return self.labels == "siblings"

    def contradiction(self, manifest: Manifest) -> str | None:
        told = manifest.settings
        if missing := sorted(self.beside - told.keys()):
            return f"it does not state {named(missing)}"
        lost, part = told["suppressed"], told["suppressed_share"]
        if not isinstance(lost, int) or isinstance(lost, bool) or lost < 0 or not is_number(part):
            return "it does not state the number of suppressed rows"
        if abs(lost / (manifest.rows + lost) - part) > 1e-9:
            return f"{lost} suppressed and {manifest.rows} kept rows do not give a share of {part}"
        return "more rows are suppressed than allowed" if part > self.suppression + 1e-9 else None

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Counts) -> None:
        """A requirement that the whole table fails may hold once some rows are suppressed."""
        on_groups(bound, self.name) if self.suppression else super().refuse_infeasible(bound, counts)

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        groups = self._groups(counts, requirements, progress)
        lost = int(counts.weights[groups.of_row < 0].sum())
        told = {"suppressed": lost, "suppressed_share": lost / max(counts.rows, 1)}
        if not lost:
            return self._decision(counts, groups, told)
        kept = Grouping.of_vectors(counts, np.where(groups.of_row < 0, -1, 0), 1)
        rest = replace(self, suppression=0.0)

        def again(left: Counts) -> Grouped:
            return self._decision(left, rest._groups(left, requirements, progress), told)

        return Grouped(grouping=kept, again=again)

    def _decision(self, counts: Counts, groups: Groups, told: dict[str, Any]) -> Grouped:
        grouping = Grouping.of_vectors(counts, groups.of_row, groups.number)
        return Grouped(grouping=grouping, sets=self.shows_sets(), statement=told)

    def of_vectors(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress) -> Groups:
        groups = self._groups(counts, requirements, progress)
        if (groups.of_row < 0).any():
            raise PolicyError(
                "rows may be left out, so not everyone has a group; set suppression = 0 to look at groups"
            )
        return groups

    def _groups(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress) -> Groups:
        """The group of each vector; -1 for those that are suppressed."""
        asked = _monotone(on_groups(requirements, self.name))
        wanted = GroupTests(*plan_tests(counts, asked))
        vectors = Vectors.of(counts, wanted, self.objective)
        lattice = lattice_of(vectors.paths, vectors.codes)
        group, number = peeled(vectors, lattice, wanted, lambda done: progress("boxes", done))
        if not self._leaves_out(group, vectors, counts):
            if self.suppression and (group < 0).any():
                _refuse_whole(counts, asked, vectors, wanted, int(vectors.weights[group < 0].sum()))
            group, number = joined(vectors, group, number, wanted)
            if can_lend(lattice, wanted, self.objective):
                group, number = self._improved(Begun(vectors, lattice, wanted, group, number), progress)
        of_row = np.empty_like(group)
        of_row[vectors.at] = group
        return Groups(of_row, number)

    def _improved(self, begun: Begun, progress: Progress) -> tuple[Integers, int]:
        """Groups that cost less, found by loans, moves, adoption, and boxes and neighbourhoods that are tried again."""
        solutions = begun.solutions(self.rounds, lambda done: progress("loans", done))
        best, turns = solutions[0], -(-self.rounds // _PASSES)

        def part(first: float, last: float) -> Told:
            return part_of(lambda done: progress("reopening", done), first / (turns + 0.4), last / (turns + 0.4))

        for turn in range(turns):
            best = adopted(begun.vectors, [best, *solutions], begun.wanted, part(turn, turn + 0.4))
            best = reopened(begun, best, 1, part(turn + 0.4, turn + 0.6))
            best = renewed(begun, best, _PASSES, turn, part(turn + 0.6, turn + 1))
        last = [best, *solutions]
        return adopted(begun.vectors, last, begun.wanted, part(turns, turns + 0.4)) if turns else best

    def _leaves_out(self, group: Integers, vectors: Vectors, counts: Counts) -> bool:
        """Whether rows are left, few enough to be suppressed, and not all rows."""
        lost = int(vectors.weights[group < 0].sum())
        return 0 < lost <= math.floor(as_fraction(self.suppression) * counts.rows) and lost < counts.rows


def _monotone(requirements: Sequence[GroupRequirement]) -> Sequence[GroupRequirement]:
    for r in requirements:
        if not r.monotone:
            raise PolicyError(f"local-recoding serves only monotone requirements, and {r.model} is not monotone")
    return requirements


def _refuse_whole(
    counts: Counts, asked: Sequence[GroupRequirement], vectors: Vectors, wanted: GroupTests, left: int
) -> None:
    """Raise if the whole table fails: then those who fit nowhere, ``left`` of them, cannot join a group either."""
    if passes(vectors, np.ones(len(vectors.weights), np.bool_), wanted):
        return
    schema = TableSchema(counts)
    needed = math.ceil(1000 * left / counts.rows) / 1000
    others = f", or raise the suppression limit to {needed:g}: {left:,} of {counts.rows:,} rows fit nowhere"
    others = others if left < counts.rows else "; suppression does not help, since no box meets the requirements"
    for r in asked:
        whole = whole_tally(r, counts)
        if not r.holds(schema, whole)[0]:
            raise Infeasible(f"{r.model}: {r.remedy(schema, whole)}{others}")
    raise Infeasible(f"the requirements cannot be met together; weaken one of them{others}")
