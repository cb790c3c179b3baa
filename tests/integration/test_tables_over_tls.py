"""Random tables, and Adult split as in section 7.4, through two real processes over TLS: the release is that of TDR."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from integration.test_integrate import rows_of
from integration.test_two_processes import both, digests
from sfumato import datasets
from sfumato.integration.certificates import make_certificates

ADULT = {
    "a": [
        *("age", "native-country", "fnlwgt", "relationship", "race", "sex", "marital-status", "education-num"),
        "education",
    ],
    "b": ["hours-per-week", "capital-gain", "capital-loss", "workclass", "occupation"],
}
TREES: dict[str, Any] = {"job": {"Any": {"Blue": ["cook", "smith"], "White": ["clerk", "judge"]}}}
POLICY = """
title = "Joint"
[data]
source = "{party}.csv"
[attributes]
recid = "identifier"
{columns}
{class_} = "class"
[[require]]
model = "anonymity"
x = {x}
k = {k}
[integrate]
party = "{letter}"
key = "recid"
certificate = "{party}.pem"
key_file = "{party}.key"
authority = "ca.pem"
"""


def write_sides(
    folder: Path, frame: pl.DataFrame, held: Mapping[str, Sequence[str]], trees: Mapping[str, Any], class_: str, k: int
) -> None:
    """The tables and policies of both sides, each with its rows in an order of its own."""
    make_certificates(folder)
    known = frame.with_row_index("recid").with_columns(recid=pl.format("id{}", "recid"))
    x = json.dumps([*held["a"], *held["b"]])
    for party, names in held.items():
        known.select("recid", *names, class_).sample(fraction=1.0, shuffle=True).write_csv(folder / f"{party}.csv")
        for name in set(names) & set(trees):
            (folder / f"{name}.json").write_text(json.dumps(trees[name]))
        roles = [
            f"{n} = {{ role = 'quasi', taxonomy = '{n}.json' }}" if n in trees else f"{n} = 'quasi'" for n in names
        ]
        told = {"party": party, "letter": party.upper(), "columns": "\n".join(roles), "class_": class_, "x": x, "k": k}
        (folder / f"{party}.toml").write_text(POLICY.format(**told))


def assert_tdr_of_the_joined_table(
    folder: Path, frame: pl.DataFrame, held: Mapping[str, Sequence[str]], trees: Mapping[str, Any], class_: str, k: int
) -> None:
    write_sides(folder, frame, held, trees, class_, k)
    ends = list(both(folder, ["a.toml", "-o", "outA"], ["b.toml", "-o", "outB"]))
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert digests(folder / "outA" / "release") == digests(folder / "outB" / "release")
    quasi = [*held["a"], *held["b"]]
    table = sf.read(frame.select(*quasi, class_), quasi=quasi, class_=class_, taxonomies=dict(trees))
    alone = sf.publish(table, require=sf.Anonymity(x=quasi, k=k), method="tdr")
    release = sf.load(folder / "outA" / "release")
    assert rows_of(release) == rows_of(alone)
    release.check()


@pytest.mark.parametrize("seed", range(4))
def test_random_tables(seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    rows = dice.randint(40, 120)
    jobs = ["cook", "smith", "clerk", "judge"]
    frame = pl.DataFrame(
        {
            "age": [dice.randint(20, 60) for _ in range(rows)],
            "job": [dice.choice(jobs) for _ in range(rows)],
            "sex": [dice.choice("mf") for _ in range(rows)],
            "town": [dice.choice("pqr") for _ in range(rows)],
            "buys": [dice.choice(["yes", "no"]) for _ in range(rows)],
        }
    )
    names = dice.sample(["age", "job", "sex", "town"], 4)
    at = dice.randint(1, 3)
    held = {"a": names[:at], "b": names[at:]}
    assert_tdr_of_the_joined_table(tmp_path, frame, held, TREES, "buys", dice.randint(2, 6))


@pytest.mark.skipif(not os.environ.get("SFUMATO_DATA"), reason="Adult is not here: set SFUMATO_DATA")
def test_adult_split_as_in_section_7_4(tmp_path: Path) -> None:
    trees = {n: t for n, t in datasets.adult_taxonomies().items() if n in (*ADULT["a"], *ADULT["b"])}
    assert_tdr_of_the_joined_table(tmp_path, datasets.adult(), ADULT, trees, "income", 50)
