"""What only suppressed or single people have is not to be read from any file of a release."""

import base64
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.placement import place
from sfumato.publisher.propose import propose
from sfumato.release.label_meaning import read as read_meanings
from sfumato.table.hierarchy import read_taxonomy
from sfumato.table.tree_forms import masked
from strategies import examples


def written(release: sf.Release) -> dict[str, bytes]:
    """Every file of the release folder."""
    with TemporaryDirectory() as folder:
        release.write(Path(folder) / "release")
        return {file.name: file.read_bytes() for file in sorted((Path(folder) / "release").iterdir())}


def readable(release: sf.Release) -> str:
    """All text in all files: parquet unpacked, with its metadata, its types and their categories."""
    found = []
    for name, content in written(release).items():
        found.append(content.decode("utf-8" if name.endswith((".json", ".csv")) else "latin-1"))
        if name.endswith(".parquet"):
            metadata = pl.read_parquet_metadata(content)
            found += [base64.b64decode(metadata.get("ARROW:schema", "")).decode("latin-1"), str(metadata)]
            frame = pl.read_parquet(content)
            found += [str(t.categories.to_list()) if isinstance(t, pl.Enum) else str(t) for t in frame.dtypes]
            found.append(frame.write_csv())
    return "\n".join(found)


class Domain(NamedTuple):
    """A kind of domain: how the column is read, values that many have, and values that one person has."""

    options: dict[str, Any]
    common: Sequence[Any]
    rare: Sequence[Any]


def _days(*days: str) -> list[dt.date]:
    return [dt.date.fromisoformat(day) for day in days]


DOMAINS = {
    "numbers": Domain({}, [20.0, 22.0, 41.0, 47.0], [3.25, 104.5, 37.0001, -8.0]),
    "dates": Domain({}, _days("1980-05-06", "1981-02-03", "1990-07-08"), _days("1903-01-02", "2013-11-12")),
    "ordinal": Domain({"kinds": "ordinal", "domains": ["lo", "mid", "hi", "top"]}, ["lo", "mid", "hi"], ["top", "mid"]),
    "flat": Domain({"kinds": "categorical"}, ["ann", "bob", "cy"], ["zorro", "aramis"]),
    "declared": Domain({"domains": ["ann", "bob", "cy", "zo"]}, ["ann", "bob", "cy"], ["zo", "bob"]),
    "tree": Domain({"taxonomies": {"Any": {"A": ["a", "b"], "B": ["c", "d"]}}}, ["a", "b", "c"], ["d", "a"]),
    "width": Domain({"taxonomies": {"width": 5}}, [20, 22, 41, 47], [3, 104, 58, 37.0001, -8, 900]),
    "mask": Domain({"taxonomies": {"mask": "right"}}, ["471", "472", "480"], ["999", "475", "112"]),
    "intervals": Domain({"taxonomies": {"intervals": [-10, 0, 25, 45, 999]}}, [20, 22, 41, 47], [3, 104, 37.0001, -8]),
}


def people(domain: Domain, common: Sequence[Any], rare: Any, **others: Any) -> sf.Microdata:
    """Some people of common values, and in the middle of them one who has what nobody else has."""
    alone = {"q": rare, "town": "Elba", "ill": "gout", "out": "bad", "note": 17} | others
    usual = [{"q": q, "town": "Rome", "ill": "flu", "out": "good", "note": i % 2} for i, q in enumerate(common)]
    rows = [*usual[:3], alone, *usual[3:]]
    columns = {name: pl.Series(name, [row[name] for row in rows], strict=False) for name in alone}
    return sf.read(
        pl.DataFrame(columns),
        quasi=["q", "town"],
        sensitive="ill",
        class_="out",
        insensitive=["note"],
        missing="category",
        **{option: {"q": value} for option, value in domain.options.items()},
    )


def incognito(table: sf.Microdata) -> sf.Release:
    method = sf.Incognito(suppression=1.5 / table.rows)
    return sf.publish(table, require=sf.KAnonymity(k=3), method=method, rng=np.random.default_rng(1))


