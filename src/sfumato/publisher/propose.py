"""`sfumato init`: look at a table and propose a policy, with a reason for every line of it.

A proposal errs on the safe side: what is not recognized is treated as known to outsiders. It is a
text for a steward to read and correct, so everything from the data (column names, values) is
escaped: no table, however odd, breaks out of a string or a comment.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from sfumato.method.choice import Wanted, eligible
from sfumato.publisher.column_roles import Profile, Sign, dated, order, profile, recognize, texts
from sfumato.publisher.policy import DROP
from sfumato.publisher.toml import escape, key, toml
from sfumato.requirement.catalogue import from_table as requirement_from_table
from sfumato.table.form import PLAIN, Form
from sfumato.table.missing_markers import MARKERS
from sfumato.table.notation import normalized
from sfumato.table.sniff import Sniffed

K, ROWS_FOR_K, SMALL_TREE = 5, 50, 6
_CONTEXT_HINT = (
    "# [context]  # for the certificate that is signed; private, except for what disclose names",
    '# operator = "…"',
    '# recipient = "…"',
    '# purpose = "…"',
    '# disclose = ["operator"]',
)
MARGIN = 0.9  # of 1/l: how common the most common sensitive value may be


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAttribute:
    """One line of `[attributes]`; only ordinals have a domain, in order."""

    name: str
    role: str
    kind: str
    taxonomy: dict[str, Any] | None = None
    domain: tuple[str, ...] | None = None
    pad: int | None = None
    reason: str
    why: str = ""
    """The part of the reason that is about the role; the policy keeps it for the certificate."""

    def entry(self) -> dict[str, Any]:
        """What the policy says; kind and taxonomy matter only where values are worked on."""
        if self.role in ("identifier", "insensitive", DROP):
            return {"role": self.role}
        entry = {
            **{"role": self.role, "kind": self.kind, "taxonomy": self.taxonomy, "domain": self.domain, "pad": self.pad}
        }
        return {name: value for name, value in entry.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRequirement:
    """One `[[require]]` of the policy."""

    entry: dict[str, str | int]
    reason: str


@dataclass(frozen=True, slots=True)
class ProposedMethod:
    """The `[method]` of the policy; None leaves it out, so that one is chosen when the table is published."""

    name: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A policy that a person still has to read."""

    title: str = ""
    """Left to the steward: it is public, and a file name may reveal whom it is about."""
    source: str
    query: str | None = None
    form: Sniffed = field(default_factory=lambda: Sniffed(PLAIN))
    """How the source writes its rows, with the reasons."""
    missing: str
    nulls: dict[str, list[str]] = field(default_factory=dict)
    """The texts that seem to stand for a missing value, each with the columns that have it."""
    attributes: tuple[ProposedAttribute, ...]
    requirements: tuple[ProposedRequirement, ...]
    method: ProposedMethod
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The proposal for machines, with its reasons and warnings."""
        return {
            "title": self.title,
            "data": {
                "source": self.source,
                **({"query": self.query} if self.query else {}),
                **self.form.form.said(),
                **({"nulls": list(self.nulls)} if self.nulls else {}),
                "missing": self.missing,
                "others": "error",
            },
            "attributes": [asdict(attribute) for attribute in self.attributes],
            "require": [{**needed.entry, "reason": needed.reason} for needed in self.requirements],
            "method": asdict(self.method),
            "warnings": list(self.warnings),
        }

    def to_toml(self) -> str:
        """The text that `sfumato publish` reads, with the reasons as comments."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from comment("Proposed by `sfumato init`. Only you know the data: read every line.")
        for warning in self.warnings:
            yield from comment(f"Note: {warning}")
        yield from ("", f"title = {toml(self.title)}  # public; not the file name, which may reveal too much")
        yield from ("", "[data]", f"source = {toml(self.source)}")
        if self.query:
            yield f"query = {toml(self.query)}"
        for name, value in self.form.form.said().items():
            yield from comment(self.form.reasons.get(name, "as given"))
            yield f"{name} = {toml(value)}"
        if self.nulls:
            told = "; ".join(f"{text!r} in {', '.join(map(repr, names[:5]))}" for text, names in self.nulls.items())
            yield from comment(f"Taken for missing values: {told}")
            yield f"nulls = {toml(list(self.nulls))}"
        yield f"missing = {toml(self.missing)}  # error | category | drop"
        yield from (
            'others = "error"  # columns not named below: error | drop | insensitive',
            "",
            "[attributes]",
        )
        for attribute in self.attributes:
            yield from comment(attribute.reason.removeprefix(attribute.why).removeprefix("; "))
            yield f"{key(attribute.name)} = {toml(attribute.entry() | {'reason': attribute.why})}"
        for needed in self.requirements:
            yield from ("", *comment(needed.reason), "[[require]]")
            yield from (f"{key(name)} = {toml(value)}" for name, value in needed.entry.items())
        yield from ("", *comment(self.method.reason))
        if self.method.name is not None:
            yield from ("[method]", f"name = {toml(self.method.name)}")
        yield from ("", *_CONTEXT_HINT)


