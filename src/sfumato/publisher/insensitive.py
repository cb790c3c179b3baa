"""Columns that are published unchanged: which of them single people out, or were never considered."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from sfumato.engine.counts import Counted, totals
from sfumato.engine.overview import Overview
from sfumato.errors import PolicyError
from sfumato.publisher.column_roles import Profile, Sign, profile_of, recognize
from sfumato.publisher.policy import DROP, Policy
from sfumato.publisher.toml import key
from sfumato.table.encode import Role

LEFT_OUT = (Role.IDENTIFIER, DROP)
"""The roles of columns that are not published."""
ALONE = 0.2
"""The share of rows with a unique value from which a column is said to single people out."""


def refuse_unnamed_identifiers(policy: Policy, table: Overview) -> None:
    """Refuse to publish an identifier just because the policy does not name it.

    A column is refused if ``others = "insensitive"`` alone makes it public, every row has its own value, and its name
    or its values are those of an identifier. All three together are convincing enough; naming the column settles it.
    """
    names = {a.name for a in policy.attributes}
    for name, tally in table.plain.items():
        if name in names:
            continue
        if name in table.unseen:
            raise PolicyError(
                f'others = "insensitive" would publish the column {name!r} unchanged, but it has too many different '
                "values to be examined: name it under [attributes], as identifier to leave it out or as insensitive"
            )
        seen = profile_of(name, tally)
        sign = recognize(seen)
        if sign.role in LEFT_OUT and seen.distinct == seen.rows > 1:
            entry = key(name)
            raise PolicyError(
                f'others = "insensitive" would publish the column {name!r} unchanged, but it looks like an '
                f"identifier ({sign.why}): all {seen.rows:,} rows have different values. Name it under [attributes]: "
                f'{entry} = "identifier" leaves it out, {entry} = "insensitive" publishes it'
            )


def exposed(policy: Policy, table: Overview) -> list[str]:
    """Warnings about columns that are published unchanged."""
    names = {a.name for a in policy.attributes}
    found, unseen = [_not_looked_at(name, table) for name in table.unseen], []
    for name, tally in table.plain.items():
        seen = profile_of(name, tally)
        sign = recognize(seen)
        if told := _told(seen, sign.why if sign.role in LEFT_OUT else ""):
            found.append(told)
        elif name not in names and (sign.role in (Role.SENSITIVE, Role.CLASS) or _known(sign)):
            unseen.append(f"{name!r} ({sign.why})")
    found += [told for c in _classes(table) if (told := _told(c, "", "class"))]
    if unseen:
        found.append(
            f'others = "insensitive" publishes these columns, which the policy does not name, unchanged: '
            f"{', '.join(unseen)}. Columns that outsiders can know identify people, and private columns are published "
            "without a bound: give each a role."
        )
    return found


def _not_looked_at(name: str, table: Overview) -> str:
    if name in table.hidden:
        return (
            f"The identifier {name!r} has too many different values to be counted, so it was not examined whether "
            "some people have several rows."
        )
    return (
        f"The insensitive column {name!r} is published unchanged and has too many different values to be counted, so "
        "it was not examined whether it singles people out. If it might, leave it out (role identifier) or round it."
    )


def _classes(table: Overview) -> Iterator[Profile]:
    for column in table.with_role(Role.CLASS):
        rows = totals(Counted(column.codes, column.size), table.weights)
        there = np.flatnonzero(rows)
        yield profile_of(column.name, pl.DataFrame({"value": there, "rows": rows[there]}))


def _known(sign: Sign) -> bool:
    """Whether a column was recognized as something that outsiders know, not just treated as such to be safe."""
    return sign.role == Role.QUASI and not sign.unsure


def _told(seen: Profile, identifier: str, role: str = "insensitive") -> str:
    """What is wrong with publishing a column unchanged; nothing if many rows share its values."""
    alone = int((seen.counts == 1).sum())
    single = f"{alone:,} of {seen.rows:,} rows have a value that no other row has"
    fine = seen.rows < 2 or alone < ALONE * seen.rows
    if identifier and seen.distinct > 1:
        what = f"looks like an identifier ({identifier})" + ("" if fine else f": {single}")
    elif not fine:
        what = f"singles people out: {single}"
    else:
        return ""
    return (
        f"The {role} column {seen.name!r} is published unchanged and {what}. Anyone who knows its value can find the "
        "row, whatever the groups. Leave it out (role identifier), make it quasi, or publish it rounded."
    )
