"""A file that a command writes for the steward: never over another one, never into a release."""

import os
from pathlib import Path

from sfumato.errors import OutputError


def refuse_output(out: Path, *, force: bool, example: str) -> None:
    """Refuse a file that exists, is a folder, or would be handed over with a release."""
    from sfumato.release.files.recognize import public_part_around

    if out.is_dir():
        raise OutputError(f"{out} is a folder; name a file, such as {out / example}")
    if os.path.lexists(out) and not force:
        raise OutputError(f"{out} already exists; choose another file, or overwrite it with --force")
    if (public := public_part_around(out)) is not None:
        raise OutputError(
            f"{out} is inside the public part of a release ({public}), so its recipients would receive it too; "
            "choose a file outside it"
        )


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from sfumato.release.files.output import whole_file

    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
