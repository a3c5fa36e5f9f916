"""The tutorials run as the other pages do, and each has a picture that `python -m docs.tutorials.figures` draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import test_docs

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_says(page: Path, request: pytest.FixtureRequest) -> None:
    if page.stem == "rag":
        pytest.importorskip("langchain_core", reason="this tutorial needs pip install langchain-core")
    if page.stem == "migrating":
        pytest.importorskip("pyversity", reason="this tutorial needs pip install pyversity")
    test_docs.test_the_examples_of_a_page_run_and_print_what_they_say(page, request)


def test_links_lead_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_docs, "PAGES", PAGES)
    test_docs.test_links_between_pages_lead_somewhere()


def test_every_page_has_a_picture_that_a_command_draws() -> None:
    drawn = set(re.findall(r'^    "([\w-]+)": draw_', (FOLDER / "figures.py").read_text(encoding="utf-8"), re.M))
    assert drawn == {page.stem for page in PAGES}
    for page in PAGES:
        assert f"]({page.stem}.png)" in page.read_text(encoding="utf-8")


def test_the_picture_of_product_search_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need pip install matplotlib")
    pytest.importorskip("pyversity", reason="the pictures compare with it: pip install pyversity")
    from docs.tutorials import figures

    figure = figures.draw_product_search(figures.variables("product-search.md"))
    figure.savefig(tmp_path / "picture.png")
    assert len(figure.axes) == 2
    figures.plt.close(figure)
