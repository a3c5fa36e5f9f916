"""Display names, and the order of methods, tasks and directions in all tables and figures.

`names.csv` lists them in this order, with their looks in figures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib.resources import files

POINTS = {"published": "at the published operating points", "validated": "at the points chosen on validation"}
BASE = "base"
_RELEASED = " released"  # suffix of a DPP with the greedy update of the published experiments
ROWS = list(csv.DictReader(files("mascot.bench.report").joinpath("names.csv").read_text("utf-8").splitlines()))
_NAMES = {  # by field of a record
    field: {row["key"]: row["name"] for row in ROWS if row["field"] == field}
    for field in ("label", "task", "direction")
}


def released(label: str) -> str:
    """Return the label of a method with the greedy update of the published experiments."""
    return label + _RELEASED


def origin(label: str) -> str:
    """Return the label of a method without the suffix of `released`."""
    return label.removesuffix(_RELEASED)


def is_listed(label: str) -> bool:
    """Return whether `names.csv` has the method; a user's own method is not listed."""
    return origin(label) in _NAMES["label"]


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
