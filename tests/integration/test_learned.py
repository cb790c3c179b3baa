"""What a side receives: no more specific than the final table, and blind to everything that the table hides."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from integration.joint import Side, ordered, refine_together
from integration.parties import converse
from integration.test_integrate import side, thesis, with_private_columns
from integration.test_refine import TEMPLATES, jobs, table_7_1
from sfumato.errors import Infeasible
from sfumato.integration.channel import Channel
from sfumato.integration.contribution import Contribution
from sfumato.integration.instruction import decode
from sfumato.integration.integrate import Integration
from sfumato.integration.rows import decode_rows
from sfumato.integration.wire import Message
from sfumato.method.topdown.recoding import plain_frame
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.release.label_meaning import finite_ends, read
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.table.domain import BoxLabel
from sfumato.table.microdata import Microdata
from strategies import examples

Job = tuple[Microdata, list[str], list[Requirement], sf.TopDown]


def received(channel: Channel, kind: Message) -> list[bytes]:
    """What a side received of one kind, in order."""
    assert channel.transcript is not None
    return [e.payload for e in channel.transcript if e.way == "received" and e.kind == kind]


def contains(outer: BoxLabel, inner: BoxLabel) -> bool:
    """Whether a label covers all that another covers."""
    if outer.meaning is None or inner.meaning is None:
        return outer.meaning is None
    large, small = (read({"x": label.meaning})["x"] for label in (outer, inner))
    if large.interval is not None and small.interval is not None:
        return large.interval[0] <= small.interval[0] and small.interval[1] <= large.interval[1]
    return set(small.names) <= set(large.names)


def replay(end: Side, channel: Channel) -> int:
    """Follow the received instructions again; each leaves a table of which the final one is a refinement."""
    final = end.joint.common
    of_record = {i: np.zeros(final.records, np.int64) for i in range(len(final.names))}
    labels = {i: [final.labels[i][0]] for i in of_record}
    told = [decode(payload, most_records=10**6) for payload in received(channel, Message.INSTRUCTION) if payload]
    for step in told:
        shown = of_record[step.attribute]
        under = shown == step.label
        shown[under] = len(labels[step.attribute]) + step.part
        labels[step.attribute] += step.labels
        last = final.of_record[step.attribute]
        assert len({(f, s) for f, s in zip(last, shown, strict=True)}) == len(set(last))  # each final label is in one
        for f, s in set(zip(last.tolist(), shown.tolist(), strict=True)):
            assert contains(labels[step.attribute][s], final.labels[step.attribute][f])
    return len(told)


@examples(60)
@given(jobs())
def test_every_instruction_is_coarser_than_the_final_table(job: Job) -> None:
    try:
        a, b, told, first, second = refine_together(*job, record=True)
    except Infeasible:
        return
    assert replay(a, first) + replay(b, second) == len(told)
    final = a.joint.common
    for labels, of_record in zip(final.labels, final.of_record, strict=True):
        assert ends([labels[0]]) <= ends([labels[i] for i in set(of_record.tolist())])


def ends(labels: Sequence[BoxLabel]) -> set[float]:
    """The finite ends of intervals among labels."""
    told = read({str(i): label.meaning for i, label in enumerate(labels)})
    return set(finite_ends(told)) if all(m.interval is not None for m in told.values()) else set()


@examples(80)
@given(jobs(), st.data())
def test_what_the_final_table_hides_leaves_no_trace(job: Job, data: st.DataObject) -> None:
    """Exchange the values of two records that show the same: no byte that the other side receives changes."""
    table, held, wanted, method = job
    try:
        a, b, _, first, second = refine_together(table, held, wanted, method, record=True)
    except Infeasible:
        return
    names = a.joint.common.names
    seen = list(zip(*(a.labels[n] for n in names), table.columns["class"].codes.tolist(), strict=True))
    pairs = [(i, j) for j in range(table.rows) for i in range(j) if seen[i] == seen[j]]
    assume(pairs)
    i, j = data.draw(st.sampled_from(pairs))
    theirs = data.draw(st.sampled_from(names))
    column = table.columns[theirs]
    codes = column.codes.copy()
    codes[[i, j]] = codes[[j, i]]
    other = replace(table, columns={**table.columns, theirs: replace(column, codes=codes)})
    again = refine_together(other, held, wanted, method, record=True)
    blind, before = (again[3], first) if theirs not in held else (again[4], second)
    assert received(blind, Message.INSTRUCTION) == received(before, Message.INSTRUCTION)
    assert again[0].labels == a.labels
    assert b.labels == a.labels


@examples(150)
@given(jobs(), st.data())
def test_instructions_follow_from_the_steps_and_the_final_table(job: Job, data: st.DataObject) -> None:
    """Change one value of the other side such that steps and final labels stay: no byte that is received changes."""
    table, held, wanted, method = job
    named = [c.name for c in table.quasi]
    theirs = data.draw(st.sampled_from(named))
    frame = plain_frame(table)
    values = frame[theirs].to_list()
    row = data.draw(st.integers(0, table.rows - 1))
    fresh = st.integers(-1, 5) if isinstance(values[row], int) else st.sampled_from(sorted(set(values)))
    values[row] = data.draw(fresh)
    changed = frame.with_columns(pl.Series(theirs, values))
    trees = {c.name: tree for c in table.quasi if (tree := c.domain.public_tree()) is not None}
    other = sf.read(changed, quasi=named, class_="class", taxonomies=trees)
    try:
        a, _, told, first, second = refine_together(table, held, wanted, method, record=True)
        again = refine_together(other, held, wanted, method, record=True)
    except Infeasible:
        return
    assume(told == again[2] and a.labels == again[0].labels)
    blind, before = (again[3], first) if theirs not in held else (again[4], second)
    assert received(blind, Message.INSTRUCTION) == received(before, Message.INSTRUCTION)


def test_a_label_does_not_tell_which_values_it_hides() -> None:
    """Carpenters who earn 36 instead of 35 are in [30, 37) too: the share of the line up to them does not travel."""
    table = table_7_1()
    frame = plain_frame(table).with_columns(pl.col("Salary").replace(35.0, 36.0))
    trees = {c.name: tree for c in table.quasi if (tree := c.domain.public_tree()) is not None}
    other = sf.read(frame, quasi=["Sex", "Job", "Salary"], class_="Class", taxonomies=trees)
    ends = [refine_together(t, ["Sex"], TEMPLATES, sf.TopDown(), record=True) for t in (table, other)]
    assert ends[0][0].labels == ends[1][0].labels
    assert received(ends[0][3], Message.INSTRUCTION) == received(ends[1][3], Message.INSTRUCTION)
    assert [e[1].joint.losses()["Salary"] for e in ends] == [0.4496, 0.4748]  # of which only the final figure is told


def run(mine: Contribution, channel: Channel) -> Release:
    return Integration(channel, mine).run()


def test_comparisons_look_alike_whoever_wins() -> None:
    """The messages of all rounds have the same sizes: first, later, won, lost, and with an exhausted side."""
    a, b = thesis(["Sex"]), thesis(["Job", "Salary"])
    *_, first, second = converse(partial(run, a), partial(run, b), record=True)
    for channel in (first, second):
        assert channel.transcript is not None
        found = [(e.kind, len(e.payload)) for e in channel.transcript if e.kind.name.startswith("COMPARE")]
        each = len(found) // 6  # five refinements, and one round that finds none
        assert each >= 3
        assert found == found[:each] * 6


def test_the_agreement_names_columns_and_no_value() -> None:
    """Before the first instruction a side hears names, digests, declared domains and the labels that hide the most."""
    a, b = thesis(["Sex"]), thesis(["Job", "Salary"])
    *_, first, _ = converse(partial(run, a), partial(run, b), record=True)
    terms, columns, losses = received(first, Message.AGREEMENT)
    told = json.loads(terms)
    assert told["columns"] == [["Job", "Salary"], []]
    assert all(len(digest) == 64 for digest in told["terms"].values())
    assert [(name, root[0]) for name, _, _, _, root in json.loads(columns)] == [
        ("Job", "ANY_Job"),
        ("Salary", "[30, 45)"),
    ]
    assert set(json.loads(losses)) == {"Job", "Salary"}  # as the manifest will state them


@pytest.mark.parametrize("held", [["Sex"], ["Job", "Salary"]])
def test_unchanged_values_come_as_rows_of_the_release_without_records(held: Sequence[str]) -> None:
    """The other side receives the rows of the release, in an order that does not follow the records."""
    full = replace(with_private_columns(table_7_1()), plain=pl.DataFrame())
    bare = replace(full, columns={n: c for n, c in full.columns.items() if n != "ill"})
    rest = [n for n in ("Sex", "Job", "Salary") if n not in held]
    a = side(full, [*held, "ill"], requirements=TEMPLATES, method=TopDownTwoParty())
    b = side(bare, rest, requirements=TEMPLATES, method=TopDownTwoParty())
    orders = set()
    for _ in range(4):
        release, *_, second = converse(partial(run, a), partial(run, b), record=True)
        (payload,) = received(second, Message.RECORD_VALUES)
        rows = decode_rows(payload, records=34, columns=["ill"], classes=2)
        assert rows.unchanged[0].cast(pl.String).to_list() == release.tables["data"]["ill"].cast(pl.String).to_list()
        orders.add(tuple(rows.unchanged[0].to_list()))
    assert len(orders) > 1
    assert ordered(full, held).rows == 34
