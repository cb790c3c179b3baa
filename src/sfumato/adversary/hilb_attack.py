"""Algorithm 7 of ASAP: what Hilb gives away through the rows it passed over.

Hilb takes the first row of each value on the Hilbert curve. As long as the remaining rows would be l-diverse even in
the worst case, it certainly did so, and a row that lies within a group's stretch of the curve without being in the
group was passed over: a member before it has its value.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.observation import attacked
from sfumato.engine.local import as_published
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.hilb.curve import MOST_BITS, bits_needed, hilbert_keys
from sfumato.release.release import Release, refuse_unpublished
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.requirement.base import whole_number
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.published import distinct_texts, domain_codes


@dataclass(frozen=True)
class HilbAttack:
    """The conclusions for each row of the release's table ``quasi``: which values remain possible.

    ``vulnerable`` rows are in groups that passed a row over (line 8 of the algorithm); ``determined`` rows have one
    possible value, ``narrowed`` rows fewer than their group shows.
    """

    release: Release
    sensitive: str
    candidates: tuple[frozenset[str], ...]
    vulnerable: NDArray[np.bool_]
    determined: NDArray[np.bool_]
    narrowed: NDArray[np.bool_]

    def right(self, truth: Microdata) -> int:
        """How many determined rows have the value that was inferred; people with equal rows are interchangeable."""
        refuse_raw(truth)
        quasi = self.release.tables["quasi"]
        names = [c.name for c in truth.quasi]
        texts = [quasi[n].cast(str).to_list() for n in names]
        guessed = Counter(
            (*(t[row] for t in texts), next(iter(self.candidates[row]))) for row in np.flatnonzero(self.determined)
        )
        published = [_texts(truth, n) for n in names]
        values = truth[self.sensitive].domain.leaves
        true = Counter((*row, values[code]) for *row, code in zip(*published, truth[self.sensitive].codes, strict=True))
        return sum(min(number, true[key]) for key, number in guessed.items())


def _texts(truth: Microdata, name: str) -> list[str]:
    return list(as_published(truth[name]).cast(str).to_list())


def hilb_attack(release: Release, *, l: int) -> HilbAttack:
    """Attack a bucketized release of hilb using its public part only; not valid for releases of other methods.

    Args:
        release: a bucketized release of hilb.
        l: the l of its l-diversity.
    """
    whole_number("hilb_attack", "l", l, 1)
    refuse_unpublished(release)
    if not release.bucketized:
        raise PolicyError("this attack reads exact quasi-identifiers; publish with scheme = 'bucketization'")
    inference = _Inference(release, l)
    inference.run()
    return inference.result()


class _Inference:
    """Values are bits; a row's candidates are a set of bits."""

    def __init__(self, release: Release, l: int) -> None:
        self.release, self.l = release, l
        self.sensitive = attacked(release)
        table = release.tables["sensitive"]
        numbers = release.tables["quasi"][GROUP]
        groups = {g: i for i, g in enumerate(numbers.unique().sort().to_list())}
        texts, codes = distinct_texts(table[self.sensitive])
        self.text = dict(enumerate(texts))
        self.members: list[list[int]] = [[] for _ in groups]
        self.values: list[list[tuple[int, int]]] = [[] for _ in groups]
        counts: Counter[tuple[int, int]] = Counter()
        for g, code, count in zip(table[GROUP].to_list(), codes.tolist(), table[COUNT].to_list(), strict=True):
            counts[groups[g], code] += count
        for (group, code), count in counts.items():
            self.values[group].append((code, count))
        self.group = [groups[g] for g in numbers.to_list()]
        self.key = _keys(release)
        self.order = sorted(range(len(self.group)), key=self.key.__getitem__)
        for row in self.order:
            self.members[self.group[row]].append(row)
        whole = [sum(1 << code for code, _ in values) for values in self.values]
        self.left = [whole[g] for g in self.group]
        self.vulnerable = np.zeros(len(self.group), np.bool_)

    def run(self) -> None:
        """Collect the rows passed over, then infer until nothing more follows."""
        rules: list[tuple[int, int | None]] = list(self._pairs())
        for group, _ in rules:
            self.vulnerable[self.members[group]] = True
        rules += [(g, None) for g, values in enumerate(self.values) if all(count == 1 for _, count in values)]
        of_row: list[list[int]] = [[] for _ in self.group]
        for number, (group, passed) in enumerate(rules):
            for row in self.members[group] + ([] if passed is None else [passed]):
                of_row[row].append(number)
        waiting, queued = deque(range(len(rules))), [True] * len(rules)
        while waiting:
            number = waiting.popleft()
            queued[number] = False
            group, passed = rules[number]
            changed = self._one_each(group) if passed is None else self._same_as_before(group, passed)
            for again in {n for row in changed for n in of_row[row]}:
                if not queued[again]:
                    queued[again] = True
                    waiting.append(again)

    def _pairs(self) -> Iterator[tuple[int, int | None]]:
        """Groups certainly made by the frontier, with the rows that they passed over (lines 3 to 13; stop at line 11).

        A group begins at the first row left on the curve. If two groups begin at the same place, it is unknown which
        was made first, so neither is assumed to have passed over rows of the other.
        """
        begin = [self.key[members[0]] for members in self.members]
        counts: Counter[int] = Counter()
        for values in self.values:
            for code, count in values:
                counts[code] += count
        rows = len(self.group)
        place = {row: i for i, row in enumerate(self.order)}
        for _, together in groupby(sorted(range(len(begin)), key=begin.__getitem__), key=begin.__getitem__):
            made = list(together)
            rows -= sum(len(self.members[g]) for g in made)
            if rows < self.l * max(counts.values()):
                return
            for group in made:
                first, last = self.members[group][0], self.members[group][-1]
                for at in range(place[first] + 1, place[last]):
                    row = self.order[at]
                    if begin[self.group[row]] > begin[group] and self.key[row] < self.key[last]:
                        yield group, row
                for code, count in self.values[group]:
                    counts[code] -= count

    def _narrow(self, row: int, to: int, changed: set[int]) -> None:
        if self.left[row] & to != self.left[row]:
            self.left[row] &= to
            changed.add(row)

    def _same_as_before(self, group: int, row: int) -> set[int]:
        """A member of the group at or before the row has the row's value; returns the rows with fewer values left."""
        changed: set[int] = set()
        ahead, union = 0, 0
        for m in self.members[group]:
            if self.key[m] <= self.key[row]:
                union |= self.left[m]
                ahead += 1
        self._narrow(row, union, changed)
        if ahead == 1:
            self._narrow(self.members[group][0], self.left[row], changed)
        if _is_single(self.left[row]):
            for m in self.members[group][ahead:]:
                self._narrow(m, ~self.left[row], changed)
        return changed

    def _one_each(self, group: int) -> set[int]:
        """In a group of distinct values each row has one of them and each value one row."""
        changed: set[int] = set()
        members = self.members[group]
        for row in members:
            if _is_single(self.left[row]):
                for other in members:
                    if other != row:
                        self._narrow(other, ~self.left[row], changed)
        for value, _ in self.values[group]:
            holders = [row for row in members if self.left[row] >> value & 1]
            if len(holders) == 1:
                self._narrow(holders[0], 1 << value, changed)
        return changed

    def result(self) -> HilbAttack:
        candidates = tuple(frozenset(self.text[b] for b in _bits(left)) for left in self.left)
        shown = np.array([len(self.values[g]) for g in self.group])
        number = np.array([len(c) for c in candidates])
        return HilbAttack(
            self.release, self.sensitive, candidates, self.vulnerable, (number == 1) & (shown > 1), number < shown
        )


def _is_single(left: int) -> bool:
    return left.bit_count() == 1


def _bits(left: int) -> list[int]:
    return [b for b in range(left.bit_length()) if left >> b & 1]


def _keys(release: Release) -> list[int]:
    """The place of each row on the Hilbert curve, from the public domains."""
    columns, sizes = [], []
    for name in release.quasi():
        domain = release.description.domain(name)
        columns.append(domain_codes(release.tables["quasi"][name], domain, DataError))
        sizes.append(len(domain))
    if bits_needed(sizes) * len(sizes) > MOST_BITS:
        raise PolicyError(f"the Hilbert curve through {len(sizes)} quasi-identifiers needs more than {MOST_BITS} bits")
    return [int(k) for k in hilbert_keys(columns, sizes)]
