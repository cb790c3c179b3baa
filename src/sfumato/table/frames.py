"""Tables that are already in memory: Polars and pandas data frames, Arrow tables; and back to pandas.

pandas is converted column by column through NumPy, so that neither pandas nor pyarrow is needed to
import this module, and pyarrow is not needed to read a frame with no columns based on it.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import DataError, PolicyError
from sfumato.table.checks import POLARS_FAILURES, check_names

_PLAIN_OBJECTS = (bool, int, float, Decimal, date, datetime, time, timedelta)
_FAILURES = (*POLARS_FAILURES, TypeError, ValueError)


def read_object(source: object) -> pl.DataFrame:
    """Turn a data frame or an Arrow table into a Polars frame."""
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return _collect(source)
    if _is_pandas(source):
        return _from_pandas(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_arrow(source)
    raise PolicyError(
        "Cannot read a table from an object of type "
        f"{type(source).__module__}.{type(source).__qualname__}. Give a path (csv, tsv, txt, parquet, xlsx, "
        "xls), a database URL with a query, or a Polars, pandas or Arrow table."
    )


def describe(source: object) -> str:
    """What to call an object in messages: ``the pandas DataFrame``."""
    return f"the {type(source).__module__.partition('.')[0]} {type(source).__qualname__}"


def _collect(lazy: pl.LazyFrame) -> pl.DataFrame:
    """Run a lazy query."""
    try:
        return lazy.collect()
    except (*POLARS_FAILURES, OSError) as error:
        raise DataError(
            f"The polars LazyFrame cannot be collected: {str(error).splitlines()[0]}. Correct the lazy "
            "query; `.collect()` on it shows the same error."
        ) from error


def _is_pandas(source: object) -> bool:
    """Whether the object is a pandas DataFrame or an instance of a subclass, without importing pandas."""
    return any(
        kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame" for kind in type(source).__mro__
    )


class _Stream:
    """An object that is an Arrow stream and nothing else, so that Polars has one way to read it."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


def _from_arrow(source: Any) -> pl.DataFrame:
    """Import an Arrow table, record batch or stream through the Arrow C interface."""
    where = describe(source)
    schema = getattr(source, "schema", None)
    names = getattr(schema, "names", None)
    if isinstance(names, list):
        check_names([str(name) for name in names], where)
    try:
        return pl.DataFrame(_Stream(source))
    except pl.exceptions.DuplicateError as error:
        raise DataError(
            f"{where} has two columns with the same name ({str(error).splitlines()[0]}). Rename or remove one."
        ) from error
    except _FAILURES as error:
        raise DataError(
            f"{where} cannot be read as a table: {str(error).splitlines()[0]}. Give a table with named "
            "columns of numbers, text, dates or booleans."
        ) from error


def _from_pandas(frame: Any) -> pl.DataFrame:
    """Convert a pandas frame column by column; its index is left out, NaN and NaT become null."""
    where = describe(frame)
    if frame.columns.nlevels > 1:
        raise DataError(
            f"{where} has {frame.columns.nlevels} levels of column names; a column must have one name. Join the "
            "levels, e.g. `frame.columns = ['_'.join(names) for names in frame.columns]`."
        )
    names = [str(name) for name in frame.columns]
    check_names(names, where)
    return pl.DataFrame([_column(frame.iloc[:, place], name) for place, name in enumerate(names)])


def _column(series: Any, name: str) -> pl.Series:
    """Convert one pandas column by the kind of its dtype."""
    try:
        return _converter(series.dtype)(series, name)
    except _FAILURES as error:
        raise DataError(
            f"The pandas column {name!r} of dtype {series.dtype} cannot be read: "
            f"{str(error).splitlines()[0]}. Convert it to text, numbers, dates or booleans first, e.g. with "
            "`.astype(str)`."
        ) from error


def _converter(dtype: Any) -> Callable[[Any, str], pl.Series]:
    """The function that converts a column of this dtype."""
    if isinstance(dtype, np.dtype):
        return _from_objects if dtype.kind == "O" else _from_numpy
    named: dict[str, Callable[[Any, str], pl.Series]] = {
        "CategoricalDtype": _from_categories,
        "DatetimeTZDtype": _from_zoned,
        "ArrowDtype": _from_arrow_backed,
        "StringDtype": _from_text,
        "SparseDtype": _from_sparse,
    }
    kind = type(dtype).__name__
    if kind in named:
        return named[kind]
    return _from_masked if hasattr(dtype, "numpy_dtype") else _refuse


def _from_numpy(series: Any, name: str) -> pl.Series:
    """Numbers, booleans, datetimes and durations; NaN and NaT, pandas' markers for missing, become null."""
    return _numpy_series(series.to_numpy(), name)