def comment(text: str) -> list[str]:
    return textwrap.wrap(escape(text), 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def propose(frame: pl.DataFrame, source: str, *, query: str | None = None, form: Sniffed | None = None) -> Proposal:
    """Roles, kinds, taxonomies and requirements for a table, each with its reason.

    ``form`` is how the table was read.

    >>> table = pl.DataFrame({"name": ["Ann", "Bob"], "age": ["31", "42"], "flu": ["yes", "no"]})
    >>> [(a.name, a.role) for a in propose(table, "ward.csv").attributes]
    [('name', 'identifier'), ('age', 'quasi'), ('flu', 'quasi')]
    """
    form = form or Sniffed(PLAIN)
    nulls = _markers(frame)
    frame = without_markers(frame, list(nulls), form.form)
    columns = _settle([_Column(seen, recognize(seen)) for seen in map(profile, frame.get_columns())])
    entity = _entity(columns)
    people = entity.distinct if entity else frame.height
    k = min(K, max(2, people * K // ROWS_FOR_K))
    needed = [_anonymity(k, people, entity)]
    private = [column.seen for column in columns if column.sign.role == "sensitive"]
    needed += [] if entity else [_diversity(seen, alone=len(private) == 1) for seen in private]
    return Proposal(
        source=source,
        query=query,
        form=form,
        nulls=nulls,
        missing="category" if any(column.seen.nulls for column in columns) else "error",
        attributes=tuple(column.attribute(k) for column in columns),
        requirements=tuple(needed),
        method=_method([n.entry for n in needed], private),
        warnings=(*form.notes, *_warnings(columns, frame.height), *_rows_of_people(entity, private)),
    )


def without_markers(frame: pl.DataFrame, nulls: Sequence[str], form: Form) -> pl.DataFrame:
    """A table that was read, with the texts ``nulls`` as missing values: what reading it with them would give."""
    text = pl.col(pl.String)
    return normalized(frame.with_columns(pl.when(~text.is_in(list(nulls))).then(text)), form) if nulls else frame


def _markers(frame: pl.DataFrame) -> dict[str, list[str]]:
    """The texts that seem to stand for missing values, each with the columns that have it."""
    found: dict[str, list[str]] = {}
    for column in frame.get_columns():
        if column.dtype == pl.String:
            for text in column.filter(column.is_in(MARKERS)).unique().sort().to_list():
                found.setdefault(text, []).append(column.name)
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with what it is taken for."""

    seen: Profile
    sign: Sign

    def attribute(self, k: int) -> ProposedAttribute:
        kind, details = self._kind(), [self.sign.why]
        if self.sign.role == "quasi":
            details[0] += "" if "outsiders" in self.sign.why else ", which outsiders know"
            details += [
                f"{self.seen.distinct:,} value" + "s" * (self.seen.distinct != 1),
                *self._details(kind, k),
            ]
        return ProposedAttribute(
            name=self.seen.name,
            role=self.sign.role,
            kind=kind,
            taxonomy=self._taxonomy(kind) if self.sign.role == "quasi" else None,
            domain=order(self.seen) if kind == "ordinal" else None,
            reason="; ".join(details),
            why=details[0],
        )

    def _kind(self) -> str:
        """Numbers and dates are generalized to intervals, levels to ranges, other values by a tree."""
        if self.sign.hint == "auto" and (self.seen.date or (self.seen.numeric and self.seen.distinct > 2)):
            return "date" if self.seen.date else "continuous"
        return "ordinal" if order(self.seen) else "categorical"

    def _taxonomy(self, kind: str) -> dict[str, Any] | None:
        if self.sign.hint == "mask":
            return {"mask": "right"}
        if kind != "categorical" or not 1 <= self.seen.distinct <= SMALL_TREE:
            return None
        root = next(name for dots in range(SMALL_TREE + 1) if (name := "Any" + "." * dots) not in self.seen.sample)
        return {root: list(self.seen.sample)}

    def _details(self, kind: str, k: int) -> Iterator[str]:
        """What a steward should know about a quasi-identifier, besides why it is one."""
        if self.sign.hint == "mask":
            yield "masked from the right, it covers larger and larger areas"
            if len({len(value) for value in self.seen.sample}) > 1:
                yield "codes of different lengths: was a leading zero lost?"
        elif kind in ("categorical", "ordinal"):
            if dated(self.seen):
                yield "if written like 2025-12-31, it could be a date"
            elif self._taxonomy(kind) is None and kind == "categorical":
                yield 'shown or suppressed, unless you add taxonomy = "file.csv" (an ARX hierarchy) or "file.json"'
            rare = self.seen.values.filter(self.seen.counts < k)
            if len(rare):
                some = ", ".join(repr(value[:30]) for value in texts(rare.bottom_k(3)))
                listed = "; listed here, they are public" if kind == "ordinal" or self._taxonomy(kind) else ""
                yield f"rare values, in fewer than {k} rows: {len(rare):,} (such as {some}){listed}"


def _likely(seen: Profile) -> float:
    """The share of the most common value (empty counts as one): an outsider's best blind guess."""
    return float(seen.counts.to_numpy().max(initial=seen.nulls) / max(1, seen.rows))


def _settle(columns: list[_Column]) -> list[_Column]:
    """At most one class and two sensitive attributes; the other candidates become quasi, to be safe."""
    outcome = [c for c in columns if c.sign.role == "class"] or [
        c for c in columns if c.sign.rank == 1 and 2 <= c.seen.distinct <= 3 and not c.seen.numeric
    ]
    taken = {c.seen.name: "class" for c in outcome[:1]}
    private = [c for c in columns if c.sign.role == "sensitive" and c.seen.name not in taken and _protects(c)]
    private.sort(key=lambda c: (c.sign.rank, c._kind() == "continuous", _likely(c.seen)))
    taken |= {c.seen.name: "sensitive" for i, c in enumerate(private[:2]) if i == 0 or c.sign.rank == 0}
    return [_Column(c.seen, _role(c, taken.get(c.seen.name))) for c in columns]


def _protects(column: _Column) -> bool:
    """Whether diversity can be required of a candidate; columns of money are often mostly zeros."""
    return column.seen.distinct > 1 and (column.sign.rank == 0 or _likely(column.seen) * 2 <= MARGIN)


def _role(column: _Column, taken: str | None) -> Sign:
    sign = column.sign
    if taken == "class" and sign.role == "sensitive":
        why = f"{sign.why}, but with so few values an outcome to predict (make it sensitive if nobody predicts it)"
        return replace(sign, role="class", why=why, hint="categorical")
    if taken or sign.role not in ("class", "sensitive"):
        return sign
    but = "others come first" if _protects(column) else f"{_likely(column.seen):.0%} of the rows have the same value"
    return replace(sign, role="quasi", why=f"unsure: {sign.why}, but {but}; treated as known to outsiders")


def _entity(columns: list[_Column]) -> Profile | None:
    """The column that numbers people, if some of them have several rows."""
    surest = max((c.sign.entity for c in columns), default=0)
    several = [c.seen for c in columns if c.sign.entity == surest > 0 and c.seen.share < (0.95, 1)[surest - 1]]
    return several[0] if several else None


def _anonymity(k: int, people: int, entity: Profile | None) -> ProposedRequirement:
    reason = f"Everyone is hidden among at least {k} people"
    if k < K:
        reason += f"; no more than {k}, since the table has only {people}"
    if entity is None:
        return ProposedRequirement(entry={"model": "k-anonymity", "k": k}, reason=reason + ".")
    reason += f"; {entity.name!r} repeats ({entity.rows:,} rows of {people:,} people), so k counts people."
    return ProposedRequirement(entry={"model": "k-anonymity", "k": k, "entity": entity.name}, reason=reason)


def _diversity(seen: Profile, *, alone: bool) -> ProposedRequirement:
    """As much diversity as the most common value leaves room for; if mondrian+ can serve it, as much as lets it cut."""
    fits = [most for most in (3, 2) if _likely(seen) * most <= MARGIN]
    safe = [most for most in fits if alone and _cuts(seen, most)] or fits
    entry = {"model": "l-diversity", "variant": "frequency" if safe else "distinct", "l": (*safe, 2)[0]}
    told = f"no value makes up more than 1/{safe[0]} of a group" if safe else "at least two values per group"
    reason = f"Of {seen.name!r}, {told}; in the whole table the most common one makes up {_likely(seen):.1%}."
    if safe[:1] != fits[:1]:
        reason += f" With l = {fits[0]}, mondrian+ could not cut, and mondrian would reveal something by its cuts."
    return ProposedRequirement(entry=entry if alone else {**entry, "sensitive": seen.name}, reason=reason)


def _cuts(seen: Profile, l: float) -> bool:
    """Whether mondrian+ cuts the whole table: only if no value makes up more than 1/(2l) of it."""
    return _likely(seen) * 2 * l <= 1


def _method(entries: Sequence[dict[str, str | int]], private: Sequence[Profile]) -> ProposedMethod:
    """None, so that one is chosen that is not refuted; if only refuted ones can serve, the steward has to agree."""
    needed = [requirement_from_table({"sensitive": private[0].name, **e} if _is_diverse(e) else e) for e in entries]
    able = eligible(Wanted(needed, ()))
    if not able:
        return ProposedMethod(
            "mondrian",
            "mondrian serves this, but where it cuts depends on the values required about, which reveals something "
            "about them to an adversary who knows the algorithm. Methods without that flaw serve frequency l-diversity "
            "and k-anonymity that counts rows. sfumato never chooses a refuted method by itself, so this line is "
            "your decision.",
        )
    if len(needed) == 1:
        why = "no requirement depends on sensitive values, so groups reveal nothing about them"
        return ProposedMethod(None, f"No [method]: sfumato chooses one when it publishes; {why}.")
    why = "one that keeps l-diversity against an adversary who knows the algorithm"
    costs = "If too much is lost, lower l: `sfumato compare` shows what each method and each l costs."
    return ProposedMethod(None, f"No [method]: sfumato chooses {why}. {costs}")


def _is_diverse(entry: dict[str, str | int]) -> bool:
    return entry["model"] == "l-diversity"


def _rows_of_people(entity: Profile | None, private: Sequence[Profile]) -> Iterator[str]:
    """Why no diversity is proposed where people have several rows."""
    if entity and private:
        names = ", ".join(repr(seen.name) for seen in private)
        yield (
            f"some people ({entity.name!r}) have several rows, but l-diversity counts rows, so it is not required for "
            f"{names}; to protect it too, give each person one row (e.g. aggregate them) and require l-diversity."
        )


def _warnings(columns: list[_Column], rows: int) -> Iterator[str]:
    roles = {c.sign.role for c in columns}
    if rows < 2:
        yield "the table has fewer than two rows; nobody can be hidden in it."
    if "quasi" not in roles:
        only = "all are identifiers" if roles == {"identifier"} else "nothing seems known to outsiders"
        yield f"no quasi-identifier found ({only}), so k-anonymity has nothing to work on."
    if "sensitive" not in roles:
        yield "no sensitive attribute found, so l-diversity is not required; give a private column that role."
    empty = [c.seen for c in columns if c.seen.nulls]
    if empty:
        fields, names = sum(seen.nulls for seen in empty), ", ".join(repr(seen.name) for seen in empty[:5])
        yield f'{fields:,} fields are empty ({names}); missing = "category" treats missing as a value of its own.'
