"""The options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]

policy_file = click.Path(path_type=Path)
release_folder = click.Path(path_type=Path)
output_path = click.Path(path_type=Path)


def common_options(command: Command) -> Command:
    """Add the options that every command has: ``--json`` and ``--debug``."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for machines.")(command)
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
