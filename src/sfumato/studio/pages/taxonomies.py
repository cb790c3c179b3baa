"""Taxonomies: how the values of each quasi-identifier are made coarser."""

from collections.abc import Callable
from typing import Any

from nicegui import background_tasks, ui

from sfumato.errors import SfumatoError
from sfumato.studio import generalization as form
from sfumato.studio.boundaries import Boundaries
from sfumato.studio.controls import choice, entry, text_file
from sfumato.studio.frame import next_step
from sfumato.studio.generalization import Quasi
from sfumato.studio.job import Job
from sfumato.studio.preview_panel import PreviewPanel
from sfumato.studio.tree_view import TreeView
from sfumato.studio.widgets import banner, card, complain, explained, heading, later, quiet, text
from sfumato.table.taxonomy import Taxonomy
from sfumato.table.tree_editing import Tree, add, coverage

AT, UNDO, VIEWS = "taxonomy", "taxonomy_undo", "taxonomy_views"


def render(job: Job) -> None:
    """The page."""
    heading(
        "How are values made coarser?",
        "People hide among others when values become groups: 47 becomes 40 to 50, 10426 becomes 104**. Say which "
        "groups make sense; the method decides how coarse they have to be.",
    )
    later(lambda: form.quasis_of(job), lambda found: _Editor(job, [q.name for q in found]).render(), "Counting …")


