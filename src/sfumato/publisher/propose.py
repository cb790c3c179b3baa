"""`sfumato init`: look at a table and propose a policy, with a reason for every line of it.

A proposal errs on the safe side: what is not recognized is treated as known to outsiders.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from sfumato.publisher.column_roles import WEIGHT, Profile, Sign, profile, recognize, says_nothing
from sfumato.publisher.proposal import Proposal
from sfumato.publisher.proposed_column import ProposedColumn
from sfumato.publisher.proposed_requirements import MARGIN, asks, likely, proposed_k
from sfumato.table.form import PLAIN, Form
from sfumato.table.missing_markers import CODES_FOR_MISSING, means_missing
from sfumato.table.notation import normalized
from sfumato.table.sniff import Sniffed

_ENOUGH = 8
"""How many different numbers a column must have before one of them looks odd."""


def propose(
    frame: pl.DataFrame,
    source: str,
    *,
    query: str | None = None,
    form: Sniffed | None = None,
    labels: Mapping[str, str] | None = None,
) -> Proposal:
    """Roles, kinds, taxonomies and requirements for a table, each with its reason.

    ``form`` is how the table was read, ``labels`` what the file calls its columns in words.

    >>> table = pl.DataFrame({"name": ["Ann", "Bob"], "age": ["31", "42"], "flu": ["yes", "no"]})
    >>> [(a.name, a.role) for a in propose(table, "ward.csv").attributes]
    [('name', 'identifier'), ('age', 'quasi'), ('flu', 'quasi')]
    """
    form = form or Sniffed(PLAIN)
    nulls = missing_texts(frame)
    frame = without_markers(frame, list(nulls), form.form)
    seen = map(profile, frame.get_columns())
    columns = _settle([ProposedColumn(s, _recognized(s, (labels or {}).get(s.name, ""))) for s in seen])
    entity = _entity(columns)
    people = entity.distinct if entity else frame.height
    k = proposed_k(people)
    private = [column.seen for column in columns if column.sign.role == "sensitive"]
    first, *weaker = asks(k, people, entity, private)
    return Proposal(
        source=source,
        query=query,
        form=form,
        nulls=nulls,
        missing="category" if any(column.seen.nulls for column in columns) else "error",
        weights=next((c.seen.name for c in columns if c.sign.why == WEIGHT), None),
        attributes=tuple(column.attribute(k) for column in columns),
        requirements=first.requirements,
        method=first.method,
        weaker=tuple(weaker),
        warnings=(*form.notes, *_warnings(columns, frame.height), *_rows_of_people(entity, private)),
    )


def missing_texts(frame: pl.DataFrame) -> dict[str, list[str]]:
    """The texts that seem to stand for missing values, as they are written, each with the columns that have it."""
    found: dict[str, list[str]] = {}
    for column in frame.get_columns():
        if column.dtype == pl.String:
            values = column.drop_nulls().unique()
            for text in values.filter(means_missing(values)).sort().to_list():
                found.setdefault(text, []).append(column.name)
    return dict(sorted(found.items()))


def without_markers(frame: pl.DataFrame, nulls: Sequence[str], form: Form) -> pl.DataFrame:
    """A table that was read, with the texts ``nulls`` as missing values: what reading it with them would give."""
    text = pl.col(pl.String)
    return normalized(frame.with_columns(pl.when(~text.is_in(list(nulls))).then(text)), form) if nulls else frame


def _recognized(seen: Profile, label: str) -> Sign:
    """What a column is taken for: by its name and values; if the name says nothing, by what the file calls it."""
    called = replace(seen, name=label)
    if not label or not says_nothing(seen) or says_nothing(called):
        return recognize(seen)
    sign = recognize(called)
    return replace(sign, why=f"{sign.why} (by its label {label[:60]!r})")


def _settle(columns: list[ProposedColumn]) -> list[ProposedColumn]:
    """At most one class and two sensitive attributes; the other candidates become quasi, to be safe."""
    outcome = [c for c in columns if c.sign.role == "class"] or [
        c for c in columns if c.sign.rank == 1 and 2 <= c.seen.distinct <= 3 and not c.seen.numeric
    ]
    taken = {c.seen.name: "class" for c in outcome[:1]}
    private = [c for c in columns if c.sign.role == "sensitive" and c.seen.name not in taken and _protects(c)]
    private.sort(key=lambda c: (c.sign.rank, c.kind == "continuous", likely(c.seen)))
    taken |= {c.seen.name: "sensitive" for i, c in enumerate(private[:2]) if i == 0 or c.sign.rank == 0}
    return [ProposedColumn(c.seen, _role(c, taken.get(c.seen.name))) for c in columns]


def _protects(column: ProposedColumn) -> bool:
    """Whether diversity can be required of a candidate; columns of money are often mostly zeros."""
    return column.seen.distinct > 1 and (column.sign.rank == 0 or likely(column.seen) * 2 <= MARGIN)


def _role(column: ProposedColumn, taken: str | None) -> Sign:
    sign = column.sign
    if taken == "class" and sign.role == "sensitive":
        why = (
            f"{sign.why}, but with this few values probably an outcome to predict (make it sensitive if nobody "
            "predicts it)"
        )
        return replace(sign, role="class", why=why, hint="categorical")
    if taken or sign.role not in ("class", "sensitive"):
        return sign
    but = "others come first" if _protects(column) else f"{likely(column.seen):.0%} of the rows have the same value"
    why = f"unsure: {sign.why}, but {but}; treated as known to outsiders"
    return replace(sign, role="quasi", why=why, unsure=True)


def _entity(columns: list[ProposedColumn]) -> Profile | None:
    """The column that numbers people, if some of them have several rows."""
    surest = max((c.sign.entity for c in columns), default=0)
    several = [c.seen for c in columns if c.sign.entity == surest > 0 and c.seen.share < (0.95, 1)[surest - 1]]
    return several[0] if several else None


def _rows_of_people(entity: Profile | None, private: Sequence[Profile]) -> Iterator[str]:
    """Why no diversity is proposed where people have several rows."""
    if entity and private:
        names = ", ".join(repr(seen.name) for seen in private)
        yield (
            f"some people ({entity.name!r}) have several rows, but l-diversity counts rows, so it is not required for "
            f"{names}; to protect it too, give each person one row (e.g. aggregate them) and require l-diversity."
        )


def _warnings(columns: list[ProposedColumn], rows: int) -> Iterator[str]:
    roles = {c.sign.role for c in columns}
    if rows < 2:
        yield "the table has fewer than two rows; nobody can be hidden in it."
    if "quasi" not in roles:
        only = "all are identifiers" if roles == {"identifier"} else "nothing seems known to outsiders"
        yield f"no quasi-identifier found ({only}), so k-anonymity has nothing to protect."
    if "sensitive" not in roles:
        yield "no sensitive attribute found, so l-diversity is not required; give a private column that role."
    for c in columns:
        yield from _stands_for_missing(c.seen)
    empty = [c.seen for c in columns if c.seen.nulls]
    if empty:
        fields, names = sum(seen.nulls for seen in empty), ", ".join(repr(seen.name) for seen in empty[:5])
        yield f'{fields:,} fields are empty ({names}); missing = "category" treats missing as a value of its own.'


def _stands_for_missing(seen: Profile) -> Iterator[str]:
    """Numbers such as 999 and -9, unlike all others, that seem to stand for missing values."""
    if not seen.numeric or seen.distinct < _ENOUGH:
        return
    numbers = seen.values.cast(pl.Float64, strict=False)
    others = numbers.filter(~numbers.is_in(CODES_FOR_MISSING)).to_numpy()
    low, high = (others.min(), others.max()) if len(others) else (0.0, 0.0)
    for odd in CODES_FOR_MISSING:
        if (numbers == odd).any() and (max(low - odd, odd - high) > high - low or odd < 0 <= low):
            rows = int(seen.counts.filter(numbers == odd).sum())
            yield (
                f"the value {odd:g} of {seen.name!r}, in {rows:,} rows, is unlike all others and may mean a missing "
                "value; if so, clear these cells, or make the column text and add it to nulls."
            )
