"""The numbers of a requirement as a person sets them: where a slider begins, ends and starts; and its words."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from sfumato.requirement.base import Requirement


@dataclass(frozen=True)
class Dial:
    """The usual values of a parameter; a policy may state others.

    >>> Dial(2, 100, 1, start=5).around(250).greatest
    250
    """

    least: float
    greatest: float
    step: float
    start: float
    only: tuple[str, str] | None = None
    """The word of another parameter that makes this one matter, e.g. the recursive variant of l-diversity its c."""

    def around(self, value: float) -> "Dial":
        """The dial, wide enough for a value that is not among the usual ones."""
        return Dial(min(self.least, value), max(self.greatest, value), self.step, self.start, self.only)


def starting_entry(model: "type[Requirement]", sensitive: str | None) -> dict[str, Any]:
    """A ``[[require]]`` to begin with: the model with the values where its dials start.

    ``sensitive`` is the attribute that it is about, where a model has to name one.

    >>> from sfumato.requirement.alpha_k import AlphaK
    >>> starting_entry(AlphaK, "disease")
    {'model': 'alpha-k', 'alpha': 0.5, 'k': 5}
    """
    entry: dict[str, Any] = {"model": model.model}
    for word, f in model.public_fields().items():
        if word in model.dials:
            entry[word] = model.dials[word].start
        elif f.default is MISSING and sensitive is not None:
            entry[word] = sensitive
    return matching_entry(model, entry)


def matching_entry(model: "type[Requirement]", entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with just those parameters that its words make matter, new ones where their dials start.

    >>> from sfumato.requirement.l_diversity import LDiversity
    >>> matching_entry(LDiversity, {"model": "l-diversity", "l": 3, "variant": "recursive"})
    {'model': 'l-diversity', 'l': 3, 'variant': 'recursive', 'c': 3}
    """
    out = dict(entry)
    for word, dial in model.dials.items():
        if dial.only is None:
            continue
        if out.get(dial.only[0]) == dial.only[1]:
            out.setdefault(word, dial.start)
        else:
            out.pop(word, None)
    return out


def choices(model: "type[Requirement]") -> Mapping[str, tuple[str, ...]]:
    """The parameters that are one of several words, with these words.

    >>> from sfumato.requirement.t_closeness import TCloseness
    >>> dict(choices(TCloseness))
    {'distance': ('equal', 'ordered', 'hierarchical')}
    """
    hints = get_type_hints(model)
    words = {word: _words(hints[f.name]) for word, f in model.public_fields().items()}
    return {word: found for word, found in words.items() if found}


def _words(hint: object) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return tuple(str(word) for word in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return tuple(word for part in get_args(hint) for word in _words(part))
    return ()
