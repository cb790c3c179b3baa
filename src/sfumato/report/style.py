"""The style sheet of private pages, which is part of the package, not data."""

from functools import cache
from importlib.resources import files

from markupsafe import Markup

from sfumato.release.readme.page import page_style


@cache
def style() -> Markup:
    """What all pages share, and what the steward's pages add."""
    return page_style() + Markup(resource("style.css"))


def resource(name: str) -> str:
    """A file of this package."""
    return files("sfumato.report").joinpath(name).read_text(encoding="utf-8")
