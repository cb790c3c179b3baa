"""What objects show in a notebook: short, escaped, and nothing private."""

import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import sfumato as sf
from sfumato import notebook
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import overview
from sfumato.engine.parts import Parts, compress
from sfumato.method.catalogue import METHODS
from sfumato.publisher.publish import Published
from sfumato.release.check.finding import Finding, Findings
from sfumato.release.judgement import listed
from sfumato.release.part_tables import PartTables

PEOPLE = 12


def shown(thing: object) -> str:
    """All that a notebook can show of an object."""
    html = thing._repr_html_() if hasattr(thing, "_repr_html_") else ""
    return repr(thing) + str(thing) + html


def small(**more: list[Any]) -> pl.DataFrame:
    ages = [21, 22, 23, 24, 35, 36, 37, 38, 51, 52, 53, 54]
    return pl.DataFrame({"age": ages, "ill": ["flu", "cold", "gout"] * 4, **more})


def hospital() -> sf.Microdata:
    return sf.read(small(), quasi=["age"], sensitive="ill")


@st.composite
def secret_tables(draw: st.DrawFn) -> tuple[pl.DataFrame, list[str]]:
    """A table in which every value is a sentinel, and the sentinels as text."""
    words = st.text("qxzjw<&\"'", min_size=8, max_size=12)
    texts = draw(st.lists(words, min_size=PEOPLE * 4, max_size=PEOPLE * 4, unique=True))
    numbers = draw(st.lists(st.integers(10**8, 10**9 - 1), min_size=PEOPLE, max_size=PEOPLE, unique=True))
    days = [date(3000 + n, 1, 1) for n in draw(st.lists(st.integers(1, 900), min_size=PEOPLE, max_size=PEOPLE))]
    columns = [texts[i * PEOPLE : (i + 1) * PEOPLE] for i in range(4)]
    frame = pl.DataFrame(
        dict(zip(["name", "job", "ill", "note"], columns, strict=True)) | {"pay": numbers, "born": days}
    )
    return frame, [*texts, *map(str, numbers), *(f"{n:,}" for n in numbers), *(str(day) for day in days)]


def private_objects(frame: pl.DataFrame) -> list[object]:
    """What a steward may look at before anything is published."""
    table = sf.read(frame, identifiers=["name"], quasi=["job", "pay", "born"], sensitive="ill", insensitive=["note"])
    engine = LocalEngine(table)
    counts = engine.count(["job", "pay", "born", "ill"])
    method, wanted = sf.Mondrian(), listed(sf.KAnonymity(k=3))
    decision = method.decide(counts, method.bind(table, wanted), Draws(), lambda stage, done: None)
    people = sf.Population(frame)
    return [
        table, *table.columns.values(), *(c.domain for c in table.columns.values()), counts, counts.people(),
        overview(engine, ["name"]), decision, decision.grouping, people,
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(secret_tables())
def test_no_private_value_is_shown(secret: tuple[pl.DataFrame, list[str]]) -> None:
    frame, values = secret
    for thing in private_objects(frame):
        text = shown(thing)
        assert not [v for v in values if v in text or notebook.escape(v) in text], type(thing)


@settings(max_examples=25, deadline=None)
@given(secret_tables())
def test_a_release_shows_only_what_it_publishes(secret: tuple[pl.DataFrame, list[str]]) -> None:
    frame, _ = secret
    table = sf.read(frame, identifiers=["name"], quasi=["pay"], sensitive="ill")
    release = sf.publish(table, require=sf.KAnonymity(k=4))
    told = shown(release) + shown(sf.Analyst(release)) + shown(sf.summarize(release, table)) + shown(release.check())
    public = str(release.manifest) + "".join(str(f.to_dict(as_series=False)) for f in release.tables.values())
    for value in [*frame["name"], *map(str, frame["pay"])]:
        assert value in public or (value not in told and notebook.escape(value) not in told)


def test_what_is_shown_is_short_and_says_what_it_is() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method="mondrian", title="Wards")
    assert repr(table) == "Microdata(12 rows; quasi: age; sensitive: ill)"
    assert repr(table["ill"]) == "Column('ill', sensitive, categorical, 3 values)"
    assert repr(release) == "Release(12 rows by mondrian, generalization; k-anonymity)"
    assert f"k = {release.manifest['requirements'][0]['achieved']['k']:g}" in release._repr_html_()
    assert "Wards" in release._repr_html_()
    assert repr(sf.Analyst(release)) == f"Analyst({release!r}, sampling='fixed')"
    summary = sf.summarize(release, table)
    assert repr(summary).startswith("Summary(12 of 12 rows published by mondrian in 2 groups")
    assert all(len(repr(thing)) < 200 for thing in (table, release, summary, *private_objects_of(table)))


