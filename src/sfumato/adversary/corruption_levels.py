"""The corruption adversary of an audit: how surely a value is inferred if those of some, half or all others are known.

Where groups show true values, the values of corrupted members are struck out and the rest is left. Of a group of n in
which m people have the victim's value:

- knowing any one other person at best strikes out another value: m / (n - 1);
- knowing a random part of the others leaves T of the n - 1 other members, and the expected belief in the truth is
  a + (1 - a) E[1 / (T + 1)] with a = (m - 1) / (n - 1), since of those left each is equally likely to share the value;
- knowing everyone else leaves the victim's value alone (Lemma 2 of PG).

If N - 1 others are in the table and U of them stay unknown, T is hypergeometric and, as C(n-1, t) / (t + 1) =
C(n, t + 1) / n, the expectation is (N / (U + 1) - C(N - n, U + 1) / C(N - 1, U)) / n.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sfumato.adversary.base import Adversary, Floats, Integers, several_rows
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.inference_attack import BASELINE
from sfumato.adversary.known_row import PRIOR, known_row
from sfumato.adversary.situation import Situation
from sfumato.adversary.true_belief import believed_in, domain_share, greatest_in_group, observed
from sfumato.errors import PolicyError
from sfumato.requirement.guarantee import INDEPENDENT
from sfumato.table.checks import is_number
from sfumato.table.encode import Column

CorruptionLevel = int | float | str

_KNOWS = "knows a person's quasi-identifiers and group and the values of "
_HALVES = "The people whose values are known were drawn at random; another draw would give slightly different figures."


@dataclass(frozen=True, kw_only=True)
class CorruptionLevels(Adversary):
    """Knows people's quasi-identifiers and the sensitive values of some of the others.

    ``corrupted`` lists how many: 1 (whichever other person reveals the most), a share between 0 and 1 of all others,
    drawn at random, or "everyone" (else).
    """

    name: ClassVar[str] = "corruption"
    summary: ClassVar[str] = "knows the sensitive values of some of the others, or of everyone else"

    corrupted: CorruptionLevel | Sequence[CorruptionLevel] = (1, 0.5, "everyone")

    def __post_init__(self) -> None:
        several = isinstance(self.corrupted, Sequence) and not isinstance(self.corrupted, str)
        levels = tuple(self.corrupted) if several else (self.corrupted,)  # type: ignore[arg-type]
        for level in levels:
            share = is_number(level) and 0 < level < 1  # type: ignore[operator]
            if not (share or level == "everyone" or (level == 1 and isinstance(level, int) and level is not True)):
                raise PolicyError(
                    f"corruption: corrupted = {level!r}; it must be 1 (any one other person), a share between 0 and 1 "
                    "of the others, or 'everyone'"
                )
        if not levels:
            raise PolicyError("corruption: corrupted is empty; give 1, a share of the others, or 'everyone'")
        object.__setattr__(self, "corrupted", levels)

    @property
    def levels(self) -> tuple[CorruptionLevel, ...]:
        """How many others are known, in turn."""
        return self.corrupted  # type: ignore[return-value]

    def refuses(self, situation: Situation) -> str | None:
        if not situation.sensitive:
            return "no sensitive attribute is published, so knowing the values of others reveals nothing"
        if situation.perturbs:
            return (
                "the method may have changed sensitive values, so the known ones cannot be struck out of what is "
                "published; this is not computed"
            )
        return several_rows(situation)

    def variants(self, situation: Situation) -> int:
        each = 1 if situation.release.scheme_class.randomizes else len(self.levels)
        return each * len(situation.sensitive)

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        for column in situation.sensitive:
            if situation.release.scheme_class.randomizes:
                yield known_row(
                    self, situation, column, attack="corruption", variant="any number of others",
                    knowledge="knows which row is a person's and the values of any number of others",
                )  # fmt: skip
                continue
            for level in self.levels:
                if situation.release.sampled:
                    yield self._sampled(situation, column, level)
                else:
                    yield self._in_groups(situation, column, level)

    def _in_groups(self, s: Situation, column: Column, level: CorruptionLevel) -> AdversaryFinding:
        """Groups with true values. Of people who fit several groups it is not known which is theirs: the one that gives
        most away counts, which is a bound."""
        if level == "everyone" and not s.left_out:
            return self._told(s, column, level, np.ones(s.truth.entries), several=0)
        held = s.held(column)
        belief, alone = left_over(held.sizes[held.keys // held.values], held.counts, level, s.truth.rows)
        there = s.fits.groups[s.kinds.of_row] > 0  # about people who were left out nothing is learned
        found = np.where(there, greatest_in_group(s, column, belief), s.share(column)[column.codes])
        known = float(s.weights @ greatest_in_group(s, column, alone))
        return self._told(s, column, level, found, several=int(s.people[s.fits.groups > 1].sum()), alone=known)

    def _told(
        self, s: Situation, column: Column, level: CorruptionLevel, belief: Floats, *, several: int, alone: float = 0.0
    ) -> AdversaryFinding:
        share, notes = isinstance(level, float), [BASELINE]
        if share:
            notes.append(f"On average, at most {alone:,.4g} people are left with only their own value.")
        if several:
            notes.append(
                f"{several:,} people fit several groups; for each of them, the group that gives away the most counts."
            )
        return self.learned(
            s, belief, s.share(column)[column.codes], attack="corruption", attribute=column.name,
            variant=_variant(s, column, level), knowledge=_KNOWS + _words(level), exact=not several,
            bound=bool(several), target=f"of a person's {column.name}", notes=tuple(notes),
            expected="which of them are known" if share else "",
        )  # fmt: skip

    def _sampled(self, s: Situation, column: Column, level: CorruptionLevel) -> AdversaryFinding:
        """One perturbed value per group: Equations 8 to 19 of PG, with the whole table as the external database."""
        box = s.fits.group[s.kinds.of_row]
        if (box < 0).any():
            raise PolicyError("some people fit no published group; give the table that the release was made from")
        case = _Sample(s, column, box)
        belief, entries, weights = case.attacked(level)
        drawn = isinstance(level, float)
        return self.learned(
            s, belief, s.share(column)[column.codes[entries]], attack="corruption", attribute=column.name,
            entries=entries, weights=weights, variant=_variant(s, column, level),
            knowledge=_KNOWS + _words(level) + PRIOR,
            target=f"of a person's {column.name}", notes=(BASELINE, INDEPENDENT, *([_HALVES] * drawn)),
            exact=not drawn,
        )  # fmt: skip


class _Sample(NamedTuple):
    """A sample under attack: the row of each entry of the truth."""

    s: Situation
    column: Column
    box: Integers

    def attacked(self, level: CorruptionLevel) -> tuple[Floats, Integers, Integers]:
        """The belief in the truth about entries, these entries, and how many people each stands for."""
        s, everyone = self.s, np.arange(self.s.truth.entries)
        if level == "everyone":
            others = self.size - 1
            return self._belief(everyone, others, self._matching(s.weights, everyone)), everyone, s.weights
        if isinstance(level, float):
            return self._some(level)
        with_it, without = (np.minimum(n, 1) for n in self._others(everyone))
        best = np.zeros(len(everyone))
        for known, matching in ((with_it, with_it), (without, 0 * without)):
            best = np.maximum(best, self._belief(everyone, known, matching))
        return best, everyone, s.weights

    @property
    def size(self) -> Integers:
        return np.asarray(self.s.fits.rows[self.s.kinds.of_row])

    @property
    def seen(self) -> Integers:
        """The value shown in each entry's row, as a code of the truth; -1 if nobody in the table has it."""
        at = {v: i for i, v in enumerate(self.column.domain.leaves)}
        words = self.s.release.description.domain(self.column.name)
        codes = np.array([at.get(word, -1) for word in words], np.int64)
        return np.asarray(codes[observed(self.s, self.column)][self.box])

    def _matching(self, weights: Integers, own: Integers) -> Integers:
        """How many known others of the entry's row have the value shown in it; ``own``: entries that count itself."""
        same = self.column.codes == self.seen
        number = np.bincount(self.box, weights=weights * same, minlength=int(self.box.max()) + 1).astype(np.int64)
        mine = np.zeros(len(self.box), np.int64)
        mine[own] = same[own]
        return np.asarray(number[self.box] - mine)

    def _others(self, everyone: Integers) -> tuple[Integers, Integers]:
        """How many others have the value shown, and how many do not."""
        matching = self._matching(self.s.weights, everyone)
        return matching, self.size - 1 - matching

    def _some(self, share: float) -> tuple[Floats, Integers, Integers]:
        """A random part of the people is known; each entry is attacked for its known and its unknown people."""
        s, entries = self.s, np.arange(self.s.truth.entries)
        number = round(share * (s.truth.rows - 1))
        person = np.repeat(entries, s.weights)
        known = np.bincount(person[s.draws.order(len(person))[:number]], minlength=len(entries))
        of_box = np.bincount(self.box, weights=known, minlength=int(self.box.max()) + 1).astype(np.int64)[self.box]
        parts = []
        for own, people in ((entries[:0], s.weights - known), (entries, known)):
            chosen = np.flatnonzero(people > 0)
            corrupted = of_box - (1 if len(own) else 0)
            belief = self._belief(chosen, corrupted[chosen], self._matching(known, own)[chosen])
            parts.append((belief, chosen, people[chosen]))
        return (
            np.concatenate([p[0] for p in parts]),
            np.concatenate([p[1] for p in parts]),
            np.concatenate([p[2] for p in parts]),
        )

    def _belief(self, entries: Integers, known: Integers, matching: Integers) -> Floats:
        s, column = self.s, self.column
        size, value = self.size[entries], column.codes[entries].astype(np.int64)
        shown = observed(s, column)[self.box[entries]]
        facts = {"corrupted": known, "present": known, "matching": matching}
        return believed_in(s, column, value, shown, size, domain_share(s, column), size - 1, **facts)


