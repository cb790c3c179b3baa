"""Two publishers in two threads: both end with the release that TDR makes of the joined table, or with an error."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from integration.joint import compare_plainly
from integration.parties import converse, together
from integration.test_refine import JOBS, TEMPLATES, jobs, table_7_1
from sfumato.errors import DataError, Infeasible, PeerError, PolicyError
from sfumato.integration.channel import Channel
from sfumato.integration.contribution import Contribution
from sfumato.integration.integrate import Integration
from sfumato.integration.memory import in_memory_pair
from sfumato.method.topdown.recoding import plain_frame
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from strategies import examples

KEY = "recid"


def side(table: Microdata, held: Sequence[str], **settings: Any) -> Contribution:
    """What one publisher brings of a joined table: its columns, the class and a key, in an order of its own."""
    columns = {n: c for n, c in table.columns.items() if n in held or c.role is Role.CLASS}
    hidden = pl.DataFrame({KEY: [f"r{i}" for i in range(table.rows)]})
    chosen = replace(table, columns=columns, hidden=hidden)
    return Contribution(table=chosen, key=KEY, **{"intersect": False, "title": "Joint", **settings})


def integrated(mine: Contribution, channel: Channel) -> tuple[Integration, Release]:
    work = Integration(channel, mine, compare=compare_plainly)
    return work, work.run()


def both(a: Contribution, b: Contribution) -> tuple[Release, Release]:
    """The releases of two sides."""
    (_, first), (_, second), _, _ = converse(partial(integrated, a), partial(integrated, b))
    return first, second


def rows_of(release: Release) -> Counter[tuple[Any, ...]]:
    frame = release.tables["data"]
    return Counter(frame.select(pl.col(c).cast(pl.String) for c in sorted(frame.columns)).rows())


def assert_same_as_tdr(
    table: Microdata, held: Sequence[str], wanted: Sequence[Requirement], method: sf.TopDown
) -> None:
    names = [c.name for c in table.quasi]
    masked = [n for n in names if any(n in (r.x or names) for r in wanted)]  # type: ignore[attr-defined]
    table = replace(table, columns={n: c for n, c in table.columns.items() if n in masked or c.role is Role.CLASS})
    two = TopDownTwoParty(score=method.score, categorical=method.categorical)
    parts = [[n for n in masked if n in held], [n for n in masked if n not in held]]
    a, b = both(*(side(table, part, requirements=wanted, method=two) for part in parts))
    assert a == b
    a.check()
    joined = replace(table, columns={n: table.columns[n] for n in [*parts[0], *parts[1], "class"]})
    tdr = sf.publish(joined, require=wanted, method=method, title="Joint")
    assert rows_of(a) == rows_of(tdr)
    named = ("attributes", "requirements", "rows", "warnings", "title", "scheme", "sfumato")
    assert {k: a.manifest.get(k) for k in named} == {k: tdr.manifest.get(k) for k in named}
    assert a.manifest["method"] == {**tdr.manifest["method"], "name": "tds2p"}


@examples(60)
@given(jobs())
def test_the_release_is_that_of_tdr(job: tuple[Microdata, list[str], list[Requirement], sf.TopDown]) -> None:
    try:
        assert_same_as_tdr(*job)
    except Infeasible:
        return


def thesis(held: Sequence[str], **settings: Any) -> Contribution:
    """One side of Table 7.1."""
    return side(table_7_1(), held, **{"requirements": TEMPLATES, "method": TopDownTwoParty(), **settings})


def test_table_7_1_with_the_secure_comparison() -> None:
    """Nobody's score crosses in the clear, and the release is that of TDR."""

    def run(mine: Contribution, channel: Channel) -> Release:
        return Integration(channel, mine).run()

    a, b, _, _ = converse(partial(run, thesis(["Sex"])), partial(run, thesis(["Job", "Salary"])))
    tdr = sf.publish(table_7_1(), require=TEMPLATES, method="tdr", title="Joint")
    assert a == b
    assert rows_of(a) == rows_of(tdr)
    assert a.manifest["requirements"] == tdr.manifest["requirements"]


