"""QI-based distributions: what people with given quasi-identifying values are likely to have (ART, section 2).

A signature is a value for each attribute of an attribute set. Distributions are estimated from the data, for all
attribute sets up to a size, or given by someone who knows them. People who agree on all quasi-identifiers
are of the same kind; everything here is decided per kind.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.kernel.group import group_rows
from sfumato.table.encode import Column
from sfumato.table.taxonomy import named

_SUM_TOLERANCE = 1e-6
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class ProtectedValues:
    """The sensitive values as worlds tell them apart, and the sets of them that are protected.

    ``of_code`` gives the value of each code of the sensitive attribute. A person holds a set by holding one of its
    values; ``titles`` are the names of the sets.
    """

    names: tuple[str, ...]
    of_code: NDArray[np.int64]
    protected: tuple[tuple[int, ...], ...]
    titles: tuple[str, ...]

    def sets(self) -> NDArray[np.bool_]:
        """Which values are in each set: sets x values."""
        out = np.zeros((len(self.protected), len(self.names)), np.bool_)
        for i, members in enumerate(self.protected):
            out[i, list(members)] = True
        return out

    def set_of(self) -> NDArray[np.int64]:
        """The set that each value belongs to, -1 for none."""
        sets = self.sets()
        return np.where(sets.any(axis=0), sets.argmax(axis=0), -1)


def told_apart(leaves: Sequence[str], sets: Sequence[Sequence[str]], *, actual: bool) -> ProtectedValues:
    """The actual values, or (as ART does) each protected set as one value and all others as one more.

    >>> told_apart(["a", "b", "c", "d"], [["b", "c"]], actual=False).of_code.tolist()
    [1, 0, 0, 1]
    >>> told_apart(["a", "b", "c", "d"], [["b", "c"]], actual=True).protected
    ((1, 2),)
    """
    chosen = [tuple(s) for s in sets] or [(leaf,) for leaf in leaves]
    at: dict[str, int] = {}
    for i, members in enumerate(chosen):
        for value in members:
            if value not in leaves:
                raise PolicyError(
                    f"r-robustness: {value!r} is not a value of the sensitive attribute; it has {named(leaves)}"
                )
            if value in at:
                raise PolicyError(f"r-robustness: {value!r} is named twice; a value can be in only one set")
            at[value] = i
    titles = tuple(", ".join(s) if len(s) < 4 else f"{s[0]}, {s[1]} and {len(s) - 2} others" for s in chosen)
    if actual:
        place = {leaf: i for i, leaf in enumerate(leaves)}
        within = tuple(tuple(place[v] for v in s) for s in chosen)
        return ProtectedValues(tuple(leaves), np.arange(len(leaves)), within, titles)
    codes = np.array([at.get(leaf, len(chosen)) for leaf in leaves], dtype=np.int64)
    words = titles if len(at) == len(leaves) else (*titles, "any other")
    return ProtectedValues(words, codes, tuple((i,) for i in range(len(chosen))), titles)


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of people: the kind of each row, and the codes of each kind, one column per quasi-identifier."""

    names: tuple[str, ...]
    of_row: NDArray[np.int64]
    codes: tuple[NDArray[Any], ...]
    sizes: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many kinds there are."""
        return len(self.codes[0])


def kinds_of(columns: Sequence[Column], more: Sequence[NDArray[Any]] = ()) -> Kinds:
    """Rows that agree on all quasi-identifiers are of the same kind; ``more`` appends rows, one array per column."""
    codes = [np.concatenate([c.codes, extra]) for c, extra in zip(columns, more, strict=True)] if more else None
    codes = codes or [c.codes for c in columns]
    found = group_rows(codes, [c.size for c in columns])
    of_kinds = tuple(c[found.first] for c in codes)
    return Kinds(tuple(c.name for c in columns), found.of_row, of_kinds, tuple(c.size for c in columns))


@dataclass(frozen=True, eq=False)
class KnownDistribution:
    """What is known by one attribute set: the signature of each kind, and ``chance[signature, value]``."""

    attributes: tuple[str, ...]
    of_kind: NDArray[np.int64]
    chance: NDArray[np.float64]

    def of(self, values: Sequence[int]) -> NDArray[np.float64]:
        """The chance of having one of some values, for each kind."""
        return np.asarray(self.chance[:, list(values)].sum(axis=1)[self.of_kind])


def absence(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of not having a value, kept above 0 where rounding would leave nothing.

    >>> absence(np.array([0.25, 1.0])).tolist()
    [0.75, 1e-300]
    """
    return np.maximum(1.0 - chance, _LEAST)


