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
OUTSIDE = {f"pyversity-{name.lower()}": f"pyversity {name}" for name in ("MMR", "MSD", "DPP", "COVER", "SSD")}
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
_RELEASED = " released"  # suffix of a DPP with the greedy update of the published experiments
_NAMES = {"label": METHODS | OUTSIDE, "task": TASKS, "direction": DIRECTIONS}  # by field of a record


def released(label: str) -> str:
    """Return the label of a method with the greedy update of the published experiments."""
    return label + _RELEASED


def origin(label: str) -> str:
    """Return the label of a method without the suffix of `released`."""
    return label.removesuffix(_RELEASED)


def display(field: str, name: str) -> str:
    """Return the display name of a label, task or direction."""
    return method(name) if field == "label" else _NAMES[field].get(name, name)


def method(label: str) -> str:
    """Return the display name of a method; a variant is named as such: ``MS-DPP, released``."""
    name = _NAMES["label"].get(origin(label), origin(label))
    return name if origin(label) == label else f"{name}, released"


def in_order(field: str, names: Iterable[str]) -> list[str]:
    """Return the distinct names in display order: known names as above, then the others alphabetically.

    >>> in_order("label", ["xquad", "mascot", "base"])
    ['base', 'mascot', 'xquad']
    """
    order = list(_NAMES[field])
    ranks = {name: order.index(origin(name)) if origin(name) in order else len(order) for name in names}
    return sorted(ranks, key=lambda name: (ranks[name], name))
