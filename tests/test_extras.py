"""Commands that are printed must work as written."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from mascot import extras
from mascot.errors import MissingExtra


def test_a_missing_package_is_asked_for_by_name_and_not_by_extra() -> None:
    message = r"^a test needs the package mascot_no_such_module: [^\[]*pip install torch transformers$"
    with pytest.raises(MissingExtra, match=message):
        extras.package("mascot_no_such_module", "clip", "a test")


def test_missing_packages_are_named_with_the_extras_they_are_needed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_has_distribution", lambda name: False)
    assert extras.install_command(*extras.packages_of("postgres")).endswith("pip install 'psycopg[binary]'")
    assert {"typer", "rich", "pillow", "starlette"} <= set(extras.packages_of("web"))  # also those of inner extras
    assert extras.DISTRIBUTION not in {name.partition("[")[0] for name in extras.packages_of("all")}
    monkeypatch.setattr(extras, "_has_distribution", lambda name: name != "starlette")
    assert extras.packages_of("web") == ["starlette"]


def test_no_message_names_an_extra_that_a_clone_cannot_install() -> None:
    root = Path(extras.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    assert [path for path, text in sources.items() if re.search(r"mascot(-rerank)?\[\w", text)] == []


def test_commands_are_short_where_the_shell_finds_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    monkeypatch.setattr(shutil, "which", lambda name: str(beside / name))
    assert extras.install_command("a", "b") == "pip install a b"
    assert extras.mascot_command() == "mascot"
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    assert extras.install_command("a") == f"{sys.executable} -m pip install a"
    assert extras.mascot_command() == f"{sys.executable} -m mascot"
