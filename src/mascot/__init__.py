"""MASCOT: steer what a search result is made of.

>>> import mascot as mc
>>> hits = mc.Candidates(scores=[0.9, 0.8, 0.5], columns={"city": ["Rome", "Rome", "Oslo"]})
>>> mc.rerank(hits, mc.spread("city"), k=2).ids
[0, 2]
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mascot.attributes.attribute import Attribute
    from mascot.attributes.branches import Branches
    from mascot.attributes.category import Category
    from mascot.attributes.clusters import Clusters
    from mascot.attributes.cycle import Cycle, DayOfYear, HourOfDay, Weekday
    from mascot.attributes.line import Date, Number
    from mascot.attributes.place import Grid, Place
    from mascot.candidates import Batch, Candidates
    from mascot.errors import InputError, MascotError, MissingExtra, OptionError
    from mascot.explain import Explanation, Reason
    from mascot.methods import Clustering, KDpp, Mascot, Mmr, MsDpp, Relevance
    from mascot.probe import probe
    from mascot.ranking import Ranking, Rankings
    from mascot.registry import from_dict
    from mascot.rerank import Reranker, rerank, rerank_many
    from mascot.wishes import AnyWish, Limit, Share, Wish, focus, limit, share, spread

__version__ = "0.1.0"

__all__ = [
    "AnyWish", "Attribute", "Batch", "Branches", "Candidates", "Category", "Clustering", "Clusters", "Cycle", "Date",
    "DayOfYear", "Explanation", "Grid", "HourOfDay", "InputError", "KDpp", "Limit", "Mascot", "MascotError",
    "MissingExtra", "Mmr", "MsDpp", "Number", "OptionError", "Place", "Ranking", "Rankings", "Reason", "Relevance",
    "Reranker", "Share", "Weekday", "Wish", "focus", "from_dict", "limit", "probe", "rerank", "rerank_many", "share",
    "spread",
]  # fmt: skip


class Package(ModuleType):
    """The package, which loads its public names when the first is used: `mascot --help` uses none."""

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'mascot' has no attribute {name!r}")
        for module in ("attributes", "errors", "explain", "methods", "probe", "registry", "rerank", "wishes"):
            values = vars(import_module(f"mascot.{module}"))
            self.__dict__.update({key: values[key] for key in __all__ if key in values})
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            return  # `rerank` and `probe` are functions: importing the modules of these names must not replace them
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *__all__})


sys.modules[__name__].__class__ = Package
