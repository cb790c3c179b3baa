"""Trees from paths, from masks and from the beginnings of codes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sfumato.errors import DataError
from sfumato.table.names import REST, SUPPRESSED, named
from sfumato.table.taxonomy import Taxonomy


def from_paths(paths: Iterable[Sequence[str]], *, what: str, root: str = SUPPRESSED) -> Taxonomy:
    """Build from one path per leaf, leaf first, in the order in which the nodes first appear.

    A label that is repeated on consecutive levels is one node.
    """
    tree: dict[str, object] = {}
    seen: dict[str, dict[str, object]] = {}
    for path in paths:
        if path[0] in seen:
            raise DataError(
                f"{what} has the leaf {path[0]!r} in two rows; a value must occur once in the tree: remove one"
            )
        below = tree
        steps = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        for label in reversed(steps[:-1] if steps[-1] == root and len(steps) > 1 else steps):
            below = below.setdefault(label, {})  # type: ignore[assignment]
        seen[path[0]] = below
    if both := [leaf for leaf, below in seen.items() if below]:
        raise DataError(f"{what} has {both[0]!r} as a value and as a group of other values; rename the group")
    return Taxonomy.from_tree({root: tree}, what=what)


def masked(values: Sequence[str], side: str, *, what: str) -> Taxonomy:
    """The tree that masks codes of one length character by character, from the right or the left.

    >>> masked(["471", "472", "480"], "right", what="zip").path(0)
    ['471', '47*', '4**', '*']
    """
    if starred := [v for v in values if "*" in v]:
        raise DataError(f"{what} cannot be masked: {named(starred)} already contains a *; clean it")
    lengths = {len(v): v for v in values}
    if len(lengths) > 1:
        few = named(list(lengths.values())[:2])
        raise DataError(
            f"{what} cannot be masked: its values differ in length ({few}); pad them to the same length (pad = "
            f"{max(lengths)}), say how many characters each level keeps (taxonomy = {{ prefix = [3, 1] }}), or give a "
            "taxonomy file"
        )
    width = max(lengths, default=0)
    hide: Callable[[str, int], str] = (
        (lambda v, i: v[: width - i] + "*" * i) if side == "right" else (lambda v, i: "*" * i + v[i:])
    )
    order = sorted(values, key=None if side == "right" else lambda v: v[::-1])
    tree = from_paths(([hide(v, i) for i in range(width)] for v in order), what=what)
    return replace(tree, derived=True)


def shortened(values: Sequence[str], levels: Sequence[int | str], *, what: str) -> Taxonomy:
    """The tree of codes whose beginnings are the groups: each level keeps so many characters, or what precedes a
    separator. Codes may differ in length; one that a level would not shorten stays as it is there.

    >>> shortened(["I21.4", "I10"], [3, 1], what="icd").path(1)
    ['I21.4', 'I21…', 'I…', '*']
    >>> shortened(["SW1A 1AA", "M1 1AE"], [" ", 1], what="postcode").path(1)
    ['SW1A 1AA', 'SW1A …', 'S…', '*']
    """
    if odd := [v for v in values if SUPPRESSED in v or REST in v]:
        raise DataError(f"{what} cannot be shortened: {named(odd)} already contains * or {REST}; clean it")
    return replace(from_paths((_path(v, levels) for v in _sorted(values, levels)), what=what), derived=True)


def _sorted(values: Sequence[str], levels: Sequence[int | str]) -> list[str]:
    """The values in an order in which those of one group are neighbours."""
    return sorted(values, key=lambda v: (_path(v, levels)[:0:-1], v))


def _path(value: str, levels: Sequence[int | str]) -> list[str]:
    """A code and its beginnings on each level."""
    starts = (_beginning(value, level) for level in levels)
    return [value, *(start + REST for start in starts if start is not None)]


def _beginning(value: str, level: int | str) -> str | None:
    """What a level keeps of a code, so that all codes that begin like this are in the same group; None: nothing new."""
    if isinstance(level, str):
        before, mark, _ = value.partition(level)
        return before + mark if mark else None
    return value[:level] if len(value) >= level else None
