"""The worked examples of Fung's thesis, chapters 4 and 5, to the last digit that it prints."""

import os
from collections.abc import Sequence
from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato import datasets
from sfumato.adversary.inference import inferences
from sfumato.method.topdown.topdown import Step
from sfumato.table.microdata import Microdata

JOBS = {
    "ANY_Job": {
        "Blue_Collar": {"Non_Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Electrician"]},
        "White_Collar": {"Manager": {}, "Professional": ["Engineer", "Lawyer"]},
    }
}
SEXES = {"ANY_Sex": ["M", "F"]}


def spread(rows: Sequence[tuple[object, ...]], columns: list[str], classes: str) -> pl.DataFrame:
    """A compressed table in full: the last two entries of a row are how often each class occurs."""
    return pl.DataFrame(
        [dict(zip(columns, row, strict=False)) | {"Class": c} for row in rows for c in _classes(row, classes)]
    )


def _classes(row: tuple[object, ...], classes: str) -> str:
    return "".join(c * int(str(n)) for c, n in zip(classes, row[-2:], strict=True))


def patients() -> Microdata:
    """Table 4.1(a), with the taxonomies of Figure 4.1."""
    rows = [
        ("Janitor", "M", 30, 0, 3),
        ("Mover", "M", 32, 0, 4),
        ("Carpenter", "M", 35, 2, 3),
        ("Electrician", "F", 37, 3, 1),
        ("Manager", "F", 42, 4, 2),
        ("Manager", "F", 44, 4, 0),
        ("Engineer", "M", 44, 4, 0),
        ("Engineer", "F", 44, 3, 0),
        ("Lawyer", "F", 44, 1, 0),
    ]
    frame = spread(rows, ["Job", "Sex", "Age"], "YN")
    return sf.read(frame, quasi=["Job", "Sex", "Age"], class_="Class", taxonomies={"Job": JOBS, "Sex": SEXES})


def workers() -> Microdata:
    """Table 4.3(a)."""
    rows = [
        ("10th", "M", 40, 20, 0),
        ("10th", "M", 30, 0, 4),
        ("9th", "M", 30, 0, 2),
        ("9th", "F", 30, 0, 4),
        ("9th", "F", 40, 0, 6),
        ("8th", "F", 30, 0, 2),
        ("8th", "F", 40, 0, 2),
    ]
    frame = spread(rows, ["Education", "Sex", "Work_Hrs"], "YN")
    trees = {"Education": {"ANY_Edu": ["8th", "9th", "10th"]}, "Sex": SEXES}
    return sf.read(frame, quasi=["Education", "Sex", "Work_Hrs"], class_="Class", taxonomies=trees)


def customers(*, child: bool = False) -> Microdata:
    """Table 5.1."""
    rows = [
        ("Cook", "US", "No", "Current", 0, 4),
        ("Artist", "France", "No", "Current", 1, 3),
        ("Doctor", "US", "Yes", "Never", 4, 2),
        ("Trader", "UK", "No", "Discharged", 4, 0),
        ("Trader", "UK", "No", "Never", 1, 0),
        ("Trader", "Canada", "No", "Never", 1, 0),
        ("Clerk", "Canada", "No", "Never", 3, 0),
        ("Clerk", "Canada", "No", "Discharged", 1, 0),
    ]
    frame = spread(rows, ["Job", "Country", "Child", "Bankruptcy"], "GB")
    quasi = ["Job", "Country", "Child"] if child else ["Job", "Country"]
    plain = [] if child else ["Child"]
    return sf.read(frame, quasi=quasi, sensitive="Bankruptcy", class_="Class", insensitive=plain)


def first(table: Microdata, *templates: sf.Anonymity, score: str = "gain-per-loss") -> Step:
    return next(iter(sf.TopDown(templates=templates, score=score).steps(table)))


def test_example_4_2_2() -> None:
    step = first(patients(), sf.Anonymity(x=["Job", "Sex"], k=4))
    assert (step.attribute, step.value, step.children) == ("Job", "ANY_Job", ("Blue_Collar", "White_Collar"))
    assert (round(step.gain, 4), step.loss, round(step.score, 4)) == (0.2716, 18, 0.0143)
    assert step.classes == {"Blue_Collar": {"Y": 5, "N": 11}, "White_Collar": {"Y": 16, "N": 2}}


def test_example_4_2_3_grows_the_tree_of_age_at_37() -> None:
    step = first(patients(), sf.Anonymity(x=["Age"], k=1))
    assert (step.value, step.children, round(step.gain, 4)) == ("[30, 45)", ("[30, 37)", "[37, 45)"), 0.3584)


@pytest.mark.parametrize(
    ("x", "gain", "loss", "score"),
    [("Education", 0.6100, 36, 0.0165), ("Sex", 0.4934, 26, 0.0183), ("Work_Hrs", 0.3958, 28, 0.0136)],
)
def test_table_4_3_b(x: str, gain: float, loss: int, score: float) -> None:
    step = first(workers(), sf.Anonymity(x=[x], k=1))
    assert (round(step.gain, 4), step.loss, round(step.score, 4)) == (gain, loss, score)


def test_example_4_2_4_by_gain() -> None:
    template = sf.Anonymity(x=["Education", "Sex", "Work_Hrs"], k=4)
    (step,) = sf.TopDown(templates=[template], score="gain").steps(workers())
    assert (step.attribute, step.anonymity) == ("Education", (4,))
    sizes = step.mask().group_by("Education", "Sex", "Work_Hrs").len().sort("len")["len"].to_list()
    assert sizes == [4, 12, 24]


