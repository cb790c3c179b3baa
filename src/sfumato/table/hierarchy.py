"""Taxonomies as users have them: ARX hierarchy csv, JSON files, nested tables, and trees built by rule."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from sfumato.errors import DataError, PolicyError, nearest
from sfumato.table.checks import is_number
from sfumato.table.ordered_domain import after, common_step, number_text
from sfumato.table.regular_file import located, read_text
from sfumato.table.taxonomy import Taxonomy, named
from sfumato.table.tree_forms import from_paths, masked, shortened

TaxonomySpec = Taxonomy | Mapping[str, object] | str | Path

_RULES = ("intervals", "width", "mask", "prefix")
_LARGEST_FILE = 256 * 1024 * 1024
_LEVEL_NAME = re.compile(r"(?:level|lvl)[ _.-]?\d*", re.IGNORECASE)
_MOST_WIDTHS = 64
_LONGEST_CODE = 100


def read_taxonomy(spec: TaxonomySpec, values: Sequence[str], *, name: str, folder: Path | None = None) -> Taxonomy:
    """The tree that a policy or a caller means by ``spec`` for an attribute with the given distinct values."""
    if isinstance(spec, Taxonomy):
        return spec
    if isinstance(spec, str | Path):
        file = file_of(str(spec))
        return _from_file(located(file, folder), values, name, str(spec)[len(file) + 1 :])
    if not isinstance(spec, Mapping):
        raise PolicyError(
            f"the taxonomy of {name!r} is {spec!r}; give a file name, a tree such as {{ Any = ['a', 'b'] }}, "
            "or one of { intervals = [...] }, { width = 5 }, { mask = 'right' }, { prefix = [3, 1] }"
        )
    rule = next(iter(spec), "")
    if len(spec) == 1 and rule in _RULES and (_are_marks(rule, spec[rule]) or not _is_tree(spec[rule])):
        return _by_rule(rule, spec[rule], values, name)
    return Taxonomy.from_tree(spec, what=f"the taxonomy of {name!r}")


def file_of(name: str) -> str:
    """The file in a name such as ``trees.json#education``, which means one of the trees in it.

    >>> file_of("trees.json#education"), file_of("odd#name.csv")
    ('trees.json', 'odd#name.csv')
    """
    at = name.lower().find(".json#")
    return name if at < 0 else name[: at + len(".json")]


def _is_tree(below: object) -> bool:
    """Whether this can be the content of a tree: then its root merely has the same name as a rule."""
    some = isinstance(below, list) and len(below) > 0
    return isinstance(below, Mapping) or (some and all(isinstance(b, str | dict) for b in below))  # type: ignore[attr-defined]


def _are_marks(rule: str, argument: object) -> bool:
    """Whether these are the separators of shortened codes, not the values of a tree."""
    if rule != "prefix" or not isinstance(argument, list) or not argument:
        return False
    return all(isinstance(mark, str) and len(mark) == 1 and not mark.isalnum() for mark in argument)


def _from_file(path: Path, values: Sequence[str], name: str, branch: str = "") -> Taxonomy:
    """Read a file; ``branch`` is the one of several trees in a JSON file, by its name."""
    what = f"the taxonomy of {name!r} in {path.name}"
    remedy = "a relative name is resolved from the folder of the policy file"
    text = read_text(path, f"the taxonomy file of {name!r}, {path},", largest=_LARGEST_FILE, remedy=remedy)
    return parse_taxonomy(text, path.name, values, name=name, what=what, branch=branch)


def parse_taxonomy(
    text: str, file: str, values: Sequence[str], *, name: str, what: str = "", branch: str = ""
) -> Taxonomy:
    """The tree that the text of a file means, by the ending of its name: an ARX hierarchy csv, or nested JSON.

    ``name`` is the attribute and ``values`` are its distinct values, by which a header is recognized; ``what`` is what
    errors call the tree, ``branch`` the one of several trees in a JSON file.

    >>> parse_taxonomy('{"Any": ["a", "b"]}', "tree.json", ["a"], name="x").leaves
    ('a', 'b')
    """
    ending = Path(file).suffix.lower()
    what = what or f"the taxonomy of {name!r} in {file}"
    if ending == ".json":
        return _from_json(text, what, branch)
    if ending in (".csv", ".txt"):
        return _from_csv(text, values, what, name)
    raise PolicyError(
        f"the taxonomy file of {name!r} is {file}; it must be an ARX hierarchy .csv or a nested .json file"
    )


def _from_csv(text: str, values: Sequence[str], what: str, name: str) -> Taxonomy:
    """Read a hierarchy file, unless its first row can only be a header, which the ARX format does not have."""
    rows = _rows(text, what)
    if rows and rows[0][0] not in values and _looks_like_header(rows, values, name):
        raise DataError(
            f"{what} begins with a row that looks like a header ({named(rows[0])}); an ARX hierarchy has no header, "
            "so it would be read as a value: remove that row"
        )
    return from_arx_csv(text, what=what)


def _looks_like_header(rows: list[list[str]], values: Sequence[str], name: str) -> bool:
    """Whether the first row has names of a header, or lacks the root that all others share."""
    first, others = rows[0], {row[-1] for row in rows[1:]}
    told = first[0].strip().casefold() in (name.casefold(), "value", "leaf") or _LEVEL_NAME.fullmatch(first[0].strip())
    return bool(told) or (len(values) > 0 and len(rows) > 2 and len(others) == 1 and first[-1] not in others)


def _from_json(text: str, what: str, branch: str = "") -> Taxonomy:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = {n for n in names if names.count(n) > 1}
            raise DataError(f"{what} has {named(sorted(twice))} twice below one node; remove one of them")
        return dict(pairs)

    try:
        tree = json.loads(text, object_pairs_hook=unique)
    except ValueError as e:
        raise DataError(f"{what} is not JSON: {e}") from None
    except RecursionError:
        raise DataError(f"{what} is nested too deeply to be a taxonomy; flatten it") from None
    if branch and isinstance(tree, dict):
        if branch not in tree:
            raise DataError(f"{what} has no tree {branch!r}{nearest(branch, list(tree))}")
        tree = tree[branch]
    if not isinstance(tree, dict) or not tree:
        raise DataError(f'{what} must be a nested object such as {{"ANY": {{"A": ["a1", "a2"], "b": {{}}}}}}')
    return Taxonomy.from_tree(tree, what=what)


def from_arx_csv(text: str, *, what: str = "the hierarchy") -> Taxonomy:
    """Read ARX's hierarchy csv: one row per leaf, leaf first, one column per level, ``*`` last, ``;`` or ``,``.

    Args:
        text: the content of the file.
        what: what errors call it.

    >>> from_arx_csv("a;x;*\\nb;x;*\\nc;y;*\\n").to_tree()
    {'*': {'x': {'a': {}, 'b': {}}, 'y': {'c': {}}}}
    """
    rows = _rows(text, what)
    if not rows:
        raise DataError(f"{what} is empty; give one row per value, leaf first, e.g. 'flu;respiratory;*'")
    levels = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != levels:
            raise DataError(f"{what} has {len(row)} levels in row {number} but {levels} in row 1; make them equal")
    roots = {row[-1] for row in rows}
    if len(roots) == 1 and levels > 1:
        (root,) = roots
        return from_paths((row[:-1] for row in rows), what=what, root=root)
    return from_paths(rows, what=what)


def _rows(text: str, what: str) -> list[list[str]]:
    """The rows of a csv, separated by ``;`` or ``,``, whichever looks more like a hierarchy."""
    try:
        by = {d: [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=d) if row] for d in (";", ",")}
    except csv.Error as e:
        raise DataError(f"{what} is not a csv file: {e}") from None
    return max(by.values(), key=_likely_levels)


def _likely_levels(rows: list[list[str]]) -> tuple[bool, bool, int]:
    """How much rows look like a hierarchy: one number of levels and one root; ties by the levels of row 1."""
    even = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return even, even and len({row[-1] for row in rows}) == 1, len(rows[0]) if rows else 0


def to_arx_csv(taxonomy: Taxonomy, *, delimiter: str = ";") -> str:
    """Write ARX's hierarchy csv; shorter branches repeat their leaf so that all rows have the same length.

    Args:
        taxonomy: the tree.
        delimiter: between the levels, ``;`` or ``,``.
    """
    paths = [taxonomy.path(code) for code in range(taxonomy.size)]
    levels = max(len(p) for p in paths)
    out = io.StringIO()
    odd = any("\r" in label for label in taxonomy.labels)  # the writer would not quote it otherwise
    writer = csv.writer(
        out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    )
    for path in paths:
        writer.writerow([path[0]] * (levels - len(path)) + path)
    return out.getvalue()


def _by_rule(rule: str, argument: object, values: Sequence[str], name: str) -> Taxonomy:
    if rule == "mask":
        if argument not in ("right", "left"):
            raise PolicyError(f"the mask of {name!r} is {argument!r}; it must be 'right' or 'left'")
        return masked(values, str(argument), what=repr(name))
    if rule == "prefix":
        return shortened(values, _levels(argument, name), what=repr(name))
    numbers = _numbers(values, rule, name)
    if rule == "intervals":
        return _by_intervals(_bounds(argument, name), numbers, name)
    if isinstance(argument, list | tuple):
        return _by_widths(_widths(argument, name), numbers, name)
    if not is_number(argument) or not argument > 0:  # type: ignore[operator]
        raise PolicyError(f"the width of {name!r} is {argument!r}; it must be a positive number, or a list of them")
    return _by_width(float(argument), numbers, name)  # type: ignore[arg-type]


def _levels(argument: object, name: str) -> list[int | str]:
    """What each level of shortened codes keeps, the finest first."""
    levels = argument if isinstance(argument, list | tuple) else [argument]
    lengths = [level for level in levels if isinstance(level, int) and not isinstance(level, bool)]
    words = [level for level in levels if isinstance(level, str)]
    good = len(lengths) + len(words) == len(levels) > 0 and all(1 <= n <= _LONGEST_CODE for n in lengths)
    marks = all(len(word) == 1 and not word.isalnum() for word in words)
    if not good or not marks or sorted(set(lengths), reverse=True) != lengths or len(set(words)) < len(words):
        raise PolicyError(
            f"the prefix of {name!r} is {argument!r}; say what each level keeps, most first: numbers of characters "
            'such as [3, 1], or a separator such as " " to keep what precedes it'
        )
    return list(levels)


def _numbers(values: Sequence[str], rule: str, name: str) -> list[float]:
    """The distinct numbers among the values, sorted; 0 if all are missing."""
    try:
        numbers = sorted({float(v) for v in values})
    except ValueError:
        raise DataError(
            f"{name!r} holds text, but {rule!r} needs numbers; give it a tree, a hierarchy file, or mask = 'right'"
        ) from None
    return numbers or [0.0]


def _bounds(argument: object, name: str) -> list[float]:
    bounds = argument if isinstance(argument, list | tuple) else []
    numeric = all(map(is_number, bounds))
    if len(bounds) < 2 or not numeric or sorted(set(bounds)) != list(bounds):
        raise PolicyError(
            f"the intervals of {name!r} are {argument!r}; give at least two finite bounds in increasing order, "
            "e.g. [0, 18, 65, 120]"
        )
    return [float(b) for b in bounds]


def _by_intervals(bounds: list[float], numbers: list[float], name: str) -> Taxonomy:
    """Root and the given intervals ``[low, high)``; these are the leaves, so nothing finer is ever shown."""
    outside = [number_text(v) for v in numbers if not bounds[0] <= v < bounds[-1]]
    if outside:
        raise DataError(
            f"{name!r} has values outside its intervals [{number_text(bounds[0])}, {number_text(bounds[-1])}): "
            f"{named(outside)}; widen the first or last interval"
        )
    parts = list(pairwise(bounds))
    meaning = {_interval(*part): part for part in [(bounds[0], bounds[-1]), *parts]}
    below = [_interval(*part) for part in parts] if len(parts) > 1 else []
    tree = Taxonomy.from_tree({_interval(bounds[0], bounds[-1]): below}, what=repr(name))
    return replace(tree, intervals=meaning)


def _by_width(width: float, numbers: list[float], name: str) -> Taxonomy:
    """Intervals of the given width, then of twice that width, and so on until one covers all values.

    They begin at multiples of their width, so that their bounds reveal nothing about the data. Numbers on both
    sides of 0 share a root from -w to w.
    """
    unit = Fraction(str(width))
    first, last = Fraction(str(numbers[0])), Fraction(str(numbers[-1]))
    widths = [unit]
    while first // widths[-1] != last // widths[-1] and not -widths[-1] <= first < 0 <= last < widths[-1]:
        widths.append(widths[-1] * 2)
    if len(widths) > _MOST_WIDTHS or any(v + width == v for v in (numbers[0], numbers[-1])):
        raise PolicyError(
            f"the width of {name!r} is {width!r}, too small for values from {number_text(numbers[0])} to "
            f"{number_text(numbers[-1])}; widths double up to the whole range, at most {_MOST_WIDTHS} times: widen it"
        )
    return _nested(widths, numbers, name)


def _widths(argument: Sequence[object], name: str) -> list[Fraction]:
    """Widths of intervals, the finest first; each is a multiple of the one before, so that intervals are nested."""
    numeric = len(argument) > 0 and all(is_number(w) and w > 0 for w in argument)  # type: ignore[operator]
    widths = [Fraction(str(w)) for w in argument] if numeric else []
    if not widths or len(widths) > _MOST_WIDTHS or any(b <= a or b % a for a, b in pairwise(widths)):
        raise PolicyError(
            f"the widths of {name!r} are {argument!r}; give positive numbers, each a multiple of the one before, such "
            "as [5, 10, 50]"
        )
    return widths


def _by_widths(widths: list[Fraction], numbers: list[float], name: str) -> Taxonomy:
    """Intervals of the given widths, where they divide the values, and one over all of them."""
    if any(v + float(widths[0]) == v for v in (numbers[0], numbers[-1])):
        raise PolicyError(
            f"the width {number_text(float(widths[0]))} of {name!r} is too small for its values: widen it"
        )
    first, last = Fraction(str(numbers[0])), Fraction(str(numbers[-1]))
    wide = next((i for i, w in enumerate(widths) if first // w == last // w), len(widths) - 1)
    return _nested(widths[: wide + 1], numbers, name)


def _nested(widths: list[Fraction], numbers: list[float], name: str) -> Taxonomy:
    """The tree of intervals of each width, from multiples of it on; the root covers all values."""
    exact = [Fraction(str(v)) for v in numbers]
    first, last = exact[0], exact[-1]
    top = widths.pop() if first // widths[-1] == last // widths[-1] else widths[-1]
    low, high = first // top * top, last // top * top + top
    paths: list[list[float | tuple[float, float]]] = []
    for value, number in zip(exact, numbers, strict=True):
        starts = [value // w * w for w in widths]
        paths.append([number, *((float(s), float(s + w)) for s, w in zip(starts, widths, strict=True))])
    return interval_tree(paths, (float(low), float(high)), name)


def interval_tree(
    paths: Sequence[Sequence[float | tuple[float, float]]], root: tuple[float, float], name: str
) -> Taxonomy:
    """The tree of intervals above each number, leaf first, with what its labels mean."""
    meaning: dict[str, tuple[float, float]] = {_interval(*root): root}
    step = common_step(np.array([path[0] for path in paths], dtype=np.float64))

    def label(place: float | tuple[float, float]) -> str:
        text = _interval(*place) if isinstance(place, tuple) else number_text(place)
        meaning[text] = place if isinstance(place, tuple) else (place, after(place, step))
        return text

    labels = [[label(place) for place in path] for path in paths]
    tree = from_paths(labels, what=repr(name), root=_interval(*root))
    return replace(tree, derived=True, intervals=meaning)


def _interval(low: float, high: float) -> str:
    return f"[{number_text(low)}, {number_text(high)})"
