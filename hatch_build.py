"""A wheel with compiled kernels if SFUMATO_KERNELS names a folder of them (`make wheel`), otherwise pure Python."""

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the kernels, and tags the wheel with the Python and the platform that they are for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build."""
        folder = os.environ.get("SFUMATO_KERNELS")
        if not folder or self.target_name != "wheel" or version == "editable":
            return
        if not any(Path(folder).iterdir()):
            raise ValueError(f"SFUMATO_KERNELS: {folder} is empty; make it with python -m tools.compile_kernels")
        build_data["force_include"][folder] = "sfumato/kernel/compiled"
        python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        where = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"{python}-none-{where}")
