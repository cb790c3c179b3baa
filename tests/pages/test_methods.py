"""One page per method: its claims, its parameters, an example that runs and the picture of what it makes."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import sfumato as sf
from docs.tools.blocks import DOCS, blocks, method_page, section
from docs.tools.claims import NOT_REFUTED, with_claims
from docs.tools.pictures import picture, picture_file
from docs.tools.run import example
from sfumato.method.catalogue import METHODS

HEADINGS = ["When to use it", "When not", "Guarantee", "Refuted?", "Parameters", "Example", "Reference"]

every_method = pytest.mark.parametrize("name", list(METHODS))


@every_method
def test_the_page_has_its_parts(name: str) -> None:
    page = method_page(name)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert re.findall(r"^## (.*)$", text, re.M) == HEADINGS
    assert all(section(page, heading).strip() for heading in HEADINGS)
    assert f"methods/{page.name}" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")


@every_method
def test_the_page_claims_what_the_class_claims(name: str) -> None:
    text = method_page(name).read_text(encoding="utf-8")
    assert text == with_claims(text, METHODS[name]), "run make pictures"
    assert (NOT_REFUTED in text) == (METHODS[name].refuted is None)


@every_method
def test_the_page_lists_the_parameters_of_the_class(name: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| (.+) \|$", section(method_page(name), "Parameters"), re.M)
    documented = {parameter: default for parameter, default, _ in rows}
    assert documented == {
        f.name: "required" if f.default is MISSING else repr(f.default) for f in fields(METHODS[name])
    }
    assert all(meaning.strip() for *_, meaning in rows)


@every_method
def test_the_example_runs_and_its_picture_is_the_one_shown(name: str) -> None:
    page = method_page(name)
    found = example(page)
    release = found["release"]
    assert isinstance(release, sf.Release)
    assert release.description.method.name == name
    assert not [f for f in release.findings() if f.status == "broken"]
    assert picture_file(page).read_text(encoding="utf-8") == picture(found["table"], release), "run make pictures"
    assert f"](../pictures/{page.stem}.svg)" in section(page, "Example")


def test_every_page_belongs_to_a_method() -> None:
    pages = {method_page(name) for name in METHODS}
    assert {*(DOCS / "methods").glob("*.md")} == pages | {DOCS / "methods" / "index.md"}
    assert {*(DOCS / "pictures").glob("*.svg")} == {picture_file(page) for page in pages}


def test_the_overview_lists_every_method() -> None:
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (DOCS / "methods" / "index.md").read_text(encoding="utf-8"))
    assert {method_page(name).stem for name in METHODS} <= set(listed)


def test_a_block_is_read_as_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# a\n\n- list\n\n    ```python title\n    x = 1\n    if x:\n        y = 2\n    ```\n\n```\nplain\n```\n"
    )
    first, second = blocks(page)
    assert (first.language, first.info, first.line) == ("python", "title", 6)
    assert first.text == "x = 1\nif x:\n    y = 2\n"
    assert (second.language, second.text) == ("", "plain\n")
