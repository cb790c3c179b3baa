"""Taxonomies: how the values of each quasi-identifier are made coarser."""

from collections.abc import Callable
from typing import Any

from nicegui import background_tasks, ui

from sfumato.errors import SfumatoError
from sfumato.studio import generalization as form
from sfumato.studio.controls import choice, entry, text_file
from sfumato.studio.frame import next_step
from sfumato.studio.generalization import Quasi
from sfumato.studio.interval_view import IntervalView
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
        self._wrong = ui.element("div")
        found = self._found(quasi)
        if quasi.form == "intervals":
            IntervalView(self.job, quasi, self._change_here).render()
        elif quasi.form == "width":
            self._width(quasi)
        elif quasi.form == "tree" and found is not None:
            self._tree(quasi, found)
        elif quasi.form == "order":
            text("p", "In order: " + " < ".join(map(str, quasi.entry["domain"])))
        self._below = ui.element("div")
        self._show_below(quasi, found)

    def _found(self, quasi: Quasi) -> Taxonomy | None:
        """The tree of a quasi-identifier as publishing reads it, or what is wrong with it."""
        self._wrong.clear()
        try:
            return form.taxonomy_of(self.job, quasi)
        except SfumatoError as error:
            with self._wrong:
                banner(explained(error), "bad")
            return None

    def _show_below(self, quasi: Quasi, found: Taxonomy | None) -> None:
        """What follows from the edited form: its levels, what it covers, and what can be done with it as a whole."""
        self._below.clear()
        with self._below:
            if found is not None and quasi.form not in ("tree", "intervals"):
                _levels(quasi, found)
            if found is not None:
                self._coverage(quasi, found)
            self._files(quasi, found)

    def _take(self, quasi: Quasi, chosen: str) -> None:
        form.take_form(self.job, quasi, chosen)
        self.job.extras.get(VIEWS, {}).pop(quasi.name, None)

    def change(self, act: Callable[[], Any], shown: Callable[[], Any] | None = None) -> None:
        """Change the policy, so that it can be undone, or say why it cannot be; then show everything, or as said."""
        before = dict(self.job.attributes[self.at])
        try:
            act()
        except SfumatoError as error:
            complain(explained(error))
        else:
            if self.job.attributes[self.at] != before:
                self.job.extras.setdefault(UNDO, {}).setdefault(self.at, []).append(before)
                self._try()
        (shown or self.show)()

    def _change_here(self, act: Callable[[], Any], shown: Callable[[], Any]) -> None:
        """Change the policy and show what came of it, without drawing the fields anew."""

        def all_of_it() -> None:
            shown()
            quasi = self.quasi
            self._show_below(quasi, self._found(quasi))

        self.change(act, all_of_it)

    def _try(self) -> None:
        """Try the changed policy in the background."""
        background_tasks.create(self._preview.refresh(), name="preview")

    def _undo(self) -> None:
        before = self.job.extras[UNDO][self.at].pop()
        empty = dict.fromkeys(("kind", "taxonomy", "domain", "pad"))
        self.job.set_attribute(self.at, **(empty | before))
        self.job.extras.get(VIEWS, {}).pop(self.at, None)
        self._try()
        self.show()

    # -- numbers -------------------------------------------------------------------------------------------------

    def _width(self, quasi: Quasi) -> None:
        def shown() -> None:
            field.show(f"{self.quasi.entry['taxonomy']['width']:g}")

        def settled(typed: str) -> None:
            self._change_here(lambda: form.take_width(self.job, quasi, float(typed)) if typed else None, shown)

        field = entry("Width", f"{quasi.entry['taxonomy']['width']:g}", settled, kind="number")

    # -- trees ---------------------------------------------------------------------------------------------------

    def _tree(self, quasi: Quasi, found: Taxonomy) -> None:
        views: dict[str, TreeView] = self.job.extras.setdefault(VIEWS, {})
        people = dict(zip(quasi.values, quasi.rows.tolist(), strict=True))
        view = views.setdefault(quasi.name, TreeView({}, {}, lambda tree: None))
        view.tree, view.people = found.to_tree(), people
        view.take = lambda tree: self._take_tree(quasi, tree)
        view.render()

    def _take_tree(self, quasi: Quasi, tree: Tree) -> None:
        """Give a quasi-identifier an edited tree; the tools with which it was edited stay."""
        view: TreeView | None = self.job.extras.get(VIEWS, {}).get(quasi.name)
        if view is None or self.quasi.form != "tree":
            self.change(lambda: form.take_tree(self.job, quasi, tree))
            return

        def shown() -> None:
            found = form.taxonomy_of(self.job, self.quasi)
            if found is not None:
                view.tree = found.to_tree()
                view.refresh()

        self._change_here(lambda: form.take_tree(self.job, quasi, tree), shown)

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