def private_objects_of(table: sf.Microdata) -> list[object]:
    counts = LocalEngine(table).count(["age", "ill"])
    assert isinstance(counts, Counts)
    return [counts, table["age"].domain, table["ill"].domain]


def test_decisions_of_every_scheme() -> None:
    table = sf.read(small(), quasi=["age"], sensitive="ill", domains={"ill": ["cold", "flu", "gout"]})
    told = {}
    for name, wanted in {
        "mondrian": sf.KAnonymity(k=4),
        "anatomy": sf.LDiversity(l=3),
        "pg": sf.Growth(delta=0.5, skew=0.5),
        "rr": sf.Disclosure(tau=0.99),
    }.items():
        cls = METHODS[name]
        method = cls(**{"pg": {"k": 3}, "rr": {"keep": {"age": 0.5}}}.get(name, {}))
        prepared = method.prepared(table)
        bound = method.bind(prepared, listed(wanted))
        counts = LocalEngine(prepared).count(["age", *method.counted(prepared, bound), "ill"])
        decision = method.decide(counts, bound, Draws(np.random.default_rng(1)), lambda stage, done: None)
        told[name] = shown(decision)
    assert "people: 12" in told["mondrian"]
    assert "groups: 2" in told["mondrian"]
    assert "groups: 4" in told["anatomy"]
    assert told["pg"].startswith("Sample(people: 12")
    assert "age kept: " in told["rr"]
    assert not [value for value in ("flu", "cold", "gout") if any(value in text for text in told.values())]


def test_markup_in_the_data_is_escaped() -> None:
    mean = "<script>alert(1)</script>"
    table = sf.read(small(**{mean: [mean] * 6 + ["b"] * 6}), quasi=["age"], sensitive="ill", insensitive=[mean])
    release = sf.publish(table, require=sf.KAnonymity(k=4), title=mean)
    for thing in (table, release, sf.Analyst(release), release.check(), sf.summarize(release, table)):
        assert "<script" not in thing._repr_html_()  # type: ignore[attr-defined]
    broken = Findings([Finding(mean, "broken", mean)])
    assert "<script" not in broken._repr_html_()
    answer = sf.Analyst(release).count("age >= 30")
    assert "95% interval" in answer._repr_html_()
    assert "1 of 1 claims are broken" in broken._repr_html_()


@pytest.mark.parametrize("manifest", [{}, {"rows": "many"}, {"rows": 3, "scheme": "none", "warnings": ["w"]}])
def test_a_release_with_a_broken_manifest_can_still_be_looked_at(manifest: dict[str, Any]) -> None:
    release = sf.Release(manifest, {"data": pl.DataFrame({"a": [1, None]})})
    assert "Release(" in shown(release)


def test_a_release_in_parts_is_looked_at_without_reading_it(tmp_path: Path) -> None:
    release = sf.publish(hospital(), require=sf.KAnonymity(k=4), method="mondrian")
    frame = release.tables["data"]
    frame.write_parquet(tmp_path / "part-0.parquet")
    files = [tmp_path / "part-0.parquet", tmp_path / "never-read.parquet"]
    parts = Parts(files, frame.schema, 30_000_000, *compress(frame))
    shown = sf.Release(release.manifest, PartTables({"data": parts}))._repr_html_()
    assert "data: 30,000,000 rows, 2 columns" in shown


