"""Templates that others imply (Fung, Theorems 4.1.1 and 5.1.1, Corollary 6.1.1)."""

from collections.abc import Sequence
from typing import NamedTuple

from sfumato.requirement.base import Schema, names
from sfumato.requirement.templates import Anonymity, Confidentiality, PrivacyTemplate


class Redundant(NamedTuple):
    """A template and the one that makes it redundant."""

    template: PrivacyTemplate
    implied_by: PrivacyTemplate

    def words(self) -> str:
        """That it is left out, and why."""
        return f"{notation(self.template)} is left out: {notation(self.implied_by)} implies it"


def notation(template: PrivacyTemplate) -> str:
    """A template as the thesis writes it.

    >>> notation(Anonymity(x=["Job", "Sex"], k=4))
    '⟨{Job, Sex}, rows, 4⟩'
    """
    x = ", ".join(names(template.x))
    if isinstance(template, Anonymity):
        return f"⟨{{{x}}}, {', '.join(names(template.y)) or 'rows'}, {template.k}⟩"
    y = template.y
    told = "; ".join(f"{n} = {'/'.join(names(v))}" for n, v in y.items()) if isinstance(y, dict) else ", ".join(y)
    return f"⟨{{{x}}}, {told}, {template.k}⟩"


def implies(stronger: PrivacyTemplate, weaker: PrivacyTemplate, schema: Schema) -> bool:
    """Whether every table that satisfies one template satisfies the other, by X ⊆ X′ and the limits.

    Theorem 4.1.1 prints k ≥ k′; it must be k ≤ k′: two rows that agree on all of X′ are 2-anonymous on X
    and not 3-anonymous. Rows are the finest Y; fewer distinct values of Y′ ⊆ Y cannot be more than of Y.
    """
    if not set(names(weaker.x)) <= set(names(stronger.x)):
        return False
    if isinstance(stronger, Anonymity) and isinstance(weaker, Anonymity):
        ours, theirs = set(names(stronger.y)), set(names(weaker.y))
        return weaker.k <= stronger.k and (not theirs or (bool(ours) and ours <= theirs))
    if isinstance(stronger, Confidentiality) and isinstance(weaker, Confidentiality):
        limits = stronger.limits(schema)
        return all(key in limits and limit >= limits[key] for key, limit in weaker.limits(schema).items())
    return False


def without_redundant(
    templates: Sequence[PrivacyTemplate], schema: Schema
) -> tuple[list[PrivacyTemplate], list[Redundant]]:
    """The templates that count, in their order, and the others; of two that imply each other the first counts."""
    kept: list[PrivacyTemplate] = []
    left_out: list[Redundant] = []
    for i, weaker in enumerate(templates):
        for j, stronger in enumerate(templates):
            mutual = implies(weaker, stronger, schema)
            if i != j and implies(stronger, weaker, schema) and (j < i or not mutual):
                left_out.append(Redundant(weaker, stronger))
                break
        else:
            kept.append(weaker)
    return kept, left_out
