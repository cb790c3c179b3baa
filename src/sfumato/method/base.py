"""What every method is, and what those that partition the rows into groups share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.draws import shuffled
from sfumato.errors import PolicyError, SfumatoError
from sfumato.kernel.group import group_rows
from sfumato.release.best_guess import best_guesses, certain_values
from sfumato.release.bucketization import bucketize, refuse_exact
from sfumato.release.generalization import Shown, as_published, show
from sfumato.release.judgement import Judgement, TableSchema, bind, judge, on_groups
from sfumato.release.manifest import describe
from sfumato.release.release import Release
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

Progress = Callable[[str, float], None]
"""Called with what is being done and which part of it is done, from 0 to 1."""


STEP = "step "
"""How the progress of a method that refines begins: after each step there is a valid table."""


class Enough(Exception):  # noqa: N818 - no error: an answer
    """Raised by a progress that has seen enough: a method that refines publishes the last valid table."""


def silent(stage: str, done: float) -> None:
    """No progress is shown."""


class Groups(NamedTuple):
    """The group of each row, numbered from 0, and how many groups there are."""

    of_row: NDArray[np.int64]
    number: int


class Drawn(NamedTuple):
    """What a partition method publishes, before it is shown: the groups, and the table with its values as published."""

    table: Microdata
    groups: Groups


def undeclared_domain(which: str) -> str:
    """The warning of a method that draws values from a domain that was found in the data."""
    return (
        f"The domain of {which} was not declared: it consists of the values that occur in the table, so the release "
        "tells which these are, including values that only one person has. Declare a domain or a taxonomy."
    )


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """An algorithm with its settings. A wrong setting never survives its constructor."""

    name: ClassVar[str]
    summary: ClassVar[str]
    guarantees: ClassVar[str]
    refuted: ClassVar[str | None] = None
    """Where a published claim about the method is false: the smallest counterexample and what to take instead."""
    schemes: ClassVar[tuple[str, ...]] = ("generalization",)
    """How a release of this method can show people."""
    beside: ClassVar[frozenset[str]] = frozenset()
    """What the manifest states of the method beside its settings."""

    @abstractmethod
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

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """What whoever uses a release for these requirements should know."""
        return [self.refuted] if self.refuted else []

    def if_steered(self, requirements: Sequence[Requirement], by: str) -> list[str]:
        """The refutation where requirements read values that are published with the groups; sizes tell nothing."""
        if not self.refuted or not any(r.reads() or hasattr(r, "sensitive") for r in requirements):
            return []
        read = dict.fromkeys(name for r in requirements for name in r.reads())
        of = named(read) if read else "the sensitive attribute"
        return [f"{by} depend on the values of {of}, and tell whoever knows the algorithm about them: {self.refuted}"]

    def redrawn(self) -> str | None:
        """What whoever holds two releases of one table can do; None if nothing is drawn but the order of rows."""
        return "Whoever holds two releases with different draws can combine them: the guarantee is for one release."

    def settings(self) -> dict[str, Any]:
        """The name and the public parameters, as the manifest states them."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"name": self.name} | {name: value for name, value in chosen.items() if value is not None}

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "Method":
        """The method as the manifest of a release states it; what no such method would state is refused."""
        stated, scheme = manifest["method"], manifest["scheme"]
        if scheme not in cls.schemes:
            raise PolicyError(f"{cls.name} does not publish by {scheme}")
        method = cls.as_stated({n: v for n, v in stated.items() if n not in cls.beside and n != "name"}, scheme)
        own = {n: v for n, v in stated.items() if n not in cls.beside}
        if json.dumps(own, sort_keys=True) != json.dumps(method.settings(), sort_keys=True, default=str):
            raise PolicyError(f"the manifest states {own} for its method; {cls.name} has other settings")
        return method

    @classmethod
    def as_stated(cls, settings: Mapping[str, Any], scheme: str) -> "Method":
        """The method with the settings that a manifest states."""
        known = {f.name: f.default for f in fields(cls)}
        for name, value in settings.items():
            if name not in known or name == "scheme" or (isinstance(known[name], bool) and not isinstance(value, bool)):
                raise PolicyError(f"{cls.name} has no setting {name} = {value!r}")
        return cls(**settings, **({"scheme": scheme} if "scheme" in known else {}))

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        """Raise where the method cannot serve these requirements, whatever the table is."""
        return

    def warnings_of(self, manifest: Mapping[str, Any]) -> list[str]:
        """What follows from the public part of a release by this method, and must be said first in it."""
        return []

    def contradiction(self, manifest: Mapping[str, Any]) -> str | None:
        """What a manifest states of a release by this method that cannot be true together, if there is something."""
        return None


Scheme = Literal["generalization", "bucketization"]


