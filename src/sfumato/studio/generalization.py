"""How the values of a quasi-identifier are made coarser: the forms that a policy knows, and how to change them.

Plain Python. Trees are edited by `sfumato.table.tree_editing`; what a form means for the data is asked of
`sfumato.table.hierarchy`, as publishing does.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.publisher.column_roles import Profile
from sfumato.studio.job import Job
from sfumato.table.encode import Attribute, Role, padded
from sfumato.table.hierarchy import parse_taxonomy, read_taxonomy, to_arx_csv
from sfumato.table.ordered_domain import number_text
from sfumato.table.taxonomy import Taxonomy
from sfumato.table.tree_editing import flat_tree

if TYPE_CHECKING:
    from sfumato.table.tree_editing import Tree

FORMS = {
    "free": "Any range: the method decides where to cut",
    "intervals": "Intervals with your own boundaries",
    "width": "Intervals of a fixed width, doubled level by level",
    "order": "Levels in order: any range of them",
    "tree": "A tree of groups",
    "mask-right": "Mask characters from the right",
    "mask-left": "Mask characters from the left",
    "file": "A hierarchy in a file",
    "none": "Shown or suppressed, nothing in between",
}
"""The forms, and what they are called."""


@dataclass(frozen=True, eq=False)
class Quasi:
    """A quasi-identifier with what its policy says, its distinct values as publishing reads them, and their counts."""

    name: str
    entry: Mapping[str, Any]
    values: tuple[str, ...]
    rows: NDArray[np.int64]
    numeric: bool
    dated: bool
    same_length: bool

    @property
    def form(self) -> str:
        """The form that the policy gives it now."""
        return form_of(self.entry, ordered=self.numeric or self.dated)

    @property
    def forms(self) -> dict[str, str]:
        """The forms that it can have."""
        able = ["free", "intervals", "width"] if self.numeric else ["free"] if self.dated else ["none"]
        able += ["order"] if self.entry.get("domain") else []
        able += ["tree"] if not self.dated else []
        able += ["mask-right", "mask-left"] if self.same_length and not self.dated else []
        able += ["file"] if self.form == "file" else []
        return {form: FORMS[form] for form in FORMS if form in able or form == self.form}

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers."""
        return np.array([float(v) for v in self.values])


def form_of(entry: Mapping[str, Any], *, ordered: bool) -> str:
    """The form of an attribute of a policy.

    >>> form_of({"taxonomy": {"mask": "right"}}, ordered=False), form_of({}, ordered=True)
    ('mask-right', 'free')
    """
    spec = entry.get("taxonomy")
    if isinstance(spec, str):
        return "file"
    if isinstance(spec, Mapping):
        rule, told = next(iter(spec.items()), ("", None))
        if len(spec) == 1 and rule == "mask" and isinstance(told, str):
            return f"mask-{told}"
        if len(spec) == 1 and (rule, type(told)) in (("intervals", list), ("width", int), ("width", float)):
            return str(rule)
        return "tree"
    if entry.get("domain"):
        return "order"
    return "free" if ordered and entry.get("kind") != "categorical" else "none"


def quasi_of(job: Job, seen: Profile) -> Quasi:
    """A column of a job that is a quasi-identifier, with its values in their order."""
    entry = job.attributes.get(seen.name, {})
    sized = seen.values.cast(pl.Float64) if seen.numeric else seen.values
    order = sized.arg_sort()
    values = padded(seen.values.gather(order), Attribute(name=seen.name, role=Role.QUASI, pad=entry.get("pad")))
    listed = [number_text(v) for v in values] if values.dtype.is_float() else values.cast(pl.String).to_list()
    return Quasi(
        name=seen.name,
        entry=entry,
        values=tuple(listed),
        rows=seen.counts.gather(order).to_numpy().astype(np.int64),
        numeric=seen.numeric,
        dated=seen.date,
        same_length=len({len(v) for v in listed}) == 1 and len(listed[0] if listed else "") > 1,
    )


def quasis_of(job: Job) -> list[Quasi]:
    """All quasi-identifiers of a job."""
    roles = job.attributes
    return [quasi_of(job, seen) for seen in job.profiles() if roles.get(seen.name, {}).get("role") == "quasi"]


def taxonomy_of(job: Job, quasi: Quasi) -> Taxonomy | None:
    """The tree by which its values are made coarser, as publishing reads it; None if there is none."""
    spec = quasi.entry.get("taxonomy")
    if spec is None:
        return None
    return read_taxonomy(spec, quasi.values, name=quasi.name, folder=job.origin.folder if job.origin else None)


def tree_of(job: Job, quasi: Quasi) -> "Tree":
    """The tree to edit: the one there is, or a root over all values."""
    found = taxonomy_of(job, quasi)
    return flat_tree(quasi.values) if found is None else found.to_tree()


def take_form(job: Job, quasi: Quasi, form: str) -> None:
    """Give a quasi-identifier another form, to be refined; a tree begins as what the present form says."""
    if form not in quasi.forms:
        raise PolicyError(f"{quasi.name!r} cannot have the form {form!r}")
    kind = "continuous" if quasi.numeric else "date" if quasi.dated else "categorical"
    told: dict[str, Any] = {"kind": kind, "taxonomy": None, "domain": None}
    if form == "intervals":
        told["taxonomy"] = {"intervals": suggested_bounds(quasi)}
    elif form == "width":
        told["taxonomy"] = {"width": suggested_width(quasi)}
    elif form == "tree":
        told |= {"kind": "categorical", "taxonomy": tree_of(job, quasi)}
    elif form.startswith("mask-"):
        told |= {"kind": "categorical", "taxonomy": {"mask": form.removeprefix("mask-")}}
    elif form == "none":
        told["kind"] = "categorical"
    elif form in ("file", "order"):
        return
    job.set_attribute(quasi.name, **told)


