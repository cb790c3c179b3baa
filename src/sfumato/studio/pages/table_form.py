"""How the table is written: what was found out, why, and a way to correct it."""

from pathlib import Path
from typing import Any

from nicegui import ui

from sfumato.studio.controls import choice, entry
from sfumato.studio.frame import go
from sfumato.studio.job import Job
from sfumato.studio.widgets import card, complain, explained, in_thread, primary, text
from sfumato.table.form import EXTENSIONS

FOUND = ""
"""The option that means: as found."""
ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16", "cp1250", "shift_jis", "gb18030")
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
DECIMALS = {".": "point: 1.5", ",": "comma: 1,5"}
THOUSANDS = {",": "comma: 1,000", ".": "point: 1.000", " ": "space: 1 000", "'": "apostrophe: 1'000"}


def form_card(job: Job) -> None:
    """A card for a file whose form can be set; nothing for other sources, or if a policy says how it is written."""
    kind = EXTENSIONS.get(Path(job.origin.address).suffix.lower(), "other") if job.origin else "other"
    if job.proposal is None or kind == "other":
        return
    said: dict[str, Any] = dict(job.proposal.form.form.said())
    with card("How the file is written"):
        for name, why in job.proposal.form.reasons.items():
            if name in said:
                text("p", f"{name} = {_shown(said[name])}: {why}.", "small").style("margin: 0")
        with ui.expansion("Correct this").props("dense").style("margin-top: .6rem"):
            with ui.element("div").classes("formgrid"):
                _controls(job, kind, said)
            text("p", "The table is read again, and new roles and requirements are proposed.", "small")
            primary("Read again", lambda: _again(job, said))


def _shown(value: Any) -> str:
    told = ", ".join(value) if isinstance(value, list | tuple) else str(value)
    return SEPARATORS.get(told, told)


def _controls(job: Job, kind: str, said: dict[str, Any]) -> None:
    def pick(name: str, label: str, options: dict[str, str]) -> None:
        known = {str(said[name]): str(said[name])} if name in said and said[name] not in options else {}
        choice(
            label, {FOUND: "as found", **options, **known}, str(said.get(name, FOUND)), lambda v: _set(said, name, v)
        )

    if kind == "text":
        pick("encoding", "Encoding", {name: name for name in ENCODINGS})
        pick("separator", "Separator", SEPARATORS)
    elif kind == "workbook" and job.origin is not None:
        from sfumato.table.workbook import sheet_names

        names = sheet_names(Path(job.origin.address), job.origin.name)
        pick("sheet", "Sheet", {name: name for name in names})
        entry("Row with the names", str(said.get("header", "")), lambda v: _set_number(said, v), kind="number")
    else:
        pick("user_missing", "Declared missing values", {"null": "missing", "category": "a value each"})
        return
    pick("decimal", "Decimal mark", DECIMALS)
    pick("thousands", "Thousands", THOUSANDS)
    dates = said.get("dates", ())
    shown = dates if isinstance(dates, str) else ", ".join(dates)
    entry("Dates", shown, lambda v: _set(said, "dates", _listed(v)), hint="%d.%m.%Y")


def _listed(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _set(said: dict[str, Any], name: str, value: Any) -> None:
    said.pop(name, None)
    if value:
        said[name] = value


def _set_number(said: dict[str, Any], value: str) -> None:
    _set(said, "header", int(value) if str(value).isdigit() else None)


async def _again(job: Job, said: dict[str, Any]) -> None:
    try:
        async with job.lock:
            await in_thread(job.reread, said)
    except Exception as error:
        complain(explained(error))
        return
    go(job, "table")
