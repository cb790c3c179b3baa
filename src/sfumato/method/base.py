"""What every method is, and what those that partition the rows into groups share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from sfumato.engine.base import Engine
from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.decision import Groups as Groups
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.pieces import Pieces
from sfumato.engine.progress import Progress as Progress
from sfumato.engine.progress import silent as silent
from sfumato.engine.progress import with_rows
from sfumato.errors import PolicyError, SfumatoError
from sfumato.method.piecewise import Boxed
from sfumato.release.best_guess import best_guesses, certain_values
from sfumato.release.describe import describe
from sfumato.release.judgement import completed, on_groups, refuse_infeasible
from sfumato.release.manifest import Manifest, SchemeName
from sfumato.release.part_tables import held
from sfumato.release.release import Release
from sfumato.release.scheme.base import Decision, Grouped, Made
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

STEP = "step "
"""Prefix of the progress messages of a refining method: after each step there is a valid table."""


class Enough(Exception):  # noqa: N818 - not an error but an answer
    """Raised by a progress callback to stop early: a refining method then publishes the last valid table."""


class Drawn(NamedTuple):
    """What a partition method publishes, before formatting: the groups, and the table with its values as published."""

    table: Microdata
    groups: Groups


def undeclared_domain(which: str) -> str:
    """The warning of a method that draws values from a domain that was found in the data."""
    return (
        f"The domain of {which} was not declared, so it consists of the values that occur in the table, and the "
        "release reveals which values occur, including those that only one person has. Declare a domain or a taxonomy."
    )


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """An algorithm with its settings. A wrong setting never survives its constructor."""

    name: ClassVar[str]
    summary: ClassVar[str]
    guarantees: ClassVar[str]
    refuted: ClassVar[str | None] = None
    """If a published claim about the method is false, the smallest counterexample and what to use instead."""
    schemes: ClassVar[tuple[SchemeName, ...]] = ("generalization",)
    """How a release of this method can show people."""
    stage: ClassVar[str] = "cuts"
    """What progress calls its decision."""
    perturbs: ClassVar[bool] = False
    """Whether sensitive values may be changed before they are published."""
    beside: ClassVar[frozenset[str]] = frozenset()
    """What the manifest states about the method besides its settings."""

    @abstractmethod
    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Decision:
        """What to publish, decided on counts; the requirements are bound to the table and can be met."""

    def decide_in_pieces(self, pieces: Pieces, requirements: Sequence[Requirement], progress: Progress) -> Boxed:
        """What to publish, if the counted table is too large for this process; most methods need all of it."""
        raise pieces.refuse(f"{self.name} needs all of it at once")

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Turn microdata into a release that meets the requirements."""
        engine = LocalEngine(self.prepared(table))
        return self.release(engine, requirements, title=title, draws=Draws(rng), progress=progress)

    def release(
        self,
        engine: Engine,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        draws: Draws,
        progress: Progress = silent,
    ) -> Release:
        """Decide on counts; judge the decision, apply it to the rows and show them; describe the release."""
        scheme, progress = SCHEMES[self.shown_by()], with_rows(progress, engine.table.rows)
        bound = self.bind(engine.table, requirements)
        if engine.pieces is not None:
            boxed = self.decide_in_pieces(engine.pieces, bound, progress)
            made = scheme.publish(engine.of(boxed.counts), boxed.counts, boxed.decision, bound, draws, progress)
            return self.described(made, boxed.decision, bound, engine.table, title)
        names = [*scheme.counted(engine.table), *self.counted(engine.table, bound)]
        progress("compress", 0.0)
        counts = engine.count(names)
        self.refuse_infeasible(bound, counts)
        progress(self.stage, 0.0)
        decision = self.decide(counts, bound, draws, progress)
        if isinstance(decision, Grouped) and decision.again is not None:
            engine = engine.without(counts, decision.grouping)
            bound, counts = self.bind(engine.table, requirements), engine.count(names)
            decision = decision.again(counts)
        made = scheme.publish(engine, counts, decision, bound, draws, progress)
        return self.described(made, decision, bound, engine.table, title)

    def described(
        self, made: Made, decision: Decision, bound: Sequence[Requirement], table: Microdata, title: str
    ) -> Release:
        """The release with its manifest, with warnings about sensitive values that its groups reveal."""
        method = {**self.settings(), **decision.statement}
        manifest = describe(made, title=title, scheme=self.shown_by(), method=method)
        release = Release(manifest.plain(), held(made.tables))
        warnings = [
            *self.warnings_of(manifest),
            *self.warnings(bound),
            *decision.warnings,
            *self.warnings_about(table),
            *certain_values(best_guesses(release), perturbed=self.perturbs),
        ]
        return release.stating(warnings=warnings) if warnings else release

    def shown_by(self) -> SchemeName:
        """The name of the scheme by which this method shows people."""
        return self.schemes[0]

    def prepared(self, table: Microdata) -> Microdata:
        """The table as this method needs it."""
        return table

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        """The requirements with what they leave open filled in, if this method can serve them on this table."""
        SCHEMES[self.shown_by()].refuse(table, requirements)
        return completed(requirements, table)

    def counted(self, table: Microdata, bound: Sequence[Requirement]) -> list[str]:
        """The columns to count besides the quasi-identifiers: those that requirements read."""
        return list(dict.fromkeys(name for r in bound for name in r.reads()))

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Counts) -> None:
        """Raise if the whole table fails a requirement."""
        refuse_infeasible(bound, counts)

    def warnings_about(self, table: Microdata) -> list[str]:
        """What follows from the table's declarations."""
        return []

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """Warnings for users of a release for these requirements."""
        return [self.refuted] if self.refuted else []

    def if_steered(self, requirements: Sequence[Requirement], by: str) -> list[str]:
        """The refutation, if requirements read values that are published with the groups; sizes reveal nothing."""
        if not self.refuted or not any(r.reads() or hasattr(r, "sensitive") for r in requirements):
            return []
        read = dict.fromkeys(name for r in requirements for name in r.reads())
        of = named(read) if read else "the sensitive attribute"
        told = f"{by} depend on the values of {of} and reveal something about them if the algorithm is known"
        return [f"{told}: {self.refuted}"]

    def redrawn(self) -> str | None:
        """What an adversary who has two releases of the same table can do; None if only the order of rows is drawn."""
        return (
            "An adversary who has two releases made with different draws can combine them; the guarantee covers one "
            "release only."
        )

    def settings(self) -> dict[str, Any]:
        """The name and the public parameters, as the manifest states them."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"name": self.name} | {name: value for name, value in chosen.items() if value is not None}

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> "Method":
        """The method as the manifest of a release states it; refuses what no such method would state."""
        if manifest.scheme not in cls.schemes:
            raise PolicyError(f"{cls.name} does not publish by {manifest.scheme}")
        settings = {n: v for n, v in manifest.settings.items() if n not in cls.beside}
        method = cls.as_stated(settings, manifest.scheme)
        own = {"name": manifest.method.name, **settings}
        if json.dumps(own, sort_keys=True) != json.dumps(method.settings(), sort_keys=True, default=str):
            raise PolicyError(f"the manifest states {own} for its method, which are not the settings of {cls.name}")
        return method

    @classmethod
    def as_stated(cls, settings: Mapping[str, Any], scheme: str) -> "Method":
        """The method with the settings that a manifest states."""
        known = {f.name: f.default for f in fields(cls)}
        for name, value in settings.items():
            if name not in known or name == "scheme" or (isinstance(known[name], bool) and not isinstance(value, bool)):
                raise PolicyError(f"{cls.name} has no setting {name} = {value!r}")
        return cls(**settings, **({"scheme": scheme} if "scheme" in known else {}))

    def serves(self, requirements: Sequence[Requirement], table: Microdata) -> str | None:
        """Why the method cannot serve the requirements on this table; None if there is no reason before it runs.

        Nothing is decided: a requirement that the table as a whole cannot meet is noticed when it runs.
        """
        try:
            self.refuse_unserved(self.bind(self.prepared(table), requirements))
        except SfumatoError as e:
            return str(e)
        return None

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        """Raise if the method cannot serve these requirements, whatever the table."""
        return

    def warnings_of(self, manifest: Manifest) -> list[str]:
        """Warnings that follow from the public part of a release by this method and must come first."""
        return []

    def contradiction(self, manifest: Manifest) -> str | None:
        """A contradiction in what a manifest states about a release by this method, or None."""
        return None


GroupScheme = Literal["generalization", "bucketization"]


@dataclass(frozen=True, kw_only=True)
class PartitionMethod(Method):
    """A method that puts people into groups; the scheme says how a group is shown.

    Its algorithm is ``groups`` if it may put equal rows into different groups, otherwise ``decide`` itself.
    """

    schemes: ClassVar[tuple[SchemeName, ...]] = ("generalization", "bucketization")

    scheme: GroupScheme = "generalization"

    def __post_init__(self) -> None:
        if self.scheme not in self.schemes:
            raise PolicyError(
                f"{self.name}: scheme must be {' or '.join(map(repr, self.schemes))}, not {self.scheme!r}"
            )

    def shown_by(self) -> SchemeName:
        return self.scheme

    @abstractmethod
    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        """The group of each row; the requirements are bound to the table."""

    def draw(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        draws: Draws | None = None,
        progress: Progress = silent,
    ) -> Drawn:
        """The groups and the values to publish; most methods do not change values."""
        return Drawn(table, self.groups(table, requirements, draws=draws or Draws(), progress=progress))

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        """The decision for row-wise groups: rows of a vector are interchangeable, so it counts how many go where."""
        people = counts.people()
        drawn = self.draw(people, requirements, draws=draws, progress=progress)
        values = {
            name: column.codes for name, column in drawn.table.columns.items() if column is not people.columns[name]
        }
        grouping = Grouping.of_people(counts, drawn.groups.of_row, drawn.groups.number, values)
        return Grouped(grouping=grouping, sets=self.shows_sets())

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        """Everything that can be published from a small table, with its probability: what an aware adversary weighs up.

        An outcome of the draws that is refused has probability 0, so that a caller who counts them can stop.
        """
        yield self.draw(table, requirements), Fraction(1)

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        """The groups before any draw, if the draws depend only on them and on the published values; otherwise None.

        All tables that share these groups and the published values then lead to the same release with the same
        probability.
        """
        return self.groups(table, requirements, draws=Draws(), progress=silent)

    def shows_sets(self) -> bool:
        """Whether a label may be a set of sibling nodes."""
        return True

    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in super().settings().items() if name != "scheme"}

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        if not table.quasi:
            raise PolicyError(f"{self.name} needs a quasi-identifier, but none is declared; give a column that role")
        return super().bind(table, requirements)

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Counts) -> None:
        super().refuse_infeasible(bound, counts)
        on_groups(bound, self.name)

    def warnings_about(self, table: Microdata) -> list[str]:
        """Perturbed values may no longer show a value that one person had; a domain found in the data still does."""
        found = [c.name for c in table.sensitive if self.perturbs and not c.declared]
        return [undeclared_domain(name) for name in found]


@dataclass(frozen=True, kw_only=True)
class CountingMethod(PartitionMethod):
    """A partition method that never separates equal rows: all people of a vector go to one group."""

    @abstractmethod
    def of_vectors(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress) -> Groups:
        """The group of each vector."""

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        groups = self.of_vectors(counts, requirements, progress)
        return Grouped(grouping=Grouping.of_vectors(counts, groups.of_row, groups.number), sets=self.shows_sets())

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        return grouped_rows(
            table, self.counted(table, requirements), lambda c: self.of_vectors(c, requirements, progress)
        )


def grouped_rows(table: Microdata, names: Sequence[str], decide: Callable[[Counts], Groups]) -> Groups:
    """The group of each row by a decision on vectors."""
    engine = LocalEngine(table)
    counts = engine.count(names)
    groups = decide(counts)
    return Groups(groups.of_row[engine.vectors(counts)], groups.number)
