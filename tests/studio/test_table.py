"""The first page: open a table in every way, look at it, reload, and see the policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.studio.live import PATIENCE, Studio, running

MESSY = "Name;Größe;Geboren;Ort;Befund\r\n" + "".join(
    f'"{n}, Ada";1,{60 + i % 30};{i % 27 + 1:02}.0{i % 9 + 1}.19{50 + i % 40};{o};{b}\r\n'
    for i, (n, o, b) in enumerate(
        (name, place, found)
        for name in ("Müller", "<b>Bold</b>", "=1+1", "{{7*7}}")
        for place in ("Köln", "Bonn", "n/a", "Aachen", "Trier")
        for found in ("Grippe", "Asthma", "Gicht", "HIV", "Grippe")
    )
)


def test_the_bundled_example_opens_and_a_reload_keeps_it(window: Callable[..., Any]) -> None:
    page = window()
    page.get_by_role("button", name="Use the bundled example").click()
    page.get_by_role("heading", name="The columns").wait_for()
    page.get_by_role("heading", name="diagnosis", exact=True).wait_for()
    address = page.url
    assert "discharges" not in address
    assert page.title() == "sfumato studio"
    page.reload()
    page.get_by_role("heading", name="diagnosis", exact=True).wait_for()
    assert page.url == address
    page.get_by_role("button", name="Show the policy").click()
    assert 'model = "k-anonymity"' in page.get_by_label("Policy", exact=True).inner_text()


def test_a_messy_file_is_dropped_read_and_escaped(window: Callable[..., Any], tmp_path: Path, studio: Studio) -> None:
    file = tmp_path / "Kranke <i> 2025.csv"
    file.write_bytes(MESSY.encode("cp1252"))
    page = window()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("heading", name="Größe", exact=True).wait_for()
    assert page.get_by_text("<b>Bold</b>, Ada").count() >= 1
    assert page.get_by_text("{{7*7}}, Ada").count() >= 1
    page.get_by_role("button", name="Show the policy").click()
    told = page.get_by_label("Policy", exact=True).inner_text()
    for line in ('encoding = "cp1252"', 'separator = ";"', 'decimal = ","', "%d.%m.%Y", 'nulls = ["n/a"]'):
        assert line in told
    assert 'source = "Kranke <i> 2025.csv"' in told
    kept = list(studio.folder.rglob("*.csv"))
    assert [f.name for f in kept if "Kranke" in f.name] == []
    assert all(f.stat().st_mode & 0o077 == 0 for f in kept)
    assert not any("Kranke" in line or "Ada" in line for line in studio.printed)


def test_what_cannot_be_read_is_explained(window: Callable[..., Any], tmp_path: Path) -> None:
    page = window()
    page.get_by_label("Path or URL").fill(str(tmp_path / "nowhere.csv"))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("nowhere.csv").first.wait_for()
    (tmp_path / "empty.csv").write_text("")
    page.locator("input[type=file]").set_input_files(tmp_path / "empty.csv")
    page.get_by_role("alert").get_by_text("empty.csv").wait_for()


def test_two_windows_have_two_jobs(window: Callable[..., Any], studio: Studio) -> None:
    first = window()
    first.get_by_role("button", name="Use the bundled example").click()
    first.get_by_role("heading", name="The columns").wait_for()
    second = window(studio.origin + "/", context=first.context)
    second.get_by_role("heading", name="Open a table").wait_for()
    assert second.url != first.url
    first.reload()
    first.get_by_role("heading", name="The columns").wait_for()


def test_a_sheet_and_its_header_row_are_chosen(window: Callable[..., Any], tmp_path: Path) -> None:
    import xlsxwriter

    file = tmp_path / "wards.xlsx"
    with xlsxwriter.Workbook(file) as book:
        for name, word in (("North", "flu"), ("South", "gout")):
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["age", "ill"])
            for row in range(1, 30):
                sheet.write_row(row, 0, [20 + row, word if row % 2 else "none"])
    page = window()
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("heading", name="How the file is written").wait_for()
    page.get_by_text("flu").first.wait_for()
    page.get_by_text("Correct this").click()
    page.get_by_label("Sheet").select_option("South")
    page.get_by_role("button", name="Read again").click()
    page.get_by_text("gout").first.wait_for()
    page.get_by_role("button", name="Show the policy").click()
    assert 'sheet = "South"' in page.get_by_label("Policy", exact=True).inner_text()


def test_the_table_of_the_command_line_is_opened(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "ward.csv").write_text("age,ill\n" + "".join(f"{20 + i % 50},{'ab'[i % 2]}\n" for i in range(100)))
    (tmp_path / "empty.csv").write_text("")
    for given, shown in (("ward.csv", "The columns"), ("empty.csv", "Open a table")):
        with running(tmp_path, given) as studio:
            context = browser.new_context()
            context.set_default_timeout(PATIENCE * 1000)
            page = context.new_page()
            page.goto(studio.url)
            page.get_by_role("heading", name=shown).wait_for()
            assert page.get_by_role("alert").count() == (given == "empty.csv")
            context.close()
