"""An independent opinion on a mutated release: is what it says still true? Plain Python, nothing of the check's code.

``false``: something it says is contradicted by its own public part. ``true``: all that changed is free text, or was
judged again and holds. ``unverifiable``: what changed cannot be told from outside; a check must say "stated".
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.method.catalogue import METHODS
from sfumato.requirement.catalogue import from_table

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]

FREE = re.compile(r"title")
WORD = re.compile(
    r"sfumato|method(\..*)?|warnings(\..*)?|matrices(\..*)?|after(\..*)?|inconsistent(\..*)?|attributes"
    r"|attributes\.[^.]*(\.(role|kind|domain|taxonomy|loss|ranges|nodes)(\..*)?)?"
)
"""Paths of which a change may be the publisher's word; that they contradict nothing is judged apart."""
AGAIN = re.compile(r"rows|sampled_from|tables(\..*)?|requirements(\..*)?")
"""Paths of which all was judged again by `faults`."""


def read(folder: Path) -> tuple[dict[str, Any], Tables]:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    names = ["quasi", "sensitive"] if (folder / "quasi.parquet").exists() else ["data"]
    frames = {n: pl.read_parquet(folder / f"{n}.parquet", glob=False) for n in names}
    return manifest, {n: f.cast({pl.Enum: pl.String}).to_dicts() for n, f in frames.items()}


def opinion(before: dict[str, Any], after: dict[str, Any], tables: Tables, columns: dict[str, list[str]]) -> str:
    """What an independent reader says of a release whose manifest was ``before``."""
    try:
        if next(faults(before, after, tables, columns), None):
            return "false"
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError):
        return "false"  # what cannot even be read
    kinds = {_kind(path) for path in changed(before, after)}
    if "false" in kinds:
        return "false"
    return "unverifiable" if "unverifiable" in kinds or _hidden(after) else "true"


def _kind(path: str) -> str:
    if FREE.fullmatch(path) or AGAIN.fullmatch(path):
        return "true"
    return "unverifiable" if WORD.fullmatch(path) else "false"


def _hidden(manifest: dict[str, Any]) -> bool:
    return manifest["scheme"] in ("sampling", "randomization")


