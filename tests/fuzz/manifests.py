"""Mutants of releases: every one that the check accepts must still be true, and none may crash it.

    cd tests && python -m fuzz.manifests --count 10000 --seed 1

A mutant is a release whose manifest, tables or folder was changed; digests are made to agree again, as a careful
forger would. The same seed gives the same mutants.
"""

import argparse
import copy
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from fuzz import oracle
from fuzz.releases import releases
from sfumato.release.store import fill

Rng = np.random.Generator
LONGEST = 20
ODD = [
    None, True, False, -1, 0, 1, 2, 1.5, 0.0, "", "x", "*", [], {}, ["x"], {"x": 1}, 10**30, 10**18, -(10**18), 1e308,
    1e-300, float("nan"), float("inf"), [[[]]], "2001-02-30", "\u0000", 2**53, 2**62,
]  # fmt: skip


class Skip(Exception):  # noqa: N818 - no error: this mutation does not fit this release
    """The mutation does not fit this release."""


# --- changes of the manifest --------------------------------------------------------------------------------


def _place(rng: Rng, node: Any) -> tuple[Any, Any]:
    """A random container and one of its keys."""
    while True:
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[int(rng.integers(len(keys)))]
        inside = isinstance(node[key], dict | list) and node[key]
        if not inside or rng.random() < 0.25:
            return node, key
        node = node[key]


def delete(rng: Rng, m: dict[str, Any]) -> None:
    node, key = _place(rng, m)
    del node[key]


def odd(rng: Rng, m: dict[str, Any]) -> None:
    node, key = _place(rng, m)
    node[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])


