"""A slow judge of what a manifest claims, by nothing but what the tables show: plain Python, no code of sfumato.

Whoever looks at a release sees rows with quasi-identifiers. Rows that show the same ones are a class. In a generalized
release a class is the group that claims are about; in a bucketized one quasi-identifiers are exact, so a class is
what people can be told apart by, and a bucket what sensitive values can be told apart by.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Row = dict[str, Any]

POPULATION: dict[str, list[Any]] = {
    "age": [20 + i * 7 % 43 for i in range(600)],
    "zip": [("11", "12", "21", "22")[i * 5 % 7 % 4] for i in range(600)],
}
"""The people whom k-map counts; ages up to 62 and the zip 22 occur in no table."""
EARLIER: dict[str, list[str]] = {
    "zip": ["11", "11", "12", "21", "21", "21", "22"],
    "town": ["Ulm", "Ulm", "Jena", "Jena", "Ulm", "Ulm", "Jena"],
}
"""What was published before the tables that tdssa publishes; the zip 22 occurs in no table."""
Figures = dict[str, float]
Bag = Counter[str]
"""How often each value occurs."""

PERSON = "person"
"""The identifier that tests give people; never published, so that it is looked up by the row number."""


class Seen:
    """What a release shows: rows of labels, and for each row the values that it may have."""

    def __init__(self, manifest: Mapping[str, Any], tables: Mapping[str, Any], people: Mapping[int, str]) -> None:
        self.roles = {name: a["role"] for name, a in manifest["attributes"].items()}
        self.domains = {name: a.get("domain", []) for name, a in manifest["attributes"].items()}
        self.nodes = {name: a.get("nodes") for name, a in manifest["attributes"].items()}
        self.quasi = [n for n, role in self.roles.items() if role == "quasi"]
        self.people = people
        self.bucketized = "quasi" in tables
        self.rows: list[Row] = tables["quasi" if self.bucketized else "data"].to_dicts()
        self.sizes = (
            [row.get("G", 1) for row in self.rows] if manifest["scheme"] == "sampling" else [1] * len(self.rows)
        )
        self.values = tables["sensitive"].to_dicts() if self.bucketized else self.rows

    def classes(self, x: Sequence[str] = ()) -> list[list[int]]:
        """The places of the rows that show the same quasi-identifiers."""
        found: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            found[tuple(str(row[n]) for n in x or self.quasi)].append(place)
        return list(found.values())

    def bags(self, name: str, x: Sequence[str] = ()) -> list[Bag]:
        """The sensitive values of each group as people see it: a class, or a bucket."""
        if self.bucketized:
            assert not x, "what is inferred from some quasi-identifiers is no matter of buckets"
            found: dict[int, Bag] = defaultdict(Counter)
            for entry in self.values:
                found[entry["group"]][str(entry[name])] += entry["count"]
            return list(found.values())
        return [Counter(str(self.rows[i][name]) for i in members) for members in self.classes(x)]

    def fewest(self, x: Sequence[str] = (), y: Sequence[str] = ()) -> int:
        """The fewest rows, or distinct values on y, of a class."""
        if not y:
            return min(sum(self.sizes[i] for i in members) for members in self.classes(x))
        return min(len({tuple(self._value(i, n) for n in y) for i in members}) for members in self.classes(x))

    def _value(self, place: int, name: str) -> str:
        row = self.rows[place]
        return self.people[row["row"]] if name == PERSON else str(row[name])


def listed(value: Any) -> list[str]:
    """A parameter that is one name or several."""
    return [value] if isinstance(value, str) else list(value or [])


def _k_anonymity(seen: Seen, required: Mapping[str, Any]) -> Figures:
    return {"k": seen.fewest(y=listed(required.get("entity")))}


def _k_map(seen: Seen, required: Mapping[str, Any]) -> Figures:
    people = list(zip(*(POPULATION[name] for name in seen.quasi), strict=True))
    rows = [seen.rows[members[0]] for members in seen.classes()]
    return {"k": min(sum(_covered(seen, row, person) for person in people) for row in rows)}


def _covered(seen: Seen, row: Row, person: tuple[Any, ...]) -> bool:
    """Whether the labels of a row cover a person: numbers between two ends, values that are listed, or all."""
    for name, value in zip(seen.quasi, person, strict=True):
        meaning = seen.nodes[name][str(row[name])]
        if meaning is None:
            inside = str(row[name]) == "*"
        elif isinstance(value, int):
            inside = (meaning[0] is None or meaning[0] <= value) and (meaning[1] is None or value < meaning[1])
        else:
            inside = value in meaning
        if not inside:
            return False
    return True


def _anonymity(seen: Seen, required: Mapping[str, Any]) -> Figures:
    return {"k": seen.fewest(listed(required.get("x")), listed(required.get("y")))}


def _alpha_k(seen: Seen, required: Mapping[str, Any]) -> Figures:
    return {"k": seen.fewest(), "alpha": max(_top(bag) for bag in _all_bags(seen, required))}


def _all_bags(seen: Seen, required: Mapping[str, Any], x: Sequence[str] = ()) -> Iterable[Bag]:
    return [bag for name in listed(required["sensitive"]) for bag in seen.bags(name, x)]


def _top(bag: Bag) -> float:
    return max(bag.values()) / bag.total()


def _entropy(bag: Bag) -> float:
    return math.exp(-sum(n / bag.total() * math.log(n / bag.total()) for n in bag.values()))


def _recursive(bag: Bag, l: int) -> float:
    ranked = sorted(bag.values(), reverse=True)
    tail = sum(ranked[l - 1 :])
    return ranked[0] / tail if tail else math.inf


def _l_diversity(seen: Seen, required: Mapping[str, Any]) -> Figures:
    bags = list(_all_bags(seen, required))
    if required["variant"] == "recursive":
        return {"c": max(_recursive(bag, required["l"]) for bag in bags)}
    measure: Callable[[Bag], float] = {"distinct": len, "entropy": _entropy, "frequency": lambda b: 1 / _top(b)}[
        required["variant"]
    ]
    return {"l": min(measure(bag) for bag in bags)}


def _t_closeness(seen: Seen, required: Mapping[str, Any]) -> Figures:
    worst = Fraction(0)
    for name in listed(required["sensitive"]):
        bags = seen.bags(name)
        whole: Bag = sum(bags, Counter())
        domain = [str(v) for v in seen.domains[name]]
        for bag in bags:
            apart = [Fraction(bag[v], bag.total()) - Fraction(whole[v], whole.total()) for v in domain]
            if required.get("distance", "equal") == "equal":
                worst = max(worst, sum((abs(a) for a in apart), Fraction()) / 2)
            else:
                moved = [abs(sum(apart[: i + 1], Fraction())) for i in range(len(domain) - 1)]
                worst = max(worst, sum(moved, Fraction()) / max(1, len(moved)))
    return {"t": float(worst)}


def _gains(seen: Seen, required: Mapping[str, Any]) -> Iterable[tuple[Fraction, Fraction]]:
    """For each value in each group its share there, and its share in all groups together."""
    for name in listed(required["sensitive"]):
        bags = seen.bags(name)
        whole: Bag = sum(bags, Counter())
        for bag in bags:
            for v in whole:
                yield Fraction(bag[v], bag.total()), Fraction(whole[v], whole.total())


def _beta_likeness(seen: Seen, required: Mapping[str, Any]) -> Figures:
    gains = [((q - p) / p, p) for q, p in _gains(seen, required)]
    if required["variant"] == "enhanced":
        assert all(gain <= 0 or gain <= -math.log(p) for gain, p in gains)
    return {"beta": max(0.0, *(float(gain) for gain, _ in gains))}


def _delta_disclosure(seen: Seen, required: Mapping[str, Any]) -> Figures:
    return {"delta": max(abs(math.log(q / p)) if q else math.inf for q, p in _gains(seen, required))}


def _confidentiality(seen: Seen, required: Mapping[str, Any]) -> Figures:
    protected = required["y"]
    shares = [
        bag[v] / bag.total() for name, values in protected.items() for bag in seen.bags(name, listed(required["x"]))
        for v in listed(values)
    ]  # fmt: skip
    return {"k": max(shares)}


def _m_confidentiality(seen: Seen, required: Mapping[str, Any]) -> Figures:
    chosen = listed(required.get("values"))
    bags = list(_all_bags(seen, required))
    most = [sum(bag[v] for v in chosen) if chosen else max(bag.values()) for bag in bags]
    return {"m": min(bag.total() / n if n else max(b.total() for b in bags) for bag, n in zip(bags, most, strict=True))}


def _r_robustness(seen: Seen, required: Mapping[str, Any]) -> Figures:
    """No more than what follows from the shares alone: an adversary who knows distributions links at least as well."""
    chosen = listed(required.get("values"))
    shares = [max([bag[v] for v in chosen or bag], default=0) / bag.total() for bag in _all_bags(seen, required)]
    return {"r": 1 / max(shares)} if max(shares) else {}


JUDGES: dict[str, Callable[[Seen, Mapping[str, Any]], Figures]] = {
    "k-anonymity": _k_anonymity,
    "anonymity": _anonymity,
    "k-map": _k_map,
    "alpha-k": _alpha_k,
    "l-diversity": _l_diversity,
    "t-closeness": _t_closeness,
    "beta-likeness": _beta_likeness,
    "delta-disclosure": _delta_disclosure,
    "confidentiality": _confidentiality,
    "m-confidentiality": _m_confidentiality,
    "r-robustness": _r_robustness,
}
AT_MOST = {"alpha", "beta", "c", "delta", "t", ("confidentiality", "k")}
BEYOND_COUNTS = {"rho-breach", "growth", "disclosure"}
"""Promises about how a release was drawn; what a release shows neither proves nor refutes them."""


def _joined(seen: Seen, required: Mapping[str, Any]) -> Figures:
    """A template over the join with `EARLIER`, from all pairs of rows that match."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(seen.rows):
        for zip_, town in zip(EARLIER["zip"], EARLIER["town"], strict=True):
            meaning = seen.nodes["zip"][str(row["zip"])]
            if meaning is None or zip_ in meaning:
                both = {f"T1.{n}": str(v) for n, v in row.items()} | {"T2.zip": zip_, "T2.town": town}
                key = tuple(both.get(n) or both.get(f"T1.{n}") or both[f"T2.{n}"] for n in listed(required["x"]))
                groups[key].append(place)
    if isinstance(required["y"], dict):
        ((name, values),) = required["y"].items()
        held = [[str(seen.rows[i][name.removeprefix("T1.")]) for i in places] for places in groups.values()]
        return {"k": max(shown.count(v) / len(shown) for shown in held for v in values)}
    assert listed(required["y"]) == ["T1"]
    return {"k": min(len(set(places)) for places in groups.values())}


def broken_claims(manifest: Mapping[str, Any], tables: Mapping[str, Any], people: Mapping[int, str]) -> list[str]:
    """The claims of a manifest that what is shown contradicts, in words; ``people`` are those of the row numbers."""
    seen, told = Seen(manifest, tables, people), []
    for entry in manifest["requirements"]:
        model, required, achieved = entry["model"], entry["required"], entry["achieved"]
        if model in BEYOND_COUNTS:
            continue
        judge = _joined if "over" in required else JUDGES[model]
        for name, figure in judge(seen, required).items():
            limit, claimed = float(required[name]), achieved[name]
            at_most = name in AT_MOST or (model, name) in AT_MOST
            slack = 1e-9 * max(1.0, abs(limit))
            if figure > limit + slack if at_most else figure < limit - slack:
                told.append(f"{model}: {name} = {limit:g} is required, and {figure:g} is shown")
            if model == "r-robustness" and figure >= claimed - slack:
                continue  # what distributions add is not seen here
            if abs(figure - claimed) > slack:
                told.append(f"{model}: {name} = {claimed:g} is claimed, and {figure:g} is shown")
    return told
