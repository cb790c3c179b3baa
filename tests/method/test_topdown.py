"""Top-down refinement: what it refuses, what it publishes, and that nothing valid and beneficial is left."""

import itertools
import json
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import cli
from sfumato.command import signals
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.method.topdown.topdown import Step
from sfumato.release.judgement import TableSchema
from sfumato.requirement.redundancy import implies, without_redundant

TREE = {"Any": {"A": ["a", "b"], "B": ["c", "d"]}}


def table(rows: list[tuple[Any, ...]], **more: Any) -> sf.Microdata:
    frame = pl.DataFrame(rows, schema=["job", "age", "city", "ill", "class"], orient="row")
    settings = {"quasi": ["job", "age", "city"], "sensitive": "ill", "class_": "class", "taxonomies": {"job": TREE}}
    return sf.read(frame, **(settings | more))


def people(number: int = 40, seed: int = 3) -> sf.Microdata:
    rng = np.random.default_rng(seed)
    rows = [
        (
            "abcd"[rng.integers(4)],
            int(rng.integers(20, 60)),
            ["Ulm", "Bonn", "Kiel"][rng.integers(3)],
            ["flu", "HIV"][int(rng.random() < 0.3)],
            ["yes", "no"][rng.integers(2)],
        )
        for _ in range(number)
    ]
    return table(rows)


# --- bad input ---------------------------------------------------------------------------------------


def test_unsatisfiable_anonymity_names_template_value_and_threshold() -> None:
    with pytest.raises(
        Infeasible, match=r"⟨\{job, age\}, rows, 41⟩: on the most masked table its anonymity is 40; lower k to 40"
    ):
        sf.TopDown(templates=[sf.Anonymity(x=["job", "age"], k=41)]).steps(people())


def test_unsatisfiable_values_are_all_named() -> None:
    template = sf.Confidentiality(x="job", y="ill", k={"flu": 0.5, "HIV": 0.1})
    with pytest.raises(Infeasible, match=r"ill = HIV has a confidence of .*ill = flu has a confidence of"):
        sf.TopDown(templates=[template]).steps(people())


def test_the_nearest_threshold_that_is_told_is_satisfiable() -> None:
    data = people()
    with pytest.raises(Infeasible) as told:
        sf.TopDown(templates=[sf.Confidentiality(x="job", y={"ill": ["HIV"]}, k=0.01)]).steps(data)
    exact = Fraction(str(told.value).split("raise its k to ")[1].split(" or more")[0])
    for k, fine in ((exact, True), (exact - Fraction(1, 10**6), False)):
        method = sf.TopDown(templates=[sf.Confidentiality(x="job", y={"ill": ["HIV"]}, k=k)])
        if fine:
            assert method.steps(data).start().confidence == (float(exact),)
        else:
            with pytest.raises(Infeasible):
                method.steps(data)


@pytest.mark.parametrize("values", [7, [7], "7", ("7",)])
def test_a_sensitive_number_is_named_as_number_or_text(values: Any) -> None:
    frame = pl.DataFrame({"job": list("aabb"), "code": [7, 8, 8, 8], "class": list("ynyn")})
    data = sf.read(frame, quasi=["job"], sensitive="code", class_="class")
    end = sf.TopDown(templates=sf.Confidentiality(x="job", y={"code": values}, k=0.4)).finish(data)
    assert end.labels() == {"job": ["*"]}
    assert {f.status for f in end.release().check()} == {"holds"}
    with pytest.raises(PolicyError, match="'code' has no value '5'"):
        sf.TopDown(templates=sf.Confidentiality(x="job", y={"code": 5}, k=0.4)).steps(data)


def test_x_and_y_overlap() -> None:
    with pytest.raises(PolicyError, match="'job' is in both x and y"):
        sf.Anonymity(x=["job"], y="job", k=2)
    with pytest.raises(PolicyError, match="'ill' is in both x and y"):
        sf.Confidentiality(x=["ill"], y="ill", k=0.5)
    with pytest.raises(PolicyError, match="'job' is in both x and y"):
        sf.TopDown(templates=[sf.Anonymity(y="job", k=2)]).steps(people())


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_k_of_anonymity_outside_its_range(k: Any) -> None:
    with pytest.raises(PolicyError, match="whole number, 1 or more"):
        sf.Anonymity(x="job", k=k)


