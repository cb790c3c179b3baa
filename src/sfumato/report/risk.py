"""The risk of re-identification before and after, and the combinations that identify best."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.linkage import LinkageRisk, linkage_risk, quasi_groups, riskiest
from sfumato.adversary.population_risk import PopulationRisk, population_risk
from sfumato.adversary.sampling_weights import (
    WeightedClasses,
    classes_of_release,
    classes_of_table,
    weighted_risk,
)
from sfumato.engine.counts import Counts
from sfumato.engine.overview import Overview
from sfumato.release.best_guess import BestGuess, GroupValues, best_guess, best_guesses
from sfumato.release.release import Release
from sfumato.report.plots import class_sizes, percent
from sfumato.requirement.guarantee import figure
from sfumato.table.microdata import Microdata

Facts = dict[str, Any]

_TOP_COMBINATIONS = 6
_MODELS = {
    "pitman": "Pitman's model (Hoshino 2001), which fits the class sizes of the table closely; the table cannot show "
    "whether it holds for the population",
    "zayatz": "Zayatz's estimator, since Pitman's model does not fit the class sizes of the table",
    "census": "the table is the whole population",
    "no sample uniques": "no row of the table is unique",
}


class Weighted(NamedTuple):
    """The classes before and after, with the weights of the people in them; ``size`` is how many these stand for."""

    before: WeightedClasses
    after: WeightedClasses | None
    size: int


def weighted_classes(release: Release, table: Microdata, weights: NDArray[np.float64]) -> Weighted:
    """The classes of a table and of its release with the weights of their rows."""
    before, after = classes_of_table(table, weights), classes_of_release(release, table, weights)
    return Weighted(before, after, max(round(float(weights.sum())), table.rows))


class Risk(NamedTuple):
    """What can be learned about rows before and after: whose they are, and their sensitive values.

    ``classes`` is the class of each row of the table, or of each vector of its counts: equal quasi-identifiers.
    """

    classes: NDArray[np.int64]
    before: LinkageRisk
    after: LinkageRisk
    guesses: dict[str, tuple[BestGuess, BestGuess]]
    population: tuple[PopulationRisk, PopulationRisk | None] | None = None
    """The same for a population of known size; there is no such estimate for a randomized release."""


def risk_of(
    release: Release, table: Microdata | Counts, population: int | None = None, weighted: Weighted | None = None
) -> Risk:
    """The risks of a table and of a release made from it, both counted in rows and both based on what is shown.

    ``population`` is how many people the table is a sample of, if known; ``weighted`` are the classes with the weights
    of their rows, if there are weights.
    """
    held, shown, expected = table.weights, release.class_sizes(), None
    shown_class = np.arange(len(shown))
    if isinstance(table, Overview) and table.class_sizes is not None:
        classes, held, guesses = np.arange(len(table.class_sizes)), table.class_sizes, {}
    else:
        classes = quasi_groups(table)
        guesses = _guesses_beside(release, table, classes)
    if population is not None:
        # groups are left out whole, so that of those who fit a published label everyone sampled is still there
        after = (
            None
            if release.scheme_class.randomizes
            else population_risk(shown_class, population, rows=table.rows, weights=shown)
        )
        expected = population_risk(classes, population, weights=held), after
    if weighted is not None:
        expected = _by_weights(weighted, expected)
    before = linkage_risk(classes, weights=held)
    return Risk(classes, before, linkage_risk(shown_class, weights=shown), guesses, expected)


def _by_weights(
    weighted: Weighted, plain: tuple[PopulationRisk, PopulationRisk | None] | None
) -> tuple[PopulationRisk, PopulationRisk | None]:
    """The risks by sampling weights; how many people are unique is still estimated from class sizes."""
    before = weighted_risk(weighted.before, weighted.size)
    uniques = plain[0].uniques if plain else None
    after = None if weighted.after is None else weighted_risk(weighted.after, weighted.size)
    return replace(before, uniques=uniques), after


def risks(release: Release, table: Microdata | Counts, entity: str | None, risk: Risk) -> Facts:
    """The risks before and after, side by side."""
    before, after = risk.before, risk.after
    sizes = release.group_sizes()
    return {
        "before": before,
        "after": after,
        "lines": [
            *_risk_lines(before, after),
            *_population_lines(risk),
            *_people_lines(release, table, risk.classes, entity),
        ],
        "assumption": _assumption(risk),
        "guessed": _guess_lines(risk.guesses),
        "guesses": risk.guesses,
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "plot": class_sizes(before.histogram, after.histogram),
        "sizes": list(zip(before.histogram, after.histogram, strict=True)),
        "entity": entity,
    }


def _risk_lines(before: LinkageRisk, after: LinkageRisk) -> list[tuple[str, str, str, str]]:
    """Each line: what is measured, what it means, before, after."""
    threshold = percent(before.threshold)
    measured = [
        ("Prosecutor risk, greatest", "the adversary knows that a person is in the table; the worst row", "prosecutor"),
        ("Prosecutor risk, average", "the same, on average over the rows", "prosecutor_mean"),
        (f"Rows with a risk above {threshold}", "share of the rows", "above_threshold"),
        ("Journalist risk, greatest", "the adversary knows only that a person is in the population", "journalist"),
        ("Marketer risk", "expected share of rows re-identified correctly", "marketer"),
    ]
    lines = [(name, what, percent(getattr(before, f)), percent(getattr(after, f))) for name, what, f in measured]
    unique = [f"{r.uniques:,} ({percent(r.unique_share)})" for r in (before, after)]
    sizes = [f"{r.smallest:,} / {r.median:,g} / {r.mean:,.4g} / {r.largest:,}" for r in (before, after)]
    return [
        ("Unique rows", "no other row has the same quasi-identifiers", unique[0], unique[1]),
        *lines,
        ("Classes", "distinct combinations of quasi-identifiers", f"{before.classes:,}", f"{after.classes:,}"),
        ("Class size", "smallest / median / mean / largest", sizes[0], sizes[1]),
    ]


def _population_lines(risk: Risk) -> list[tuple[str, str, str, str]]:
    """The expected risks in the population, if its size is known."""
    if risk.population is None:
        return []
    before, after = risk.population
    among = f"expected, among {before.size:,} people"

    def line(name: str, what: str, figure: Callable[[PopulationRisk], str]) -> tuple[str, str, str, str]:
        return name, what, figure(before), "not estimated" if after is None else figure(after)

    return [
        line("Population risk, greatest", f"journalist; {among}; the worst row", lambda r: percent(r.greatest)),
        line("Population risk, average", f"marketer; {among}", lambda r: percent(r.mean)),
        line("Rows unique in the population", among, lambda r: f"{r.unique_rows:,.4g}"),
        *_unique_lines(before),
    ]


def _unique_lines(before: PopulationRisk) -> list[tuple[str, str, str, str]]:
    """How many people of the whole population are alone with their exact quasi-identifiers, by a model."""
    if before.uniques is None:
        return []
    found = before.uniques
    told = f"{found.estimate:,.4g} (standard error {found.error:,.2g})"
    what = f"people with quasi-identifiers that nobody else has; {_MODELS.get(found.model, found.model)}"
    return [("Unique people in the population", what, told, "")]


def _assumption(risk: Risk) -> str:
    """What the risks take the population to be."""
    if risk.population is None:
        return risk.before.assumption
    known = risk.population[0]
    if known.weighted:
        return (
            f"{risk.before.assumption} The population risks are estimates from the sampling weights, which represent "
            f"{known.size:,} people: for a class of f rows with weights that add up to W, each person of the "
            "population is assumed to be in the table with probability f / W (Benedetti and Franconi 1998). They are "
            "only as good as the weights, and no guarantee."
        )
    return (
        f"{risk.before.assumption} The population risks are estimates for a population of {known.size:,} people of "
        f"which the table is a simple random sample ({percent(known.fraction)}): the number of people of a class in "
        "the population is then negative binomial, given their number in the table (Benedetti and Franconi 1998). If "
        "people are in the table for a reason that is related to their quasi-identifiers, or have several rows each, "
        "the risks may be greater. They are no guarantee."
    )


def _people_lines(
    release: Release, table: Microdata | Counts, groups: NDArray[np.int64], entity: str | None
) -> list[tuple[str, str, str, str]]:
    """How many people the smallest class holds, if the policy tells people apart."""
    if entity is None:
        return []
    before = linkage_risk(groups, weights=table.weights, people=table.counted(entity)[0]).smallest
    claims = [c.achieved["k"] for c in release.description.requirements if c.required.get("entity") == entity]
    return [("People", f"fewest people in a class, counted by {entity}", f"{before:,}", figure(min(claims)))]


def _guesses_beside(
    release: Release, table: Microdata | Counts, classes: NDArray[np.int64]
) -> dict[str, tuple[BestGuess, BestGuess]]:
    """How well each sensitive value is guessed: by exact quasi-identifiers in the table, by groups in the release."""
    after = best_guesses(release)
    known = {name: table[name] for name in after if name in table.columns}
    alone = isinstance(table, Counts) and len(table.names) == len(table.quasi) + 1  # a vector is a class and a value
    before = {name: GroupValues(classes, c.codes, table.weights, c.domain.leaves, alone) for name, c in known.items()}
    return {name: (best_guess(values), after[name]) for name, values in before.items()}


def _guess_figures(guess: BestGuess) -> tuple[str, str, str]:
    certain = f"{guess.certain:,} ({percent(guess.certain / guess.rows)})"
    return certain, percent(guess.worst), percent(guess.mean)


def _guess_lines(guesses: Mapping[str, tuple[BestGuess, BestGuess]]) -> list[tuple[str, str, str, str]]:
    """For each sensitive attribute, what is known for certain and how often the best guess is right."""
    lines = []
    for name, both in guesses.items():
        (c1, c2), (w1, w2), (m1, m2) = zip(*(_guess_figures(guess) for guess in both), strict=True)
        lines += [
            (f"{name} given away", "rows whose class or group shows a single value", c1, c2),
            (f"{name} guessed, greatest", "share of the most frequent value of a class or group", w1, w2),
            (f"{name} guessed, average", "rows for which the most frequent value is right", m1, m2),
        ]
    return lines


def combinations(table: Microdata | Counts, entity: str | None) -> Facts:
    """The quasi-identifiers and values that single out most rows of the table; none if it was not counted whole."""
    if isinstance(table, Overview) and not table.joint:
        return {"combinations": (), "singled_out": [], "examples": (), "looked_at": "none"}
    people = None if entity is None else table.counted(entity)[0]
    found = riskiest(table, _TOP_COMBINATIONS, people=people)
    numbers = enumerate(found.singled_out, 1)
    return {
        "combinations": found.combinations,
        "singled_out": [(n, count, count / table.rows) for n, count in numbers],
        "examples": found.examples,
        "looked_at": found.looked_at,
    }
