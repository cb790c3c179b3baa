"""Full-domain generalization: worked values, bad input, the release, and what an aware adversary learns from it."""

import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import datasets
from sfumato.engine.local import LocalEngine
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import silent
from sfumato.method.incognito.levels import Ladder
from sfumato.release.judgement import on_groups
from sfumato.table.taxonomy import Taxonomy

JOB = {"Any": {"Work": ["Nurse", "Cook"], "None": {}}}


def people() -> sf.Microdata:
    frame = pl.DataFrame({"job": ["Nurse", "Cook", "None", "None"], "sex": ["F", "M", "M", "M"], "ill": list("abab")})
    return sf.read(frame, quasi=["job", "sex"], sensitive="ill", taxonomies={"job": JOB})


# --- worked by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "levels", "value"),
    [
        ("arx", (1, 1), (1.25 * 2) ** 0.5 - 1),  # job: v = (2 - 4/3) / (4 - 4/3); sex: v = 1
        ("precision", (1, 1), (1 / 2 + 1) / 2),
        ("discernibility", (1, 1), 8),
        ("aecs", (1, 1), 2),
    ],
)
def test_losses_by_hand(loss: str, levels: tuple[int, int], value: float) -> None:
    best = sf.incognito(people(), require=sf.KAnonymity(k=2), loss=loss)
    assert tuple(best.levels.values()) == levels
    assert best.loss == pytest.approx(value)
    assert best.suppressed == 0


def test_suppressed_rows_lose_everything() -> None:
    """Two rows suppressed at level 0: v = 1/2 for both attributes, which is better than (1, 1) above."""
    best = sf.incognito(people(), require=sf.KAnonymity(k=2), suppression=0.5)
    assert (best.levels, best.suppressed, best.loss) == ({"job": 0, "sex": 0}, 2, pytest.approx(0.5))
    tight = sf.incognito(people(), require=sf.KAnonymity(k=2), suppression=0.49)
    assert tight.suppressed < 2


