"""Which engine a policy asks for, and what it may use."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.errors import PolicyError, nearest

EngineName = Literal["auto", "local", "duckdb", "spark"]
ENGINE_NAMES: tuple[EngineName, ...] = ("auto", "local", "duckdb", "spark")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_LEAST_MEMORY = 256 * 10**6


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """The engine, the memory that it may use, where it spills, and the cluster that it runs on.

    >>> EngineSettings(name="duckdb", memory="4GB").memory_bytes
    4000000000
    """

    name: EngineName = "auto"
    memory: str = "4GB"
    spill: Path | None = None
    master: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINE_NAMES:
            raise PolicyError(f"the engine is {self.name!r}{nearest(str(self.name), ENGINE_NAMES)}")
        if self.memory_bytes < _LEAST_MEMORY:
            raise PolicyError(f"memory = {self.memory!r} under [engine] is too little; give 256MB or more")
        if self.master is not None and (not isinstance(self.master, str) or not self.master):
            raise PolicyError(f"master = {self.master!r} under [engine] must be a string such as local[*]")
        if self.spill is not None and not self.spill.is_dir():
            raise PolicyError(f"spill under [engine] names {self.spill}, which is not a folder; create it")

    @property
    def memory_bytes(self) -> int:
        """The memory in bytes."""
        found = re.fullmatch(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*([KMGT]?I?)B?\s*", str(self.memory).upper())
        if found is None or found[2] not in _UNITS:
            raise PolicyError(f"memory = {self.memory!r} under [engine] must be an amount such as 4GB or 512MB")
        return int(float(found[1]) * _UNITS[found[2]])
