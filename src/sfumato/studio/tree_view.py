"""A tree of values to edit: tick nodes, then group, rename, move or dissolve them; or drag one onto a group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from sfumato.errors import DataError, SfumatoError
from sfumato.studio.controls import choice, entry, tick
from sfumato.studio.widgets import complain, explained, quiet, text
from sfumato.table.tree_editing import Tree, group, move, rename, subtrees, ungroup

MOST = 120
"""How many nodes below one node are shown at once; a search finds the others."""


@dataclass
class TreeView:
    """The view of one tree; ``take`` is called with the tree after each edit, ``people`` has the rows of each value."""

    tree: Tree
    people: Mapping[str, int]
    take: Callable[[Tree], None]
    chosen: set[str] = field(default_factory=set)
    sought: str = ""
    name: str = ""
    _dragged: str = ""

    def render(self) -> None:
        """Show the tools and the tree."""
        with ui.element("div").classes("tools").props('role=toolbar aria-label="Change the tree"'):
            self._tools()
        with ui.element("div").classes("actions tight"):
            entry("Find a value", self.sought, self._seek, hint="part of its name")
        self._list = ui.element("div")
        self.refresh()

    def refresh(self) -> None:
        """Show the tree as it is now; the tools stay as they are."""
        self._below = {path[-1]: below for path, below in subtrees(self.tree)}
        self.chosen &= set(self._below)
        groups = {label: label for label, below in self._below.items() if below}
        self._moves.clear()
        with self._moves:
            choice("Move below", {"": "Choose a group …", **groups}, "", self._move_chosen, again=True)
        self._say()
        self._draw()

    def _draw(self) -> None:
        (root,) = self.tree
        self._list.clear()
        with self._list, ui.element("ul").classes("tree").props('aria-label="Tree of values"'):
            self._node(root, 0)

    def _tools(self) -> None:
        self._name = entry("Name of a group", self.name, self._named, hint="for example North")
        quiet("Group", lambda: self._edit(lambda: group(self.tree, sorted(self.chosen), self.name)))
        quiet("Rename", lambda: self._edit(lambda: rename(self.tree, self._one(), self.name)))
        quiet("Dissolve", lambda: self._edit(lambda: ungroup(self.tree, self._one())))
        self._moves = ui.element("div")
        self._status = ui.element("p").classes("small").props("aria-live=polite")

    def _say(self) -> None:
        self._status.clear()
        with self._status:
            text("span", self._told())

    def _told(self) -> str:
        if not self.chosen:
            return "Tick values or groups, then say what to do with them. Or drag one onto a group."
        return f"{len(self.chosen)} ticked: {', '.join(sorted(self.chosen)[:4])}{' …' if len(self.chosen) > 4 else ''}"

    def _node(self, label: str, depth: int) -> None:
        below = self._below[label]
        with ui.element("li").classes("group" if below else "value"):
            self._line(label, below, depth)
            if below:
                shown = [child for child in below if self._matches(child)]
                shown.sort(key=lambda child: not self._below[child])  # groups first
                with ui.element("ul"):
                    for child in shown[:MOST]:
                        self._node(child, depth + 1)
                    if len(shown) > MOST:
                        text("li", f"and {len(shown) - MOST:,} more; find them by name", "small")

    def _line(self, label: str, below: Tree, depth: int) -> None:
        with ui.element("div").classes("node") as line:
            if depth:
                line.props("draggable=true").on("dragstart", lambda: setattr(self, "_dragged", label))
                tick(label, label in self.chosen, lambda on: self._tick(label, on))
            else:
                text("span", label)
            people = self._people(label)
            kinds = f"{len(below):,} below · " if below else ""
            told = f"{kinds}{people:,} row{'s' * (people != 1)}" if people else f"{kinds}in no row"
            text("span", told, "n")
        if below:
            line.on("dragover.prevent", lambda: None, throttle=1.0)
            line.on("drop", lambda: self._drop(label))

    def _people(self, label: str) -> int:
        return sum(self.people.get(path[-1], 0) for path, below in subtrees({label: self._below[label]}) if not below)

    def _matches(self, label: str) -> bool:
        """Whether a node, or one below it, is sought."""
        want = self.sought.casefold()
        return not want or any(want in path[-1].casefold() for path, _ in subtrees({label: self._below[label]}))

    def _seek(self, sought: str) -> None:
        self.sought = sought
        self._draw()

    def _named(self, name: str) -> None:
        self.name = name.strip()

    def _tick(self, label: str, on: bool) -> None:
        (self.chosen.add if on else self.chosen.discard)(label)
        self._say()

    def _one(self) -> str:
        if len(self.chosen) != 1:
            raise DataError("tick exactly one group for this")
        return next(iter(self.chosen))

    def _move_chosen(self, under: str) -> None:
        if under:
            self._edit(lambda: self._moved(sorted(self.chosen), under))

    def _drop(self, under: str) -> None:
        label, self._dragged = self._dragged, ""
        if label and label != under:
            self._edit(lambda: move(self.tree, label, under))

    def _moved(self, labels: list[str], under: str) -> Tree:
        tree = self.tree
        for label in labels:
            tree = move(tree, label, under)
        return tree

    def _edit(self, edit: Callable[[], Any]) -> None:
        """Take an edited tree, or say why it cannot be."""
        try:
            tree = edit()
        except SfumatoError as error:
            complain(explained(error))
            return
        self.chosen, self.name = set(), ""
        self._name.show("")
        self.take(tree)
