"""Privacy templates over the join of several releases (Fung, section 6.1): ⟨X, Y, k⟩ with attributes of all of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.requirement.base import Key, Requirement, Schema, names
from sfumato.requirement.guarantee import Guarantee, figure
from sfumato.requirement.templates import Anonymity, Confidentiality, PrivacyTemplate

THIS = "T1"
"""The name of the table that is being published, in templates over a join."""

MOST_RELEASES = 5
"""How many releases a join can have, this table included."""

_MATCHING = (
    "The adversary matches two rows if their labels for every common attribute can mean the same value and no "
    "declared rule excludes the pair. An adversary who knows more about which rows belong to the same person matches "
    "fewer rows, and may learn more."
)
_ONE_TO_ONE = (
    "It counts matching pairs of rows. An adversary who also uses the fact that each person has one row in each "
    "release can rule out some pairs. If X contains all join attributes of the releases and Y is in one of them, "
    "that changes nothing, since rows that agree on them remain interchangeable; otherwise more can be inferred than "
    "the join shows, and even one of the releases alone may show more."
)
_DANGLING = "Rows that match nothing are not in the join, and the people behind them are not covered."
_ONLY = "It covers the releases named. Any other release about the same people is not covered."


@dataclass(frozen=True, kw_only=True)
class JoinTemplate(Requirement):
    """A template that must hold in the join of the releases ``over``: all combinations of rows that match.

    Attributes are named ``T1.sex`` and ``T2.sex`` where both tables have them, otherwise by their bare names; in ``y``
    the name of a release stands for its records.

    >>> over = join_template(Anonymity(x=["job", "T2.sex"], y="T1", k=4), ["T1", "T2"])
    >>> over.words()
    'in the join of T1 and T2, every combination of job, T2.sex is linked to at least 4 distinct records of T1'
    """

    served_by: ClassVar[str | None] = "tdssa"

    template: PrivacyTemplate
    over: tuple[str, ...]

    def __post_init__(self) -> None:
        over = names(self.over)
        if len(over) < 2 or len(set(over)) < len(over):
            raise PolicyError(
                f"over is {list(over)!r}; it must list this table ({THIS}) and earlier releases, each once"
            )
        object.__setattr__(self, "over", over)

    @property
    def x(self) -> Key:
        """The attributes X."""
        return names(self.template.x)

    @property
    def y(self) -> Any:
        """The attributes Y, or values of these, or releases."""
        return self.template.y

    @property
    def k(self) -> Any:
        """The threshold, or one per value."""
        return self.template.k

    def parameters(self) -> dict[str, Any]:
        return self.template.parameters() | {"over": list(self.over)}

    def words(self) -> str:
        """The sentence of the template, with its adversary in front."""
        return f"in the join of {_and(self.over)}, {self._told().words()}"

    def _told(self) -> PrivacyTemplate:
        """The template with releases in y written out as their records."""
        if not isinstance(self.template, Anonymity):
            return self.template
        return _Records(x=self.template.x, y=self.template.y, k=self.template.k, over=self.over)

    def covers(self, schema: Schema) -> frozenset[str]:
        own = self.template.y if isinstance(self.template, Confidentiality) else ()
        return frozenset(n.removeprefix(f"{THIS}.") for n in own)

    def bounds_confidence(self) -> bool:
        return isinstance(self.template, Confidentiality)

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        name = "confidentiality" if self.bounds_confidence() else "anonymity"
        x, y = figure(self.x), tuple(self.y)
        if self.bounds_confidence():
            promise = (
                f"An adversary who joins {_and(self.over)} cannot infer a protected value of {figure(y)} from a "
                f"person's {x} with a confidence above its limit ({figure(self.k)})."
            )
        else:
            promise = (
                f"An adversary who joins {_and(self.over)} and knows a person's {x} is left with at least "
                f"{figure(self.k)} different {_records(y, self.over)}."
            )
        return Guarantee(f"⟨X, Y⟩-{name} of the join", promise, (_MATCHING, _ONE_TO_ONE, _DANGLING, _ONLY))

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        return self.template.met_by(achieved)


@dataclass(frozen=True, kw_only=True)
class JoinAnonymity(JoinTemplate):
    """Each combination of values on X is linked to at least k values on Y in the join."""

    model: ClassVar[str] = Anonymity.model
    summary: ClassVar[str] = Anonymity.summary
    weaker: ClassVar[str | None] = Anonymity.weaker

    def people(self, identifiers: Collection[str]) -> Key:
        counted = tuple(name.removeprefix(f"{THIS}.") for name in names(self.y))
        return counted if set(counted) <= set(identifiers) else ()


@dataclass(frozen=True, kw_only=True)
class JoinConfidentiality(JoinTemplate):
    """No combination of values on X implies a value on Y with a confidence above k in the join."""

    model: ClassVar[str] = Confidentiality.model
    summary: ClassVar[str] = Confidentiality.summary
    weaker: ClassVar[str | None] = Confidentiality.weaker


@dataclass(frozen=True, kw_only=True)
class _Records(Anonymity):
    """A template whose sentence calls releases in y by their records."""

    over: tuple[str, ...] = ()

    def words(self) -> str:
        linked = _records(names(self.y), self.over)
        return f"every combination of {', '.join(names(self.x))} is linked to at least {self.k} distinct {linked}"


def join_template(template: object, over: object) -> JoinTemplate:
    """A template as one over the join of these releases."""
    if not isinstance(over, list | tuple) or not all(isinstance(name, str) for name in over):
        raise PolicyError(f'over is {over!r}; it must list the releases of a join, such as ["{THIS}", "T2"]')
    if isinstance(template, Anonymity):
        return JoinAnonymity(template=template, over=tuple(over))
    if isinstance(template, Confidentiality):
        return JoinConfidentiality(template=template, over=tuple(over))
    model = getattr(template, "model", repr(template))
    raise PolicyError(f"{model} cannot be required of a join; require the templates anonymity and confidentiality")


def _records(y: Sequence[str], over: Sequence[str]) -> str:
    """What is counted: values of attributes, or records of releases."""
    several = "pairs of records" if len(y) > 1 else "records"
    return f"{several} of {_and(y)}" if set(y) <= set(over) else f"values of {', '.join(y)}"


def _and(found: Sequence[str]) -> str:
    """Names as part of a sentence."""
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