def test_ties_go_by_steps_then_by_the_order_of_the_attributes() -> None:
    frame = pl.DataFrame({"x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]})
    best = sf.incognito(sf.read(frame, quasi=["x", "y"]), require=sf.KAnonymity(k=2))
    assert best.levels == {"x": 0, "y": 1}
    assert best.ties == ({"x": 1, "y": 0},)


def test_levels_of_an_uneven_tree() -> None:
    tree = Taxonomy.from_tree({"Any": {"A": {"B": ["p", "q"], "r": {}}, "s": {}}})
    shown = [[tree.labels[n] for n in nodes] for nodes in Ladder.of("x", tree).nodes]
    assert shown == [["p", "q", "r", "s"], ["B", "r", "s"], ["A", "s"], ["Any"]]


def test_numbers_without_intervals_are_shown_or_suppressed() -> None:
    table = sf.read(pl.DataFrame({"age": [20, 20, 31, 32]}), quasi=["age"])
    assert sf.incognito(table, require=sf.KAnonymity(k=2)).levels == {"age": 1}
    wide = sf.read(pl.DataFrame({"age": [20, 20, 31, 32]}), quasi=["age"], taxonomies={"age": {"width": 5}})
    release = sf.publish(wide, require=sf.KAnonymity(k=2), method="incognito")
    assert release.manifest["method"]["levels"] == {"age": 1}
    assert set(release.tables["data"]["age"]) == {"[20, 25)", "[30, 35)"}


def test_the_optimum_on_a_hospital_is_that_of_an_enumeration() -> None:
    """4,000 rows, four quasi-identifiers, each node by a group_by of generalized columns."""
    frame = pl.read_csv(datasets.example_folder() / "discharges.csv", schema_overrides={"zip": pl.String})
    folder = datasets.example_folder()
    trees = {"age": {"width": 5}, "zip": folder / "zip.csv", "job": folder / "job.json"}
    names = ["age", "sex", "zip", "job"]
    table = sf.read(frame, quasi=names, taxonomies=trees)
    ladders = [Ladder.of(c.name, c.domain) for c in table.quasi]
    sizes = {}
    for levels in itertools.product(*(range(ladder.top + 1) for ladder in ladders)):
        codes = {c.name: l.number[i][c.codes] for c, l, i in zip(table.quasi, ladders, levels, strict=True)}
        share = {
            f"{c.name}%": l.leaves[i][l.number[i][c.codes]] / l.size
            for c, l, i in zip(table.quasi, ladders, levels, strict=True)
        }
        grouped = pl.DataFrame(codes | share).with_columns(size=pl.len().over(names))
        lost = int((grouped["size"] < 5).sum())
        if lost <= 0.05 * table.rows:
            product = 1.0
            for c in table.quasi:
                total = float(np.where(grouped["size"] < 5, 1.0, grouped[f"{c.name}%"]).sum())
                product *= 1 + (total - table.rows / c.size) / (table.rows - table.rows / c.size)
            sizes[levels] = (product ** (1 / 4) - 1, lost)
    best = sf.incognito(table, require=sf.KAnonymity(k=5), suppression=0.05)
    expected = min(sizes, key=lambda levels: sizes[levels])
    assert tuple(best.levels.values()) == expected
    assert (best.loss, best.suppressed) == (pytest.approx(sizes[expected][0]), sizes[expected][1])
    assert best.nodes == np.prod([ladder.top + 1 for ladder in ladders])
    assert best.looked_at < best.nodes


# --- bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suppression": -0.1}, "suppression = -0.1; it must be in [0, 1]"),
        ({"suppression": 5}, "suppression = 5; it must be in [0, 1]"),
        ({"suppression": "5%"}, "suppression = '5%'"),
        ({"suppression": True}, "suppression = True"),
        ({"suppression": float("nan")}, "suppression = nan"),
        ({"loss": "arxx"}, "there is no loss 'arxx'; did you mean 'arx'?"),
        ({"loss": ["arx"]}, "there is no loss ['arx']; did you mean 'arx'?"),
        ({"loss": None}, "there is no loss None; choose from 'aecs', 'arx', 'discernibility', 'precision'"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError) as e:
        sf.incognito(people(), require=sf.KAnonymity(k=2), **settings)  # type: ignore[arg-type]
    assert message in str(e.value)


def test_what_it_cannot_serve() -> None:
    with pytest.raises(PolicyError, match="groups of all quasi-identifiers, but anonymity asks for groups by job"):
        sf.incognito(people(), require=sf.Anonymity(x=["job"], k=2))
    with pytest.raises(PolicyError, match="nothing is required"):
        sf.incognito(people(), require=[])
    bare = sf.read(pl.DataFrame({"ill": ["a", "b"]}), sensitive="ill")
    with pytest.raises(PolicyError, match="none is declared; give a column that role"):
        sf.incognito(bare, require=sf.KAnonymity(k=2))
    wide = sf.read(pl.DataFrame({f"q{j}": ["a", "b"] for j in range(21)}), quasi=[f"q{j}" for j in range(21)])
    with pytest.raises(PolicyError, match="21 quasi-identifiers has 2,097,152 nodes"):
        sf.incognito(wide, require=sf.KAnonymity(k=2))


def test_what_cannot_be_met() -> None:
    with pytest.raises(Infeasible, match="4 rows cannot be 5-anonymous; lower k to 4 or less"):
        sf.incognito(people(), require=sf.KAnonymity(k=5))
    with pytest.raises(Infeasible, match="suppressing 1 of the rows does not help"):
        sf.incognito(people(), require=sf.KAnonymity(k=5), suppression=1.0)


def test_suppression_serves_a_table_that_is_not_diverse_as_a_whole() -> None:
    """Three of five are ill with a; without the two uniform rows of zip 2 the rest is diverse."""
    frame = pl.DataFrame({"zip": ["1", "1", "1", "2", "2"], "ill": ["a", "b", "c", "a", "a"]})
    table = sf.read(frame, quasi=["zip"], sensitive="ill")
    with pytest.raises(Infeasible):
        sf.incognito(table, require=sf.LDiversity(l=2))
    best = sf.incognito(table, require=sf.LDiversity(l=2), suppression=0.4)
    assert (best.levels, best.suppressed) == ({"zip": 0}, 2)


# --- the release -------------------------------------------------------------------------------------


def test_a_suppressed_row_leaves_no_trace() -> None:
    """Its sensitive value, which nobody else has, is in neither table nor manifest; nor is its zip."""
    frame = pl.DataFrame(
        {"zip": ["1", "1", "2", "2", "3"], "ill": ["a", "b", "a", "b", "rare"], "note": ["u", "u", "u", "u", "odd"]}
    )
    table = sf.read(frame, quasi=["zip"], sensitive="ill", insensitive=["note"])
    release = sf.publish(table, require=sf.KAnonymity(k=2), method=sf.Incognito(suppression=0.2))
    assert release.manifest["rows"] == release.tables["data"].height == 4
    assert release.manifest["method"] == {
        "name": "incognito",
        "suppression": 0.2,
        "loss": "arx",
        "levels": {"zip": 0},
        "suppressed": 1,
        "suppressed_share": 0.2,
    }
    text = json.dumps(release.manifest) + release.tables["data"].write_csv()
    assert "rare" not in text
    assert "odd" not in text
    assert set(release.manifest["attributes"]["zip"]["nodes"]) == {"1", "2"}
    assert {f.status for f in release.check()} == {"holds"}


def test_sensitive_numbers_of_suppressed_rows_leave_no_trace() -> None:
    frame = pl.DataFrame({"zip": ["1", "1", "2"], "pay": [10, 20, 777]})
    table = sf.read(frame, quasi=["zip"], sensitive="pay", kinds={"pay": "continuous"})
    release = sf.publish(table, require=sf.LDiversity(l=2), method=sf.Incognito(suppression=0.4))
    assert "777" not in json.dumps(release.manifest) + release.tables["data"].write_csv()
    assert {f.status for f in release.check()} == {"holds"}


def test_by_policy_with_report_and_check(tmp_path: Path) -> None:
    for file in datasets.example_folder().iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    policy = (tmp_path / "policy.toml").read_text().split("[method]")[0]
    (tmp_path / "job.toml").write_text(policy + '[method]\nname = "incognito"\nsuppression = 0.05\nloss = "arx"\n')
    done = sf.publish_policy(tmp_path / "job.toml", tmp_path / "out")
    assert "Smallest counterexample, a share of" in done.report.read_text()
    method = sf.load(tmp_path / "out" / "release").manifest["method"]
    assert 0 < method["suppressed_share"] <= 0.05
    assert done.release.manifest["rows"] + method["suppressed"] == 4000
    assert {f.status for f in sf.load(tmp_path / "out" / "release").check()} == {"holds"}
    audit = json.loads((tmp_path / "out" / "private" / "audit.json").read_text())
    assert audit["rows"]["published"] == done.release.manifest["rows"]


def test_it_warns_where_sensitive_values_decide() -> None:
    assert sf.Incognito().warnings([sf.KAnonymity(k=2)]) == []
    (warning,) = sf.Incognito().warnings([sf.KAnonymity(k=2), sf.LDiversity(l=2)])
    assert "use mondrian+ or mondrian-blur instead" in warning


def test_progress_is_told() -> None:
    told: list[str] = []
    sf.publish(people(), require=sf.KAnonymity(k=2), method="incognito", progress=lambda s, d: told.append(s))
    assert list(dict.fromkeys(told)) == ["compress", "lattice", "labels", "judgement", "order"]
    assert silent("lattice", 0.5) is None


# --- an adversary who knows the algorithm -------------------------------------------------------------

Shown = tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]


def solved(
    method: sf.Incognito, frame: pl.DataFrame, requirement: sf.KAnonymity | sf.LDiversity
) -> tuple[dict[str, int], list[bool]]:
    """The levels, and whether each row is kept."""
    table = sf.read(frame, quasi=["zip"], sensitive="ill")
    engine = LocalEngine(table)
    bound = on_groups(method.bind(table, [requirement]), method.name)
    counts = engine.count(method.counted(table, bound))
    found = method.solve(counts, bound)
    return found.optimum.levels, found.kept[engine.vectors(counts)].tolist()


def worlds(suppression: float) -> dict[Shown, set[tuple[str, ...]]]:
    """All tables of two people with zip 1 and two with zip 2: what is shown, and the tables that show it."""
    seen: dict[Shown, set[tuple[str, ...]]] = defaultdict(set)
    method = sf.Incognito(suppression=suppression)
    for values in itertools.product("ab", repeat=4):
        frame = pl.DataFrame({"zip": ["1", "1", "2", "2"], "ill": list(values)})
        try:
            levels, kept = solved(method, frame, sf.LDiversity(l=2))
        except Infeasible:
            continue
        label = frame["zip"] if levels["zip"] == 0 else pl.Series(["*"] * 4)
        groups = {z: tuple(i for i in range(4) if label[i] == z and kept[i]) for z in label.unique()}
        shown = sorted((g, tuple(sorted(values[i] for i in g))) for g in groups.values() if g)
        seen[tuple(shown)].add(values)
    return seen


def test_levels_tell_an_aware_adversary_who_shares_a_value() -> None:
    """Of the six tables behind one group with a, a, b, b only two would be shown so: zip 1 has one value."""
    seen = worlds(0.0)[(((0, 1, 2, 3), ("a", "a", "b", "b")),)]
    assert seen == {("a", "a", "b", "b"), ("b", "b", "a", "a")}


def test_gaps_tell_an_aware_adversary_who_shares_a_value() -> None:
    """If the two of zip 1 are suppressed, they have one value: of their four combinations two are left."""
    seen = worlds(0.5)[(((2, 3), ("a", "b")),)]
    assert {values[:2] for values in seen} == {("a", "a"), ("b", "b")}


def test_sizes_alone_tell_nothing() -> None:
    """With k-anonymity the same is shown whatever the sensitive values are."""
    levels = set()
    for values in itertools.product("ab", repeat=5):
        frame = pl.DataFrame({"zip": ["1", "1", "2", "2", "3"], "ill": list(values)})
        found, kept = solved(sf.Incognito(suppression=0.2), frame, sf.KAnonymity(k=2))
        levels.add((tuple(found.items()), tuple(kept)))
    assert len(levels) == 1
