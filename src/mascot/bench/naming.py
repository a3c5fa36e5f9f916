"""Display names, and the order of methods, tasks and directions in all tables and figures."""

from __future__ import annotations

from collections.abc import Iterable

METHODS = {
    "base": "Base",
    "clustering": "Clustering",
    "mmr": "MMR",
    "k-dpp": "k-DPP",
    "ms-dpp": "MS-DPP",
    "ms-dpp+tn": "MS-DPP+TN",
    "ms-dpp+tn+tvms": "MS-DPP+TN+TVMS",
    "prob-coverage": "Prob-Coverage",
    "no-normalization": "w/o Normalization",
    "uniform-binning": "Uniform Binning",
    "mascot": "MASCOT",
    "guarded": "Guarded",
    "guarded-10": "Guarded-10",
}
OUTSIDE = {
    "pyversity-mmr": "pyversity MMR",
    "pyversity-msd": "pyversity MSD",
    "pyversity-dpp": "pyversity DPP",
    "pyversity-cover": "pyversity COVER",
    "pyversity-ssd": "pyversity SSD",
}
TASKS = {
    "geo_hour": "geo + hour",
    "hour": "hour",
    "geo": "geo",
    "clusters": "10 clusters",
    "all": "all",
    "all-k-means": "all, look by k-means",
}
DIRECTIONS = {
    "spread": "spread",
    "focus": "focus",
    "geo+hour-": "geo spread, hour focus",
    "geo-hour+": "geo focus, hour spread",
}
POINTS = {"published": "at the published operating points", "validated": "at the points chosen on validation"}
BASE = "base"
_RELEASED = " released"  # a method with the greedy update of the published experiments is a method of its own


def released(label: str) -> str:
    """Return the label of a method with the greedy update of the published experiments."""
    return label + _RELEASED


def origin(label: str) -> str:
    """Return the label without that suffix.

    >>> origin(released("ms-dpp"))
    'ms-dpp'
    """
    return label.removesuffix(_RELEASED)


def method(label: str) -> str:
    name = (METHODS | OUTSIDE).get(origin(label), origin(label))
    return name if origin(label) == label else f"{name}, released"


def key(label: str) -> str:
    """Return the label as part of a table's name, without spaces.

    >>> key(released("ms-dpp"))
    'ms-dpp-released'
    """
    return label.replace(" ", "-")


def task(name: str) -> str:
    return TASKS.get(name, name)


def direction(name: str) -> str:
    return DIRECTIONS.get(name, name)


def ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Return each name once: those in `order` first, then the others in alphabetical order.

    >>> ordered(["xquad", "mascot", "base", "mascot"], METHODS)
    ['base', 'mascot', 'xquad']
    """
    place = {name: index for index, name in enumerate(order)}
    return sorted(set(names), key=lambda name: (place.get(origin(name), len(place)), name))
