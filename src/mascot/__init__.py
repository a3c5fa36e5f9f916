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
    from mascot.public import *

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
        public = import_module("mascot.public")
        self.__dict__.update({key: getattr(public, key) for key in __all__})
        return self.__dict__[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            return  # `rerank` and `probe` are functions: importing the modules of these names must not replace them
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *__all__})


sys.modules[__name__].__class__ = Package
