"""Build the native kernel with the package, and make the links of the README absolute in its metadata.

Without gcc or clang the package builds without the kernel: numpy does the work.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_SOURCE = Path("src/mascot/kernels/native/build_native.py")
_IMAGE = re.compile(r"(!\[[^\]]*\]\(|<img\b[^>]*\bsrc=\")(?!https?:)([^)\"]+)")
_LINK = re.compile(r"(\]\(|\bhref=\")(?!https?:|#)([^)\"]+)")


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
        tag = platform_tag(sysconfig.get_platform(), platform.machine())
        if tag.startswith("macosx_"):  # else the compiler builds for this system's version and no older one
            os.environ.setdefault("MACOSX_DEPLOYMENT_TARGET", ".".join(tag.split("_")[1:3]))
        try:
            module.build(library)
        except module.BuildError as error:
            library.unlink(missing_ok=True)
            print(f"mascot: the native kernel was not built, numpy will be used: {error}", file=sys.stderr)
            return
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        build_data["pure_python"] = False
        # The library does not use Python's ABI: one wheel per platform serves every Python.
        build_data["tag"] = f"py3-none-{tag}"


class ReadmeHook(MetadataHookInterface):
    """Write the README as the description, with links into the repository: a package index has no files beside it."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def platform_tag(name: str, machine: str) -> str:
    """Return the tag of a wheel whose library is compiled for this machine alone.

    A Python for macOS may be built for two processors ("universal2"); the library is not.
    """
    return re.sub(r"[-.]", "_", name.replace("universal2", machine))


def absolute_links(text: str, repository: str) -> str:
    """Return Markdown whose relative links lead to the repository, those of images to the files themselves."""
    text = _IMAGE.sub(rf"\1{repository}/raw/main/\2", text)
    return _LINK.sub(rf"\1{repository}/blob/main/\2", text)
