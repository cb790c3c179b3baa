"""Forms of taxonomies on a job, without a browser: what publishing reads is what was chosen."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.studio import generalization as form
from sfumato.studio.job import Job
from sfumato.table.tree_editing import group


@pytest.fixture
def job(tmp_path: Path) -> Job:
    ages = [str(a) for a in [9, 10, 21, 22, 35, 35, 35, 47, 58, 99] * 6]
    rows = {
        "age": ages,
        "zip": [f"{47100 + 7 * i}" for i in range(60)],
        "town": ["Ayr", "Bude", "Cork"] * 20,
        "ill": ["flu", "HIV"] * 30,
    }
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    made = Job("x", tmp_path)
    made.open(str(tmp_path / "people.csv"))
    for name in ("age", "zip", "town"):
        made.set_attribute(name, role="quasi", kind=None, taxonomy=None, domain=None)
    return made


def quasi(job: Job, name: str) -> form.Quasi:
    return next(q for q in form.quasis_of(job) if q.name == name)


def test_numbers_are_in_their_own_order(job: Job) -> None:
    age = quasi(job, "age")
    assert age.values == ("9", "10", "21", "22", "35", "47", "58", "99")
    assert age.rows.tolist() == [6, 6, 6, 6, 18, 6, 6, 6]
    assert set(age.forms) == {"free", "intervals", "width", "tree"}
    assert age.form == "free"


def test_intervals_hold_all_values_and_reach_the_coded_table(job: Job) -> None:
    form.take_form(job, quasi(job, "age"), "intervals")
    age = quasi(job, "age")
    bounds = age.entry["taxonomy"]["intervals"]
    assert bounds[0] <= 9
    assert bounds[-1] > 99
    assert sum(form.people_between(age, bounds)) == 60
    form.take_bounds(job, age, [0, 18, 35, 120])
    assert form.people_between(quasi(job, "age"), [0, 18, 35, 120]) == [12, 12, 36]
    assert job.microdata()["age"].domain.leaves == ("[0, 18)", "[18, 35)", "[35, 120)")


def test_bounds_stay_in_order_and_around_the_values(job: Job) -> None:
    age = quasi(job, "age")
    assert form.moved_bound([0, 18, 120], 1, 30, age) == [0, 30, 120]
    assert form.moved_bound([0, 18, 120], 0, 40, age) == [9, 18, 120]
    with pytest.raises(DataError, match="between its neighbours"):
        form.moved_bound([0, 18, 120], 1, 120, age)
    with pytest.raises(DataError, match="greatest value, 99"):
        form.moved_bound([0, 18, 120], 2, 99, age)
    with pytest.raises(DataError, match="outside its intervals"):
        form.take_bounds(job, age, [0, 18, 60])


@pytest.mark.parametrize("numbers", [[1, 2, 3], [0.1, 0.25, 0.7], [5], [-20, 0, 10**6], [1990, 2000, 2025]])
@pytest.mark.parametrize("parts", [3, 10])
def test_suggested_bounds_are_valid_for_any_numbers(tmp_path: Path, numbers: list[float], parts: int) -> None:
    pl.DataFrame({"n": numbers * 4, "s": ["a", "b"] * (2 * len(numbers))}).write_csv(tmp_path / "n.csv")
    job = Job("x", tmp_path)
    job.open(str(tmp_path / "n.csv"))
    job.set_attribute("n", role="quasi", kind="continuous", taxonomy=None, domain=None)
    found = quasi(job, "n")
    bounds = form.suggested_bounds(found, parts)
    form.take_bounds(job, found, bounds)
    assert sum(form.people_between(found, bounds)) == 4 * len(numbers)
    edges, counts = form.bars(found)
    assert len(edges) == len(counts) + 1
    assert sum(counts) == 4 * len(numbers)
    assert np.allclose(np.diff(edges), edges[1] - edges[0])
    form.take_width(job, found, form.suggested_width(found))
    assert job.microdata()["n"].domain.size >= len(set(numbers)) - 1


def test_masks_and_their_levels(job: Job) -> None:
    assert {"mask-right", "mask-left"} <= set(quasi(job, "zip").forms)
    form.take_form(job, quasi(job, "zip"), "mask-right")
    found = quasi(job, "zip")
    assert (found.form, found.entry["taxonomy"]) == ("mask-right", {"mask": "right"})
    tree = form.taxonomy_of(job, found)
    assert tree is not None
    told = form.levels(found, tree)
    assert [example for example, _, _ in told] == ["47100", "4710*", "471**", "47***", "4****", "*"]
    assert told[0][1:] == (60, 1)
    assert told[-1][1:] == (1, 60)
    with pytest.raises(PolicyError, match="cannot have the form"):
        form.take_form(job, quasi(job, "town"), "width")


def test_a_tree_begins_with_the_values_and_comes_back_from_files(job: Job) -> None:
    town = quasi(job, "town")
    assert town.form == "none"
    form.take_form(job, town, "tree")
    form.take_tree(job, quasi(job, "town"), group(form.tree_of(job, quasi(job, "town")), ["Ayr", "Bude"], "Britain"))
    told = job.attributes["town"]["taxonomy"]
    assert told == {"Any": {"Britain": {"Ayr": {}, "Bude": {}}, "Cork": {}}}
    assert job.policy().attributes[2].taxonomy == told
    tree = form.taxonomy_of(job, quasi(job, "town"))
    assert tree is not None
    for kind in ("csv", "json"):
        assert form.imported(town, form.exported(tree, kind), f"tree.{kind}") == told
    assert job.microdata()["town"].domain.named_ranges["Britain"] == (0, 2)


def test_a_file_of_the_policy_becomes_a_tree_to_edit(job: Job, tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text("Ayr;Britain;*\nBude;Britain;*\nCork;Ireland;*\n")
    job.set_attribute("town", taxonomy=str(tmp_path / "towns.csv"), kind="categorical")
    town = quasi(job, "town")
    assert town.form == "file"
    form.take_form(job, town, "tree")
    assert job.attributes["town"]["taxonomy"]["*"]["Britain"] == {"Ayr": {}, "Bude": {}}


def test_dates_are_left_to_the_method(job: Job, tmp_path: Path) -> None:
    pl.DataFrame({"day": ["2025-01-02", "2025-03-04"] * 3, "s": list("ababab")}).write_csv(tmp_path / "d.csv")
    job.open(str(tmp_path / "d.csv"))
    job.set_attribute("day", role="quasi")
    assert list(quasi(job, "day").forms) == ["free"]
