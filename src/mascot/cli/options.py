"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

import mascot as mc
from mascot import grammar
from mascot.registry import METHOD_NAMES

MethodName: Any = Literal.__getitem__(METHOD_NAMES)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of those parameters that are dataclasses.

    Its parameters must be keyword-only: groups have no default.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    if not groups:
        return command
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            field_hints = get_type_hints(hints[name], include_extras=True)
            parameters += [
                parameter.replace(name=field.name, default=field.default, annotation=field_hints[field.name])
                for field in fields(hints[name])
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


Spread = Annotated[
    list[str] | None,
    typer.Option(metavar="WISH", help="Results from many values: place, hour, camera, ... Repeatable."),
]
Focus = Annotated[
    list[str] | None, typer.Option(metavar="WISH", help="Results from few values, or near one: hour=18. Repeatable.")
]
Limit = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=N", help="At most N results per value: seller=2, date=3. Repeatable."),
]
Share = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE:SHARE,...", help="Target shares: region=Europe:60%,Asia:40%. Repeatable."),
]
Fill = Annotated[bool, typer.Option("--fill", help="Complete the list if limits leave fewer than -k results.")]
Strength = Annotated[float | None, typer.Option(help="0 is relevance only, 1 is wishes only (default of mascot: 0.5).")]
Protect = Annotated[
    int | None, typer.Option(help="Number of best matches that always stay (default: 3, at most a third of -k).")
]
Keep = Annotated[
    float | None,
    typer.Option(help="Find the strength that keeps this share of the best possible relevance, such as 0.95."),
]
Order = Annotated[
    Literal["relevance", "selection"] | None,
    typer.Option(help="Show the results by relevance (default) or in the order of selection."),
]
MethodOption = Annotated[MethodName | None, typer.Option(help="The method that selects (default: mascot).")]
Paper = Annotated[bool, typer.Option("--paper", help="Use the published method; the same as --method paper.")]
Already = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Id of a result on an earlier page; it is not shown again. Repeatable."),
]
Missing = Annotated[
    Literal["last", "neutral", "drop"],
    typer.Option(help="What happens to candidates without a value: they come last, are neutral, or are dropped."),
]
OutputFormat = Literal["table", "jsonl", "json"]
InputPath = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="JSON lines, JSON, CSV, TSV (each also .gz) or Parquet; - or no FILE reads standard input.",
    ),
]
InputFormat = Annotated[
    Literal["jsonl", "json", "csv", "tsv", "parquet"] | None,
    typer.Option(help="Format of FILE (default: by its suffix; JSON lines on standard input)."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Say why each result was selected.")]
Library = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PATH",
        help="The folder that was indexed (default: MASCOT_LIBRARY, the one around the current folder, or the one "
        "indexed last).",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option(help="Where CLIP and BLIP-2 run; auto takes a GPU if there is one."),
]


@dataclass(frozen=True)
class Wishes:
    """What to spread and to focus on, as typed."""

    spread: Spread = None
    focus: Focus = None

    def read(self, reader: Any, missing: str) -> list[mc.AnyWish]:
        """Return the wishes, as the module `words`, a library or the hits of an engine read them."""
        spread = [reader.spread(text, missing) for text in self.spread or ()]
        return spread + [reader.focus(text, missing) for text in self.focus or ()]


@dataclass(frozen=True)
class Quotas:
    """Limits and shares, as typed."""

    limit: Limit = None
    share: Share = None
    fill: Fill = False

    def read(self, reader: Any) -> list[mc.AnyWish]:
        limits = [reader.limit(text, self.fill) for text in self.limit or ()]
        return limits + [reader.share(text) for text in self.share or ()]


@dataclass(frozen=True)
class MethodChoice:
    """The method and its parameters."""

    strength: Strength = None
    protect: Protect = None
    keep: Keep = None
    order: Order = None
    method: MethodOption = None

    def select(self) -> Any:
        """Return the method that the options select."""
        return grammar.method(self.method or "mascot", self.strength, self.protect, self.keep, self.order)


def single_library(paths: Sequence[Path] | None) -> Path | None:
    """Return the value of `--library`, which takes one folder."""
    if paths and len(paths) > 1:
        folders = " ".join(map(str, paths))
        raise mc.OptionError(
            f"--library takes one folder, got {len(paths)}; `mascot index {folders}` makes one library of them"
        )
    return paths[0] if paths else None