def _numpy_series(values: npt.NDArray[Any], name: str) -> pl.Series:
    """A Polars series of a NumPy array, with the units and widths that Polars lacks widened."""
    kind = values.dtype.kind
    if kind in "mM" and np.datetime_data(values.dtype)[0] == "s":
        values = values.astype(f"{kind}8[ms]")
    elif kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    elif kind not in "biufmM":
        raise TypeError(f"values of type {values.dtype} have no Polars counterpart")
    return pl.Series(name, values, nan_to_null=True)


def _from_objects(series: Any, name: str) -> pl.Series:
    """Python objects: all text, or all of the same plain type; anything else is an error."""
    series = series.astype(object).infer_objects()
    if series.dtype != object:  # pandas 3 finds text too
        return _converter(series.dtype)(series, name)
    missing = series.isna().to_numpy()
    values = series.to_numpy().copy()
    values[missing] = None
    kinds = set(map(type, values[~missing]))
    if all(issubclass(kind, str) for kind in kinds):
        return pl.Series(name, values.tolist(), dtype=pl.String)
    if len(kinds) == 1 and kinds <= set(_PLAIN_OBJECTS):
        return pl.Series(name, values.tolist(), strict=True)
    found = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(
        f"The pandas column {name!r} holds objects of type {found}; a column must be all text or all of the same "
        f"plain type. Convert it first, e.g. `frame[{name!r}] = frame[{name!r}].astype(str)`."
    )


def _from_text(series: Any, name: str) -> pl.Series:
    """Text columns: dtype ``string`` of pandas 2, ``str`` of pandas 3; NaN and NA are null."""
    missing = series.isna().to_numpy()
    values = np.array(series.to_numpy(dtype=object), dtype=object)
    values[missing] = None
    return pl.Series(name, values.tolist(), dtype=pl.String)


def _from_categories(series: Any, name: str) -> pl.Series:
    """Look the codes up in the converted categories; code -1 is null."""
    codes = series.cat.codes.to_numpy().astype(np.int64)
    categories = _column(series.cat.categories.to_series(), name)
    places = pl.Series(codes)
    return categories.gather(places.set(places < 0, None))


def _from_zoned(series: Any, name: str) -> pl.Series:
    """Datetimes with a time zone; a zone that Polars does not know is shown as UTC."""
    instants = _numpy_series(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), name)
    instants = instants.dt.replace_time_zone("UTC")
    try:
        return instants.dt.convert_time_zone(str(series.dtype.tz))
    except pl.exceptions.PolarsError:
        return instants


def _from_masked(series: Any, name: str) -> pl.Series:
    """Nullable integers, floats and booleans: the values, with null where the mask says missing."""
    dtype = series.dtype.numpy_dtype
    values = _numpy_series(series.to_numpy(dtype=dtype, na_value=dtype.type(0)), name)
    return values.set(pl.Series(series.isna().to_numpy()), None)


def _from_sparse(series: Any, name: str) -> pl.Series:
    """Sparse columns are made dense first."""
    return _column(series.sparse.to_dense(), name)


def _from_arrow_backed(series: Any, name: str) -> pl.Series:
    """Columns that pandas keeps in Arrow; pyarrow is installed, or they would not exist."""
    import pyarrow

    return pl.Series(name, pyarrow.array(series.array))


def to_pandas(frame: pl.DataFrame) -> Any:
    """A Polars frame as a pandas one, column by column and without pyarrow; missing values become pandas' own.

    Strings and enumerations become categories (of an enumeration only those that occur), whole numbers with missing
    values the nullable integers, days timestamps.
    """
    try:
        import pandas
    except ImportError:
        raise PolicyError("pandas is not installed; install it (pip install pandas), or use the Polars table") from None
    return pandas.DataFrame({name: _to_pandas(frame[name], pandas) for name in frame.columns})


def _to_pandas(series: pl.Series, pandas: Any) -> Any:
    """One column."""
    if series.dtype in (pl.String, pl.Enum, pl.Categorical):
        values = series.drop_nulls().unique(maintain_order=True).sort()
        places = {value: place for place, value in enumerate(values.to_list())}
        codes = series.cast(pl.String).replace_strict(places, default=-1, return_dtype=pl.Int64)
        return pandas.Categorical.from_codes(codes.fill_null(-1).to_numpy(), list(places))
    if series.dtype == pl.Boolean or series.dtype.is_integer():
        return _nullable(series, pandas)
    if series.dtype == pl.Date:
        return pandas.Series(series.cast(pl.Datetime("ms")).to_numpy())
    return pandas.Series(series.to_numpy() if series.dtype.is_numeric() or series.dtype.is_temporal() else list(series))


def _nullable(series: pl.Series, pandas: Any) -> Any:
    """Integers and booleans: NumPy's if nothing is missing, else those of pandas that can be."""
    if not series.null_count():
        return pandas.Series(series.to_numpy())
    return pandas.Series(series.to_list(), dtype="boolean" if series.dtype == pl.Boolean else "Int64")


def _refuse(series: Any, name: str) -> pl.Series:
    """Periods, intervals and other types without a counterpart."""
    raise TypeError("it has no counterpart among text, numbers, dates and booleans")
