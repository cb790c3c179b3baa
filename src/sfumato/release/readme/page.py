"""Render README.html: a pure function of the manifest, so that it says nothing that the manifest does not."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.release.check.made import may_change_values
from sfumato.release.manifest import Claim, Manifest, TableFile
from sfumato.release.readme.answers import answers
from sfumato.release.readme.columns import columns_told
from sfumato.release.readme.loading import loading
from sfumato.release.readme.templates import template
from sfumato.release.readme.texts import shortened
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.guarantee import Guarantee, figure, percent

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

README = "README.html"
_MOST_FILES = 40


def readme(manifest: Manifest) -> bytes:
    """The page for a manifest that lists its files."""
    perturbed = may_change_values(manifest)
    facts = {
        "manifest": manifest,
        "title": manifest.title or "Untitled release",
        "scheme": SCHEMES[manifest.scheme],
        "unchanged": manifest.randomized and not manifest.matrices,
        "settings": [(name, figure(value)) for name, value in manifest.settings.items()],
        "columns": columns_told(manifest, perturbed=perturbed),
        "answers": answers(manifest, perturbed=perturbed),
        "claims": [(claim, _parameters(claim), _guarantee(claim)) for claim in manifest.requirements],
        "codes": loading(manifest),
        "files": _files(manifest.tables or ()),
    }
    return _template().render(facts, style=page_style()).encode("utf-8", errors="xmlcharrefreplace")


def prepare_readme() -> None:
    """Compile the template ahead of the first page of a process."""
    _template()


def environment() -> "jinja2.Environment":
    """How pages are rendered: everything is escaped, and a missing fact is an error."""
    import jinja2  # not before a page is made: most of what reads a release shows none

    found = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= {"percent": percent, "figure": figure, "short": shortened, "number": "{:,}".format}
    return found


@cache
def _template() -> "jinja2.Template":
    return template(environment(), "sfumato.release.readme", "template.html.j2")


@cache
def page_style() -> "Markup":
    """The style sheet of all pages, which is part of the package, not data."""
    from markupsafe import Markup

    return Markup(resource("page.css"))


def resource(name: str) -> str:
    return files("sfumato.release.readme").joinpath(name).read_text(encoding="utf-8")


def _files(tables: Sequence[TableFile]) -> dict[str, Any]:
    """The files to list, how many more there are, and whether some are csv or parts of a table."""
    return {
        "listed": tables[:_MOST_FILES],
        "more": max(len(tables) - _MOST_FILES, 0),
        "csv": any(file.file.endswith(".csv") for file in tables),
        "parts": any("/" in file.file for file in tables),
    }


def _parameters(claim: Claim) -> dict[str, Any]:
    """What was required and achieved, as figures."""
    return {
        "required": [(name, figure(value)) for name, value in claim.required.items()],
        "achieved": [(name, figure(value)) for name, value in claim.achieved.items()],
    }


def _guarantee(claim: Claim) -> Guarantee | None:
    """What the requirement promises, and what not; None for a model that this version does not know."""
    if claim.model not in MODELS:
        return None
    try:
        return from_table({"model": claim.model, **claim.required}).guarantee(claim.achieved)
    except (SfumatoError, ArithmeticError, LookupError, TypeError, ValueError):
        return None  # no release of ours; `check` says what is wrong with the claim
