"""From a frame to coded columns: types, order, missing values, and what is refused."""

import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.encode import Attribute, Column, Kind, Role, drawn_from, encode, looks_numeric, smallest
from sfumato.table.microdata import Microdata, read
from sfumato.table.ordered_domain import MISSING, OrderedDomain
from sfumato.table.taxonomy import Taxonomy
from strategies import examples


def column(values: Any, **more: Any) -> Column:
    """One quasi-identifier, read from a frame."""
    series = values if isinstance(values, pl.Series) else pl.Series("q", values, strict=False)
    options = {"quasi": ["q"]} | {k: v if k == "missing" else {"q": v} for k, v in more.items()}
    return read(pl.DataFrame({"q": series}), **options)["q"]


def values_of(c: Column) -> list[str]:
    return [c.domain.leaves[code] for code in c.codes]


# --- codes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(1, np.uint8), (2, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)],
)
def test_smallest_type(size: int, dtype: Any) -> None:
    codes = smallest(np.array([0, size - 1]), size)
    assert codes.dtype == dtype
    assert codes.tolist() == [0, size - 1]
    whole = column(list(range(size)))
    assert whole.codes.dtype == dtype
    assert whole.codes.tolist() == list(range(size))


def test_the_type_follows_the_domain_not_the_data() -> None:
    tree = {"Any": [f"v{i}" for i in range(300)]}
    assert column(["v0", "v1"], taxonomies=tree).codes.dtype == np.uint16


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=20))
@examples(60)
def test_whole_numbers(values: list[int]) -> None:
    c = column(values)
    assert c.kind is Kind.CONTINUOUS
    assert isinstance(c.domain, OrderedDomain)
    assert values_of(c) == [str(v) for v in values]
    assert list(c.domain.values) == sorted(set(values))


@given(st.lists(st.floats(-(2.0**53), 2.0**53), min_size=1, max_size=20))
@examples(60)
def test_real_numbers(values: list[float]) -> None:
    c = column(values)
    assert [float(v) for v in values_of(c)] == values
    assert [float(v) for v in c.domain.leaves] == sorted(set(values))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6), min_size=1, max_size=12))
@examples(80)
def test_text(values: list[str]) -> None:
    c = column(values, kinds="categorical")
    assert c.kind is Kind.CATEGORICAL
    assert isinstance(c.domain, Taxonomy)
    assert c.domain.shown_or_suppressed
    assert values_of(c) == values
    assert len(c.domain.leaves) == len(set(values))


@given(st.lists(st.dates(), min_size=1, max_size=12), st.booleans())
@examples(60)
def test_dates(values: list[dt.date], as_text: bool) -> None:
    written: list[Any] = [v.isoformat() for v in values] if as_text else values
    c = column(written, kinds="date") if as_text else column(written)
    assert c.kind is Kind.DATE
    assert values_of(c) == [v.isoformat() for v in values]
    assert list(c.domain.leaves) == sorted({v.isoformat() for v in values})


def test_kinds_that_the_data_tell() -> None:
    assert column(["a", "b"]).kind is Kind.CATEGORICAL
    assert column(["1", "2.5", "-3"]).kind is Kind.CONTINUOUS
    assert column(["1", "x"]).kind is Kind.CATEGORICAL
    assert column([dt.date(2020, 1, 1)]).kind is Kind.DATE
    assert column([dt.datetime(2020, 1, 1, 12)]).kind is Kind.DATE
    assert column([True, False]).kind is Kind.CATEGORICAL
    assert column([1, 2], taxonomies={"Any": ["1", "2"]}).kind is Kind.CATEGORICAL
    assert column([1, 2], domains=["1", "2", "3"]).kind is Kind.CATEGORICAL
    assert column([1, 2], taxonomies={"width": 5}).kind is Kind.CONTINUOUS


def test_other_roles_are_categories() -> None:
    table = read(pl.DataFrame({"a": [3, 20, 100], "b": ["10", "9", "9"]}), sensitive="a", class_="b")
    assert table["a"].domain.leaves == ("3", "20", "100")
    assert table["b"].domain.leaves == ("9", "10")
    assert table["a"].kind is Kind.CATEGORICAL


# --- text that looks like numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "numeric"),
    [
        (["1", "2"], True),
        (["-1.5", "2e3"], True),
        (["02138", "10001"], False),
        (["0", "0.5"], True),
        (["00", "1"], False),
        ([], False),
        ([""], False),
        (["1", ""], False),
        (["1", "inf"], False),
        (["1", "nan"], False),
        (["1", "NaN"], False),
        (["1,5"], False),
        (["1_000"], False),
        (["0x10"], False),
        (["١٢"], False),
        (["1 000"], False),
    ],
)
def test_looks_numeric(texts: list[str], numeric: bool) -> None:
    assert looks_numeric(texts) is numeric


