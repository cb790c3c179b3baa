"""Chapter 4 of Fung's thesis: Figures 4.5 to 4.10."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.papers import fung_plots
from benchmarks.papers.fung_data import SHORT, Data, masking, spelt
from benchmarks.papers.fung_errors import (
    SPLITS,
    Claim,
    Curves,
    Section,
    below,
    equals,
    error,
    often,
    on_splits,
    once,
    percent,
    table,
)
from sfumato.analyst.features import examples
from sfumato.analyst.learners import NaiveBayes

KS = (20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
GA = spelt("Ag Wc En Ms Oc Ra Sx Nc", SHORT)
REQUIREMENTS = 30


def topn(data: Data, ks: Sequence[int], *, suppress: bool) -> dict[int, dict[int, pl.DataFrame]]:
    """The table masked on the best 5, 7 and 9 attributes, for each k."""
    frames: dict[int, dict[int, pl.DataFrame]] = {}
    for n in (5, 7, 9):
        x = data.top[:n]
        table = data.coded_for(x, suppress=suppress)
        ends = {k: masking(table, [sf.Anonymity(x=x, k=k)], suppress=suppress) for k in ks}
        frames[n] = {k: end.mask(data.frame) for k, end in ends.items()}
    return frames


def ranking(tables: Sequence[Data]) -> Section:
    """The ranking of the attributes, on which everything else depends."""
    rows, claims = [], []
    for data in tables:
        ours = tuple(sf.rank_attributes(data.frame.filter(data.train), class_=data.class_, top=9))
        same = next((i for i, (a, b) in enumerate(zip(ours, data.top, strict=False)) if a != b), len(data.top))
        rows.append([data.name, ", ".join(data.top), ", ".join(ours)])
        claims.append(Claim(f"Top9 of {data.name}", f"the first {same} of 9 in the same order", same == 9))
    text = ["The root of the C4.5 tree, then of the tree without that attribute, and so on (training rows).", ""]
    return Section("Rankings, section 4.4.1", [*text, *table(["table", "thesis", "ours"], rows)], claims)


def figure_4_5(data: Data) -> Section:
    """Adult, suppression and discretization, C4.5."""
    found = Curves.of(data, topn(data, KS, suppress=True), once(data))
    title = "Figure 4.5: suppress and discretize TopN in Adult, C4.5"
    claims = [
        equals("BE", 0.147, found.baseline),
        equals("UE of Top7", 0.215, found.upper[7]),
        below("AE - BE of Top7 for 20 ≤ k ≤ 1000", found.loss(7, 20, 1000), 0.025),
        Claim(
            "AE of Top7 drops slightly from k = 180 to 200",
            f"{percent(found.at(7, 180))} to {percent(found.at(7, 200))}",
            found.at(7, 200) < found.at(7, 180),
        ),
    ]
    return Section(title, [*found.plot("4.5", title), *found.text()], claims)


def figure_4_6(data: Data) -> Iterator[Section]:
    """Adult, generalization and discretization: C4.5 and naive Bayes; and Figure 4.7, the intervals that grew."""
    frames = topn(data, KS, suppress=False)
    found = Curves.of(data, frames, once(data))
    title = "Figure 4.6(a): generalize and discretize TopN in Adult, C4.5"
    shown = {n: frames[7][500][n].n_unique() for n in data.top[:7]}
    whole = [n for n, labels in shown.items() if labels == 1]
    claims = [
        below("AE - BE of Top7 for 20 ≤ k ≤ 600", found.loss(7, 20, 600), 0.02),
        equals("AE - BE of Top7 at k = 500", 0.02, found.at(7, 500) - found.baseline, 0.005),
        Claim(
            "Top7 at k = 500: Cg, Ag, Re, Sx are masked to the top, three others less",
            "to the top: " + ", ".join(whole),
            set(whole) == set(spelt("Cg Ag Re Sx", SHORT)),
        ),
    ]
    yield Section(title, [*found.plot("4.6a", title), *found.text()], claims)
    yield _figure_4_6b(data, frames)
    yield _figure_4_7(frames[7][60])


def _figure_4_6b(data: Data, frames: dict[int, dict[int, pl.DataFrame]]) -> Section:
    found = Curves.of(data, frames, once(data, NaiveBayes()))
    title = "Figure 4.6(b): generalize and discretize TopN in Adult, naive Bayes"
    worst = max(found.loss(n, 20, 1000) for n in (5, 7, 9))
    least = {n: min(found.baseline - found.at(n, k) for k in KS if k <= 180) for n in (5, 7)}
    claims = [
        equals("BE", 0.1807, found.baseline),
        Claim("AE - BE no more than 1.5% for 20 ≤ k ≤ 1000", f"at most {percent(worst)}", worst <= 0.015),
        Claim(
            "AE < BE for k ≤ 180, Top5 and Top7",
            ", ".join(f"Top{n} up to k = {max((k for k in KS if _under(found, n, k)), default=0)}" for n in (5, 7)),
            min(least.values()) > 0,
        ),
    ]
    return Section(title, [*found.plot("4.6b", title), *found.text()], claims)


def _under(found: Curves, n: int, most: int) -> bool:
    """Whether all masked errors up to a k are below the baseline."""
    return all(found.at(n, k) < found.baseline for k in found.ks if k <= most)


def _figure_4_7(frame: pl.DataFrame) -> Section:
    labels = {n: sorted(frame[n].unique(), key=_low) for n in ("hours-per-week", "education-num")}
    text = [f"- {name}: {', '.join(found)}" for name, found in labels.items()]
    at = [v for v in labels["education-num"] if _low(v) == 13]
    claim = Claim("education-num is split at 13", ", ".join(labels["education-num"]), bool(at))
    return Section("Figure 4.7: intervals of Top7 at k = 60", text, [claim])


def _low(label: str) -> float:
    return float(label.strip("[)").split(",")[0])


def random_requirements(data: Data, number: int, k: int) -> Iterator[list[sf.Anonymity]]:
    """Section 4.4.1: U[3, 7] templates of one length U[2, 9] each, over all attributes; repeated ones are dropped."""
    rng = np.random.default_rng(48)
    for _ in range(number):
        templates, length = rng.integers(3, 8), rng.integers(2, 10)
        chosen = {tuple(sorted(rng.choice(data.attributes, length, replace=False))) for _ in range(templates)}
        yield [sf.Anonymity(x=x, k=k) for x in sorted(chosen)]


def figure_4_8(data: Data) -> Section:
    """Several templates against one united template."""
    pairs = []
    for templates in random_requirements(data, REQUIREMENTS, 100):
        united = sf.Anonymity(x=sorted({n for t in templates for n in t.x}), k=100)
        table = data.coded_for(united.x, suppress=False)
        several, one = (masking(table, t, suppress=False).mask(data.frame) for t in (templates, [united]))
        pairs.append((error(data.coded(several)), error(data.coded(one))))
    better, worse = (sum(f(a, b) for a, b in pairs) for f in (float.__lt__, float.__gt__))
    mean = [float(np.mean([p[i] for p in pairs])) for i in (0, 1)]
    title = "Figure 4.8: several templates and the united one, 30 random requirements on Adult, k = 100"
    text = [
        fung_plots.points("4.8", "Figure 4.8: single and multiple templates, k = 100", pairs),
        "",
        f"Mean AE: several templates {percent(mean[0])}, united {percent(mean[1])}. Several are better in {better}, "
        f"worse in {worse} of {len(pairs)}. Where several err more, the looser requirement let the greedy choice spend",
        "anonymity on other attributes, such as dozens of intervals of age instead of the one cut of capital-gain.",
    ]
    claim = Claim(
        "all points lie where several templates err no more", f"{len(pairs) - worse} of {len(pairs)}", worse == 0
    )
    return Section(title, text, [claim])


def figure_4_9(crx: Data, german: Data) -> Iterator[Section]:
    """The small tables, suppression and discretization: on one split, and the mean over random ones."""
    small = [k for k in KS if k <= 600]
    frames = topn(crx, small, suppress=True)
    one, mean = (Curves.of(crx, frames, e(crx)) for e in (once, often))
    title = "Figure 4.9(a): suppress and discretize TopN in CRX, C4.5"
    claims = [
        equals("BE", 0.154, mean.baseline, 0.01),
        below("AE - BE of Top7 for 20 ≤ k ≤ 300", mean.loss(7, 20, 300), 0.04),
        equals("UE of Top7", 0.42, mean.upper[7], 0.02),
        Claim(
            "AE rises sharply for k > 300",
            f"{percent(mean.at(7, 300))} at 300, {percent(max(mean.masked[7]))} at most after",
            max(mean.masked[7]) - mean.at(7, 300) > 0.1,
        ),
    ]
    yield Section(title, [*mean.plot("4.9a", f"{title}, {SPLITS} splits"), *_both(crx, one, mean)], claims)
    frames = topn(german, KS, suppress=True)
    one, mean = (Curves.of(german, frames, e(german)) for e in (once, often))
    title = "Figure 4.9(b): suppress and discretize TopN in German, C4.5"
    claims = [
        equals("BE", 0.288, mean.baseline, 0.01),
        below("AE - BE of Top7 for 20 ≤ k ≤ 100", mean.loss(7, 20, 100), 0.04),
        equals("UE of Top7", 0.36, mean.upper[7], 0.02),
    ]
    yield Section(title, [*mean.plot("4.9b", f"{title}, {SPLITS} splits"), *_both(german, one, mean)], claims)


def _both(data: Data, one: Curves, mean: Curves) -> Iterator[str]:
    each = on_splits(data, data.frame)
    varies = f"(BE of a single split from {percent(min(each))} to {percent(max(each))})"
    yield f"**Mean over {SPLITS} random splits** of the published sizes {varies}. " + next(text := mean.text())
    yield from text
    yield ""
    yield "**The one split** of `fung_data`. " + next(text := one.text())
    yield from text


def _folded(data: Data, here: pl.DataFrame, there: pl.DataFrame, ks: Sequence[int]) -> list[float]:
    """The errors of one fold: masked by its training rows alone, then the held-out rows the same way."""
    table = data.coded_for(GA, suppress=False, rows=here)
    ends = [masking(table, [sf.Anonymity(x=GA, k=k)], suppress=False) for k in ks]
    return [error(examples(end.mask(here), end.mask(there), data.class_)) for end in ends]


def figure_4_10(data: Data) -> Section:
    """The eight attributes of Iyengar's genetic algorithm; ten folds of the training rows, each masked by itself."""
    frame = data.frame.filter(data.train).select(*GA, data.class_)
    fold = np.random.default_rng(410).permutation(np.arange(frame.height) % 10)
    ks = (10, 25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000)
    folds = [(frame.filter(fold != i), frame.filter(fold == i)) for i in range(10)]

    def mean(errors: list[float]) -> float:
        return float(np.mean(errors))

    baseline = mean([error(examples(a, b, data.class_)) for a, b in folds])
    upper = mean([float((b[data.class_] != a[data.class_].mode()[0]).mean()) for a, b in folds])
    every = [_folded(data, here, there, ks) for here, there in folds]
    masked = [mean([errors[i] for errors in every]) for i in range(len(ks))]
    title = "Figure 4.10: the attributes of the genetic algorithm, ten folds, C4.5"
    text = [
        fung_plots.lines("4.10", title, ks, {"TDR": masked}, {"BE": baseline, "UE": upper}),
        "",
        "The thesis gives no numbers in its text, and used the taxonomies of [33]; ours are `adult_taxonomies`.",
        f"BE = {percent(baseline)}, UE (nothing left but the majority) = {percent(upper)}.",
        "",
        *table(["k", *map(str, ks)], [["AE", *masked]]),
    ]
    rise = max(masked[ks.index(500) :]) - masked[ks.index(500)]
    claim = Claim(
        "TDR continues to perform well from k = 500 to 1000", f"AE rises by {percent(rise)} there", rise < 0.01
    )
    return Section(title, text, [claim])
