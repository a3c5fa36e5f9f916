"""The `mascot` command: the only part that parses arguments and prints."""

import errno
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import NoReturn

_REFUSED, _INTERRUPTED = 2, 130  # exit codes


def main() -> None:
    """Run the `mascot` command, and turn errors into one line and an exit code."""
    if sys.stderr is None:  # closed by `2>&-`
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        _refuse("standard output is closed; redirect it to /dev/null to discard the output")
    for stream in (sys.stdout, sys.stderr):
        # JSON is UTF-8 in every locale. Characters that a terminal cannot show are replaced.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    try:
        try:
            _run()
        finally:
            sys.stdout.flush()
    except ModuleNotFoundError as error:
        _refuse(_remedy(error))
    except OSError as error:
        _give_up(error)
    except ValueError as error:
        from mascot.errors import Interrupted, MascotError

        if isinstance(error, Interrupted):
            print(f"mascot: {error}", file=sys.stderr, flush=True)
            os._exit(_INTERRUPTED)
        if not isinstance(error, MascotError):
            raise
        _refuse(str(error))


def _run() -> None:
    if find_spec("typer") is None or find_spec("rich") is None:  # Rich is imported only to print tables and progress
        from mascot.extras import install_extra

        _refuse(f"the mascot command needs: {install_extra('cli')}")
    from mascot.cli.command_group import app

    app(prog_name="mascot")


def _remedy(error: ModuleNotFoundError) -> str:
    from mascot.extras import missing

    name = (error.name or "mascot").partition(".")[0]
    if name == "mascot":
        raise error
    return str(missing(error, "this command", "bench" if "bench" in sys.argv[1:2] else "photos"))


def _give_up(error: OSError) -> NoReturn:
    """Report an error such as a full disk, and exit. A pipe that its reader has closed is not an error."""
    with suppress(OSError, ValueError):  # otherwise Python would write the buffered output again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        raise SystemExit(1)
    owner = "cannot read or write" if error.filename is None else error.filename
    _refuse(f"{owner}: {error.strerror or error}")


def _refuse(message: str) -> NoReturn:
    """Print one line and exit. The line may quote a file, so control characters are replaced."""
    print(f"mascot: {visible(' '.join(message.split()))}", file=sys.stderr)
    raise SystemExit(_REFUSED)


def visible(text: str) -> str:
    """Return the text with control characters and line breaks replaced, safe to print on a terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
