"""The input of top-down refinement: requirements as templates, and whether they can be met at all."""

from collections.abc import Sequence
from fractions import Fraction

from sfumato.engine.counts import Counts
from sfumato.errors import Infeasible, PolicyError
from sfumato.release.judgement import TableSchema, whole_tally
from sfumato.release.people import refuse_rows_for_people
from sfumato.requirement.base import GroupRequirement, Requirement, Schema, rounded_up
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.redundancy import Redundant, notation, without_redundant
from sfumato.requirement.templates import Anonymity, Confidentiality, PrivacyTemplate
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named


def refuse_others(requirement: object, method: str) -> None:
    """Refuse requirements that are not templates."""
    if not isinstance(requirement, Anonymity | Confidentiality | KAnonymity):
        model = getattr(requirement, "model", repr(requirement))
        raise PolicyError(
            f"{method} serves the templates anonymity and confidentiality, and k-anonymity, but not {model}: "
            "require these ([[require]] in a policy), or use another method"
        )


def bound_to(requirements: Sequence[Requirement], table: Microdata, method: str) -> list[GroupRequirement]:
    """The requirements, bound to the table."""
    if not requirements:
        raise PolicyError(f"{method}: nothing is required; require at least one template")
    if not table.quasi:
        raise PolicyError(f"{method} needs a quasi-identifier, but none is declared; give a column that role")
    schema = TableSchema(table)
    bound: list[GroupRequirement] = []
    for requirement in requirements:
        refuse_others(requirement, method)
        if isinstance(requirement, GroupRequirement):
            bound.append(requirement.bind(schema))
    refuse_rows_for_people(bound, table)
    return bound


def refuse_unmet(bound: Sequence[GroupRequirement], table: Microdata | Counts) -> None:
    """Raise if no masking satisfies a requirement, because the most masked table does not (Theorem 5.1.3)."""
    schema = TableSchema(table)
    for requirement, template in zip(bound, [_as_template(b, schema) for b in bound], strict=True):
        whole = whole_tally(requirement, table)
        if not requirement.holds(schema, whole)[0]:
            raise Infeasible(
                f"{requirement.model}: no masking satisfies {notation(template)}: {_best(template, table)}"
            )


def _best(template: PrivacyTemplate, table: Microdata | Counts) -> str:
    """What a template attains on the most masked table, and the nearest threshold that this satisfies."""
    schema = TableSchema(table)
    whole = whole_tally(template, table)
    if isinstance(template, Anonymity):
        most = int(template.achieved(schema, whole)["k"])
        return f"on the most masked table its anonymity is {most}; lower k to {most} or less"
    told = []
    for (name, value), limit in template.limits(schema).items():
        held = int(whole.counts[(name,)][0, schema.domain(name).leaves.index(value)])
        if Fraction(held, table.rows) > limit:
            share = Fraction(held, table.rows)
            told.append(
                f"on the most masked table {name} = {value} has a confidence of {share} = {float(share):.2%}; "
                f"raise its k to {share} or more (e.g. {rounded_up(float(share))}), or remove it from y"
            )
    return "; ".join(told)


def _as_template(requirement: GroupRequirement, schema: Schema) -> PrivacyTemplate:
    """A requirement as a template; k-anonymity is one over all quasi-identifiers."""
    if isinstance(requirement, KAnonymity):
        return Anonymity(x=schema.quasi_names(), y=requirement.entity, k=requirement.k)
    if isinstance(requirement, Anonymity | Confidentiality):
        return requirement
    raise PolicyError(f"{requirement.model} is not a template")


def templates_of(
    requirements: Sequence[GroupRequirement], schema: Schema
) -> tuple[list[PrivacyTemplate], list[Redundant]]:
    """The templates that count, and those that they imply."""
    return without_redundant([_as_template(b, schema) for b in requirements], schema)


def need_class(table: Microdata | Counts, score: str) -> None:
    """Refuse a score that measures information about a class if there is not exactly one."""
    classes = table.with_role(Role.CLASS)
    if len(classes) != 1:
        found = "no column has that role" if not classes else f"{named(c.name for c in classes)} have that role"
        raise PolicyError(
            f"the score {score!r} measures information about one class, but {found}; give one column the role "
            "'class', or use the score 'distortion' or 'discernibility'"
        )
