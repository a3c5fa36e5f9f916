"""The `mascot` program: a command is loaded when it runs, because numpy alone takes longer to load than the help."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import mascot

SUMMARY = "Steer what a search result is made of: spread or focus any attribute, keep the best matches."
# The module of each command, and the first line of its help.
COMMANDS = {
    "rerank": ("rerank_command", "Re-rank the hits of a search."),
    "probe": ("rerank_command", "Measure how sensitive the results are to each parameter."),
    "tune": ("rerank_command", "Choose strength, protect and widths from hits that people judged."),
    "demo": ("rerank_command", "Re-rank a built-in example and show before and after side by side."),
    "index": ("photos.photo_commands", "Index folders of photographs, or bring their index up to date."),
    "search": ("photos.photo_commands", "Search the photographs, and steer what the result is made of."),
    "choices": ("photos.set_commands", "List the saved choices, or show one, take its photographs away, or delete it."),
    "library": (
        "photos.photo_commands",
        "Say what is in a library: counts, what is missing, a map and a clock. Or look for damage, and repair it.",
    ),
    "sample": (
        "photos.photo_commands",
        "Write a sample library of rendered postcards, to try everything without a network.",
    ),
    "serve": ("serve_command", "Serve re-ranking over HTTP, and search in a photo library with a page to steer it."),
    "bench": ("bench_commands", "Compare the methods on a dataset: run, then tables, figures, compare."),
}
_STYLE: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class LazyGroup(TyperGroup):
    """Commands that are loaded when they run, and not for the help that lists them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, arguments = super().resolve_command(ctx, args)
        return name, load(str(name)), arguments


def load(name: str) -> Any:
    """Return a command, or the group `bench`, from its module."""
    from mascot.cli.ray_options import TakesRay

    program = getattr(import_module(f"mascot.cli.{COMMANDS[name][0]}"), name)
    if not isinstance(program, typer.Typer):
        function, program = program, typer.Typer(**_STYLE)
        program.command(name, cls=TakesRay)(function)
    return typer.main.get_command(program)


app = typer.Typer(name="mascot", cls=LazyGroup, help=SUMMARY, no_args_is_help=True, **_STYLE)
for _name, (_, _summary) in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)  # stands for the command in the help


def _print_version(is_set: bool) -> None:
    if is_set:
        from mascot.kernels import native

        kernel = f"native kernel, {native.description()}" if native.available() else f"numpy: {native.description()}"
        print(f"mascot {mascot.__version__} ({kernel})")
        raise typer.Exit


@app.callback(help=SUMMARY)
def _mascot(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None: ...