def test_leading_zeros_are_kept() -> None:
    c = column(["02138", "02139", "10001"])
    assert c.kind is Kind.CATEGORICAL
    assert values_of(c) == ["02138", "02139", "10001"]
    masked = column(["02138", "02139", "10001"], taxonomies={"mask": "right"})
    assert masked.domain.path(0) == ["02138", "0213*", "021**", "02***", "0****", "*"]


def test_numbers_in_any_writing() -> None:
    c = column([" 5 ", "5", "1e3", "+2", "-0", "0", "1000.0"], kinds="continuous")
    assert [float(v) for v in c.domain.leaves] == [0, 2, 5, 1000]
    assert c.codes.tolist() == [2, 2, 3, 1, 0, 0, 3]
    assert c.domain.leaves[0] == "0"


@pytest.mark.parametrize("bad", ["inf", "-inf", "nan", "NaN", "Infinity"])
def test_numbers_that_are_none(bad: str) -> None:
    with pytest.raises(DataError, match=r"'q'.*(finite|not numbers)"):
        column(["1", bad], kinds="continuous")


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "class_"])
def test_floats_that_are_no_numbers(bad: float, role: str) -> None:
    with pytest.raises(DataError, match="only finite numbers"):
        read(pl.DataFrame({"q": [1.0, bad]}), **{role: "q"})


def test_words_in_a_continuous_column_are_named() -> None:
    with pytest.raises(DataError, match=r"2 of its 3 distinct values are not numbers: '\?', 'old'"):
        column(["1", "old", "?"], kinds="continuous")


@pytest.mark.parametrize("values", [[2**53 + 2, 1], [-(2**60), 1], ["9007199254740994", "1"], [1e300, 1.0]])
def test_numbers_beyond_what_is_exact(values: list[Any]) -> None:
    with pytest.raises(DataError, match="2\\^53"):
        column(values, kinds="continuous")


def test_large_codes_are_exact_as_categories() -> None:
    values = [2**63 - 1, 2**63 - 2, -(2**63), 2**53 + 1]
    c = column(values, kinds="categorical")
    assert values_of(c) == [str(v) for v in values]
    unsigned = column(pl.Series("q", [2**64 - 1, 2**64 - 2, 0], dtype=pl.UInt64), kinds="categorical")
    assert values_of(unsigned) == [str(v) for v in (2**64 - 1, 2**64 - 2, 0)]


def test_numbers_of_128_bits() -> None:
    """As an identifier-like category they are coded; as a number they are refused in words."""
    series = pl.Series("q", [2**100, 3], dtype=pl.Int128)
    assert values_of(column(series, kinds="categorical")) == [str(2**100), "3"]
    with pytest.raises(DataError, match="2\\^53"):
        column(series)


# --- types -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("series", "leaves"),
    [
        (pl.Series("q", [True, False, True]), ("false", "true")),
        (pl.Series("q", ["b", "a"], dtype=pl.Categorical), ("a", "b")),
        (pl.Series("q", ["b", "a"], dtype=pl.Enum(["b", "a", "c"])), ("a", "b")),
        (pl.Series("q", [decimal.Decimal("1.50"), decimal.Decimal("-2")]), ("-2", "1.5")),
        (pl.Series("q", [1, 2, 200], dtype=pl.UInt8), ("1", "2", "200")),
        (pl.Series("q", [0.5, 2.0], dtype=pl.Float32), ("0.5", "2")),
        (pl.Series("q", [dt.time(1, 2), dt.time(0)]), ("00:00:00", "01:02:00")),
        (pl.Series("q", [dt.datetime(2020, 1, 2, 23, 59), dt.datetime(2019, 5, 6)]), ("2019-05-06", "2020-01-02")),
    ],
    ids=lambda v: str(v.dtype) if isinstance(v, pl.Series) else "",
)
def test_types(series: pl.Series, leaves: tuple[str, ...]) -> None:
    assert column(series).domain.leaves == leaves


def test_single_precision_shows_what_it_holds() -> None:
    """A tenth in single precision is shown as 0.1, not as 0.10000000149011612."""
    assert column(pl.Series("q", [0.1, 0.2], dtype=pl.Float32)).domain.leaves == ("0.1", "0.2")


