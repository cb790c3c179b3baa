"""The names that templates over a join use: ``T1.sex`` where several releases have the attribute, else ``sex``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sfumato.errors import PolicyError, nearest
from sfumato.release.earlier import Earlier
from sfumato.requirement.base import Key, Schema
from sfumato.table.encode import Domain
from sfumato.table.taxonomy import Taxonomy


class JoinAttribute(NamedTuple):
    """An attribute of one release."""

    release: str
    name: str


class JoinNames(Schema):
    """The attributes of several releases, by the names of these; ``hidden`` ones can only be counted.

    >>> names = JoinNames({"T1": ["job", "sex"], "T2": ["sex", "zip"]})
    >>> [names.spelled(a) for a in names.meant("sex")], names.meant("zip"), names.only("T2.sex")
    (['T1.sex', 'T2.sex'], (JoinAttribute(release='T2', name='zip'),), JoinAttribute(release='T2', name='sex'))
    >>> odd = JoinNames({"T1": ["T2.sex", "T2"], "T2": ["sex"]})
    >>> [odd.spelled(JoinAttribute("T1", n)) for n in ("T2.sex", "T2")], odd.only("T1.T2.sex").release
    (['T1.T2.sex', 'T1.T2'], 'T1')
    """

    def __init__(self, attributes: Mapping[str, Sequence[str]], hidden: Mapping[str, Sequence[str]] | None = None):
        self.attributes = {release: list(found) for release, found in attributes.items()}
        self.hidden = {release: list(found) for release, found in (hidden or {}).items()}
        self.values: dict[JoinAttribute, Sequence[str]] = {}
        self.noise: dict[JoinAttribute, Earlier] = {}
        """The attributes that are left out since they were randomized, with their releases."""

    def meant(self, word: str) -> tuple[JoinAttribute, ...]:
        """What a name stands for: one attribute, or a common one of all releases that have it (Fung, Example 6.1.2)."""
        release, _, name = word.partition(".")
        if name in self.attributes.get(release, ()) or name in self.hidden.get(release, ()):
            return (JoinAttribute(release, name),)
        found = tuple(JoinAttribute(r, word) for r, known in self.attributes.items() if word in known)
        return found or tuple(JoinAttribute(r, word) for r, known in self.hidden.items() if word in known)

    def only(self, word: str) -> JoinAttribute:
        """The one attribute that a name stands for; a common name is refused."""
        found = self.meant(word)
        if not found:
            known = self.all_names()
            for attribute, release in self.noise.items():
                if word in (attribute.name, f"{attribute.release}.{attribute.name}"):
                    release.column(attribute.name)  # refuses it in words
            raise PolicyError(f"no release of the join has an attribute {word!r}{nearest(word, known)}")
        if len(found) > 1:
            told = " or ".join(f"{a.release}.{a.name}" for a in found)
            raise PolicyError(f"{word!r} is an attribute of several releases; write {told} in y")
        return found[0]

    def spelled(self, attribute: JoinAttribute) -> str:
        """The name that templates use for an attribute."""
        alone = self.meant(attribute.name) == (attribute,) and attribute.name not in self.attributes
        return attribute.name if alone else f"{attribute.release}.{attribute.name}"

    def expanded(self, x: Sequence[str]) -> Key:
        """Names of X with a common name replaced by all attributes that it stands for."""
        found = [self.spelled(a) for word in x for a in (self.meant(word) or [self.only(word)])]
        return tuple(dict.fromkeys(found))

    def quasi_names(self) -> list[str]:
        return [self.spelled(JoinAttribute(r, name)) for r, known in self.attributes.items() for name in known]

    def sensitive_names(self) -> list[str]:
        return []

    def all_names(self) -> list[str]:
        every = [
            JoinAttribute(r, name) for found in (self.attributes, self.hidden) for r, n in found.items() for name in n
        ]
        told = [word for a in every for word in (self.spelled(a), f"{a.release}.{a.name}")]
        return list(dict.fromkeys([*told, *self.attributes]))

    def domain(self, name: str) -> Domain:
        """The values that an attribute shows."""
        return Taxonomy.flat(self.values[self.only(name)])
