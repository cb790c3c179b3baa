"""A requirement's promise and its limits in plain words, and the sentences and figures that several models share."""

from collections.abc import Mapping
from dataclasses import dataclass

RULED_OUT = (
    "An adversary who knows more than the quasi-identifiers and can rule out some people or values of a group may "
    "learn more."
)
SIMILAR = (
    "Values that differ but mean nearly the same are counted as different, so a group may still reveal what kind of "
    "value its people have."
)
SHARED = (
    "It does not consider sensitive values: if all rows of a group share one, everyone in the group is known to "
    "have it (homogeneity)."
)
ONE_ROW = "It counts rows and assumes that each person has one; people with several rows are protected less."
MANY_ROWS = (
    "An adversary who knows that one of these people has more rows than the others can attribute a row to that person "
    "with a higher probability."
)
WHOLE_TABLE = "What the whole table reveals about everyone in it is not hidden."
INDEPENDENT = (
    "It assumes that the victim’s value is independent of the values of others. Where people share a value for a "
    "common reason (a family, an outbreak), knowledge about others reveals something about the victim, and another "
    "person’s row may reveal as much as the victim’s own."
)


@dataclass(frozen=True)
class Guarantee:
    """A requirement's promise, and its limits."""

    name: str
    promise: str
    limits: tuple[str, ...]


def figure(value: object) -> str:
    """A parameter as a person would write it.

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
    """A share as a readable percentage; only exactly 0 and 1 read as 0% and 100%.

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


def one_in(number: float) -> str:
    """A limit on a probability, as odds and as a percentage.

    >>> one_in(3), one_in(2), one_in(2.5)
    ('1 in 3 (33.3%)', '1 in 2 (50%)', '1 in 2.5 (40%)')
    """
    return f"1 in {figure(number)} ({percent(1 / number)})"