class _Editor:
    """The quasi-identifiers, one of which is edited."""

    def __init__(self, job: Job, names: list[str]) -> None:
        self.job, self.names = job, names
        before = str(job.extras.get(AT, ""))
        self.at = before if before in names else next(iter(names), "")

    def render(self) -> None:
        if not self.names:
            banner("No column is a quasi-identifier, so nothing has to be made coarser.")
        else:
            with ui.element("div").classes("with-list"):
                self._list = ui.element("nav").props('aria-label="Quasi-identifiers"')
                self._place = ui.element("div")
            with card("What it costs"):
                self._preview = PreviewPanel(self.job)
            self.show()
        next_step(self.job, "taxonomies")

    @property
    def quasi(self) -> Quasi:
        """The quasi-identifier that is edited, as the policy describes it now."""
        seen = next(p for p in self.job.profiles() if p.name == self.at)
        return form.quasi_of(self.job, seen)

    def show(self) -> None:
        """Show everything anew."""
        self.job.extras[AT] = self.at
        self._list.clear()
        with self._list, ui.element("ul"):
            for name in self.names:
                with ui.element("li"):
                    self._name(name)
        self._place.clear()
        with self._place, card(self.at):
            self._edit(self.quasi)

    def _name(self, name: str) -> None:
        current = " aria-current=true" if name == self.at else ""
        line = ui.element("button").props(f"type=button{current}").on("click", lambda: self._go(name))
        with line:
            text("span", name)
            seen = next(p for p in self.job.profiles() if p.name == name)
            text("span", _short(form.quasi_of(self.job, seen).form), "small")

    def _go(self, name: str) -> None:
        self.at = name
        self.show()

    def _edit(self, quasi: Quasi) -> None:
        text("p", f"{len(quasi.values):,} values.", "small")
        choice("How it is made coarser", quasi.forms, quasi.form, lambda f: self.change(lambda: self._take(quasi, f)))
        try:
            found = form.taxonomy_of(self.job, quasi)
        except SfumatoError as error:
            banner(explained(error), "bad")
            found = None
        if quasi.form == "intervals":
            self._intervals(quasi)
        elif quasi.form == "width":
            self._width(quasi)
        elif quasi.form == "tree" and found is not None:
            self._tree(quasi, found)
        elif quasi.form == "order":
            text("p", "In order: " + " < ".join(map(str, quasi.entry["domain"])))
        if found is not None and quasi.form not in ("tree", "intervals"):
            _levels(quasi, found)
        if found is not None:
            self._coverage(quasi, found)
        self._files(quasi, found)

    def _take(self, quasi: Quasi, chosen: str) -> None:
        form.take_form(self.job, quasi, chosen)
        self.job.extras.get(VIEWS, {}).pop(quasi.name, None)

    def change(self, act: Callable[[], Any]) -> None:
        """Change the policy, so that it can be undone, or say why it cannot be."""
        before = dict(self.job.attributes[self.at])
        try:
            act()
        except SfumatoError as error:
            complain(explained(error))
        else:
            if self.job.attributes[self.at] != before:
                self.job.extras.setdefault(UNDO, {}).setdefault(self.at, []).append(before)
                self._try()
        self.show()

    def _try(self) -> None:
        """Try the changed policy, beside the page."""
        background_tasks.create(self._preview.refresh(), name="preview")

    def _undo(self) -> None:
        before = self.job.extras[UNDO][self.at].pop()
        empty = dict.fromkeys(("kind", "taxonomy", "domain", "pad"))
        self.job.set_attribute(self.at, **(empty | before))
        self.job.extras.get(VIEWS, {}).pop(self.at, None)
        self._try()
        self.show()

    # -- numbers -------------------------------------------------------------------------------------------------

    def _intervals(self, quasi: Quasi) -> None:
        bounds = [float(b) for b in quasi.entry["taxonomy"]["intervals"]]
        edges, counts = form.bars(quasi)
        text("p", "Drag a boundary, or choose one and use the arrow keys. Nothing finer than these intervals is shown.")
        step = 1.0 if all(v.is_integer() for v in quasi.numbers) else edges[1] - edges[0]
        Boundaries(quasi.name, (edges, counts), bounds, step, lambda i, to: self._bound(quasi, bounds, i, to))
        people = form.people_between(quasi, bounds)
        with ui.element("div").classes("scroll"), ui.element("table").classes("plain"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("From", "to below", "Rows", "Remove"):
                    text("th", title).props("scope=col")
            with ui.element("tbody"):
                for i, number in enumerate(people):
                    self._interval(quasi, bounds, i, number)
        with ui.element("div").classes("actions tight"):
            entry("Cut at", "", lambda v: self._cut(quasi, bounds, v), hint="a number", kind="number")
            for parts in (3, 5, 10):
                told = f"Suggest {parts} of equal size"
                quiet(told, lambda n=parts: self._bounds(quasi, form.suggested_bounds(quasi, n)))

    def _interval(self, quasi: Quasi, bounds: list[float], i: int, people: int) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                entry(
                    f"Boundary {i + 1}",
                    f"{bounds[i]:g}",
                    lambda v: self._bound(quasi, bounds, i, v),
                    hidden=True,
                    kind="number",
                )
            with ui.element("td"):
                if i + 2 < len(bounds):
                    text("span", f"{bounds[i + 1]:g}")
                else:
                    last = f"{bounds[-1]:g}"
                    entry(
                        "Last boundary",
                        last,
                        lambda v: self._bound(quasi, bounds, i + 1, v),
                        hidden=True,
                        kind="number",
                    )
            text("td", f"{people:,}", "num")
            with ui.element("td"):
                if i > 0:
                    joined = [*bounds[:i], *bounds[i + 1 :]]
                    quiet("Join with the one above", lambda: self._bounds(quasi, joined))

    def _bound(self, quasi: Quasi, bounds: list[float], i: int, to: Any) -> None:
        self.change(lambda: form.take_bounds(self.job, quasi, form.moved_bound(bounds, i, float(to), quasi)))

    def _bounds(self, quasi: Quasi, bounds: list[float]) -> None:
        self.change(lambda: form.take_bounds(self.job, quasi, bounds))

    def _cut(self, quasi: Quasi, bounds: list[float], at: str) -> None:
        if at:
            self._bounds(quasi, sorted({*bounds, float(at)}))

    def _width(self, quasi: Quasi) -> None:
        now = f"{quasi.entry['taxonomy']['width']:g}"
        entry("Width", now, lambda v: self.change(lambda: form.take_width(self.job, quasi, float(v))), kind="number")

    # -- trees ---------------------------------------------------------------------------------------------------

    def _tree(self, quasi: Quasi, found: Taxonomy) -> None:
        views: dict[str, TreeView] = self.job.extras.setdefault(VIEWS, {})
        people = dict(zip(quasi.values, quasi.rows.tolist(), strict=True))
        view = views.setdefault(quasi.name, TreeView({}, {}, lambda tree: None))
        view.tree, view.people = found.to_tree(), people
        view.take = lambda tree: self._take_tree(quasi, tree)
        view.render()

    def _take_tree(self, quasi: Quasi, tree: Tree) -> None:
        self.change(lambda: form.take_tree(self.job, quasi, tree))

    def _coverage(self, quasi: Quasi, found: Taxonomy) -> None:
        fits = coverage(found, quasi.values)
        if fits.lacking:
            some = ", ".join(fits.lacking[:5]) + (" …" if len(fits.lacking) > 5 else "")
            banner(f"The tree lacks {len(fits.lacking):,} of {fits.values:,} values of the data: {some}", "bad")
            more = lambda: self._take_tree(quasi, add(found.to_tree(), fits.lacking))  # noqa: E731
            quiet("Add them below the root", more)
            return
        unused = "" if found.derived or not fits.unused else f" {len(fits.unused):,} of its values occur in no row."
        text("p", f"It covers all {fits.values:,} values of the data.{unused}", "covers")

    # -- files ---------------------------------------------------------------------------------------------------

    def _files(self, quasi: Quasi, found: Taxonomy | None) -> None:
        with ui.element("div").classes("actions"):
            if "tree" in quasi.forms:
                told = "Import a hierarchy (ARX csv or JSON)"
                text_file(told, ".csv,.txt,.json", lambda name, content: self._import(quasi, name, content))
            if found is not None:
                quiet("Export as ARX csv", lambda: _download(quasi, found, "csv"))
                quiet("Export as JSON", lambda: _download(quasi, found, "json"))
            if self.job.extras.get(UNDO, {}).get(quasi.name):
                quiet("Undo", self._undo, icon="undo")

    def _import(self, quasi: Quasi, name: str, content: str | None) -> None:
        if content is None:
            complain(f'{name} is too large to be sent by the browser; name it in the policy: taxonomy = "{name}".')
            return
        self.change(lambda: form.take_tree(self.job, quasi, form.imported(quasi, content, name)))


def _download(quasi: Quasi, found: Taxonomy, kind: str) -> None:
    media = {"csv": "text/csv", "json": "application/json"}[kind]
    ui.download.content(form.exported(found, kind).encode(), f"hierarchy.{kind}", media)


def _short(known: str) -> str:
    short = {
        "free": "any range",
        "none": "shown or suppressed",
        "order": "levels",
        "file": "from a file",
        "tree": "tree",
    }
    return short.get(known, "masked" if known.startswith("mask") else known)


def _levels(quasi: Quasi, found: Taxonomy) -> None:
    """What the levels of a tree look like, by the example of one value."""
    text("h3", "Level by level")
    with ui.element("div").classes("scroll"), ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for title, kind in (("For example", ""), ("Different labels", "num"), ("Rows of the rarest label", "num")):
                text("th", title, kind).props("scope=col")
        with ui.element("tbody"):
            for example, labels, rarest in form.levels(quasi, found):
                with ui.element("tr"):
                    text("td", example)
                    text("td", f"{labels:,}", "num")
                    text("td", f"{rarest:,}", "num")
