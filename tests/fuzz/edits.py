"""Changes of a manifest, as a forger or an accident would make them."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.requirement.catalogue import from_table

Rng = np.random.Generator
ODD = [
    None, True, False, -1, 0, 1, 2, 1.5, 0.0, "", "x", "*", [], {}, ["x"], {"x": 1}, 10**30, 10**18, -(10**18), 1e308,
    1e-300, float("nan"), float("inf"), [[[]]], "2001-02-30", "\u0000", 2**53, 2**62,
]  # fmt: skip


class Skip(Exception):  # noqa: N818 - no error: this mutation does not fit this release
    """The mutation does not fit this release."""


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


def another_version(rng: Rng, m: dict[str, Any]) -> None:
    """A manifest that another version is said to have written, with other sentences or without warnings."""
    m["sfumato"] = str(rng.choice(["0.0.9", "2.0", "0.1.0.dev1"]))
    which = int(rng.integers(4))
    if which == 0:
        m.pop("warnings", None)
    elif which == 1:
        m["requirements"][0]["words"] = "nobody can be told apart from fewer than 1000 people"
    elif which == 2:
        claim(rng, m)


MANIFEST = [
    delete, odd, odd, tweak, tweak, extra_key, swap, rename, role, stripped_role, nobody, node_meaning, node_meaning,
    loss, domain, claim, claim, one_claim_less, no_warnings, scheme, method, title, another_version,
]  # fmt: skip
