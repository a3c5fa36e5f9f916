"""A real Chromium for tests of the page, and the actions of a reader."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs

import pytest
from benchmarks.page import ARGUMENTS, chromium_path

POSTCARDS = 60  # photographs of the sample library
QUERY = "sunset over water"

_SHOW = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
_FORGET = """() => {
    for (const panel of document.querySelectorAll("details[open]")) panel.open = false;
    document.querySelector("#rail")?.scrollTo(0, 0);
    performance.clearResourceTimings();
    localStorage.clear();
}"""


def requirements() -> tuple[Any, str]:
    """Return Playwright and the path of Chromium; the tests are skipped where either is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = chromium_path()
    if path is None:
        pytest.skip("needs a Chromium on the PATH: apt install chromium")
    return playwright, path


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window. Playwright runs an event loop in this thread: no other can run meanwhile."""
    playwright, path = requirements()
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield chromium
        finally:
            chromium.close()


class Tab:
    """A page of one visitor, and what people do there; everything else is Playwright's own.

    Tests use it one after the other: a new one takes seconds to open.
    """

    def __init__(self, chromium: Any, address: str, **options: Any) -> None:
        self.size = options.pop("viewport", {"width": 1280, "height": 800})
        context = chromium.new_context(viewport=self.size, **options)
        context.set_default_timeout(60_000)
        self.address, self.errors, self.page = address, list[str](), context.new_page()
        self.page.on("console", lambda entry: self.errors.append(entry.text) if entry.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def open(self, path: str = "/", ready: bool = True, fresh: bool = False) -> Tab:
        """Show a view of the page, loaded only if it is not there yet, and wait until it shows photographs."""
        self.page.bring_to_front()
        if fresh or not self.page.url.startswith(self.address):
            self.page.goto(self.address + path)
        else:
            self.page.evaluate(_SHOW, path)
        if ready:
            self.settled()
        return self

    def reset(self) -> None:
        """Remove what a test has left behind; the page must not have reported an error."""
        if self.page.url.startswith(self.address):
            self.page.evaluate(_FORGET)
        self.page.unroute_all()
        self.page.set_viewport_size(self.size)
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.mouse.move(0, 0)
        errors = list(self.errors)
        self.errors.clear()
        assert not errors, errors

    def settled(self) -> None:
        """Wait until the page shows the answer to its last request."""
        self.page.wait_for_selector("#results[data-state=shown]")

    def about(self, text: str) -> None:
        """Wait until photographs of this search are shown."""
        self.page.wait_for_selector(f"#heading:text('{text}')", state="attached")
        self.settled()

    def without(self, text: str) -> None:
        """Wait until the address does not contain this text."""
        self.page.wait_for_url(lambda url: text not in url)
        self.settled()

    def ask(self, selector: str) -> None:
        """Click, and wait for the answer."""
        self.page.click(selector)
        self.settled()

    def search(self, text: str) -> None:
        self.page.fill("#text", text)
        self.page.press("#text", "Enter")
        self.settled()

    def lean(self, name: str, value: int) -> None:
        """Turn a dial: -10 keeps together, 10 mixes up."""
        self.page.locator(f"#lean-{name}").fill(str(value))
        self.settled()

    def drag(self, selector: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag between two points of an element, each in shares of its width and height."""
        self.page.locator(selector).scroll_into_view_if_needed()
        box = self.page.locator(selector).bounding_box()
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        self.page.mouse.move(*points[1], steps=4)
        self.page.mouse.up()
        self.settled()

    def swipe(self, *points: tuple[float, float]) -> None:
        """Put a finger down, move it along these points, and lift it."""
        session = self.page.context.new_cdp_session(self.page)
        for i, (x, y) in enumerate(points):
            kind = "touchMove" if i else "touchStart"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()

    def double_tap(self, x: float, y: float) -> None:
        """Tap twice within a tenth of a second, by the time of the events."""
        session, start = self.page.context.new_cdp_session(self.page), time.time()
        for number in range(2):
            for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
                event = {"type": kind, "touchPoints": points, "timestamp": start + number / 10}
                session.send("Input.dispatchTouchEvent", event)
        session.detach()

    def tap_until(self, selector: str, url: str) -> None:
        """Tap until this is the address: a starved browser may take the first tap for the end of a drag."""
        for _ in range(5):
            if self.page.is_visible(selector):
                self.page.tap(selector)
            with suppress(pytest.importorskip("playwright.sync_api").TimeoutError):
                self.page.wait_for_url(url, timeout=12_000)
                break
        assert self.page.url == url

    def ids(self, grid: str = "grid") -> list[int]:
        """Return the photographs, in the order in which they are shown."""
        read = "all => all.map(tile => Number(tile.dataset.id))"
        return list(self.page.eval_on_selector_all(f"#{grid} button.tile", read))

    def counted(self, name: str) -> tuple[int, int]:
        """Return a count above the photographs: before and after."""
        stat = self.page.locator(f"[data-stat={name}]")
        return int(stat.get_attribute("data-before")), int(stat.get_attribute("data-after"))

    def parameters(self) -> dict[str, list[str]]:
        """Return the parameters in the address bar."""
        return parse_qs(self.page.evaluate("location.search").removeprefix("?"))

    def chips(self) -> set[str]:
        """Return the wishes and filters above the photographs."""
        return {chip.inner_text().removesuffix("×").strip() for chip in self.page.locator("#wishes .chip").all()}