def test_people_known_to_one_side_only_are_left_out() -> None:
    """With psi the release is that of the people whom both sides know, and of their domains."""
    table = table_7_1()
    frame = plain_frame(table).with_columns(pl.Series(KEY, [f"r{i}" for i in range(table.rows)]))
    trees = {"Job": JOBS, "Sex": {"ANY_Sex": ["M", "F"]}}

    def part(rows: slice, held: list[str]) -> Contribution:
        chosen = sf.read(
            frame[rows][:: -1 if held == ["Sex"] else 1],
            quasi=held,
            class_="Class",
            identifiers=[KEY],
            taxonomies={n: t for n, t in trees.items() if n in held},
        )
        wanted = [sf.KAnonymity(k=3)]
        return Contribution(table=chosen, key=KEY, intersect=True, requirements=wanted, method=TopDownTwoParty())

    a, b = both(part(slice(0, 30), ["Sex"]), part(slice(3, None), ["Job", "Salary"]))
    joined = sf.read(frame[3:30], quasi=["Sex", "Job", "Salary"], class_="Class", taxonomies=trees)
    assert a == b
    assert rows_of(a) == rows_of(sf.publish(joined, require=sf.KAnonymity(k=3), method="tdr"))


def with_private_columns(table: Microdata) -> Microdata:
    """Table 7.1 with a sensitive and two insensitive columns, some of their values missing."""
    frame = plain_frame(table).with_columns(
        pl.Series("ill", [("flu", "HIV", "none")[i % 3] for i in range(table.rows)]),
        pl.Series("visits", [None if i % 7 == 0 else i % 4 for i in range(table.rows)]),
        pl.Series("since", [f"20{i % 5 + 10}-01-0{i % 9 + 1}" for i in range(table.rows)]).str.to_date(),
    )
    return sf.read(
        frame,
        quasi=["Sex", "Job", "Salary"],
        class_="Class",
        sensitive="ill",
        insensitive=["visits", "since"],
        taxonomies={"Job": JOBS, "Sex": {"ANY_Sex": ["M", "F"]}},
    )


@pytest.mark.parametrize("holder", ["A", "B"])
def test_columns_published_unchanged(holder: str) -> None:
    """One side may have sensitive and insensitive columns; templates on them stay with the attributes of that side."""
    full = with_private_columns(table_7_1())
    bare = replace(full, columns={n: c for n, c in full.columns.items() if n != "ill"}, plain=pl.DataFrame())
    held = {"A": ["Sex"], "B": ["Job", "Salary"]}
    wanted = [*TEMPLATES, sf.Confidentiality(x=held[holder][0], y={"ill": ["HIV"]}, k=0.6)]
    sides = {
        p: side(full if p == holder else bare, [*held[p], "ill"], requirements=wanted, method=TopDownTwoParty())
        for p in "AB"
    }
    a, b = both(sides["A"], sides["B"])
    tdr = sf.publish(full, require=wanted, method="tdr", title="Joint")
    assert a == b
    assert rows_of(a) == rows_of(tdr)
    assert a.tables["data"].schema["since"] == pl.Date
    assert a.manifest["requirements"] == tdr.manifest["requirements"]
    assert a.manifest["warnings"] == tdr.manifest["warnings"]


