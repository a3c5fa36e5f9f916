"""Options that several commands share: dataclasses whose fields are options, and what they select."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
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


@dataclass(frozen=True)
class Wishes:
    """What to spread and to focus on, as typed."""

    spread: list[str] | None = typer.Option(
        None, metavar="WISH", help="Results from many values: place, hour, camera, ... Repeatable."
    )
    focus: list[str] | None = typer.Option(
        None, metavar="WISH", help="Results from few values, or near one: hour=18. Repeatable."
    )

    def read(self, reader: Any, missing: str) -> list[mc.AnyWish]:
        """Return the wishes, as the module `words`, a library or the hits of an engine read them."""
        spread = [reader.spread(text, missing) for text in self.spread or ()]
        return spread + [reader.focus(text, missing) for text in self.focus or ()]


@dataclass(frozen=True)
class Quotas:
    """Limits and shares, as typed."""

    limit: list[str] | None = typer.Option(
        None, metavar="NAME=N", help="At most N results per value: seller=2, date=3. Repeatable."
    )
    share: list[str] | None = typer.Option(
        None, metavar="NAME=VALUE:SHARE,...", help="Target shares: region=Europe:60%,Asia:40%."
    )
    fill: bool = typer.Option(False, "--fill", help="Complete the list where limits leave fewer than -k results.")

    def read(self, reader: Any) -> list[mc.AnyWish]:
        limits = [reader.limit(text, self.fill) for text in self.limit or ()]
        return limits + [reader.share(text) for text in self.share or ()]


@dataclass(frozen=True)
class MethodChoice:
    """The method and its parameters."""

    strength: float | None = typer.Option(None, help="0 is relevance only, 1 is wishes only (default of mascot: 0.5).")
    protect: int | None = typer.Option(
        None, help="Number of best matches that always stay (default: 3, at most a third of -k)."
    )
    keep: float | None = typer.Option(
        None, help="Find the strength that keeps this share of the best possible relevance, such as 0.95."
    )
    order: Literal["relevance", "selection"] | None = typer.Option(
        None, help="Show the results by relevance (default) or in the order of selection."
    )
    method: MethodName | None = typer.Option(None, help="How to choose (default: mascot).")

    def select(self) -> Any:
        """Return the method that the options select."""
        return grammar.method(self.method or "mascot", self.strength, self.protect, self.keep, self.order)


@dataclass(frozen=True)
class MethodOrPaper(MethodChoice):
    """The method and its parameters, with a short option for the published one."""

    paper: bool = typer.Option(False, "--paper", help="Use the published method; the same as --method paper.")

    def select(self) -> Any:
        if self.paper and self.method not in (None, "paper"):
            raise mc.OptionError(f"--paper means --method paper, got --method {self.method} as well")
        return replace(self, method="paper", paper=False).select() if self.paper else super().select()


Already = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Id of a result that an earlier page showed; it is not shown again. Repeatable."),
]
Missing = Annotated[
    Literal["last", "neutral", "drop"],
    typer.Option(help="Candidates without a value come last, are neutral, or are dropped."),
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


def single_library(paths: Sequence[Path] | None) -> Path | None:
    """Return the value of `--library`, which may be given once."""
    if paths and len(paths) > 1:
        folders = " ".join(map(str, paths))
        raise mc.OptionError(
            f"--library was given {len(paths)} times, and a search takes one library: "
            f"`mascot index {folders}` makes one of several folders"
        )
    return paths[0] if paths else None
