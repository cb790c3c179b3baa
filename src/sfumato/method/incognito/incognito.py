"""Incognito: full-domain generalization, optimal over the lattice of levels, with record suppression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Method, Progress, silent
from sfumato.method.incognito.compressed import CompressedVectors, Levels
from sfumato.method.incognito.lattice import Judge, Search
from sfumato.method.incognito.levels import Ladder
from sfumato.method.incognito.losses import loss_named
from sfumato.method.incognito.population import PopulationMatch, fewest_people, judge_labels, k_maps
from sfumato.release.judgement import TableSchema, listed, on_groups, whole_tally
from sfumato.release.manifest import Manifest
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.group_labels import recoded
from sfumato.requirement.base import GroupRequirement, Requirement, as_fraction, is_number, share
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Domain, Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

_MOST_NODES = 1_000_000


@dataclass(frozen=True)
class Optimum:
    """The best node of the lattice: the level of each quasi-identifier, its loss and how many rows it suppresses.

    ``ties`` are the other nodes with exactly the same loss; among equals the one with the fewest steps in total is
    chosen, then the one with the lowest levels in the order of the attributes. ``nodes`` is the size of the lattice,
    ``looked_at`` how many of its nodes were judged.

    ``levels``: attribute → level. ``suppressed``: how many rows are left out.
    """

    levels: dict[str, int]
    loss: float
    suppressed: int
    ties: tuple[dict[str, int], ...]
    nodes: int
    looked_at: int


@dataclass(frozen=True, eq=False)
class _Solved:
    """The optimum, with what is needed to publish it."""

    optimum: Optimum
    ladders: list[Ladder]
    kept: NDArray[np.bool_]


def incognito(
    table: Microdata,
    *,
    require: Requirement | Sequence[Requirement],
    suppression: float = 0.0,
    loss: str = "arx",
    progress: Progress = silent,
) -> Optimum:
    """The levels with the least loss at which all groups, except a share of the rows, meet the requirements.

    Args:
        table: the private table.
        require: the requirements, one or several.
        suppression: the greatest share of the rows that may be left out.
        loss: ``arx``, ``precision``, ``discernibility`` or ``aecs``.
        progress: called with the stage and the share of it that is done.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"job": ["Nurse", "Cook", "None", "None"], "sex": ["F", "M", "M", "M"]})
    >>> job = {"Any": {"Work": ["Nurse", "Cook"], "None": {}}}
    >>> table = sf.read(people, quasi=["job", "sex"], taxonomies={"job": job})
    >>> incognito(table, require=sf.KAnonymity(k=2)).levels
    {'job': 1, 'sex': 1}
    >>> best = incognito(table, require=sf.KAnonymity(k=2), suppression=0.5)
    >>> best.levels, best.suppressed, round(best.loss, 4)
    ({'job': 0, 'sex': 0}, 2, 0.5)
    """
    method = Incognito(suppression=suppression, loss=loss)
    bound = method.bind(table, listed(require))
    counts = LocalEngine(table).count(method.counted(table, bound))
    return method.solve(counts, bound, progress).optimum


@dataclass(frozen=True, kw_only=True)
class Incognito(Method):
    """Show every attribute at one level for all rows, and suppress the rows of groups that fail.

    LeFevre, DeWitt, Ramakrishnan, "Incognito: efficient full-domain k-anonymity" (SIGMOD 2005), with any requirement
    that is judged on groups, record suppression and losses as in ARX. The whole lattice of levels is searched: the
    result is a proven optimum. Levels are defined in `sfumato.method.incognito.levels.Ladder`.

    ``suppression``: the largest share of the rows that may be suppressed. Groups that fail are suppressed
    whole; a suppressed row is left out of the release with all its values, and the manifest states how many there
    are. ``loss``: arx, precision, discernibility or aecs, see `sfumato.method.incognito.losses`.

    A requirement that compares with the table (such as t-closeness) decides by the distribution of the whole table what
    is suppressed; the rows kept must also meet it against their own distribution, since that is the one the release
    shows.
    """

    name: ClassVar[str] = "incognito"
    stage: ClassVar[str] = "lattice"
    summary: ClassVar[str] = "full-domain generalization, optimal over the lattice of levels, with record suppression"
    guarantees: ClassVar[str] = (
        "every requirement on groups of all quasi-identifiers, and k-map, against an adversary who does not exploit "
        "how levels were chosen and rows suppressed; the least loss of all full-domain generalizations"
    )
    refuted: ClassVar[str | None] = (
        "if a requirement reads sensitive values, the levels and rows not shown reveal something about them. Smallest "
        "counterexample, a share of 'a' of at most 1/2: one person of zip 1 and two of zip 2 shown as one group with "
        "a, b, b: the one of zip 1 certainly has a, else the zips would be shown. l = 2: two people of zip 1 and two "
        "of zip 2 shown as one group with a, a, b, b, then those of one zip share a value; or the two of zip 1 "
        "suppressed, then they share a value. For frequency l-diversity, use mondrian+ or mondrian-blur instead"
    )

    beside: ClassVar[frozenset[str]] = frozenset({"levels", "suppressed", "suppressed_share", "lost"})

    suppression: float = 0.0
    loss: str = "arx"

    def __post_init__(self) -> None:
        share(self.name, "suppression", self.suppression, zero=True)
        loss_named(self.loss)

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """No warning if only sizes decide: then neither levels nor gaps reveal anything about sensitive values."""
        return self.if_steered(requirements, "the levels and the rows left out")

    def contradiction(self, manifest: Manifest) -> str | None:
        told = manifest.settings
        if missing := sorted(self.beside - told.keys() - {"lost"}):
            return f"it does not state {named(missing)}"
        if told["levels"].keys() != {*manifest.with_role(Role.QUASI)} or not all(
            _is_count(level) for level in told["levels"].values()
        ):
            return "it must state one level per quasi-identifier"
        lost = told.get("lost", 0)
        if not _is_count(told["suppressed"]) or not is_number(lost) or not lost >= 0:
            return "it does not state the number of suppressed rows, or the loss"
        part = told["suppressed"] / (manifest.rows + told["suppressed"])
        if not is_number(told["suppressed_share"]) or abs(part - told["suppressed_share"]) > 1e-9:
            share = told["suppressed_share"]
            return f"{told['suppressed']} suppressed and {manifest.rows} kept rows do not give a share of {share}"
        return "more rows are suppressed than allowed" if part > self.suppression + 1e-9 else None

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        on_groups([r for r in requirements if not isinstance(r, KMap)], self.name)

    def redrawn(self) -> str | None:
        return None

    def solve(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress = silent) -> _Solved:
        """Find the best node, and the vectors that are kept on it."""
        wanted = _on_groups(requirements)
        ladders = [Ladder.of(c.name, c.domain) for c in counts.quasi]
        nodes = prod(ladder.top + 1 for ladder in ladders)
        if nodes > _MOST_NODES:
            raise PolicyError(
                f"the lattice of {len(ladders)} quasi-identifiers has {nodes:,} nodes, but at most {_MOST_NODES:,} are "
                "searched; use fewer quasi-identifiers, flatter taxonomies, or mondrian"
            )
        progress("compress", 0.0)
        vectors = CompressedVectors(counts, ladders)
        populations = [PopulationMatch(r, counts.quasi, ladders) for r in k_maps(requirements)]
        judge, loss = Judge(counts, wanted, vectors, populations), loss_named(self.loss)(vectors)
        allowed = math.floor(as_fraction(self.suppression) * counts.rows)
        monotone = all(r.monotone for r in wanted)
        found = Search(vectors, judge, loss, allowed=allowed, monotone=monotone).run(progress)
        if found is None:
            raise Infeasible(fewest_people(vectors, populations) or self._why(counts, wanted))
        grouped = vectors.group(found.best[0], places=True)
        bad = judge(grouped, found.best[0]).bad
        kept = ~bad[grouped.place][vectors.of_entry]
        first, *ties = (_by_name(ladders, levels) for levels in found.best)
        lost = counts.rows - int(counts.weights[kept].sum())
        optimum = Optimum(first, loss.value(found.key), lost, tuple(ties), nodes, found.looked_at)
        return _Solved(optimum, ladders, kept)

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        """The requirements with what they leave open filled in; groups are those of all quasi-identifiers."""
        if not table.quasi:
            raise PolicyError(f"{self.name} needs a quasi-identifier, but none is declared; give a column that role")
        bound = super().bind(table, requirements)
        for r in on_groups([r for r in bound if not isinstance(r, KMap)], self.name):
            x = r.groups_by()
            if x is not None and set(x) != {c.name for c in table.quasi}:
                raise PolicyError(
                    f"{self.name} judges groups of all quasi-identifiers, but {r.model} asks for groups by "
                    f"{', '.join(x)}; leave x out, or use mondrian"
                )
        return bound

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Counts) -> None:
        """A requirement that the whole table fails may hold once some rows are suppressed."""

    def _why(self, table: Counts, wanted: Sequence[GroupRequirement]) -> str:
        """Why no node is valid: the coarsest one, the table as one group, fails, and no finer one is good enough."""
        schema = TableSchema(table)
        for r in wanted:
            whole = whole_tally(r, table)
            if not r.holds(schema, whole)[0]:
                rest = f", and suppressing {float(self.suppression):.4g} of the rows does not help"
                return f"{r.model}: {r.remedy(schema, whole)}" + (rest if self.suppression else "")
        return "no levels meet the requirements together; raise the suppression limit or weaken a requirement"

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        solved, maps = self.solve(counts, requirements, progress), k_maps(requirements)
        if not solved.optimum.suppressed:
            return self._recoded(counts, solved, counts.rows, maps)
        kept = Grouping.of_vectors(counts, np.where(solved.kept, 0, -1), 1)
        return Grouped(grouping=kept, again=lambda left: self._recoded(left, solved, counts.rows, maps))

    def _recoded(self, counts: Counts, solved: _Solved, rows: int, maps: Sequence[KMap]) -> Grouped:
        """Every attribute at its level, with a domain that does not depend on suppressed rows."""
        optimum, cuts, levels = solved.optimum, [], {}
        for ladder, column in zip(solved.ladders, counts.quasi, strict=True):
            narrow, levels[column.name] = _narrowed(ladder, column.domain, optimum.levels[column.name])
            cuts.append(narrow.cut(levels[column.name]))
        grouping, shown = recoded(counts, cuts)
        statement = self._statement(replace(optimum, levels=levels), rows)
        judgements = [judge_labels(r, counts, shown) for r in maps]
        return Grouped(grouping=grouping, shown=shown, statement=statement, judgements=judgements)

    def _statement(self, optimum: Optimum, rows: int) -> dict[str, Any]:
        """What the manifest states besides the settings: levels, suppressed rows, and the loss if there are none.

        The loss depends on how many values each column has, and suppressed rows may have added some.
        """
        return {
            "levels": optimum.levels,
            "suppressed": optimum.suppressed,
            "suppressed_share": optimum.suppressed / rows,
            **({} if optimum.suppressed else {"lost": optimum.loss}),
        }


def _on_groups(requirements: Sequence[Requirement]) -> list[GroupRequirement]:
    return [r for r in requirements if isinstance(r, GroupRequirement)]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _by_name(ladders: Sequence[Ladder], levels: Levels) -> dict[str, int]:
    return {ladder.name: level for ladder, level in zip(ladders, levels, strict=True)}


def _narrowed(ladder: Ladder, domain: Domain, level: int) -> tuple[Ladder, int]:
    """The ladder of the kept rows' domain, and the level on it that shows the same.

    Intervals by width are doubled until one covers all values; without the suppressed rows fewer levels may be needed.
    The last level of either ladder shows one label for all.
    """
    if domain is ladder.domain:
        return ladder, level
    narrow = Ladder.of(ladder.name, domain)
    if domain.ordered:
        return (ladder if level else narrow), level
    if level == ladder.top:
        return narrow, narrow.top
    root = next(iter(domain.named_ranges))
    apart = domain.intervals is not None and root not in domain.intervals
    return narrow, min(level, narrow.top - apart)
