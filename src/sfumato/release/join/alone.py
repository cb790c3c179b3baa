"""Records that the join singles out, but no release does by itself."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.join import groups as g
from sfumato.release.earlier import Earlier
from sfumato.release.join.first import first_release, for_kernel, matching
from sfumato.release.join.links import Links
from sfumato.release.join.names import JoinAttribute
from sfumato.release.join.partition import number, people
from sfumato.release.join.stack import earlier_releases
from sfumato.release.join.template import Resolved
from sfumato.release.rule import Inconsistent

Integers = NDArray[np.int64]


def class_sizes(side: Earlier, x: Sequence[str]) -> Integers | None:
    """For each row of a release, how many people share its labels of X; None if people cannot be counted."""
    found = people(side, x)
    if side.sampled or found.person is not None:
        return None
    group = number([side.column(n).of_row[found.row] for n in x], len(found.row))
    sizes = np.zeros(int(group.max()) + 1, np.int64)
    np.add.at(sizes, group, found.weight // side.unit)
    of_row = np.zeros(len(side.person), np.int64)
    of_row[found.row] = sizes[group]
    if len(found.row) < len(side.person):  # several rows of a person: each has the size of the first
        of_row = of_row[found.row][np.searchsorted(side.person[found.row], side.person)]
    return of_row


def singled_out(side: Earlier, x: Sequence[str]) -> int | None:
    """How many people a release alone singles out by its attributes of X."""
    sizes = class_sizes(side, x)
    return None if sizes is None else int((sizes[people(side, x).row] == 1).sum())


def alone(
    sides: Sequence[Earlier], rules: Sequence[Inconsistent], x: Sequence[JoinAttribute], release: str
) -> int | None:
    """How many people of a release are alone in a group of the join, although no release singles the group out.

    A group of the join is a combination of labels on X. It counts if the attributes of X that each release has are
    shared by two or more people there, and only one person of ``release`` is in it. None if the people of some release
    cannot be counted one by one: a sample, or sensitive values in a table of their own that X reads.
    """
    ordered = sorted(sides, key=lambda side: side.name != release)
    left = []
    for side in ordered:
        sizes = class_sizes(side, [a.name for a in x if a.release == side.name])
        if sizes is None:
            return None
        left.append(_rows(side, sizes > 1))
    if not all(len(side.person) for side in left):
        return 0
    links, wanted = Links(left, rules), Resolved(x=tuple(x), records=(release,))
    stack = earlier_releases(links, replace(wanted, records=()), narrow=False)
    first = first_release(left[0], wanted, links.joined(release))
    if not len(stack) or int(first.way.way[g.MODE]) != g.BY_KEY:
        return 0 if not len(stack) else None
    there = for_kernel(stack, matching(links, stack, first.keys), first.rows.weight)
    groups, keys = int(stack.x.max()) + 1, len(first.keys)
    room = g.make_room(groups, groups, keys, 1)
    last, out = np.zeros(keys, np.int64), np.zeros(len(first.rows.key), np.bool_)
    g.find_alone(there, first.rows, room, first.order, first.ends, stack.everything(), last, out)
    return int(out.sum())


def _rows(side: Earlier, kept: NDArray[np.bool_]) -> Earlier:
    """Some rows of a release."""
    columns = {n: replace(c, of_row=c.of_row[kept]) for n, c in side.columns.items()}
    return replace(side, columns=columns, person=side.person[kept], weights=side.weights[kept])
