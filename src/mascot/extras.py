"""Packages that come with an extra: loaded when needed, and asked for by the command that installs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mascot.errors import MissingExtra


def package(name: str, extra: str, owner: str = "this engine") -> Any:
    """The package, or an error that names the extra it comes with."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing(error, owner, extra) from None


def missing(error: ModuleNotFoundError, owner: str, extra: str) -> MissingExtra:
    """The error that names the extra to install."""
    return MissingExtra(f"{owner} needs the package {error.name}: pip install 'mascot[{extra}]'")


def installed(*modules: str) -> bool:
    """Whether all of them could be loaded. Loads none."""
    return all(find_spec(module) is not None for module in modules)
