"""Whether two publishers mean the same by the names of a common attribute."""

from collections.abc import Iterator

import numpy as np

from sfumato.errors import PolicyError
from sfumato.release.earlier import EarlierColumn
from sfumato.release.labels import Meanings
from sfumato.table.encode import Domain
from sfumato.table.names import MISSING, SUPPRESSED, named
from sfumato.table.numbers import day_number, number_of


def refuse_disagreement(there: EarlierColumn, here: Domain, release: str) -> None:
    """Refuse a common attribute if a value that both sides know is below a node in one and not in the other, if one
    side has numbers and the other words, or if it is not known what a label covers."""
    _refuse_other_kind(there, here, release)
    values = there.values & set(here.leaves)
    for node, below in _nodes(there):
        if node not in here.named_ranges or node in values or node == SUPPRESSED:
            continue
        lo, hi = here.named_ranges[node]
        if apart := sorted((below ^ set(here.leaves[lo:hi])) & values):
            only, other = (release, "this table") if apart[0] in below else ("this table", release)
            raise PolicyError(
                f"the taxonomies of {there.name!r} disagree on {apart[0]!r}: it is below {node!r} in {only}, but not "
                f"in {other}; give both the same taxonomy, or rename the attribute if it means something else"
            )
    if lost := list(_unplaced(there, here)):
        raise PolicyError(
            f"{release} shows {named(lost)} of {there.name!r} and does not say which values that covers, and the "
            "taxonomy of this table does not have it; give this table the taxonomy that the earlier release used"
        )


def _nodes(there: EarlierColumn) -> Iterator[tuple[str, set[str]]]:
    """The names on the other side that cover several values, with these values."""
    if there.tree is not None:
        for name, (lo, hi) in there.tree.named_ranges.items():
            yield name, set(there.tree.leaves[lo:hi])
    for label, meaning in zip(there.labels, there.meanings, strict=True):
        if meaning.listed and len(meaning.names) > 1:
            yield label, set(meaning.names)


def _unplaced(there: EarlierColumn, here: Domain) -> Iterator[str]:
    """Labels that are not explained, if this side does not know them either."""
    meanings = Meanings(here)
    for label, meaning in zip(there.labels, there.meanings, strict=True):
        if not meaning.listed and label not in (SUPPRESSED, MISSING) and not len(meanings.codes(meaning)):
            yield label


def _refuse_other_kind(there: EarlierColumn, here: Domain, release: str) -> None:
    """Refuse numbers on one side and words on the other."""
    theirs = any(m.interval is not None for m in there.meanings)
    words = any(m.interval is None and m.listed and set(m.names) - {MISSING} for m in there.meanings)
    ours = np.isfinite(here.numbers)
    if (theirs and not ours.any()) or (here.ordered and here.measured and words and not theirs and not _numbers(there)):
        one, other = (release, "this table") if theirs else ("this table", release)
        raise PolicyError(
            f"{there.name!r} is a number or a day in {one}, but not in {other}, so the two cannot be matched; rename "
            "it in this table if it means something else, or give both the same form"
        )


def _numbers(there: EarlierColumn) -> bool:
    """Whether values that are listed one by one are numbers."""
    names = {n for m in there.meanings if m.listed for n in m.names if n != MISSING}
    return bool(names) and all(number_of(n) is not None or day_number(n) is not None for n in names)
