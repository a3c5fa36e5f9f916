"""A folder of photographs: index it, search it, re-rank the results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mascot.photos.library import Library
    from mascot.photos.photo import Photo
    from mascot.photos.request import SearchRequest
    from mascot.photos.results import Hits, Result, Results

__all__ = ["Hits", "Library", "Photo", "Result", "Results", "SearchRequest"]
_MODULES = {
    "Hits": "results",
    "Library": "library",
    "Photo": "photo",
    "Result": "results",
    "Results": "results",
    "SearchRequest": "request",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: processes that decode pictures need none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
