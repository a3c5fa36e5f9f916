"""The `mascot` command: the only part that parses arguments and prints."""

import sys


def main() -> None:
    """Run the `mascot` command."""
    if sys.argv[1:] == ["--help"] and sys.stdout is not None and _show_overview():
        return
    from mascot.cli.app import main as run

    run()


def _show_overview() -> bool:
    """Print the help of the program and exit; return False if a package is missing, which `app` then reports."""
    try:
        from mascot.cli.overview import show
    except ModuleNotFoundError:
        return False
    try:
        try:
            show()
        finally:
            sys.stdout.flush()
    except OSError as error:
        from mascot.cli.app import give_up

        give_up(error)
    return True