@examples(40)
@given(jobs(), st.data())
def test_templates_on_values_that_one_side_knows(
    job: tuple[Microdata, list[str], list[Requirement], sf.TopDown], data: st.DataObject
) -> None:
    """Random tables with a sensitive column at one side, and templates on it over attributes of that side."""
    table, held, wanted, method = job
    names = [c.name for c in table.quasi]
    masked = [n for n in names if any(n in (r.x or names) for r in wanted)]  # type: ignore[attr-defined]
    parts = [[n for n in masked if n in held], [n for n in masked if n not in held]]
    holder = data.draw(st.sampled_from([i for i in (0, 1) if parts[i]]))
    x = data.draw(st.lists(st.sampled_from(parts[holder]), min_size=1, unique=True))
    ill = data.draw(st.lists(st.sampled_from(["flu", "HIV"]), min_size=table.rows, max_size=table.rows))
    frame = plain_frame(table).select(*masked, "class").with_columns(pl.Series("ill", ill))
    on_ill = [sf.Confidentiality(x=x, y="ill", k=0.8), sf.Anonymity(x=x, y="ill", k=2)]
    wanted = [*wanted, data.draw(st.sampled_from(on_ill))]
    trees = {c.name: tree for c in table.quasi if c.name in masked and (tree := c.domain.public_tree()) is not None}
    order = [*parts[0], *parts[1]]
    joined = sf.read(
        frame.select(*order, "class", "ill"), quasi=order, class_="class", sensitive="ill", taxonomies=trees
    )
    bare = replace(joined, columns={n: c for n, c in joined.columns.items() if n != "ill"})
    two = TopDownTwoParty(score=method.score, categorical=method.categorical)
    sides = [side(joined if i == holder else bare, [*parts[i], "ill"], requirements=wanted, method=two) for i in (0, 1)]
    try:
        tdr = sf.publish(joined, require=wanted, method=method, title="Joint")
    except Infeasible:
        with pytest.raises((Infeasible, PeerError)):
            both(*sides)
        return
    a, b = both(*sides)
    assert a == b
    assert rows_of(a) == rows_of(tdr)
    assert a.manifest["attributes"] == tdr.manifest["attributes"]
    assert a.manifest["requirements"] == tdr.manifest["requirements"]
    assert a.manifest.get("warnings") == tdr.manifest.get("warnings")


REFUSED = [
    (thesis(["Sex"], title="One"), thesis(["Job", "Salary"], title="Two"), "do not agree on title (here: 'One')"),
    (
        thesis(["Sex"]),
        thesis(["Job", "Salary"], requirements=TEMPLATES[:1], title="Joint"),
        "'Salary' is in no template",
    ),
    (
        thesis(["Sex"], requirements=[*TEMPLATES, sf.KAnonymity(k=2)]),
        thesis(["Job", "Salary"]),
        "do not agree on [[require]]",
    ),
    (
        thesis(["Sex"], method=TopDownTwoParty(score="gain")),
        thesis(["Job", "Salary"]),
        "do not agree on [method]",
    ),
    (thesis(["Sex"], intersect=True), thesis(["Job", "Salary"]), "how records are aligned (key or psi)"),
    (thesis(["Sex", "Job"]), thesis(["Job", "Salary"]), "both publishers have a column 'Job'"),
    (
        thesis(["Sex"], requirements=[sf.Anonymity(x=["Sex", "Age"], k=2)]),
        thesis([], requirements=[sf.Anonymity(x=["Sex", "Age"], k=2)]),
        "neither publisher has the quasi-identifier 'Age'",
    ),
    (
        thesis(["Sex"], requirements=[sf.Anonymity(x=["Sex", "Job"], y="Town", k=2)]),
        thesis(["Job"], requirements=[sf.Anonymity(x=["Sex", "Job"], y="Town", k=2)]),
        "y names 'Town', which neither publisher publishes unchanged",
    ),
    (
        thesis(["Sex"], requirements=[sf.KAnonymity(k=2, entity="recid")]),
        thesis(["Job", "Salary"], requirements=[sf.KAnonymity(k=2, entity="recid")]),
        "leave entity out",
    ),
]


@pytest.mark.parametrize(("a", "b", "words"), REFUSED)
def test_policies_that_do_not_fit_are_refused_on_both_sides(a: Contribution, b: Contribution, words: str) -> None:
    """Both sides end at once; the side that sees the reason says it, and no side holds a table."""
    first, second = in_memory_pair()
    works = Integration(first, a, compare=compare_plainly), Integration(second, b, compare=compare_plainly)
    errors = together(works[0].run, works[1].run)
    assert all(isinstance(e, PolicyError | PeerError) for e in errors), errors
    assert any(words in str(e) for e in errors), errors
    assert all(w.last_common() is None for w in works)


