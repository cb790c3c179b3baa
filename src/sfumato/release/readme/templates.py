"""Page templates, compiled once: the Python code that Jinja makes of them, in a tenth of a second, is kept."""

import hashlib
import importlib.util
import marshal
import sys
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from sfumato.own_folder import is_private, read_sealed, user_folder, write_sealed

if TYPE_CHECKING:
    import jinja2

_WITH_SOURCES = ("jinja2", "sfumato.release.readme", "sfumato.report", "sfumato.requirement")
"""Packages whose code decides what a template is compiled to: Jinja also evaluates filters that it can ahead."""


def template(environment: "jinja2.Environment", package: str, name: str) -> "jinja2.Template":
    """The template in a file of a package."""
    source = files(package).joinpath(name).read_text(encoding="utf-8")
    file = _file(f"{package}/{name}: {source}")
    code = None if file is None else _kept(file)
    if code is None:
        code = environment.compile(source)
        if file is not None:
            with suppress(OSError):  # then it is compiled again
                write_sealed(file, marshal.dumps(code))
    return environment.template_class.from_code(environment, code, environment.make_globals(None), None)


def _kept(file: Path) -> CodeType | None:
    """The code in a file, if it is whole."""
    data = read_sealed(file)
    code = None if data is None else marshal.loads(data)
    return code if isinstance(code, CodeType) else None


def _file(told: str) -> Path | None:
    """The file for a template; None if there is no folder into which only this user can put anything."""
    folder = user_folder()
    if folder is None:
        return None
    place = Path(folder) / "templates"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    if not is_private(str(place)):
        return None
    return place / f"{hashlib.sha256(f'{_stamp()} {told}'.encode()).hexdigest()[:32]}.code"


@cache
def _stamp() -> str:
    """A digest of everything else that the code depends on: Python, and the sources of Jinja and of our pages."""
    summed = hashlib.sha256(f"{sys.version} {importlib.util.MAGIC_NUMBER!r}".encode())
    for package in _WITH_SOURCES:
        found = importlib.util.find_spec(package)
        for folder in (found.submodule_search_locations or ()) if found else ():
            for source in sorted(Path(folder).glob("*.py")):
                summed.update(source.read_bytes())
    return summed.hexdigest()
