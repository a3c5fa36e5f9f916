"""MASCOT: steer what a search result is made of.

>>> import mascot as mc
>>> hits = mc.Candidates(scores=[0.9, 0.8, 0.5], columns={"city": ["Rome", "Rome", "Oslo"]})
>>> mc.rerank(hits, mc.spread("city"), k=2).ids
[0, 2]
"""

from mascot.attributes import (
    Attribute,
    Branches,
    Category,
    Clusters,
    Cycle,
    Date,
    DayOfYear,
    Grid,
    HourOfDay,
    Number,
    Place,
    Weekday,
)
from mascot.candidates import Batch, Candidates
from mascot.described import from_dict
from mascot.errors import InputError, MascotError, MissingExtra, OptionError
from mascot.explain import Explanation, Reason
from mascot.methods import Clustering, KDpp, Mascot, Mmr, MsDpp, Relevance
from mascot.probe import probe
from mascot.ranking import Ranking, Rankings
from mascot.rerank import Reranker, rerank, rerank_many
from mascot.wishes import AnyWish, Limit, Share, Wish, focus, limit, share, spread

__version__ = "0.1.0"

__all__ = [
    "AnyWish",
    "Attribute",
    "Batch",
    "Branches",
    "Candidates",
    "Category",
    "Clustering",
    "Clusters",
    "Cycle",
    "Date",
    "DayOfYear",
    "Explanation",
    "Grid",
    "HourOfDay",
    "InputError",
    "KDpp",
    "Limit",
    "Mascot",
    "MascotError",
    "MissingExtra",
    "Mmr",
    "MsDpp",
    "Number",
    "OptionError",
    "Place",
    "Ranking",
    "Rankings",
    "Reason",
    "Relevance",
    "Reranker",
    "Share",
    "Weekday",
    "Wish",
    "focus",
    "from_dict",
    "limit",
    "probe",
    "rerank",
    "rerank_many",
    "share",
    "spread",
]
