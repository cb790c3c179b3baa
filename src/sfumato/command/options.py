"""The options that several commands have, and the types of their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

EVERYWHERE = ("--json", "--debug")
"""The options that every command has."""


def common_options(command: Command) -> Command:
    """Add the options that every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for machines.")(command)
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)


class NamedPath(click.Path):
    """A path that is not the empty string, which would mean the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or a usage error."""
        if value == "":
            self.fail("the name is empty; name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


class WholeNumber(click.IntRange):
    """A whole number with a lower limit."""

    name = "integer"
