"""Gather the facts about a release and the table it was made from, and write them up for the steward."""

import datetime as dt
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

import jinja2

from sfumato.adversary.audit import Audit
from sfumato.engine.overview import Overview, overview_of
from sfumato.errors import OutputError
from sfumato.release.manifest import Claim
from sfumato.release.people import entity_of
from sfumato.release.readme.page import environment, prepare_readme
from sfumato.release.readme.templates import template
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import COUNT
from sfumato.report.adversaries import adversaries
from sfumato.report.columns import roles_told
from sfumato.report.distributions import BeforeAfter, before_after, plain
from sfumato.report.earlier_releases import Dangling, joined
from sfumato.report.guarantees import drawn_again, general_limits, guarantee, in_words, met, method_limits, shown_limits
from sfumato.report.markdown import prepare_markdown
from sfumato.report.plots import drawn, losses
from sfumato.report.provenance import Provenance, versions
from sfumato.report.randomized import reconstructed, response
from sfumato.report.risk import Risk, combinations, risk_of, risks
from sfumato.report.sample import sample_limits, weighted
from sfumato.report.style import style
from sfumato.report.summary import Summary, summarize
from sfumato.requirement.guarantee import figure
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import distinct_texts

Facts = dict[str, Any]
Labels = Mapping[str, Mapping[str, float] | None]

_TOP_LABELS = 5


class Given(TypedDict, total=False):
    """What a report is made from.

    ``table`` is the microdata that the release was made from, or an overview of it; ``summary`` and ``risk`` are what
    `summarize` and `risk_of` say about both, if already known; ``warnings`` are added to those of the release;
    ``seeded`` says whether its randomness came from a known seed; ``dangling`` is what `raw_dangling` says about
    earlier releases; ``provenance`` is what only the job knows, or returns it once everything else is
    known, ``audit`` what adversaries found out.
    """

    release: Required[Release]
    table: Required[Microdata | Overview]
    policy_text: str
    summary: Summary | None
    risk: Risk | None
    warnings: Sequence[str]
    seeded: bool
    made: dt.datetime | None
    dangling: Dangling | None
    provenance: Provenance | Callable[[], Provenance] | None
    audit: Audit | None


def report_facts(**given: Unpack[Given]) -> Facts:
    """Everything that a report says, as plain facts and plots."""
    release, seeded = given["release"], given.get("seeded", False)
    entity = entity_of(release.description.requirements)
    known = overview_of(given["table"], [] if entity is None else [entity])
    labels = {
        name: weighted(release, name, reconstructed(release, name, _labels(release, name))) for name in known.columns
    }
    drawn = response(release, known)
    figures = _figures(release, known, labels)
    risk = risks(release, known, entity, given.get("risk") or risk_of(release, known))
    riskiest = combinations(known, entity)
    told = given.get("provenance")
    origin = told() if callable(told) else told
    return {
        "title": release.description.title or "Untitled release",
        "summary": (given.get("summary") or summarize(release, known)).facts(),
        "rows": known.rows,
        "published": release.description.rows,
        "scheme": release.scheme,
        "shown_by": release.scheme_class,
        "certificate": _certificate(origin, given.get("made")),
        "requirements": _requirements(release, drawn),
        "adversaries": adversaries(given.get("audit")),
        "response": drawn,
        "joined": joined(release, given.get("dangling") or {}),
        "risk": risk,
        "riskiest": riskiest,
        "loss": _loss(release, labels),
        "figures": figures,
        "answered": [(f["name"], f["apart"]) for f in figures if f["plot"] is not None],
        "columns": roles_told(release, known, origin.reasons if origin else {}),
        "making": _making(release, known, given.get("policy_text", ""), seeded),
        "versions": versions(),
        "guarantees": [guarantee(claim.plain()) for claim in release.description.requirements],
        "limits": _limits(release, known),
        "warnings": _warnings(release, given.get("warnings", ()), seeded),
    }


def render_page(facts: Facts) -> str:
    """The report as one self-contained HTML page."""
    return _template().render(facts, style=style())


def render_report(**given: Unpack[Given]) -> str:
    """The report as one self-contained HTML page; see `Given`."""
    return render_page(report_facts(**given))


def write_report(path: str | Path, **given: Unpack[Given]) -> Path:
    """Write the report to a file and return its path; see `Given`."""
    page = render_report(**given)
    target = Path(path)
    try:
        target.write_bytes(page.encode("utf-8", errors="xmlcharrefreplace"))
    except OSError as e:
        raise OutputError(f"the report cannot be written to {target}: {e.strerror}; choose another location") from None
    return target


def prepare_report() -> None:
    """Compile the templates of all pages ahead of the first report of a process."""
    _template()
    prepare_readme()
    prepare_markdown()


@cache
def _template() -> jinja2.Template:
    return template(environment(), "sfumato.report", "template.html.j2")


