"""Commands that are printed must work as written."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

from mascot import extras
from mascot.errors import MissingExtra


def test_a_missing_package_is_named_with_the_extra_that_installs_it() -> None:
    message = r"^a test needs the package mascot_no_such_module: [^\[]*pip install 'mascot-rerank\[photos\]'$"
    with pytest.raises(MissingExtra, match=message):
        extras.package("mascot_no_such_module", "photos", "a test")


def test_every_extra_that_a_message_names_exists() -> None:
    names = set(metadata.distribution(extras.DISTRIBUTION).metadata.get_all("Provides-Extra") or [])
    sources = "\n".join(path.read_text(encoding="utf-8") for path in Path(extras.__file__).parent.rglob("*.py"))
    calls = re.findall(r"install_extra\([\"'](\w+)|\b(?:package|missing)\([^()]*?, \"(\w+)\"", sources)
    used = {first or second for first, second in calls}
    assert {"photos", "cli", "langchain"} <= used <= names


def test_commands_are_short_where_the_shell_finds_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    monkeypatch.setattr(shutil, "which", lambda name: str(beside / name))
    assert extras.install_command("a", "b") == "pip install a b"
    assert extras.mascot_command() == "mascot"
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    assert extras.install_command("a") == f"{sys.executable} -m pip install a"
    assert extras.mascot_command() == f"{sys.executable} -m mascot"
