"""Chapter 5 of Fung's thesis: Table 5.3 and Figures 5.3 to 5.5."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.papers import fung_plots
from benchmarks.papers.fung_data import Data, confidentiality, masking, rarest
from benchmarks.papers.fung_errors import SPLITS, Claim, ErrorOf, Section, below, equals, often, once, percent, table

THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
PUBLISHED = {"CRX": (40, 27, 15, 8, 6), "Adult": (1333, 786, 365, 324, 318), "German": (496, 337, 174, 162, 161)}
SETS = 30


def inferences(data: Data, sensitive: Sequence[str]) -> list[int]:
    """How many pairs (x, y) of the raw table have a confidence strictly above each threshold."""
    x = [n for n in data.attributes if n not in sensitive]
    sizes = data.frame.group_by(x).len("size")
    confidences = []
    for name in sensitive:
        held = data.frame.filter(pl.col(name).is_in(rarest(data.frame[name]))).group_by([*x, name]).len("held")
        confidences.append(held.join(sizes, on=x).select(pl.col("held") / pl.col("size")).to_series())
    every = pl.concat(confidences)
    return [int((every > k).sum()) for k in THRESHOLDS]


def table_5_3(tables: Sequence[Data]) -> Section:
    """The number of inferences above k."""
    rows: list[list[object]] = []
    claims = []
    for data in tables:
        ours = inferences(data, data.top)
        rows.append([f"{data.name} (Top{len(data.top)}), thesis", *PUBLISHED[data.name]])
        rows.append([f"{data.name} (Top{len(data.top)}), ours", *ours])
        same = tuple(ours) == PUBLISHED[data.name]
        claims.append(Claim(data.name, "the same" if same else ", ".join(map(str, ours)), same))
    text = [
        "Distinct (x, y) of the whole table with a confidence strictly above k; sensitive are the ⌊n/2⌋ rarest values.",
        "For Adult no reading of the text gives the published numbers: not the training rows, nor the test rows, nor",
        "⌈n/2⌉ values, nor fewer sensitive attributes.",
        "",
        *table(["k", *(percent(k, 0) for k in THRESHOLDS)], rows),
    ]
    return Section("Table 5.3: number of inferences above k", text, claims)


@dataclass(frozen=True)
class Bounded:
    """Suppression and removal errors over N; ``left_out`` of ``tried`` requirements cannot be met by any table."""

    suppression: Mapping[int, float]
    removal: Mapping[int, float]
    each: Sequence[float]
    left_out: int
    tried: int

    def gap(self) -> dict[int, float]:
        """RE - SE for each N."""
        return {n: self.removal[n] - self.suppression[n] for n in self.suppression}


def suppressed(data: Data, sensitive: Sequence[str], ks: Sequence[float]) -> Iterator[pl.DataFrame | None]:
    """The table suppressed for each threshold; None where even the most suppressed one breaks it."""
    table = data.coded_for((n for n in data.attributes if n not in sensitive), sensitive, suppress=True)
    for k in ks:
        try:
            yield masking(table, [confidentiality(data, sensitive, k)], suppress=True).mask(data.frame)
        except sf.Infeasible:
            yield None


def bounded(data: Data, sets: Mapping[int, Sequence[Sequence[str]]], ks: Sequence[float], error_of: ErrorOf) -> Bounded:
    """The errors of sets of sensitive attributes, averaged over them and over the thresholds that can be met."""
    suppression, removal, each, left_out, tried = {}, {}, [], 0, 0
    for n, chosen in sets.items():
        found, without = [], []
        for sensitive in chosen:
            without.append(error_of(data.frame.drop(sensitive)))
            kept = [frame for frame in suppressed(data, sensitive, ks) if frame is not None]
            found += [error_of(frame) for frame in kept]
            tried, left_out = tried + len(ks), left_out + len(ks) - len(kept)
        each += found
        suppression[n], removal[n] = float(np.mean(found)), float(np.mean(without))
    return Bounded(suppression, removal, each, left_out, tried)


def random_sets(data: Data, most: int) -> dict[int, list[list[str]]]:
    """RanN: random sets of sensitive attributes for each N."""
    rng = np.random.default_rng(53)
    return {n: [sorted(rng.choice(data.attributes, n, replace=False)) for _ in range(SETS)] for n in range(1, most + 1)}


def top_sets(data: Data) -> dict[int, list[list[str]]]:
    """TopN: the best attributes as sensitive ones."""
    return {n: [list(data.top[:n])] for n in range(1, len(data.top) + 1)}


def _text(number: str, data: Data, top: Bounded, random: Bounded, baseline: float) -> Iterator[str]:
    """Both halves of a figure: table and plots."""
    for half, word, found in (("a", "Top", top), ("b", "Ran", random)):
        errors = {"SE": list(found.suppression.values()), "RE": list(found.removal.values())}
        title = f"Figure {number}({half}): {word}N in {data.name}, C4.5"
        ns = [f"{word}{n}" for n in found.suppression]
        yield fung_plots.lines(f"{number}{half}", title, ns, errors, {"BE": baseline}, x="sensitive attributes")
        yield ""
    yield f"BE = {percent(baseline)}."
    yield ""
    rows = [
        [name, *errors.values()]
        for name, errors in (
            ("SE of TopN", top.suppression),
            ("RE of TopN", top.removal),
            ("SE of RanN", random.suppression),
            ("RE of RanN", random.removal),
        )
    ]
    yield from table(["N", *map(str, top.suppression)], rows)
    for word, found in (("TopN", top), ("RanN", random)):
        if found.left_out:
            yield ""
            yield (
                f"{word}: {found.left_out} of {found.tried} requirements are left out of the averages, since even the "
                "most suppressed table breaks them (Theorem 5.1.3); the thesis does not say what it did with these."
            )


def _measured(data: Data, ks: Sequence[float], error_of: ErrorOf) -> tuple[Bounded, Bounded, float]:
    top = bounded(data, top_sets(data), ks, error_of)
    random = bounded(data, random_sets(data, len(data.top)), ks, error_of)
    return top, random, error_of(data.frame)


def figure_5_3(data: Data) -> Section:
    """CRX."""
    ks = (0.5, 0.7, 0.9)
    top, random, baseline = _measured(data, ks, often(data))
    gaps = top.gap()
    low, high = min(top.each) - baseline, max(top.each) - baseline
    (frame,) = suppressed(data, data.top, [0.7])
    hidden = {n: frame[n].n_unique() for n in data.attributes if "*" in frame[n].cast(pl.String).unique()}
    claims = [
        equals("BE", 0.154, baseline, 0.01),
        Claim(
            "SE - BE of TopN between 0 and 1.1%", f"{percent(low)} to {percent(high)}", high < 0.011 and low > -0.011
        ),
        equals("RE - SE of Top1", 0.101, gaps[1], 0.03),
        equals("RE - SE of Top4", 0.313, gaps[4], 0.03),
        Claim(
            "Top4 at 70%: some values of A4 and A5 are suppressed, all of A13",
            ", ".join(f"{n} {'whole' if labels == 1 else 'in part'}" for n, labels in hidden.items()) or "nothing",
            {n: labels == 1 for n, labels in hidden.items()} == {"A4": False, "A5": False, "A13": True},
        ),
    ]
    file = bounded(data, top_sets(data), ks, once(data))
    text = [
        f"Means over {SPLITS} random splits of the published sizes, and over k = 50%, 70%, 90%.",
        "",
        *_text("5.3", data, top, random, baseline),
        "",
        f"On the one split of `fung_data`: BE = {percent(once(data)(data.frame))}, "
        + ", ".join(f"Top{n} SE {percent(e)} RE {percent(file.removal[n])}" for n, e in file.suppression.items())
        + ".",
    ]
    return Section("Figure 5.3: CRX", text, claims)


def figure_5_4(data: Data) -> Section:
    """Adult."""
    top, random, baseline = _measured(data, THRESHOLDS, once(data))
    gaps = top.gap()
    claims = [
        equals("BE", 0.176, baseline),
        below("SE - BE of TopN in all cases", max(top.each) - baseline, 0.008),
        equals("the largest RE - SE, that of Top4", 0.06, max(gaps.values()), 0.005),
        below("greatest less least SE", max(top.each) - min(top.each), 0.01),
        Claim("RE of Top1 is slightly below SE", f"RE - SE = {percent(gaps[1])}", -0.01 < gaps[1] < 0),
    ]
    text = ["Means over k = 10%, 30%, 50%, 70%, 90%.", "", *_text("5.4", data, top, random, baseline)]
    return Section("Figure 5.4: Adult", text, claims)


def figure_5_5(data: Data) -> Section:
    """German."""
    top, random, baseline = _measured(data, THRESHOLDS[1:], often(data))
    gaps, later = top.gap(), [e for n, e in top.suppression.items() if n > 1]
    flat = max(top.removal.values()) - min(top.removal.values())
    claims = [
        equals("BE", 0.288, baseline, 0.01),
        equals("RE - SE on average", 0.043, float(np.mean(list(gaps.values()))), 0.01),
        equals("RE, flat for Top1 to Top6,", 0.36, float(np.mean(list(top.removal.values()))), 0.02),
        Claim("RE stays flat", f"it varies by {percent(flat)}", flat < 0.02),
        equals("SE of Top2 to Top6 about", 0.31, float(np.mean(later)), 0.01),
        Claim(
            "SE drops by 5% from Top1 to Top2",
            f"by {percent(top.suppression[1] - top.suppression[2])}",
            abs(top.suppression[1] - top.suppression[2] - 0.05) < 0.02,
        ),
    ]
    text = [
        f"Means over {SPLITS} random splits of the published sizes, and over k = 30%, 50%, 70%, 90%.",
        "",
        *_text("5.5", data, top, random, baseline),
    ]
    return Section("Figure 5.5: German", text, claims)
