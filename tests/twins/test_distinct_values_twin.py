"""Distinct values under the hidden rest of a set, kept up by tallies: as the naive twin, and as if counted anew."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible
from sfumato.method.topdown import value_lists
from sfumato.method.topdown.search import SCORES
from strategies import examples
from twins.test_topdown_twin import ILLS, compare, templates_over

Steps = list[tuple[Any, ...]]


def distinct(attributes: list[str], k: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, Any]]:
    """Templates that count distinct values."""
    return st.fixed_dictionaries(
        {
            "x": st.lists(st.sampled_from(attributes), min_size=1, unique=True),
            "y": st.sampled_from([["ill"], ["ill", "class"]]),
            "k": k,
        }
    )


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], str]:
    """Rows with a set of up to nine values; a template on distinct values, and others beside it."""
    ills = [*ILLS, *(f"s{i}" for i in range(9))][: draw(st.sampled_from([2, 4, 12]))]
    towns = [f"v{i}" for i in range(draw(st.integers(2, 9)))]
    row = st.fixed_dictionaries(
        {
            "q0": st.sampled_from(towns),
            "q1": st.sampled_from("uvw"),
            "ill": st.sampled_from(ills),
            "class": st.sampled_from(["yes", "no"]),
        }
    )
    rows = draw(st.lists(row, min_size=1, max_size=40))
    others = draw(st.lists(templates_over(["q0", "q1"]), max_size=2))
    templates = [draw(distinct(["q0", "q1"], st.integers(1, 3))), *others]
    return rows, {"q0": "set", "q1": "set"}, templates, draw(st.sampled_from(sorted(SCORES)))


@examples(150)
@given(jobs())
def test_the_same_steps(job: tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_lists, "MOST_SCANNED", 1)
        event(f"steps {min(compare(*job), 8)}")


def people(rng: np.random.Generator, number: int, towns: int, ills: int, share: float) -> pl.DataFrame:
    """People of many towns, illnesses of which some are rare, and one town that has at least this share."""
    town = np.where(rng.random(number) < share, 0, rng.integers(0, towns, number))
    rare = np.minimum(rng.geometric(min(1.0, 4 / ills), number), ills)
    ill = rare if rng.random() < 0.5 else rng.integers(0, ills, number)
    return pl.DataFrame(
        {
            "q0": [f"v{i:03d}" for i in town],
            "q1": [f"w{i:03d}" for i in rng.integers(0, max(2, towns // 4), number)],
            "q2": rng.integers(0, 4, number),
            "ill": [f"s{i:03d}" for i in ill],
            "class": np.where(rng.random(number) < 0.2 + 0.6 * (town % 7) / 7, "yes", "no"),
        }
    )


def steps(table: sf.Microdata, templates: list[Any], score: str, scanned: int) -> Steps:
    """The steps, where sets of more than so many values have lists of rows and tallies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_lists, "MOST_SCANNED", scanned)
        run = sf.TopDown(templates=templates, score=score).steps(table)
        return [
            (s.attribute, s.value, s.children, s.gain, s.loss, s.score, s.anonymity, s.confidence, s.classes)
            for s in run
        ]


MIXED = [
    [sf.Anonymity(x=["q0"], y=["ill"], k=2)],
    [sf.Anonymity(x=["q0", "q1"], y=["ill"], k=1)],
    [sf.Anonymity(x=["q0", "q1", "q2"], y=["ill", "class"], k=2), sf.Anonymity(x=["q0", "q2"], y=["ill"], k=2)],
    [
        sf.Anonymity(x=["q0", "q2"], y=["ill"], k=3),
        sf.Anonymity(x=["q0", "q1"], k=2),
        sf.Confidentiality(x=["q0"], y={"ill": "s001"}, k=0.8),
    ],
]


@examples(150)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from([40, 150, 600, 2000]),
    st.sampled_from([3, 10, 40, 150]),
    st.sampled_from([3, 6, 15, 100, 1000]),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.sampled_from(MIXED),
    st.sampled_from(sorted(SCORES)),
)
# rows get other numbers when values have been disclosed in between
@example(20279933, 600, 10, 100, 0.6, MIXED[1], "gain-per-loss")
@example(2064011278, 600, 3, 6, 0.6, MIXED[2], "discernibility")
def test_many_hidden_values_as_if_counted_anew(
    seed: int, number: int, towns: int, ills: int, share: float, templates: list[Any], score: str
) -> None:
    """Few values that everybody has, many that one town has, a town with more than half of them: each needs its own
    reason not to count the rest again."""
    frame = people(np.random.default_rng(seed), number, towns, ills, share)
    if "s001" not in frame["ill"].to_list():
        templates = [t for t in templates if isinstance(t, sf.Anonymity)]
    table = sf.read(frame, quasi=["q0", "q1", "q2"], sensitive="ill", class_="class")
    try:
        ours = steps(table, templates, score, 1)
    except Infeasible:
        with pytest.raises(Infeasible):
            steps(table, templates, score, 10_000)
        return
    event(f"at least {len(ours) // 20 * 20} steps")
    assert ours == steps(table, templates, score, 10_000)
