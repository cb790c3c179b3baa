"""Releases to report on: the bundled example, and a table with everything that is odd."""

import datetime as dt
import random
from typing import NamedTuple

import polars as pl
import pytest

from sfumato.datasets import example_folder
from sfumato.method.mondrian import Mondrian
from sfumato.method.topdown.sequential import TopDownSequential
from sfumato.release.earlier_file import earlier
from sfumato.release.release import Release
from sfumato.release.rule import Inconsistent
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Anonymity
from sfumato.table.microdata import Microdata, read

HOSTILE = """<img src=x onerror=alert(1)>"'&</svg></pre></style><script>alert(2)</script>{{7*7}}{% x %}"""


class Published(NamedTuple):
    """A release with the table that it was made from and the text of a policy."""

    release: Release
    table: Microdata
    policy: str


@pytest.fixture(scope="session")
def example() -> Published:
    """The bundled example under four requirements."""
    folder = example_folder()
    table = read(
        folder / "discharges.csv",
        quasi=["age", "sex", "zip", "job", "admitted"],
        kinds={"admitted": "date"},
        sensitive="diagnosis",
        class_="readmitted",
        insensitive=["stay"],
        identifiers=["patient", "record"],
        taxonomies={
            "sex": {"Any": ["M", "F"]},
            "zip": folder / "zip.csv",
            "job": folder / "job.json",
            "diagnosis": folder / "diagnosis.json",
        },
    )
    required = [
        KAnonymity(k=5),
        LDiversity(l=3),
        LDiversity(l=2.5, variant="entropy"),
        TCloseness(t=0.6, distance="hierarchical"),
    ]
    release = Mondrian().publish(table, required, title="Discharges 2025")
    return Published(release, table, (folder / "policy.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def joined() -> Published:
    """A part of the example, published after a file with a hostile title, column and values."""
    folder = example_folder()
    frame = pl.read_csv(folder / "discharges.csv", schema_overrides={"zip": pl.String})
    trees = {"sex": {"Any": ["M", "F"]}, "zip": folder / "zip.csv", "job": folder / "job.json"}
    table = read(frame, quasi=["age", "sex", "zip", "job"], class_="readmitted", taxonomies=trees)
    rows = [HOSTILE if i % 9 else "x" * 300 for i in range(frame.height)]
    before = frame.select("sex", "zip").with_columns(pl.Series("town" + HOSTILE, rows))
    known = {name: trees[name] for name in ("sex", "zip")}
    after = earlier(before, quasi=before.columns, taxonomies=known, title=HOSTILE)
    rule = Inconsistent(sides={"T1": {"sex": "M"}, "T2": {"town" + HOSTILE: "x" * 300}})
    method = TopDownSequential(after=[after], inconsistent=[rule], score="distortion")
    release = method.publish(table, [Anonymity(x=["job", "town" + HOSTILE], k=20)], title="Again")
    return Published(release, table, "")


def odd_frame(rows: int = 300) -> pl.DataFrame:
    """Columns of every kind and type, most of them with missing values, some with hostile names and values."""
    dice = random.Random(5)

    def some(value: object) -> list[object]:
        return [None if dice.random() < 0.1 else value() for _ in range(rows)]  # type: ignore[operator]

    columns: dict[str, object] = {
        "whole" + HOSTILE: some(lambda: dice.randrange(1000)),
        "float": some(lambda: round(dice.gauss(0, 1), 3)),
        "skewed": [dice.random() if dice.random() < 0.99 else 1e9 * dice.random() for _ in range(rows)],
        "day": some(lambda: dt.date(1950, 1, 1) + dt.timedelta(days=dice.randrange(20_000))),
        "category": some(lambda: HOSTILE + str(dice.randrange(30))),
        "ordinal": some(lambda: dice.choice(["low", "mid", "high"])),
        "tree": some(lambda: dice.choice(["a", "b", "c"])),
        "code": [f"{dice.randrange(100_000):05d}" for _ in range(rows)],
        "interval": some(lambda: dice.randrange(100)),
        "width": some(lambda: dice.randrange(100) / 2),
        "constant": ["one"] * rows,
        "ill": some(lambda: dice.choice(["flu", "HIV", HOSTILE, "x" * 300])),
        "plain" + HOSTILE: some(lambda: HOSTILE),
        "note": [f"note {i} " + "y" * 100 for i in range(rows)],
        "huge": [1e308 if i % 2 else -1e308 for i in range(rows)],
        "truth": some(lambda: dice.random() < 0.5),
        "moment": some(lambda: dt.datetime(2020, 1, 1, dice.randrange(24))),
        "nothing": [None] * rows,
        "nan": [float("nan")] * rows,
        "five": [5] * rows,
    }
    return pl.DataFrame(columns)


ODD_QUASI = [
    "whole" + HOSTILE,
    "float",
    "skewed",
    "day",
    "category",
    "ordinal",
    "tree",
    "code",
    "interval",
    "width",
    "constant",
]


@pytest.fixture(scope="session")
def odd() -> Published:
    """Everything odd at once."""
    table = read(
        odd_frame(),
        quasi=ODD_QUASI,
        sensitive="ill",
        insensitive=["plain" + HOSTILE, "note", "huge", "truth", "moment", "nothing", "nan", "five"],
        kinds={"ordinal": "ordinal"},
        domains={"ordinal": ["low", "mid", "high"]},
        taxonomies={
            "tree": {"Any <i>&": {"A&B": ["a", "b"], "c": {}}},
            "code": {"mask": "right"},
            "interval": {"intervals": [0, 18, 65, 120]},
            "width": {"width": 5},
        },
        missing="category",
    )
    release = Mondrian().publish(table, [KAnonymity(k=5), LDiversity(l=2)], title=HOSTILE)
    return Published(release, table, HOSTILE * 20)


@pytest.fixture(scope="session")
def hostile() -> str:
    """A text that would do harm if it were not escaped, and stand for something else in a template."""
    return HOSTILE
