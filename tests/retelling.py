"""Pages whose examples are run again: what a page shows is what the program prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """This process's, with a terminal's wishes for colour and width left out."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    # The tests may run in another folder than the checkout that a relative PYTHONPATH speaks of.
    path = os.pathsep.join(str(Path(part).resolve()) for part in kept.get("PYTHONPATH", "").split(os.pathsep) if part)
    return {**kept, **({"PYTHONPATH": path} if path else {}), **more}


def retold(page: Path, folder: Path, given: Mapping[str, str] | None = None) -> str:
    """The page with every `$ ...` line of its console blocks run again, in `folder`."""
    mascot = f'mascot() {{ "{sys.executable}" -m mascot.cli "$@"; }}\n'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

    def ran(block: re.Match[str]) -> str:
        told = []
        for line in re.findall(r"^\$ .*$", block.group(1), re.M):
            done = subprocess.run(
                ["bash", "-c", mascot + line[2:]], cwd=folder, env=environment(PATH=path, **(given or {})), timeout=240,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            told.append(line + "\n" + done.stdout.decode().strip("\n") + "\n" * bool(done.stdout.strip()))
        return "```console\n" + "".join(told) + "```"

    return re.sub(r"```console\n(.*?)```", ran, page.read_text(encoding="utf-8"), flags=re.S)
