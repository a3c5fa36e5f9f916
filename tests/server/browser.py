"""A real Chromium on the real page, and what people do there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window; the tests are skipped where it or Playwright is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("needs a Chromium on the PATH: apt install chromium")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield chromium
        finally:
            chromium.close()


def shown(page: Any, timeout_s: float = 60) -> None:
    """Wait until the page shows the answer to what it asked last."""
    page.wait_for_selector("#results[data-state=shown]", timeout=timeout_s * 1e3)


def search(page: Any, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")
    shown(page)


def lean(page: Any, name: str, value: int) -> None:
    """Turn a dial: -10 keeps together, 10 mixes up."""
    page.locator(f"#lean-{name}").fill(str(value))
    shown(page)


def ids(page: Any, grid: str = "grid") -> list[int]:
    """The photographs, in the order in which they are shown."""
    found = page.eval_on_selector_all(f"#{grid} button.tile", "all => all.map(tile => Number(tile.dataset.id))")
    return list(found)


def counted(page: Any, name: str) -> tuple[int, int]:
    """A count above the photographs: before and after."""
    stat = page.locator(f"[data-stat={name}]")
    return int(stat.get_attribute("data-before")), int(stat.get_attribute("data-after"))
