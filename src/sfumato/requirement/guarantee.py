"""A requirement's promise and its limits in plain words, and the sentences and figures that several models share."""

from collections.abc import Mapping
from dataclasses import dataclass

RULED_OUT = (
    "An adversary who knows more than the quasi-identifiers, and can rule out some people or values of a group, is "
    "left with fewer and may conclude more."
)
SIMILAR = (
    "Values that differ but mean nearly the same are counted as different, so a group may still tell what kind of "
    "value its people have."
)
SHARED = (
    "It does not look at sensitive values: where all rows of a group share one, everyone in the group is known to "
    "have it (homogeneity)."
)
ONE_ROW = "It counts rows and assumes that each person has one; people with several are protected less."
MANY_ROWS = (
    "Whoever knows that one of these people has more rows than the others ascribes a row to that person with a higher "
    "probability."
)
WHOLE_TABLE = "What the whole table tells about everybody in it is not hidden."
INDEPENDENT = (
    "It assumes that the victim’s value is independent of the values of others. Where people share a value for a "
    "common reason (a family, an outbreak), what is known about others tells about the victim, and another person’s "
    "row may tell as much as the victim’s own."
)


@dataclass(frozen=True)
class Guarantee:
    """A requirement's promise, and its limits."""

    name: str
    promise: str
    limits: tuple[str, ...]


def figure(value: object) -> str:
    """A parameter as a person writes it.

    >>> figure(5), figure(3.0), figure(0.59783), figure(["age", "sex"]), figure({"HIV": 0.5})
    ('5', '3', '0.5978', 'age, sex', 'HIV: 0.5')
    """
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {figure(v)}" for name, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(figure(v) for v in value)
    return str(value)


def percent(share: float) -> str:
    """A share for people; what is not none or all never reads so.

    >>> percent(0), percent(0.0001), percent(0.125), percent(0.9999), percent(1)
    ('0%', '<0.1%', '12.5%', '>99.9%', '100%')
    """
    if share <= 0 or share >= 1:
        return "0%" if share <= 0 else "100%"
    if share < 0.001:
        return "<0.1%"
    if share > 0.999:
        return ">99.9%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"
