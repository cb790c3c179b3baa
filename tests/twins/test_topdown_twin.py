"""Top-down refinement against its naive twin: the same steps, in the same order, to the last bit."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from naive_topdown import Line, Naive, Set, Template, Tree, log2
from sfumato.errors import Infeasible
from sfumato.kernel.topdown.xlogx import logarithms
from sfumato.method.topdown import value_lists
from sfumato.method.topdown.search import SCORES
from sfumato.release.label_meaning import shown_ends
from strategies import examples

TREES: list[dict[str, Any]] = [
    {"Any": {"A": ["a", "b"], "c": {}}},
    {"Any": {"A": {"AA": ["a", "b"], "c": {}}, "B": {"BB": ["d", "e", "f"]}}},
    {"Any": ["a", "b", "c", "d"]},
]
ILLS = ["flu", "HIV", "cancer"]


def paths(tree: dict[str, Any], above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Each leaf with the labels from the root to it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, below in tree.items():
        deeper = {leaf: {} for leaf in below} if isinstance(below, list) else below
        found |= paths(deeper, (*above, name)) if deeper else {name: (*above, name)}
    return found


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], str]:
    """Rows, what each attribute is (a tree, "set" or "line"), templates and a score."""
    kinds = draw(st.lists(st.sampled_from([*range(len(TREES)), "set", "line"]), min_size=1, max_size=3))
    what = {f"q{i}": TREES[k] if isinstance(k, int) else k for i, k in enumerate(kinds)}
    values = {
        name: sorted(paths(k)) if isinstance(k, dict) else ["u", "v", "w", "x"] if k == "set" else list(range(5))
        for name, k in what.items()
    }
    row = st.fixed_dictionaries(
        {name: st.sampled_from(v) for name, v in values.items()}
        | {"ill": st.sampled_from(ILLS), "class": st.sampled_from(["yes", "no", "so"])}
    )
    rows = draw(st.lists(row, min_size=1, max_size=14))
    times = draw(st.sampled_from([1, 1, 2, 3]))
    templates = draw(st.lists(templates_over(sorted(what)), min_size=1, max_size=3))
    return rows * times, what, templates, draw(st.sampled_from(sorted(SCORES)))


@st.composite
def templates_over(draw: st.DrawFn, attributes: list[str]) -> dict[str, Any]:
    x = draw(st.lists(st.sampled_from(attributes), min_size=1, unique=True))
    kind = draw(st.sampled_from(["rows", "distinct", "confidence", "each"]))
    if kind == "rows":
        return {"x": x, "k": draw(st.integers(1, 4))}
    if kind == "distinct":
        return {"x": x, "y": draw(st.sampled_from([["ill"], ["ill", "class"]])), "k": draw(st.integers(1, 3))}
    values = draw(st.lists(st.sampled_from(ILLS), min_size=1, unique=True))
    limit = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), Fraction(1)])
    if kind == "confidence":
        return {"x": x, "values": values, "limit": draw(limit)}
    return {"x": x, "values": values, "limit": {v: draw(limit) for v in values}}


def as_requirement(t: dict[str, Any], there: set[str]) -> sf.Anonymity | sf.Confidentiality | None:
    if "k" in t:
        return sf.Anonymity(x=t["x"], y=t.get("y"), k=t["k"])
    values = [v for v in t["values"] if v in there]
    limit = {v: t["limit"][v] for v in values} if isinstance(t["limit"], dict) else t["limit"]
    return sf.Confidentiality(x=t["x"], y={"ill": values}, k=limit) if values else None


def as_naive(r: Any, order: list[str]) -> Template:
    x = tuple(name for name in order if name in r.x)
    if isinstance(r, sf.Anonymity):
        return Template(x, tuple(r.y) or None, r.k)
    each = r.k if isinstance(r.k, dict) else dict.fromkeys(r.y["ill"], r.k)
    return Template(x, {("ill", v): Fraction(limit) for v, limit in each.items()})


def naive_attribute(name: str, what: Any, rows: list[dict[str, Any]]) -> Any:
    if isinstance(what, dict):
        return Tree(name, paths(what))
    there = sorted({row[name] for row in rows})
    if what == "line":
        return Line(name, there)
    # one value alone is no set: there is nothing to hide it among
    return Set(name, there) if len(there) > 1 else Tree(name, {there[0]: (there[0],)})


@examples(250)
@given(jobs())
def test_the_same_steps(job: tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], str]) -> None:
    compare(*job)


@examples(150)
@given(jobs())
def test_the_same_steps_with_lists_for_every_set(
    job: tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], str],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_lists, "MOST_SCANNED", 1)
        compare(*job)


@pytest.mark.parametrize("score", sorted(SCORES))
def test_the_same_steps_on_a_larger_table(score: str) -> None:
    """Enough groups that rows are sorted anew, and templates that share attributes."""
    rng = np.random.default_rng(len(score))
    what: dict[str, Any] = {"q0": TREES[1], "q1": "line", "q2": "set"}
    rows = [
        {
            "q0": "abcdef"[rng.integers(6)],
            "q1": int(rng.integers(12)),
            "q2": "uvwx"[rng.integers(4)],
            "ill": ILLS[rng.integers(3)],
            "class": ["yes", "no"][int(rng.integers(12) > 4)],
        }
        for _ in range(150)
    ]
    templates = [{"x": ["q0", "q1"], "k": 2}, {"x": ["q1", "q2"], "values": ["HIV"], "limit": Fraction(3, 4)}]
    assert compare(rows, what, templates, score) > 8


def many_hidden(rng: np.random.Generator, number: int, values: int, share: float) -> list[dict[str, Any]]:
    """Rows with many values of a set, many of them with the same class counts; one has at least this share."""
    code = np.where(rng.random(number) < share, values, rng.integers(0, values, number))
    return [
        {
            "q0": f"v{i:03d}",
            "q1": "uvwx"[rng.integers(4)],
            "q2": int(rng.integers(3)),
            "ill": ILLS[rng.integers(3)],
            "class": ["yes", "no"][int(rng.random() < 0.2 + 0.6 * (i % 7) / 7)],
        }
        for i in code.tolist()
    ]


@pytest.mark.parametrize(("score", "share"), [("gain-per-loss", 0.0), ("distortion-per-loss", 0.6), ("gain", 0.6)])
def test_the_same_steps_on_many_hidden_values(score: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second set and a line split the groups in between, so that counts, lists of rows and leaders have to follow."""
    monkeypatch.setattr(value_lists, "MOST_SCANNED", 1)
    rows = many_hidden(np.random.default_rng(3), 180, 70, share)
    templates: list[dict[str, Any]] = [{"x": ["q0"], "k": 2}, {"x": ["q1", "q2"], "k": 3}, {"x": ["q0", "q1"], "k": 1}]
    assert compare(rows, {"q0": "set", "q1": "set", "q2": "line"}, templates, score) > 15
    for limit in (Fraction(3, 5), Fraction(9, 10)):
        share_limited = [{"x": ["q0", "q2"], "values": ["HIV"], "limit": limit}, {"x": ["q0", "q1"], "k": 1}]
        assert compare(rows, {"q0": "set", "q1": "set", "q2": "line"}, share_limited, score) > 1


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_hundreds_of_hidden_values_as_if_one_by_one(score: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values kept by class counts and rows by value, against all values scored and all rows counted at each step."""
    rng = np.random.default_rng(len(score))
    frame = pl.DataFrame(many_hidden(rng, 2400, 500, share))
    table = sf.read(frame, quasi=["q0", "q1", "q2"], sensitive="ill", class_="class")
    wanted = [[sf.Anonymity(x=["q0", "q1", "q2"], k=k)] for k in (1, 2)] + [
        [sf.Anonymity(x=["q0"], k=3), sf.Anonymity(x=["q0", "q1"], y=["ill"], k=1), sf.Anonymity(x=["q1", "q2"], k=9)],
        [sf.Confidentiality(x=["q0"], y={"ill": ILLS[0]}, k=0.8)],
        [sf.Confidentiality(x=["q0", "q1"], y={"ill": list(ILLS[:2])}, k=1), sf.Anonymity(x=["q0"], k=2)],
    ]

    def steps() -> list[Any]:
        runs = [sf.TopDown(templates=templates, score=score).steps(table) for templates in wanted]
        return [
            [(s.attribute, s.value, s.children, s.gain, s.loss, s.score, s.anonymity, s.confidence) for s in run]
            for run in runs
        ]

    ours = steps()
    assert max(len(run) for run in ours) > 100
    monkeypatch.setattr(value_lists, "MOST_SCANNED", 10_000)
    assert ours == steps()
    monkeypatch.setattr(value_lists, "MOST_SCANNED", 1)
    assert ours == steps()


def test_values_that_gain_nothing_are_disclosed_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All have the same class counts as the rest, so every score is 0, though the first values cost more."""
    monkeypatch.setattr(value_lists, "MOST_SCANNED", 2)
    rows = []
    for i in range(12):
        first = ["uuux", "uuxx"][i >= 6]  # of four rows, one or two stand alone once q1 is disclosed
        for q1, class_ in zip(first, ["yes", "yes", "no", "no"], strict=True):
            rows.append({"q0": f"v{i:02d}", "q1": q1, "q2": 0, "ill": "flu", "class": class_})
    templates: list[dict[str, Any]] = [{"x": ["q0", "q1"], "k": 1}]
    assert compare(rows, {"q0": "set", "q1": "set"}, templates, "gain-per-loss") == 13


def compare(rows: list[dict[str, Any]], what: dict[str, Any], drawn: list[dict[str, Any]], score: str) -> int:
    """Run both; how many steps there were."""
    there = {row["ill"] for row in rows}
    wanted = [r for t in drawn if (r := as_requirement(t, there)) is not None]
    if not wanted:
        return 0
    frame = pl.DataFrame(rows).select(*what, "ill", "class")
    trees = {name: k for name, k in what.items() if isinstance(k, dict)}
    table = sf.read(frame, quasi=list(what), sensitive="ill", class_="class", taxonomies=trees)
    whole = {None: rows}
    feasible = all(as_naive(r, list(what)).holds(whole) for r in wanted)
    method = sf.TopDown(templates=wanted, score=score)
    if not feasible:
        with pytest.raises(Infeasible, match="most masked table"):
            method.steps(table)
        return 0
    run = method.steps(table)
    order = [name for name in what if any(name in t.x for t in run.templates)]
    twin = Naive(
        rows,
        [naive_attribute(name, what[name], rows) for name in order],
        [as_naive(t, order) for t in run.templates],
        score,
    )
    theirs = twin.run()
    ours = list(run)
    assert [(s.attribute, s.gain, s.loss, s.score) for s in ours] == [
        (s.attribute, s.gain, s.loss, s.score) for s in theirs
    ]
    for step, other in zip(ours, theirs, strict=True):
        amounts = iter(other.amounts)
        told = [(isinstance(t, sf.Anonymity), next(amounts)) for t in run.templates]
        assert step.anonymity == tuple(int(a) for size, a in told if size)
        assert step.confidence == tuple(float(a) for size, a in told if not size)
        for masked in (step.mask(table), step.mask(frame)):
            for name, labels in masked.select(order).to_dict(as_series=False).items():
                if what[name] == "line":
                    assert_intervals(labels, other.shown[name], [row[name] for row in rows])
                else:
                    assert labels == other.shown[name]
    last = run.now()
    release = last.release(rng=np.random.default_rng(0))
    assert not [f for f in release.check() if f.status == "broken"]
    return len(ours)


def assert_intervals(labels: list[str], naive: list[str], values: list[int]) -> None:
    """The same rows share an interval, every value lies in its own, and no end is a value that one row alone has.

    The naive intervals end at values; ours at round numbers or not at all where the value is one row's.
    """
    assert [labels.index(label) for label in labels] == [naive.index(label) for label in naive]
    for label, value in zip(labels, values, strict=True):
        ends = shown_ends(label)
        assert label == "*" or (ends is not None and ends[0] <= value < ends[1])
    for label in {*labels} - {"*"}:
        low, high = shown_ends(label) or (0.0, 0.0)
        below = max((v for v in values if v < low), default=None)
        assert values.count(low) != 1 or below == low - 1  # type: ignore[arg-type]
        assert max(values) != high - 1 or values.count(max(values)) > 1


def test_logarithms_are_rounded_right() -> None:
    numbers = np.concatenate([np.arange(1, 3000), np.random.default_rng(1).integers(3000, 1 << 27, 500)])
    for bits in (30, 37, 50):
        assert logarithms(numbers, bits).tolist() == [log2(int(n), bits) for n in numbers]
