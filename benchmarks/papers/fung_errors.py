"""What the figures of Fung's thesis show: errors, claims and their tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from benchmarks.papers import fung_plots
from benchmarks.papers.fung_data import Data
from sfumato.analyst.features import Examples, examples
from sfumato.analyst.learners import C45, Learner

SPLITS = 20
"""How many random splits of a small table are averaged."""

ErrorOf = Callable[[pl.DataFrame], float]


def percent(share: float, digits: int = 2) -> str:
    """A share as a percentage."""
    return f"{100 * share:.{digits}f}%"


@dataclass(frozen=True)
class Claim:
    """What the thesis says, what we find, and whether the two agree."""

    thesis: str
    ours: str
    agrees: bool


def equals(thesis: str, published: float, found: float, slack: float = 0.0005) -> Claim:
    """A published figure next to ours; they agree if they differ by no more than the slack."""
    return Claim(f"{thesis} = {percent(published, 1)}", percent(found), abs(found - published) <= slack + 1e-9)


def below(thesis: str, found: float, limit: float) -> Claim:
    """A bound that the thesis states, and our largest value."""
    return Claim(f"{thesis} < {percent(limit, 1)}", f"at most {percent(found)}", found < limit)


@dataclass(frozen=True)
class Section:
    """One table or figure of the thesis."""

    title: str
    text: Sequence[str]
    claims: Sequence[Claim] = field(default=())

    def markdown(self) -> Iterator[str]:
        """The section, lines of Markdown."""
        yield f"## {self.title}"
        yield ""
        yield from self.text
        if self.claims:
            yield ""
            yield "| the thesis | ours | |"
            yield "| --- | --- | --- |"
            for claim in self.claims:
                yield f"| {claim.thesis} | {claim.ours} | {'agrees' if claim.agrees else '**differs**'} |"
        yield ""


def error(coded: Examples, learner: Learner | None = None) -> float:
    """The share of the held-out rows that the learner, C4.5 by default, gets wrong."""
    return float(((learner or C45()).predict(coded) != coded.held_out).mean())


def once(data: Data, learner: Learner | None = None) -> ErrorOf:
    """The error on the one split of a table."""
    return lambda frame: error(data.coded(frame), learner)


def on_splits(data: Data, frame: pl.DataFrame) -> list[float]:
    """The errors on random splits of the same sizes, always the same ones."""
    coded = examples(frame, frame, data.class_)
    return [error(_part(coded, split)) for split in data.random_splits(SPLITS)]


def often(data: Data) -> ErrorOf:
    """The mean error over random splits."""
    return lambda frame: float(np.mean(on_splits(data, frame)))


def _part(coded: Examples, train: np.ndarray) -> Examples:
    """Some of the coded rows to train on, the others held out; numbers are ranked again among the training rows."""
    features = []
    for f in coded.features:
        if f.numbers is None:
            features.append(replace(f, codes=f.codes[train], held_out=f.codes[~train]))
            continue
        known, codes = np.unique(f.codes[train], return_inverse=True)
        held_out = np.searchsorted(known, f.codes[~train]).astype(np.int32)
        here, there = f.numbers[known], f.numbers[f.codes[~train]]
        codes = codes.astype(np.int32)
        features.append(replace(f, codes=codes, held_out=held_out, numbers=here, held_out_numbers=there))
    return replace(coded, features=tuple(features), label=coded.label[train], held_out=coded.label[~train])


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A Markdown table; shares are shown in percent."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(f"{100 * v:.2f}" if isinstance(v, float) else str(v) for v in row) + " |"


@dataclass(frozen=True)
class Curves:
    """Masked errors of Top5, Top7 and Top9 over k, with the baseline and the upper errors."""

    ks: Sequence[int]
    baseline: float
    upper: Mapping[int, float]
    masked: Mapping[int, Sequence[float]]

    @classmethod
    def of(cls, data: Data, frames: Mapping[int, Mapping[int, pl.DataFrame]], error_of: ErrorOf) -> "Curves":
        """Errors of masked tables; ``frames[n][k]`` is the table masked on TopN for k."""
        upper = {n: error_of(data.frame.drop(data.top[:n])) for n in frames}
        masked = {n: [error_of(frame) for frame in by_k.values()] for n, by_k in frames.items()}
        return cls(list(next(iter(frames.values()))), error_of(data.frame), upper, masked)

    def loss(self, n: int, low: int, high: int) -> float:
        """The greatest AE - BE of TopN for k from low to high."""
        return max(self.at(n, k) - self.baseline for k in self.ks if low <= k <= high)

    def at(self, n: int, k: int) -> float:
        """The masked error of TopN at one k."""
        return self.masked[n][list(self.ks).index(k)]

    def text(self) -> Iterator[str]:
        """The errors as a table."""
        upper = ", ".join(f"Top{n} {percent(e)}" for n, e in self.upper.items())
        yield f"BE = {percent(self.baseline)}; UE: {upper}. AE in percent:"
        yield ""
        rows = ([k, *(es[i] for es in self.masked.values())] for i, k in enumerate(self.ks))
        yield from table(["k", *(f"Top{n}" for n in self.masked)], rows)

    def plot(self, name: str, title: str) -> Iterator[str]:
        """The figure."""
        levels = {"BE": self.baseline} | {f"UE Top{n}": e for n, e in self.upper.items()}
        yield fung_plots.lines(name, title, self.ks, {f"Top{n}": es for n, es in self.masked.items()}, levels)
        yield ""
