"""How the page is used: by keyboard, by touch, at every width, in both themes, with a server that fails."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
from browser import QUERY, Tab, about, counted, drag, ids, lean, parameters, search, settled, tap, touch, without
from serving import served

FACES = {"Hour": ("#clock svg", "hour"), "Date": ("#timeline svg", "date"), "Place": ("#map canvas", "place")}
DIALS = {"Place": ("place",), "Hour": ("hour",), "Date": ("date",), "More": ("season", "camera", "look")}


def test_everything_with_the_keyboard_alone(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    about(page, QUERY)
    numbers = ids(page)

    def tab_to(condition: str) -> None:
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate(condition):
                return
        raise AssertionError(condition)

    tab_to("document.activeElement.classList.contains('tile')")
    focused = "Number(document.activeElement.dataset.id)"
    assert page.evaluate(focused) == numbers[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == numbers[2]
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) in numbers[3:9]
    page.keyboard.press("Home")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("p")
    assert parameters(page)["pin"] == [str(numbers[0])]
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    assert page.is_visible("#viewer")
    page.keyboard.press("ArrowRight")
    assert parameters(page)["photo"] == [str(numbers[1])]
    page.keyboard.press("z")
    assert page.get_attribute("[aria-label='Actual size']", "aria-pressed") == "true"
    before = page.get_attribute(".stage img", "style")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".stage img", "style") != before, "it moves while it is large"
    page.keyboard.press("z")
    page.keyboard.press("+")
    assert page.is_visible(".stage.zoomed")
    page.keyboard.press("-")
    assert page.locator(".stage.zoomed").count() == 0
    page.keyboard.press("Escape")
    page.wait_for_selector("#viewer", state="hidden")
    assert page.evaluate(focused) == numbers[1], "the focus returns to the last photograph"
    tab_to("document.activeElement.id === 'lean-place'")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    settled(page)
    assert parameters(page)["spread"] == ["place"]
    for face in ("#clock svg", "#timeline svg"):
        page.focus(face)
        page.keyboard.press("ArrowRight")
        settled(page)
        assert len(parameters(page)["focus"]) == 1
        page.keyboard.press("Delete")
    page.focus("#map canvas")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    settled(page)
    assert any(wish.startswith("place=") for wish in parameters(page)["focus"])
    page.keyboard.press("b")
    page.wait_for_url(lambda url: "box=" in url)
    page.wait_for_selector("#live:text('photograph')", state="attached")


IN_SIGHT = """() => {
    const top = document.querySelector("#rail").getBoundingClientRect().top;
    return [...document.querySelectorAll("#grid button.tile")].filter((tile) => {
        const box = tile.getBoundingClientRect();
        return box.top >= 60 && box.bottom <= top;
    }).map((tile) => Number(tile.dataset.id));
}"""


def test_the_sheet_of_a_phone_leaves_changing_photographs_in_sight(phone: Tab) -> None:
    page = phone.open(f"/?q={QUERY}")
    plain = ids(page)
    page.tap("#bar-steer")
    page.wait_for_function("document.querySelector('#rail').getBoundingClientRect().bottom <= innerHeight + 1")
    for tab, name in (("Place", "place"), ("More", "look")):
        page.tap(f"#tabs >> text={tab}")
        page.locator(f"#lean-{name}").scroll_into_view_if_needed()
        box = page.locator(f"#lean-{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        before = page.evaluate(IN_SIGHT)
        assert len(before) >= 5
        lean(page, name, 10)
        assert page.evaluate(IN_SIGHT) != before, "they change in sight"
        lean(page, name, 0)
    for tab, (face, name) in FACES.items():
        page.tap(f"#tabs >> text={tab}")
        box = page.locator(face).bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] * 0.15, box["y"] + box["height"] / 2)
        page.wait_for_selector(f"[data-name={name}] .near-chip:visible")
        settled(page)
        page.tap(f"[data-name={name}] .near-chip button")
        settled(page)
    assert ids(page) == plain


def test_fingers_on_a_phone(phone: Tab) -> None:
    page = phone.open(f"/?q={QUERY}")
    plain = ids(page)
    page.tap("#bar-steer")
    page.wait_for_selector("#lean-place", state="visible")
    page.go_back()
    page.wait_for_selector("#lean-place", state="hidden")
    assert ids(page) == plain, "only the panel was closed"
    page.tap("#bar-steer")
    lean(page, "place", 10)
    steered = page.url
    page.go_back()
    without(page, "spread")
    assert ids(page) == plain
    assert page.is_visible("#lean-place")
    page.go_forward()
    page.wait_for_url(steered)
    page.tap("#rail-close")
    page.wait_for_selector("#lean-place", state="hidden")
    assert page.url == steered, "the steering stays"
    settled(page)

    numbers = ids(page)
    page.locator("#grid button.tile").first.tap()
    page.locator(".stage img").evaluate("picture => picture.decode()")
    picture = page.locator(".stage img").bounding_box()
    for label in ("Previous photograph", "Next photograph", "Actual size"):
        assert page.locator(f"[aria-label='{label}']").bounding_box()["y"] >= picture["y"] + picture["height"]
    x, y = picture["x"] + picture["width"] / 2, picture["y"] + picture["height"] / 2
    touch(page, (x, y), (x - 50, y), (x - 120, y + 4))
    page.wait_for_url(f"**photo={numbers[1]}")
    touch(page, (x, y), (x + 50, y), (x + 120, y + 4))
    page.wait_for_url(f"**photo={numbers[0]}")
    touch(page, (x, y))
    touch(page, (x, y))
    page.wait_for_selector(".stage.zoomed")
    large = page.locator(".stage img").bounding_box()
    assert large["width"] >= 2 * picture["width"] - 1
    touch(page, (x, y), (x - 20, y), (x - 40, y))
    assert page.locator(".stage img").bounding_box()["x"] == pytest.approx(large["x"] - 40, abs=1)
    assert page.url.endswith(f"photo={numbers[0]}")
    assert page.evaluate("document.querySelector('#viewer').scrollWidth <= 390")
    tap(page, "[aria-label=Close]", steered)


def test_the_page_follows_the_system_in_colours_and_motion(tab: Tab) -> None:
    def brightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    for motion, moves in (("no-preference", True), ("reduce", False)):
        tab.page.emulate_media(reduced_motion=motion, color_scheme="dark")
        page = tab.open(f"/?q={QUERY}&map=large")
        assert brightness(page) < 100
        page.wait_for_timeout(900)
        page.evaluate(
            """document.addEventListener("mascot:shown", () => {
                window.movingTiles = document.getAnimations().length;
                requestAnimationFrame(() => requestAnimationFrame(() => {
                    window.movingSpots = document.querySelector(".map-spots").getAnimations({ subtree: true }).length;
                }));
            })"""
        )
        lean(page, "place", 10)
        page.wait_for_function("window.movingSpots !== undefined")
        assert (page.evaluate("window.movingTiles") > 0) == moves
        assert (page.evaluate("window.movingSpots") > 0) == moves
    page.click("#theme")
    assert brightness(page) > 600
    assert brightness(tab.open()) > 600, "the choice is remembered"


def test_a_server_that_is_gone_comes_back_and_is_slow(chromium: Any, postcards: Path) -> None:
    with served(postcards) as site:
        page = Tab(chromium, site.address).open(f"/?q={QUERY}")
        before, port = ids(page), site.port
        site.stop(signal.SIGKILL)
        page.locator("#lean-place").fill("8")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "does not answer" in page.inner_text("#trouble")
        assert page.is_visible("#retry")
        assert ids(page) == before, "the results stay"
    with served(postcards, "--port", str(port)):
        settled(page)
        assert page.is_hidden("#trouble")
        assert counted(page, "places")[1] > counted(page, "places")[0]
        session = page.context.new_cdp_session(page)
        slow = {"offline": False, "latency": 1200, "downloadThroughput": -1, "uploadThroughput": -1}
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", slow)
        page.locator("#lean-place").fill("10")
        assert page.is_hidden("#progress")
        page.wait_for_selector("#progress:not([hidden])")
        assert page.get_attribute("#results", "aria-busy") == "true"
        session.send("Network.emulateNetworkConditions", slow | {"latency": 0})
        page.locator("#lean-place").fill("9")
        settled(page)
        assert page.is_hidden("#progress")
        assert parameters(page)["spread"] == ["place*0.9"], "the stale request was cancelled"
        page.context.close()


@pytest.mark.parametrize(
    ("width", "theme"),
    [(1280, "dark"), (390, "light")]
    + [
        pytest.param(*case, marks=pytest.mark.slow)
        for case in [(1440, "light"), (1440, "dark"), (1280, "light"), (390, "dark")]
    ],
)
def test_every_control_at_every_width(request: pytest.FixtureRequest, width: int, theme: str) -> None:
    phone = width == 390
    page = request.getfixturevalue("phone" if phone else "tab").open()
    if not phone:
        page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)

    def rail(tab: str) -> None:
        if phone and page.get_attribute("#bar-steer", "aria-expanded") == "false":
            page.click("#bar-steer")
        if phone:
            page.click(f"#tabs >> text={tab}")

    def wishes(kind: str) -> list[str]:
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        return parameters(page).get(kind, [])

    page.locator(".card-search").first.click()
    settled(page)
    search(page, QUERY)
    assert ids(page)
    for tab, names in DIALS.items():
        rail(tab)
        for name in names:
            lean(page, name, 10)
            assert wishes("spread") == [name]
            assert page.inner_text(f"[data-name={name}] .reading") == "Mix it up 100%"
            lean(page, name, -10)
            assert wishes("focus") == [name]
            page.click(f"[data-name={name}] .undo")
            assert (wishes("spread"), wishes("focus")) == ([], [])
    rail("More")
    page.select_option("#add", "country")
    lean(page, "country", 10)
    assert wishes("spread") == ["country"]
    page.click("[aria-label='Remove the dial for country']")
    assert wishes("spread") == []
    page.select_option("#size", "12")
    assert wishes("k") == ["12"]
    page.fill("#protect", "3")
    assert wishes("protect") == ["3"]
    page.click("[data-name=season] .near-open")
    page.fill("[data-name=season] .near input", "winter")
    page.press("[data-name=season] .near input", "Enter")
    assert wishes("focus") == ["season=winter"]
    page.click("[data-name=season] .near-chip button")
    for tab, (face, name) in FACES.items():
        rail(tab)
        page.locator(face).scroll_into_view_if_needed()
        box = page.locator(face).bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.12, box["y"] + box["height"] / 2)
        page.wait_for_selector(f"[data-name={name}] .near-chip:visible")
        assert wishes("focus")[0].startswith(f"{name}=")
        page.click(f"[data-name={name}] .near-chip button")
        assert wishes("focus") == []
    before = page.get_attribute("#map", "data-view")
    for button in ("in", "out", "fit"):
        page.click(f"[data-map={button}]")
        page.wait_for_selector(f"#map:not([data-view='{before}'])")
        before = page.get_attribute("#map", "data-view")
    page.click("[data-map=box]")
    drag(page, "#map canvas", (0.2, 0.1), (0.8, 0.6))
    assert len(wishes("box")) == 1
    rail("Date")
    drag(page, "#timeline svg", (0.2, 0.3), (0.8, 0.3))
    assert len(wishes("from")) == len(wishes("to")) == 1
    rail("Place")
    lean(page, "place", 10)
    page.click("#reset")
    assert wishes("spread") == []
    lean(page, "place", 10)
    if phone:
        page.click("#rail-close")
        page.wait_for_selector("#lean-place", state="hidden")
    for label in page.eval_on_selector_all("#summary .chip button", "all => all.map((it) => it.ariaLabel)"):
        if label.startswith("Remove the filter"):
            page.click(f"[aria-label='{label}']")
    assert (wishes("box"), wishes("from"), wishes("to")) == ([], [], [])
    page.click("#bar-compare" if phone else "#compare")
    page.wait_for_selector("#went-grid:visible")
    assert wishes("compare")
    page.click("#bar-compare" if phone else "#compare")
    page.wait_for_selector("#went-grid", state="hidden")
    country = page.locator("#filter-country option").nth(1).get_attribute("value")
    page.select_option("#filter-country", country)
    assert wishes("country") == [country]
    page.select_option("#filter-country", "")
    page.click("#filters summary")
    page.fill("#filter-from", "2001-02-03")
    assert wishes("from") == ["2001-02-03"]
    page.keyboard.press("Escape")
    page.click("#more")
    assert wishes("k") == [], "24 is the default"
    page.locator("#grid .mini.pick").first.dispatch_event("click")
    assert page.inner_text("#tray h2") == "1 photograph picked"
    page.click("text=Complete my set")
    assert wishes("complete") == ["15"]
    for label in ("Download", "Album"):
        with page.expect_download():
            page.click(f"#tray >> text={label}")
    page.click("[aria-label='Empty the tray']")
    assert wishes("pin") == []
    page.click("#bar-tray" if phone else "#tray-open")
    page.wait_for_selector("#tray", state="hidden")
    second = ids(page)[1]
    page.locator("#grid button.tile").first.click()
    page.click("[aria-label='Next photograph']")
    page.wait_for_url(lambda url: f"photo={second}" in url)
    page.click("[aria-label='Actual size']")
    page.wait_for_selector(".stage.zoomed")
    page.click("#viewer >> text=More like this")
    page.wait_for_selector("#viewer", state="hidden")
    assert len(wishes("like")) == 1
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != theme
    page.click("#like-clear")
    page.click(".brand")
    page.wait_for_selector("#welcome:not([hidden])")
    assert parameters(page) == {}


def test_assistive_technology_finds_nothing_to_complain_about(tab: Tab, phone: Tab) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()

    def check(page: Any) -> None:
        """All rules in the light theme; only colours differ in the dark one."""
        for theme, options in (("light", None), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(100)
            rules = axe.run(page, options=options).response["violations"]
            assert [(rule["id"], node["html"]) for rule in rules for node in rule["nodes"]] == [], theme

    steered = f"/?q={QUERY}&k=12&spread=place&focus=season*0.5&focus=hour=18:00"
    check(tab.open(f"{steered}&map=large&compare=1&country=PT"))
    page = tab.open("/?k=12")
    page.locator("#grid .mini.pick").first.dispatch_event("click")
    page.click("text=Dates and folder")
    check(page)
    page.click(".brand")
    page.locator("#grid button.tile").first.click()
    check(page)
    page = phone.open(steered)
    page.click("#bar-steer")
    for tab in ("Place", "More"):
        page.click(f"#tabs >> text={tab}")
        check(page)
