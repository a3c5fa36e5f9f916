"""Options that several commands share, and the method they select."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from mascot import words
from mascot.errors import OptionError
from mascot.registry import METHOD_NAMES


class ResultOrder(str, Enum):
    relevance = "relevance"
    selection = "selection"


class Missing(str, Enum):
    last = "last"
    neutral = "neutral"
    drop = "drop"


_new_enum: Any = Enum  # mypy accepts only literal members
MethodName: Any = _new_enum("MethodName", {name: name for name in METHOD_NAMES}, type=str)


class Device(str, Enum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


class OverviewFormat(str, Enum):
    text = "text"
    json = "json"


Spread = Annotated[
    list[str] | None,
    typer.Option("--spread", metavar="WISH", help="Results from many values: place, hour, camera, ... Repeatable."),
]
Focus = Annotated[
    list[str] | None,
    typer.Option("--focus", metavar="WISH", help="Results from few values, or near one: hour=18. Repeatable."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=N", help="At most N results per value: seller=2, date=3. Repeatable."),
]
Share = Annotated[
    list[str] | None,
    typer.Option("--share", metavar="NAME=VALUE:SHARE,...", help="Target shares: region=Europe:60%,Asia:40%."),
]
Fill = Annotated[bool, typer.Option("--fill", help="Complete the list where limits leave fewer than -k results.")]
Already = Annotated[
    list[str] | None,
    typer.Option(
        "--already", metavar="ID", help="Id of a result that an earlier page showed; it is not shown again. Repeatable."
    ),
]
Strength = Annotated[
    float | None,
    typer.Option(help="0 is relevance only, 1 is wishes only (default of mascot: 0.5).", show_default=False),
]
Protect = Annotated[
    int | None,
    typer.Option(
        help="Number of best matches that always stay (default: 3, at most a third of -k).",
        show_default=False,
    ),
]
Keep = Annotated[
    float | None,
    typer.Option(help="Find the strength that keeps this share of the best possible relevance, such as 0.95."),
]
Ordered = Annotated[
    ResultOrder | None,
    typer.Option(
        "--order", help="Show the results by relevance (default) or in the order of selection.", show_default=False
    ),
]
Method = Annotated[
    MethodName | None,
    typer.Option("--method", help="How to choose (default: mascot).", show_default=False),
]
MissingRule = Annotated[
    Missing, typer.Option("--missing", help="Candidates without a value come last, are neutral, or are dropped.")
]


def single_library(paths: Sequence[Path] | None) -> Path | None:
    """Return the value of `--library`, which may be given once."""
    if paths and len(paths) > 1:
        folders = " ".join(map(str, paths))
        raise OptionError(
            f"--library was given {len(paths)} times, and a search takes one library: "
            f"`mascot index {folders}` makes one of several folders"
        )
    return paths[0] if paths else None


def method(
    strength: float | None,
    protect: int | None,
    keep: float | None,
    order: ResultOrder | None,
    name: Any = None,
    paper: bool = False,
) -> Any:
    """Return the method that the options select; `paper` is short for `name="paper"`."""
    if paper and name not in (None, MethodName.paper):
        raise OptionError(f"--paper means --method paper, got --method {name.value} as well")
    selection = MethodName.paper if paper else name or MethodName.mascot
    return words.method(selection.value, strength, protect, keep, order.value if order else None)
