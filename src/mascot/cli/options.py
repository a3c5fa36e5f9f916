"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

import mascot as mc
from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.cli.hit_tables import FORMATS
from mascot.errors import require
from mascot.registry import METHOD_NAMES
from mascot.wishes import AnyWish

MethodName: Any = Literal.__getitem__(METHOD_NAMES)
InputName: Any = Literal.__getitem__(FORMATS)
Order = Literal["relevance", "selection"]
Device = Literal["auto", "cpu", "cuda"]
OutputFormat = Literal["table", "jsonl", "json"]

SPREAD = typer.Option([], metavar="WISH", help="Results from many values: place, hour, camera, ... Repeatable.")
FOCUS = typer.Option([], metavar="WISH", help="Results from few values, or near one: hour=18. Repeatable.")
LIMIT = typer.Option(
    [],
    metavar="NAME=N[/WINDOW][@FIRST]",
    help="At most N results per value, in every WINDOW results, or among the FIRST: seller=2, seller=2/5, "
    "ad=1:0@2, seller=acme:5,*:2 (* all others), seller+category=1. Repeatable.",
)
AT_LEAST = typer.Option([], metavar="NAME=VALUE:N,...", help="At least N results of a value: used=yes:3. Repeatable.")
SHARE = typer.Option(
    [],
    metavar="NAME=VALUE:SHARE,...",
    help="Target, smallest or largest shares: region=Europe:60%,Asia:40%, used=yes:min20%, ad=1:max25%. Repeatable.",
)
SESSION = typer.Option(False, "--session", help="Limits count the results of --already too.")
COUNT_MISSING = typer.Option(False, "--count-missing", help="Limits count results without a value as one value.")
FILL = typer.Option(
    False,
    "--fill",
    help="Complete the list if limits leave fewer than -k results; windows and first places still hold.",
)
STRENGTH = typer.Option(None, help="0 is relevance only, 1 is wishes only (default of the method mascot: 0.5).")
PROTECT = typer.Option(
    None, help="Number of best matches that are always selected (default: 3, at most a third of -k)."
)
KEEP = typer.Option(None, help="Find the strength that keeps this share of the best possible relevance, such as 0.95.")
ORDER = typer.Option(None, help="Show the results in the order of selection (default) or by relevance.")
METHOD = typer.Option(None, help="Method that selects the results (default: mascot).")
ALREADY = typer.Option(
    [],
    metavar="ID",
    help="Id of a result on an earlier page; it is not shown again and counts as covered. Repeatable.",
)
PIN = typer.Option(
    [],
    metavar="ID[=POSITION]",
    help="Id of a candidate that is shown first, or at this position, counted from 1. Repeatable.",
)
MISSING = typer.Option(
    "last", help="Treatment of candidates without a value: they come last, are neutral, or are dropped."
)
INPUT_PATH = typer.Argument(
    None,
    metavar="FILE",
    help="JSON lines, JSON or CSV; - or no FILE reads standard input.",
)
INPUT_FORMAT = typer.Option(
    None,
    help="Format of FILE, or the engine whose JSON response it is (default: by its suffix; JSON lines on standard "
    "input).",
)
SCORE = typer.Option("score", metavar="COLUMN", help="Column of scores, higher is better.")
ID = typer.Option(None, metavar="COLUMN", help="Column of ids (default: 'id' if there is one).")
QUERY = typer.Option(
    None, metavar="COLUMN", help="Column to group by, one result list per value (default: 'query' if there is one)."
)
VECTOR = typer.Option(
    None, metavar="COLUMN", help="Column that vectors and look compare (default: 'vector' if there is one)."
)
EXPLAIN = typer.Option(False, "--explain", help="Say why each result was selected.")
LIBRARY = typer.Option(
    None,
    metavar="PATH",
    help="A folder that was indexed (default: MASCOT_LIBRARY, or the library that contains the current folder, or "
    "the library that was indexed last).",
)
DEVICE = typer.Option("auto", help="Where CLIP runs; auto takes a GPU if there is one.")


@dataclass(frozen=True)
class TypedWishes:
    spread: Sequence[str]
    focus: Sequence[str]
    limit: Sequence[str] = ()
    share: Sequence[str] = ()
    fill: bool = False
    at_least: Sequence[str] = ()
    session: bool = False
    count_missing: bool = False

    def read(self, resolver: grammar.Resolver, missing: Missing) -> list[AnyWish]:
        """Return the wishes; the resolver knows the names and values that depend on the data."""
        wishes: list[AnyWish] = [grammar.spread(text, missing, resolver) for text in self.spread]
        wishes += [grammar.focus(text, missing, resolver) for text in self.focus]
        dropped = missing == "drop"
        require(not (dropped and self.count_missing), "--count-missing", "contradicts --missing", missing)
        uncounted: Any = "drop" if dropped else "value" if self.count_missing else "ignore"
        wishes += [grammar.limit(text, self.fill, resolver, uncounted, self.session) for text in self.limit]
        wishes += [grammar.at_least(text, resolver) for text in self.at_least]
        return wishes + [grammar.share(text, resolver) for text in self.share]


def single_library(paths: Sequence[Path] | None) -> Path | None:
    """Return the value of `--library`, which takes one folder."""
    if paths and len(paths) > 1:
        folders = " ".join(map(str, paths))
        raise mc.OptionError(
            f"--library takes one folder, got {len(paths)}; `mascot index {folders}` makes one library of them"
        )
    return paths[0] if paths else None
