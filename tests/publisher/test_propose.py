"""What `sfumato init` proposes for tables as stewards have them, and that no table breaks its text."""

import datetime as dt
import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.publisher.column_roles import order, profile, recognize, tokens
from sfumato.publisher.proposal import Proposal, comment, escape, toml
from sfumato.publisher.propose import propose
from sfumato.publisher.publish import publish_policy
from sfumato.table.missing_markers import means_missing

ROWS = 120


def cycle(*values: Any, rows: int = ROWS) -> list[Any]:
    return [values[i % len(values)] for i in range(rows)]


def hospital(rows: int = ROWS) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient_id": [f"P{i:05}" for i in range(rows)],
            "Name": [f"Anna Bell{i}" for i in range(rows)],
            "email": [f"anna{i}@example.org" for i in range(rows)],
            "dateOfBirth": [f"19{i % 90 + 10}-03-{i % 28 + 1:02}" for i in range(rows)],
            "sex": cycle("F", "M", rows=rows),
            "zip": [f"{i * 37 % 90000 + 10000}" for i in range(rows)],
            "height_cm": [str(150 + i % 50) for i in range(rows)],
            "pain": cycle("low", "high", "medium", rows=rows),
            "length_of_stay": [str(i % 9) for i in range(rows)],
            "diagnosis": cycle("flu", "asthma", "cancer", "HIV", rows=rows),
            "readmitted": cycle("no", "no", "yes", rows=rows),
            "hospital": ["St. Mary"] * rows,
            "remarks": [f"came in at night number {i}, was sent home again soon" for i in range(rows)],
        }
    )


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table as a parquet file or a database would give it."""
    return frame.with_columns(
        pl.col("dateOfBirth").str.to_date(),
        pl.col("zip", "height_cm", "length_of_stay").cast(pl.Int64),
        pl.col("sex").cast(pl.Categorical),
    )


def roles(proposal: Proposal) -> dict[str, str]:
    return {attribute.name: attribute.role for attribute in proposal.attributes}


def only(values: list[Any], name: str = "x") -> Any:
    """What is proposed of a single column."""
    return propose(pl.DataFrame({name: values}), "t.csv").attributes[0]


def policy(proposal: Proposal) -> dict[str, Any]:
    return tomllib.loads(proposal.to_toml())


def unexplained(entry: dict[str, Any]) -> dict[str, Any]:
    """What the policy says of an attribute, without the reason."""
    assert entry.pop("reason")
    return entry


@pytest.mark.parametrize("frame", [hospital(), typed(hospital())], ids=["text", "typed"])
def test_hospital(frame: pl.DataFrame) -> None:
    proposal = propose(frame, "data/hospital_stays-2025.csv")
    assert roles(proposal) == {
        "patient_id": "identifier",
        "Name": "identifier",
        "email": "identifier",
        "dateOfBirth": "quasi",
        "sex": "quasi",
        "zip": "quasi",
        "height_cm": "quasi",
        "pain": "quasi",
        "length_of_stay": "insensitive",
        "diagnosis": "sensitive",
        "readmitted": "class",
        "hospital": "insensitive",
        "remarks": "drop",
    }
    text = policy(proposal)
    assert text["title"] == "", "the title is public, and the name of a file may tell whom it is about"
    assert text["data"] == {"source": "data/hospital_stays-2025.csv", "missing": "error", "others": "error"}
    assert "method" not in text, "one is chosen when the table is published"
    assert unexplained(text["attributes"]["dateOfBirth"]) == {"role": "quasi", "kind": "date"}
    assert unexplained(text["attributes"]["height_cm"]) == {"role": "quasi", "kind": "continuous"}
    assert text["attributes"]["zip"]["taxonomy"] == {"mask": "right"}
    assert text["attributes"]["zip"]["kind"] == "categorical"
    assert text["attributes"]["sex"]["taxonomy"] == {"Any": ["F", "M"]}
    assert unexplained(text["attributes"]["pain"]) == {
        "role": "quasi",
        "kind": "ordinal",
        "domain": ["low", "medium", "high"],
    }
    assert unexplained(text["attributes"]["Name"]) == {"role": "identifier"}
    assert text["require"] == [
        {"model": "k-anonymity", "k": 5},
        {"model": "l-diversity", "variant": "frequency", "l": 2},  # with 3, mondrian+ would leave one group
    ]
    assert not proposal.warnings


def census() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [str(17 + i % 60) for i in range(ROWS)],
            "workclass": cycle("Private", "State-gov", "Self-emp", "Never", "Local", "Federal", "Without-pay"),
            "education": cycle("HS-grad", "Bachelors", "Preschool", "Masters"),
            "education-num": [str(1 + i % 16) for i in range(ROWS)],
            "marital-status": cycle("Married", "Divorced", "Widowed"),
            "occupation": cycle(*(f"job {letter}" for letter in "abcdefghij")),
            "race": cycle("White", "Black", "Other"),
            "sex": cycle("Male", "Female"),
            "capital-gain": ["0"] * (ROWS - 20) + [str(1000 + i) for i in range(20)],
            "native-country": ["Holland", *cycle("United-States", "Peru", "Cuba", rows=ROWS - 1)],
            "income": cycle("<=50K", "<=50K", ">50K"),
        }
    )


def test_census() -> None:
    proposal = propose(census(), "adult.csv")
    found = roles(proposal)
    assert found.pop("income") == "class"
    assert set(found.values()) == {"quasi"}
    attributes = policy(proposal)["attributes"]
    assert attributes["education"]["domain"] == ["Preschool", "HS-grad", "Bachelors", "Masters"]
    whys = {a.name: a.why for a in proposal.attributes}
    for name, kind in (("education-num", "continuous"), ("occupation", "categorical")):
        assert attributes[name] == {"role": "quasi", "kind": kind, "reason": whys[name]}
    reasons = {a.name: a.reason for a in proposal.attributes}
    assert "file.csv" in reasons["workclass"]
    assert "fewer than 5 rows: 1 (such as 'Holland')" in reasons["native-country"]
    assert "83% of the rows" in reasons["capital-gain"]
    assert reasons["capital-gain"].startswith("unsure: ")
    assert [r["model"] for r in policy(proposal)["require"]] == ["k-anonymity"]
    assert any("l-diversity" in warning for warning in proposal.warnings)


def test_customers() -> None:
    customers = pl.DataFrame(
        {
            "CustomerID": [10_000 + i for i in range(ROWS)],
            "phone": [f"+49 151 {1_000_000 + i * 7919}" for i in range(ROWS)],
            "lastLoginIp": [f"10.0.{i % 256}.{i // 256 + 1}" for i in range(ROWS)],
            "iban": [f"DE{10 + i % 80}50010517{5407324000 + i:010}" for i in range(ROWS)],
            "card": [f"4111 1111 1111 {1000 + i}" for i in range(ROWS)],
            "signup-date": [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(ROWS)],
            "City": cycle("Ulm", "Bonn", "Kiel"),
            "balance": [i * 13.7 for i in range(ROWS)],
            "churn": cycle(0, 1),
        }
    )
    proposal = propose(customers, "customers.parquet")
    expected = ["identifier"] * 5 + ["quasi", "quasi", "sensitive", "class"]
    assert list(roles(proposal).values()) == expected
    assert unexplained(policy(proposal)["attributes"]["churn"]) == {"role": "class", "kind": "categorical"}
    assert unexplained(policy(proposal)["attributes"]["balance"]) == {"role": "sensitive", "kind": "continuous"}


def test_german_french_and_spanish_names() -> None:
    frame = pl.DataFrame(
        {
            "Patientennummer": [str(500 + i) for i in range(ROWS)],
            "Nachname": cycle("Müller", "Schmidt", "Özil", rows=ROWS - 60) + [f"N{i}" for i in range(60)],
            "Straße": [f"Hauptstraße {i}" for i in range(ROWS)],
            "Geburtsdatum": [f"{i % 28 + 1:02}.03.1980" for i in range(ROWS)],
            "Geschlecht": cycle("m", "w"),
            "PLZ": [f"0{i * 13 % 9000 + 1000}" for i in range(ROWS)],
            "Familienstand": cycle("ledig", "verheiratet"),
            "Körpergröße": [str(150 + i % 40) for i in range(ROWS)],
            "code_postal": [f"{75000 + i % 20}" for i in range(ROWS)],
            "estado_civil": cycle("soltero", "casado"),
            "Schmerz": cycle("niedrig", "hoch", "mittel"),
            "Hauptdiagnose": cycle("Grippe", "Asthma", "Krebs"),
        }
    )
    proposal = propose(frame, "patienten.csv")
    found = list(roles(proposal).values())
    assert found == ["identifier"] * 3 + ["quasi"] * 8 + ["sensitive"]
    attributes = policy(proposal)["attributes"]
    assert attributes["PLZ"]["taxonomy"] == attributes["code_postal"]["taxonomy"] == {"mask": "right"}
    assert attributes["Schmerz"]["domain"] == ["niedrig", "mittel", "hoch"]
    assert attributes["Körpergröße"]["kind"] == "continuous"
    assert "2025-12-31" in proposal.attributes[3].reason
    assert policy(proposal)["require"][1] == {"model": "l-diversity", "variant": "frequency", "l": 2}


def test_a_person_with_several_rows_counts_once() -> None:
    visits = hospital().with_columns(patient_id=pl.Series([f"P{i // 3:05}" for i in range(ROWS)]))
    proposal = propose(visits, "visits.csv")
    assert roles(proposal)["patient_id"] == "identifier"
    assert policy(proposal)["require"][0] == {"model": "k-anonymity", "k": 4, "entity": "patient_id"}
    assert "k counts people" in proposal.requirements[0].reason
    assert len(proposal.requirements) == 1  # l-diversity would count rows
    (told,) = [w for w in proposal.warnings if "several rows" in w]
    assert "'patient_id'" in told
    assert "aggregate" in told


def test_a_proposal_for_people_with_several_rows_can_be_published(tmp_path: Path) -> None:
    hospital().with_columns(patient_id=pl.Series([f"P{i // 3:05}" for i in range(ROWS)])).write_csv(tmp_path / "v.csv")
    (tmp_path / "p.toml").write_text(propose(pl.read_csv(tmp_path / "v.csv"), "v.csv").to_toml(), encoding="utf-8")
    release = publish_policy(tmp_path / "p.toml", tmp_path / "out").release
    assert release.manifest["requirements"][0]["words"] == "every group has at least 4 people (patient_id)"


@pytest.mark.parametrize(("rows", "k"), [(8, 2), (30, 3), (49, 4), (50, 5), (200, 5)])
def test_k_is_lowered_for_small_tables(rows: int, k: int) -> None:
    proposal = propose(hospital(rows), "small.csv")
    assert proposal.requirements[0].entry == {"model": "k-anonymity", "k": k}
    assert ("only" in proposal.requirements[0].reason) == (k < 5)


@pytest.mark.parametrize(
    ("shares", "variant", "most"),
    [
        ((20,) * 6, "frequency", 3),
        ((30, 30, 30, 30), "frequency", 2),
        ((50, 35, 35), "frequency", 2),
    ],
)
def test_diversity_leaves_room_for_the_commonest_value(shares: tuple[int, ...], variant: str, most: int) -> None:
    values = [f"d{i}" for i, share in enumerate(shares) for _ in range(share)]
    proposal = propose(pl.DataFrame({"age": range(120), "disease": values}), "d.csv")
    assert policy(proposal)["require"][1] == {"model": "l-diversity", "variant": variant, "l": most}


@pytest.mark.parametrize(
    ("shares", "bound", "others"),
    [((107, 13), 0.25, ["d1"]), ((70, 50), 0.5, ["d1"]), ((100, 10, 10), 0.2, ["d1", "d2"]), ((118, 2), 0.1, ["d1"])],
)
def test_a_value_that_is_too_common_leaves_the_others_bounded(
    shares: tuple[int, ...], bound: float, others: list[str]
) -> None:
    """HIV status with 89% negative: what must not be inferred is positive."""
    values = [f"d{i}" for i, share in enumerate(shares) for _ in range(share)]
    proposal = propose(pl.DataFrame({"age": range(120), "HIV-Status": values}), "d.csv")
    assert roles(proposal)["HIV-Status"] == "sensitive"
    found = policy(proposal)["require"][1]
    assert found == {"model": "confidentiality", "y": {"HIV-Status": others}, "k": bound}


@pytest.mark.parametrize(
    ("shares", "method", "told"),
    [
        ((20,) * 6, None, "knows the algorithm"),  # 1/6 is 1/(2l) with l = 3, exactly
        ((21, 21, 20, 20, 20, 18), None, "knows the algorithm"),  # with l = 2
        ((30, 30, 30, 30), None, "knows the algorithm"),
        ((70, 50), {"name": "mondrian"}, "your decision"),  # distinct values: only refuted methods serve it
    ],
)
def test_the_policy_proposed_can_cut(
    shares: tuple[int, ...], method: dict[str, str] | None, told: str, tmp_path: Path
) -> None:
    """mondrian+ leaves everyone in one group if a value makes up more than 1/(2l) of the table."""
    values = [f"d{i}" for i, share in enumerate(shares) for _ in range(share)]
    ages = [20 + i * 7 % 60 for i in range(120)]
    frame = pl.DataFrame({"age": ages, "disease": values})
    proposal = propose(frame, "d.csv")
    assert policy(proposal).get("method") == method
    assert told in proposal.method.reason
    assert told.split()[-1] in proposal.to_toml()
    frame.write_csv(tmp_path / "d.csv")
    (tmp_path / "p.toml").write_text(proposal.to_toml(), encoding="utf-8")
    groups = publish_policy(tmp_path / "p.toml", tmp_path / "out").summary.groups
    assert groups is not None
    assert groups.number > 1


def test_at_most_two_sensitive_and_one_class() -> None:
    frame = pl.DataFrame(
        {
            "age": [str(i % 50) for i in range(ROWS)],
            "diagnosis": cycle("flu", "asthma", "cancer"),
            "religion": cycle("a", "b", "c", "d"),
            "medication": cycle("x", "y"),
            "salary": [str(1000 + i) for i in range(ROWS)],
            "outcome": cycle("0", "1"),
            "churn": cycle("no", "yes"),
        }
    )
    proposal = propose(frame, "t.csv")
    assert list(roles(proposal).values()) == [
        "quasi", "sensitive", "sensitive", "quasi", "quasi", "class", "quasi"
    ]  # fmt: skip
    assert [r.get("sensitive") for r in policy(proposal)["require"]] == [None, "diagnosis", "religion"]
    assert all(a.reason.startswith("unsure") for a in proposal.attributes if a.name in ("salary", "churn"))


@pytest.mark.parametrize(
    "values",
    [
        [f"{i:08x}-1234-4abc-8def-{i:012x}" for i in range(30)],
        [f"{100 + i}-{10 + i}-{1000 + i}" for i in range(30)],
        [f"https://example.org/{i}" for i in range(30)],
        [f"fe80:0:0:0:1:2:3:{i:x}" for i in range(30)],
        [f"(030) 1234-{5000 + i}" for i in range(30)],
        [f"DE{10 + i} 5001 0517 5407 3249 31" for i in range(30)],
        [f"AB-{i:04}" for i in range(30)],
        [f"Maria{'abcdefghij'[i % 10]} Lopez{'abc'[i // 10]}" for i in range(30)],
        [f"word{i} and many more words follow after this one" for i in range(30)],
        list(range(1, 31)),
        [100_003 + 7919 * i for i in range(30)],
        [[i] for i in range(30)],
        [b"\xff"] * 30,
    ],
)
def test_values_that_point_at_one_row_are_identifiers_whatever_their_name(values: list[Any]) -> None:
    assert only(values).role in ("identifier", "drop")


@pytest.mark.parametrize(
    ("name", "values", "role", "kind"),
    [
        ("telephone", cycle("yes", "no"), "quasi", "categorical"),
        ("x", [i * 0.123456789 for i in range(ROWS)], "quasi", "continuous"),
        ("x", [str(i * 0.123456789) for i in range(ROWS)], "quasi", "continuous"),
        ("amount", [str(i * i) for i in range(ROWS)], "quasi", "continuous"),
        ("doctor_id", cycle(4, 5, 6, 7), "quasi", "categorical"),
        ("race", cycle(1, 2, 3, 4), "quasi", "categorical"),
        ("flag", cycle(True, False), "quasi", "categorical"),
        ("x", [dt.datetime(2020, 1, 1, i % 24) for i in range(ROWS)], "quasi", "date"),
        ("x", [dt.timedelta(days=i % 7) for i in range(ROWS)], "quasi", "continuous"),
        ("diagnosis_date", [f"2020-01-{i % 28 + 1:02}" for i in range(ROWS)], "quasi", "date"),
        ("month", cycle("Mar", "Jan", "Feb"), "quasi", "ordinal"),
        ("x", [None] * ROWS, "insensitive", "categorical"),
        ("hiv", ["yes"] * ROWS, "identifier", "categorical"),
        ("class-of-worker", cycle("a", "b"), "quasi", "categorical"),
        ("ICD10Code", cycle("J10", "C50", "B20"), "sensitive", "categorical"),
        ("numberOfChildren", cycle(0, 1, 2, 3), "quasi", "continuous"),
    ],
)
def test_single_columns(name: str, values: list[Any], role: str, kind: str) -> None:
    found = only(values, name)
    assert (found.role, found.kind) == (role, kind)


def test_unknown_columns_are_treated_as_known_to_outsiders() -> None:
    found = only(cycle("a", "b", "c"), "zzz")
    assert found.role == "quasi"
    assert found.reason.startswith("unsure")
    assert "treated as known to outsiders" in found.reason


def test_empty_fields_become_a_category_and_markers_are_pointed_out() -> None:
    frame = pl.DataFrame({"age": cycle("31", "42", "?", "53"), "sex": cycle("f", "m", None)})
    proposal = propose(frame, "t.csv")
    assert proposal.missing == "category"
    assert any("fields are empty ('age', 'sex')" in w for w in proposal.warnings)
    assert proposal.nulls == {"?": ["age"]}
    assert policy(proposal)["data"]["nulls"] == ["?"]
    assert policy(proposal)["attributes"]["age"]["kind"] == "continuous"
    assert policy(proposal)["attributes"]["sex"]["taxonomy"] == {"Any": ["f", "m"]}


def test_the_root_of_a_small_tree_is_none_of_its_leaves() -> None:
    assert only(cycle("Any", "Any.", "c"), "sex").taxonomy == {"Any..": ["Any", "Any.", "c"]}


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(),
        pl.DataFrame({"age": [], "sex": []}, schema={"age": pl.String, "sex": pl.Null}),
        pl.DataFrame({"name": ["Ann Lee"]}),
        pl.DataFrame({"ssn": [f"{100 + i}-11-{1000 + i}" for i in range(40)]}),
    ],
    ids=["no columns", "no rows", "one row", "identifiers only"],
)
def test_poor_tables_still_give_a_policy_and_say_what_is_wrong(frame: pl.DataFrame) -> None:
    proposal = propose(frame, "poor.csv")
    assert proposal.warnings
    assert list(policy(proposal)["attributes"]) == frame.columns
    if "quasi" not in roles(proposal).values():
        assert any("no quasi-identifier" in warning for warning in proposal.warnings)


def test_for_machines() -> None:
    told = json.loads(json.dumps(propose(hospital(), "h.csv").to_dict()))
    assert [a["name"] for a in told["attributes"]] == hospital().columns
    assert all(a["reason"] for a in told["attributes"])
    assert told["require"][0]["k"] == 5


def test_every_reason_stands_above_its_line() -> None:
    proposal = propose(census(), "c.csv")
    comments = " ".join(line.removeprefix("# ") for line in proposal.to_toml().splitlines() if line.startswith("#"))
    for attribute in proposal.attributes:
        assert attribute.reason.removeprefix(attribute.why).removeprefix("; ") in comments
        assert policy(proposal)["attributes"][attribute.name]["reason"] == attribute.why


def test_the_same_table_gives_the_same_text() -> None:
    frame = hospital(3000)
    assert len({propose(frame, "h.csv").to_toml() for _ in range(3)}) == 1


def test_hostile_values_do_not_stall_a_pattern() -> None:
    for part in ("a", "1", "1.", "a@", "0 ", "A ", "-", "A1", ":", "12-"):
        values = [part * 20_000 + str(i) for i in range(25)]
        assert recognize(profile(pl.Series("x", values))).role in ("identifier", "drop", "quasi")


@pytest.mark.parametrize("source", ["hiv_patients_smith.csv", "postgresql://ann:secret@host/clinic?sslmode=require"])
def test_the_public_title_is_left_to_the_steward(source: str) -> None:
    proposal = propose(hospital(), source)
    assert proposal.to_dict()["title"] == ""
    assert policy(proposal)["title"] == ""
    (line,) = [line for line in proposal.to_toml().splitlines() if line.startswith("title")]
    assert line.startswith('title = ""  # public')


def test_rare_values_that_become_public_are_said_to() -> None:
    frame = pl.DataFrame({"sex": ["F"] * 40 + ["M"] * 19 + ["X"], "city": [f"c{i % 12}" for i in range(59)] + ["Ys"]})
    reasons = {a.name: a.reason for a in propose(frame, "t.csv").attributes}
    assert "'X'); listed here, they are public" in reasons["sex"]
    assert "public" not in reasons["city"]


def test_words_of_names() -> None:
    assert tokens("dateOfBirth") == ["date", "of", "birth"]
    assert tokens("ICD10-Code") == ["icd", "10", "code"]
    assert tokens("Straße") == ["strasse"]
    assert tokens("") == []


def test_levels_need_different_rungs_of_one_ladder() -> None:
    assert order(profile(pl.Series(["often", "never", "Always"]))) == ("never", "often", "Always")
    assert order(profile(pl.Series(["low", "high", "sunday"]))) is None
    assert order(profile(pl.Series(["low", "medium", "middle"]))) is None


texts = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", "\n", "a\nb = 1", "\r", "#", "'''", "[x]", "\x00", "\x7f", "\u2028", "\u0085", "Any"]
)
cells = st.none() | texts | st.sampled_from(["1", "2.5", "low", "high", "medium", "2020-01-02", "?"])


@given(st.dictionaries(texts, st.lists(cells, min_size=7, max_size=7), max_size=6), texts)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_gives_a_policy_that_parses(columns: dict[str, list[str | None]], source: str) -> None:
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    proposal = propose(frame, source)
    text = policy(proposal)
    assert list(text["attributes"]) == frame.columns
    assert text["data"]["source"] == source
    assert set(text) <= {"title", "data", "attributes", "require", "method"}
    for attribute in proposal.attributes:
        entry = text["attributes"][attribute.name]
        values = frame[attribute.name].drop_nulls()
        known = set(values.filter(~means_missing(values)))
        assert set(entry.get("domain", [])) <= known
        for leaves in (entry.get("taxonomy") or {}).values():
            assert leaves == "right" or set(leaves) == known


@given(st.text())
def test_strings_come_back_as_they_were(text: str) -> None:
    assert tomllib.loads(f"x = {toml(text)}") == {"x": text}
    assert tomllib.loads(f"{toml(text)} = 1") == {text: 1}
    assert tomllib.loads("\n".join(comment("x" + text))) == {}
    assert escape(text).isprintable()


def test_a_file_name_that_is_no_unicode_is_shown_as_well_as_can_be() -> None:
    assert tomllib.loads(f"x = {toml('a' + chr(0xDC80))}") == {"x": "a?"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bemerkung", ["bitte anrufen 0351 4567890", "nichts Besonderes zu berichten", "ok so weit alles"]),
        ("sonstiges", ["call me at +49 351 4567890 please", "x", "y"]),
        ("info", ["write to ann@example.org in case", "a", "b"]),
        ("observaciones", ["sin cambios en el estado", "dolor de cabeza leve", "ninguna otra cosa"]),
    ],
)
def test_free_text_is_left_out_however_few_texts_there_are(name: str, values: list[str]) -> None:
    assert only(cycle(*values), name).role == "drop"


@pytest.mark.parametrize(
    "name", ["Verweildauer", "duree_sejour", "dias_estancia", "giorni_di_degenza", "LOS", "ligduur"]
)
def test_length_of_stay_in_any_language(name: str) -> None:
    assert only(cycle("1", "4", "9", "2"), name).role == "insensitive"


@pytest.mark.parametrize(
    ("odd", "noticed"), [(["999", "999"], True), (["-9"], True), (["99"], False), (["9999", "-1"], True), ([], False)]
)
def test_numbers_that_stand_for_missing_values_are_noticed(odd: list[str], noticed: bool) -> None:
    """999 among ages is no age; 99 may be one."""
    ages = [*(str(18 + i % 78) for i in range(ROWS)), *odd]
    warnings = propose(
        pl.DataFrame({"age": ages, "sex": ["F", "M"] * (len(ages) // 2) + ["F"] * (len(ages) % 2)}), "t.csv"
    ).warnings
    assert any("may mean a missing value" in warning for warning in warnings) == noticed