@pytest.mark.parametrize("k", [0, 1.2, -0.5])
def test_k_of_confidentiality_outside_its_range(k: float) -> None:
    with pytest.raises(PolicyError, match=r"must be in \(0, 1\]"):
        sf.Confidentiality(x="job", y="ill", k=k)


@pytest.mark.parametrize("score", ["gain", "gain-per-loss"])
def test_a_class_is_needed(score: str) -> None:
    data = table([("a", 1, "Ulm", "flu", "yes")] * 4, class_=None, insensitive=["class"])
    with pytest.raises(
        PolicyError, match=f"'{score}' measures information about one class, but no column has that role"
    ):
        sf.TopDown(templates=[sf.Anonymity(x="job", k=2)], score=score).steps(data)
    assert list(sf.TopDown(templates=[sf.Anonymity(x="job", k=2)], score="distortion").steps(data))


def test_a_million_values_without_a_taxonomy() -> None:
    n = 1_000_000
    frame = pl.DataFrame({"code": [f"v{i}" for i in range(n)], "class": ["y", "n"] * (n // 2)})
    data = sf.read(frame, quasi=["code"], class_="class")
    with pytest.raises(DataError, match=r"'code' has 1,000,000 values and no taxonomy"):
        sf.TopDown(templates=[sf.Anonymity(x="code", k=2)]).steps(data)


def test_other_requirements_are_refused() -> None:
    with pytest.raises(PolicyError, match="tdr serves the templates"):
        sf.TopDown(templates=[sf.LDiversity(l=2)])
    with pytest.raises(PolicyError, match="tdd serves the templates"):
        sf.publish(people(), require=sf.TCloseness(t=0.2), method="tdd")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"score": "gains"}, "no score 'gains'; did you mean 'gain'"),
        ({"score": ["gain"]}, "there is no score"),
        ({"templates": 5}, "tdr serves the templates .*but not 5: require"),
        ({"categorical": "x"}, "it must be 'generalize' or 'suppress'"),
        ({"scheme": "bucketization"}, "it must be 'generalization'"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        sf.TopDown(**settings)


def test_nothing_required() -> None:
    with pytest.raises(PolicyError, match="nothing is required"):
        sf.TopDown().steps(people())


# --- templates that others imply ------------------------------------------------------------------


def all_tables(rows: int) -> list[sf.Microdata]:
    """All tables of so many rows over two attributes of two values, a sensitive and a class column of two."""
    cells = list(itertools.product("ab", "xy", ["flu", "HIV"]))
    frames = [
        pl.DataFrame(chosen, schema=["p", "q", "ill"], orient="row")
        for chosen in itertools.combinations_with_replacement(cells, rows)
    ]
    return [
        sf.read(f, quasi=["p", "q"], sensitive="ill", domains={"p": "ab", "q": "xy", "ill": ["flu", "HIV"]})
        for f in frames
    ]


def holds(template: Any, data: sf.Microdata) -> bool:
    frame = pl.DataFrame({n: data[n].codes.astype(np.int64) for n in ("p", "q", "ill")})
    groups = [g for _, g in frame.group_by(list(template.x))]
    if isinstance(template, sf.Anonymity):
        return all((g.select(template.y).n_unique() if template.y else g.height) >= template.k for g in groups)
    limits = template.limits(TableSchema(data))
    leaves = data["ill"].domain.leaves
    return all(
        Fraction(int((g["ill"] == leaves.index(v)).sum()), g.height) <= limit
        for g in groups
        for (_, v), limit in limits.items()
    )


TEMPLATES = [
    *(sf.Anonymity(x=x, y=y, k=k) for x in (["p"], ["p", "q"]) for y in (None, "ill") for k in (1, 2)),
    *(
        sf.Confidentiality(x=x, y={"ill": y}, k=k)
        for x in (["p"], ["p", "q"])
        for y in (["HIV"], ["flu", "HIV"])
        for k in (Fraction(1, 2), Fraction(2, 3))
    ),
    sf.Confidentiality(x=["p"], y="ill", k={"HIV": 0.5, "flu": 1}),
]


def test_what_is_implied_holds_in_every_small_table() -> None:
    """Theorems 4.1.1 (with k ≤ k′) and 5.1.1, Corollary 6.1.1, on all tables of up to four rows."""
    data = [t for n in range(1, 5) for t in all_tables(n)]
    satisfied = {i: [holds(t, d) for d in data] for i, t in enumerate(TEMPLATES)}
    schema, found = TableSchema(data[0]), 0
    for i, j in itertools.permutations(range(len(TEMPLATES)), 2):
        if implies(TEMPLATES[i], TEMPLATES[j], schema):
            found += 1
            assert all(b for a, b in zip(satisfied[i], satisfied[j], strict=True) if a), (TEMPLATES[i], TEMPLATES[j])
    assert found > 20


def test_theorem_4_1_1_as_printed_is_false() -> None:
    """With k ≥ k′ as printed: one row satisfies ⟨{p, q}, 1⟩ and not ⟨{p}, 2⟩."""
    (data, *_) = all_tables(1)
    stronger, weaker = sf.Anonymity(x=["p", "q"], k=1), sf.Anonymity(x=["p"], k=2)
    assert holds(stronger, data)
    assert not holds(weaker, data)
    assert not implies(stronger, weaker, TableSchema(data))


def test_redundant_templates_are_left_out_and_named() -> None:
    small, large = sf.Anonymity(x=["job"], k=3), sf.Anonymity(x=["job", "city"], k=3)
    run = sf.TopDown(templates=[small, large, large]).steps(people())
    assert [t.x for t in run.templates] == [("job", "city")]
    assert len(run.redundant) == 2
    told = run.now().release().warnings
    assert "⟨{job}, rows, 3⟩ is left out: ⟨{job, city}, rows, 3⟩ implies it" in told
    assert "'age' is not in any template and is published unchanged" in told


def test_of_two_that_imply_each_other_one_counts() -> None:
    data = people()
    twice = [sf.Anonymity(x=["job", "age"], k=3), sf.Anonymity(x=["age", "job"], k=3)]
    kept, left_out = without_redundant(twice, TableSchema(data))
    assert kept == twice[:1]
    assert left_out[0].template == twice[1]


# --- maximality -------------------------------------------------------------------------------------


def cuts(tree: dict[str, Any]) -> list[frozenset[str]]:
    """All cuts of a nested tree, each as the set of its labels' leaves."""
    ((_, below),) = tree.items()
    children = dict.fromkeys(below) if isinstance(below, list) else below
    here = [frozenset(["".join(sorted(leaves_of(tree)))])]
    if not children:
        return here
    parts = [cuts({name: deeper or {}}) for name, deeper in children.items()]
    return here + [frozenset().union(*combination) for combination in itertools.product(*parts)]


def leaves_of(tree: dict[str, Any]) -> list[str]:
    ((name, below),) = tree.items()
    if not below:
        return [name]
    children = dict.fromkeys(below) if isinstance(below, list) else below
    return [leaf for n, deeper in children.items() for leaf in leaves_of({n: deeper or {}})]


def suppressions(values: str) -> list[frozenset[str]]:
    """All ways to suppress some of the values, each as the set of what a label stands for."""
    found = []
    for number in range(len(values) + 1):
        for hidden in itertools.combinations(values, number):
            rest = ["".join(hidden)] if hidden else []
            found.append(frozenset([*rest, *(v for v in values if v not in hidden)]))
    return list(dict.fromkeys(found))


def finer(a: frozenset[str], b: frozenset[str]) -> bool:
    return all(any(set(x) <= set(y) for y in b) for x in a)


@pytest.mark.parametrize("seed", range(30))
def test_no_valid_state_lies_below_the_last(seed: int) -> None:
    """Theorem 4.3.1, by enumeration of all states, where every refinement is beneficial."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    frame = pl.DataFrame(
        {"job": rng.choice(list("abcd"), n), "city": rng.choice(list("xyz"), n), "ill": rng.choice(["f", "h"], n)}
    )
    there = "".join(sorted(set(frame["city"])))
    if len(there) < 2:
        return
    data = sf.read(frame, quasi=["job", "city"], sensitive="ill", taxonomies={"job": TREE})
    k, limit = int(rng.integers(1, 4)), Fraction(int(rng.integers(5, 10)), 10)
    templates = [sf.Anonymity(x=["job", "city"], k=k), sf.Confidentiality(x=["city"], y={"ill": ["h"]}, k=limit)]
    if "h" not in set(frame["ill"]) or Fraction(int((frame["ill"] == "h").sum()), n) > limit:
        return
    last = sf.TopDown(templates=templates, score="distortion").finish(data)
    shown = last.mask()
    state = tuple(
        frozenset("".join(sorted(set(frame[name].filter(shown[name] == label)))) for label in shown[name].unique())
        for name in ("job", "city")
    )

    def valid(job: frozenset[str], city: frozenset[str]) -> bool:
        at = {"job": {v: c for c in job for v in c}, "city": {v: c for c in city for v in c}}
        masked = frame.with_columns(pl.col(x).replace_strict(m, default=None) for x, m in at.items())
        if masked.group_by("job", "city").len()["len"].min() < k:
            return False
        groups = [g for _, g in masked.group_by("city")]
        return all(Fraction(int((g["ill"] == "h").sum()), g.height) <= limit for g in groups)

    occurring = set(frame["job"])

    def on_rows(cut: frozenset[str]) -> frozenset[str]:
        return frozenset(s for c in cut if (s := "".join(v for v in c if v in occurring)))

    jobs = {on_rows(c) for c in cuts(TREE)}
    assert valid(*state)
    for job, city in itertools.product(jobs, suppressions(there)):
        if (job, city) != state and finer(job, state[0]) and finer(city, state[1]):
            assert not valid(job, city), (job, city, state)


# --- what is published ------------------------------------------------------------------------------


def test_every_step_is_a_valid_release() -> None:
    templates = [sf.Anonymity(x=["job", "age"], k=4), sf.Confidentiality(x=["age", "city"], y={"ill": ["HIV"]}, k=0.6)]
    run = sf.TopDown(templates=templates).steps(people(80))
    steps = [run.start(), *run]
    assert len(steps) > 3
    for step in steps:
        release = step.release(rng=np.random.default_rng(1))
        assert {f.status for f in release.check()} == {"holds"}
        assert release.manifest["method"] == {"name": "tdr", "score": "gain-per-loss", "categorical": "generalize"}


def test_an_early_step_can_be_masked_after_later_ones() -> None:
    run = sf.TopDown(templates=[sf.Anonymity(x=["job", "age", "city"], k=3)]).steps(people(80))
    first = next(run)
    seen = first.mask()
    list(run)
    assert first.mask().equals(seen)
    assert run.now().number > first.number


def test_held_out_rows() -> None:
    last = sf.TopDown(templates=[sf.Anonymity(x=["job", "age", "city"], k=4)]).finish(people(80))
    own = last.mask()
    others = pl.DataFrame(
        {"age": [1, 99, 30], "job": ["a", "c", "d"], "city": ["Ulm", "Rome", None], "more": [1, 2, 3]}
    )
    masked = last.mask(others)
    assert masked.columns == others.columns
    assert masked["more"].to_list() == [1, 2, 3]
    labels = last.labels()
    assert masked["age"].to_list()[:2] == [labels["age"][0], labels["age"][-1]]
    assert masked["city"].to_list()[1:] == ["*", "*"]
    for name in ("job", "age", "city"):
        assert masked[name].dtype == own[name].dtype
    with pytest.raises(DataError, match="no column 'job'"):
        last.mask(others.drop("job"))
    with pytest.raises(DataError, match="has 'z', not in its taxonomy"):
        last.mask(others.with_columns(job=pl.lit("z")))


def test_dates_orders_and_missing_values() -> None:
    frame = pl.DataFrame(
        {
            "born": ["1980-01-01", "1980-05-01", "1990-01-01", "1999-12-31"] * 3,
            "pain": ["low", "high", "low", "high"] * 3,
            "pay": [1.5, 2.5, None, None] * 3,
            "class": ["yes", "no", "no", "no"] * 3,
        }
    )
    data = sf.read(
        frame,
        quasi=["born", "pain", "pay"],
        class_="class",
        kinds={"born": "date", "pain": "ordinal"},
        domains={"pain": ["low", "mid", "high"]},
        missing="category",
    )
    last = sf.TopDown(templates=[sf.Anonymity(x=x, k=3) for x in ("born", "pain", "pay")], score="gain").finish(data)
    assert last.labels() == {
        "born": ["[1980-01-01, 1980-05-01)", "[1980-05-01, 2000-01-01)"],
        "pain": ["low", "[mid, high]"],
        "pay": ["[1.5, 2.5)", "*"],
    }
    assert {f.status for f in last.release().check()} == {"holds"}
    other = pl.DataFrame({"born": ["1980-03-01"], "pain": ["mid"], "pay": [None]}, schema_overrides={"pay": pl.Float64})
    assert last.mask(other).row(0) == ("[1980-01-01, 1980-05-01)", "[mid, high]", "*")


def test_a_value_that_looks_hidden_is_told_from_what_is() -> None:
    frame = pl.DataFrame({"job": ["*", "*", "b", "b", "c", "c"], "class": list("ynynyy")})
    data = sf.read(frame, quasi=["job"], class_="class")
    steps = list(sf.TopDown(templates=sf.Anonymity(x="job", k=2), score="gain").steps(data))
    assert [s.children for s in steps] == [("c", "*"), ("* (2)", "*"), ("b", "*")]
    assert [sum(sum(c.values()) for c in s.classes.values()) for s in steps] == [6, 4, 2]
    assert steps[1].mask()["job"].to_list() == ["* (2)", "* (2)", "*", "*", "c", "c"]


def test_people_are_counted_by_an_entity() -> None:
    frame = pl.DataFrame(
        {"who": list("aabbccddeeff"), "job": list("xxxxxxyyyyyy"), "class": ["y", "n"] * 6},
    )
    data = sf.read(frame, quasi=["job"], identifiers=["who"], class_="class")
    for k, steps in ((3, 2), (4, 0)):
        run = sf.TopDown(templates=[sf.KAnonymity(k=k, entity="who")]).steps(data)
        assert (len(list(run)), run.now().anonymity) == (steps, (3,) if steps else (6,))


def test_k_anonymity_is_one_template_over_all_quasi_identifiers() -> None:
    release = sf.publish(people(80), require=sf.KAnonymity(k=5), method="tdr")
    assert release.manifest["requirements"][0]["achieved"]["k"] >= 5
    assert {f.status for f in release.check()} == {"holds"}


def test_disclosure_suppresses_in_spite_of_a_taxonomy() -> None:
    labels = sf.TopDownDisclosure(templates=[sf.Anonymity(x=["job"], k=30)]).finish(people(80)).labels()
    assert set(labels["job"]) <= {"*", "a", "b", "c", "d"}


def test_confidence_is_bounded_with_taxonomies_and_numbers_and_a_limit_for_each_value() -> None:
    template = sf.Confidentiality(x=["job", "age"], y="ill", k={"HIV": 0.65, "flu": 0.99})
    run = sf.TopDown(templates=[template], score="distortion").steps(people(200))
    steps = list(run)
    assert {s.attribute for s in steps} == {"job", "age"}
    masked = steps[-1].mask()
    for _, group in masked.group_by("job", "age"):
        assert (group["ill"] == "HIV").mean() <= 0.65
        assert (group["ill"] == "flu").mean() <= 0.99


def test_what_was_refused_tells_for_certain_and_the_release_says_so() -> None:
    """The counterexample of ``refuted``: of all tables of three people with one HIV only one is published so."""
    template = sf.Confidentiality(x="town", y={"ill": ["HIV"]}, k=0.5)
    hidden = []
    for ill in range(3):
        frame = pl.DataFrame({"town": ["A", "B", "B"], "ill": ["HIV" if i == ill else "flu" for i in range(3)]})
        release = sf.publish(
            sf.read(frame, quasi=["town"], sensitive="ill"),
            require=template,
            method=sf.TopDownDisclosure(score="distortion"),
        )
        assert any(sf.TopDown.refuted in w for w in release.warnings)
        if release.tables["data"]["town"].to_list() == ["*"] * 3:
            hidden.append(ill)
    assert hidden == [0]
    assert sf.TopDown.refuted not in sf.publish(people(), require=sf.KAnonymity(k=5), method="tdr").warnings


def test_rows_to_mask_may_be_a_file_or_a_pandas_frame(tmp_path: Path) -> None:
    end = sf.TopDown(templates=[sf.Anonymity(x=["job", "age", "city"], k=4)]).finish(people(80))
    rows = pl.DataFrame({"job": ["a", "d"], "age": [30, 41], "city": ["Ulm", "Kiel"]})
    rows.write_csv(tmp_path / "rows.csv")
    for given in (tmp_path / "rows.csv", rows.to_pandas()):
        assert end.mask(given).rows() == end.mask(rows).rows()


@pytest.mark.parametrize("rows", ["ward.csv", pl.DataFrame({"job": ["a"]})])
def test_what_is_no_microdata_is_refused(rows: Any) -> None:
    with pytest.raises(DataError, match=r"tdr refines microdata, not .*sf\.read first"):
        sf.TopDown(templates=sf.Anonymity(x="job", k=2)).steps(rows)
    for data, template in ((rows, sf.Confidentiality(x="job", y="ill", k=1)), (people(), sf.Anonymity(x="job", k=2))):
        with pytest.raises(PolicyError, match=r"microdata \(sf\.read\) and a Confidentiality, not "):
            sf.inferences(data, template)


# --- the command ----------------------------------------------------------------------------------------

POLICY = """title = "Ward"
[data]
source = "ward.csv"
[attributes]
job = {{ role = "quasi", taxonomy = {{ Any = {{ A = ["a", "b"], B = ["c", "d"] }} }} }}
age = {{ role = "quasi" }}
city = {{ role = "quasi" }}
ill = {{ role = "sensitive" }}
class = {{ role = "class" }}
[[require]]
model = "anonymity"
x = ["job", "age"]
k = {k}
[[require]]
model = "confidentiality"
x = ["age", "city"]
y = {{ ill = ["HIV"] }}
k = 0.6
[method]
name = "{method}"
scheme = "generalization"
"""


def job(folder: Path, method: str = "tdr", k: int = 4) -> Path:
    columns = people(80).columns.values()
    pl.DataFrame({c.name: [c.domain.leaves[i] for i in c.codes] for c in columns}).write_csv(folder / "ward.csv")
    (folder / "policy.toml").write_text(POLICY.format(method=method, k=k))
    return folder / "policy.toml"


def run_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main([str(a) for a in arguments])
    return int(end.value.code or 0)


@pytest.mark.parametrize("method", ["tdr", "tdd"])
def test_publish_and_check_from_a_policy(tmp_path: Path, method: str) -> None:
    out = tmp_path / "out"
    assert run_command("publish", job(tmp_path, method), "-o", out) == 0
    assert run_command("check", out / "release") == 0
    assert json.loads((out / "release" / "manifest.json").read_text())["method"]["name"] == method
    assert "step 1: " in (out / "private" / "log.txt").read_text()


def press_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come while a step is told."""
    words = Step.words

    def pressing(self: Step) -> str:
        if self.number == step:
            signal.raise_signal(signal.SIGINT)
        return words(self)

    monkeypatch.setattr(Step, "words", pressing)


def test_interrupt_publishes_the_last_valid_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, out = job(tmp_path), tmp_path / "out"
    press_at(2, monkeypatch)
    assert run_command("publish", policy, "-o", out, "--on-interrupt", "publish") == 0
    release = sf.load(out / "release")
    assert {f.status for f in release.check()} == {"holds"}
    assert any("stopped after 2 steps" in w for w in release.warnings)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("choice", ["discard", "ask"])
def test_interrupt_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], choice: str
) -> None:
    policy, out = job(tmp_path), tmp_path / "out"
    press_at(2, monkeypatch)
    assert run_command("publish", policy, "-o", out, "--on-interrupt", choice) == 130
    assert not out.exists()
    assert "nothing was written" in capsys.readouterr().err


def test_on_a_terminal_the_steward_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", Terminal())
    asked: list[str] = []
    monkeypatch.setattr("click.confirm", lambda words, **_: asked.append(words) or True)
    assert signals.is_wanted("ask", "step 7: age → …")
    assert asked == ["Stopped after step 7. Publish this table?"]


class Terminal:
    """Someone sits there."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def test_unsatisfiable_from_the_command_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run_command("publish", job(tmp_path, k=81), "-o", out) == 3
    assert not out.exists()
    assert "⟨{job, age}, rows, 81⟩" in capsys.readouterr().err
