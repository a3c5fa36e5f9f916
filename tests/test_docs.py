"""Every Python block of README and docs runs; a comment `# ...` after a print is what it prints."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import mascot

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_examples_of_a_page_run_and_print_what_they_say(page: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page.name, "exec"), names)
        expected = re.findall(r"^print\(.*\)\n# (.*)$", block, flags=re.M)
        for line in expected:
            assert line in printed.getvalue().splitlines(), f"{page.name} says {line!r}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def modules() -> list[ModuleType]:
    core = (
        "mascot.attributes",
        "mascot.candidates",
        "mascot.described",
        "mascot.rerank",
        "mascot.wishes",
        "mascot.metrics",
    )
    found = pkgutil.walk_packages(mascot.__path__, "mascot.")
    return [mascot, *(importlib.import_module(m.name) for m in found if m.name.startswith(core))]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_docstring_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
