"""The result: what was achieved, what is left of the risk, what was lost, and the release to take home."""

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.studio.frame import next_step
from sfumato.studio.job import Job
from sfumato.studio.run import StudioRun
from sfumato.studio.widgets import banner, card, figures, heading, later, rows_table, text
from sfumato.studio.wording import percent

ROWS = 10
"""How many released rows are shown."""

Facts = Mapping[str, Any]

UTILITY = (
    ("query_error", "median error of counts", "1,000 random count queries, relative to the true answer"),
    ("class_error", "wrong predictions", "a decision tree trained on the release, on rows it has not seen"),
    ("correlation", "change of associations", "average change of Cramér's V over all pairs of columns"),
    ("loss", "information hidden by labels", "average share of the domain that a label covers"),
)


def render(job: Job) -> None:
    """The page."""
    run = job.run
    if run is None or run.published is None:
        banner("Nothing has been published yet.")
        return
    run.seen = True
    facts = run.published["facts"]
    heading("The result", _lead(run, facts))
    if run.version != job.version:
        banner("The policy has changed since this release was made. Publish again to use what it says now.")
    for warning in run.published["warnings"]:
        banner(warning)
    figures(_figures(facts))
    _take(job, run)
    _requirements(facts)
    _risk(facts)
    _adversaries(facts.get("adversaries"))
    _loss(facts)
    _utility(run)
    _distributions(facts)
    with card("Released rows"):
        later(lambda: _head(run), _rows, "Reading the release …")
    next_step(job, "result")


def _lead(run: StudioRun, facts: Facts) -> str:
    made = facts["making"]
    return f"{facts['published']:,} rows published by {made['method']} in {run.seconds:.1f} seconds."


def _figures(facts: Facts) -> list[tuple[str, str]]:
    risk, loss = facts["risk"], facts["loss"]
    told = [("unique people before", percent(risk["before"]["unique_share"]))]
    told.append(("unique people after", percent(risk["after"]["unique_share"])))
    if risk.get("smallest"):
        told.append(("people in the smallest group", f"{risk['smallest']:,}"))
    if loss["mean"] is not None:
        told.append(("information kept", percent(1 - loss["mean"])))
    told.append(("rows released", f"{facts['published']:,}"))
    return told


def _take(job: Job, run: StudioRun) -> None:
    base = f"/w/{job.id}/files"
    with card("Take it"):
        text(
            "p",
            "The release is safe to hand over as far as the report says. The report and everything else about the "
            "private table stay with you.",
        )
        with ui.element("div").classes("actions").style("margin-top: 0"):
            _link("Download the release (zip)", f"{base}/release.zip", "linkbtn primary")
            _link("Open the report", f"{base}/report.html", "linkbtn", blank=True)
            _link("Download release and private part (zip)", f"{base}/everything.zip", "linkbtn")
        if not run.folder.is_relative_to(job.folder):
            text("p", f"Written to {run.folder}", "small").style("margin-top: 1rem")


def _link(label: str, address: str, classes: str, *, blank: bool = False) -> None:
    with ui.element("a").classes(classes).props(f'href="{address}"' + ' target=_blank rel="noopener"' * blank):
        text("span", label)


def _requirements(facts: Facts) -> None:
    with card("What was required"), ui.element("table").classes("plain wrap"):
        _head_row("", "required", "achieved")
        with ui.element("tbody"):
            for line in facts["requirements"]:
                with ui.element("tr"):
                    text("td", "✓ met" if line["met"] else "✗ not met", "good" if line["met"] else "bad")
                    text("td", f"{line['model']}: {line['words']}")
                    text("td", ", ".join(f"{n} = {v}" for n, v in line["achieved"]))


def _head_row(*names: str) -> None:
    with ui.element("thead"), ui.element("tr"):
        for name in names:
            text("th", name).props("scope=col") if name else ui.element("td")


