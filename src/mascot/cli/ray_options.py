"""`--ray [ADDRESS]` on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from mascot.cluster import LOCAL

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Run on a Ray cluster at host:port; local (default) starts one here, auto finds a running one.",
    ),
]


class TakesRay(TyperCommand):
    """A command whose option `--ray` may have no address."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_address(args))


def with_address(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with `local` after a `--ray` without an address.

    >>> with_address(["Pictures", "--ray", "--into", "lance://x"])
    ['Pictures', '--ray', 'local', '--into', 'lance://x']
    >>> with_address(["--ray", "head:6379", "Pictures"])
    ['--ray', 'head:6379', 'Pictures']
    """
    words: list[str] = []
    for at, word in enumerate(arguments):
        words.append(word)
        if word == "--ray" and not _is_address(arguments[at + 1 : at + 2]):
            words.append(LOCAL)
    return words


def _is_address(words: Sequence[str]) -> bool:
    if not words:
        return False
    host, colon, port = words[0].rpartition(":")
    return words[0] in (LOCAL, "auto") or words[0].startswith("ray://") or bool(host and colon and port.isdigit())