def test_two_holders_of_unchanged_columns_are_refused() -> None:
    full = with_private_columns(table_7_1())
    no_ill = replace(
        full, columns={n: c for n, c in full.columns.items() if n != "ill"}, plain=full.plain.select("visits")
    )
    one = replace(full, plain=pl.DataFrame())
    sides = [
        side(t, [*held, "ill"], requirements=TEMPLATES, method=TopDownTwoParty())
        for t, held in ((one, ["Sex"]), (no_ill, ["Job", "Salary"]))
    ]
    with pytest.raises(PolicyError, match="both publishers have columns that are published unchanged"):
        both(*sides)


def test_a_template_on_values_that_one_side_cannot_see_is_refused() -> None:
    full = replace(with_private_columns(table_7_1()), plain=pl.DataFrame())
    wanted = [sf.Confidentiality(x=["Sex", "Job"], y="ill", k=0.9), *TEMPLATES]
    bare = replace(full, columns={n: c for n, c in full.columns.items() if n != "ill"})
    a = side(full, ["Sex", "ill"], requirements=wanted, method=TopDownTwoParty())
    b = side(bare, ["Job", "Salary"], requirements=wanted, method=TopDownTwoParty())
    with pytest.raises(PolicyError, match="x must name only attributes of that publisher"):
        both(a, b)


def test_tables_with_other_records_or_classes_are_refused() -> None:
    """Wrong record ids, and a class on which the sides disagree: an error on both, and no table."""
    good = thesis(["Job", "Salary"])
    other_ids = replace(
        thesis(["Sex"]),
        table=replace(
            good.table, columns=thesis(["Sex"]).table.columns, hidden=pl.DataFrame({KEY: [f"s{i}" for i in range(34)]})
        ),
    )
    classes = thesis(["Sex"]).table.columns
    wrong = replace(classes["Class"], codes=classes["Class"].codes[::-1].copy())
    other_class = replace(thesis(["Sex"]), table=replace(thesis(["Sex"]).table, columns={**classes, "Class": wrong}))
    for bad, words in ((other_ids, "record"), (other_class, "class")):
        first, second = in_memory_pair()
        works = Integration(first, bad, compare=compare_plainly), Integration(second, good, compare=compare_plainly)
        errors = together(works[0].run, works[1].run)
        assert all(isinstance(e, PeerError | DataError) for e in errors), errors
        assert any(words in str(e) for e in errors), errors
        assert all(w.last_common() is None for w in works)


def test_a_requirement_that_no_table_meets() -> None:
    wanted = [sf.KAnonymity(k=35)]
    sides = [thesis(held, requirements=wanted) for held in (["Sex"], ["Job", "Salary"])]
    with pytest.raises(Infeasible, match="lower k to 34 or less"):
        both(*sides)


def test_what_a_side_brings_is_checked_before_the_other_is_met() -> None:
    table = thesis(["Sex"]).table
    keyless = replace(table, hidden=pl.DataFrame({"other": list(range(34))}))
    with pytest.raises(PolicyError, match="the key 'recid' must be a column with the role identifier"):
        replace(thesis(["Sex"]), table=keyless)
    gaps = replace(table, hidden=pl.DataFrame({KEY: [None, *map(str, range(33))]}))
    with pytest.raises(DataError, match="missing in 1 rows"):
        replace(thesis(["Sex"]), table=gaps)
    with pytest.raises(PolicyError, match="measures information about one class"):
        replace(thesis(["Sex"]), table=replace(table, columns={"Sex": table.columns["Sex"]}))
    with pytest.raises(PolicyError, match="serves the templates"):
        thesis(["Sex"], requirements=[sf.LDiversity(l=2)])


def test_one_table_alone_is_not_published() -> None:
    with pytest.raises(PolicyError, match="run `sfumato integrate POLICY --listen"):
        sf.publish(table_7_1(), require=TEMPLATES, method="tds2p")
    with pytest.raises(PolicyError, match="joins the tables of two publishers"):
        TopDownTwoParty(templates=TEMPLATES).steps(table_7_1())
