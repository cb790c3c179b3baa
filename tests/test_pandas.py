"""As in a notebook: from a pandas frame to a release and back, with pandas 3, and with pandas 2 by `make older`."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.table.source import read_frame

NEWEST = int(pd.__version__.partition(".")[0])


def patients(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "name": [f"P{i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "sex": pd.Categorical(rng.choice(["F", "M"], rows)),
            "zip": rng.choice(["02138", "02139", "10115"], rows),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, rows), unit="D"),
            "job": [None if i % 9 == 0 else "nurse" if i % 2 else "cook" for i in range(rows)],
            "diagnosis": rng.choice(["flu", "HIV", "burn", "cancer", "asthma", "stroke"], rows),
        },
        index=rng.permutation(rows),
    )


def test_a_session() -> None:
    frame = patients()
    table = sf.read(
        frame,
        quasi=["age", "sex", "zip", "born", "job"],
        sensitive="diagnosis",
        identifiers=["name"],
        taxonomies={"zip": {"mask": "right"}, "age": {"width": 5}},
        missing="category",
    )
    assert [c.kind.value for c in table.quasi if c.name in ("born", "age")] == ["continuous", "date"]
    release = sf.publish(table, require=[sf.KAnonymity(k=5), sf.LDiversity(l=2)])
    release.check()
    shown = release.to_pandas()
    assert isinstance(shown, pd.DataFrame)
    assert len(shown) == 200
    assert list(shown.columns) == ["age", "sex", "zip", "born", "job", "diagnosis"]
    assert shown["diagnosis"].astype(str).value_counts().to_dict() == frame["diagnosis"].value_counts().to_dict()
    assert shown.groupby(["age", "sex", "zip", "born", "job"], observed=True).size().min() >= 5
    assert sf.Analyst(release).count("age >= 0").estimate == pytest.approx(200)


def test_text_by_default() -> None:
    """The text of pandas 3 is a dtype of its own, `str`; in pandas 2 it is `object`."""
    frame = pd.DataFrame({"x": ["a", None, "b"]})
    assert str(frame["x"].dtype) == ("str" if NEWEST >= 3 else "object")
    assert read_frame(frame)["x"].to_list() == ["a", None, "b"]


@pytest.mark.parametrize(
    "dtype", ["object", "string", "string[python]", "string[pyarrow]", "category", *(["str"] if NEWEST >= 3 else [])]
)
def test_every_kind_of_text(dtype: str) -> None:
    series = pd.Series(["a", None, "b"], dtype="object").astype(dtype)
    assert read_frame(pd.DataFrame({"x": series}))["x"].to_list() == ["a", None, "b"]


def test_a_frame_from_csv_and_one_through_arrow(tmp_path: object) -> None:
    frame = patients(30).reset_index(drop=True)
    text = frame.to_csv(index=False)
    import io

    again = read_frame(pd.read_csv(io.StringIO(text), dtype={"zip": str}))
    assert again["zip"].to_list() == frame["zip"].to_list()
    import pyarrow

    assert read_frame(pyarrow.Table.from_pandas(frame))["born"].dt.date().to_list()[0] == frame["born"][0].date()


def test_frames_of_all_kinds_give_the_same_table() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    import pyarrow

    plain = {"age": [31, 42, 31], "city": ["Ulm", "Bonn", None], "day": [dt.date(2024, 1, d) for d in (1, 2, 3)]}
    polars = pl.DataFrame(plain)
    arrow = pyarrow.table(plain)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(arrow)
        sources = [polars, polars.lazy(), arrow, relation, pd.DataFrame(plain)]
        found = [sf.read(s, quasi=["age", "city", "day"], missing="category") for s in sources]
    for table in found:
        for column, first in zip(table.quasi, found[0].quasi, strict=True):
            assert (column.name, column.kind, column.domain.leaves) == (first.name, first.kind, first.domain.leaves)
            assert column.codes.tolist() == first.codes.tolist()


def test_duckdb_relations_are_read_once_and_refused_with_care() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        relation = connection.sql("select i as age, 'x' || i as job from range(10) t(i) where i % 2 = 0")
        assert read_frame(relation).rows() == [(i, f"x{i}") for i in range(0, 10, 2)]
        with pytest.raises(sf.DataError, match="no rows"):
            read_frame(connection.sql("select 1 as a where false"))
        with pytest.raises(sf.DataError):
            read_frame(connection.sql("select 1 as a, 2 as a"))
