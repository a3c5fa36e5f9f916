"""Every Python block of README, docs and tutorials runs. A comment `# ...` after a print, or a text block after the
Python block, is its output. Each tutorial has a picture that `python -m docs.tutorials.figures` draws.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.serving import served

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *TUTORIALS]
# Pages that connect/test_frameworks.py, bench/test_extend_docs.py and test_preview.py run.
ELSEWHERE = ("frameworks", "extend", "preview")
SERVICE = "http://127.0.0.1:8765"
NEEDS = {"rag": "langchain_core", "migrating": "pyversity"}  # packages that tutorials import
SOURCES = ROOT / "src"
MODULES = [  # whose docstrings have examples
    path.relative_to(SOURCES).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in sorted(SOURCES.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a re-ranking service on a free port, with the profiles of a tutorial."""
    profiles = ROOT / "docs" / "tutorials" / "elasticsearch" / "rules"
    with served(tmp_path_factory.mktemp("state"), "--profiles", str(profiles)) as server:
        yield server.address


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def run_page(page: Path, request: pytest.FixtureRequest) -> None:
    """Run the blocks of a page in turn, and compare their output with the page."""
    names: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        code = block.replace(SERVICE, request.getfixturevalue("service")) if SERVICE in block else block
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        output = re.match(r"```\n\n```text\n(.*?)```", text.partition(block)[2], flags=re.S)
        assert output is None or printed.getvalue().endswith(output.group(1)), f"{page.name} says {output.group(1)}"
        for line in re.findall(r"^print\(.*\)\n# (.*)$", block, flags=re.M):
            assert line in printed.getvalue().splitlines(), f"{page.name} says {line!r}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page) and page.stem not in ELSEWHERE], ids=lambda page: page.stem
)
def test_the_examples_of_a_page_run_and_print_what_they_say(page: Path, request: pytest.FixtureRequest) -> None:
    if page in TUTORIALS and page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem], reason="this tutorial needs the package")
    run_page(page, request)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_tutorial_has_a_picture_that_a_command_draws() -> None:
    source = (ROOT / "docs" / "tutorials" / "figures.py").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "([\w-]+)": draw_', source, re.M)) == {page.stem for page in TUTORIALS}
    for page in TUTORIALS:
        assert f"]({page.stem}.png)" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
