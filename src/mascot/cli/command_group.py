"""The `mascot` program. A command is imported when it runs, because importing numpy takes longer than the help."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import mascot
from mascot.removed import instead

MODULES = {  # the module of each command; it holds a function, or for a group a Typer, with the name of the command
    "rerank": "rerank_command",
    "tune": "tune_command",
    "preview": "preview_command",
    "demo": "rerank_command",
    "index": "photos.photo_commands",
    "search": "photos.search_command",
    "best": "photos.search_command",
    "choices": "photos.set_commands",
    "library": "photos.photo_commands",
    "sample": "photos.photo_commands",
    "serve": "serve_command",
    "bench": "bench_commands",
}
STYLE: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
UsageError: Any = typer.BadParameter.__base__  # of Click, or of the copy of Click in newer versions of Typer


class LazyGroup(TyperGroup):
    """Commands that are imported when they run, but not for the help that lists them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in MODULES else None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            remedy = next(filter(None, map(instead, re.findall(r"[\w-]+", error.message))), "")
            error.message = error.message.rstrip(".") + remedy
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in MODULES])


def summary(name: str) -> str:
    """Return the first paragraph of a command's docstring, or of its module's, from the source code."""
    path = Path(__file__).parent.joinpath(*MODULES[name].split(".")).with_suffix(".py")
    module = ast.parse(path.read_text(encoding="utf-8"))
    functions = (part for part in module.body if isinstance(part, ast.FunctionDef) and part.name == name)
    docstring = ast.get_docstring(next(functions, module)) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def load(name: str) -> Any:
    """Import a command, or the group `bench`."""
    program = getattr(import_module(f"mascot.cli.{MODULES[name]}"), name)
    if not isinstance(program, typer.Typer):
        function, program = program, typer.Typer(**STYLE)
        program.command(name)(function)
    return typer.main.get_command(program)


app = typer.Typer(name="mascot", cls=LazyGroup, no_args_is_help=True, **STYLE)


def _print_version(is_set: bool) -> None:
    if is_set:
        from mascot.kernels import native

        kernel = f"native kernel, {native.description()}" if native.available() else f"numpy: {native.description()}"
        print(f"mascot {mascot.__version__} ({kernel})")
        raise typer.Exit


@app.callback()
def _mascot(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Steer what a search result is made of: spread or focus any attribute, keep the best matches."""
