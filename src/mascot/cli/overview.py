"""The help of `mascot --help`, without importing the commands: numpy alone takes longer to load."""

from __future__ import annotations

from typing import Annotated

import typer

import mascot

SUMMARY = "Steer what a search result is made of: spread or focus any attribute, keep the best matches."
# The first line of each command's own help.
COMMANDS = {
    "rerank": "Re-rank the hits of a search.",
    "probe": "Measure how sensitive the results are to each parameter.",
    "tune": "Choose strength, protect and widths from hits that people judged.",
    "demo": "Re-rank a built-in example and show before and after side by side.",
    "index": "Index folders of photographs, or bring their index up to date.",
    "search": "Search the photographs, and steer what the result is made of.",
    "choices": "List the saved choices, or show one, take its photographs away, or delete it.",
    "library": "Say what is in a library: counts, what is missing, a map and a clock. "
    "Or look for damage, and repair it.",
    "sample": "Write a sample library of rendered postcards, to try everything without a network.",
    "serve": "Serve re-ranking over HTTP, and search in a photo library with a page to steer it.",
    "bench": "Compare the methods on a dataset: run, then tables, figures, compare.",
}


def new_app() -> typer.Typer:
    """Return the program without its commands."""
    app = typer.Typer(
        name="mascot",
        help=SUMMARY,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(help=SUMMARY)(_mascot)
    return app


def show() -> None:
    """Print the help of the program and exit."""
    app = new_app()
    for name, summary in COMMANDS.items():
        app.command(name, help=summary)(_pass)
    app(["--help"], prog_name="mascot")


def _print_version(is_set: bool) -> None:
    if is_set:
        from mascot.kernels import native

        kernel = f"native kernel, {native.description()}" if native.available() else f"numpy: {native.description()}"
        print(f"mascot {mascot.__version__} ({kernel})")
        raise typer.Exit


def _mascot(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None: ...


def _pass() -> None: ...
