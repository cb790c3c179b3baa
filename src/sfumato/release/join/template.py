"""A template over a join with its names resolved: attributes of each release, records, protected values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import PolicyError
from sfumato.release.join.names import JoinAttribute, JoinNames
from sfumato.requirement.base import names
from sfumato.requirement.join_template import JoinTemplate
from sfumato.requirement.templates import Anonymity, Confidentiality


@dataclass(frozen=True, kw_only=True)
class Target:
    """A protected value and its limit."""

    attribute: JoinAttribute
    value: str
    limit: Fraction


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What a template over a join is about: X; Y as attributes, as records of releases, or as protected values."""

    x: tuple[JoinAttribute, ...]
    y: tuple[JoinAttribute, ...] = ()
    records: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    k: int = 0

    def in_x(self, release: str) -> list[str]:
        """The attributes of X that a release has."""
        return [a.name for a in self.x if a.release == release]

    def in_y(self, release: str) -> list[str]:
        """The attributes of Y that a release has and whose distinct values are counted."""
        return [a.name for a in self.y if a.release == release]

    def held_by(self, release: str) -> list[int]:
        """The protected values that a release holds, by number."""
        return [i for i, t in enumerate(self.targets) if t.attribute.release == release]

    def counts(self, release: str) -> bool:
        """Whether Y has an attribute, the records or a protected value of a release."""
        return release in self.records or bool(self.in_y(release)) or bool(self.held_by(release))

    def reads(self, release: str) -> list[str]:
        """The attributes of Y that a release has."""
        held = [self.targets[i].attribute.name for i in self.held_by(release)]
        return list(dict.fromkeys([*self.in_y(release), *held]))


def resolve(requirement: JoinTemplate, known: JoinNames) -> Resolved:
    """A template with its names resolved; the values of attributes with protected values must be in ``known``."""
    template = requirement.template
    x = tuple(known.only(word) for word in known.expanded(names(template.x)))
    if isinstance(template, Confidentiality):
        limits = template.limits(known)
        targets = tuple(Target(attribute=known.only(n), value=v, limit=limit) for (n, v), limit in limits.items())
        return Resolved(x=x, targets=targets)
    y = names(template.y)
    records = tuple(word for word in y if word in requirement.over)
    attributes = tuple(known.only(word) for word in y if word not in requirement.over)
    return Resolved(x=x, y=attributes, records=records, k=template.k)


def completed(requirement: JoinTemplate, known: JoinNames, added: Sequence[JoinAttribute]) -> JoinTemplate:
    """A template with common names in X written out and some attributes added to X, unless they are in Y."""
    template = requirement.template
    words = names(template.y) if isinstance(template, Anonymity) else tuple(template.y)
    taken = {known.only(word) for word in words if word not in requirement.over}
    own = known.expanded(names(template.x))
    more = [known.spelled(a) for a in added if a not in taken]
    x = tuple(dict.fromkeys([*own, *more]))
    if not x:
        raise PolicyError(f"{requirement.model}: x is empty; name the attributes that an adversary knows")
    done = template.with_parameters(x=x, y=_written_out(requirement, known))
    done.bind(known)
    return requirement.with_parameters(template=done)


def _written_out(requirement: JoinTemplate, known: JoinNames) -> tuple[str, ...] | dict[str, Sequence[str]]:
    """Y with attributes of the first release qualified; without Y, the records of that release."""
    this, y = requirement.over[0], requirement.template.y

    def word(name: str) -> str:
        attribute = known.only(name)
        return f"{this}.{attribute.name}" if attribute.release == this else known.spelled(attribute)

    if isinstance(y, Mapping):
        return {word(name): values for name, values in y.items()}
    return tuple(name if name in requirement.over else word(name) for name in names(y)) or (this,)
