"""Worked examples of chapter 6 of Fung's thesis, to the digit, and where its claims are wrong."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_join as naive
import sfumato as sf
from sfumato.release.earlier import Earlier, of_table
from sfumato.release.join.join import Join
from sfumato.requirement.join_template import join_template

TESTS = ["HIV", "HIV", "Eye", "Eye", "Allergy", "Allergy", "Allergy", "Allergy"]
JOBS = ["Banker", "Banker", "Banker", "Clerk", "Driver", "Engineer", "Engineer", "Engineer"]
BORN = ["UK", "UK", "UK", "FR", "US", "US", "FR", "FR"]
MEDICAL = pl.DataFrame(
    {
        "Test": TESTS,
        "Job": JOBS,
        "PoB": BORN,
        "Sex": list("MMFFMMMM"),
        "Class": ["Yes", "Yes", "Yes", "Yes", "No", "No", "Yes", "Yes"],
    }
)
PATIENTS = pl.DataFrame(
    {
        "PoB": ["UK", "UK", "UK", "FR", "FR", "FR", "FR", "US"],
        "Sex": list("MMFFMMMM"),
        "Zip": ["Z3", "Z3", "Z5", "Z5", "Z3", "Z3", "Z3", "Z3"],
    }
)
TREES: dict[str, Any] = {
    "PoB": {"ANY_PoB": {"Europe": ["UK", "FR"], "US": {}}},
    "Job": {"ANY_Job": ["Banker", "Clerk", "Driver", "Engineer"]},
}


def medical() -> sf.Microdata:
    return sf.read(MEDICAL, quasi=["Job", "PoB", "Sex"], sensitive="Test", class_="Class", taxonomies=TREES)


def patients() -> Earlier:
    return of_table(sf.read(PATIENTS, quasi=["PoB", "Sex", "Zip"], taxonomies={"PoB": TREES["PoB"]}), "T2")


def side(name: str, **columns: list[str]) -> Earlier:
    return of_table(sf.read(pl.DataFrame(columns), quasi=list(columns)), name)


def test_example_6_0_1_the_join_singles_out_bob_and_infers_alice() -> None:
    jobs = ["Banker", "Banker", "Clerk", "Driver", "Engineer"]
    t1 = side("T1", Name=["Alice", "Alice", "Bob", "Bob", "Cathy"], Job=jobs)
    t2 = side("T2", Job=jobs, Disease=["Cancer", "Cancer", "HIV", "Cancer", "HIV"])
    found = sf.sequential_join([t1, t2], x=["Name", "Disease"], y="T1")
    assert found.matches == 7  # the five people, and Alice's two rows crosswise
    assert found.anonymity == 1  # Bob, HIV
    assert found.groups == 4
    assert found.pinned_down == {"T1": 2, "T2": 2}  # Bob and HIV, Bob and Cancer; Cathy is alone in T1 already
    assert found.singled_out == {"T1": 1, "T2": 0}
    rows = sf.sequential_join([t1, t2], x=["Name", "Disease"], y=["T1", "T2"])
    assert rows.anonymity == 1
    assert sf.sequential_join([t1, t2], x=["Name"], y={"Disease": ["Cancer"]}).confidence == 1.0  # Alice


def a_of(t1: pl.DataFrame, born: str, zip_code: str) -> tuple[int, int]:
    """a(x) and a(x, HIV) of the groups of the join with one place of birth and zip code in T2."""
    there = PATIENTS.filter(pl.col("PoB") == born, pl.col("Zip") == zip_code)
    t2 = of_table(sf.read(there, quasi=there.columns, taxonomies={"PoB": TREES["PoB"]}), "T2")

    def rows(frame: pl.DataFrame) -> int:
        if not frame.height:
            return 0
        return Join([of_table(sf.read(frame, quasi=[n for n in frame.columns if n != "Test"])), t2]).joined_rows()

    return rows(t1), rows(t1.filter(pl.col("Test") == "HIV"))


def test_example_6_1_2_without_generalization_hiv_is_certain() -> None:
    found = sf.sequential_join([of_table(medical()), patients()], x=["Job", "PoB", "Zip"], y={"Test": ["HIV"]})
    assert found.confidence == 1.0
    bankers = MEDICAL.filter(pl.col("Job") == "Banker", pl.col("PoB") == "UK").drop("Class", "Job")
    assert a_of(bankers, "UK", "Z3") == (4, 4)  # all 4 joined records with {Banker, UK, Z3} have HIV
    assert Join([of_table(medical()), patients()]).dangling() == {"T2": (0, 0)}


def test_example_6_3_1_the_initial_ctree_and_one_specialization() -> None:
    template = sf.Confidentiality(x=["Job", "PoB", "Zip"], y={"Test": ["HIV"]}, k=0.9)
    method = sf.TopDownSequential(templates=[template], after=[patients()], join_in_x=False)
    run = method.steps(medical())
    start = run.start()
    assert start.labels() == {"Job": ["ANY_Job"], "PoB": ["ANY_PoB"]}
    assert start.confidence == (4 / 12,)
    step = next(run)
    assert (step.attribute, step.value, step.children) == ("PoB", "ANY_PoB", ("Europe", "US"))
    assert step.confidence == (4 / 8,)
    assert run.refinement._pairs == [(4, 8)]  # type: ignore[attr-defined]
    assert list(run) == []  # Job → … would leave Banker, Europe: HIV for certain


def test_example_6_3_1_the_counts_of_figure_6_3() -> None:
    masked = MEDICAL.select("Test", "Sex")  # Job and PoB hidden: only Sex is matched
    groups = [("UK", "Z3"), ("UK", "Z5"), ("FR", "Z5"), ("FR", "Z3"), ("US", "Z3")]
    assert [a_of(masked, *group) for group in groups] == [(12, 4), (2, 0), (2, 0), (18, 6), (6, 2)]
    europe = masked.filter(MEDICAL["PoB"].is_in(["UK", "FR"]))
    assert [a_of(europe, *group) for group in groups[:4]] == [(8, 4), (2, 0), (2, 0), (12, 6)]
    assert a_of(masked.filter(MEDICAL["PoB"] == "US"), "US", "Z3") == (2, 0)


def test_all_join_attributes_in_x_by_default() -> None:
    template = sf.Confidentiality(x=["Job", "PoB", "Zip"], y={"Test": ["HIV"]}, k=0.9)
    release = sf.publish(medical(), method=sf.TopDownSequential(after=[published()]), require=[template])
    (claim,) = release.manifest["requirements"]
    assert claim["required"]["x"] == ["Job", "T1.PoB", "T2.PoB", "Zip", "T1.Sex", "T2.Sex"]
    assert claim["required"]["over"] == ["T1", "T2"]
    assert "'T1.PoB', 'T1.Sex', 'T2.PoB', 'T2.Sex'" in " ".join(release.warnings)
    assert not [f for f in release.check() if f.status == "broken"]


def published() -> sf.Release:
    """The patients as a release that shows everything."""
    table = sf.read(PATIENTS, quasi=["PoB", "Sex", "Zip"], taxonomies={"PoB": TREES["PoB"]})
    return sf.publish(table, method="mondrian", require=[sf.KAnonymity(k=1)])


def test_lemma_6_2_2_is_false_with_a_join_attribute_outside_x() -> None:
    """The confidence falls from 1/2 to 1/3 when PoB is specialized, although no record dangles."""
    sick = {"p": ["u", "u", "v"], "s": ["m", "f", "m"], "ill": ["yes", "no", "no"]}
    tree = {"*": ["u", "v"]}
    t2 = side_of({"p": ["u", "u", "v"], "s": ["f", "*", "m"]})
    template = sf.Confidentiality(x=["T1.p", "T2.p"], y={"ill": ["yes"]}, k=0.5)
    table = sf.read(pl.DataFrame(sick), quasi=["p", "s"], sensitive="ill", taxonomies={"p": tree})
    method = sf.TopDownSequential(templates=[template], after=[t2], join_in_x=False, score="distortion")
    run = method.steps(table)
    assert run.start().confidence == (0.5,)
    assert [step.confidence for step in run] == [(1 / 3,)]
    tighter = template.with_parameters(k=Fraction(2, 5))
    with pytest.raises(sf.Infeasible, match="A finer table might satisfy it"):
        sf.TopDownSequential(templates=[tighter], after=[t2], join_in_x=False, score="distortion").steps(table)


def side_of(columns: dict[str, list[str]]) -> Earlier:
    """T2, where ``*`` hides a value."""
    return side("T2", **columns)


def test_lemma_6_2_1_is_false_if_y_is_in_both_tables() -> None:
    """The least number of pairs of records grows from 1 to 2, with all join attributes in X and no dangling record."""
    table = sf.read(
        pl.DataFrame({"p": ["u", "u", "v"], "q": ["0", "0", "1"]}),
        quasi=["p", "q"],
        taxonomies={"p": {"Any": ["u", "v"]}, "q": {"Any": ["0", "1"]}},
    )
    t2 = side_of({"p": ["u", "v", "v"]})
    template = sf.Anonymity(x=["q", "p"], y=["T1", "T2"], k=1)
    run = sf.TopDownSequential(templates=[template], after=[t2], score="distortion").steps(table)
    raw = Join([of_table(table), t2]).judge(
        join_template(sf.Anonymity(x=["q", "p"], y=["T1", "T2"], k=1), ("T1", "T2"))
    )
    hidden = of_table(sf.read(pl.DataFrame({"p": ["*"] * 3, "q": ["0", "0", "1"]}), quasi=["p", "q"]))
    before = Join([hidden, t2]).judge(raw.requirement)  # type: ignore[arg-type]
    assert (before.achieved, raw.achieved) == ({"k": 1}, {"k": 2})
    assert [step.anonymity for step in run][-1] == (2,)
    assert "is in several releases" in " ".join(run.warnings())


def test_case_2_counts_a_record_of_t2_once_although_it_matches_two_partitions() -> None:
    """The thesis adds a(x1) · |P2| over the pairs of partitions, 2 here, since "each P2 occurs in at most one pair"; a
    generalized P2 occurs in two."""
    t1 = side("T1", job=["a", "a"], sex=["M", "F"])
    t2 = side("T2", sex=["*"], zip=["Z"])
    found = sf.sequential_join([t1, t2], x=["job", "zip"], y="T2")
    assert (found.anonymity, found.matches) == (1, 2)


def test_a_refused_candidate_is_tried_again() -> None:
    """Specializing q is refused at first and possible once p is specialized."""
    rows = pl.DataFrame({"p": list("uvuv"), "q": list("0111"), "s": list("fmfm"), "ill": ["yes", "no", "no", "no"]})
    trees = {"p": {"Any": ["u", "v"]}, "q": {"All": ["0", "1"]}}
    table = sf.read(rows, quasi=["p", "q", "s"], sensitive="ill", taxonomies=trees)
    template = sf.Confidentiality(x=["T1.p", "T2.p", "q"], y={"ill": ["yes"]}, k=0.4)
    t2 = side_of({"p": ["v", "u"], "s": ["*", "m"]})
    run = sf.TopDownSequential(templates=[template], after=[t2], join_in_x=False, score="distortion").steps(table)
    fails = run.refinement._fails[0]  # type: ignore[attr-defined]
    assert fails[run.refinement.root(1)]
    assert [step.attribute for step in run] == ["p", "q"]


def test_lemma_6_2_1_is_false_with_a_join_attribute_outside_x() -> None:
    """The least number of people of T1 grows from 1 to 2 when p is specialized; every record has a partner."""
    t1 = {"p": ["u", "u", "v", "v"], "q": ["0", "0", "1", "1"], "s": ["m", "f", "m", "m"]}
    t2 = side_of({"p": ["u", "u", "v"], "z": ["0", "0", "1"], "s": ["m", "f", "m"]})
    masked = side("T1", **(t1 | {"p": ["*"] * 4}))
    raw = side("T1", **t1)
    before, after = (sf.sequential_join([t, t2], x=["q", "p", "z"], y="T1") for t in (masked, raw))
    assert (before.anonymity, after.anonymity) == (1, 2)
    assert after.unmatched == {"T2": (0, 0)}
    complete = [sf.sequential_join([t, t2], x=["q", "p", "z", "s"], y="T1").anonymity for t in (masked, raw)]
    assert complete == [1, 1]


ROWS = np.random.default_rng(62)
SMALL = {
    "T1": [{"j": str(j), "s": str(s), "v": str(v)} for j, s, v in ROWS.integers(0, 3, (14, 3))],
    "T2": [{"j": str(j), "s": str(s), "w": str(w)} for j, s, w in ROWS.integers(0, 3, (11, 3))],
}


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (["v", "T1.j", "T2.j", "T1.s", "T2.s"], ["w"]),  # case 1: X has all join attributes
        (["v", "T1.j", "T2.j", "T1.s", "T2.s"], ["T1", "w"]),
        (["v", "T2.j"], ["T2"]),  # case 2: Y is a key of T2
        (["v", "T2.j"], ["v2", "T2"]),
        (["T1.j", "w"], ["T1"]),  # case 3: Y is a key of T1
        (["T1.j", "w"], ["T1", "T2"]),  # case 4: Y is a key of the join
        (["T1.j"], ["v", "w"]),  # none of them: distinct values are counted one by one
    ],
)
def test_the_four_cases_of_section_6_3_2_and_the_general_one(x: list[str], y: list[str]) -> None:
    tables = {t: [dict(row) | ({"v2": row["v"]} if t == "T1" else {}) for row in rows] for t, rows in SMALL.items()}
    found = sf.sequential_join([side(t, **columns(rows)) for t, rows in tables.items()], x=x, y=y)
    values = {n: {v: frozenset([v]) for v in "012"} for n in ("j", "s")}
    joined = naive.join(tables, values)
    owner = {"v": "T1", "v2": "T1", "w": "T2"}
    place = lambda n: tuple(n.split(".")) if "." in n else (n, "") if n in tables else (owner[n], n)  # noqa: E731
    groups = naive.grouped(joined, [place(n) for n in x])
    assert found.anonymity == naive.anonymity(groups, [place(n) for n in y])
    assert (found.groups, found.matches) == (len(groups), len(joined))


def columns(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    return {n: [row[n] for row in rows] for n in rows[0]}
