"""Values that no label lists: what suppressed cells and masks may hide besides the values that a release shows.

A value that is asked for and that no row shows, such as a job of which every cell is suppressed, may be anywhere
where labels do not say what they stand for. It becomes a value of its own, so that its bounds are true. A label that
hides values besides the n that are listed is taken to hide one more, so a share 1 / (n + 1) of its people have none of
those listed. Of these, half have the values that are asked for, and a hidden character is one of ten: nothing tells, so
the interval of such an answer is as wide as its bounds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.analyst.condition import AttributeCondition, PossibleValues
from sfumato.analyst.shares import Bools
from sfumato.release.label_meaning import fits
from sfumato.table.distortion import Floats
from sfumato.table.names import REST
from sfumato.table.ordered_domain import number_text
from sfumato.table.taxonomy import SUPPRESSED

UNLISTED = "(not listed)"
"""The values that a label hides other than those shown elsewhere or asked for."""

_CHARACTERS = 10.0


@dataclass(frozen=True, eq=False)
class Hidden:
    """What the labels of an attribute may hide.

    ``masks``: for each label, the masks that may stand for values that are not listed; ``regions``: which of the
    listed values are themselves masks, such as ``01***`` where no longer code is shown.
    """

    masks: Sequence[Sequence[str]]
    regions: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        """Whether there may be values that are not listed."""
        return bool(self.regions) or any(self.masks)


@dataclass(frozen=True, eq=False)
class Spread:
    """Values with the share of each label's people who have them, and which labels allow them: values x labels.

    ``unshown``: those asked for that no row shows.
    """

    values: PossibleValues
    weights: Floats
    possible: Bools
    unshown: tuple[str, ...] = ()


def with_unlisted(known: Spread, hidden: Hidden, asked: Sequence[AttributeCondition]) -> Spread:
    """The same with further values that labels may hide, as far as comparisons tell them apart."""
    ordered = any(c.op not in ("=", "!=") for c in asked)
    if asked and (known.values.numbers is not None or (known.values.ordered and ordered)):
        return _between(known, hidden, asked)
    return _rest(_words(known, hidden, asked), hidden)


def _words(known: Spread, hidden: Hidden, asked: Sequence[AttributeCondition]) -> Spread:
    """With each word that is asked for, not listed, and possible."""
    literals = (x if isinstance(x, str) else number_text(x) for c in asked for x in c.literals)
    wanted = [x for x in dict.fromkeys(literals) if x not in (*known.values.texts, *known.values.regions, UNLISTED)]
    share, many = _unlisted_share(known, hidden), 2 * len(wanted)
    for word in wanted:
        known = _with_word(known, hidden, word, share, many)
    return known


def _with_word(known: Spread, hidden: Hidden, word: str, share: Floats, many: int) -> Spread:
    inside = [i for i, t in enumerate(known.values.texts) if t in hidden.regions and fits(word, t)]
    fitting = [[m for m in masks if fits(word, m)] for masks in hidden.masks]
    allowed = known.possible[inside].any(axis=0) | np.array([bool(found) for found in fitting])
    if not allowed.any():
        return known
    part = np.array([max((_part(m, many) for m in found), default=0.0) for found in fitting])
    weights, weight = known.weights.copy(), share * part
    for i in inside:
        taken = known.weights[i] * _part(known.values.texts[i], many)
        weights[i] -= taken
        weight = weight + taken
    regions = {t: np.append(held, fits(word, t)) for t, held in known.values.regions.items()}
    values = replace(known.values, texts=(*known.values.texts, word), regions=regions)
    rows = np.vstack([weights, weight]), np.vstack([known.possible, allowed])
    return Spread(values, *rows, (*known.unshown, word))


def _part(mask: str, many: int) -> float:
    """The share of what a mask hides that is one value; of ``*`` and ``I21…`` half is taken to be what is asked for."""
    hidden = 0 if mask == SUPPRESSED or mask.endswith(REST) else mask.count(SUPPRESSED)
    return _CHARACTERS**-hidden if hidden else 1.0 / many


def _rest(known: Spread, hidden: Hidden) -> Spread:
    """With all other values that labels may hide."""
    masked = np.array([bool(masks) for masks in hidden.masks])
    if not masked.any():
        return known
    listed = len(known.values.texts) - len(known.unshown)
    weights, share = known.weights.copy(), _unlisted_share(known, hidden)
    weights[:listed] *= 1.0 - share
    rest = np.where(masked, np.maximum(1.0 - weights.sum(axis=0), 0.0), 0.0)
    regions = {t: np.append(held, t == SUPPRESSED) for t, held in known.values.regions.items()}
    numbers = None if known.values.numbers is None else np.append(known.values.numbers, np.nan)
    values = replace(known.values, texts=(*known.values.texts, UNLISTED), numbers=numbers, regions=regions)
    return Spread(values, np.vstack([weights, rest]), np.vstack([known.possible, masked]), known.unshown)


def _unlisted_share(known: Spread, hidden: Hidden) -> Floats:
    """The share of each label's people whose value is not listed: that of one more value than the label covers."""
    listed = len(known.values.texts) - len(known.unshown)
    masked = np.array([bool(masks) for masks in hidden.masks])
    return np.where(masked, 1.0 / (1.0 + known.possible[:listed].sum(axis=0)), 0.0)


def _between(known: Spread, hidden: Hidden, asked: Sequence[AttributeCondition]) -> Spread:
    """With values between, at and beyond the numbers (or the words of an order) that are compared with."""
    masked = np.array([bool(masks) for masks in hidden.masks])
    places = known.values.places()
    ends = _ends(known.values, asked)
    points = [x for x in ends if x not in places]
    gaps = [-np.inf, *(np.nextafter(x, np.inf) for x in ends)]
    share, more = _unlisted_share(known, hidden), [np.nan, *points, *gaps]
    part = np.array([0.0] * (1 + len(points)) + [1.0 / len(gaps)] * len(gaps))
    listed = np.arange(len(places) + len(more)) < len(places)
    values = known.values.with_places(np.append(places, more), UNLISTED, listed)
    weights = np.vstack([known.weights * (1.0 - share), part[:, None] * share])
    return Spread(values, weights, np.vstack([known.possible, *[masked] * len(more)]))


def _ends(values: PossibleValues, asked: Sequence[AttributeCondition]) -> list[float]:
    """The numbers that are compared with, or the places of the words, in order."""
    found: set[float] = set()
    for c in asked:
        for x in c.literals:
            place = values.number(x) if values.numbers is not None else values.place(c.attribute, str(x))
            found |= set() if place is None else {float(place)}
    return sorted(found)


def hidden_by(names: Sequence[Sequence[str]], places: Sequence[str], regions: Iterable[str]) -> Hidden:
    """What labels may hide that stand for these names, if ``places`` are the values that are listed.

    >>> hidden_by([["a"], ["*"], ["01*"]], ["a", "01*"], ["01*"])
    Hidden(masks=((), ('*',), ()), regions=frozenset({'01*'}))
    """
    known = set(places)
    return Hidden(tuple(tuple(n for n in some if n not in known) for some in names), frozenset(regions))
