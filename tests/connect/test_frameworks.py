"""What the connectors of all frameworks share."""

from __future__ import annotations

import doctest
import shlex
import subprocess
import sys

import pytest

from mascot.connect import documents
from mascot.extras import packages_of


def test_docstring_examples() -> None:
    result = doctest.testmod(documents)
    assert result.attempted
    assert not result.failed


def test_nothing_is_loaded_before_it_is_needed() -> None:
    """In a fresh process: the package knows no framework."""
    code = (
        "import sys, mascot, mascot.connect, mascot.connect.documents, mascot.connect.convert;"
        "heavy = ('langchain_core', 'llama_index', 'haystack', 'pydantic', 'torch');"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_without_the_package_the_install_command_is_named(module: str, package: str, extra: str) -> None:
    """In a fresh process in which the package cannot be found."""
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from mascot.errors import MissingExtra
try:
    import mascot.connect.{module}
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"mascot.connect.{module} needs the package {package}" in done.stdout
    assert f"pip install {shlex.join(packages_of(extra))}" in done.stdout
