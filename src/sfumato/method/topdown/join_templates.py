"""Templates over a join, bound to the table and to the earlier releases; and what they require of the table alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.engine.counts import Counts
from sfumato.errors import PolicyError
from sfumato.method.topdown.table_side import raw_side
from sfumato.release.earlier import Earlier
from sfumato.release.join.links import Links
from sfumato.release.join.names import JoinAttribute, JoinNames
from sfumato.release.join.partition import refuse_sampled
from sfumato.release.join.template import Resolved, completed, resolve
from sfumato.release.judgement import TableSchema
from sfumato.release.rule import Inconsistent
from sfumato.release.taxonomy_agreement import refuse_disagreement
from sfumato.requirement.base import Requirement, names
from sfumato.requirement.join_template import THIS, JoinTemplate, join_template
from sfumato.requirement.templates import Anonymity, Confidentiality, PrivacyTemplate
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.names import named


@dataclass(frozen=True, eq=False)
class Releases:
    """The earlier releases that a table is published after, and the rules of what cannot match."""

    after: Sequence[Earlier]
    rules: Sequence[Inconsistent]

    @property
    def over(self) -> tuple[str, ...]:
        """The names of all releases of the join."""
        return (THIS, *(e.name for e in self.after))

    def common(self, table: Microdata | Counts) -> list[str]:
        """The attributes of the table that an earlier release has too, or that a rule is about."""
        ruled = [name for rule in self.rules for name in rule.values(THIS)]
        theirs = {name for e in self.after for name in e.columns}
        published = table.names if isinstance(table, Counts) else (*table.columns, *table.plain.columns)
        return [name for name in dict.fromkeys([*published, *ruled]) if name in theirs or name in ruled]

    def links(self, table: Microdata | Counts, also: Sequence[str] = ()) -> Links:
        """What joins the table with them; ``also`` are further columns to read."""
        return Links([raw_side(table, [*self.common(table), *also]), *self.after], self.rules)

    def names(self, table: Microdata) -> JoinNames:
        """The attributes of all releases, with their values."""
        known = JoinNames(
            {THIS: [*table.columns, *table.plain.columns], **{e.name: list(e.columns) for e in self.after}},
            {THIS: table.hidden.columns},
        )
        known.values |= {JoinAttribute(THIS, n): c.domain.leaves for n, c in table.columns.items()}
        known.values |= {JoinAttribute(e.name, n): c.labels for e in self.after for n, c in e.columns.items()}
        return known

    def resolved(self, template: JoinTemplate, table: Microdata | Counts) -> Resolved:
        """A template with its names resolved; an uncoded column can be counted, but has no protected values."""
        known = JoinNames({THIS: list(table.names), **{e.name: list(e.columns) for e in self.after}})
        known.values |= {JoinAttribute(THIS, n): c.domain.leaves for n, c in table.columns.items()}
        known.values |= {JoinAttribute(e.name, n): c.labels for e in self.after for n, c in e.columns.items()}
        return resolve(template, known)


def is_joined(requirement: Requirement, known: JoinNames) -> bool:
    """Whether a template is over the join: it says so, or names an attribute or the records of an earlier release."""
    if isinstance(requirement, JoinTemplate):
        return True
    if not isinstance(requirement, Anonymity | Confidentiality):
        return False
    own = {*known.attributes[THIS], *known.hidden[THIS]}
    return any(word not in own for word in (*names(requirement.x), *(requirement.y or ())))


def bind_joined(
    requirements: Sequence[Requirement], table: Microdata, releases: Releases, *, join_in_x: bool, masked: Sequence[str]
) -> list[JoinTemplate]:
    """The templates over the join, with X completed; ``masked`` are attributes that other templates mask."""
    known, links = releases.names(table), releases.links(table)
    _refuse_disagreement(table, releases)
    found = []
    for requirement in requirements:
        over = requirement if isinstance(requirement, JoinTemplate) else join_template(requirement, releases.over)
        _refuse_other_releases(over, releases)
        found.append(_with_x(_counting_rows(over, table, known), table, releases, known))
    quasi = [c.name for c in table.quasi]
    shown = [a.name for t in found for word in t.x for a in known.meant(word) if a.release == THIS]
    hidden = {*masked, *(name for name in shown if name in quasi)}
    added = (
        links.attributes() if join_in_x else [a for a in links.attributes() if a.release == THIS and a.name in hidden]
    )
    hidden |= {a.name for a in added if a.release == THIS and a.name in quasi}
    bound = [completed(t, known, added) for t in found]
    for template in bound:
        _refuse_masked_y(resolve(template, known), hidden)
        for side in releases.after:
            refuse_sampled(side, resolve(template, known))
    return bound


def _refuse_disagreement(table: Microdata, releases: Releases) -> None:
    for earlier in releases.after:
        for name, column in earlier.columns.items():
            if name in table.columns:
                refuse_disagreement(column, table[name].domain, earlier.name)


def _refuse_other_releases(template: JoinTemplate, releases: Releases) -> None:
    if stray := sorted({*template.over} ^ {*releases.over}):
        raise PolicyError(
            f"{template.model} is over {named(template.over)}, but the releases here are {named(releases.over)}; "
            f"{stray[0]!r} is not in both. A template is over all releases: leave out those that it does not concern"
        )


def _with_x(template: JoinTemplate, table: Microdata, releases: Releases, known: JoinNames) -> JoinTemplate:
    """A template without X is about the quasi-identifiers of all releases."""
    if template.x:
        return template
    quasi = [JoinAttribute(THIS, c.name) for c in table.quasi]
    quasi += [JoinAttribute(e.name, n) for e in releases.after for n, c in e.columns.items() if c.role is Role.QUASI]
    taken = {a for word in template.y or () if word not in template.over for a in known.meant(word)}
    x = [known.spelled(a) for a in quasi if a not in taken]
    return template.with_parameters(template=template.template.with_parameters(x=x))


def _counting_rows(template: JoinTemplate, table: Microdata, known: JoinNames) -> JoinTemplate:
    """An identifier that no two rows share counts the records of this table, which everyone can count."""
    inner = template.template
    if not isinstance(inner, Anonymity):
        return template
    y = [THIS if _is_key(word, table, known) else word for word in names(inner.y)]
    return template.with_parameters(template=inner.with_parameters(y=list(dict.fromkeys(y))))


def _is_key(word: str, table: Microdata, known: JoinNames) -> bool:
    name = word.removeprefix(f"{THIS}.")
    if name not in table.hidden.columns or known.meant(word) != (JoinAttribute(THIS, name),):
        return False
    column: pl.Series = table.hidden[name]
    return column.n_unique() == table.rows


def _refuse_masked_y(wanted: Resolved, masked: set[str]) -> None:
    if both := [name for name in wanted.reads(THIS) if name in masked]:
        raise PolicyError(
            f"{both[0]!r} of this table is in y, but it is generalized since it is in x of some template; which values "
            "people have is then not published: leave it out of one of them"
        )


def is_complete(wanted: Resolved, links: Links) -> bool:
    """Whether all join attributes are in X (Case 1 of section 6.3.2)."""
    return {*links.attributes()} <= {*wanted.x}


def lacking(wanted: Resolved, links: Links, known: JoinNames) -> list[str]:
    """The join attributes that are not in X."""
    return [known.spelled(a) for a in links.attributes() if a not in wanted.x]


def is_spanning(wanted: Resolved) -> bool:
    """Whether combinations of values of this table and of earlier releases are counted."""
    releases = {*wanted.records, *(a.release for a in wanted.y)}
    return len(releases) > 1 and THIS in releases


def of_table_alone(template: JoinTemplate, wanted: Resolved, table: Microdata | Counts) -> PrivacyTemplate | None:
    """What a template over a join requires of the table alone, if all join attributes are in X.

    A group of the join is then a group of this table on its attributes of X, each row of which is matched with the
    same rows of the other releases. So the group has the values on Y, and the shares of them, that it has in this
    table. None: Y is not in this table.
    """
    if not wanted.counts(THIS):
        return None
    x, inner = wanted.in_x(THIS), template.template
    if isinstance(inner, Anonymity):
        y = () if THIS in wanted.records else wanted.in_y(THIS)
        return Anonymity(x=x, y=y, k=inner.k).bind(TableSchema(table))
    held = [wanted.targets[i] for i in wanted.held_by(THIS)]
    protected: dict[str, list[str]] = {}
    for target in held:
        protected.setdefault(target.attribute.name, []).append(target.value)
    k = {t.value: inner.k[t.value] for t in held} if isinstance(inner.k, Mapping) else inner.k
    return Confidentiality(x=x, y=protected, k=k).bind(TableSchema(table))
