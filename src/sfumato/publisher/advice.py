"""What a steward should know about a release but which must not appear in its public part."""

from collections.abc import Iterator, Sequence

from sfumato.engine.overview import Overview
from sfumato.publisher.column_roles import Profile, profile_of, recognize
from sfumato.publisher.insensitive import exposed
from sfumato.publisher.lone_ends import lone_ends
from sfumato.publisher.policy import Policy
from sfumato.publisher.price import PricedJob, remedies
from sfumato.publisher.toml import toml
from sfumato.publisher.unregistered import unregistered
from sfumato.release.best_guess import BestGuess
from sfumato.release.check.claims import promised
from sfumato.release.judgement import TableSchema
from sfumato.release.release import Release
from sfumato.report.plots import percent
from sfumato.report.summary import Summary
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Column, Role

SURE = 0.5
"""A guess that is right more often than this is worth a warning if no requirement bounds it."""
GAIN = 0.2
"""By how much groups may raise the confidence in a value before a comparison with the table is worth a warning."""

_MOST_ROWS_EACH = 20


def advice(policy: Policy, table: Overview, release: Release, summary: Summary) -> list[str]:
    """Warnings for the steward alone: they may reveal facts about the private table."""
    bound = promised(release.description) if release.description.after else _bound(policy, table)
    return [
        *remedies(PricedJob(table, bound, policy.method), summary),
        *_sensitive(bound, table, summary),
        *exposed(policy, table),
        *_several_rows(bound, table, policy.weights),
        *unregistered(bound, table),
        *lone_ends(table, release),
        *_in_pieces(table),
    ]


def _in_pieces(table: Overview) -> Iterator[str]:
    """What is not known about a table that was never counted as a whole."""
    if not table.joint:
        yield (
            "The table has more combinations of values than memory holds, so it was cut piece by piece. The report "
            "does not say which combinations of quasi-identifiers single people out or how well sensitive values "
            "could be guessed before, and no adversary attacked the release. To get these, raise memory under "
            "[engine]."
        )


def _bound(policy: Policy, table: Overview) -> list[Requirement]:
    schema = TableSchema(table)
    return [r.bind(schema) for r in policy.requirements]


def _sensitive(bound: Sequence[Requirement], table: Overview, summary: Summary) -> Iterator[str]:
    """Sensitive attributes that no requirement covers, or only without a bound on any probability.

    A class is meant to be predicted, so there is a warning about it only if nothing is declared sensitive.
    """
    schema = TableSchema(table)
    for column in table.sensitive or table.with_role(Role.CLASS):
        about = [r for r in bound if column.name in r.covers(schema)]
        guess = summary.guesses.get(column.name)
        if not about:
            yield _uncovered(column, summary, guess)
        elif guess is not None and not any(r.bounds_confidence() for r in about) and _skewed(about, guess):
            yield _unbounded(column, about, guess)


def _uncovered(column: Column, summary: Summary, guess: BestGuess | None) -> str:
    told = f"No requirement covers the sensitive attribute {column.name!r}"
    remedy = "Require l-diversity or t-closeness for it, or leave it out (role identifier)."
    if column.role is Role.CLASS:
        told = f"No attribute is declared sensitive, and no requirement covers the class {column.name!r}"
        remedy = "If it is private, make it sensitive and require l-diversity or t-closeness for it."
    if summary.retention is not None and summary.retention < 1:
        return (
            f"{told}: only its noise limits what can be inferred about it (values are kept with probability "
            f"{summary.retention:g}), and no limit was set. Require rho-breach or growth."
        )
    if guess is None:
        return f"{told}: nothing bounds what can be inferred about it. Add a requirement on it, or leave it out."
    beside = "by group" if summary.exact else "next to the quasi-identifiers"
    certain = (
        f" {guess.certain:,} of {summary.published:,} rows are in groups with a single value, which gives it away."
    )
    return (
        f"{told}: its values are published {beside} without a bound.{certain if guess.certain else ''} The most common "
        f"value of a group is the right guess for {percent(guess.mean)} of the rows, and for {percent(guess.worst)} in "
        f"the worst group ({percent(guess.base)} without groups). {remedy}"
    )


def _skewed(about: Sequence[Requirement], guess: BestGuess) -> bool:
    if any(isinstance(r, GroupRequirement) and r.against_table for r in about):
        return guess.worst > SURE and guess.worst - guess.base > GAIN
    return guess.worst > SURE


def _unbounded(column: Column, about: Sequence[Requirement], guess: BestGuess) -> str:
    required = " and ".join(dict.fromkeys(_kind(r) for r in about))
    told = (
        f"{required} bounds no probability: for {column.name!r} the most common value of a group is the right guess "
        f"for {percent(guess.mean)} of the rows, and for {percent(guess.worst)} in the worst group (without groups, "
        f"{guess.value!r} is right for {percent(guess.base)})."
    )
    if guess.base <= SURE:
        return f'{told} Require l-diversity with variant = "frequency", which bounds it by 1/l.'
    others = [v for v in column.domain.leaves if v != guess.value]
    example = toml({column.name: others}) if len(others) <= 3 else f"{{ {column.name} = [...] }}"
    return (
        f'{told} {guess.value!r} is too common for l-diversity with variant = "frequency" and l = 2; bound '
        f"the values that would do harm (confidentiality with y = {example}), or require t-closeness with a small t."
    )


def _kind(requirement: Requirement) -> str:
    variant = getattr(requirement, "variant", None)
    return f"{variant} {requirement.model}".capitalize() if variant else requirement.model.capitalize()


def _several_rows(bound: Sequence[Requirement], table: Overview, weights: str | None) -> Iterator[str]:
    """Identifiers that repeat as if people had several rows, if no requirement counts people by them."""
    identifiers = list(table.hidden)
    counted = {name for r in bound for name in r.people(identifiers)}
    if any(getattr(r, "entity", None) for r in bound):
        return
    for name, tally in table.hidden.items():
        seen = profile_of(name, tally)
        if name == weights:
            continue
        if seen.name not in counted and 1 < seen.distinct < table.rows and _may_be_people(seen):
            yield (
                f"The identifier {seen.name} has {seen.distinct:,} values in {table.rows:,} rows. If each value is a "
                "person, some people have several rows: a group of k rows may hold fewer than k people, and "
                "requirements on sensitive values count a person several times. Give each person one row, or require "
                "k-anonymity with "
                f'entity = "{seen.name}" and nothing that counts rows.'
            )


def _may_be_people(seen: Profile) -> bool:
    """Whether values may identify people: other columns also get this role, just to leave them out."""
    sign = recognize(seen)
    return sign.role == Role.IDENTIFIER or (sign.unsure and seen.distinct * _MOST_ROWS_EACH >= seen.rows)