def test_a_day_is_the_local_day() -> None:
    """Half past midnight in Rome on 2 January is the second, though it is the first in Greenwich."""
    at = pl.Series("q", [dt.datetime(2020, 1, 2, 0, 30)]).dt.replace_time_zone("Europe/Rome")
    assert column(at).domain.leaves == ("2020-01-02",)


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("q", [[1], [2]]),
        pl.Series("q", [{"a": 1}]),
        pl.Series("q", [b"x"]),
        pl.Series("q", [dt.timedelta(1)]),
    ],
    ids=lambda s: str(s.dtype),
)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_types_refused(series: pl.Series, role: str) -> None:
    with pytest.raises(DataError, match="'q'"):
        read(pl.DataFrame({"q": series}), **{role: "q"})


def test_pandas_categories_and_nulls() -> None:
    frame = pd.DataFrame({"q": pd.Categorical(["x", None, "y"]), "n": [1.5, np.nan, 3]}, index=[9, 9, 4])
    table = read(frame, quasi=["q", "n"], missing="category")
    assert values_of(table["q"]) == ["x", MISSING, "y"]
    assert values_of(table["n"]) == ["1.5", MISSING, "3"]


# --- dates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    ["2020-02-30", "2020-13-01", "31.12.2020", "20200101", "yesterday", "", "2020-1", "0000-12-31", "2020-01-01xyz"],
)
def test_dates_refused(bad: str) -> None:
    with pytest.raises(DataError, match="'q' is a date but holds"):
        column(["2020-01-01", bad], kinds="date")


def test_dates_with_a_time() -> None:
    c = column(["2020-01-02 10:00:00", "2020-01-02T11:00", "2020-01-01"], kinds="date")
    assert c.codes.tolist() == [1, 1, 0]
    assert c.domain.leaves == ("2020-01-01", "2020-01-02")


def test_the_open_end_of_dates() -> None:
    c = column(["2020-01-01", "9999-12-31"] * 2, kinds="date")
    assert c.domain.label(0, 2).startswith("[2020-01-01, ")


def test_numbers_as_dates_are_refused() -> None:
    with pytest.raises(DataError, match="'q'"):
        column([20200101, 20200102], kinds="date")


# --- order, domains, kinds -----------------------------------------------------------------------------------


def test_order_of_values() -> None:
    assert column(["b", "a", "C"]).domain.leaves == ("C", "a", "b")
    assert column(["10", "9"], kinds="categorical").domain.leaves == ("9", "10")
    assert column(["b", "a"], domains=["b", "c", "a"]).domain.leaves == ("b", "c", "a")
    ordinal = column(["low", "high"], kinds="ordinal", domains=["low", "medium", "high"])
    assert ordinal.domain.leaves == ("low", "medium", "high")
    assert ordinal.codes.tolist() == [0, 2]
    assert isinstance(ordinal.domain, OrderedDomain)


def test_domains_refused() -> None:
    with pytest.raises(DataError, match="1 values that are not in its declared domain: 'c'"):
        column(["a", "c"], domains=["a", "b"])
    with pytest.raises(PolicyError, match="twice"):
        column(["a"], domains=["a", "a"])
    with pytest.raises(PolicyError, match="empty"):
        column(["a"], domains=[])
    with pytest.raises(PolicyError, match="both a domain and a taxonomy"):
        column(["a"], domains=["a"], taxonomies={"Any": ["a"]})


@pytest.mark.parametrize(
    ("kind", "told"),
    [("continous", "did you mean 'continuous'"), (5, "choose from 'categorical', 'continuous', 'date'")],
)
def test_a_kind_that_is_none(kind: Any, told: str) -> None:
    with pytest.raises(PolicyError, match=f"unknown kind {kind!r}; {told}"):
        column([1, 2], kinds=kind)


# --- missing values --------------------------------------------------------------------------------------------


def with_nulls() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "n": [1, None, 3],
            "t": ["x", "y", None],
            "ill": ["a", "a", None],
            "note": [None, None, "z"],
            "id": [None, 1, 2],
        }
    )


ROLES: dict[str, Any] = {"quasi": ["n", "t"], "sensitive": "ill", "insensitive": ["note"], "identifiers": ["id"]}


def test_missing_is_an_error_by_default() -> None:
    with pytest.raises(DataError, match=r"3 columns have missing values: 'n' \(1\), 't' \(1\), 'ill' \(1\)"):
        read(with_nulls(), **ROLES)
    with pytest.raises(DataError, match=r"1 column has missing values: 'n' \(1\);"):
        read(with_nulls(), quasi=["n"], insensitive=["note"], identifiers=["id"])
    read(with_nulls(), insensitive=["note"], identifiers=["id"])


