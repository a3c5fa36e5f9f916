"""`mascot --help` answers at once, and says what the commands themselves say."""

from __future__ import annotations

import subprocess
import sys

import typer

from mascot.cli import overview
from mascot.cli.app import app
from retelling import environment

HEAVY = {"numpy", "rich", "typer.rich_utils", "mascot.public", "mascot.cli.app", "mascot.cli.photos", "PIL", "ssl"}


def test_the_help_loads_no_heavy_module() -> None:
    code = (
        "import sys; sys.argv = ['mascot', '--help']\nfrom mascot.cli import main\n"
        f"try:\n    main()\nfinally:\n    print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=240, check=True)
    assert done.stderr == "[]\n"
    assert done.stdout.startswith("Usage: mascot [OPTIONS] COMMAND [ARGS]...")


def test_the_overview_has_every_command_with_its_own_summary() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name: command.help.splitlines()[0] for name, command in commands.items()} == overview.COMMANDS


def test_public_names_load_with_the_first_and_stay_functions() -> None:
    code = (
        "import sys, mascot as mc\nassert 'numpy' not in sys.modules\nimport mascot.rerank, mascot.probe\n"
        "assert callable(mc.rerank) and callable(mc.probe)\n"
        "assert set(mc.__all__) <= set(dir(mc)) and not hasattr(mc, 'nothing')\n"
        "heavy = {name.partition('.')[0] for name in sys.modules} & {'scipy', 'pandas', 'rich', 'typer', 'PIL'}\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), timeout=240, check=True)
