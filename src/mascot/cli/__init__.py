"""The `mascot` command: the only part that parses arguments and prints."""


def main() -> None:
    """Run the `mascot` command."""
    from mascot.cli.app import main as run

    run()
