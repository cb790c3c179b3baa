"""Two publishers who refine together take the steps of TDR on the joined table, whatever the split of the columns."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from integration.joint import ordered, refine_together
from sfumato.errors import Infeasible
from sfumato.method.topdown import value_lists
from sfumato.method.topdown.search import SCORES
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata
from strategies import examples

JOBS = {
    "ANY_Job": {
        "Blue_Collar": {"Non_Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Technician"]},
        "White_Collar": {"Manager": {}, "Professional": ["Accountant", "Lawyer"]},
    }
}
TREES = [{"Any": {"A": ["a", "b"], "c": {}}}, {"Any": {"A": {"AA": ["a", "b"], "c": {}}, "B": {"BB": ["d", "e"]}}}]


def table_7_1() -> Microdata:
    """Table 7.1 of the thesis, with the taxonomies of Figure 7.1."""
    rows = [
        ("M", "Janitor", 30, 0, 3),
        ("M", "Mover", 32, 0, 4),
        ("M", "Carpenter", 35, 2, 3),
        ("F", "Technician", 37, 3, 1),
        ("F", "Manager", 42, 4, 2),
        ("F", "Manager", 44, 3, 0),
        ("M", "Accountant", 44, 3, 0),
        ("F", "Accountant", 44, 3, 0),
        ("M", "Lawyer", 44, 2, 0),
        ("F", "Lawyer", 44, 1, 0),
    ]
    spread = [(sex, job, pay, c) for sex, job, pay, yes, no in rows for c in "Y" * yes + "N" * no]
    frame = pl.DataFrame(spread, schema=["Sex", "Job", "Salary", "Class"], orient="row")
    trees = {"Job": JOBS, "Sex": {"ANY_Sex": ["M", "F"]}}
    return sf.read(frame, quasi=["Sex", "Job", "Salary"], class_="Class", taxonomies=trees)


TEMPLATES = [sf.Anonymity(x=["Sex", "Job"], k=4), sf.Anonymity(x=["Sex", "Salary"], k=11)]


def assert_as_tdr(table: Microdata, held: Sequence[str], require: Sequence[Requirement], method: sf.TopDown) -> int:
    """Both sides end with the labels of TDR, after the same steps; how many there were."""
    joined = ordered(table, held)
    run = type(method)(templates=require, score=method.score, categorical=method.categorical).steps(joined)
    steps = [f"{s.attribute} {s.value} → {', '.join(s.children)}" for s in run]
    labels = run.now().mask()
    a, b, told, _, _ = refine_together(table, held, require, method)
    for side in (a, b):
        assert side.labels == {name: labels[name].cast(pl.String).to_list() for name in side.labels}
        assert side.joint.common.steps == len(steps)
        if steps:  # as shares: two leaves may be equally bad
            assert [Fraction(*x) for x in side.joint.own.now()] == [Fraction(*x) for x in run._raw[-1].now]
    assert a.joint.common.digest() == b.joint.common.digest()
    assert [t.split()[2] for t in told] == [s.split()[0] for s in steps]
    return len(steps)


@pytest.mark.parametrize("number", range(4))
def test_table_7_1_by_any_split(number: int) -> None:
    names = ["Sex", "Job", "Salary"]
    for held in itertools.combinations(names, number):
        assert assert_as_tdr(table_7_1(), held, TEMPLATES, sf.TopDown()) == 5


def test_example_7_3_2() -> None:
    """B's salary is refined first, then its job; both know only which records go where."""
    a, _, told, _, _ = refine_together(table_7_1(), ["Sex"], TEMPLATES, sf.TopDown())
    assert [t.partition("; ")[0] for t in told[:2]] == [
        "step 1: Salary [30, 45) → [30, 37), [37, 45)",
        "step 2: Job ANY_Job → Blue_Collar, White_Collar",
    ]
    assert [label == "[30, 37)" for label in a.labels["Salary"]] == [True] * 12 + [False] * 22


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Microdata, list[str], list[Requirement], sf.TopDown]:
    """A table, who holds what, templates and a method."""
    kinds = draw(st.lists(st.sampled_from(["0", "1", "set", "line"]), min_size=1, max_size=4))
    values = {"0": list("abc"), "1": list("abcde"), "set": list("uvwx"), "line": list(range(5))}
    columns = {f"q{i}": st.sampled_from(values[k]) for i, k in enumerate(kinds)}
    row = st.fixed_dictionaries({**columns, "class": st.sampled_from(["yes", "no", "so"])})
    rows = draw(st.lists(row, min_size=1, max_size=16)) * draw(st.sampled_from([1, 1, 2, 3]))
    trees = {f"q{i}": TREES[int(k)] for i, k in enumerate(kinds) if k in "01"}
    table = sf.read(pl.DataFrame(rows), quasi=list(columns), class_="class", taxonomies=trees)
    x = st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True)
    some = st.one_of(
        st.builds(lambda x, k: sf.Anonymity(x=x, k=k), x, st.integers(1, 4)),
        st.builds(lambda x, k: sf.Anonymity(x=x, y="class", k=k), x, st.integers(1, 2)),
        st.builds(lambda x, k: sf.Confidentiality(x=x, y="class", k=k), x, st.sampled_from([0.5, 0.7, 0.9])),
    )
    wanted = draw(st.lists(some, min_size=1, max_size=3))
    method = sf.TopDown(
        score=draw(st.sampled_from(sorted(SCORES))), categorical=draw(st.sampled_from(["generalize", "suppress"]))
    )
    return table, draw(st.lists(st.sampled_from(sorted(columns)), unique=True)), wanted, method


def test_leaves_that_are_equally_bad() -> None:
    """Two of four people in one leaf, one of two in another: the sides and TDR may each name the one they saw first."""
    places = [("a", "a")] * 9 + [("a", "d")] * 3 + [("d", "a")] * 2 + [("d", "d")] * 2
    classes = ["yes"] * 4 + ["no"] * 4 + ["so", "yes", "no", "so", "yes", "no", "yes", "no"]
    rows = [{"q0": "a", "q1": "a", "q2": x, "q3": y, "class": c} for (x, y), c in zip(places, classes, strict=True)]
    trees = {"q0": TREES[0], "q1": TREES[0], "q2": TREES[1], "q3": TREES[1]}
    table = sf.read(pl.DataFrame(rows), quasi=list(trees), class_="class", taxonomies=trees)
    wanted = [sf.Anonymity(x=["q0"], k=1), sf.Confidentiality(x=list(trees), y="class", k=0.5)]
    assert assert_as_tdr(table, [], wanted, sf.TopDown(score="distortion-per-loss")) == 14


@examples(150)
@given(jobs())
def test_random_tables_by_any_split(job: tuple[Microdata, list[str], list[Requirement], sf.TopDown]) -> None:
    try:
        assert_as_tdr(*job)
    except Infeasible:
        return


@examples(60)
@given(jobs())
def test_random_tables_with_lists_for_every_set(
    job: tuple[Microdata, list[str], list[Requirement], sf.TopDown],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_lists, "MOST_SCANNED", 1)
        try:
            assert_as_tdr(*job)
        except Infeasible:
            return