@pytest.mark.parametrize("kind", DOMAINS)
def test_whatever_a_suppressed_person_has_the_files_are_the_same(kind: str) -> None:
    domain, compared = DOMAINS[kind], []

    @given(st.data())
    @examples(25)
    def check(data: st.DataObject) -> None:
        common = data.draw(st.lists(st.sampled_from(domain.common), min_size=5, max_size=12))
        values = st.sampled_from([*domain.rare, domain.common[0], None])
        mine, theirs = data.draw(values), data.draw(values)
        releases = [
            incognito(people(domain, common, mine)),
            incognito(people(domain, common, theirs, town="Capri", ill="palsy", out="worse", note=-4)),
        ]
        methods = [release.manifest["method"] for release in releases]
        assume(all(method["suppressed"] == 1 and method["levels"]["town"] == 0 for method in methods))
        assume(methods[0]["levels"] == methods[1]["levels"])
        assert written(releases[0]) == written(releases[1])
        compared.append(common)

    check()
    assert len(compared) >= 5


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_suppressed_person_leaves_no_trace(kind: str) -> None:
    domain = DOMAINS[kind]
    for rare in domain.rare:
        release = incognito(people(domain, domain.common * 3, rare))
        assert release.manifest["method"]["suppressed"] == 1
        found = readable(release)
        declared = [str(v) for v in domain.options.get("domains", [])] + ["a", "b", "c", "d"] * (kind == "tree")
        absent = ["Elba", "gout", "bad", "17", *([] if str(rare) in declared else [str(rare)])]
        for text in absent:
            assert f'"{text}"' not in found
            assert f",{text}," not in found
        assert "Elba" not in found
        assert "gout" not in found
        release.check()


@pytest.mark.parametrize("kind", DOMAINS)
def test_that_only_a_suppressed_person_lacks_a_value_is_not_told(kind: str) -> None:
    domain = DOMAINS[kind]
    release = incognito(people(domain, domain.common * 3, None))
    assert release.manifest["method"]["suppressed"] == 1
    assert "(missing)" not in readable(release)


def test_the_odd_precision_of_a_suppressed_person_does_not_show() -> None:
    release = incognito(people(DOMAINS["numbers"], [20.0, 41.0] * 3, 37.0001))
    assert release.manifest["attributes"]["q"]["nodes"] == {"20": [20.0, 21.0], "41": [41.0, 42.0]}


def test_a_width_ends_where_the_people_who_are_shown_end() -> None:
    """The widest interval is the one that covers the kept rows, on the level that it has among them."""
    table = people(DOMAINS["width"], [20, 22, 24, 36, 37, 38], 900)
    release = incognito(table)
    attribute = release.manifest["attributes"]["q"]
    assert attribute["nodes"] == {"[20, 25)": [20.0, 25.0], "[35, 40)": [35.0, 40.0]}
    assert attribute["domain"] == [20.0, 40.0]
    assert release.manifest["method"]["levels"] == {"q": 1, "town": 0}
    assert "lost" not in release.manifest["method"], "it depends on how many values there were to hide"
    apart = incognito(people(DOMAINS["width"], [20, 24, 36], 900))
    assert apart.manifest["attributes"]["q"]["nodes"] == {"[20, 40)": [20.0, 40.0]}
    assert apart.manifest["method"]["levels"] == {"q": 3, "town": 0}


# --- samples --------------------------------------------------------------------------------------------------