def take_tree(job: Job, quasi: Quasi, tree: "Tree") -> None:
    """Give a quasi-identifier a tree; what is not a taxonomy is refused."""
    Taxonomy.from_tree(tree, what=f"the tree of {quasi.name!r}")
    job.set_attribute(quasi.name, kind="categorical", taxonomy=tree, domain=None)


def take_bounds(job: Job, quasi: Quasi, bounds: Sequence[float]) -> None:
    """Give a quasi-identifier intervals, from the first bound to the last; they have to hold all its values."""
    spec = {"intervals": [int(b) if float(b).is_integer() else float(b) for b in bounds]}
    read_taxonomy(spec, quasi.values, name=quasi.name)
    job.set_attribute(quasi.name, kind="continuous", taxonomy=spec, domain=None)


def take_width(job: Job, quasi: Quasi, width: float) -> None:
    """Give a quasi-identifier intervals of one width."""
    spec = {"width": int(width) if float(width).is_integer() else width}
    read_taxonomy(spec, quasi.values, name=quasi.name)
    job.set_attribute(quasi.name, kind="continuous", taxonomy=spec, domain=None)


def suggested_bounds(quasi: Quasi, parts: int = 5) -> list[float]:
    """Round boundaries that put about equally many people into each interval.

    The first and the last are beyond all values, so that they reveal neither the least nor the greatest.
    """
    numbers, step = quasi.numbers, _step(quasi.numbers, parts * 4)
    share = np.cumsum(quasi.rows) / quasi.rows.sum()
    inner = [numbers[np.searchsorted(share, i / parts)] for i in range(1, parts)]
    low, high = _ends(numbers, step)
    found = {low, high, *(b for b in (np.round(v / step) * step for v in inner) if low < b < high)}
    return sorted({_round(b) for b in found})


def suggested_width(quasi: Quasi) -> float:
    """A round width such that about twenty intervals cover all values."""
    return _step(quasi.numbers, 20)


def _step(numbers: NDArray[np.float64], parts: int) -> float:
    """A round step such that about ``parts`` of them cover the numbers; a whole number if the numbers are whole."""
    span = float(numbers[-1] - numbers[0]) or 1.0
    power = 10.0 ** np.floor(np.log10(span / parts))
    step = next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= parts)
    whole = bool((numbers == np.floor(numbers)).all())
    return _round(max(1.0, step) if whole else step)


def _ends(numbers: NDArray[np.float64], step: float) -> tuple[float, float]:
    """The nearest multiples of a step that hold all numbers, the upper one above them."""
    low = _round(np.floor(numbers[0] / step) * step)
    high = _round(np.floor(numbers[-1] / step) * step + step)
    return low if low <= numbers[0] else _round(low - step), high if high > numbers[-1] else _round(high + step)


def _round(number: float) -> float:
    """A number without the last digits, in which floating-point error is."""
    return float(f"{number:.12g}")


def moved_bound(bounds: Sequence[float], place: int, to: float, quasi: Quasi) -> list[float]:
    """The bounds with one of them elsewhere: between its neighbours, and the outer ones around all values."""
    numbers = quasi.numbers
    if place == 0:
        to = min(to, float(numbers[0]), bounds[1])
    elif place == len(bounds) - 1 and to <= numbers[-1]:
        raise DataError(f"the last boundary must be above the greatest value, {number_text(numbers[-1])}")
    out = [*bounds[:place], to, *bounds[place + 1 :]]
    if sorted(set(out)) != out:
        raise DataError("a boundary must stay between its neighbours; remove one of them first")
    return out


def people_between(quasi: Quasi, bounds: Sequence[float]) -> list[int]:
    """How many people each interval holds."""
    counts, _ = np.histogram(
        quasi.numbers, bins=np.array([*bounds[:-1], np.nextafter(bounds[-1], -np.inf)]), weights=quasi.rows
    )
    return [int(n) for n in counts]


def bars(quasi: Quasi, most: int = 60) -> tuple[list[float], list[int]]:
    """A histogram: the edges of its bins, equally wide, and how many people are in each."""
    numbers = quasi.numbers
    width = _step(numbers, most)
    low, high = _ends(numbers, width)
    edges = np.linspace(low, high, round((high - low) / width) + 1)
    counts, _ = np.histogram(numbers, bins=edges, weights=quasi.rows)
    return [_round(e) for e in edges], [int(n) for n in counts]


def levels(quasi: Quasi, taxonomy: Taxonomy) -> list[tuple[str, int, int]]:
    """For each level from the values up: an example, how many labels it has, and the people of the rarest label."""
    codes = taxonomy.codes_of_values(quasi.values)
    known = [(taxonomy.path(c), int(n)) for c, n in zip(codes, quasi.rows, strict=True) if c >= 0]
    deepest = max((len(path) for path, _ in known), default=0)
    out = []
    for level in range(deepest):
        people: dict[str, int] = {}
        for path, n in known:
            label = path[min(level, len(path) - 1)]
            people[label] = people.get(label, 0) + n
        example = known[0][0]
        out.append((example[min(level, len(example) - 1)], len(people), min(people.values())))
    return out


def imported(quasi: Quasi, text: str, file: str) -> "Tree":
    """The tree of an ARX hierarchy csv or a JSON file."""
    return parse_taxonomy(text, file, quasi.values, name=quasi.name).to_tree()


def exported(taxonomy: Taxonomy, kind: str) -> str:
    """A tree as ARX hierarchy csv or as JSON."""
    return (
        to_arx_csv(taxonomy) if kind == "csv" else json.dumps(taxonomy.to_tree(), indent=2, ensure_ascii=False) + "\n"
    )
