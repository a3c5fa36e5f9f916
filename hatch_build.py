"""Build the native kernel with the package. Without a C compiler the package installs without it."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCE = Path("src/mascot/kernels/native/build_native.py")


class NativeKernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compile the kernel into wheels and editable installs; source distributions carry the C sources."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("MASCOT_NO_NATIVE"):
            return
        path = Path(self.root) / _SOURCE
        spec = importlib.util.spec_from_file_location("build_native", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        library = path.with_name(f"_kernel{module.SUFFIX}")
        try:
            module.build(library)
        except module.BuildError as error:
            library.unlink(missing_ok=True)
            print(f"mascot: the native kernel was not built, numpy will be used: {error}", file=sys.stderr)
            return
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        build_data["pure_python"] = False
        # The library does not use Python's ABI: one wheel per platform serves every Python.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
