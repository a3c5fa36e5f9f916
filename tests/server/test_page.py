"""The page in a real browser, on a real server, over the sample library."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import browser, counted, ids, lean, search, shown
from jpegs import write_jpeg
from serving import Served, mascot, served

from mascot.photos import Library
from mascot.photos.sample import write_sample

_POSTCARDS = 60
_QUERY = "sunset over water"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def postcards(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed sample library. The browser comes first: without one no library is written."""
    root = tmp_path_factory.mktemp("page") / "postcards"
    write_sample(root, _POSTCARDS)
    return _indexed(root)


def _indexed(root: Path) -> Path:
    done = mascot("index", str(root), state=root.parent / "state")
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def site(postcards: Path) -> Iterator[Served]:
    with served(postcards) as found:
        yield found


class _Visit:
    """Pages of one visitor; at the end none of them may have reported an error."""

    def __init__(self, chromium: Any, address: str, **options: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        self.context = chromium.new_context(**options)
        self.address, self.errors = address, list[str]()

    def open(self, path: str = "/") -> Any:
        page = self.context.new_page()
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(self.address + path)
        return page


@pytest.fixture
def visit(chromium: Any, site: Served) -> Iterator[Any]:
    with ExitStack() as stack:
        visits = []

        def make(address: str = site.address, **options: Any) -> _Visit:
            visits.append(_Visit(chromium, address, **options))
            stack.callback(visits[-1].context.close)
            return visits[-1]

        yield make
        assert [error for visit in visits for error in visit.errors] == []


@pytest.fixture
def page(visit: Any) -> Any:
    return visit().open()


def _told(page: Any) -> dict[str, list[str]]:
    """What the address bar says."""
    return parse_qs(page.evaluate("location.search").removeprefix("?"))


def _chips(page: Any) -> set[str]:
    """The wishes and filters above the photographs."""
    return {chip.inner_text().removesuffix("×").strip() for chip in page.locator("#summary .chip").all()}


def _about(page: Any, text: str) -> None:
    """Wait until photographs of this search are shown."""
    page.wait_for_selector(f"#heading:text('{text}')", state="attached")
    shown(page)


def test_first_visit_suggests_searches_that_find_something(page: Any) -> None:
    page.wait_for_selector("#welcome h2")
    assert page.text_content("#welcome h2") == f"{_POSTCARDS} photographs"
    card = page.locator(".card-search").first
    text = card.inner_text()  # shown with a capital
    card.click()
    shown(page)
    assert _told(page)["q"] == [text.lower()]
    assert len(ids(page)) == 24
    for number, shown_now in ((48, 48), (96, _POSTCARDS)):
        page.click("text=More results")
        shown(page)
        assert _told(page)["k"] == [str(number)]
        assert len(ids(page)) == shown_now
    assert page.is_hidden("text=More results"), "there are no more"
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not any(name.endswith("/image") for name in loaded), "tiles are thumbnails"


def test_spreading_the_place_shows_more_places(page: Any) -> None:
    search(page, _QUERY)
    before = ids(page)
    places = int(page.get_attribute("#map", "data-places"))
    assert counted(page, "places") == (places, places)
    lean(page, "place", 10)
    after = int(page.get_attribute("#map", "data-places"))
    assert after > places
    assert counted(page, "places") == (places, after)
    assert ids(page)[:3] == before[:3], "the first three are protected"
    assert _told(page)["spread"] == ["place"]
    lean(page, "place", 0)
    assert ids(page) == before
    assert "spread" not in _told(page)


def test_the_distance_from_the_middle_is_felt(page: Any) -> None:
    search(page, _QUERY)
    places = []
    for value in (0, 2, 10):
        lean(page, "place", value)
        places.append(int(page.get_attribute("#map", "data-places")))
    assert places[0] <= places[1] <= places[2]
    assert places[0] < places[2]


def test_clicking_the_clock_narrows_the_hours(page: Any) -> None:
    search(page, "city")
    page.locator("#force-slider").fill("100")
    shown(page)
    hours = int(page.get_attribute("#clock", "data-hours"))
    box = page.locator("#clock svg").bounding_box()
    # Midnight is at the top; half way round is noon.
    page.locator("#clock svg").click(position={"x": box["width"] / 2, "y": box["height"] * 0.9})
    shown(page)
    assert _told(page)["focus"] == ["hour=12:00"]
    assert page.locator("[data-control=hour] .chip").inner_text().startswith("12:00")
    assert int(page.get_attribute("#clock", "data-hours")) < hours
    page.click("[aria-label='Remove the target 12:00']")
    shown(page)
    assert _told(page)["focus"] == ["hour"]


def test_clicking_the_map_and_the_timeline_focuses_there(page: Any) -> None:
    search(page, "travel")
    page.locator("#map canvas").click(position={"x": 120, "y": 90})
    shown(page)
    (place,) = _told(page)["focus"]
    assert re.fullmatch(r"place=-?\d+\.\d{4},-?\d+\.\d{4}", place)
    line = page.locator("#timeline svg")
    line.scroll_into_view_if_needed()
    line.click(position={"x": 40, "y": 30})
    shown(page)
    assert re.fullmatch(r"date=\d{4}-\d{2}(-\d{2})?", _told(page)["focus"][1])
    page.fill("[data-control=date] input[type=range]", "0")
    page.press("[data-name=season] input[type=range]", "Home")
    page.fill("[data-name=season] .near input", "winter")
    page.press("[data-name=season] .near input", "Enter")
    shown(page)
    assert _told(page)["focus"] == [place, "season=winter"]


def test_a_value_that_is_not_there_is_explained_and_taken_back(visit: Any) -> None:
    other = visit()
    page = other.open(f"/?q={_QUERY}&focus=place=Nowhereville")
    page.wait_for_selector("#results[data-state=failed]")
    assert "no place is called 'Nowhereville'" in page.inner_text("#trouble")
    assert page.is_visible("#nothing")
    page.click("#reset")
    shown(page)
    assert page.is_hidden("#trouble")
    page.goto(f"{other.address}/?focus=place=Nowhereville")
    page.wait_for_selector("#results[data-state=failed]")
    page.click("#reset")
    page.wait_for_selector("#welcome h2")
    assert page.is_hidden("#trouble")
    other.errors.clear()  # the browser itself reports the refused request


def test_a_link_reproduces_the_view(page: Any, visit: Any, postcards: Path) -> None:
    search(page, _QUERY)
    lean(page, "place", 7)
    lean(page, "camera", -4)
    page.locator("#force-slider").fill("80")
    page.click("label[for=mode-keep]")
    page.fill("#protect", "5")
    page.select_option("#add", "weekday")
    lean(page, "weekday", 5)
    page.click("#compare")
    page.fill("#filter-from", "2018-03-01")
    page.fill("#filter-to", "2023-03-01")
    page.fill("#filter-folder", "AT")
    page.press("#filter-folder", "Enter")
    shown(page)
    assert {"From 1 March 2018", "To 1 March 2023", "Folder “AT”"} <= _chips(page)
    with Library.open(postcards) as library:
        found = [library.store.photo(id_) for id_ in ids(page)]
    assert found
    assert all(photo.taken and "2018-03-01" <= f"{photo.taken:%Y-%m-%d}" <= "2023-03-01" for photo in found)
    assert all("at" in photo.folder.lower() for photo in found)
    address = urlsplit(page.url)
    again = visit().open(f"{address.path}?{address.query}")
    shown(again)
    assert ids(again) == ids(page)
    assert ids(again, "plain-grid") == ids(page, "plain-grid")
    for name, value in {"place": "7", "camera": "-4", "weekday": "5", "hour": "0"}.items():
        assert again.input_value(f"#lean-{name}") == value
    for name, value in {"from": "2018-03-01", "to": "2023-03-01", "folder": "AT"}.items():
        assert again.input_value(f"#filter-{name}") == value
    before = ids(again)
    again.fill("#filter-from", "2099-01-01")
    again.wait_for_selector("#nothing h2")
    assert {"From 1 January 2099", "Folder “AT”"} <= _chips(again), "what is in the way can be seen"
    again.click("[aria-label='Remove the filter: to 1 march 2023']")
    again.wait_for_url(lambda url: "to=" not in url)
    again.click("[aria-label='Remove the filter: from 1 january 2099']")
    shown(again)
    assert set(before) <= set(ids(again))
    again.fill("#filter-from", "2099-01-01")
    again.wait_for_selector("#nothing h2")
    again.click("text=Remove the filters")
    shown(again)
    assert set(_told(again)) & {"from", "to", "folder"} == set()
    assert len(ids(again)) == 24
    assert again.input_value("#protect") == "5"
    assert again.is_checked("#mode-keep")
    assert again.input_value("#text") == _QUERY


def test_back_and_forward_go_through_searches_and_the_large_view(page: Any) -> None:
    search(page, _QUERY)
    first = ids(page)
    search(page, "cat")
    second = ids(page)
    assert first != second
    page.locator("#grid button.tile").nth(2).click()
    assert page.is_visible("#viewer")
    page.go_back()
    page.wait_for_selector("#viewer", state="hidden")
    assert ids(page) == second
    page.go_back()
    _about(page, "sunset")
    assert ids(page) == first
    assert page.input_value("#text") == _QUERY
    page.go_forward()
    _about(page, "cat")
    assert ids(page) == second
    page.go_back()
    page.go_back()
    page.wait_for_selector("#welcome h2")


def test_one_step_back_undoes_one_gesture(page: Any, postcards: Path) -> None:
    page.wait_for_selector("#welcome h2")
    box = page.locator("#clock svg").bounding_box()
    page.locator("#clock svg").click(position={"x": box["width"] / 2, "y": box["height"] * 0.9})
    shown(page)
    assert _told(page) == {"focus": ["hour=12:00"]}, "no words are needed"
    assert len(ids(page)) == 24
    assert page.inner_text("#summary .title") == "All photographs"
    assert page.locator("text=relevance kept").count() == 0
    page.go_back()
    page.wait_for_selector("#welcome h2")
    search(page, _QUERY)
    views = [(page.url, ids(page))]

    def seen() -> None:
        shown(page)
        views.append((page.url, ids(page)))

    page.locator("#lean-place").evaluate(  # dragged over many values, and let go
        """slider => {
            const tell = (kind) => slider.dispatchEvent(new Event(kind, {bubbles: true}));
            for (const value of [2, 5, 8, 10]) { slider.value = value; tell("input"); }
            tell("change");
        }"""
    )
    seen()
    page.click("text=More results")
    seen()
    page.select_option("#filter-country", "PT")
    seen()
    page.select_option("#filter-rating", "3")
    seen()
    assert {"Country Portugal", "Rating ★★★ or more"} <= _chips(page)
    with Library.open(postcards) as library:
        found = [library.store.photo(id_) for id_ in ids(page)]
    assert found
    assert all(photo.country == "PT" and photo.rating is not None and photo.rating >= 3 for photo in found)
    for go, way in ((page.go_back, views[-2::-1]), (page.go_forward, views[1:])):
        for url, there in way:
            go()
            page.wait_for_url(url)
            shown(page)
            assert ids(page) == there
    assert page.input_value("#filter-country") == "PT"
    page.click("[aria-label='Remove the filter: rating ★★★ or more']")
    page.wait_for_url(views[-2][0])
    assert page.input_value("#filter-rating") == ""


def test_what_is_shown_can_be_taken_along(visit: Any, postcards: Path) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"]).open(f"/?q={_QUERY}&spread=place&keep=0.5")
    shown(page)
    assert page.input_value("#force-slider") == "50", "what an address may say the slider can show"
    page.click("#copy")
    page.wait_for_selector("#taken:text('24 paths copied')")
    with Library.open(postcards) as library:
        paths = [library.store.photo(id_).path for id_ in ids(page)]
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == paths
    with page.expect_download() as download:
        page.click("#list")
    assert download.value.suggested_filename == "photographs.jsonl"
    records = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert [record["path"] for record in records] == paths
    assert [record["rank"] for record in records] == list(range(1, 25))


def test_the_large_view_says_why_and_goes_on(visit: Any, postcards: Path) -> None:
    visitor = visit()
    page = visitor.open()
    search(page, _QUERY)
    lean(page, "place", 10)
    shown_ids = ids(page)
    page.locator("#grid .came button.tile").first.click()
    assert "relevance alone would not have shown it" in page.inner_text(".why")
    assert [row.inner_text() for row in page.locator(".why dt").all()] == ["Relevance", "Place"]
    assert re.fullmatch(r"the first around \D+", page.inner_text(".why .opened")), "a city, and no cells"
    page.locator(".stage img").evaluate("picture => picture.decode()")
    assert page.locator(".stage img").evaluate("picture => picture.naturalWidth") in (320, 480)
    at = shown_ids.index(int(_told(page)["photo"][0]))
    assert page.get_attribute("text=Open the original", "href") == f"/api/photos/{shown_ids[at]}/image"
    assert re.search(r"\d\.\d{4}° [NS] \d+\.\d{4}° [EW]", page.inner_text(".known"))
    with Library.open(postcards) as library:
        file = postcards / library.store.photo(shown_ids[at - 1]).path
    away = file.rename(file.with_name("away"))
    page.reload()  # the next one is loaded ahead
    shown(page)
    page.click("[aria-label='Previous photograph']")
    assert _told(page)["photo"] == [str(shown_ids[at - 1])]
    page.wait_for_selector(".stage-note:text('is gone')")
    assert "the small picture that the library keeps" in page.inner_text(".stage-note")
    page.locator(".stage img").evaluate("picture => picture.decode()")
    assert page.locator("text=Open the original").count() == 0
    away.rename(file)
    visitor.errors.clear()  # the browser itself reports what it could not load
    page.click("text=More like this")
    shown(page)
    assert _told(page)["like"] == [str(shown_ids[at - 1])]
    assert shown_ids[at - 1] not in ids(page)
    assert page.is_hidden("#viewer")
    assert page.is_visible("#like")
    page.goto(f"{visitor.address}/?q={_QUERY}&photo=99999")
    page.wait_for_selector(".stage-note:text('not in the library')")
    assert page.is_hidden(".stage img")
    assert page.is_hidden("[aria-label='Next photograph']")
    visitor.errors.clear()
    page.goto(f"{visitor.address}/?q={_QUERY}&focus=place")
    shown(page)
    page.locator("#grid button.tile").first.click()
    assert re.fullmatch(r"the price of adding \D+", page.inner_text(".why .opened"))


def test_everything_with_the_keyboard_alone(page: Any) -> None:
    page.wait_for_selector("#welcome h2")
    page.keyboard.press("/")
    page.keyboard.type(_QUERY)
    page.keyboard.press("Enter")
    shown(page)
    found = ids(page)
    for _ in range(12):  # over the theme and the removal of wishes to the grid
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('tile')"):
            break
    focused = "Number(document.activeElement.dataset.id)"
    assert page.evaluate(focused) == found[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == found[2]
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) in found[3:9]
    page.keyboard.press("Home")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.is_visible("#viewer")
    page.keyboard.press("ArrowRight")
    assert _told(page)["photo"] == [str(found[1])]
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
    assert _told(page)["photo"] == [str(found[1])]
    page.keyboard.press("Escape")
    page.wait_for_selector("#viewer", state="hidden")
    assert page.evaluate(focused) == found[1], "the keyboard returns to what was seen last"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "lean-place":
            break
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    shown(page)
    assert _told(page)["spread"] == ["place"]
    assert page.get_attribute("#lean-place", "aria-valuetext") == "spread, weight 1.0"
    page.focus("#clock svg")
    page.keyboard.press("ArrowRight")
    shown(page)
    assert _told(page)["focus"][0].startswith("hour=")
    page.keyboard.press("Delete")
    page.focus("#map canvas")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    shown(page)
    assert any(wish.startswith("place=") for wish in _told(page)["focus"])
    page.wait_for_selector("#live:text('24 photographs')", state="attached")


def test_pointing_links_photographs_and_dots_both_ways(page: Any) -> None:
    search(page, _QUERY)
    tile = page.locator("#grid button.tile").nth(1)
    tile.hover()
    assert page.is_visible("#map-tip")
    assert page.locator("#clock .bar.linked").count() == 1
    page.mouse.move(5, 400)
    assert page.is_hidden("#map-tip")
    box = page.locator("#map canvas").bounding_box()
    for step in range(400):  # over the map until a dot is met
        x, y = step % 25, step // 25
        page.mouse.move(box["x"] + (x + 0.5) * box["width"] / 25, box["y"] + (y + 0.5) * box["height"] / 16)
        if page.locator("#grid .linked").count():
            break
    assert page.locator("#grid .linked").count() == 1
    name = page.inner_text("#map-tip b")
    page.mouse.down()
    page.mouse.up()
    shown(page)
    (place,) = _told(page)["focus"]
    assert re.fullmatch(r"place=-?\d+\.\d{4},-?\d+\.\d{4}", place), "a name would not say which Cambridge"
    assert page.inner_text("#summary .chip").startswith(f"Place: focus near {name}")


def test_compare_marks_what_came_and_what_went(page: Any) -> None:
    search(page, _QUERY)
    lean(page, "place", 10)
    page.click("#compare")
    plain, steered = ids(page, "plain-grid"), ids(page)
    assert len(plain) == len(steered) == 24

    def marked(selector: str) -> set[int]:
        return set(page.eval_on_selector_all(selector, "all => all.map(tile => Number(tile.dataset.id))"))

    assert marked("#grid .came button") == set(steered) - set(plain) != set()
    assert marked("#plain-grid .went button") == set(plain) - set(steered)
    page.locator("#plain-grid .went button").first.click()
    assert "left out" in page.inner_text(".why")
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "photo=" not in url)  # it goes back itself
    page.go_back()
    page.wait_for_selector("#plain", state="hidden")


