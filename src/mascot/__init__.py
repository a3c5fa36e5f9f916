"""MASCOT: steer what a search result is made of.

>>> import mascot as mc
>>> hits = mc.Candidates(scores=[0.9, 0.8, 0.5], columns={"city": ["Rome", "Rome", "Oslo"]})
>>> mc.rerank(hits, mc.spread("city"), k=2, strength=0.7).ids
[0, 2]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mascot.attributes.category import Category
    from mascot.attributes.cycle import DayOfYear, HourOfDay, Weekday
    from mascot.attributes.line import Date, Number
    from mascot.attributes.place import Place
    from mascot.attributes.vectors import Vectors
    from mascot.candidates import Batch, Candidates
    from mascot.errors import InputError, MascotError, MissingExtra, OptionError
    from mascot.methods import Mascot, Mmr, Relevance
    from mascot.profiles import Profile, load_profile
    from mascot.ranking import Ranking, Rankings
    from mascot.reasons.explain import Explanation, Reason
    from mascot.registry import from_dict
    from mascot.reranker import Reranker
    from mascot.reranking import diversify, rerank, rerank_many
    from mascot.wishes import at_least, focus, limit, share, spread

__version__ = "0.1.0"

__all__ = [
    "Batch", "Candidates", "Category", "Date", "DayOfYear", "Explanation", "HourOfDay", "InputError", "Mascot",
    "MascotError", "MissingExtra", "Mmr", "Number", "OptionError", "Place", "Profile", "Ranking", "Rankings",
    "Reason", "Relevance", "Reranker", "Vectors", "Weekday", "at_least", "diversify", "focus", "from_dict", "limit",
    "load_profile", "rerank", "rerank_many", "share", "spread",
]  # fmt: skip


_MODULES = (
    "attributes", "errors", "methods", "profiles", "reasons.explain", "registry", "reranker", "reranking", "wishes",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the public names when the first of them is used: `mascot --help` uses none."""
    if name not in __all__:
        from mascot.removed import instead

        raise AttributeError(f"module 'mascot' has no attribute {name!r}{instead(name)}")
    for module in _MODULES:
        values = vars(import_module(f"mascot.{module}"))
        globals().update({key: values[key] for key in __all__ if key in values})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