def sampled(ages: Sequence[Any], taxonomies: Any = None, boxes: Any = "closed") -> sf.Release:
    frame = pl.DataFrame({"age": ages, "ill": ["a", "b"] * (len(ages) // 2) + ["a"] * (len(ages) % 2)})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b"]}, taxonomies=taxonomies)
    method = sf.PG(p=0.5, k=3, boxes=boxes)
    return sf.publish(table, require=sf.KAnonymity(k=3), method=method, rng=np.random.default_rng(2))


AGES = [21.5, 22.5, 23.5, 34.5, 35.5, 36.5, 47.5, 48.5, 49.5, 50.5]


@pytest.mark.parametrize("boxes", ["closed", "tight"])
@pytest.mark.parametrize("extremes", [(3.25, 104.75), (18.125, 61.5), (-70.0, 5e6)])
def test_extremes_of_a_sample_are_open(boxes: str, extremes: tuple[float, float]) -> None:
    release = sampled([extremes[0], *AGES, extremes[1]], boxes=boxes)
    usual = sampled([20.0, *AGES, 52.0], boxes=boxes)
    assert written(release) == written(usual), "who is first and last does not matter"
    attribute = release.manifest["attributes"]["age"]
    assert attribute["nodes"] == {
        "< 23": [None, 23.0],
        "[23, 36)": [23.0, 36.0],
        "[36, 49)": [36.0, 49.0],
        ">= 49": [49.0, None],
    }
    assert attribute["domain"] == [23.0, 49.0]
    assert {f.status for f in release.check()} == {"holds", "stated"}


def test_no_end_of_a_sample_is_a_value_with_more_digits_than_it_needs() -> None:
    incomes = [31_407, 31_911, 32_803, 43_217, 44_000, 48_112, 55_309, 57_120, 59_999, 80_123, 90_111, 99_999]
    found = sampled(incomes).manifest["attributes"]["age"]["nodes"]
    assert list(found) == ["< 40000", ">= 60000", "[40000, 50000)", "[50000, 60000)"]


def test_dates_of_a_sample_end_with_a_year_or_a_month() -> None:
    days = _days("1903-05-06", "1950-02-03", "1950-02-04", "1961-03-09", "1961-04-09", "1961-12-24")
    days += _days("1962-07-08", "1970-01-02", "1971-01-05", "1971-05-05", "1990-01-01", "2013-11-12")
    found = sampled(days).manifest["attributes"]["age"]
    assert found["nodes"] == {
        "< 1961-01-01": [None, "1961-01-01"],
        "[1961-01-01, 1962-01-01)": ["1961-01-01", "1962-01-01"],
        "[1962-01-01, 1971-05-01)": ["1962-01-01", "1971-05-01"],
        ">= 1971-05-01": ["1971-05-01", None],
    }
    assert found["domain"] == ["1961-01-01", "1971-05-01"]


def test_a_sample_that_is_not_cut_tells_nothing_of_its_values() -> None:
    release = sampled([3.25, 20.0, 104.75])
    assert release.manifest["attributes"]["age"]["nodes"] == {"*": None}
    assert release.manifest["attributes"]["age"]["domain"] == []


def test_a_sample_by_mask_names_no_code_that_one_person_has() -> None:
    """Closed boxes reach over codes that nobody in the group has; of these the widest mask is named."""
    tree = masked(["111", "112", "999"], "right", what="zip")
    assert tree.range_label(1, 3) == ("{112, 9**}", ["112", "9**"])
    assert tree.range_label(2, 3) == ("9**", None)
    assert tree.range_label(0, 1) == ("111", ["111"])
    assert tree.range_label(0, 3) == ("*", None)
    by_width = read_taxonomy({"width": 5}, ["31", "33", "36", "52"], name="age")
    assert by_width.range_label(0, 2) == ("[30, 35)", [30.0, 35.0])
    assert by_width.range_label(1, 2) == ("33", [33.0, 34.0])
    assert by_width.range_label(3, 4) == ("[40, 80)", [40.0, 80.0])


@pytest.mark.parametrize("taxonomies", [None, {"age": {"width": 5}}, {"age": {"intervals": [-100, 30, 49, 10**7]}}])
def test_everybody_is_placed_in_an_open_box(taxonomies: Any) -> None:
    frame = pl.DataFrame({"age": [-70.0, *AGES, 5e6], "ill": ["a", "b"] * 6})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b"]}, taxonomies=taxonomies)
    release = sf.publish(table, require=sf.KAnonymity(k=3), method=sf.PG(p=0.5, k=3))
    placed = place(release, table)
    assert not placed.shared.any()
    sizes = release.tables["data"]["G"].to_numpy()
    assert (np.bincount(placed.of_person, minlength=len(sizes)) == sizes).all()


# --- groups ---------------------------------------------------------------------------------------------------

METHODS = ["mondrian", "hilb", "hilb-safe", "tdr"]


def grouped(values: Sequence[Any], method: Any, taxonomies: Any = None, **more: Any) -> sf.Release:
    frame = pl.DataFrame({"q": values, "ill": ["a", "b", "c", "d"] * (len(values) // 4)})
    table = sf.read(frame, quasi=["q"], sensitive="ill", taxonomies=taxonomies, **more)
    by_line = method in ("hilb", "hilb-safe")
    need = sf.LDiversity(l=4, variant="frequency") if by_line else sf.KAnonymity(k=4)
    chosen = sf.TopDown(score="distortion") if method == "tdr" else method
    return sf.publish(table, require=need, method=chosen, rng=np.random.default_rng(3))


@pytest.mark.parametrize("method", METHODS)
def test_declared_intervals_are_the_finest_label(method: str) -> None:
    release = grouped([37.25] * 8 + [41.25] * 8, method, {"q": {"intervals": [0, 18, 40, 65, 120]}})
    assert set(release.tables["data"]["q"].unique()) <= {"[18, 40)", "[40, 65)", "{[18, 40), [40, 65)}", "[0, 120)"}
    assert "37.25" not in readable(release)
    assert "41.25" not in readable(release)
    assert release.manifest["attributes"]["q"]["domain"] == [0.0, 120.0]
    release.check()


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_declared_intervals_in_every_scheme(scheme: Any) -> None:
    frame = pl.DataFrame({"q": [37.25, 41.25] * 4, "ill": ["a", "b"] * 4})
    table = sf.read(frame, quasi=["q"], sensitive="ill", taxonomies={"q": {"intervals": [0, 40, 120]}})
    need = sf.LDiversity(l=2)
    release = sf.publish(table, require=need, method=sf.Mondrian(scheme=scheme))
    assert "37.25" not in readable(release)
    if scheme == "bucketization":
        assert release.manifest["attributes"]["q"]["domain"] == ["[0, 40)", "[40, 120)"]
        assert set(release.tables["quasi"]["q"]) == {"[0, 40)", "[40, 120)"}
    release.check()


def test_declared_intervals_of_a_sensitive_attribute() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4], "pay": [1234, 2345, 3456, 1111]})
    table = sf.read(frame, quasi=["q"], sensitive="pay", taxonomies={"pay": {"intervals": [0, 2000, 4000]}})
    release = sf.publish(table, require=sf.KAnonymity(k=4))
    assert release.tables["data"]["pay"].sort().to_list() == ["[0, 2000)"] * 2 + ["[2000, 4000)"] * 2
    assert "1234" not in readable(release)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("values", "taxonomy"),
    [
        (["111", "112", "113", "111", "115", "117", "112", "119"], {"mask": "right"}),
        ([111, 112, 113, 111, 115, 117, 112, 119], {"width": 20}),
        (["111", "112", "113", "111", "115", "117", "112", "119"], None),
    ],
)
def test_no_label_names_a_value_that_one_person_has(method: str, values: list[Any], taxonomy: Any) -> None:
    kinds = {"q": "categorical"} if taxonomy is None else None
    release = grouped(values, method, {"q": taxonomy} if taxonomy else None, kinds=kinds)
    for single in ("113", "115", "117", "119"):
        assert single not in readable(release), single
    assert read_meanings(release.description.label("q").nodes)
    release.check()


# --- columns that are published as they are --------------------------------------------------------------------


def test_the_type_of_a_column_names_only_what_is_shown() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4], "ill": ["flu", "cold"] * 2, "out": ["y", "n"] * 2})
    domains = {"ill": ["flu", "cold", "plague"], "out": ["y", "n", "never"]}
    table = sf.read(frame, quasi=["q"], sensitive="ill", class_="out", domains=domains)
    release = sf.publish(table, require=sf.KAnonymity(k=2))
    types = release.tables["data"].schema
    assert [types[n].categories.to_list() for n in ("ill", "out")] == [["cold", "flu"], ["n", "y"]]  # type: ignore[attr-defined]
    assert release.manifest["attributes"]["ill"]["domain"] == domains["ill"], "declared"