def tweak(rng: Rng, m: dict[str, Any]) -> None:
    """Another number, or a longer text."""
    for _ in range(50):
        node, key = _place(rng, m)
        value = node[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            node[key] = [value + 1, value - 1, value * 2, value / 2, -value, value + 0.01, int(value)][
                int(rng.integers(7))
            ]
            return
        if isinstance(value, str) and key not in ("sha256", "file", "name"):
            node[key] = value + "x"
            return
    raise Skip


def extra_key(rng: Rng, m: dict[str, Any]) -> None:
    node, _ = _place(rng, m)
    node = node if isinstance(node, dict) else m
    node["raw"] = [{"name": "Person 1", "ill": "HIV"}]


def swap(rng: Rng, m: dict[str, Any]) -> None:
    """Exchange two values of one object or list."""
    for _ in range(50):
        node, key = _place(rng, m)
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        other = keys[int(rng.integers(len(keys)))]
        if other != key:
            node[key], node[other] = node[other], node[key]
            return
    raise Skip


def rename(rng: Rng, m: dict[str, Any]) -> None:
    node, key = _place(rng, m)
    if not isinstance(node, dict):
        raise Skip
    node[key + "x"] = node.pop(key)


def _attribute(rng: Rng, m: dict[str, Any]) -> dict[str, Any]:
    names = sorted(m["attributes"])
    found: dict[str, Any] = m["attributes"][names[int(rng.integers(len(names)))]]
    return found


def role(rng: Rng, m: dict[str, Any]) -> None:
    roles = ["quasi", "sensitive", "class", "insensitive", "identifier"]
    _attribute(rng, m)["role"] = roles[int(rng.integers(5))]


def stripped_role(rng: Rng, m: dict[str, Any]) -> None:
    """A column becomes insensitive, with all that described it gone."""
    entry = _attribute(rng, m)
    entry.clear()
    entry["role"] = "insensitive"


def nobody(rng: Rng, m: dict[str, Any]) -> None:
    for entry in m["attributes"].values():
        entry.clear()
        entry["role"] = "insensitive"


def node_meaning(rng: Rng, m: dict[str, Any]) -> None:
    labelled = [a["nodes"] for a in m["attributes"].values() if a.get("nodes")]
    if not labelled:
        raise Skip
    nodes = labelled[int(rng.integers(len(labelled)))]
    label = sorted(nodes)[int(rng.integers(len(nodes)))]
    meaning = nodes[label]
    choices: list[Any] = [None, [], ["x"], [0.0, 1.0], [1, 2], ["2001-01-01", "2001-01-02"], nodes[sorted(nodes)[0]]]
    if isinstance(meaning, list) and len(meaning) > 1:
        choices += [meaning[:1], meaning[::-1], [*meaning, meaning[0]]]
    nodes[label] = choices[int(rng.integers(len(choices)))]


def loss(rng: Rng, m: dict[str, Any]) -> None:
    labelled = [a for a in m["attributes"].values() if "loss" in a]
    if not labelled:
        raise Skip
    labelled[int(rng.integers(len(labelled)))]["loss"] = [0, 0.0, 1, 0.5, 1.5, -0.1, 1e-9][int(rng.integers(7))]


def domain(rng: Rng, m: dict[str, Any]) -> None:
    coded = [a for a in m["attributes"].values() if a.get("domain")]
    values = coded[int(rng.integers(len(coded)))]["domain"]
    change: list[Callable[[], Any]] = [
        lambda: values.append("plague"),
        lambda: values.pop(),
        lambda: values.reverse(),
        lambda: values.append(values[0]),
        lambda: values.append(None),
    ]
    change[int(rng.integers(len(change)))]()


def claim(rng: Rng, m: dict[str, Any]) -> None:
    """Change one claim: its words, what is required, what was achieved; with words that fit or not."""
    entry = m["requirements"][int(rng.integers(len(m["requirements"])))]
    which = int(rng.integers(7))
    if which == 0:
        entry["words"] = "nobody can be told apart from fewer than 1000 people"
    elif which == 1:
        entry["achieved"] = {}
    elif which == 2:
        entry["achieved"]["q"] = 7
    elif which == 3:
        entry["achieved"] = {n: v * float(rng.choice([0.5, 1.0001, 2, 10])) for n, v in entry["achieved"].items()}
    elif which == 4:
        entry["required"].pop(sorted(entry["required"])[int(rng.integers(len(entry["required"])))])
    else:
        numbers = sorted(n for n, v in entry["required"].items() if isinstance(v, int | float))
        if not numbers:
            raise Skip
        name = numbers[int(rng.integers(len(numbers)))]
        value = entry["required"][name]
        entry["required"][name] = max(value - 1, 1) if which == 5 else value * (2 if isinstance(value, int) else 0.9)
        _reworded(entry)


def _reworded(entry: dict[str, Any]) -> None:
    from sfumato.requirement.catalogue import from_table

    try:
        entry["words"] = from_table({"model": entry["model"], **entry["required"]}).words()
    except Exception as e:
        raise Skip from e


def one_claim_less(rng: Rng, m: dict[str, Any]) -> None:
    m["requirements"].pop(int(rng.integers(len(m["requirements"]))))


def no_warnings(rng: Rng, m: dict[str, Any]) -> None:
    if "warnings" not in m:
        raise Skip
    m.pop("warnings")


def scheme(rng: Rng, m: dict[str, Any]) -> None:
    m["scheme"] = str(rng.choice(["generalization", "bucketization", "randomization", "sampling", "boxes"]))


def method(rng: Rng, m: dict[str, Any]) -> None:
    m["method"] = [{"name": "mondrian"}, {}, {"name": "pg", "p": 0.5, "k": 2}, {"name": "magic"}, {"name": "anatomy"}][
        int(rng.integers(5))
    ]


def title(rng: Rng, m: dict[str, Any]) -> None:
    m["title"] = "Another title"


MANIFEST = [
    delete, odd, odd, tweak, tweak, extra_key, swap, rename, role, stripped_role, nobody, node_meaning, node_meaning,
    loss, domain, claim, claim, one_claim_less, no_warnings, scheme, method, title,
]  # fmt: skip

# --- changes of the tables ----------------------------------------------------------------------------------

Tables = dict[str, pl.DataFrame]


def _one(rng: Rng, tables: Tables) -> tuple[str, pl.DataFrame, str]:
    name = sorted(tables)[int(rng.integers(len(tables)))]
    frame = tables[name]
    return name, frame, frame.columns[int(rng.integers(frame.width))]


def raw_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    """A sensitive column goes into the table of quasi-identifiers, or a new one into any."""
    name = sorted(tables)[int(rng.integers(len(tables)))]
    values = rng.choice(["flu", "HIV"], tables[name].height)
    tables[name] = tables[name].with_columns(pl.Series(str(rng.choice(["ill", "name", "group", "raw"])), values))


def repeated_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = pl.concat([frame, frame.head(int(rng.integers(1, frame.height + 1)))])
    if rng.random() < 0.5 and name != "sensitive":
        m["rows"] = tables[name].height


def fewer_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame.head(int(rng.integers(0, frame.height)))
    if rng.random() < 0.5 and name != "sensitive":
        m["rows"] = tables[name].height


def constant(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    value = frame[column][int(rng.integers(frame.height))]
    tables[name] = frame.with_columns(pl.lit(value, dtype=frame[column].dtype).alias(column))


def moved_cell(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    values = frame[column].to_list()
    values[int(rng.integers(len(values)))] = values[int(rng.integers(len(values)))]
    tables[name] = frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))


def shuffled_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    tables[name] = frame.with_columns(frame[column][rng.permutation(frame.height)])


def odd_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    n = frame.height
    choices: list[pl.Series] = [
        pl.Series(column, ["many"] * n),
        pl.Series(column, [None] * n),
        pl.Series(column, [10**10] * n),
        pl.Series(column, [-1] * n),
        pl.Series(column, [0] * n),
        pl.Series(column, [2**63 - 1] * n),
        pl.Series(column, [1.5] * n),
        pl.Series(column, [float("nan")] * n),
        pl.Series(column, [True] * n),
        pl.Series(column, [b"x"] * n),
        pl.Series(column, [[1]] * n),
        pl.Series(column, [{"a": 1}] * n),
        pl.Series(column, [f"{i}" for i in range(n)]),
    ]
    tables[name] = frame.with_columns(choices[int(rng.integers(len(choices)))])


def shuffled_rows(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame[rng.permutation(frame.height)]


def other_order(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, _ = _one(rng, tables)
    tables[name] = frame.select(frame.columns[::-1])


def lost_column(rng: Rng, m: dict[str, Any], tables: Tables) -> None:
    name, frame, column = _one(rng, tables)
    tables[name] = frame.drop(column)


TABLES = [
    raw_column, repeated_rows, fewer_rows, constant, moved_cell, moved_cell, shuffled_column, odd_column, odd_column,
    shuffled_rows, other_order, lost_column,
]  # fmt: skip

# --- changes of the folder ----------------------------------------------------------------------------------


def raw_file(rng: Rng, folder: Path) -> None:
    (folder / str(rng.choice(["raw.csv", ".hidden", "data.csv.bak", "manifest.json~"]))).write_text("name,ill\nA,HIV\n")


def subfolder(rng: Rng, folder: Path) -> None:
    (folder / "private").mkdir()


def linked(rng: Rng, folder: Path) -> None:
    file = sorted(folder.iterdir())[int(rng.integers(3))]
    file.rename(folder.parent / "elsewhere")
    file.symlink_to(folder.parent / "elsewhere")


def gone(rng: Rng, folder: Path) -> None:
    sorted(folder.iterdir())[int(rng.integers(3))].unlink()


def flipped(rng: Rng, folder: Path) -> None:
    file = sorted(folder.iterdir())[int(rng.integers(3))]
    content = bytearray(file.read_bytes())
    content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(bytes(content))


FOLDER = [raw_file, subfolder, linked, gone, flipped]


# --- the run ------------------------------------------------------------------------------------------------


@dataclass
class Summary:
    """How many mutants were refused in words (``clean``), how many accepted, and how many ended in a defect."""

    inputs: int = 0
    clean: int = 0
    accepted: int = 0
    unverifiable: int = 0
    """Accepted ones of which nobody outside can tell; the check says that they are stated."""
    tracebacks: int = 0
    hangs: int = 0
    wrong: int = 0
    """Accepted though false."""
    failures: list[str] = field(default_factory=list)

    @property
    def defects(self) -> int:
        return self.tracebacks + self.hangs + self.wrong

    def line(self) -> str:
        """For people."""
        return (
            f"mutants of releases: {self.inputs} inputs, {self.clean} clean, {self.accepted} accepted "
            f"({self.unverifiable} stated only), {self.tracebacks} tracebacks, {self.hangs} hangs, {self.wrong} wrong"
        )


@contextmanager
def at_most(seconds: int) -> Any:
    """Raise TimeoutError where it takes longer."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def make_mutant(base: sf.Release, rng: Rng, folder: Path) -> str:
    """Write a mutant of a release into a folder; what was done."""
    manifest, tables, done = copy.deepcopy(base.manifest), dict(base.tables), []
    where = rng.random()
    if 0.55 < where <= 0.93:
        change = TABLES[int(rng.integers(len(TABLES)))]
        change(rng, manifest, tables)
        done.append(change.__name__)
    fill(folder, manifest, tables)
    if where <= 0.6:
        written = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        for _ in range(1 + int(rng.random() < 0.2)):
            edit = MANIFEST[int(rng.integers(len(MANIFEST)))]
            try:
                edit(rng, written)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
                continue  # the first change took away what the second would change
            done.append(edit.__name__)
        (folder / "manifest.json").write_text(json.dumps(written), encoding="utf-8")
    if where > 0.93:
        spoil = FOLDER[int(rng.integers(len(FOLDER)))]
        spoil(rng, folder)
        done.append(spoil.__name__)
    return " + ".join(done)


def check_mutant(base: sf.Release, before: dict[str, Any], name: str, folder: Path, summary: Summary) -> None:
    """Check a mutant and hold the result against the oracle."""
    try:
        with at_most(LONGEST):
            release = sf.load(folder)
            findings = release.findings()
    except sf.SfumatoError:
        summary.clean += 1
        return
    except TimeoutError:
        summary.hangs += 1
        summary.failures.append(f"{name}: more than {LONGEST} s")
        return
    except Exception as e:
        summary.tracebacks += 1
        summary.failures.append(f"{name}: {type(e).__name__}: {e}")
        return
    if any(f.status == "broken" for f in findings):
        summary.clean += 1
        return
    after, tables = oracle.read(folder)
    said = oracle.opinion(before, after, tables, {n: t.columns for n, t in release.tables.items()})
    if said == "unverifiable" and not any(f.status == "stated" for f in [*findings, *release.stated()]):
        said = "false"
    if said == "false":
        summary.wrong += 1
        summary.failures.append(f"{name}: accepted, and false: {sorted(oracle.changed(before, after))[:4]}")
    summary.accepted += 1
    summary.unverifiable += said == "unverifiable"


def run(count: int, seed: int) -> Summary:
    """Make so many mutants and check each."""
    summary, bases = Summary(), releases()
    names = sorted(bases)
    with tempfile.TemporaryDirectory() as place:
        originals = {}
        for name in names:
            (Path(place) / name).mkdir()
            fill(Path(place) / name, bases[name].manifest, bases[name].tables)
            originals[name] = json.loads((Path(place) / name / "manifest.json").read_text(encoding="utf-8"))
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            base, folder = names[number % len(names)], Path(place) / "mutant"
            folder.mkdir()
            try:
                done = make_mutant(bases[base], rng, folder)
            except (Skip, pl.exceptions.PolarsError):
                done = ""
            if done:
                summary.inputs += 1
                check_mutant(bases[base], originals[base], f"[{seed}, {number}] {base}: {done}", folder, summary)
            shutil.rmtree(folder)
            (Path(place) / "elsewhere").unlink(missing_ok=True)
    return summary


def main() -> None:
    """Run from the command line; the exit code is 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    start = time.perf_counter()
    summary = run(chosen.count, chosen.seed)
    print("\n".join([*summary.failures, summary.line()]))
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(1 if summary.defects else 0)


if __name__ == "__main__":
    main()