def test_example_4_2_4_by_score() -> None:
    template = sf.Anonymity(x=["Education", "Sex", "Work_Hrs"], k=4)
    steps = list(sf.TopDown(templates=[template]).steps(workers()))
    assert [(s.attribute, s.anonymity) for s in steps] == [("Sex", (14,)), ("Work_Hrs", (6,))]
    assert steps[1].children == ("[30, 40)", "[40, 41)")
    sizes = steps[1].mask().group_by("Education", "Sex", "Work_Hrs").len().sort("len")["len"].to_list()
    assert sizes == [6, 6, 8, 20]


def test_the_run_of_example_4_3_1() -> None:
    templates = [sf.Anonymity(x=["Job", "Sex"], k=4), sf.Anonymity(x=["Sex", "Age"], k=11)]
    run = sf.TopDown(templates=templates).steps(patients())
    assert run.start().anonymity == (34, 34)
    steps = list(run)
    assert [(s.value, f"{s.score:.6f}", s.anonymity) for s in steps] == [
        ("[30, 45)", "0.015585", (34, 12)),
        ("ANY_Job", "0.014294", (16, 12)),
        ("Blue_Collar", "0.033856", (7, 12)),
        ("White_Collar", "0.102187", (7, 12)),
        ("Technical", "0.022773", (4, 12)),
    ]
    assert steps[-1].labels() == {
        "Job": ["Non_Technical", "Carpenter", "Electrician", "Manager", "Professional"],
        "Sex": ["ANY_Sex"],
        "Age": ["[30, 37)", "[37, 45)"],
    }


def discharged(k: float, *x: str) -> sf.Confidentiality:
    return sf.Confidentiality(x=list(x), y={"Bankruptcy": ["Discharged"]}, k=k)


def test_top_down_disclosure_ends_in_table_5_2() -> None:
    steps = list(sf.TopDown(templates=[discharged(0.75, "Job", "Country")]).steps(customers()))
    assert [s.value for s in steps] == ["Cook", "Artist", "Doctor", "US", "France"]
    assert steps[0].children == ("Cook", "*")
    assert steps[-1].confidence == (0.5,)
    shown = steps[-1].mask().group_by("Job", "Country", "Child", "Bankruptcy", "Class").len()
    assert set(shown.rows()) == {
        ("Cook", "US", "No", "Current", "B", 4),
        ("Artist", "France", "No", "Current", "G", 1),
        ("Artist", "France", "No", "Current", "B", 3),
        ("Doctor", "US", "Yes", "Never", "G", 4),
        ("Doctor", "US", "Yes", "Never", "B", 2),
        ("*", "*", "No", "Never", "G", 5),
        ("*", "*", "No", "Discharged", "G", 5),
    }


def test_the_most_suppressed_customer_table_has_5_of_24() -> None:
    """Theorem 5.1.3: for any k below 5/24 the template cannot be satisfied."""
    with pytest.raises(sf.Infeasible, match=r"⟨\{Job, Country\}, Bankruptcy = Discharged, 0.2⟩.*5/24 = 20.83%.*0.2084"):
        sf.TopDown(templates=[discharged(0.2, "Job", "Country")]).steps(customers())
    exact = sf.TopDown(templates=[sf.Confidentiality(x="Job", y={"Bankruptcy": ["Discharged"]}, k=Fraction(5, 24))])
    assert exact.steps(customers()).start().confidence == (5 / 24,)


def test_example_5_3_1_two_templates() -> None:
    templates = [discharged(0.5, "Job", "Country"), discharged(0.5, "Job", "Child")]
    steps = list(sf.TopDown(templates=templates).steps(customers(child=True)))
    assert all(max(s.confidence) <= 0.5 for s in steps)
    assert len(steps[-1].confidence) == 2


def test_the_last_hidden_value_is_disclosed_with_score_0() -> None:
    frame = pl.DataFrame({"job": ["a", "a", "b", "b"], "class": ["y", "n", "y", "n"]})
    table = sf.read(frame, quasi=["job"], class_="class")
    steps = list(sf.TopDown(templates=[sf.Anonymity(x="job", k=2)]).steps(table))
    assert [(s.value, s.score) for s in steps] == [("a", 0.0), ("b", 0.0)]
    assert steps[-1].labels() == {"job": ["a", "b"]}


needs_data = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the public tables")


def rarest(frame: pl.DataFrame, name: str) -> list[str]:
    """The ⌊n/2⌋ least frequent of n values."""
    counts = frame[name].cast(pl.String).value_counts().sort("count", name)
    return counts[name].to_list()[: counts.height // 2]


def above(frame: pl.DataFrame, x: list[str], top: list[str], k: float) -> int:
    table = sf.read(frame, quasi=x, sensitive=top, kinds=dict.fromkeys(x, "categorical"))
    template = sf.Confidentiality(x=x, y={name: rarest(frame, name) for name in top}, k=1)
    return inferences(table, template).filter(pl.col("confidence") > k).height


@needs_data
def test_table_5_3_crx() -> None:
    categorical = ["A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13"]
    top = ["A9", "A10", "A7", "A6"]
    x = [a for a in categorical if a not in top]
    frame = datasets.crx().cast(pl.String)
    assert [above(frame, x, top, k) for k in (0.1, 0.3, 0.5, 0.7, 0.9)] == [40, 27, 15, 8, 6]


@needs_data
def test_table_5_3_german() -> None:
    codes = ["account-status", "credit-history", "purpose", "savings", "employment", "personal-status", "debtors"]
    codes += ["property", "installment-plans", "housing", "job", "telephone", "foreign-worker"]
    top = ["account-status", "credit-history", "savings", "installment-plans", "purpose", "debtors"]
    x = [a for a in codes if a not in top]
    frame = datasets.german().cast(pl.String)
    assert [above(frame, x, top, k) for k in (0.1, 0.3, 0.5, 0.7, 0.9)] == [496, 337, 174, 162, 161]
