"""The roles: what outsiders may know about a person, what they must not learn, and who is unique."""

from nicegui import ui

from sfumato.adversary.uniqueness import Uniqueness
from sfumato.errors import SfumatoError
from sfumato.publisher.proposed_column import WITHOUT_TREE
from sfumato.report.plots import percent
from sfumato.studio.controls import choice, entry, fold
from sfumato.studio.fields import Field
from sfumato.studio.frame import next_step
from sfumato.studio.job import Job
from sfumato.studio.people import alone_in_words, alone_now, example, people_of
from sfumato.studio.widgets import banner, cell_text, explained, figures, heading, in_thread, text

ROLES = {
    "identifier": "Identifier",
    "quasi": "Quasi-identifier",
    "sensitive": "Sensitive",
    "class": "Class",
    "insensitive": "Insensitive",
    "drop": "Left out",
}
MEANINGS = {
    "identifier": "Names a person by itself, like a name, a passport number or an e-mail address. Never published.",
    "quasi": "Others can know it or look it up: age, sex, postcode, profession, a date. Alone it is harmless; together "
    "they single people out. Made coarser until they do not.",
    "sensitive": "What nobody may learn about a particular person: a diagnosis, an income, a vote. Published, but not "
    "attributable to anyone.",
    "class": "What analysts want to predict, such as whether a patient came back. Published as it is.",
    "insensitive": "Nobody outside knows it, and nobody minds if it becomes known. Published as it is. If in doubt, "
    "this is the wrong role.",
    "drop": "Nobody needs it. Neither published nor used.",
}
_EXAMPLES, _LONGEST, _LOOKED_AT = 3, 28, 50


def render(job: Job) -> None:
    """The page."""
    heading(
        "What may an outsider know?",
        "Give every column a role. The proposals err on the safe side: only you know who knows what.",
    )
    with fold("What the roles mean, by example"):
        _meanings()
    with ui.element("div").classes("beside"):
        shown = _Shown()
        with ui.element("div"):
            _grid(job, shown)
            shown.wrong = ui.element("div")
        with ui.element("aside").classes("card").props('aria-live=polite aria-label="Who is unique"') as shown.alone:
            text("p", "Counting …", "small")
    ui.timer(0.01, lambda: _update(job, shown), once=True)
    next_step(job, "roles")


class _Shown:
    """The places of the page that change with every role."""

    alone: ui.element
    wrong: ui.element


def _meanings() -> None:
    with ui.element("dl").classes("meanings"):
        for role, name in ROLES.items():
            text("dt", name)
            text("dd", MEANINGS[role])


def _grid(job: Job, shown: _Shown) -> None:
    with ui.element("table").classes("plain grid"):
        with ui.element("thead"), ui.element("tr"):
            text("th", "Column, and what is in it").props("scope=col")
            text("th", "Role, and why").props("scope=col")
        with ui.element("tbody"):
            for name in job.frame.columns if job.frame is not None else ():
                _row(job, name, shown)


def _row(job: Job, name: str, shown: _Shown) -> None:
    role = job.attributes.get(name, {}).get("role", "")
    with ui.element("tr"):
        with ui.element("th").props("scope=row"):
            text("div", name)
            text("div", _some_values(job, name), "some")
        with ui.element("td"):
            known = ROLES if role in ROLES else {"": "Choose …", **ROLES}
            choice(f"Role of {name}", known, role, lambda r: _changed(job, name, r, shown, why), hidden=True)
            with ui.element("div").classes("why"):
                why = _reason(job, name)


def _reason(job: Job, name: str) -> Field:
    """The reason of a role, to be changed; the certificate states it."""
    hint = "Your reason, for the certificate"
    field = entry(
        f"Reason of {name}", _told_reason(job, name), lambda r: _explained(job, name, r), hidden=True, hint=hint
    )
    proposed = _proposed(job, name)
    if proposed and proposed[2]:
        text("p", proposed[2], "small")
    return field


def _told_reason(job: Job, name: str) -> str:
    return str(job.attributes.get(name, {}).get("reason", ""))


def _proposed(job: Job, name: str) -> tuple[str, str, str] | None:
    """The role that was proposed, why, and what else a steward should know about the column."""
    found = next((a for a in job.proposal.attributes if a.name == name), None) if job.proposal else None
    if found is None:
        return None
    more = found.reason.removeprefix(found.why).removeprefix("; ")
    return found.role, found.why, more.replace(WITHOUT_TREE, "shown or suppressed, unless you group its values")


def _explained(job: Job, name: str, reason: str) -> None:
    job.set_attribute(name, reason=reason.strip() or None)


async def _changed(job: Job, name: str, role: str, shown: _Shown, why: Field) -> None:
    """Take a role; the reason that was proposed belongs to the role that was proposed."""
    proposed = _proposed(job, name)
    job.set_attribute(name, role=role, reason=proposed[1] if proposed and proposed[0] == role else None)
    why.show(_told_reason(job, name))
    await _update(job, shown)


async def _update(job: Job, shown: _Shown) -> None:
    """Count again who is unique, and say what the policy lacks."""
    version = job.version
    found = await in_thread(alone_now, job)
    if job.version != version:
        return
    shown.alone.clear()
    with shown.alone:
        _alone(job, found)
    shown.wrong.clear()
    with shown.wrong:
        try:
            job.policy()
        except SfumatoError as error:
            banner(explained(error), "bad")
    await in_thread(people_of(job).prepare)


def _alone(job: Job, found: Uniqueness) -> None:
    text("h2", "Who is unique")
    figures([("people are alone", f"{found.unique:,}"), ("of all people", percent(found.share))])
    text("p", alone_in_words(found))
    if found.unique:
        text("p", example(job, found), "small")
    if found.combinations:
        _combinations(found)


def _combinations(found: Uniqueness) -> None:
    text("h3", "Which combinations single people out")
    with ui.element("div").classes("scroll"), ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            text("th", "Anyone who knows only").props("scope=col")
            text("th", "finds one row for", "num").props("scope=col")
        with ui.element("tbody"):
            for some in found.combinations:
                with ui.element("tr"):
                    text("td", " + ".join(some.names))
                    text("td", f"{some.unique:,} ({percent(some.unique / found.rows)})", "num")
    if found.most < len(found.names):
        of = "one column" if found.most == 1 else f"up to {found.most} columns"
        text("p", f"Counted exactly, on the whole table, for combinations of {of}.", "small")


def _some_values(job: Job, name: str) -> str:
    """A few values of a column, so that its name means something."""
    if job.frame is None:
        return ""
    series = job.frame[name].head(_LOOKED_AT).drop_nulls().unique(maintain_order=True).head(_EXAMPLES)
    return ", ".join(cell_text(value)[:_LONGEST] for value in series.to_list())