def left_over(size: Integers, same: Integers, level: CorruptionLevel, people: int) -> tuple[Floats, Floats]:
    """The belief in the truth about someone in a group of ``size`` of whom ``same`` have the true value, and the chance
    that nothing else is left; expected, if the level is a share of ``people`` in all.

    >>> left_over(np.array([4]), np.array([2]), 1, 100)[0].round(4).tolist()
    [0.6667]
    >>> left_over(np.array([2]), np.array([1]), 0.5, 3)[0].tolist()  # the one other member is known in half the cases
    [0.75]
    """
    if level == "everyone":
        return np.ones(len(size)), np.ones(len(size))
    if not isinstance(level, float):
        rest = np.maximum(size - (same < size), 1)
        return same / rest, (same == rest).astype(np.float64)
    unknown = people - 1 - round(level * (people - 1))
    all_ways = log_choose(np.array([people - 1]), unknown)
    none_left = np.exp(log_choose(people - size, unknown + 1) - all_ways)
    inverse = (people / (unknown + 1) - none_left) / size
    alike = np.where(size > 1, (same - 1) / np.maximum(size - 1, 1), 1.0)
    alone = np.exp(log_choose(people - 1 - (size - same), unknown) - all_ways)
    return np.clip(alike + (1 - alike) * inverse, 0.0, 1.0), alone


def log_choose(n: Integers, k: int) -> Floats:
    """The logarithm of how many ways there are to choose k of each n; each different n is computed once.

    >>> np.exp(log_choose(np.array([4, 1, 5]), 2)).round(9).tolist()
    [6.0, 0.0, 10.0]
    """
    different, which = np.unique(n, return_inverse=True)
    ways = [
        math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1) if m >= k else -math.inf
        for m in different.tolist()
    ]
    return np.asarray(np.array(ways)[which.reshape(-1)])


def _variant(s: Situation, column: Column, level: CorruptionLevel) -> str:
    told = _words(level).removeprefix("a random ").removesuffix(" person")
    return f"{column.name}, {told}" if len(s.sensitive) > 1 else told


def _words(level: CorruptionLevel) -> str:
    if level == "everyone":
        return "everyone else"
    if not isinstance(level, float):
        return "any one other person"
    return "a random half of the others" if level == 0.5 else f"a random {level:.4g} of the others"