def _found(site: Served) -> list[dict[str, Any]]:
    """What the page shows where the place is spread."""
    wishes = [{"name": "place", "direction": "spread"}]
    with site.client() as client:
        found = client.post("/api/search", json={"text": _QUERY, "k": 24, "protect": 3, "wishes": wishes})
        return list(found.json()["results"])


def test_phone(visit: Any, site: Served) -> None:
    page = visit(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).open(f"/?q={_QUERY}")
    shown(page)

    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= 390"))

    assert fits()
    places = int(page.get_attribute("#map", "data-places"))
    assert not page.is_visible("#lean-place")
    page.tap("#bar-steer")
    for name in ("place", "hour", "date", "season", "camera", "look"):
        page.locator(f"#lean-{name}").scroll_into_view_if_needed()
        assert page.locator(f"#lean-{name}").is_visible()
        box = page.locator(f"#lean-{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    lean(page, "place", 10)
    assert int(page.get_attribute("#map", "data-places")) > places
    assert fits()
    page.tap("#rail-close")
    page.tap("#bar-compare")
    assert page.is_visible("#plain-grid")
    assert fits()
    page.tap("#bar-compare")
    page.locator("#grid button.tile").first.tap()
    assert page.is_visible("#viewer")
    assert page.evaluate("document.querySelector('#viewer').scrollWidth <= 390")
    page.tap("[aria-label=Close]")
    assert page.is_hidden("#viewer")
    placed = sum(result["photo"]["lat"] is not None for result in _found(site))
    page.tap("#bar-steer")
    for width, height in ((390, 844), (820, 1180), (844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_selector(f"#map[data-seen='{placed}']", timeout=5000)
        page.locator("#timeline").scroll_into_view_if_needed()
        page.wait_for_selector("#timeline .years text", state="attached")
        # Read at once: what is drawn again while the size changes takes the place of what was there.
        year = page.eval_on_selector("#timeline .years text", "year => year.getBoundingClientRect().height")
        assert 0 < year < 20


def _touch(page: Any, *ways: tuple[float, float]) -> None:
    """A finger put down, moved along these points, and lifted."""
    session = page.context.new_cdp_session(page)
    for i, (x, y) in enumerate(ways):
        kind = "touchMove" if i else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def test_fingers_on_a_phone(visit: Any) -> None:
    page = visit(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True).open(f"/?q={_QUERY}")
    shown(page)
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
    page.wait_for_url(lambda url: "spread" not in url)
    shown(page)
    assert ids(page) == plain
    assert page.is_visible("#lean-place")
    page.go_forward()
    page.wait_for_url(steered)
    page.tap("#rail-close")
    page.wait_for_selector("#lean-place", state="hidden")
    assert page.url == steered, "what was steered stays"
    shown(page)

    there = ids(page)
    page.locator("#grid button.tile").first.tap()
    page.locator(".stage img").evaluate("picture => picture.decode()")
    picture = page.locator(".stage img").bounding_box()
    for which in ("Previous photograph", "Next photograph", "Actual size"):
        assert page.locator(f"[aria-label='{which}']").bounding_box()["y"] >= picture["y"] + picture["height"]
    middle = (picture["x"] + picture["width"] / 2, picture["y"] + picture["height"] / 2)
    _touch(page, middle, (middle[0] - 50, middle[1]), (middle[0] - 120, middle[1] + 4))
    page.wait_for_url(f"**photo={there[1]}")
    _touch(page, middle, (middle[0] + 50, middle[1]), (middle[0] + 120, middle[1] + 4))
    page.wait_for_url(f"**photo={there[0]}")
    _touch(page, middle)
    _touch(page, middle)
    page.wait_for_selector(".stage.zoomed")
    large = page.locator(".stage img").bounding_box()
    assert large["width"] >= 2 * picture["width"] - 1
    _touch(page, middle, (middle[0] - 20, middle[1]), (middle[0] - 40, middle[1]))
    assert page.locator(".stage img").bounding_box()["x"] == pytest.approx(large["x"] - 40, abs=1)
    assert page.url.endswith(f"photo={there[0]}")
    page.tap("[aria-label=Close]")
    page.wait_for_url(steered)


def test_dark_follows_the_system_and_the_choice_is_remembered(visit: Any) -> None:
    dark = visit(color_scheme="dark")
    page = dark.open()

    def brightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    page.wait_for_selector("#welcome h2")
    assert brightness(page) < 100
    page.click("#theme")
    assert brightness(page) > 600
    again = dark.open(f"/?q={_QUERY}")
    shown(again)
    assert brightness(again) > 600


def test_motion_is_used_and_left_out_where_it_is_not_wanted(visit: Any) -> None:
    running = "document.getAnimations().length"
    for motion, moves in (("no-preference", True), ("reduce", False)):
        page = visit(reduced_motion=motion).open(f"/?q={_QUERY}")
        shown(page)
        page.wait_for_timeout(900)
        page.evaluate(
            "document.addEventListener('mascot:shown', () => { window.moved = document.getAnimations().length; })"
        )
        lean(page, "place", 10)
        assert (page.evaluate("window.moved") > 0) == moves
        assert moves or page.evaluate(running) == 0


def test_a_server_that_is_gone_and_comes_back(chromium: Any, postcards: Path) -> None:
    with served(postcards) as site:
        visitor = _Visit(chromium, site.address)
        page = visitor.open(f"/?q={_QUERY}")
        shown(page)
        kept, port = ids(page), site.port
        site.stop(signal.SIGKILL)
        page.locator("#lean-place").fill("10")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "does not answer" in page.inner_text("#trouble")
        assert page.is_visible("#retry")
        assert ids(page) == kept, "what was found stays"
    with served(postcards, "--port", str(port)):
        shown(page)
        assert page.is_hidden("#trouble")
        assert counted(page, "places")[1] > counted(page, "places")[0]
        visitor.context.close()


def test_a_slow_server_is_told_and_a_stale_question_given_up(page: Any) -> None:
    search(page, _QUERY)
    context = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 1200, "downloadThroughput": -1, "uploadThroughput": -1}
    context.send("Network.enable")
    context.send("Network.emulateNetworkConditions", slow)
    page.locator("#lean-place").fill("10")
    assert page.is_hidden("#progress")
    page.wait_for_selector("#progress:not([hidden])")
    assert page.get_attribute("#results", "aria-busy") == "true"
    context.send("Network.emulateNetworkConditions", slow | {"latency": 0})
    page.locator("#lean-place").fill("9")
    shown(page, timeout_s=5)
    assert page.is_hidden("#progress")
    assert _told(page)["spread"] == ["place*0.9"]


def test_libraries_without_places_and_without_photographs(visit: Any, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    for i in range(3):
        write_jpeg(bare / f"{i}.jpg", "A boat", colour=(40 * i, 80, 90))
    write_jpeg(bare / "ÄRGER Straße" / "beach_sand.jpg", colour=(200, 80, 90))
    with served(_indexed(bare)) as site:
        page = visit(site.address).open("/?q=boat")
        shown(page)
        assert len(ids(page)) == 4
        assert "says where it was taken" in page.inner_text("#map-note")
        assert page.is_disabled("#lean-place")
        assert page.is_disabled("#lean-hour")
        assert page.is_enabled("#lean-look")
        assert page.is_hidden("#filter-country")
        page.fill("#filter-folder", "ärger STRASSE")
        page.press("#filter-folder", "Enter")
        page.wait_for_selector("#grid li:only-child")
        page.click("#grid button.tile")
        assert page.inner_html(".about h2") == "beach_<wbr>sand.jpg", "where a long name may be broken"
    empty = tmp_path / "empty"
    empty.mkdir()
    with served(_indexed(empty)) as site:
        page = visit(site.address).open()
        page.wait_for_selector("#welcome h2")
        assert page.inner_text("#welcome h2") == "No photographs yet"
        assert "mascot index" in page.inner_text("#welcome")
        assert page.is_hidden("#map-note")


def test_no_serious_problem_for_assistive_technology(visit: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()

    def serious(page: Any) -> list[tuple[str, str]]:
        page.wait_for_timeout(100)
        found = axe.run(page).response["violations"]
        return [(rule["id"], node["html"]) for rule in found if rule["impact"] in ("serious", "critical")
                for node in rule["nodes"]]  # fmt: skip

    page = visit().open()
    page.wait_for_selector("#welcome h2")
    assert serious(page) == []
    for theme in ("light", "dark"):
        page = visit(color_scheme=theme).open(f"/?q={_QUERY}&spread=place&focus=season*0.5&compare=1")
        shown(page)
        assert serious(page) == []
        page.locator("#grid button.tile").first.click()
        assert serious(page) == []
    phone = visit(viewport={"width": 390, "height": 844}).open(f"/?q={_QUERY}&focus=hour=18:00")
    shown(phone)
    phone.click("#bar-steer")
    assert serious(phone) == []