def estimate(
    kinds: Kinds, counts: NDArray[np.int64], sets: Iterable[tuple[str, ...]], *, smoothing: float, minimum: int
) -> list[KnownDistribution]:
    """f = (count with the value + smoothing · its share in all) / (count + smoothing), by each attribute set.

    ``counts[kind, value]`` are people. For a signature with fewer than ``minimum`` people, only what holds for everyone
    is known; a set whose signatures are all that small is left out. If all sets are, the adversary only knows how
    frequent the values are in the whole table.
    """
    total = counts.sum(axis=0)
    share = total / total.sum()
    out = []
    for chosen in sets:
        of_kind, have = tallied(kinds, counts, chosen)
        people = have.sum(axis=1, keepdims=True)
        known = people >= minimum
        if known.any():
            chance = np.where(known, (have + smoothing * share) / (people + smoothing), share)
            out.append(KnownDistribution(chosen, *_with_unknown_together(of_kind, chance, known[:, 0])))
    return out or [KnownDistribution((), np.zeros(kinds.number, np.int64), share[None, :])]


def tallied(
    kinds: Kinds, counts: NDArray[np.int64], chosen: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For one attribute set: the signature of each kind, and how many people with each signature have each value."""
    at = [kinds.names.index(name) for name in chosen]
    found = group_rows([kinds.codes[j] for j in at], [kinds.sizes[j] for j in at])
    number, width = len(found.first), counts.shape[1]
    cells = (found.of_row[:, None] * width + np.arange(width)).ravel()
    have = np.bincount(cells, weights=counts.ravel(), minlength=number * width).astype(np.float64)
    return found.of_row, have.reshape(number, width)


def _with_unknown_together(
    of_kind: NDArray[np.int64], chance: NDArray[np.float64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Joins all signatures about which nothing is known into one."""
    number = np.cumsum(known) - 1
    number[~known] = known.sum()
    rows = np.concatenate([chance[known], chance[~known][:1]])
    return number[of_kind], rows


DistributionEntry = tuple[Mapping[str, str], str, float]
"""One line of given knowledge: a signature (attribute -> value), a sensitive value, and its probability."""


def given(
    entries: Sequence[DistributionEntry],
    kinds: Kinds,
    columns: Sequence[Column],
    leaves: Sequence[str],
    share: NDArray[np.float64],
) -> list[tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float64]]]:
    """Given knowledge by attribute set: its name, the signature of each kind, and chances over the sensitive leaves.

    What a signature leaves open is distributed as in the whole table; people without a listed signature have the
    distribution of the whole table.
    """
    sets: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, float]]] = {}
    for signature, value, chance in entries:
        names = tuple(n for n in kinds.names if n in signature)
        words = tuple(signature[n] for n in names)
        listed = sets.setdefault(names, {}).setdefault(words, {})
        if value in listed:
            raise DataError(f"the distribution of {_words(signature)} gives {value!r} twice; remove one")
        listed[value] = chance
    domain = {c.name: {leaf: i for i, leaf in enumerate(c.domain.leaves)} for c in columns}
    out = []
    for names, signatures in sets.items():
        rows = [share] + [_row(dict(zip(names, w, strict=True)), v, leaves, share) for w, v in signatures.items()]
        of_kind = np.zeros(kinds.number, np.int64)
        for number, words in enumerate(signatures, start=1):
            match = np.ones(kinds.number, np.bool_)
            for name, word in zip(names, words, strict=True):
                match &= kinds.codes[kinds.names.index(name)] == domain[name].get(word, -1)
            of_kind[match] = number
        out.append((names, of_kind, np.array(rows)))
    return out


def _row(
    signature: Mapping[str, str], listed: Mapping[str, float], leaves: Sequence[str], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The chances of one signature over all sensitive leaves."""
    total = math.fsum(listed.values())
    if len(listed) == len(leaves) and abs(total - 1) > _SUM_TOLERANCE:
        raise DataError(
            f"the distribution of {_words(signature)} adds up to {total:.6g}; over all values it must add up to 1"
        )
    if len(listed) < len(leaves) and total >= 1:
        raise DataError(
            f"the distribution of {_words(signature)} adds up to {total:.6g} and leaves nothing for the other "
            f"{len(leaves) - len(listed)} values; the listed ones must add up to less than 1"
        )
    row = np.array([listed.get(leaf, np.nan) for leaf in leaves])
    open_ = np.isnan(row)
    if open_.any():
        weight = np.where(share[open_] > 0, share[open_], 0.0)
        weight = weight / weight.sum() if weight.sum() > 0 else np.full(int(open_.sum()), 1 / open_.sum())
        row[open_] = (1 - total) * weight
    return np.asarray(row / row.sum())


def _words(signature: Mapping[str, str]) -> str:
    return ", ".join(f"{n} = {v}" for n, v in signature.items()) or "everyone"


def collapsed(chance: NDArray[np.float64], values: ProtectedValues) -> NDArray[np.float64]:
    """Chances over the sensitive leaves as chances over the values that worlds tell apart."""
    out = np.zeros((len(chance), len(values.names)))
    np.add.at(out.T, values.of_code, chance.T)
    return out
