"""Files of SPSS, Stata and SAS, written by pyreadstat: labels, declared missing values, dates, damage."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import DataError
from sfumato.table.form import Form
from sfumato.table.source import read_frame

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")

SEX = {1: "male", 2: "female", 9: "refused"}


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": [1.0, 2.0, 9.0, np.nan],
            "age": [30.0, 41.5, 22.0, np.nan],
            "size": [1.0, 2.0, 3.0, 4.0],
            "name": ["a", "", "c", "d"],
        }
    )


def test_spss(tmp_path: Path) -> None:
    frame = people().assign(born=[dt.date(2000, 1, 2), None, dt.date(1990, 5, 6), dt.date(1980, 1, 1)])
    file = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, file, variable_value_labels={"sex": SEX}, missing_ranges={"sex": [9]})
    found = read_frame(file)
    assert found["sex"].to_list() == ["male", "female", None, None]
    assert found["age"].to_list() == [30.0, 41.5, 22.0, None]
    assert found["size"].to_list() == [1, 2, 3, 4]
    assert found["name"].to_list() == ["a", None, "c", "d"]
    assert found["born"].to_list()[0] == dt.date(2000, 1, 2)
    assert read_frame(file, form=Form(user_missing="category"))["sex"].to_list() == ["male", "female", "refused", None]
    table = sf.read(file, quasi=["born", "size"], sensitive="sex", missing="category", user_missing="category")
    assert [c.kind.value for c in table.quasi] == ["continuous", "date"]


def test_stata_and_sas(tmp_path: Path) -> None:
    pyreadstat.write_dta(people(), tmp_path / "t.dta", variable_value_labels={"sex": {1: "x", 2: "x", 9: "refused"}})
    assert read_frame(tmp_path / "t.dta")["sex"].to_list() == ["x (1)", "x (2)", "refused", None]
    pyreadstat.write_xport(people(), tmp_path / "t.xpt")
    assert read_frame(tmp_path / "t.xpt")["size"].to_list() == [1, 2, 3, 4]
    pyreadstat.write_por(people(), tmp_path / "t.por")
    assert read_frame(tmp_path / "t.por").height == 4


def test_damage_is_named(tmp_path: Path) -> None:
    for suffix in (".sav", ".dta", ".sas7bdat", ".xpt", ".por"):
        (tmp_path / f"t{suffix}").write_bytes(b"no such file" * 10)
        with pytest.raises(DataError, match=f"cannot be read as a {suffix} file"):
            read_frame(tmp_path / f"t{suffix}")