@dataclass(frozen=True, kw_only=True)
class PartitionMethod(Method):
    """A method that puts the rows into groups; the scheme says how a group is shown."""

    perturbs: ClassVar[bool] = False
    """Whether sensitive values may be published other than they are."""
    schemes: ClassVar[tuple[str, ...]] = ("generalization", "bucketization")

    scheme: Scheme = "generalization"

    def __post_init__(self) -> None:
        if self.scheme not in ("generalization", "bucketization"):
            raise PolicyError(f"{self.name}: scheme = {self.scheme!r}; it is 'generalization' or 'bucketization'")

    @abstractmethod
    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        """The group of each row; the requirements are bound to the table."""

    def draw(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Drawn:
        """The groups and the values to publish; most methods publish the values as they are."""
        return Drawn(table, self.groups(table, requirements, rng=rng, progress=progress))

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        """Everything that can be published from a small table, with its probability: what an aware adversary weighs.

        A way of the draws that is refused comes with probability 0, so that whoever counts can stop.
        """
        yield self.draw(table, requirements), Fraction(1)

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        """The groups before any draw, if the draws depend on them and on the published values alone; else None.

        From tables that share these groups and the published values the same is then published with the same
        probability.
        """
        return self.groups(table, requirements, rng=None, progress=silent)

    def shows_sets(self) -> bool:
        """Whether a label may be a set of sibling nodes."""
        return True

    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in super().settings().items() if name != "scheme"}

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        if not table.quasi:
            raise PolicyError(f"{self.name} needs a quasi-identifier, but none is declared; give a column that role")
        if self.scheme == "bucketization":
            refuse_exact(requirements)
        bound = on_groups(bind(requirements, table), self.name)
        table, groups = self.draw(table, bound, rng=rng, progress=progress)
        show_groups = self._generalized if self.scheme == "generalization" else self._bucketized
        shown, judgements, tables = show_groups(table, bound, groups, rng, progress)
        manifest = describe(
            table,
            title=title,
            scheme=self.scheme,
            method=self.settings(),
            judgements=judgements,
            shown=shown,
            warnings=[*self.warnings(bound), *self._observed(table)],
        )
        return finished(manifest, tables, perturbed=self.perturbs)

    def _observed(self, table: Microdata) -> list[str]:
        """Perturbed values may no longer show a value that one person had; a domain found in the data still does."""
        found = [c.name for c in table.sensitive if self.perturbs and not c.declared]
        return [undeclared_domain(name) for name in found]

    def _generalized(
        self,
        table: Microdata,
        bound: Sequence[GroupRequirement],
        groups: Groups,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> "_Parts":
        progress("labels", 0.0)
        shown = show(table, groups.of_row, groups.number, sets=self.shows_sets())
        return labelled(table, bound, shown, rng, progress)

    def _bucketized(
        self,
        table: Microdata,
        bound: Sequence[GroupRequirement],
        groups: Groups,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> "_Parts":
        if not table.sensitive:
            raise PolicyError("bucketization keeps sensitive values apart, and there is none; give a column that role")
        progress("judgement", 0.0)
        judgements = [_judged(r, table, groups) for r in bound]
        progress("order", 0.0)
        return _Parts([], judgements, bucketize(table, groups.of_row, groups.number, rng))


def finished(manifest: dict[str, Any], tables: dict[str, pl.DataFrame], *, perturbed: bool = False) -> Release:
    """The release, warning of sensitive values that its groups give away."""
    release = Release(dict(manifest), tables)
    told = [*release.warnings, *certain_values(best_guesses(release), perturbed=perturbed)]
    if told:
        release.manifest["warnings"] = told  # the same release, which knows its groups already
    return release


class _Parts(NamedTuple):
    """What a scheme makes of groups."""

    shown: list[Shown]
    judgements: list[Judgement]
    tables: dict[str, pl.DataFrame]


def labelled(
    table: Microdata,
    bound: Sequence[GroupRequirement],
    shown: list[Shown],
    rng: np.random.Generator | None,
    progress: Progress,
) -> _Parts:
    """Judge the groups that labels make, and put the rows that show them into a secret order."""
    progress("judgement", 0.0)
    groups = {by: _by_label(by, shown) for by in dict.fromkeys(r.groups_by() for r in bound)}
    judgements = [_judged(r, table, groups[r.groups_by()]) for r in bound]
    progress("order", 0.0)
    return _Parts(shown, judgements, {"data": published(table, shown)[shuffled(table.rows, rng)]})


def _by_label(names: tuple[str, ...] | None, shown: Sequence[Shown]) -> Groups:
    """The groups that the labels of some attributes, or of all, make, which is what the outside world sees."""
    chosen = names or tuple(s.column.name for s in shown)
    columns = [s.column.to_physical().to_numpy() for s in shown if s.column.name in chosen]
    found = group_rows(columns, [int(c.max()) + 1 for c in columns])
    return Groups(found.of_row, len(found.first))


def _judged(requirement: GroupRequirement, table: Microdata, groups: Groups) -> Judgement:
    """Judge groups; what a method made must hold."""
    schema = TableSchema(table)
    judgement = judge(requirement, schema, schema.counted, groups.of_row, groups.number)
    if not judgement.holds:
        raise SfumatoError(
            f"{judgement.failing} of {judgement.groups} groups violate {requirement.words()!r}; nothing is "
            "published. This is a bug of the method: please report it"
        )
    return judgement


def published(table: Microdata, shown: Sequence[Shown]) -> pl.DataFrame:
    """The published columns: labels, then sensitive and class values and the insensitive columns as they are."""
    values = [as_published(c) for c in table.columns.values() if c.role is not Role.QUASI]
    return pl.DataFrame([*(s.column for s in shown), *values, *table.plain.get_columns()])