def changed(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The paths at which two manifests differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            below = f"{path}.{key}".lstrip(".").replace("\n", " ")
            if key not in before or key not in after:
                yield below
            else:
                yield from changed(before[key], after[key], below)
    elif before != after or type(before) is not type(after):
        yield path


def faults(before: dict[str, Any], m: dict[str, Any], tables: Tables, columns: dict[str, list[str]]) -> Iterator[str]:
    """What the public part contradicts."""
    roles = {n: a["role"] for n, a in m["attributes"].items()}
    quasi = [n for n, r in roles.items() if r == "quasi"]
    sensitive = [n for n, r in roles.items() if r == "sensitive"]
    scheme = m["scheme"]
    if scheme == "bucketization":
        wanted = {"quasi": {*roles} - {*sensitive} | {"group"}, "sensitive": {*sensitive, "group", "count"}}
    else:
        wanted = {"data": {*roles} | ({"G"} if scheme == "sampling" else set())}
    if {n: set(c) for n, c in columns.items()} != wanted:
        yield "columns"
    main = tables["quasi" if scheme == "bucketization" else "data"]
    if len(main) != m["rows"] or not main or isinstance(m["rows"], bool):
        yield "rows"
    if (scheme != "randomization" and not quasi) or not m["requirements"]:
        yield "claims about nobody"
    if scheme != before["scheme"]:
        yield "scheme"
    yield from _values(m, tables, scheme)
    yield from _warnings(before, m)
    if scheme == "bucketization":
        people = Counter(row["group"] for row in main)
        held: Counter[Any] = Counter()
        for row in tables["sensitive"]:
            if not row["count"] > 0:
                yield "count"
            held[row["group"]] += row["count"]
        if people != held:
            yield "groups"
    if scheme == "sampling":
        sizes = [row["G"] for row in main]
        if sum(sizes) != m["sampled_from"] or min(sizes) < m["method"]["k"]:
            yield "sizes"
    for entry in m["requirements"]:
        yield from _claim(entry, m, tables, quasi, sensitive)


def _values(m: dict[str, Any], tables: Tables, scheme: str) -> Iterator[str]:
    for name, a in m["attributes"].items():
        values = {row[name] for t in tables.values() for row in t if name in row}
        if a["role"] == "insensitive":
            if set(a) != {"role"}:
                yield f"{name}: an insensitive column has no domain or labels"
        elif a["role"] == "quasi" and scheme in ("generalization", "sampling"):
            if not values <= a["nodes"].keys():
                yield f"{name}: label"
            for label, meaning in a["nodes"].items():
                if _lies(label, meaning):
                    yield f"{name}: {label} means {meaning}"
            if not 0 <= a["loss"] <= 1 or (set(map(_single, a["nodes"].items())) == {True} and a["loss"]):
                yield f"{name}: loss"
        else:
            known = {_text(v) for v in values}
            if not known <= {str(v) for v in a["domain"]}:
                yield f"{name}: domain"


def _text(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _single(item: tuple[str, Any]) -> bool:
    return item[1] == [item[0]]


def _lies(label: str, meaning: Any) -> bool:
    """A label that shows an interval means just that."""
    if found := re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\)", label):
        return meaning != [float(found[1]), float(found[2])]
    if found := re.fullmatch(r"\[(\d{4}-\d\d-\d\d), (\d{4}-\d\d-\d\d)\)", label):
        return meaning != [found[1], found[2]]
    if found := re.fullmatch(r"(<|>=) (-?[\d.]+|\d{4}-\d\d-\d\d)", label):
        end = found[2] if found[2].count("-") == 2 else float(found[2])
        return meaning != ([None, end] if found[1] == "<" else [end, None])
    return False


def _warnings(before: dict[str, Any], m: dict[str, Any]) -> Iterator[str]:
    refuted = METHODS[m["method"]["name"]].refuted
    same = m["requirements"] == before["requirements"] and m["method"] == before["method"]
    if same and refuted in before.get("warnings", ()) and refuted not in m.get("warnings", ()) and not _elsewhere(m):
        yield "warning"


def _elsewhere(m: dict[str, Any]) -> bool:
    """Whether another version is said to have written it: its sentences may differ, if a check says so."""
    return bool(m["sfumato"] != version("sfumato"))


def unsaid(before: dict[str, Any], after: dict[str, Any], said: str) -> str | None:
    """A sentence of another version's manifest, or a warning that it lacks, that a check does not mention."""
    if not _elsewhere(after):
        return None
    told = [e["words"] for e in after["requirements"]]
    ours = [from_table({"model": e["model"], **e["required"]}).words() for e in after["requirements"]]
    expected = [f"{w!r}" for pair in zip(told, ours, strict=True) if pair[0] != pair[1] for w in pair]
    refuted = METHODS[after["method"]["name"]].refuted
    lost = refuted in before.get("warnings", ()) and refuted not in after.get("warnings", ())
    same = after["requirements"] == before["requirements"] and after["method"] == before["method"]
    expected += [str(refuted)] if same and lost else []
    return next((text for text in expected if text not in said), None)


def _claim(
    entry: dict[str, Any], m: dict[str, Any], tables: Tables, quasi: list[str], sensitive: list[str]
) -> Iterator[str]:
    model, required, achieved = entry["model"], entry["required"], entry["achieved"]
    if set(entry) != {"model", "required", "achieved", "words"}:
        yield "parts of a claim"
    if entry["words"] != from_table({"model": model, **required}).words() and not _elsewhere(m):
        yield "words"
    found = _found(model, required, m, tables, quasi, sensitive)
    if found is None:
        if not all(isinstance(v, int | float) and math.isfinite(v) for v in achieved.values()):
            yield "achieved"
        return
    if achieved.keys() != found.keys() or any(not math.isclose(achieved[n], v, rel_tol=1e-6) for n, v in found.items()):
        yield "achieved"
    yield from _unmet(model, required, found)


def _unmet(model: str, required: dict[str, Any], found: dict[str, float]) -> Iterator[str]:
    at_most = {"t", "alpha", "beta", "c", "delta"} | ({"k"} if model == "confidentiality" else set())
    for name, value in found.items():
        limit = required[name] if not isinstance(required[name], dict) else None
        if limit is None:
            continue
        if (value > limit * (1 + 1e-9)) if name in at_most else (value < limit * (1 - 1e-9)):
            yield f"{model}: {name}"


def _found(
    model: str, required: dict[str, Any], m: dict[str, Any], tables: Tables, quasi: list[str], sensitive: list[str]
) -> dict[str, float] | None:
    """What the worst group achieves, or None where only the publisher can tell."""
    if m["scheme"] in ("sampling", "randomization") or model in ("r-robustness", "k-map") or "over" in required:
        return None
    x = _names(required.get("x")) or quasi
    groups = _groups(m["scheme"], tables, x)
    if model == "k-anonymity":
        return None if "entity" in required else {"k": min(map(len, groups))}
    if model == "anonymity":
        y = _names(required.get("y"))
        if any(n not in m["attributes"] or n in quasi for n in y):
            return None
        return {"k": min(len({tuple(row[n] for n in y) for row in g}) if y else len(g) for g in groups)}
    attributes = _names(required["y"] if model == "confidentiality" else required.get("sensitive")) or sensitive
    if model != "confidentiality" and not {*attributes} <= {*sensitive}:
        raise ValueError("about no sensitive attribute")
    if any(n in quasi for n in attributes):
        return None
    return _shares(model, required, groups, attributes, m)


def _names(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _groups(scheme: str, tables: Tables, x: list[str]) -> list[Rows]:
    found = defaultdict(list)
    if scheme == "bucketization":
        for row in tables["sensitive"]:
            found[row["group"]].extend([row] * row["count"])
    else:
        for row in tables["data"]:
            found[tuple(row[n] for n in x)].append(row)
    return list(found.values())


def _shares(
    model: str, required: dict[str, Any], groups: list[Rows], attributes: list[str], m: dict[str, Any]
) -> dict[str, float] | None:
    worst = max(max(Counter(r[a] for r in g).values()) / len(g) for g in groups for a in attributes)
    if model == "alpha-k":
        return {"alpha": worst, "k": min(map(len, groups))}
    if model == "confidentiality" and isinstance(required["y"], list | str) and not isinstance(required["k"], dict):
        return {"k": worst}
    if model == "m-confidentiality" and "values" not in required:
        return {"m": 1 / worst}
    if model == "l-diversity" and required.get("variant", "frequency") == "frequency":
        return {"l": 1 / worst}
    if model == "l-diversity" and required["variant"] == "distinct":
        return {"l": min(len({r[a] for r in g}) for g in groups for a in attributes)}
    if model == "beta-likeness":
        gains = [(q / p - 1, p) for a in attributes for q, p in _before_after(groups, a)]
        broken = required.get("variant") == "enhanced" and any(gain > max(0.0, -math.log(p)) for gain, p in gains)
        return {"beta": math.inf if broken else max(0.0, *(gain for gain, _ in gains))}
    if model == "delta-disclosure":
        ratios = [q / p for a in attributes for q, p in _before_after(groups, a)]
        return {"delta": max(abs(math.log(ratio)) if ratio else math.inf for ratio in ratios)}
    if model == "t-closeness":
        kind = required.get("distance", "equal")
        return {"t": max(_distance(kind, g, groups, a, m) for g in groups for a in attributes)}
    raise NotImplementedError(f"{model} {required}")


def _before_after(groups: list[Rows], a: str) -> Iterator[tuple[float, float]]:
    """The share of each value in each group, and in all of them."""
    everyone = Counter(r[a] for g in groups for r in g)
    for g in groups:
        here = Counter(r[a] for r in g)
        yield from ((here[v] / len(g), n / everyone.total()) for v, n in everyone.items())


def _distance(kind: str, group: Rows, groups: list[Rows], a: str, m: dict[str, Any]) -> float:
    domain = m["attributes"][a]["domain"]
    everyone = [row for g in groups for row in g]
    extra = [
        sum(str(r[a]) == v for r in group) / len(group) - sum(str(r[a]) == v for r in everyone) / len(everyone)
        for v in domain
    ]
    if kind == "equal":
        return sum(map(abs, extra)) / 2
    if kind == "ordered":
        return sum(abs(sum(extra[: i + 1])) for i in range(len(extra) - 1)) / max(len(extra) - 1, 1)
    ((_, tree),) = m["attributes"][a]["taxonomy"].items()
    cost, height = _moved(tree, dict(zip(domain, extra, strict=True)))
    return cost / max(height, 1)


def _moved(tree: dict[str, Any], extra: dict[str, float]) -> tuple[float, int]:
    """The cost of levelling below a node, and its height."""
    below = {name: _moved(deeper, extra) if deeper else (0.0, 0) for name, deeper in tree.items()}
    height = 1 + max(h for _, h in below.values())
    mass = [sum(extra[leaf] for leaf in _leaves(name, tree[name])) for name in tree]
    here = height * min(sum(x for x in mass if x > 0), -sum(x for x in mass if x < 0))
    return here + sum(cost for cost, _ in below.values()), height


def _leaves(name: str, tree: dict[str, Any]) -> list[str]:
    return [leaf for n, t in tree.items() for leaf in _leaves(n, t)] if tree else [name]
