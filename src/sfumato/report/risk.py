"""The risk of re-identification before and after, and the combinations that identify best."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.linkage import LinkageRisk, homogeneous, linkage_risk, quasi_groups, riskiest
from sfumato.release.release import Release
from sfumato.report.plots import class_sizes, percent
from sfumato.report.words import figure
from sfumato.table.microdata import Microdata

Facts = dict[str, Any]

_TOP_COMBINATIONS = 6


def risks(release: Release, table: Microdata, entity: str | None) -> Facts:
    """The risks before and after, side by side, both counted in rows."""
    groups = {"before": quasi_groups(table), "after": release.groups()}
    before, after = (linkage_risk(g) for g in groups.values())
    return {
        "before": before,
        "after": after,
        "lines": _risk_lines(before, after) + _people_lines(release, table, groups["before"], entity),
        "shared": _shared(release, table, groups["before"], groups["after"]),
        "plot": class_sizes(before.histogram, after.histogram),
        "sizes": list(zip(before.histogram, after.histogram, strict=True)),
        "entity": entity,
    }


def _risk_lines(before: LinkageRisk, after: LinkageRisk) -> list[tuple[str, str, str, str]]:
    """Each line: what is measured, what it means, before, after."""
    threshold = percent(before.threshold)
    measured = [
        ("Prosecutor, greatest", "knows that a person is in the table; the worst row", "prosecutor"),
        ("Prosecutor, average", "the same, on average over the rows", "prosecutor_mean"),
        (f"Rows at a risk above {threshold}", "share of the rows", "above_threshold"),
        ("Journalist, greatest", "knows only that a person is in the population", "journalist"),
        ("Marketer", "expected share of the rows that are re-identified correctly", "marketer"),
    ]
    lines = [(name, what, percent(getattr(before, f)), percent(getattr(after, f))) for name, what, f in measured]
    unique = [f"{r.uniques:,} ({percent(r.unique_share)})" for r in (before, after)]
    sizes = [f"{r.smallest:,} / {r.median:,g} / {r.mean:,.4g} / {r.largest:,}" for r in (before, after)]
    return [
        ("Unique rows", "alone with their quasi-identifiers", unique[0], unique[1]),
        *lines,
        ("Classes", "different combinations of quasi-identifiers", f"{before.classes:,}", f"{after.classes:,}"),
        ("Class size", "smallest / median / mean / largest", sizes[0], sizes[1]),
    ]


def _people_lines(
    release: Release, table: Microdata, groups: NDArray[np.int64], entity: str | None
) -> list[tuple[str, str, str, str]]:
    """How many people the smallest class holds, where the policy tells people apart."""
    if entity is None:
        return []
    before = linkage_risk(groups, people=table.counted(entity)[0]).smallest
    claims = [r["achieved"]["k"] for r in release.manifest["requirements"] if r["required"].get("entity") == entity]
    return [("People", f"fewest in a class, counted by {entity}", f"{before:,}", figure(min(claims)))]


def _shared(
    release: Release, table: Microdata, before: NDArray[np.int64], after: NDArray[np.int64]
) -> list[tuple[str, str, str, str]]:
    """For each sensitive attribute, the rows whose class has one value of it and so gives it away."""
    lines = []
    for column in table.sensitive:
        data = release.tables.get("data")
        if data is not None and column.name in data.columns and not release.sampled:
            values = _codes(data[column.name])
            counts = homogeneous(before, column.codes), homogeneous(after, values)
            told = [f"{n:,} ({percent(n / rows)})" for n, rows in zip(counts, (len(before), len(after)), strict=True)]
            lines.append((f"{column.name} given away", "rows whose class shares one value", told[0], told[1]))
    return lines


def _codes(series: pl.Series) -> NDArray[Any]:
    if isinstance(series.dtype, pl.Enum) and not series.null_count():
        return series.to_physical().to_numpy()
    return series.rank("dense").fill_null(0).to_numpy()


def combinations(table: Microdata, entity: str | None) -> Facts:
    """The quasi-identifiers and values that single out most rows of the table."""
    people = None if entity is None else table.counted(entity)[0]
    found = riskiest(table, _TOP_COMBINATIONS, people=people)
    numbers = enumerate(found.singled_out, 1)
    return {
        "combinations": found.combinations,
        "singled_out": [(n, count, count / table.rows) for n, count in numbers],
        "examples": found.examples,
        "looked_at": found.looked_at,
    }