def _certificate(origin: Provenance | None, made: dt.datetime | None) -> Facts:
    """Date, context, hashes and recipe, as far as they are known."""
    known = origin or (Provenance(made=made) if made else None)
    return {
        "lines": known.lines() if known else [],
        "hashes": known.hashes() if known else [],
        "command": known.command if known else "",
        "population": known.population if known else "",
    }


def _requirements(release: Release, drawn: Facts | None) -> list[Facts]:
    """What was required and achieved; the risk of randomized values is not public."""
    return [_requirement(claim, drawn) for claim in release.description.requirements]


def _requirement(claim: Claim, drawn: Facts | None) -> Facts:
    shown = replace(claim, achieved={"tau": drawn["after"]}) if drawn and claim.model == "disclosure" else claim
    one_limit = not isinstance(claim.required.get("tau"), Mapping)  # else the risk also covers values without a limit
    return {
        "model": shown.model,
        "words": in_words(shown.plain()),
        "required": _pairs(shown.required),
        "achieved": _pairs(shown.achieved),
        "met": met((shown if one_limit else claim).plain()),
    }


def _pairs(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, figure(value)) for name, value in parameters.items()]


def _labels(release: Release, name: str) -> dict[str, int] | None:
    """How many rows show each label; None for an attribute that is not published."""
    table = next((t for t, frame in release.counted.items() if name in frame.columns), None)
    if table is None:
        return None
    frame = release.counted[table]
    if COUNT in frame.columns and release.bucketized:
        return distinct_texts(frame[name]).counts(frame[COUNT].to_numpy())
    return release.rows_by_value(table, name)


def _loss(release: Release, labels: Labels) -> Facts:
    """The information loss of each quasi-identifier, and its most frequent labels."""
    known = [(name, float(entry.loss)) for name, entry in release.description.labelled.items()]
    lines = []
    for name in release.quasi():
        shown = labels.get(name) or {}
        rows = max(sum(shown.values()), 1)
        top = heapq.nlargest(_TOP_LABELS, shown.items(), key=lambda pair: pair[1])
        lines.append({"name": name, "labels": len(shown), "top": [(label, n / rows) for label, n in top]})
    mean = sum(loss for _, loss in known) / len(known) if known else None
    kept = [(name, 1.0 - loss) for name, loss in known]
    return {"mean": mean, "lines": lines, "kept": kept, "plot": losses(known) if known else None}


def _figures(release: Release, table: Overview, labels: Labels) -> list[Facts]:
    """A plot for each published attribute."""
    found = []
    for column in table.columns.values():
        shown = labels[column.name]
        if shown is not None:
            entry = release.description.labelled.get(column.name)
            compared = before_after(column, entry.nodes if entry else {}, shown, table.weights)
            found.append(_figure(column.name, column.role, column.kind, compared))
    for name, tally in table.plain.items():
        found.append(_figure(name, Role.INSENSITIVE, "", plain(tally)))
    return found


def _figure(name: str, role: str, kind: str, distribution: BeforeAfter | None) -> Facts:
    return {
        "name": name,
        "role": str(role),
        "kind": str(kind),
        "plot": None if distribution is None else drawn(name, distribution),
        "changed": distribution is not None and distribution.after is not None,
        "apart": 0.0 if distribution is None else distribution.apart,
        "open_ends": distribution is not None and any(distribution.open_ends),
    }


def _making(release: Release, table: Overview, policy_text: str, seeded: bool) -> Facts:
    manifest = release.description
    return {
        "method": manifest.method.name or "unknown",
        "settings": _pairs(manifest.method.settings),
        "chosen": manifest.method.chosen.reason if manifest.method.chosen else None,
        "dropped": table.dropped,
        "left_out": 0 if release.sampled else max(table.rows - manifest.rows, 0),
        "version": manifest.sfumato,
        "seeded": seeded,
        "policy": policy_text.strip("\n"),
    }


def _limits(release: Release, table: Overview) -> list[str]:
    classes = [c.name for c in table.with_role(Role.CLASS)]
    manifest = release.description
    always = method_limits(manifest.method.name), [*drawn_again(manifest), *shown_limits(release.scheme_class)]
    if release.sampled:
        return [*always[0], *sample_limits(release), *always[1]]
    after = [entry.name for entry in manifest.after or ()]
    return [*always[0], *general_limits(list(table.plain), classes, after), *always[1]]


def _warnings(release: Release, given: Sequence[str], seeded: bool) -> list[str]:
    """Everything the steward should look at, each thing once."""
    found = [*release.warnings, *given]
    if seeded:
        found.append(
            "The randomness came from a given seed. Anyone who learns or guesses it can undo the shuffling of the rows "
            "and repeat every random choice: use a seed for experiments only, never for a release that is handed over."
        )
    return list(dict.fromkeys(found))
