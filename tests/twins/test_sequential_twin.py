"""Sequential anonymization against its naive twin: the same steps as if the join were listed for every candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import sfumato as sf
from naive_sequential import EVERYTHING, JoinTemplate, NaiveSequential, interval
from naive_topdown import Line, Set, Tree
from sfumato.errors import Infeasible
from sfumato.method.topdown import value_lists
from sfumato.method.topdown.join_search import JoinedRefinement
from sfumato.method.topdown.search import SCORES
from sfumato.method.topdown.sequential import SequentialRun
from sfumato.release.earlier import Earlier, EarlierColumn
from sfumato.release.label_meaning import parse_label
from sfumato.requirement.join_template import join_template
from sfumato.table.encode import Kind, Role
from strategies import examples

TREE: dict[str, Any] = {"Any": {"E": ["uk", "fr"], "us": {}}}
PATHS = {"uk": ("Any", "E", "uk"), "fr": ("Any", "E", "fr"), "us": ("Any", "us")}
BELOW = {"Any": ["uk", "fr", "us"], "E": ["uk", "fr"], "uk": ["uk"], "fr": ["fr"], "us": ["us"]}
NUMBERS = [0, 1, 2, 3]
SPANS = {"[0, 2)": (0.0, 2.0), "[1, 4)": (1.0, 4.0), "< 1": (None, 1.0), "*": None}
VALUES = {"a": sorted(PATHS), "b": ["p", "q", "r"], "n": NUMBERS, "ill": ["flu", "hiv"], "class": ["yes", "no"]}


@dataclass
class Job:
    """People (rows of T1), earlier releases as rows of labels, rules, templates and settings."""

    people: list[dict[str, Any]]
    earlier: dict[str, list[dict[str, str]]]
    rules: list[dict[str, dict[str, list[str]]]]
    templates: list[dict[str, Any]]
    score: str
    join_in_x: bool


def labels_of(name: str, value: Any) -> list[str]:
    """The labels that an earlier release may show a value with."""
    if name == "a":
        return [label for label, below in BELOW.items() if value in below]
    if name == "b":
        return [value, "*"]
    if name == "n":
        inside = [s for s, ends in SPANS.items() if ends is None or (ends[0] or 0) <= value < ends[1]]
        return [*inside, f"[{value}, {value + 1})"]
    return [value]


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    row = st.fixed_dictionaries({n: st.sampled_from(v) for n, v in VALUES.items()})
    people = draw(st.lists(row, min_size=1, max_size=5))
    earlier = {}
    related = draw(st.booleans())
    for i in range(2, draw(st.sampled_from([3, 3, 3, 4]))):
        common = draw(st.lists(st.sampled_from("abn"), min_size=1, max_size=2, unique=True))
        others = people if related else draw(st.lists(row, min_size=1, max_size=4))
        own = st.sampled_from(["x", "y"])
        earlier[f"T{i}"] = [
            {n: draw(st.sampled_from(labels_of(n, p[n]))) for n in common} | {f"own{i}": draw(own)} for p in others
        ]
    rules = []
    if draw(st.booleans()):
        side = draw(st.sampled_from([{"ill": ["hiv"]}, {"a": ["E"]}, {"b": ["p"], "a": ["fr", "us"]}]))
        rules = [{"T1": side, "T2": {"own2": ["x"]}}]
    templates = draw(st.lists(templates_over(earlier), min_size=1, max_size=2))
    return Job(people, earlier, rules, templates, draw(st.sampled_from(sorted(SCORES))), draw(st.booleans()))


@st.composite
def templates_over(draw: st.DrawFn, earlier: Mapping[str, Any]) -> dict[str, Any]:
    first = draw(st.lists(st.sampled_from("abn"), min_size=1, unique=True))
    more = [(r, n) for r, rows in earlier.items() for n in rows[0] if draw(st.booleans())]
    x = [*(("T1", n) for n in first), *more]
    kind = draw(st.sampled_from(["records", "values", "share"]))
    if kind == "records":
        return {"x": x, "y": draw(st.sampled_from([["T1"], ["T2"], ["T1", "T2"], []])), "k": draw(st.integers(1, 4))}
    if kind == "values":
        y = draw(st.lists(st.sampled_from([("T1", "ill"), ("T2", "own2")]), min_size=1, unique=True))
        y = [p for p in y if p not in x] or [("T1", "ill")]
        return {"x": x, "y": y, "k": draw(st.integers(1, 2))}
    limit = draw(st.sampled_from([Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]))
    target = draw(st.sampled_from([{("T1", "ill"): ["hiv"]}, {("T2", "own2"): ["x"], ("T1", "ill"): ["flu", "hiv"]}]))
    return {"x": [p for p in x if p not in target], "target": target, "limit": limit}


def spelled(place: tuple[str, str], job: Job) -> str:
    release, name = place
    common = sum(name in rows[0] for rows in [job.people, *job.earlier.values()]) > 1
    return f"{release}.{name}" if common else name


def requirement(t: dict[str, Any], job: Job) -> Any:
    over = ("T1", *job.earlier)
    x = [spelled(p, job) for p in t["x"]]
    if "target" in t:
        y = {spelled(p, job): v for p, v in t["target"].items()}
        return join_template(sf.Confidentiality(x=x, y=y, k=t["limit"]), over)
    y = [p if isinstance(p, str) else spelled(p, job) for p in t["y"]]
    return join_template(sf.Anonymity(x=x, y=y, k=t["k"]), over)


def meaning(name: str, label: str) -> Any:
    """What the manifest would say of a label."""
    if name == "a":
        return BELOW[label]
    if name == "n":
        ends = SPANS.get(label) or (None if label == "*" else tuple(float(e) for e in label[1:-1].split(", ")))
        return None if ends is None else list(ends)
    return None if label == "*" else [label]


def means(name: str, label: str) -> frozenset[Any]:
    found = meaning(name, label)
    if found is None:
        return EVERYTHING
    return interval(found[0] or -5, found[1]) if name == "n" else frozenset(found)


def side(name: str, rows: Sequence[Mapping[str, str]]) -> Earlier:
    columns = {}
    for n in rows[0]:
        shown = [row[n] for row in rows]
        labels = tuple(dict.fromkeys(shown))
        meanings = tuple(parse_label(label, meaning(n, label)) for label in labels)
        kind = Kind.CONTINUOUS if n == "n" else Kind.CATEGORICAL
        of_row = np.array([labels.index(label) for label in shown], np.int64)
        columns[n] = EarlierColumn(n, Role.QUASI, kind, labels, of_row, meanings)
    ones = np.ones(len(rows), np.int64)
    return Earlier(name, name, "generalization", len(rows), columns, np.arange(len(rows)), ones)


def naive_templates(run: Any, job: Job) -> list[JoinTemplate]:
    """The templates as they were bound, by release and attribute."""
    found = []
    for r in run.joined:
        wanted = run.releases.resolved(r, run.table)
        x = tuple((a.release, a.name) for a in wanted.x)
        if wanted.targets:
            y: Any = {((t.attribute.release, t.attribute.name), t.value): t.limit for t in wanted.targets}
        else:
            y = [(a.release, a.name) for a in wanted.y] + [(name, "") for name in wanted.records]
        scored = wanted.counts("T1") or any(q is r for q, _ in run.searched)
        found.append(JoinTemplate(x, y, wanted.k, scored))
    return found


def rules_of(job: Job) -> list[dict[str, dict[str, frozenset[Any]]]]:
    below = lambda n, v: BELOW[v] if n == "a" else [v]  # noqa: E731
    return [
        {r: {n: frozenset(x for v in values for x in below(n, v)) for n, values in s.items()} for r, s in rule.items()}
        for rule in job.rules
    ]


def twin_of(run: SequentialRun, job: Job, rows: list[dict[str, Any]]) -> NaiveSequential:
    masked = [c.name for c in run.refinement.columns]
    there = {n: sorted({row[n] for row in rows}) for n in "abn"}
    make: dict[str, Any] = {
        "a": lambda: Tree("a", PATHS),
        "b": lambda: Set("b", there["b"]) if len(there["b"]) > 1 else Tree("b", {there["b"][0]: (there["b"][0],)}),
        "n": lambda: Line("n", there["n"]),
    }
    last = run.table["n"].domain.span()[1]
    whole = [{n: v for n, v in row.items() if n != "class"} for row in rows]
    for row in whole:  # an unmasked number is shown as an interval up to the next
        if "n" not in masked:
            row["n"] = (row["n"], next((v for v in there["n"] if v > row["n"]), last))
    twin = _Unmasked(
        rows,
        [make[n]() for n in "abn" if n in masked],
        [],
        job.score,
        joins=naive_templates(run, job),
        earlier={
            r: [(row, {n: means(n, v) for n, v in row.items()}) for row in found] for r, found in job.earlier.items()
        },
        rules=rules_of(job),
        last=last,
        in_floats=isinstance(run.refinement, JoinedRefinement),
    )
    twin.numbers = there["n"]
    return twin


class _Unmasked(NaiveSequential):
    """Numbers that are not masked are shown up to the next one."""

    numbers: list[int]

    def meaning(self, name: str, shown: Any, ends: Sequence[int]) -> frozenset[Any]:
        if name == "n" and "n" not in self.attributes:
            return interval(shown, next((v for v in self.numbers if v > shown), self.last))
        return super().meaning(name, shown, ends)


def table_of(job: Job, rows: list[dict[str, Any]]) -> sf.Microdata:
    frame = pl.DataFrame(rows).select(list(VALUES))
    domains = {"ill": VALUES["ill"]}
    return sf.read(
        frame, quasi=["a", "b", "n"], sensitive="ill", class_="class", taxonomies={"a": TREE}, domains=domains
    )


@examples(120)
@given(jobs())
def test_the_same_steps(job: Job) -> None:
    rows = job.people * 2  # so that no number belongs to one row alone, and intervals end at numbers
    table = table_of(job, rows)
    rules = [sf.Inconsistent(sides=r) for r in job.rules]
    wanted = [requirement(t, job) for t in job.templates]
    method = sf.TopDownSequential(
        after=[side(n, found) for n, found in job.earlier.items()],
        inconsistent=rules,
        templates=wanted,
        score=job.score,
        join_in_x=job.join_in_x,
    )
    try:
        run = method.steps(table)
    except (Infeasible, sf.PolicyError) as e:
        event("refused: " + str(e)[:40])
        return
    assert isinstance(run, SequentialRun)
    event(f"searched {len(run.searched)}")
    twin = twin_of(run, job, rows)
    compare(run, twin, job)


@examples(100)
@given(jobs(), st.lists(st.sampled_from("abn"), min_size=1, unique=True), st.data())
def test_lists_for_every_set_beside_a_join(job: Job, x: list[str], data: st.DataObject) -> None:
    """Templates of the table alone beside those of the join: as if all rows were counted after every step."""
    row = st.fixed_dictionaries({n: st.sampled_from(v) for n, v in VALUES.items()} | {"b": st.sampled_from("pqrstuvw")})
    table = table_of(job, job.people * 2 + data.draw(st.lists(row, max_size=20)))
    own = [
        sf.Anonymity(x=x, y=["ill"], k=data.draw(st.integers(1, 2))),
        sf.Anonymity(x=["b", "n"], y=["ill", "class"], k=1),
        sf.Anonymity(x=["b"], k=2),
        sf.Confidentiality(x=["b"], y={"ill": "flu"}, k=0.9),
    ]
    wanted = [*(requirement(t, job) for t in job.templates), *data.draw(st.permutations(own))[:2]]

    def steps(scanned: int) -> list[tuple[Any, ...]] | str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(value_lists, "MOST_SCANNED", scanned)
            after = [side(n, found) for n, found in job.earlier.items()]
            try:
                run = sf.TopDownSequential(after=after, templates=wanted, score=job.score).steps(table)
            except (Infeasible, sf.PolicyError) as e:
                return str(e)
            return [(s.attribute, s.value, s.children, s.gain, s.loss, s.score, s.anonymity) for s in run]

    ours = steps(1)
    event(f"steps {min(len(ours), 6)}" if isinstance(ours, list) else "refused: " + ours[:40])
    assert ours == steps(10_000)


def compare(run: SequentialRun, twin: NaiveSequential, job: Job) -> None:
    masked = [c.name for c in run.refinement.columns]
    dangling = any(here or there for here, there in run_dangling(run).values())
    spanning_or_open = len(run.searched) == len(run.joined)
    if (dangling and not spanning_or_open) or run.redundant:
        event("redundant or dangling, by the table alone")
        ours = list(run)  # the table alone is stricter than the join; what others imply does not count in scores
        assert all(t.holds(groups(twin, t, ours, masked)) for t in twin.joins)
        return
    theirs = twin.run()
    ours = list(run)
    assert [(s.attribute, s.gain) for s in ours] == [(s.attribute, s.gain) for s in theirs]
    mixed = 0 < len(run.searched) < len(run.joined)  # shares of the table alone are counted in units of 2^-30
    assert [s.score for s in ours] == pytest.approx([s.score for s in theirs], rel=1e-6 if mixed else 1e-12)
    for step, other in zip(ours, theirs, strict=True):
        shown = step.mask(run.table).select(masked).to_dict(as_series=False)
        for name in masked:
            together = [shown[name].index(v) for v in shown[name]]
            assert together == [other.shown[name].index(v) for v in other.shown[name]]
    event(f"steps {min(len(ours), 4)}")
    found = run.now()
    amounts = twin.amounts(twin.join())
    for r, amount in zip(run.joined, amounts, strict=True):
        told = [found.anonymity, found.confidence][r.bounds_confidence()]
        if amount is not None and any(q is r for q, _ in run.searched) and len(run.searched) == 1:
            assert float(amount) in [pytest.approx(float(v)) for v in told]
    if not twin.join():  # only if what the table alone decides leaves nothing that matches
        with pytest.raises(Infeasible, match="empty"):
            found.release()
        return
    release = found.release(rng=np.random.default_rng(0))
    claimed = [c["achieved"] for c in release.manifest["requirements"] if "over" in c["required"]]
    assert [max(c.values()) for c in claimed] == pytest.approx([float(a) for a in amounts if a is not None])


def run_dangling(run: SequentialRun) -> dict[str, tuple[int, int]]:
    from sfumato.method.topdown.table_side import raw_side
    from sfumato.release.join.join import Join

    names = run.releases.common(run.table)
    return Join([raw_side(run.table, names), *run.releases.after], run.releases.rules).dangling()


def groups(twin: NaiveSequential, t: JoinTemplate, ours: Sequence[Any], masked: Sequence[str]) -> Any:
    """The groups of the join after the steps that were taken."""
    import naive_join as naive

    for step in ours:
        attribute = twin.attributes[step.attribute]
        found = [c for _, c in attribute.candidates(twin.rows, twin.measure) if _is(c, step, attribute)]
        attribute.refine(found[0], twin.rows, twin.measure)
    ours_done = naive.grouped(twin.join(), t.x)
    for attribute in twin.attributes.values():
        attribute.__post_init__() if not isinstance(attribute, Set) else attribute.open.clear()
    return ours_done


def _is(candidate: Any, step: Any, attribute: Any) -> bool:
    """Whether a candidate of the twin is the label that a step refined."""
    if isinstance(attribute, Tree):
        return str(candidate[-1]) == step.value
    if isinstance(attribute, Set):
        return bool(candidate == step.children[0])
    low = step.value.strip("[<>=*").split(",")[0].strip()
    return not low or step.value.startswith(("*", "<")) or float(low) == candidate[0]
