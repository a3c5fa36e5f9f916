"""Optional packages: loaded when first needed, and asked for by the command that installs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mascot.errors import MissingExtra


def need(module: str, extra: str, owner: str) -> Any:
    """The module, or an error that names the extra it comes with."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise MissingExtra(f"{owner} needs the package {missing}: pip install 'mascot[{extra}]'") from None


def installed(*modules: str) -> bool:
    """Whether all of them could be loaded. Loads none."""
    return all(find_spec(module) is not None for module in modules)
