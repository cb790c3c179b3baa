"""The policy's [engine]: where rows are stored and counted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.engine.settings import EngineSettings
from sfumato.errors import PolicyError, nearest

_KEYS = ("name", "memory", "spill", "master")


def parse_engine(content: Mapping[str, Any], name: str, folder: Path) -> EngineSettings:
    """The settings of a policy's engine; without a section, those of `auto`."""
    section = content.get("engine", {})
    if not isinstance(section, Mapping):
        raise PolicyError(f'{name}: [engine] must be a table, e.g. name = "duckdb" and memory = "4GB"')
    for key, value in section.items():
        if key not in _KEYS:
            raise PolicyError(f"[engine] of {name} has the unknown key {key!r}{nearest(key, _KEYS)}")
        if not isinstance(value, str):
            raise PolicyError(f"{key} under [engine] is {value!r}; it must be a string")
    spill = folder / section["spill"] if "spill" in section else None
    return EngineSettings(**{**section, "spill": spill})
