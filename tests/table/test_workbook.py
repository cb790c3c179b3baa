"""Workbooks as people keep them: cover sheets, titles, chosen sheets and header rows."""

from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from sfumato.errors import DataError
from sfumato.table.form import Form
from sfumato.table.sniff import sniffed
from sfumato.table.source import read_frame

ROWS = [["name", "age", "zip"], ["A", 30, 1067], ["B", 31, 99084]]


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = xlsxwriter.Workbook(path)
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for place, row in enumerate(rows):
            sheet.write_row(place, 0, row)
    book.close()
    return path


# fmt: off
PLACES: list[tuple[dict[str, list[list[Any]]], dict[str, Any]]] = [
    ({"Data": ROWS}, {}),
    ({"Data": [["All patients"], [], *ROWS]}, {"header": 3}),
    ({"Data": [["All patients", "", 2024], ["Ward 3"], *ROWS]}, {"header": 3}),
    ({"Cover": [["Report 2024"], [], ["by", "Dr X"]], "Data": ROWS}, {"sheet": "Data"}),
    ({"Cover": [["Report"]], "Empty": [], "Data": [["Title"], *ROWS]}, {"sheet": "Data", "header": 2}),
    ({"Data": ROWS, "Codes": [["code", "text"], ["1", "x"]]}, {}),
]
# fmt: on


@pytest.mark.parametrize(("sheets", "expected"), PLACES)
def test_where_the_table_is(tmp_path: Path, sheets: dict[str, list[list[Any]]], expected: dict[str, Any]) -> None:
    file = workbook(tmp_path / "t.xlsx", sheets)
    found = sniffed(file, "t.xlsx")
    assert found.form.said() == expected
    assert set(found.reasons) == set(expected)
    frame = read_frame(file, form=found.form)
    assert frame.columns == ["name", "age", "zip"]
    assert frame["name"].to_list() == ["A", "B"]


def test_sheets_by_name_and_number(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", {"One": ROWS, "Two": [["a", "b"], [1, 2], [3, 4]]})
    assert read_frame(file, form=Form(sheet=2)).columns == ["a", "b"]
    assert read_frame(file, form=Form(sheet="One")).columns == ["name", "age", "zip"]
    assert read_frame(file, form=Form(sheet="Two", header=2)).columns == ["1", "2"]
    with pytest.raises(DataError, match=r"no sheet 'Tow'.*Two"):
        read_frame(file, form=Form(sheet="Tow"))
    with pytest.raises(DataError, match="has 2 sheets"):
        read_frame(file, form=Form(sheet=3))


def test_repeated_names_below_a_title_are_refused(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", {"One": [["Title"], ["a", "a", "b"], [1, 2, 3], [1, 2, 3]]})
    with pytest.raises(DataError, match="more than one column 'a'"):
        read_frame(file, form=Form(header=2))
