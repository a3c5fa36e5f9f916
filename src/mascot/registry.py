"""The attributes and methods of the library, listed once: `from_dict`, the command line and the HTTP API read them."""

from __future__ import annotations

from typing import Any

from mascot.attributes import (
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
from mascot.methods import Clustering, KDpp, Mascot, Mmr, MsDpp, Relevance

ATTRIBUTES: tuple[Any, ...] = (
    Place, Grid, HourOfDay, DayOfYear, Weekday, Date, Number, Cycle, Category, Clusters, Branches,
)  # fmt: skip
METHODS: tuple[Any, ...] = (Mascot, Mmr, KDpp, MsDpp, Clustering, Relevance)
METHOD_NAMES = ("mascot", "paper", *(method.__name__.lower() for method in METHODS[1:]))  # "paper" is Mascot.paper


def method_named(name: str) -> Any:
    """Return the method class of that lower-case name, or None.

    >>> method_named("kdpp").__name__
    'KDpp'
    """
    return next((method for method in METHODS if method.__name__.lower() == name), None)
