"""Run the example of a method's page: the one Python block below ``## Example``."""

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

from docs.tools.blocks import blocks


def example(page: Path) -> dict[str, Any]:
    """The names that the blocks of a page leave behind, in order; warnings of refuted methods are expected."""
    names: dict[str, Any] = {"__name__": "__docs__"}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for block in blocks(page, "python"):
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec"), names)
    return names
