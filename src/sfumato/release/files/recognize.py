"""Which folders sfumato wrote: by their manifest and by the names of all files in them."""

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from sfumato.errors import SfumatoError
from sfumato.release.files.part_files import looks_like_parts, strange_parts
from sfumato.release.files.store import MANIFEST, RELEASE_FILES, listed_files, manifest_bytes, parsed_manifest
from sfumato.release.readme.page import README

PUBLIC, PRIVATE = "release", "private"
PRIVATE_FILES = ("report.html", "report.md", "report.pdf", "audit.json", "policy.toml", "log.txt")
"""All files that the private part of an output may hold."""


def stranger_in(folder: Path) -> str:
    """Why a folder is not, or not only, what sfumato wrote; empty for an output, a release or an empty folder."""
    if folder.is_symlink():
        return "it is a symbolic link"
    if not folder.is_dir():
        return "it is not a folder"
    unknown = next(unknown_files(folder), None)
    if unknown is not None:
        return f"it contains {unknown.relative_to(folder)}"
    if not any(folder.iterdir()):
        return ""
    public = folder / PUBLIC if (folder / PUBLIC).is_dir() else folder
    return _unstated(public, folder)


def public_part_around(folder: Path) -> Path | None:
    """The release folder that a folder is or lies in; None if it is outside any."""
    inside = Path(os.path.realpath(folder))
    return next((place for place in (inside, *inside.parents) if is_release(place)), None)


def is_release(folder: Path) -> bool:
    """Whether a folder is the public part of an output: it holds a valid manifest."""
    if not (folder / MANIFEST).is_file():
        return False
    try:
        _tables_in(manifest_bytes(folder))
    except SfumatoError:
        return False
    return True


def unknown_files(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is not a file of a release or of a private part in its right place."""
    output = (folder / PUBLIC).is_dir() or (folder / PRIVATE).is_dir()
    places = {folder / PUBLIC: RELEASE_FILES, folder / PRIVATE: PRIVATE_FILES} if output else {folder: RELEASE_FILES}
    if output:
        yield from (path for path in folder.iterdir() if path not in places or not _is_folder(path))
    for place, names in places.items():
        if _is_folder(place):
            yield from (path for path in place.iterdir() if not _is_ours(path, names, public=names is RELEASE_FILES))


def _unstated(public: Path, folder: Path) -> str:
    """Why the public part is not a release: no valid manifest, or a table that the manifest does not list."""
    try:
        listed = _tables_in(manifest_bytes(public))
    except SfumatoError:
        return "it has no valid manifest.json"
    folders = {file.partition("/")[0] for file in listed if "/" in file}
    for path in [*public.iterdir(), *strange_parts(public, listed)]:
        if path.name not in (MANIFEST, README, *listed, *folders) or path.parent != public:
            return f"its manifest does not list {path.relative_to(folder)}"
    return ""


@lru_cache(maxsize=1)
def _tables_in(manifest: bytes) -> list[str]:
    """The files that a manifest lists, if it is valid. A job asks several times whether it may replace an output."""
    return listed_files(parsed_manifest(manifest)[0].get("tables"))


def _is_ours(path: Path, names: Sequence[str], *, public: bool) -> bool:
    """Whether a part of an output is a file of it or, in the public part, a folder of parts."""
    return (path.name in names and _is_file(path)) or (public and looks_like_parts(path))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
