"""A real Chromium on the real page, and what people do there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs

import pytest

POSTCARDS = 60  # photographs of the sample library
QUERY = "sunset over water"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def requirements() -> tuple[Any, str]:
    """Return Playwright and the path of Chromium; the tests are skipped where either is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("needs a Chromium on the PATH: apt install chromium")
    return playwright, path


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window. Playwright runs an event loop in this thread: no other can run meanwhile."""
    playwright, path = requirements()
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield chromium
        finally:
            chromium.close()


class Tab:
    """A page of one visitor, which tests use one after the other: a new one takes seconds to open."""

    def __init__(self, chromium: Any, address: str, **options: Any) -> None:
        self.size = options.pop("viewport", {"width": 1280, "height": 800})
        context = chromium.new_context(viewport=self.size, **options)
        context.set_default_timeout(60_000)
        self.address, self.errors, self.page = address, list[str](), context.new_page()
        self.page.on("console", lambda entry: self.errors.append(entry.text) if entry.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def open(self, path: str = "/", ready: bool = True) -> Any:
        """Load the page, and wait until it shows photographs."""
        self.page.bring_to_front()
        self.page.goto(self.address + path)
        if ready:
            settled(self.page)
        return self.page

    def reset(self) -> None:
        """Remove what a test has left behind; the page must not have reported an error."""
        self.page.evaluate("localStorage.clear()")
        self.page.unroute_all()
        self.page.set_viewport_size(self.size)
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.mouse.move(0, 0)
        errors = list(self.errors)
        self.errors.clear()
        assert errors == []


def settled(page: Any, timeout_s: float = 60) -> None:
    """Wait until the page shows the answer to its last request."""
    page.wait_for_selector("#results[data-state=shown]", timeout=timeout_s * 1e3)


def about(page: Any, text: str) -> None:
    """Wait until photographs of this search are shown."""
    page.wait_for_selector(f"#heading:text('{text}')", state="attached")
    settled(page)


def without(page: Any, text: str) -> None:
    """Wait until the address does not contain this text."""
    page.wait_for_url(lambda url: text not in url)
    settled(page)


def search(page: Any, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")
    settled(page)


def lean(page: Any, name: str, value: int) -> None:
    """Turn a dial: -10 keeps together, 10 mixes up."""
    page.locator(f"#lean-{name}").fill(str(value))
    settled(page)


def drag(page: Any, selector: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag between two points of an element, each in shares of its width and height."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=4)
    page.mouse.up()
    settled(page)


def touch(page: Any, *points: tuple[float, float]) -> None:
    """Put a finger down, move it along these points, and lift it."""
    session = page.context.new_cdp_session(page)
    for i, (x, y) in enumerate(points):
        kind = "touchMove" if i else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def tap(page: Any, selector: str, url: str) -> None:
    """Tap until this is the address: a starved browser may take the first tap for the end of a drag."""
    for _ in range(5):
        if page.is_visible(selector):
            page.tap(selector)
        with suppress(pytest.importorskip("playwright.sync_api").TimeoutError):
            page.wait_for_url(url, timeout=12_000)
            break
    assert page.url == url


def ids(page: Any, grid: str = "grid") -> list[int]:
    """Return the photographs, in the order in which they are shown."""
    return list(page.eval_on_selector_all(f"#{grid} button.tile", "all => all.map(tile => Number(tile.dataset.id))"))


def counted(page: Any, name: str) -> tuple[int, int]:
    """Return a count above the photographs: before and after."""
    stat = page.locator(f"[data-stat={name}]")
    return int(stat.get_attribute("data-before")), int(stat.get_attribute("data-after"))


def parameters(page: Any) -> dict[str, list[str]]:
    """Return the parameters in the address bar."""
    return parse_qs(page.evaluate("location.search").removeprefix("?"))


def chips(page: Any) -> set[str]:
    """Return the wishes and filters above the photographs."""
    return {chip.inner_text().removesuffix("×").strip() for chip in page.locator("#summary .chip").all()}
