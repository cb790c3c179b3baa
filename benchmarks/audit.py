"""Speed of the audit: every adversary that is computed from counts, on the 299,285 rows of Census-Income."""

from collections.abc import Iterator

import polars as pl

import sfumato as sf
from benchmarks.aware import QUASI
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.adversary.auditing import closed_form_audit
from sfumato.engine.overview import overview_of
from sfumato.requirement.base import Requirement

FLOOR = "Polars group_by of the seven QIs"
TARGET = 100.0

RELEASES: list[tuple[str, sf.Mondrian | sf.MondrianPlus | sf.PG, Requirement]] = [
    ("mondrian, k = 10", sf.Mondrian(), sf.KAnonymity(k=10)),
    ("mondrian+, bucketization, l = 1.5", sf.MondrianPlus(scheme="bucketization"), sf.LDiversity(l=1.5)),
    ("pg, k = 10", sf.PG(k=10, p=0.3, domain="occurring"), sf.Growth(delta=0.9, skew=0.9)),
]


def lines() -> Iterator[Line]:
    """From release and table to findings, against one Polars group_by over the coded quasi-identifiers."""
    table = sf.read(datasets.census_income(), quasi=QUASI, sensitive="occupation")
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    floor = median_time(lambda: codes.group_by(codes.columns).len())
    counts = overview_of(table)
    for name, method, requirement in RELEASES:
        release = sf.publish(table, require=requirement, method=method)
        for form, truth in (("rows", table), ("counts", counts)):

            def audited(r: sf.Release = release, t: object = truth) -> object:
                return closed_form_audit(sf.Release(r.manifest, r.tables), t)  # type: ignore[arg-type]

            found = closed_form_audit(release, truth)
            what = f"{name}: {len(found.findings)} findings from {form}"
            yield Line(what, table.rows, median_time(audited), FLOOR, floor, TARGET)