def test_missing_as_a_category() -> None:
    table = read(with_nulls(), **ROLES, missing="category")
    assert values_of(table["n"]) == ["1", MISSING, "3"]
    assert values_of(table["t"]) == ["x", "y", MISSING]
    assert values_of(table["ill"]) == ["a", "a", MISSING]
    assert table.plain["note"].to_list() == [None, None, "z"]
    assert table.dropped == 0


def test_missing_dropped() -> None:
    table = read(with_nulls(), **ROLES, missing="drop")
    assert (table.rows, table.dropped) == (1, 2)
    assert values_of(table["n"]) == ["1"]
    assert table["t"].domain.leaves == ("x",)
    assert table.hidden["id"].to_list() == [None]
    with pytest.raises(DataError, match="leaves none"):
        read(pl.DataFrame({"n": [1, None], "t": [None, "x"]}), quasi=["n", "t"], missing="drop")


@pytest.mark.parametrize("wrong", ["ignore", None, True, ""])
def test_missing_rules_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match="missing"):
        read(with_nulls(), **ROLES, missing=wrong)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"kinds": "continuous"},
        {"kinds": "ordinal", "domains": ["1", "2", "3"]},
        {"kinds": "categorical"},
        {"taxonomies": {"Any": ["1", "2", "3"]}},
        {"taxonomies": {"width": 2}},
        {"taxonomies": {"mask": "right"}},
        {"domains": ["1", "2", "3"]},
        {"domains": ["1", "2", "3", MISSING]},
    ],
    ids=str,
)
def test_missing_in_every_form(more: dict[str, Any]) -> None:
    c = column(pl.Series("q", ["1", None, "3", "1"]), missing="category", **more)
    assert values_of(c) == ["1", MISSING, "3", "1"]
    assert c.domain.leaves.count(MISSING) == 1
    assert c.codes.max() < c.size


def test_missing_beside_declared_intervals() -> None:
    c = column(pl.Series("q", ["1", None, "3", "1"]), missing="category", taxonomies={"intervals": [0, 2, 5]})
    assert values_of(c) == ["[0, 2)", MISSING, "[2, 5)", "[0, 2)"]
    assert c.domain.leaves == ("[0, 2)", "[2, 5)", MISSING)


@pytest.mark.parametrize(
    "more",
    [{}, {"kinds": "continuous"}, {"taxonomies": {"width": 2}}, {"taxonomies": {"mask": "right"}}, {"domains": ["1"]}],
    ids=str,
)
def test_everything_missing(more: dict[str, Any]) -> None:
    c = column(pl.Series("q", [None, None], dtype=pl.String), missing="category", **more)
    assert values_of(c) == [MISSING, MISSING]


@pytest.mark.parametrize(
    "more",
    [
        {"domains": ["1", "2", "3"]},
        {"domains": ["1", "2", "3", MISSING]},
        {"domains": ["1", "2", "3"], "kinds": "ordinal"},
        {"domains": ["1", MISSING, "2", "3"], "kinds": "ordinal"},
        {"taxonomies": {"Any": {"odd": ["1", "3"], "even": ["2"]}}},
        {"taxonomies": {"Any": ["1", "2", "3", MISSING]}},
        {"domains": ["1"]},
    ],
)
def test_a_declared_domain_is_the_same_whether_or_not_a_value_is_missing(more: dict[str, Any]) -> None:
    """What values are drawn from was declared before the data are seen, and must not tell whether one is missing."""
    full = drawn_from(column(["1", "1"], missing="category", **more))
    partly = drawn_from(column(["1", None], missing="category", **more))
    assert full.domain.leaves == partly.domain.leaves
    assert full.domain.leaves[-1] == MISSING
    assert full.domain.leaves.count(MISSING) == 1
    assert full.declared and partly.declared  # noqa: PT018 - one fact of two columns
    assert (full.codes.tolist(), partly.codes.tolist()) == ([0, 0], [0, full.size - 1])
    never = drawn_from(column(["1", "1"], **more))
    assert (MISSING in never.domain.leaves) == (MISSING in str(more))


def test_a_domain_that_nobody_declared_has_the_missing_category_where_it_occurs() -> None:
    assert drawn_from(column(["a", None], missing="category")).domain.leaves == ("a", MISSING)
    assert drawn_from(column(["a", "a"], missing="category")).domain.leaves == ("a",)


def test_a_value_named_like_a_missing_one() -> None:
    """`(missing)` as a text beside true nulls: the two become one value, never two of one name."""
    for more in ({}, {"kinds": "ordinal", "domains": ["a", MISSING]}, {"taxonomies": {"Any": ["a", MISSING]}}):
        c = column(["a", MISSING, None], missing="category", **more)
        assert len(set(c.domain.leaves)) == len(c.domain.leaves)
        assert values_of(c) == ["a", MISSING, MISSING]
        assert c.codes[1] == c.codes[2]


