"""Incognito: full-domain generalization, optimal over the lattice of levels, with record suppression."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Method, Progress, finished, labelled, silent
from sfumato.method.incognito.compressed import Levels, Vectors
from sfumato.method.incognito.lattice import Judge, Search
from sfumato.method.incognito.levels import Ladder
from sfumato.method.incognito.losses import loss_named
from sfumato.method.incognito.population import PopulationMatch, fewest_people, judge_labels, k_maps
from sfumato.release.judgement import TableSchema, listed, on_groups, whole_tally
from sfumato.release.manifest import describe
from sfumato.release.people import refuse_rows_for_people
from sfumato.release.release import Release
from sfumato.requirement.base import GroupRequirement, Requirement, as_fraction, is_number, share
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Domain, Role
from sfumato.table.microdata import Microdata
from sfumato.table.occurring import occurring
from sfumato.table.ordered_domain import OrderedDomain
from sfumato.table.taxonomy import named

_MOST_NODES = 1_000_000


@dataclass(frozen=True)
class Optimum:
    """The best node of the lattice: the level of each quasi-identifier, what it loses and how many rows it suppresses.

    ``ties`` are the other nodes that lose exactly as much; of equals the one with the fewest steps in all is
    taken, then the one with the lowest levels in the order of the attributes. ``nodes`` is the size of the lattice,
    ``looked_at`` how many of its nodes were judged.
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
    """The levels that lose least among those on which all groups but a share of the rows meet the requirements.

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
    wanted = listed(require)
    return method.solve(table, wanted, progress).optimum


@dataclass(frozen=True, kw_only=True)
class Incognito(Method):
    """Show every attribute on one level for all rows, and suppress the rows of groups that fail.

    LeFevre, DeWitt, Ramakrishnan, "Incognito: efficient full-domain k-anonymity" (SIGMOD 2005), with any requirement
    that is judged on groups, record suppression and losses as in ARX. The whole lattice of levels is searched: the
    result is a proven optimum. For what a level is see `sfumato.method.incognito.levels.Ladder`.

    ``suppression``: the largest share of the rows that may be suppressed. Groups that fail are suppressed
    whole; a suppressed row is left out of the release with all its values, and the manifest states how many there
    are. ``loss``: arx, precision, discernibility or aecs, see `sfumato.method.incognito.losses`.

    A requirement that compares with the table (t-closeness, say) decides by the distribution of the whole table what is
    suppressed; what is then kept must hold against its own distribution too, since that is the one the release shows.
    """

    name: ClassVar[str] = "incognito"
    summary: ClassVar[str] = "full-domain generalization, optimal over the lattice of levels, with record suppression"
    guarantees: ClassVar[str] = (
        "every requirement on groups of all quasi-identifiers, and k-map, against an adversary who does not exploit "
        "how levels were chosen and rows suppressed; the least loss of all full-domain generalizations"
    )
    refuted: ClassVar[str | None] = (
        "where a requirement reads sensitive values, which levels and rows were not shown tells about them. Smallest "
        "counterexample, a share of 'a' of at most 1/2: one person of zip 1 and two of zip 2 shown as one group with "
        "a, b, b: the one of zip 1 has a for certain, else the zips would be shown. l = 2: two people of zip 1 and two "
        "of zip 2 shown as one group with a, a, b, b, then those of one zip share a value; or the two of zip 1 "
        "suppressed, then they share a value. Take mondrian+ instead"
    )

    beside: ClassVar[frozenset[str]] = frozenset({"levels", "suppressed", "suppressed_share", "lost"})

    suppression: float = 0.0
    loss: str = "arx"

    def __post_init__(self) -> None:
        share(self.name, "suppression", self.suppression, zero=True)
        loss_named(self.loss)

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """Nothing where sizes alone decide: then neither levels nor gaps tell of sensitive values."""
        return self.if_steered(requirements, "the levels and the rows left out")

    def contradiction(self, manifest: Mapping[str, Any]) -> str | None:
        told = manifest["method"]
        if missing := sorted(self.beside - told.keys() - {"lost"}):
            return f"it does not state {named(missing)}"
        quasi = {n for n, a in manifest["attributes"].items() if a["role"] == Role.QUASI}
        if told["levels"].keys() != quasi or not all(_is_count(level) for level in told["levels"].values()):
            return "it does not state one level for each quasi-identifier"
        lost = told.get("lost", 0)
        if not _is_count(told["suppressed"]) or not is_number(lost) or not lost >= 0:
            return "it states no number of suppressed rows, or no loss"
        part = told["suppressed"] / (manifest["rows"] + told["suppressed"])
        if not is_number(told["suppressed_share"]) or abs(part - told["suppressed_share"]) > 1e-9:
            return f"{told['suppressed']} rows left out beside {manifest['rows']} are not {told['suppressed_share']}"
        return "more rows are suppressed than allowed" if part > self.suppression + 1e-9 else None

    def redrawn(self) -> str | None:
        return None

    def solve(self, table: Microdata, requirements: Sequence[Requirement], progress: Progress = silent) -> _Solved:
        """Find the best node, and the rows that are kept on it."""
        wanted = self._bound(table, requirements)
        ladders = [Ladder.of(c.name, c.domain) for c in table.quasi]
        nodes = prod(ladder.top + 1 for ladder in ladders)
        if nodes > _MOST_NODES:
            raise PolicyError(
                f"the lattice of {len(ladders)} quasi-identifiers has {nodes:,} nodes, and at most {_MOST_NODES:,} are "
                "searched; take fewer quasi-identifiers or flatter taxonomies, or mondrian"
            )
        progress("compress", 0.0)
        vectors = Vectors(table, ladders)
        populations = [PopulationMatch(r, table.quasi, ladders) for r in k_maps(requirements)]
        judge, loss = Judge(table, wanted, vectors, populations), loss_named(self.loss)(vectors)
        allowed = math.floor(as_fraction(self.suppression) * table.rows)
        monotone = all(r.monotone for r in wanted)
        found = Search(vectors, judge, loss, allowed=allowed, monotone=monotone).run(progress)
        if found is None:
            raise Infeasible(fewest_people(vectors, populations) or self._why(table, wanted))
        grouped = vectors.group(found.best[0], places=True)
        bad = judge(grouped, found.best[0]).bad
        kept = ~bad[grouped.place][vectors.of_row]
        first, *ties = (_by_name(ladders, levels) for levels in found.best)
        lost = table.rows - int(kept.sum())
        optimum = Optimum(first, loss.value(found.key), lost, tuple(ties), nodes, found.looked_at)
        return _Solved(optimum, ladders, kept)

    def _bound(self, table: Microdata, requirements: Sequence[Requirement]) -> list[GroupRequirement]:
        """The requirements with what they leave open filled in; groups are those of all quasi-identifiers."""
        if not table.quasi:
            raise PolicyError(f"{self.name} needs a quasi-identifier, but none is declared; give a column that role")
        if not requirements:
            raise PolicyError("nothing is required; name at least one requirement, e.g. k-anonymity with k = 5")
        schema = TableSchema(table)
        bound = on_groups([r.bind(schema) for r in requirements if not isinstance(r, KMap)], self.name)
        refuse_rows_for_people(bound, table)
        for r in bound:
            x = r.groups_by()
            if x is not None and set(x) != set(schema.quasi_names()):
                raise PolicyError(
                    f"{self.name} judges groups of all quasi-identifiers, and {r.model} asks for groups by "
                    f"{', '.join(x)}; leave x out, or take mondrian"
                )
        return bound

    def _why(self, table: Microdata, wanted: Sequence[GroupRequirement]) -> str:
        """Why no node will do: the coarsest one, the table as one group, fails, and no finer one is good enough."""
        schema = TableSchema(table)
        for r in wanted:
            whole = whole_tally(r, table)
            if not r.holds(schema, whole)[0]:
                rest = f", and suppressing {float(self.suppression):.4g} of the rows does not help"
                return f"{r.model}: {r.remedy(schema, whole)}" + (rest if self.suppression else "")
        return "no levels meet the requirements together; raise the suppression limit or weaken a requirement"

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        solved = self.solve(table, requirements, progress)
        optimum = solved.optimum
        kept = table if not optimum.suppressed else _only(table, solved.kept)
        bound = self._bound(kept, requirements)
        progress("labels", 0.0)
        shown, levels = [], {}
        for ladder, column in zip(solved.ladders, kept.quasi, strict=True):
            narrow, levels[column.name] = _narrowed(ladder, column.domain, optimum.levels[column.name])
            shown.append(narrow.show(column, levels[column.name]))
        maps = [judge_labels(r, kept, shown) for r in k_maps(requirements)]
        shown, judgements, tables = labelled(kept, bound, shown, rng, progress)
        manifest = describe(
            kept,
            title=title,
            scheme="generalization",
            method=self._statement(table, replace(optimum, levels=levels)),
            judgements=[*judgements, *maps],
            shown=shown,
            warnings=self.warnings(bound),
        )
        return finished(manifest, tables)

    def _statement(self, table: Microdata, optimum: Optimum) -> dict[str, Any]:
        """What the manifest says of the method: settings, levels, the rows left out, and the loss where none is.

        The loss depends on how many values each column has, and suppressed rows may have added some.
        """
        return self.settings() | {
            "levels": optimum.levels,
            "suppressed": optimum.suppressed,
            "suppressed_share": optimum.suppressed / table.rows,
            **({} if optimum.suppressed else {"lost": optimum.loss}),
        }


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _by_name(ladders: Sequence[Ladder], levels: Levels) -> dict[str, int]:
    return {ladder.name: level for ladder, level in zip(ladders, levels, strict=True)}


def _only(table: Microdata, kept: NDArray[np.bool_]) -> Microdata:
    """The kept rows, without a trace of the others: a domain found in the data is that of the kept rows."""
    rows = np.flatnonzero(kept)
    columns = {name: occurring(replace(column, codes=column.codes[rows])) for name, column in table.columns.items()}
    plain, hidden = (frame[rows] if frame.width else frame for frame in (table.plain, table.hidden))
    return replace(table, columns=columns, plain=plain, hidden=hidden, rows=len(rows))


def _narrowed(ladder: Ladder, domain: Domain, level: int) -> tuple[Ladder, int]:
    """The ladder of the kept rows' domain, and the level on it that shows the same.

    Intervals by width are doubled until one covers all; without the suppressed rows fewer levels may be needed. The
    last level of either ladder shows one label for all.
    """
    if domain is ladder.domain:
        return ladder, level
    narrow = Ladder.of(ladder.name, domain)
    if isinstance(domain, OrderedDomain):
        return (ladder if level else narrow), level
    if level == ladder.top:
        return narrow, narrow.top
    apart = domain.intervals is not None and domain.labels[0] not in domain.intervals
    return narrow, min(level, narrow.top - apart)
