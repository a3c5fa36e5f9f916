"""Write docs/cli.md, the reference of the `mascot` command, from its --help: `python -m docs.cli_reference`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from mascot.cli.command_group import MODULES, app, load

PAGE = Path(__file__).parent / "cli.md"
_HEAD = """\
# The `mascot` command

`python -m docs.cli_reference` writes this page from `mascot --help`. Examples with their output are
in [Re-rank hits on the command line](rerank.md) and [Search your photos](photos.md).
"""


def reference() -> str:
    """Return the page: the help of every command, and of the commands of a group."""
    sections = [_section("mascot")]
    for name in MODULES:
        sections.append(_section("mascot", name))
        sections += [_section("mascot", name, inner) for inner in _commands_of(load(name))]
    return "\n".join([_HEAD, *sections])


def _commands_of(command: Any) -> Iterator[str]:
    yield from getattr(command, "commands", ())


def _section(*words: str) -> str:
    result = CliRunner().invoke(app, [*words[1:], "--help"], prog_name="mascot", env={"COLUMNS": "100"})
    lines = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
    return f"{'#' * max(len(words), 2)} `{' '.join(words)}`\n\n```text\n{lines}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
