"""The pages on which a steward decides: what is done there reaches the policy, and what it costs is shown."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.datasets import example_folder
from tests.studio.live import PATIENCE, await_that


def expect(found: Any) -> Any:
    """What is expected of a part of a page, in a while."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=PATIENCE * 1000)
    return expected(found)


def policy_of(page: Any) -> dict[str, Any]:
    """The policy that the page shows."""
    page.get_by_role("button", name="Show the policy").click()
    told = page.get_by_label("Policy", exact=True).inner_text()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.get_by_role("dialog").wait_for(state="detached")  # else the next one is opened beside it
    return tomllib.loads(told)


@pytest.fixture
def opened(window: Callable[..., Any]) -> Callable[..., Any]:
    """Open a page of a new job with the bundled table, by its key."""

    def at(key: str, given: Path | None = None, **options: Any) -> Any:
        page = window(**options)
        page.get_by_label("Path or URL").fill(str(given or example_folder() / "discharges.csv"))
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_role("heading", name="The columns").wait_for()
        page.goto(page.url.replace("/table", f"/{key}"))
        return page

    return at


def test_a_role_reaches_the_policy_and_changes_who_is_alone(opened: Callable[..., Any]) -> None:
    page = opened("roles")
    alone = page.get_by_label("Who is unique")
    before = policy_of(page)["attributes"]
    page.get_by_label("Reason of zip").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("they ")
    page.get_by_label("Role of stay").evaluate("e => { e.value = 'quasi'; e.dispatchEvent(new Event('change')) }")
    alone.get_by_text("4,000 people are alone with their age, sex, zip, job, admitted and stay").wait_for()
    alone.get_by_role("row", name="age + admitted 3,521 (88%)").wait_for()
    page.keyboard.type("know it")  # what was typed before the page changed is still there
    page.get_by_label("Role of admitted").select_option("identifier")
    page.get_by_label("Role of stay").select_option("sensitive")
    alone.get_by_text("2,945 people are alone with their age, sex, zip and job, of 4,000").wait_for()
    alone.get_by_text("reads the diagnosis and stay").wait_for()
    assert alone.get_by_text("admitted").count() == 0
    page.get_by_label("Reason of stay").fill("a long stay says how ill they were")
    page.get_by_label("Reason of stay").press("Enter")
    told = policy_of(page)["attributes"]
    assert told["admitted"] == {"role": "identifier"}
    assert told["stay"]["role"] == "sensitive"
    assert told["zip"]["reason"] == "they know it"
    assert told["stay"]["reason"] == "a long stay says how ill they were"
    page.reload()
    alone.get_by_text("2,945 people are alone").wait_for()
    page.get_by_label("Role of admitted").select_option("quasi")
    alone.get_by_text("people are alone with their age, sex, zip, job and admitted").wait_for()
    assert policy_of(page)["attributes"]["admitted"] == before["admitted"]


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """A policy by one method, which is quick to compile."""
    source = json.dumps(str(example_folder() / "discharges.csv"))
    told = 'age = "quasi"\njob = "quasi"\nsex = { role = "quasi", taxonomy = { Any = ["F", "M"] } }\n'
    required = '[[require]]\nmodel = "k-anonymity"\nk = 5\n[method]\nname = "mondrian"\n'
    file = tmp_path / "quick.toml"
    file.write_text(f'[data]\nsource = {source}\nothers = "drop"\n[attributes]\n{told}{required}')
    return file


