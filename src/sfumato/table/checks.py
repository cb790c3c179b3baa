"""What every source must pass: the file is there and may be read; each column has a name of its own."""

import difflib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import DataError


def check_names(names: Sequence[str], where: str) -> None:
    """Raise a DataError where a column has no name or shares its name with another.

    >>> check_names(["age", "zip"], "the table")
    >>> check_names(["age", "age"], "the table")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: the table names more than one column 'age'; a column is known by its name \
alone, so each name may occur once. Rename or remove the others.
    """
    unnamed = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        raise DataError(
            f"{where} has {len(names)} columns, but no name for column {', '.join(unnamed)}; a column is "
            "known by its name alone. Give each column a name, or remove the column."
        )
    repeated = [repr(name) for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"{where} names more than one column {', '.join(repeated)}; a column is known by its name alone, "
            "so each name may occur once. Rename or remove the others."
        )


def check_file(path: Path, where: str) -> None:
    """Raise unless the path is a file that may be read."""
    if path.is_dir():
        raise DataError(f"{where} is a folder, not a file. Name the file in it that holds the table.")
    if not path.exists():
        raise DataError(f"{where} does not exist. {_suggestion(path)}")
    if not path.is_file():
        raise DataError(f"{where} is not a regular file. Copy its content to a file first.")
    if not os.access(path, os.R_OK):
        raise DataError(f"{where} may not be read: permission denied. Ask its owner for read permission.")


def _suggestion(path: Path) -> str:
    """Files of similar name in the same folder, or what is known of the folder."""
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either; check the path."
    names = {entry.name.lower(): entry.name for entry in path.parent.iterdir() if entry.is_file()}
    close = difflib.get_close_matches(path.name.lower(), names, n=3, cutoff=0.6)
    close += [name for name in sorted(names) if Path(name).stem == path.stem.lower() and name not in close]
    if close:
        return f"Did you mean {' or '.join(names[name] for name in close[:3])}?"
    return f"Nothing in {path.parent.resolve()} has a similar name; check the path."