def test_nulls_by_name() -> None:
    frame = pl.DataFrame({"q": ["?", "NA", "1", "2"]})
    table = read(frame, quasi=["q"], missing="drop", nulls=["?", "NA"])
    assert values_of(table["q"]) == ["1", "2"]


# --- roles -------------------------------------------------------------------------------------------------


def test_roles() -> None:
    frame = pl.DataFrame(
        {"z": [1, 2], "a": ["x", "y"], "s": ["u", "v"], "c": [0, 1], "i": ["Eve", "Bob"], "left": [1, 2]}
    )
    table = read(frame, quasi=["a", "z"], sensitive="s", class_="c", identifiers=["i"])
    assert list(table.columns) == ["z", "a", "s", "c"]  # in the order of the table
    assert [c.name for c in table.quasi] == ["z", "a"]
    assert [c.name for c in table.sensitive] == ["s"]
    assert [c.name for c in table.with_role(Role.CLASS)] == ["c"]
    assert table.hidden.columns == ["i"]
    assert "left" not in table.plain.columns
    assert "Eve" not in repr(table)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"quasi": ["q", "nope"]}, "nope"),
        ({"quasi": ["q"], "sensitive": "q"}, "more than one role"),
        ({"quasi": ["q", "q"]}, "more than one role"),
        ({"quasi": ["q"], "taxonomies": {"r": {"Any": ["a"]}}}, "'r'"),
        ({"quasi": ["q"], "kinds": {"r": "date"}}, "'r'"),
        ({"quasi": ["q"], "domains": {"r": ["a"]}}, "'r'"),
    ],
)
def test_roles_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SfumatoError, match=told):
        read(pl.DataFrame({"q": ["a", "b"]}), **options)


def test_empty_tables_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        read(pl.DataFrame({"q": []}, schema={"q": pl.String}), quasi=["q"])
    with pytest.raises(DataError, match="no rows"):
        Microdata.from_frame(pl.DataFrame({"q": []}), [Attribute(name="q", role=Role.QUASI)])


def test_a_role_by_a_single_name() -> None:
    """One column may be named without a list, for every role."""
    frame = pl.DataFrame({"q": ["ab", "b"], "i": ["p", "q"]})
    table = read(frame, quasi="q", identifiers="i")
    assert list(table.columns) == ["q"]
    assert table.hidden.columns == ["i"]


def test_an_unknown_column_of_microdata() -> None:
    table = read(pl.DataFrame({"q": [1]}), quasi=["q"])
    with pytest.raises(PolicyError, match="'z'"):
        table["z"]
    with pytest.raises(PolicyError, match="'z'"):
        table.counted("z")


# --- counting, plain columns -----------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=20))
@examples(60)
def test_counting_any_column(values: list[str | None]) -> None:
    series = pl.Series("who", values, dtype=pl.String)
    table = read(pl.DataFrame({"q": range(len(values)), "who": series}), quasi=["q"], identifiers=["who"])
    codes, size = table.counted("who")
    assert len(set(codes.tolist())) == len(set(values)) == size
    assert all((codes[i] == codes[0]) == (v == values[0]) for i, v in enumerate(values))


@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        (["1", "2", None], pl.Int64),
        (["1.5", "2.0"], pl.Float64),
        (["01", "2"], pl.String),
        (["1.50"], pl.String),
        (["1", "x"], pl.String),
        (["-0", "1"], pl.String),
        (["1e3"], pl.String),
        ([" 1"], pl.String),
    ],
)
def test_insensitive_text_becomes_numbers_only_where_nothing_changes(texts: Sequence[str | None], dtype: Any) -> None:
    table = read(pl.DataFrame({"q": range(len(texts)), "p": texts}), quasi=["q"], insensitive=["p"])
    assert table.plain["p"].dtype == dtype
    assert table.plain["p"].cast(pl.String).to_list() == list(texts)


def test_a_kind_by_its_word_is_the_kind() -> None:
    """An attribute that takes `date` as a word must not code the column as anything else."""
    attribute = Attribute(name="x", role=Role.QUASI, kind="date")  # type: ignore[arg-type]
    assert encode(pl.Series(["2020-01-02", "2020-01-01"]), attribute).kind is Kind.DATE


def test_encode_alone() -> None:
    c = encode(pl.Series(["b", None, "a"]), Attribute(name="x", role=Role.SENSITIVE))
    assert c.domain.leaves == ("a", "b", MISSING)
    assert c.codes.tolist() == [1, 2, 0]
