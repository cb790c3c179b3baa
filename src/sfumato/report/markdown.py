"""Render a report as Markdown: plain lines that a version control system can compare."""

import re
from functools import cache
from typing import Any

import jinja2

from sfumato.release.readme.page import environment
from sfumato.release.readme.templates import template

_MARKS = re.compile(r"([\\`*_\[\]<>|#&~])")
_LEADING = re.compile(r"^([-+=]|[0-9]+[.)])(?= |$)")


class Verbatim(str):
    """A text that is Markdown already."""

    __slots__ = ()


def escaped(text: str) -> str:
    r"""A text on one line that Markdown shows as it is.

    >>> print(escaped("a_b | <i>"), escaped("- x\n# y"), escaped("1. z"))
    a\_b \| \<i\> \- x \# y 1\. z
    """
    line = " ".join(text.split())
    return _LEADING.sub(lambda m: f"{m[0][:-1]}\\{m[0][-1]}", _MARKS.sub(r"\\\1", line))


def fenced(text: str) -> Verbatim:
    """A text as a block of code, whatever it contains."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return Verbatim(f"{fence}\n{text}\n{fence}")


def render_markdown(facts: dict[str, Any]) -> str:
    """The report of some facts."""
    return _template().render(facts) + "\n"


def prepare_markdown() -> None:
    """Compile the template ahead of the first report of a process."""
    _template()


def _shown(value: Any) -> Any:
    """Every value of the template that is not Markdown already is escaped."""
    return escaped(value) if isinstance(value, str) and not isinstance(value, Verbatim) else value


@cache
def _template() -> jinja2.Template:
    ours = environment().overlay(autoescape=False, finalize=_shown)
    ours.filters |= {"fenced": fenced}
    return template(ours, "sfumato.report", "report.md.j2")
