"""What can be taken home from a run: the release as a zip, everything as a zip, the report, the policy."""

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

from sfumato.studio.run import StudioRun


class Download(NamedTuple):
    """A file to send, its type, and whether a browser saves it or shows it."""

    path: Path
    kind: str
    saved: bool


def download(run: StudioRun, folder: Path, what: str) -> Download | None:
    """The file of this name; None if there is none. Zips are made in the private ``folder`` when first asked for."""
    from sfumato.release.files.recognize import PRIVATE, PUBLIC  # knows Polars, which takes time to import

    if run.state != "published":
        return None
    if what == "release.zip":
        return Download(_zipped(run.folder, (PUBLIC,), folder / what), "application/zip", saved=True)
    if what == "everything.zip":
        return Download(_zipped(run.folder, (PUBLIC, PRIVATE), folder / what), "application/zip", saved=True)
    if what == "report.html":
        return Download(run.folder / PRIVATE / what, "text/html; charset=utf-8", saved=False)
    return None


def _zipped(out: Path, parts: tuple[str, ...], target: Path) -> Path:
    """The parts of an output as a zip: whole or not there, with no trace of when or by whom it was made."""
    draft = target.with_suffix(".draft")
    with (
        os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in sorted(p for part in parts for p in (out / part).rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(out).as_posix())
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as sink:
                while block := source.read(1 << 20):
                    sink.write(block)
    draft.replace(target)
    return target
