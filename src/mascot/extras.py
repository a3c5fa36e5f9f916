"""Optional packages: loaded when needed, and asked for by a command that works as written."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mascot.errors import MissingExtra

DISTRIBUTION = "mascot-rerank"  # its name on a package index
# A requirement that holds on some platforms only has more before its extra, and is not named.
_REQUIREMENT = re.compile(r"([\w.-]+(?:\[[\w,-]+\])?)[^;]*; extra == ['\"]([\w-]+)['\"]")


def package(name: str, extra: str, owner: str = "this engine") -> Any:
    """Return the package, or raise an error with the command that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing(error, owner, extra) from None


def missing(error: ModuleNotFoundError, owner: str, extra: str) -> MissingExtra:
    """Return the error that names the packages to install."""
    return MissingExtra(f"{owner} needs the package {error.name}: {install_command(*packages_of(extra))}")


def installed(*modules: str) -> bool:
    """Return whether all of them could be loaded. Loads none."""
    return all(find_spec(module) is not None for module in modules)


def install_command(*packages: str) -> str:
    """Return the command that installs these packages for the Python that runs this."""
    return f"{_command('pip')} install {shlex.join(packages)}"


def mascot_command() -> str:
    """Return how to call `mascot` from this shell: by its name where that is on the path."""
    return _command("mascot")


def packages_of(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed; all of them where none is missing.

    An extra can be installed by its own name only where this package came from an index, so packages are named.
    """
    names = sorted(_required(extra))
    absent = [name for name in names if not _has_distribution(name)]
    return absent or names or [f"{DISTRIBUTION}[{extra}]"]


def _command(name: str) -> str:
    """Return the command's name where the shell finds that of this Python, else the command that runs the module."""
    path = shutil.which(name)
    if path is not None and Path(path).parent.resolve() == Path(sys.executable).parent.resolve():
        return name
    return f"{shlex.quote(sys.executable)} -m {name}"


def _required(extra: str) -> set[str]:
    from importlib import metadata  # slow to load, and needed for errors only

    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return set()
    # The build wrote the packages of inner extras out: no extra refers to another here.
    matches = filter(None, map(_REQUIREMENT.match, lines))
    return {match[1] for match in matches if match[2] == extra}


def _has_distribution(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(name.partition("[")[0])
    except metadata.PackageNotFoundError:
        return False
    return True
