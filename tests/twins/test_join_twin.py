"""The join of releases, counted by partitions, against a twin that lists its rows."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_join as naive
import sfumato as sf
from sfumato.errors import Infeasible
from sfumato.kernel.jit import kernel
from sfumato.kernel.join.groups import exceeds
from sfumato.release.earlier import Earlier, EarlierColumn
from sfumato.release.join.join import Join
from sfumato.release.join.names import JoinAttribute
from sfumato.release.label_meaning import parse_label
from sfumato.release.rule import Inconsistent
from sfumato.requirement.join_template import join_template
from sfumato.table.encode import Kind, Role
from strategies import examples

NODES: dict[str, dict[str, Any]] = {
    "born": {"Any": ["UK", "FR", "US"], "Europe": ["UK", "FR"], "UK": ["UK"], "FR": ["FR"], "US": ["US"], "*": None},
    "age": {"*": None, "[0, 4)": [0.0, 4.0], "[2, 8)": [2.0, 8.0], "[4, 8)": [4.0, 8.0], "< 2": [None, 2.0]},
    "zip": {"1*": None, "**": None, "11": ["11"], "12": ["12"], "21": ["21"], "{1*, 21}": ["1*", "21"]},
}
UNIVERSE = {"born": {"UK", "FR", "US"}, "age": set(range(8)), "zip": {"11", "12", "21", "22"}}
OWN = ["p", "q", "r"]


def meant(attribute: str, label: str) -> frozenset[Any]:
    """The values that a label may mean, by its definition."""
    meaning = NODES[attribute][label]
    if label == "*":
        return frozenset(UNIVERSE[attribute])
    if attribute == "age":
        low, high = (-1 if meaning[0] is None else meaning[0]), meaning[1]
        return frozenset(v for v in UNIVERSE["age"] if low <= v < high)
    names = meaning or [label]
    fits = lambda v, n: len(v) == len(n) and all(b in ("*", a) for a, b in zip(v, n, strict=True))  # noqa: E731
    if attribute == "zip":
        return frozenset(v for v in UNIVERSE["zip"] if any(fits(v, n) for n in names))
    return frozenset(names)


MEANINGS = {a: {label: meant(a, label) for label in nodes} for a, nodes in NODES.items()}


def side(name: str, rows: Sequence[naive.Row]) -> Earlier:
    columns = {}
    for n in rows[0]:
        shown = [row[n] for row in rows]
        labels = tuple(dict.fromkeys(shown))
        meanings = tuple(parse_label(label, NODES[n][label] if n in NODES else [label]) for label in labels)
        of_row = np.array([labels.index(label) for label in shown], np.int64)
        columns[n] = EarlierColumn(n, Role.QUASI, Kind.CATEGORICAL, labels, of_row, meanings)
    number = np.arange(len(rows))
    return Earlier(name, name, "generalization", len(rows), columns, number, np.ones(len(rows), np.int64))


@st.composite
def joins(draw: st.DrawFn) -> tuple[dict[str, list[naive.Row]], list[dict[str, dict[str, Any]]]]:
    """Two to four releases with common attributes and one of their own each, and rules."""
    tables: dict[str, list[naive.Row]] = {}
    number = draw(st.sampled_from([2, 2, 3, 4]))
    for i in range(1, number + 1):
        common = draw(st.lists(st.sampled_from(sorted(NODES)), unique=True, max_size=3))
        common = list(dict.fromkeys([*common, "born"]))
        values = {n: st.sampled_from(sorted(NODES[n])) for n in common} | {f"own{i}": st.sampled_from(OWN)}
        most = {2: 8, 3: 4, 4: 3}[number]
        rows = draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=most))
        tables[f"T{i}"] = rows * (draw(st.sampled_from([1, 1, 2])) if i < 3 else 1)
    sides = sorted(tables)
    rules = []
    for _ in range(draw(st.integers(0, 2))):
        chosen = draw(st.lists(st.sampled_from(sides), min_size=2, max_size=3, unique=True))
        rules.append({r: {f"own{r[1:]}": draw(st.lists(st.sampled_from(OWN), min_size=1, max_size=2))} for r in chosen})
    return tables, rules


def naive_rules(rules: Sequence[Mapping[str, Mapping[str, Sequence[str]]]]) -> list[naive.Rule]:
    return [{r: {n: frozenset(v) for n, v in s.items()} for r, s in rule.items()} for rule in rules]


def with_own(tables: Mapping[str, Sequence[naive.Row]]) -> dict[str, dict[str, frozenset[Any]]]:
    own = {f"own{t[1:]}": {v: frozenset([v]) for v in OWN} for t in tables}
    return {**MEANINGS, **own}


@examples(150)
@given(joins(), st.data())
def test_counts_of_groups(job: tuple[dict[str, list[naive.Row]], list[dict[str, Any]]], data: st.DataObject) -> None:
    tables, rules = job
    join = Join([side(name, rows) for name, rows in tables.items()], [Inconsistent(sides=r) for r in rules])
    joined = naive.join(tables, with_own(tables), naive_rules(rules))
    assert join.joined_rows() == len(joined)
    every = [JoinAttribute(t, n) for t, rows in tables.items() for n in rows[0]]
    x = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    if data.draw(st.booleans()):
        x = list(dict.fromkeys([*x, *join.links.attributes()]))
    words = [join.names.spelled(a) for a in x]
    free = [a for a in every if a not in x and a.name.startswith("own")]
    records = data.draw(st.lists(st.sampled_from(sorted(tables)), unique=True, max_size=2))
    y = data.draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else []
    over = tuple(tables)
    if records or y:
        wanted = join_template(sf.Anonymity(x=words, y=[*records, *map(join.names.spelled, y)], k=2), over)
        if not joined:
            with pytest.raises(Infeasible, match="empty"):
                join.judge(wanted)
            return
        groups = naive.grouped(joined, x)
        found = join.judge(wanted)
        assert found.achieved == {"k": naive.anonymity(groups, [*y, *((r, "") for r in records)])}
        assert found.groups == len(groups)
        counts = [len({tuple(r[a] for a in [*y, *((n, "") for n in records)]) for r in g}) for g in groups.values()]
        assert found.failing == sum(c < 2 for c in counts)
        assert found.holds == all(c >= 2 for c in counts)
    if free and joined:
        shares(join, tables, joined, x, words, free)


def shares(
    join: Join, tables: Any, joined: list[Any], x: Sequence[JoinAttribute], words: list[str], free: list[JoinAttribute]
) -> None:
    groups = naive.grouped(joined, x)
    there = {a: sorted({row[a.name] for row in tables[a.release]}) for a in free}
    y = {join.names.spelled(a): values for a, values in there.items()}
    limit = Fraction(1, 2)
    found = join.judge(join_template(sf.Confidentiality(x=words, y=y, k=limit), tuple(tables)))
    worst = max(naive.confidence(groups, a, v) for a, values in there.items() for v in values)
    assert found.achieved == {"k": float(worst)}
    assert found.holds == (worst <= limit)
    assert found.groups == len(groups)


@examples(120)
@given(joins())
def test_rows_that_match_nobody(job: tuple[dict[str, list[naive.Row]], list[dict[str, Any]]]) -> None:
    tables, rules = job
    join = Join([side(name, rows) for name, rows in tables.items()], [Inconsistent(sides=r) for r in rules])
    for name, found in join.dangling().items():
        pair = {"T1": tables["T1"], name: tables[name]}
        both = naive.join(pair, with_own(tables), naive_rules([r for r in rules if set(r) <= set(pair)]))
        here, there = ({row[(n, "")] for row in both} for n in ("T1", name))
        assert found == (len(tables["T1"]) - len(here), len(tables[name]) - len(there))


@kernel
def _exceeds(a: int, b: int, c: int, d: int) -> bool:
    return exceeds(a, b, c, d)


@examples(300)
@given(*[st.integers(0, (1 << 62) - 1), st.integers(1, (1 << 62) - 1)] * 2)
def test_fractions_are_compared_exactly(a: int, b: int, c: int, d: int) -> None:
    assert _exceeds(a, b, c, d) == (Fraction(a, b) > Fraction(c, d))
    assert not _exceeds(a, b, a, b)
