"""What is measured for each point: what its release gives away, and how useful it still is."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from sfumato.analyst.classification import classification_error
from sfumato.analyst.correlation import correlation_change
from sfumato.analyst.count_query import relative_errors
from sfumato.analyst.workload import Workload
from sfumato.errors import SfumatoError
from sfumato.kernel.jit import hearing_compilation
from sfumato.publisher.compare.gain import adversary_gain
from sfumato.publisher.compare.points import Point
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import GROUP
from sfumato.report.summary import Summary, summarize
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

QUERIES, DIMENSION, SELECTIVITY, SANITY = 1000, 3, 0.05, 0.001
LEARNED = 30_000
"""The most rows that a classifier is trained and tested on."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of one release. Less is better in all but ``rows`` and ``groups``; None: not measured.

    ``gain_worst`` and ``gain_mean``: by how much an adversary's belief in a person's true sensitive value exceeds the
    share of that value in the table. ``linked``: the greatest probability of finding a person's row. ``query_error``:
    the median relative error of random count queries. ``class_error``: the share of held-out rows that a decision tree
    gets wrong. ``correlation``: the average change of Cramér's V over all pairs of attributes. ``loss``: the share of
    information that labels hide (randomized: the share of values expected to change). ``seconds``: to make the release.
    """

    gain_worst: float | None = None
    gain_mean: float | None = None
    linked: float | None = None
    query_error: float | None = None
    class_error: float | None = None
    correlation: float | None = None
    loss: float | None = None
    seconds: float = 0.0
    groups: int | None = None
    rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For files and machines."""
        return asdict(self)


NAMES = tuple(f.name for f in fields(Figures))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a point: its figures, or why the method did not publish. ``notes`` say what was not measured."""

    figures: Figures | None = None
    refused: str | None = None
    """The method cannot do it on this table, which is a fact about the method and the data."""
    failed: str | None = None
    """Something went wrong that may not happen again."""
    notes: tuple[str, ...] = ()


def outcome_of(point: Point, table: Microdata) -> Outcome:
    """Publish by the method of a point and measure the release, which is then forgotten."""
    try:
        release, seconds = timed(lambda: point.method.publish(table, point.requirements))
        return measured(release, table, seconds)
    except SfumatoError as e:
        return Outcome(refused=str(e))
    except Exception as e:  # one point must not end the others
        return Outcome(failed=f"unexpected {type(e).__name__}: {e}; please report it")


def timed(make: Callable[[], Release]) -> tuple[Release, float]:
    """A release and the seconds it took; it is made again if kernels had to be compiled meanwhile."""
    compiled: list[bool] = []
    start = time.perf_counter()
    with hearing_compilation(compiled.append):
        release = make()
    if compiled:
        start = time.perf_counter()
        release = make()
    return release, time.perf_counter() - start


def measured(release: Release, table: Microdata, seconds: float) -> Outcome:
    """The figures of a release made from this table."""
    notes: list[str] = []

    def attempt(what: str, figure: Callable[[Release, Microdata], float | None]) -> float | None:
        try:
            return figure(release, table)
        except SfumatoError as e:
            notes.append(f"{what} not measured: {e}")
            return None

    gain, summary = adversary_gain(release, table), summarize(release, table)
    notes.extend(gain.refused)
    figures = Figures(
        gain_worst=gain.worst,
        gain_mean=gain.mean,
        linked=gain.linked,
        query_error=attempt("query error", query_error) if table.sensitive else None,
        class_error=attempt("classification error", class_error) if table.with_role(Role.CLASS) else None,
        correlation=attempt("correlation change", lambda r, t: correlation_change(r, t).mean),
        loss=loss_of(summary),
        seconds=seconds,
        groups=None if summary.groups is None else summary.groups.number,
        rows=release.description.rows,
    )
    return Outcome(figures=figures, notes=tuple(notes))


def query_error(release: Release, table: Microdata) -> float:
    """The median relative error of random count queries, relative to at least 0.1% of the rows."""
    workload = Workload(
        dimension=min(DIMENSION, len(table.quasi)),
        selectivity=SELECTIVITY,
        queries=QUERIES,
        sensitive=table.sensitive[0].name,
    )
    return relative_errors(release, table, workload, bound=SANITY * table.rows).median


def class_error(release: Release, table: Microdata) -> float:
    """The error of a decision tree that learns from two thirds of the rows as published, on the others."""
    shown = release.tables[release.scheme_class.people]
    (name, *_) = [c.name for c in table.with_role(Role.CLASS)]
    return held_out_error(
        shown[[n for n in shown.columns if n not in (GROUP, *release.scheme_class.own_columns)]], name
    )


def held_out_error(rows: pl.DataFrame, class_: str) -> float:
    """The error on a third of the rows of a tree that learned from the others, at most `LEARNED` rows in all."""
    order = np.random.default_rng(0).permutation(rows.height)[:LEARNED]
    cut = max(len(order) * 2 // 3, 1)
    return classification_error(rows[order[:cut]], rows[order[cut:] if cut < len(order) else order], class_=class_)


def loss_of(summary: Summary) -> float | None:
    """The information lost about the attributes that are not shown unchanged; 0 where quasi-identifiers are exact."""
    if summary.information is not None:
        return 1.0 - summary.information
    if not summary.randomized:
        return None
    kept = [*summary.kept.values(), *(1.0 for _ in summary.unchanged)]
    return 1.0 - sum(kept) / len(kept)