def test_taxonomies_reach_the_policy(opened: Callable[..., Any], tmp_path: Path, quick: Path) -> None:
    page = opened("taxonomies", quick)
    page.get_by_text("by mondrian, in").wait_for()
    form = page.get_by_label("How it is made coarser")
    form.select_option("intervals")
    bound = page.get_by_role("slider", name="age, boundary 2 of")
    second = page.get_by_role("spinbutton", name="Boundary 2")
    bound.wait_for()
    before = int(bound.get_attribute("aria-valuenow"))
    bound.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # it keeps the focus
    expect(second).to_have_value(str(before + 3))
    box = bound.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 20, box["y"] + 20, steps=4)
    page.mouse.up()
    expect(second).not_to_have_value(str(before + 3))
    first = page.get_by_role("spinbutton", name="Boundary 1")
    first.fill("-20")
    first.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("9")  # into the second one, while the first is taken
    expect(bound.locator("..").get_by_role("slider").first).to_have_attribute("aria-valuenow", "-20")
    expect(second).to_have_value("9")
    page.keyboard.press("Enter")
    expect(bound).to_have_attribute("aria-valuenow", "9")
    page.get_by_role("button", name="job").click()
    page.get_by_role("heading", name="job").wait_for()
    form.select_option("tree")
    for label in ("pupil", "student"):
        page.get_by_label(label, exact=True).check()
    page.get_by_text("2 ticked: pupil, student").wait_for()
    page.get_by_label("Name of a group").fill("learning")
    page.get_by_label("Find a value").fill("pup")  # which leaves the name, and changes the page
    page.keyboard.press("Enter")
    page.get_by_label("student", exact=True).wait_for(state="detached")
    expect(page.get_by_label("Name of a group")).to_have_value("learning")
    page.get_by_role("button", name="Group", exact=True).click()
    page.get_by_text("2 below").wait_for()
    expect(page.get_by_label("Name of a group")).to_have_value("")
    page.get_by_label("Find a value").fill("")
    page.keyboard.press("Enter")
    page.get_by_label("infant", exact=True).check()
    page.get_by_label("Move below").select_option("learning")
    page.get_by_text("3 below").wait_for()
    told = policy_of(page)["attributes"]
    assert told["job"]["taxonomy"]["Any"]["learning"] == {"pupil": {}, "student": {}, "infant": {}}
    bounds = told["age"]["taxonomy"]["intervals"]
    assert bounds == sorted(bounds)
    assert bounds[:2] == [-20, 9]
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("2 below").wait_for()
    page.get_by_role("button", name="sex").click()
    page.get_by_role("heading", name="sex").wait_for()
    (tmp_path / "sex.csv").write_text("M;*\n")
    page.get_by_label("Import a hierarchy").set_input_files(tmp_path / "sex.csv")
    page.get_by_text("The tree lacks 1 of 2 values of the data: F").wait_for()
    page.get_by_role("button", name="Add them below the root").click()
    page.get_by_text("It covers all 2 values").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export as ARX csv").click()
    assert Path(saved.value.path()).read_text() == "M;*\nF;*\n"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A policy that requires k-anonymity alone, for which one method is quick to compile."""
    source = json.dumps(str(example_folder() / "discharges.csv"))
    roles = {"age": "quasi", "sex": "quasi", "zip": "quasi", "diagnosis": "sensitive"}
    told = "".join(f'{name} = "{role}"\n' for name, role in roles.items())
    required = '[[require]]\nmodel = "k-anonymity"\nk = 5\n'
    file = tmp_path / "policy.toml"
    file.write_text(f'[data]\nsource = {source}\nothers = "drop"\n[attributes]\n{told}{required}')
    return file


def settle(page: Any, k: str) -> None:
    """Type a number for k, and leave the field where it is."""
    page.get_by_label("k of k-anonymity, as a number").fill(k)
    page.keyboard.press("Enter")


def test_requirements_and_method_reach_the_policy_and_the_preview(opened: Callable[..., Any], plain: Path) -> None:
    page = opened("requirements", plain)
    preview = page.get_by_label("Preview")
    preview.get_by_text("a random sample, 2,000 of 4,000 rows").wait_for()
    k = page.get_by_label("k of k-anonymity", exact=True)
    k.focus()
    k.press("ArrowRight")
    page.get_by_role("heading", name="Nobody can be told apart from at least 5 others.").wait_for()
    preview.get_by_text("16.7%", exact=True).first.wait_for()
    cannot = "This table cannot meet it: 4000 rows cannot be 5000-anonymous; lower k to 4000 or less."
    settle(page, "5000")
    page.get_by_text(cannot).wait_for()
    settle(page, "0")
    refused = page.get_by_text("The policy still says k = 5000.")
    refused.wait_for()
    settle(page, "8")
    preview.get_by_text("12.5%", exact=True).first.wait_for()
    assert refused.count() == 0
    page.get_by_text("On the sample, this is ").wait_for()
    page.get_by_label("incognito", exact=True).check()
    preview.get_by_text("by incognito, in").wait_for()
    told = policy_of(page)
    assert told["require"] == [{"model": "k-anonymity", "k": 8}]
    assert told["method"] == {"name": "incognito"}
    page.get_by_text("methods cannot serve this").click()
    page.get_by_text("Rr randomizes values and serves disclosure; it cannot serve k-anonymity.").wait_for()
    page.get_by_role("button", name="Next: Try").click()
    page.get_by_role("heading", name="The first 8 rows as they would be published").wait_for()


def test_what_is_typed_is_kept_while_the_page_changes(opened: Callable[..., Any], plain: Path) -> None:
    page = opened("requirements", plain)
    preview = page.get_by_label("Preview")
    number = page.get_by_label("k of k-anonymity, as a number")
    number.click()
    page.keyboard.press("Control+A")
    page.keyboard.type("1")
    preview.get_by_text("a random sample").wait_for()  # meanwhile the page has changed
    page.get_by_text("On the sample, this is ").wait_for()
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+A")
    page.keyboard.type("0")  # without a pause
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    page.keyboard.type("25")
    page.get_by_text("The policy still says k = 12.").wait_for()
    assert number.get_attribute("aria-invalid") == "true"
    preview.get_by_text("8.3%", exact=True).first.wait_for()
    assert number.input_value() == "25"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Nobody can be told apart from at least 24 others.").wait_for()
    assert page.get_by_text("it must be a whole number").count() == 0
    page.get_by_label("Another promise").select_option("l-diversity")
    page.keyboard.press("Tab")
    page.get_by_label("l of l-diversity", exact=True).wait_for()
    assert policy_of(page)["require"][0] == {"model": "k-anonymity", "k": 25}
    assert number.input_value() == "25"
    page.get_by_role("button", name="Remove this promise").first.click()
    number.wait_for(state="detached")
    assert [entry["model"] for entry in policy_of(page)["require"]] == ["l-diversity"]


def test_a_point_of_a_comparison_is_taken(opened: Callable[..., Any], plain: Path) -> None:
    page = opened("compare", plain)
    for name in ("incognito", "local-recoding", "tdr", "tdd"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_label("Vary").select_option("k")
    page.get_by_role("textbox", name="Values of k").fill("5, 40")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("heading", name="The frontier").wait_for()
    page.reload()
    point = page.get_by_role("button", name="2 mondrian, k = 40: worst-case gain")
    point.focus()
    point.press("Enter")
    page.get_by_label("Its policy").get_by_text("k = 40").wait_for()
    page.get_by_role("button", name="Use this policy").click()
    page.get_by_role("heading", name="Nobody can be told apart from at least 39 others.").wait_for()
    told = policy_of(page)
    assert (told["require"], told["method"]) == ([{"model": "k-anonymity", "k": 40}], {"name": "mondrian"})


def test_what_the_join_with_an_earlier_release_gives_away(
    opened: Callable[..., Any], plain: Path, tmp_path: Path
) -> None:
    people = sf.read(example_folder() / "discharges.csv", quasi=["age", "job"], sensitive="diagnosis")
    sf.publish(people, require=sf.KAnonymity(k=10), method="mondrian").write(tmp_path / "2024")
    page = opened("earlier", plain)
    page.get_by_label("Folder of a release").fill(str(tmp_path / "2024"))
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("What the policy does about them").select_option("audit")
    await_that(lambda: "method" in policy_of(page))  # which is chosen by a trial
    page.get_by_role("button", name="See what the join gives away").click()
    page.get_by_role("heading", name="What the join gives away").wait_for()
    page.get_by_text("people pinned down by the join only").wait_for()
    page.get_by_text("somebody’s diagnosis is known with a confidence of up to").wait_for()
    assert policy_of(page)["after"] == [{"release": str(tmp_path / "2024"), "name": "T2"}]
    page.get_by_label("Colours").select_option("dark")
    page.locator("body.body--dark").wait_for()
    page.reload()
    page.locator("body.body--dark").wait_for()
