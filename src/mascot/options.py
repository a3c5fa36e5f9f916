"""Options that several commands share, and the method they spell."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from mascot import words


class Order(str, Enum):
    relevance = "relevance"
    selection = "selection"


class Missing(str, Enum):
    last = "last"
    neutral = "neutral"
    drop = "drop"


class MethodName(str, Enum):
    mascot = "mascot"
    paper = "paper"
    mmr = "mmr"
    kdpp = "kdpp"
    msdpp = "msdpp"
    clustering = "clustering"
    relevance = "relevance"


class Device(str, Enum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class OverviewFormat(str, Enum):
    text = "text"
    json = "json"


Spread = Annotated[
    list[str] | None,
    typer.Option("--spread", metavar="WISH", help="Results from many of these: place, hour, camera, ... Repeatable."),
]
Focus = Annotated[
    list[str] | None,
    typer.Option("--focus", metavar="WISH", help="Results from few of these, or near one: hour=18. Repeatable."),
]
Strength = Annotated[
    float | None, typer.Option(help="0 is relevance only, 1 is the wishes only; 0.5 unless given.", show_default=False)
]
Protect = Annotated[
    int | None,
    typer.Option(help="The first so many by relevance are always kept; 3 unless given.", show_default=False),
]
Keep = Annotated[
    float | None,
    typer.Option(help="Find the strength that keeps this share of the best possible relevance, such as 0.95."),
]
Ordered = Annotated[
    Order | None,
    typer.Option("--order", help="Show the chosen by relevance (unless given) or as selected.", show_default=False),
]
MissingRule = Annotated[
    Missing, typer.Option("--missing", help="One without the value comes last, is neutral, or is dropped.")
]


def method(
    strength: float | None,
    protect: int | None,
    keep: float | None,
    order: Order | None,
    name: MethodName = MethodName.mascot,
) -> Any:
    """The method the options spell."""
    return words.method(name.value, strength, protect, keep, order.value if order else None)