def test_ipython_displays_them(tmp_path: Any) -> None:
    """A notebook, cell by cell, in IPython itself: what the last line shows is the object's own HTML."""
    small().write_csv(tmp_path / "ward.csv")
    shell = InteractiveShell.instance(colors="nocolor", history_length=0)
    shell.display_formatter.active_types = shell.display_formatter.format_types  # as in a notebook
    cells = [
        "import sfumato as sf",
        f"table = sf.read({str(tmp_path / 'ward.csv')!r}, quasi=['age'], sensitive='ill')\ntable",
        "release = sf.publish(table, require=sf.KAnonymity(k=4))\nrelease",
        "release.check()",
        "sf.Analyst(release)",
        "release.to_pandas()",
    ]
    try:
        for cell in cells:
            done = shell.run_cell(cell, store_history=False)
            done.raise_error()
            if cell != cells[0]:
                data, _ = shell.display_formatter.format(done.result)
                assert data["text/html"].startswith("<div")
    finally:
        InteractiveShell.clear_instance()


def test_a_refuted_method_warns_from_python() -> None:
    for method in ("mondrian", "hilb", "hilb+", "incognito"):
        with pytest.warns(sf.RefutedMethodWarning, match=rf"^{method.replace('+', '[+]')}: ") as caught:
            sf.publish(hospital(), require=sf.LDiversity(l=2), method=method)
        assert [w.filename for w in caught] == [__file__]
    with pytest.warns(sf.RefutedMethodWarning, match="The risk that tau bounds"):
        sf.publish(hospital(), require=sf.Disclosure(tau=0.9), method=sf.RandomizedResponse(keep={"age": 0.9}))


def test_a_safe_method_and_sizes_alone_do_not_warn(tmp_path: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.RefutedMethodWarning)
        sf.publish(hospital(), require=sf.LDiversity(l=3), method="mondrian+")
        sf.publish(hospital(), require=sf.KAnonymity(k=4), method="mondrian")
        small().write_csv(tmp_path / "ward.csv")
        policy = '[data]\nsource = "ward.csv"\n[attributes]\nage = "quasi"\nill = "sensitive"\n'
        policy += '[[require]]\nmodel = "l-diversity"\nl = 2\n[method]\nname = "hilb"\n'
        (tmp_path / "policy.toml").write_text(policy)
        done = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "out", ledger=False)  # the command prints its own
    assert isinstance(done, Published)
    assert done.warnings
    assert "To hand over" in done._repr_html_()
    assert len(repr(done)) < 300


def test_pandas_in_and_out() -> None:
    frame = small(visits=[1, 2, None] * 4, day=[date(2025, 1, 1 + i) for i in range(12)], kept=[True, False] * 6)
    table = sf.read(pd.DataFrame(frame.to_dict(as_series=False)), quasi=["age"], sensitive="ill",
                    insensitive=["visits", "day", "kept"])  # fmt: skip
    release = sf.publish(table, require=sf.KAnonymity(k=4))
    out = release.to_pandas()
    data = release.tables["data"]
    assert list(out.columns) == data.columns
    assert len(out) == 12
    assert out["age"].astype(str).tolist() == data["age"].cast(pl.String).to_list()
    assert out["ill"].tolist() == data["ill"].to_list()
    assert set(out["ill"].cat.categories) == {"cold", "flu", "gout"}
    assert out["visits"].isna().sum() == 4
    assert out["kept"].dtype == bool
    assert pd.api.types.is_datetime64_any_dtype(out["day"])
    again = sf.read(out, quasi=["age"], sensitive="ill")
    assert again.rows == 12
    assert again["age"].size == len(set(data["age"]))


def test_pandas_of_a_bucketized_release() -> None:
    release = sf.publish(hospital(), require=sf.LDiversity(l=3), method=sf.Anatomy(scheme="bucketization"))
    assert set(release.to_pandas("sensitive").columns) >= {"group", "ill"}
    with pytest.raises(sf.PolicyError, match="name one of them"):
        release.to_pandas()
    with pytest.raises(sf.PolicyError, match="no table 'data'"):
        release.to_pandas("data")