def _risk(facts: Facts) -> None:
    risk = facts["risk"]
    with card("Risk before and after"):
        with ui.element("div").classes("scroll"), ui.element("table").classes("plain wrap"):
            _head_row("", "private table", "release")
            with ui.element("tbody"):
                for name, meaning, before, after in [*risk["lines"], *risk["guessed"]]:
                    with ui.element("tr"):
                        with ui.element("td"):
                            text("div", name)
                            text("div", meaning, "small")
                        text("td", before)
                        text("td", after).style("font-weight: 600")
        text("p", risk["assumption"], "small").style("margin-top: 1rem")
        if risk.get("plot"):
            _legend()
            _plot(risk["plot"], "plotbox wide")


def _adversaries(found: Facts | None) -> None:
    if found is None:
        return
    with card("What each adversary learns"):
        for line in found["broken"]:
            banner(line, "bad")
        with ui.element("div").classes("learned"):
            for line in found["findings"]:
                with ui.element("div").classes("finding"):
                    text("h3", line["title"])
                    text("p", line["sentence"])
                    text("p", f"At worst {line['worst']}; without the release {line['worst_baseline']}.", "small")
        for name, reason in [*found["refused"], *found["left_out"]]:
            text("p", f"{name}: {reason}", "small")


def _loss(facts: Facts) -> None:
    loss = facts["loss"]
    if loss["mean"] is None:
        return
    with card("What was lost"):
        text("p", f"On average a label covers {loss['mean']:.1%} of the values of its column.")
        if loss["plot"]:
            _plot(loss["plot"], "plotbox")


def _utility(run: StudioRun) -> None:
    """What the release is good for; it is measured after the release was written."""
    with card("What it is still good for"):
        place = ui.element("div").props("aria-live=polite")

        def fill() -> None:
            if run.utility is None:
                return
            timer.cancel()
            place.clear()
            with place:
                _measures(run.utility)

        with place:
            text("p", "Measuring …", "small")
        timer = ui.timer(0.5, fill)
        fill()


def _measures(found: Facts) -> None:
    known = found["figures"] or {}
    told = [(name, percent(known[key]), how) for key, name, how in UTILITY if known.get(key) is not None]
    figures([(name, value) for name, value, _ in told]) if told else None
    for name, _, how in told:
        text("p", f"{name}: {how}.", "small").style("margin: 0")
    for note in found["notes"]:
        text("p", note, "small")


def _distributions(facts: Facts) -> None:
    plots = [f for f in facts["figures"] if f["plot"]]
    if not plots:
        return
    with card("Distributions"):
        _legend()
        with ui.element("div").classes("plots"):
            for each in plots:
                with ui.element("figure"):
                    with ui.element("figcaption"):
                        text("h3", each["name"])
                        text("span", _change(each), "small")
                    _plot(each["plot"], "plotbox")


def _change(each: Facts) -> str:
    return f"distance {percent(each['apart'])}" if each["changed"] else "published as it is"


def _legend() -> None:
    with ui.element("p").classes("legend"):
        text("span", "private table", "key-before")
        text("span", "release", "key-after")


def _plot(svg: str, classes: str) -> None:
    """A plot of the library, in which data are escaped."""
    ui.html(svg, sanitize=False).classes(classes)


def _head(run: StudioRun) -> tuple[list[str], Sequence[Sequence[Any]]]:
    """The first rows of the release, and no others."""
    import polars as pl

    from sfumato.release.files.recognize import PUBLIC

    found = sorted((run.folder / PUBLIC).rglob("data*.csv")) or sorted((run.folder / PUBLIC).rglob("*.csv"))
    if not found:
        return [], []
    frame = pl.read_csv(found[0], n_rows=ROWS, infer_schema=False)
    return frame.columns, frame.rows()


def _rows(found: tuple[list[str], Sequence[Sequence[Any]]]) -> None:
    names, rows = found
    rows_table("Released rows", names, rows, missing="")
    text("p", f"The first {len(rows)} rows, in the order of the release, which is random.", "small")
