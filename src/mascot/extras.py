"""Optional packages: imported when needed; if one is missing, the error names the command that installs it."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mascot.errors import MissingExtra

DISTRIBUTION = "mascot-rerank"  # its name on a package index


def package(name: str, extra: str, owner: str = "this engine") -> Any:
    """Import a package, or raise an error with the command that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing(error, owner, extra) from None


def missing(error: ModuleNotFoundError, owner: str, extra: str) -> MissingExtra:
    """Return the error that names the extra to install."""
    return MissingExtra(f"{owner} needs the package {error.name}: {install_extra(extra)}")


def installed(*modules: str) -> bool:
    """Return whether all of these modules can be imported, without importing them."""
    return all(find_spec(module) is not None for module in modules)


def install_extra(extra: str) -> str:
    """Return the command that installs an extra of this package.

    pip takes the extra from the installed package: the command needs no index that holds it.
    """
    return install_command(f"{DISTRIBUTION}[{extra}]")


def install_command(*packages: str) -> str:
    """Return the command that installs these packages for the running Python."""
    return f"{_command('pip')} install {shlex.join(packages)}"


def mascot_command() -> str:
    """Return the command that runs `mascot` in this shell."""
    return _command("mascot")


def _command(name: str) -> str:
    """Return the name of a command if the shell finds the one of this Python, otherwise `python -m` with its module."""
    path = shutil.which(name)
    if path is not None and Path(path).parent.resolve() == Path(sys.executable).parent.resolve():
        return name
    return f"{shlex.quote(sys.executable)} -m {name}"
