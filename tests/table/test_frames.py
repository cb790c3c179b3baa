"""Tables in memory: Polars, pandas with and without pyarrow, Arrow."""

import datetime
import decimal
import subprocess
import sys
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.errors import DataError
from sfumato.table.source import read_frame

UNIT: Literal["us", "ns"] = "us" if int(pd.__version__.partition(".")[0]) >= 3 else "ns"  # what pandas reads dates as
DAY = datetime.datetime(2020, 1, 2)

PANDAS: dict[str, tuple[Any, list[Any], Any]] = {
    "text": (["x", None, "y"], ["x", None, "y"], pl.String),
    "text with nan": (pd.Series(["x", float("nan"), pd.NA], dtype=object), ["x", None, None], pl.String),
    "string dtype": (pd.array(["x", None, "y"], dtype="string[python]"), ["x", None, "y"], pl.String),
    "all missing": (pd.Series([None, None, None], dtype=object), [None] * 3, pl.String),
    "int": ([1, 2, 3], [1, 2, 3], pl.Int64),
    "int8": (np.array([1, 2, 3], dtype="int8"), [1, 2, 3], pl.Int8),
    "float": ([1.5, float("nan"), float("inf")], [1.5, None, float("inf")], pl.Float64),
    "float16": (np.array([1.5, 2, 3], dtype="float16"), [1.5, 2, 3], pl.Float64),
    "bool": ([True, False, True], [True, False, True], pl.Boolean),
    "bool with none": ([True, None, False], [True, None, False], pl.Boolean),
    "nullable int": (pd.array([1, None, 3], dtype="Int64"), [1, None, 3], pl.Int64),
    "nullable bool": (pd.array([True, None, False], dtype="boolean"), [True, None, False], pl.Boolean),
    "nullable float": (pd.array([1.5, None, 3], dtype="Float64"), [1.5, None, 3], pl.Float64),
    "category": (pd.Categorical(["x", None, "y"]), ["x", None, "y"], pl.String),
    "int category": (pd.Categorical([3, None, 1]), [3, None, 1], pl.Int64),
    "datetime": (pd.to_datetime(["2020-01-02", None, "2020-01-02"]), [DAY, None, DAY], pl.Datetime(UNIT)),
    "seconds": (np.array([DAY, "NaT", DAY], dtype="M8[s]"), [DAY, None, DAY], pl.Datetime("ms")),
    "date objects": ([DAY.date(), None, DAY.date()], [DAY.date(), None, DAY.date()], pl.Date),
    "decimals": ([decimal.Decimal("1.5"), None, decimal.Decimal(2)], [1.5, None, 2.0], pl.Float64),
    "sparse": (pd.arrays.SparseArray([0, 0, 1]), [0, 0, 1], pl.Int64),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_column(name: str) -> None:
    values, expected, dtype = PANDAS[name]
    frame = read_frame(pd.DataFrame({name: values}, index=[7, 7, 3] if not isinstance(values, pd.Series) else None))
    assert frame.columns == [name]
    assert frame[name].dtype == dtype
    assert frame[name].to_list() == expected


def test_pandas_time_zone() -> None:
    column = pd.to_datetime(["2020-01-02 00:30"]).tz_localize("Europe/Rome")
    assert read_frame(pd.DataFrame({"at": column}))["at"].dt.hour().to_list() == [0]
    odd = pd.to_datetime(["2020-01-02 00:30"]).tz_localize(datetime.timezone(datetime.timedelta(hours=2, minutes=7)))
    assert read_frame(pd.DataFrame({"at": odd}))["at"].to_list()[0].hour == 22


def test_pandas_arrow_backed() -> None:
    source = pd.DataFrame({"a": [1, 2], "b": ["x", None]}).convert_dtypes(dtype_backend="pyarrow")
    assert read_frame(source).rows() == [(1, "x"), (2, None)]
    source = pd.DataFrame({"b": pd.array(["x", None], dtype="string[pyarrow]")})
    assert read_frame(source).rows() == [("x",), (None,)]


@pytest.mark.parametrize(
    "values",
    [["x", 1], [1, DAY], [{}, {}], [[1], [2]], [b"x", b"y"], pd.period_range("2020", periods=2), [1j, 2j]],
)
def test_pandas_column_that_is_no_attribute(values: Any) -> None:
    with pytest.raises(DataError, match=r"'odd one'.*[Cc]onvert"):
        read_frame(pd.DataFrame({"good": [1, 2], "odd one": values}))


def test_pandas_intervals_are_refused() -> None:
    with pytest.raises(DataError, match="'age'"):
        read_frame(pd.DataFrame({"age": pd.cut(pd.Series([1, 50]), [0, 18, 65])}))


def test_pandas_names() -> None:
    assert read_frame(pd.DataFrame([[1, 2]])).columns == ["0", "1"]
    with pytest.raises(DataError, match="pandas DataFrame has more than one column 'a'"):
        read_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="column 2 has no name"):
        read_frame(pd.DataFrame([[1, 2]], columns=["a", ""]))
    with pytest.raises(DataError, match="2 levels"):
        read_frame(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


@pytest.mark.parametrize(
    "source",
    [pd.DataFrame({"a": []}), pd.DataFrame(), pl.DataFrame(), pa.table({"a": pa.array([], pa.int8())})],
)
def test_no_rows(source: object) -> None:
    with pytest.raises(DataError, match="no rows"):
        read_frame(source)


def test_pandas_subclass() -> None:
    class Sub(pd.DataFrame):
        pass

    assert read_frame(Sub({"a": [1]})).rows() == [(1,)]


def test_pandas_without_pyarrow() -> None:
    code = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import pandas as pd
from sfumato.table.source import read_frame
frame = pd.DataFrame({"t": ["x", None], "i": [1, 2], "n": pd.array([1, None], dtype="Int64"),
    "c": pd.Categorical(["u", None]), "d": pd.to_datetime(["2020-01-02", None]),
    "s": pd.array(["q", None], dtype="string")})
print(read_frame(frame).drop("d").rows())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[('x', 1, 1, 'u', 'q'), (None, 2, None, None, None)]"


class Capsule:
    """Anything that speaks the Arrow C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow() -> None:
    table = pa.table({"a": [1, 2], "b": pa.array(["x", None]).dictionary_encode()})
    table = table.append_column("c", pa.array([1, None], pa.decimal128(5, 2)))
    for source in (table, table.to_batches()[0], table.to_reader(), Capsule(table)):
        frame = read_frame(source)
        assert frame.schema == {"a": pl.Int64, "b": pl.String, "c": pl.Float64}
        assert frame.rows() == [(1, "x", 1.0), (2, None, None)]


def test_arrow_duplicate_names() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    for source in (table, table.to_batches()[0], Capsule(table)):
        with pytest.raises(DataError, match=r"column.*'a'"):
            read_frame(source)


def test_arrow_that_is_no_table() -> None:
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_frame(Capsule(pa.chunked_array([[1, 2]])))


def test_polars() -> None:
    frame = pl.DataFrame({"a": ["x"], "b": [1]})
    assert read_frame(frame).equals(frame)
    assert read_frame(frame.lazy().select("a")).equals(frame.select("a"))
    with pytest.raises(DataError, match="LazyFrame cannot be collected"):
        read_frame(frame.lazy().select("nope"))
    with pytest.raises(DataError, match="column 1 has no name"):
        read_frame(pl.DataFrame({"": [1]}))
