"""The state of a top-down refinement in flat arrays.

A *label* is what a code shows: a node of a tree, an interval of a line, a value of a set, or the mark of
the set's hidden rest. A *candidate* is a label that can be refined; of a set, a hidden value. Each template
has its own rows (distinct vectors over its attributes) in the ``order`` of its leaves, and for every candidate
the worst that refining it would leave, in ``kept``. It only ever gets worse, so it is never reset: what was
counted in a leaf that has since been split is a union of current groups, one of which is at least as bad.
"""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from sfumato.kernel.jit import lean

TREE, SET, LINE = 0, 1, 2
KIND, SIZE, OFFSET, BASE, SPARE, CLASSES, HIDDEN, ALIKE, KINDS = range(9)
"""Columns of ``attributes``: SPARE is the next free label of a line, and the mark of the hidden rest of a set;
CLASSES and HIDDEN are rows of ``classes``; ALIKE is the first of KINDS rows of ``alike``, 0 of them if the hidden
values of the attribute are listed as candidates one by one."""

MEMBERS, NUMBER_OF, CHEAPEST, FIRST_OF, GAIN_OF = range(5)
"""Columns of ``alike``, one row for the values of a set with the same class counts, so that disclosing any of them
gains the same: where they are in ``members`` and how many, the one that costs least, the first, and the gain."""

BRANCH, SHOWN = 0, 1
"""Rows of ``codes``: which part of its label a code falls into when that is refined, and the label."""

ATTRIBUTE, LO, HI, FIRST, PARTS, STATUS, GAIN, CUT, DIRTY, LISTED = range(10)
"""Columns of ``labels``: the parts are the labels FIRST .. FIRST + PARTS; of a hidden rest, PARTS are live values.
LISTED is not a property of the label: its column lists the candidates."""

ABSENT, LIVE, DEAD = 0, 1, 2

BY_SIZE, BY_DISTINCT, BY_SHARE = 0, 1, 2
MODE, LIMIT, WIDTH, COLUMNS, NUMBER, ROWS, LEAF, LINKS, LEAVES, LIMITS, VALUES, NOW, NOW_OF, SORTED, LISTS = range(15)
"""Columns of ``templates``: where its rows, leaves and links begin, how many rows and leaves it has; NOW (of NOW_OF)
is the anonymity, or the confidence, of the present state; SORTED is how many leaves there were when its rows were last
put into the order of the leaves; LISTS says whether values have row lists.
Its rows are stored column by column: WIDTH codes, then what is counted, then the multiplicity."""

PLACE, MEMBER, INDEX = 0, 1, 2
"""Third axis of ``places``: the place of an attribute, and the attribute at a place; INDEX is where the row lists of
an attribute's values begin in ``index``, -1 if it has none."""

POSITION, LEAF_OF = 0, 1
"""Rows of ``where``: the position of a row in ``order``, and its leaf, in templates with row lists."""

TOTAL, MOST, HOLDER, HELD, ENOUGH, LONELY, HOLDER_ALONE, TOPS = range(8)
"""Rows of ``tops``, for each leaf and attribute with row lists: the rows of the leaf, the most that a value had when
they were last counted, and that value; MOST is -1 if they have to be counted. Where shares are limited, then also how
many rows had the most frequent sensitive value, and how many rows are enough for all of them to keep their limits.
Where distinct values are counted, TOTAL and MOST are numbers of these, LONELY is how many of them only one hidden
value has, and HOLDER_ALONE how many only the holder has."""

HAVE_IT, CODES, LEFT, TALLY_OF, TALLIES = range(5)
"""Rows of ``tallies``, where distinct values are counted: for each of them in a leaf, how many hidden values have it,
the sum of their codes, and the last that was disclosed; TALLY_OF says which tally belongs to a row."""

BEGIN, END, TEMPLATE, WHICH, WHAT, TAKEN = range(6)
"""Columns of ``leaves``: the rows of a leaf; the next three list the leaves that the last refinement touched;
TAKEN is how many rows of a leaf have been moved to its end."""

WORST, WORST_OF, HEAD, PENDING = 0, 1, 2, 3
"""Third axis of ``kept``: HEAD begins the list of leaves that show the label, PENDING that of those not counted yet."""

SHOWING, WAITING = 0, 1
"""Rows of ``links``: the next leaf on either list; NOT_WAITING: the leaf is not on the second."""

NOT_WAITING = -2

COUNT, LAST, ALONE, BY_VALUE = 0, 1, 2, 3
"""Columns of ``cells``, one cell per part; from BY_VALUE on, the counts of the sensitive values."""

INFORMATION, DISTORTION, DISCERNIBILITY = 0, 1, 2
MEASURE, PER_LOSS, BITS, CANDIDATES, STALE, FRESH, BEGUN = range(7)
"""Entries of ``run``."""


class State(NamedTuple):
    """The full state of a refinement; ``spare`` and ``cells`` are work space."""

    run: NDArray[Any]
    attributes: NDArray[Any]
    codes: NDArray[Any]
    classes: NDArray[Any]
    known: NDArray[Any]
    labels: NDArray[Any]
    score: NDArray[Any]
    templates: NDArray[Any]
    places: NDArray[Any]
    limits: NDArray[Any]
    kept: NDArray[Any]
    rows: NDArray[Any]
    order: NDArray[Any]
    spare: NDArray[Any]
    leaves: NDArray[Any]
    links: NDArray[Any]
    cells: NDArray[Any]
    alike: NDArray[Any]
    members: NDArray[Any]
    index: NDArray[Any]
    listed: NDArray[Any]
    where: NDArray[Any]
    tops: NDArray[Any]
    tallies: NDArray[Any]


@lean
def kill(labels: Any, attributes: Any, label: int) -> None:
    """A candidate that is not valid or not beneficial never will be again."""
    if labels[label, STATUS] != LIVE:
        return
    labels[label, STATUS] = DEAD
    attribute = labels[label, ATTRIBUTE]
    if attributes[attribute, KIND] == SET:
        rest = attributes[attribute, SPARE]
        labels[rest, PARTS] -= 1
        if labels[rest, PARTS] == 0:
            labels[rest, STATUS] = DEAD
