"""The columns of a release for its reader: what each shows, and what its labels mean."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sfumato.release.label_meaning import parse_label
from sfumato.release.manifest import AttributeEntry, LabelAttribute, Manifest, ValueAttribute
from sfumato.release.readme.texts import several, shortened
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.sampling import SIZE
from sfumato.table.encode import Role
from sfumato.table.names import MISSING, REST, SUPPRESSED

_EXAMPLES = 5
_VALUES = 4
_LONGEST = 60

_ROLES = {
    Role.QUASI: "quasi-identifier",
    Role.SENSITIVE: "sensitive",
    Role.CLASS: "class",
    Role.INSENSITIVE: "insensitive",
}


class ColumnTold(NamedTuple):
    """A column in words, with a few of its labels or values and what each means; ``more`` are left out."""

    name: str
    role: str
    shows: str
    examples: Sequence[tuple[str, str]] = ()
    more: int = 0


def columns_told(manifest: Manifest, *, perturbed: bool) -> list[ColumnTold]:
    """Every column of every table; ``perturbed``: the method may have changed sensitive values."""
    found = [_column(name, entry, manifest, perturbed) for name, entry in manifest.attributes.items()]
    return found + [ColumnTold(name, "", shows) for name, shows in own_columns(manifest).items()]


def own_columns(manifest: Manifest) -> dict[str, str]:
    """The columns that are not attributes, with what each shows."""
    scheme = SCHEMES[manifest.scheme]
    if scheme.separates:
        return {
            GROUP: "the number of the group; it joins the two tables and has no other meaning",
            COUNT: "how many rows of the group have this value or combination of values",
        }
    if scheme.rows_are_groups:
        return {SIZE: "how many people the row represents"}
    return {}


def _column(name: str, entry: AttributeEntry, manifest: Manifest, perturbed: bool) -> ColumnTold:
    shows = _shows(name, entry, manifest, perturbed)
    if isinstance(entry, LabelAttribute):
        examples = [(_short(label), label_words(label, meaning)) for label, meaning in _first(entry.nodes)]
        return ColumnTold(name, _ROLES[entry.role], shows, examples, len(entry.nodes) - len(examples))
    if isinstance(entry, ValueAttribute):
        values = [(_short(value), "") for value in entry.domain[:_EXAMPLES]]
        return ColumnTold(name, _ROLES[entry.role], shows, values, len(entry.domain) - len(values))
    return ColumnTold(name, _ROLES[entry.role], shows)


def _first(nodes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A few labels from all over the list, special ones last."""
    special = [label for label in (SUPPRESSED, MISSING) if label in nodes]
    ordinary = [label for label in nodes if label not in special]
    number = min(_EXAMPLES - len(special), len(ordinary))
    spread = [ordinary[i * len(ordinary) // number] for i in range(number)]
    return [(label, nodes[label]) for label in (*spread, *special)]


def _shows(name: str, entry: AttributeEntry, manifest: Manifest, perturbed: bool) -> str:
    """What the cells of a column are."""
    if isinstance(entry, LabelAttribute):
        whom = "the people the row represents" if SCHEMES[manifest.scheme].rows_are_groups else "the row’s group"
        return f"{several(len(entry.nodes), 'label')}: each covers the values of all of {whom}"
    if name in manifest.matrices:
        return f"randomized: one of {several(len(manifest.domain(name)), 'value')}, which may not be the true one"
    if entry.role is Role.SENSITIVE:
        return _sensitive(manifest, perturbed)
    return "published unchanged"


def _sensitive(manifest: Manifest, perturbed: bool) -> str:
    scheme = SCHEMES[manifest.scheme]
    if scheme.rows_are_groups:
        return "the value of one person of the group, drawn at random and then kept or replaced at random"
    if perturbed:
        return "some values were replaced on purpose to protect people; which ones is not stated"
    return "the values of the group’s rows, in a table of their own" if scheme.separates else "published unchanged"


def label_words(label: str, meaning: Any) -> str:
    """What a label means, in words.

    >>> label_words("[20, 40)", [20.0, 40.0]), label_words(">= 65", [65.0, None]), label_words("47*", None)
    ('20 or more and below 40', '65 or more', 'a value of this form; each * stands for one hidden character')
    >>> label_words("Nurse", ["Nurse"]), label_words("Care", ["Nurse", "Medic"])
    ('this value', 'Nurse or Medic')
    """
    if label == MISSING:
        return "no value is known"
    told = parse_label(label, meaning)
    if told.interval is not None:
        return _interval(meaning, told.interval)
    if not told.listed:
        return _unlisted(label)
    return "this value" if told.names == (label,) else _one_of(told.names)


def _interval(meaning: Sequence[Any], ends: tuple[float, float]) -> str:
    low, high = (_end(end) for end in meaning)
    least, most = np.isfinite(ends)
    if least and most:
        return f"{low} or {'later' if isinstance(meaning[0], str) else 'more'} and {_below(meaning)} {high}"
    if least:
        return f"{low} or {'later' if isinstance(meaning[0], str) else 'more'}"
    return f"{_below(meaning)} {high}" if most else "any value, but not a missing one"


def _below(meaning: Sequence[Any]) -> str:
    return "before" if isinstance(meaning[1], str) else "below"


def _end(end: Any) -> str:
    return f"{end:.15g}" if isinstance(end, int | float) else str(end)


def _unlisted(label: str) -> str:
    if label == SUPPRESSED:
        return "hidden: could be any value"
    if label.endswith(REST):
        return f"a value that begins with {label.removesuffix(REST)!r}; what follows is hidden"
    if SUPPRESSED in label:
        return "a value of this form; each * stands for one hidden character"
    return "one of several values; which ones is not public"


def _one_of(names: Sequence[str]) -> str:
    shown = [_short(name) for name in names[:_VALUES]]
    if len(names) > _VALUES + 1:
        return f"one of {len(names):,} values: {', '.join(shown)}, …"
    shown = [_short(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _short(text: str) -> str:
    return shortened(text, _LONGEST)