@pytest.mark.parametrize("dtype", [pl.Enum(["a", "b", "smith"]), pl.Categorical])
def test_an_insensitive_column_does_not_bring_its_categories(dtype: Any) -> None:
    note = pl.Series("note", ["a", "b", "a", "b", "smith"], dtype=dtype)
    frame = pl.DataFrame({"q": [1, 1, 1, 1, 9], "note": note})
    for rows in (frame.filter(pl.col("q") < 5), frame):
        table = sf.read(rows, quasi=["q"], insensitive=["note"])
        release = sf.publish(table, require=sf.KAnonymity(k=2), method=sf.Incognito(suppression=0.2))
        assert "smith" not in readable(release)


def test_a_perturbed_column_warns_that_its_domain_was_found_in_the_data() -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4] * 4, "ill": ["a", "b", "c", "d"] * 4})
    need, domain = sf.MConfidentiality(m=2), {"ill": ["a", "b", "c", "d"]}
    for declared in (True, False):
        table = sf.read(frame, quasi=["q"], sensitive="ill", domains=domain if declared else None)
        told = sf.publish(table, require=need, method="mask+").warnings
        assert any("was not declared" in warning for warning in told) != declared


def test_the_name_of_the_file_is_not_the_title(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30, 31, 32, 33] * 5, "city": ["Rome", "Bari"] * 10})
    frame.write_csv(tmp_path / "hiv_patients_smith.csv")
    proposed = propose(frame, str(tmp_path / "hiv_patients_smith.csv")).to_toml()
    (tmp_path / "policy.toml").write_text(proposed, encoding="utf-8")
    made = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert made.release.manifest["title"] == ""
    assert "smith" not in readable(made.release)


def test_the_loss_does_not_tell_whether_a_suppressed_person_was_alone() -> None:
    """Found by Hypothesis: five people of one day; the sixth, who is left out, has the same day or another."""
    day, other = _days("1980-05-06", "1903-01-02")
    same, apart = (incognito(people(DOMAINS["dates"], [day] * 5, rare)) for rare in (day, other))
    assert written(same) == written(apart)
