"""The page in a real browser, on a real server, over the sample library."""

from __future__ import annotations

import json
import re
import signal
import zipfile
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
    done = mascot("index", str(root), "--encoder", "lite", state=root.parent / "state")
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
        self.context.set_default_timeout(60_000)
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


def _address(page: Any) -> dict[str, list[str]]:
    """The parameters in the address bar."""
    return parse_qs(page.evaluate("location.search").removeprefix("?"))


def _chips(page: Any) -> set[str]:
    """The wishes and filters above the photographs."""
    return {chip.inner_text().removesuffix("×").strip() for chip in page.locator("#summary .chip").all()}


def _about(page: Any, text: str) -> None:
    """Wait until photographs of this search are shown."""
    page.wait_for_selector(f"#heading:text('{text}')", state="attached")
    shown(page)


def _drag(page: Any, selector: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag between two points of an element, each given as shares of its width and height."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=4)
    page.mouse.up()


def _photos(root: Path, numbers: list[int]) -> list[Any]:
    with Library.open(root) as library:
        return [library.store.photo(number) for number in numbers]


def _library(site: Served) -> dict[str, Any]:
    with site.client() as client:
        return dict(client.get("/api/library").json())


def test_the_start_page_shows_photographs_at_once(page: Any) -> None:
    shown(page)
    assert page.inner_text("#welcome h2").startswith(f"{_POSTCARDS} photographs")
    newest = ids(page)
    assert newest
    assert page.is_disabled("#compare"), "there is nothing to compare"
    card = page.locator(".card-search").first
    text = card.inner_text()
    assert text[0].isupper()
    card.click()
    _about(page, text.lower())
    assert page.is_hidden("#welcome")
    for number in (48, 96):
        few = ids(page)
        page.click("text=More results")
        shown(page)
        assert _address(page)["k"] == [str(number)]
        assert ids(page)[: len(few)] == few
        assert len(few) < len(ids(page)) <= number
        if page.is_hidden("text=More results"):
            break
    assert page.is_hidden("text=More results"), "there are no more"
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not any(name.endswith("/image") for name in loaded), "tiles are thumbnails"
    page.click(".brand")
    page.wait_for_selector("#welcome:not([hidden])")
    search(page, _QUERY)
    assert ids(page) != newest
    page.fill("#text", "")  # what the cross in the box does
    page.wait_for_selector("#welcome:not([hidden])")
    shown(page)
    assert ids(page) == newest, "no results of old words"


def test_a_dial_is_felt_from_the_first_photograph_on(page: Any) -> None:
    search(page, _QUERY)
    before, places = ids(page), int(page.get_attribute("#map", "data-places"))
    assert counted(page, "places") == (places, places)
    assert page.inner_text("[data-name=place] .reading") == "As found"
    numbers = []
    for value in (2, 10):
        lean(page, "place", value)
        numbers.append(int(page.get_attribute("#map", "data-places")))
    assert places <= numbers[0] < numbers[1]
    assert counted(page, "places") == (places, numbers[1])
    assert page.inner_text("[data-name=place] .reading") == "Mix it up 100%"
    assert page.get_attribute("#lean-place", "aria-valuetext") == "Mix it up 100%"
    steered = ids(page)
    assert steered[0] == before[0], "the best match stays"
    assert len(set(steered[:8]) & set(before[:8])) <= 5, "the first rows change"
    assert _address(page) == {"q": [_QUERY], "spread": ["place"]}
    assert _chips(page) == {"Mix up places"}
    lean(page, "place", -5)
    assert _address(page)["focus"] == ["place*0.5"]
    assert _chips(page) == {"Keep places together 50%"}
    page.select_option("#add", "weekday")
    lean(page, "weekday", 10)
    page.click("[aria-label='Remove Keep places together 50%']")
    shown(page)
    assert _chips(page) == {"Mix up weekdays"}
    page.click("[aria-label='Remove the dial for weekday']")
    shown(page)
    assert ids(page) == before


def test_targets_are_chips_of_their_own_and_always_drawn(page: Any, visit: Any) -> None:
    search(page, "city")
    lean(page, "hour", 5)
    hours = int(page.get_attribute("#clock", "data-hours"))
    box = page.locator("#clock svg").bounding_box()
    # Midnight is at the top; half way round is noon.
    page.locator("#clock svg").click(position={"x": box["width"] / 2, "y": box["height"] * 0.9})
    shown(page)
    assert _address(page)["spread"] == ["hour*0.5"], "the dial stays"
    assert _address(page)["focus"] == ["hour=12:00"]
    assert int(page.get_attribute("#clock", "data-hours")) <= hours
    assert page.get_attribute("#clock .hand", "visibility") == "visible"
    lean(page, "hour", 0)
    page.locator("#timeline svg").scroll_into_view_if_needed()
    page.locator("#timeline svg").click(position={"x": 40, "y": 30})
    shown(page)
    assert re.fullmatch(r"date=\d{4}-\d{2}", _address(page)["focus"][1])
    page.click("[aria-label='Remove the target 12:00']")
    shown(page)
    assert page.get_attribute("#clock .hand", "visibility") == "hidden"
    page.locator("#map canvas").click(position={"x": 60, "y": 170})  # the Pacific: no photograph stands there
    shown(page)
    (place,) = (wish for wish in _address(page)["focus"] if wish.startswith("place"))
    assert re.fullmatch(r"place=-?\d+\.\d{4},-?\d+\.\d{4}", place)
    assert re.search(r"nearest is [\d,]+ km away", page.inner_text("[data-name=place] .near"))
    page.click("[data-name=season] .near-open")
    page.fill("[data-name=season] .near input", "winter")
    page.press("[data-name=season] .near input", "Enter")
    shown(page)
    assert "Near Winter" in _chips(page)
    # Both named targets are drawn, though no photograph was taken at either.
    named = visit().open("/?focus=place=Ulaanbaatar&focus=hour=3am&focus=date=1999")
    shown(named)
    named.wait_for_selector("#map[data-target='47.9,106.9']")
    assert named.text_content("#clock .middle") == "03:00"
    assert named.get_attribute("#timeline .hand", "visibility") == "visible"
    assert re.search(r"nearest is \d+ years away", named.inner_text("[data-name=date] .near"))


def test_a_value_that_is_not_there_is_explained_and_taken_back(visit: Any) -> None:
    other = visit()
    page = other.open(f"/?q={_QUERY}&focus=place=Nowhereville")
    page.wait_for_selector("#results[data-state=failed]")
    assert "no place is called 'Nowhereville'" in page.inner_text("#trouble")
    assert page.is_visible("#nothing")
    page.click("#reset")
    shown(page)
    assert page.is_hidden("#trouble")
    other.errors.clear()  # the browser itself reports the refused request


def test_a_link_reproduces_the_view(page: Any, visit: Any, postcards: Path) -> None:
    search(page, _QUERY)
    lean(page, "place", 7)
    lean(page, "camera", -4)
    page.fill("#protect", "5")
    page.select_option("#add", "weekday")
    lean(page, "weekday", 5)
    page.click("#compare")
    page.click("text=Dates and folder")
    page.fill("#filter-from", "2018-03-01")
    page.fill("#filter-to", "2023-03-01")
    page.fill("#filter-folder", "AT")
    page.press("#filter-folder", "Enter")
    shown(page)
    assert {"From 1 March 2018", "To 1 March 2023", "Folder “AT”"} <= _chips(page)
    assert page.get_attribute("#timeline .band", "visibility") == "visible"
    photos = _photos(postcards, ids(page) + ids(page, "stayed-grid"))
    assert photos
    assert all(photo.taken and "2018-03-01" <= f"{photo.taken:%Y-%m-%d}" <= "2023-03-01" for photo in photos)
    assert all("at" in photo.folder.lower() for photo in photos)
    address = urlsplit(page.url)
    again = visit().open(f"{address.path}?{address.query}")
    shown(again)
    for grid in ("grid", "went-grid", "stayed-grid"):
        assert ids(again, grid) == ids(page, grid)
    for name, value in {"place": "7", "camera": "-4", "weekday": "5", "hour": "0"}.items():
        assert again.input_value(f"#lean-{name}") == value
    for name, value in {"from": "2018-03-01", "to": "2023-03-01", "folder": "AT"}.items():
        assert again.input_value(f"#filter-{name}") == value
    assert again.input_value("#protect") == "5"
    assert again.input_value("#text") == _QUERY
    again.click("text=Dates and folder")
    again.fill("#filter-from", "2099-01-01")
    again.wait_for_selector("#nothing h2")
    assert {"From 1 January 2099", "Folder “AT”"} <= _chips(again), "what is in the way can be seen"
    again.click("[aria-label='Remove the filter To 1 March 2023']")
    again.wait_for_url(lambda url: "to=" not in url)
    again.wait_for_selector("#nothing h2")
    again.click("text=Remove the filters")
    shown(again)
    assert set(_address(again)) & {"from", "to", "folder"} == set()


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
    page.wait_for_selector("#welcome:not([hidden])")


def test_one_step_back_undoes_one_gesture(page: Any, postcards: Path) -> None:
    search(page, _QUERY)
    views = [(page.url, ids(page))]

    def remember() -> None:
        shown(page)
        views.append((page.url, ids(page)))

    page.locator("#lean-place").evaluate(  # dragged over many values, and let go
        """slider => {
            const tell = (kind) => slider.dispatchEvent(new Event(kind, {bubbles: true}));
            for (const value of [2, 5, 8, 10]) { slider.value = value; tell("input"); }
            tell("change");
        }"""
    )
    remember()
    page.click("text=More results")
    remember()
    page.select_option("#filter-country", "PT")
    remember()
    page.select_option("#filter-rating", "3")
    remember()
    assert {"Country Portugal", "Rating ★★★ or more"} <= _chips(page)
    photos = _photos(postcards, ids(page))
    assert photos
    assert all(photo.country == "PT" and photo.rating is not None and photo.rating >= 3 for photo in photos)
    for go, way in ((page.go_back, views[-2::-1]), (page.go_forward, views[1:])):
        for url, there in way:
            go()
            page.wait_for_url(url)
            shown(page)
            assert ids(page) == there
    page.click("[aria-label='Remove the filter Rating ★★★ or more']")
    page.wait_for_url(views[-2][0])
    assert page.input_value("#filter-rating") == ""


def test_the_timeline_shows_real_months_and_a_brush_filters(page: Any, site: Served, postcards: Path) -> None:
    shown(page)
    months = _library(site)["months"]
    assert sum(months.values()) == sum(_library(site)["hours"])
    filled = "all => all.filter((bar) => Number(bar.getAttribute('height')) > 0).length"
    assert page.eval_on_selector_all("#timeline .library", filled) == len(months), "a bar for each month that has some"
    _drag(page, "#timeline svg", (0.25, 0.3), (0.75, 0.3))
    shown(page)
    (start,), (end,) = _address(page)["from"], _address(page)["to"]
    assert start.endswith("-01")
    assert start < end
    taken = [f"{photo.taken:%Y-%m-%d}" for photo in _photos(postcards, ids(page))]
    assert taken
    assert all(start <= day <= end for day in taken)
    _drag(page, "#timeline svg", (0.75, 0.3), (0.5, 0.3))  # the end of the range
    page.wait_for_url(lambda url: end not in url)
    assert _address(page)["from"] == [start]
    assert "focus" not in _address(page)
    page.go_back()
    page.go_back()
    page.wait_for_selector("#welcome:not([hidden])")


def test_the_map_is_a_stage(visit: Any, postcards: Path) -> None:
    page = visit(viewport={"width": 1440, "height": 900}, color_scheme="dark").open()
    shown(page)
    search(page, _QUERY)
    view = page.wait_for_selector("#map[data-view]").get_attribute("data-view")
    lean(page, "place", 10)
    placed = {photo.id for photo in _photos(postcards, ids(page)) if photo.lat is not None}
    spots = "all => all.map((spot) => Number(spot.dataset.id))"
    assert set(page.eval_on_selector_all("#map .spot:not(.leaving)", spots)) == placed
    page.wait_for_selector(f"#map[data-seen='{len(placed)}']")
    stacks = int(page.get_attribute("#map", "data-stacks"))
    numbers = page.eval_on_selector_all(
        "#map .spot:not(.under) span", "all => all.map((it) => Number(it.innerText) || 1)"
    )
    assert len(numbers) == stacks
    assert sum(numbers) == len(placed)
    search(page, "cat")
    assert page.get_attribute("#map", "data-view") == view, "the map is where it was"
    page.click("#map-large")
    assert _address(page)["map"] == ["large"]
    assert page.locator("#map-stage #map").bounding_box()["width"] > 700
    page.wait_for_function(f"Number(document.querySelector('#map').dataset.stacks) > {stacks // 2}")
    page.locator("#map canvas").evaluate("canvas => canvas.focus()")
    page.click("[aria-label='Draw a box to filter by']")
    _drag(page, "#map canvas", (0.3, 0.1), (0.7, 0.5))
    shown(page)
    south, west, north, east = map(float, _address(page)["box"][0].split(","))
    photos = _photos(postcards, ids(page))
    assert photos
    assert all(south <= photo.lat <= north and west <= photo.lon <= east for photo in photos)
    assert any(chip.startswith("Inside ") for chip in _chips(page))
    assert page.get_attribute("[aria-label='Draw a box to filter by']", "aria-pressed") == "false"
    page.click("[aria-label^='Remove the filter Inside']")
    page.wait_for_url(lambda url: "box" not in url)
    shown(page)
    for _ in range(12):  # into a stack, until one photograph stands alone
        page.click("[aria-label='Zoom to the results']")
        page.wait_for_timeout(60)
        spot = page.locator("#map .spot:not(.under):not(.stacked)")
        if spot.count():
            break
        stack = page.locator("#map .spot.stacked").first.bounding_box()
        page.mouse.click(stack["x"] + stack["width"] / 2, stack["y"] + stack["height"] / 2)
    one = page.locator("#map .spot:not(.under):not(.stacked)").first
    number, box = one.get_attribute("data-id"), one.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.is_visible("#map-tip")
    page.mouse.down()
    page.mouse.up()
    assert page.is_visible("#viewer")
    assert _address(page)["photo"] == [number]
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "photo=" not in url)
    page.click("#map-large")
    assert page.locator("#map-slot #map").count() == 1


def test_pointing_links_photographs_map_and_clock(page: Any) -> None:
    search(page, _QUERY)
    page.locator("#grid button.tile").nth(1).hover()
    assert page.is_visible("#map-tip")
    assert page.locator("#clock .bar.linked").count() == 1
    page.mouse.move(5, 400)
    assert page.is_hidden("#map-tip")
    spot = page.locator("#map .spot:not(.under)").first.bounding_box()
    page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    assert page.locator("#grid .linked").count() >= 1


def test_compare_shows_what_came_and_what_went(page: Any) -> None:
    search(page, _QUERY)
    plain = ids(page)
    lean(page, "place", 10)
    steered = ids(page)
    page.click("#compare")
    came, went, stayed = (ids(page, grid) for grid in ("grid", "went-grid", "stayed-grid"))
    assert set(came) == set(steered) - set(plain) != set()
    assert set(went) == set(plain) - set(steered)
    assert set(stayed) == set(plain) & set(steered)
    assert page.inner_text("#went-heading") == f"{len(went)} photographs went"
    page.locator("#went-grid .went button.tile").first.click()
    assert page.inner_text(".why h3") == "Why it was left out"
    assert re.search(r"[A-Z].*\.$", page.inner_text(".why p"))
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "photo=" not in url)  # it goes back itself
    page.click("#reset")
    shown(page)
    assert page.is_hidden("#went")
    assert page.is_disabled("#compare")


def test_what_is_shown_can_be_taken_along(visit: Any, postcards: Path) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"]).open(f"/?q={_QUERY}&spread=place")
    shown(page)
    page.click("#copy")
    page.wait_for_selector(f"#taken:text('{len(ids(page))} paths copied')")
    with Library.open(postcards) as library:
        paths = [library.store.photo(id_).path for id_ in ids(page)]
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == paths
    with page.expect_download() as download:
        page.click("#list")
    assert download.value.suggested_filename == "photographs.jsonl"
    records = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert [record["path"] for record in records] == paths
    assert [record["rank"] for record in records] == list(range(1, len(paths) + 1))


def test_the_large_view_says_why_and_goes_on(visit: Any, postcards: Path) -> None:
    visitor = visit()
    page = visitor.open(f"/?q={_QUERY}&spread=place&focus=hour=18:00")
    shown(page)
    numbers = ids(page)
    at = next(i for i, photo in enumerate(_photos(postcards, numbers)) if i and photo.city and photo.taken)
    page.locator("#grid button.tile").nth(at).click()
    sentences = [sentence.inner_text() for sentence in page.locator(".why p").all()]
    assert all(re.fullmatch(r"It .+\.|By .+\.", sentence) for sentence in sentences)
    assert re.search(r"It is (the only one|the first of \d+|one of \d+) from ", sentences[0])
    assert any(re.match(r"It was taken at \d\d:\d\d, ", sentence) for sentence in sentences)
    assert not re.search(r"was \d+(st|nd|rd|th)", page.inner_text("#viewer"))
    known = page.inner_text(".known")
    assert re.search(r"Moment\s+\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d", known), "a moment as people write it"
    assert "none" not in known
    assert re.search(r"\d\.\d{4}° [NS] \d+\.\d{4}° [EW]", known)
    page.locator(".stage img").evaluate("picture => picture.decode()")
    assert page.locator(".stage img").evaluate("picture => picture.naturalWidth") in (320, 480)
    assert page.get_attribute("text=Open the original", "href") == f"/api/photos/{numbers[at]}/image"
    file = postcards / _photos(postcards, [numbers[at - 1]])[0].path
    away = file.rename(file.with_name("away"))
    page.reload()  # the next one is loaded ahead
    shown(page)
    page.click("[aria-label='Previous photograph']")
    assert _address(page)["photo"] == [str(numbers[at - 1])]
    page.wait_for_selector(".stage-note:text('is gone')")
    assert "the small picture that the library keeps" in page.inner_text(".stage-note")
    assert page.locator("text=Open the original").count() == 0
    away.rename(file)
    visitor.errors.clear()  # the browser itself reports what it could not load
    page.click("text=More like this")
    shown(page)
    assert _address(page)["like"] == [str(numbers[at - 1])]
    assert numbers[at - 1] not in ids(page)
    assert page.is_visible("#like")
    page.goto(f"{visitor.address}/?q={_QUERY}&photo=99999")
    page.wait_for_selector(".stage-note:text('not in the library')")
    assert page.is_hidden(".stage img")
    assert page.is_hidden("[aria-label='Next photograph']")
    visitor.errors.clear()


def test_a_search_before_the_library_has_answered(visit: Any) -> None:
    visitor = visit()
    held: list[Any] = []
    visitor.context.route("**/api/library", lambda route: held.append(route))
    page = visitor.open()
    page.fill("#text", _QUERY)
    page.press("#text", "Enter")
    page.wait_for_url(lambda url: "q=" in url)
    held[0].continue_()
    _about(page, _QUERY)


def test_similar_photographs_stand_behind_one(page: Any, visit: Any) -> None:
    shown(page)
    numbers = ids(page)
    other = visit()

    def stacked(route: Any) -> None:
        answer = route.fetch()
        body = answer.json()
        body["results"][1]["similar"] = numbers[10:13]
        route.fulfill(response=answer, json=body)

    other.context.route("**/api/search", stacked)
    page = other.open(f"/?q={_QUERY}")
    shown(page)
    assert [badge.inner_text() for badge in page.locator("#grid .badge:not(:empty)").all()] == ["3 similar"]
    page.locator("#grid button.tile").nth(1).click()
    assert page.inner_text(".similar h3") == "3 similar photographs"
    page.locator(".similar button").nth(2).click()
    page.wait_for_url(lambda url: f"photo={numbers[12]}" in url)


def test_the_tray_picks_rejects_completes_and_takes_away(visit: Any, postcards: Path) -> None:
    page = visit().open(f"/?q={_QUERY}")
    shown(page)
    before = ids(page)
    assert page.is_hidden("#tray")
    for place in range(3):
        tile = page.locator("#grid li").nth(place)
        tile.hover()
        tile.locator(".mini.pick").click()
    assert page.inner_text("#tray h2") == "3 photographs picked"
    assert ids(page) == before, "nothing moves while one picks"
    page.locator("#grid button.tile").nth(5).focus()
    page.keyboard.press("x")
    shown(page)
    assert _address(page)["reject"] == [str(before[5])]
    assert before[5] not in ids(page)
    page.locator("#grid button.tile").nth(3).click()
    page.click("#viewer .pick")
    assert page.inner_text("#viewer .pick") == "Picked"
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "photo=" not in url)
    pinned = [int(number) for number in _address(page)["pin"][0].split(",")]
    assert pinned == before[:4]
    page.click("text=Complete my set")
    page.wait_for_url(lambda url: "complete=15" in url)
    shown(page)
    assert set(pinned) < set(ids(page))
    assert len(ids(page)) == len(pinned) + 15
    assert before[5] not in ids(page)
    assert {"Completes the 4 photographs you picked", "Mix up places"} <= _chips(page), "the dials say by what"
    for label, suffix in (("Download", "zip"), ("Album", "html")):
        with page.expect_download() as download:
            page.click(f"#tray >> text={label}")
        assert download.value.suggested_filename.endswith(suffix)
        content = Path(download.value.path())
        if suffix == "zip":
            assert len(zipfile.ZipFile(content).namelist()) == len(pinned)
        else:
            assert content.read_text("utf-8").count("<img") >= len(pinned)
    name = "Beach <b onclick=alert(1)>"
    page.fill("#tray input", name)
    page.press("#tray input", "Enter")
    page.wait_for_selector("#tray summary:text('Saved (1)')")
    page.click("[aria-label='Empty the tray']")
    assert page.locator(".tray-pictures li").count() == 0
    page.click("#tray summary")
    page.click(f"#tray li >> text={name}")
    assert page.locator(".tray-pictures li").count() == len(pinned)
    assert page.locator("#tray b").count() == 0, "a name is text"
    page.locator(".tray-pictures li").first.hover()
    page.locator("[aria-label='Take it out of the tray']").first.click()
    assert page.inner_text("#tray h2") == "3 photographs picked"
    page.reload()
    shown(page)
    assert page.locator(".tray-pictures li").count() == len(pinned) - 1
    page.click("text=/Bring back 1 rejected/")
    shown(page)
    page.click("#tray summary")
    page.click("[aria-label^='Delete the choice']")
    page.wait_for_selector("#tray summary", state="hidden")


def test_everything_with_the_keyboard_alone(page: Any) -> None:
    shown(page)
    page.keyboard.press("/")
    page.keyboard.type(_QUERY)
    page.keyboard.press("Enter")
    _about(page, _QUERY)
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
    assert _address(page)["pin"] == [str(numbers[0])]
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    assert page.is_visible("#viewer")
    page.keyboard.press("ArrowRight")
    assert _address(page)["photo"] == [str(numbers[1])]
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
    assert page.evaluate(focused) == numbers[1], "the keyboard returns to what was seen last"
    tab_to("document.activeElement.id === 'lean-place'")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    shown(page)
    assert _address(page)["spread"] == ["place"]
    for face in ("#clock svg", "#timeline svg"):
        page.focus(face)
        page.keyboard.press("ArrowRight")
        shown(page)
        assert len(_address(page)["focus"]) == 1
        page.keyboard.press("Delete")
    page.focus("#map canvas")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    shown(page)
    assert any(wish.startswith("place=") for wish in _address(page)["focus"])
    page.keyboard.press("b")
    page.wait_for_url(lambda url: "box=" in url)
    page.wait_for_selector("#live:text('photograph')", state="attached")


def test_the_sheet_of_a_phone_leaves_changing_photographs_in_sight(visit: Any) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
    page = visit(**phone).open(f"/?q={_QUERY}")
    shown(page)
    fits = "document.documentElement.scrollWidth <= 390"
    assert page.evaluate(fits)
    assert not page.is_visible("#lean-place")
    page.tap("#bar-steer")
    in_sight = """() => {
        const top = document.querySelector("#rail").getBoundingClientRect().top;
        return [...document.querySelectorAll("#grid button.tile")].filter((tile) => {
            const box = tile.getBoundingClientRect();
            return box.top >= 60 && box.bottom <= top;
        }).map((tile) => Number(tile.dataset.id));
    }"""
    page.wait_for_function("document.querySelector('#rail').getBoundingClientRect().bottom <= innerHeight + 1")
    for tab, name in (("Place", "place"), ("Hour", "hour"), ("Date", "date"), ("More", "look")):
        page.tap(f"#tabs >> text={tab}")
        page.locator(f"#lean-{name}").scroll_into_view_if_needed()
        box = page.locator(f"#lean-{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        before = page.evaluate(in_sight)
        assert len(before) >= 5
        lean(page, name, 10)
        assert page.evaluate(in_sight) != before, "they change in sight"
        lean(page, name, 0)
    for tab, face, name in (
        ("Hour", "#clock svg", "hour"),
        ("Date", "#timeline svg", "date"),
        ("Place", "#map canvas", "place"),
    ):
        page.tap(f"#tabs >> text={tab}")
        box = page.locator(face).bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] * 0.15, box["y"] + box["height"] / 2)
        page.wait_for_selector(f"[data-name={name}] .near-chip:visible")
        shown(page)
        page.tap(f"[data-name={name}] .near-chip button")
        shown(page)
    lean(page, "place", 10)
    assert page.evaluate(fits)
    page.tap("#rail-close")
    page.wait_for_selector("#lean-place", state="hidden")
    page.tap("#bar-compare")
    assert page.is_visible("#went-grid")
    assert page.evaluate(fits)
    page.tap("#bar-compare")
    page.locator("#grid .mini.pick").first.tap()
    assert page.is_visible("#tray")
    assert page.evaluate(fits)
    page.tap("text=Complete my set")
    page.wait_for_url(lambda url: "complete=15" in url)
    shown(page)
    page.tap("#bar-tray")
    page.wait_for_selector("#tray", state="hidden")
    page.locator("#grid button.tile").first.tap()
    assert page.is_visible("#viewer")
    assert page.evaluate("document.querySelector('#viewer').scrollWidth <= 390")
    page.tap("[aria-label=Close]")
    page.wait_for_selector("#viewer", state="hidden")


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

    shown(page)
    assert brightness(page) < 100
    page.click("#theme")
    assert brightness(page) > 600
    again = dark.open(f"/?q={_QUERY}")
    shown(again)
    assert brightness(again) > 600


def test_photographs_move_to_their_places_unless_motion_is_not_wanted(visit: Any) -> None:
    for motion, moves in (("no-preference", True), ("reduce", False)):
        page = visit(reduced_motion=motion).open(f"/?q={_QUERY}&map=large")
        shown(page)
        page.wait_for_timeout(900)
        page.evaluate(
            """document.addEventListener("mascot:shown", () => {
                window.moved = document.getAnimations().length;
                requestAnimationFrame(() => requestAnimationFrame(() => {
                    window.went = document.querySelector(".map-spots").getAnimations({ subtree: true }).length;
                }));
            })"""
        )
        lean(page, "place", 10)
        page.wait_for_function("window.went !== undefined")
        assert (page.evaluate("window.moved") > 0) == moves
        assert (page.evaluate("window.went") > 0) == moves


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
    assert _address(page)["spread"] == ["place*0.9"]


def test_libraries_without_places_with_hostile_names_and_without_photographs(visit: Any, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    bare = tmp_path / "bare"
    for i in range(3):
        write_jpeg(bare / f"{i}.jpg", "A boat", colour=(40 * i, 80, 90))
    write_jpeg(bare / "ÄRGER Straße" / "beach_sand.jpg", colour=(200, 80, 90))
    write_jpeg(bare / "<b>bold" / "<i>boat.jpg", hostile, colour=(90, 80, 200))
    with served(_indexed(bare)) as site:
        page = visit(site.address).open("/?q=boat&spread=folder")
        shown(page)
        assert len(ids(page)) == 5
        assert "says where it was taken" in page.inner_text("#map-note")
        assert page.is_disabled("#lean-place")
        assert page.is_disabled("#lean-hour")
        assert page.is_enabled("#lean-look")
        assert page.is_hidden("#filter-country")
        page.locator(f"[aria-label^='{hostile}']").click()
        assert page.inner_text(".about h2") == hostile
        assert "<b>bold" in page.inner_text(".known")
        assert "“<b>bold”" in page.inner_text(".why")
        assert page.locator("#viewer img[src='x'], #viewer b, #viewer i").count() == 0
        page.keyboard.press("Escape")
        page.wait_for_url(lambda url: "photo=" not in url)
        page.click("text=Dates and folder")
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


_WIDTHS = {"wide": (1440, 900), "middle": (1280, 800), "phone": (390, 844)}
_DIALS = {"Place": ("place",), "Hour": ("hour",), "Date": ("date",), "More": ("season", "camera", "look")}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", _WIDTHS)
def test_every_control_at_every_width(visit: Any, theme: str, width: str) -> None:
    size = dict(zip(("width", "height"), _WIDTHS[width], strict=True))
    phone = width == "phone"
    page = visit(viewport=size, color_scheme=theme, has_touch=phone, is_mobile=phone).open()
    shown(page)

    def rail(tab: str) -> None:
        if phone and page.get_attribute("#bar-steer", "aria-expanded") == "false":
            page.click("#bar-steer")
        if phone:
            page.click(f"#tabs >> text={tab}")

    def close_rail() -> None:
        if phone:
            page.click("#rail-close")
            page.wait_for_selector("#lean-place", state="hidden")

    def wishes(kind: str) -> list[str]:
        shown(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        return _address(page).get(kind, [])

    page.locator(".card-search").first.click()
    shown(page)
    search(page, _QUERY)
    assert ids(page)
    for tab, names in _DIALS.items():
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
    for tab, face, name in (
        ("Hour", "#clock svg", "hour"),
        ("Date", "#timeline svg", "date"),
        ("Place", "#map canvas", "place"),
    ):
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
    _drag(page, "#map canvas", (0.2, 0.1), (0.8, 0.6))
    assert len(wishes("box")) == 1
    rail("Date")
    _drag(page, "#timeline svg", (0.2, 0.3), (0.8, 0.3))
    assert len(wishes("from")) == len(wishes("to")) == 1
    rail("Place")
    lean(page, "place", 10)
    page.click("#reset")
    assert wishes("spread") == []
    lean(page, "place", 10)
    close_rail()
    for label in page.eval_on_selector_all("#summary .chip button", "all => all.map((it) => it.ariaLabel)"):
        if label.startswith("Remove the filter"):
            page.click(f"[aria-label='{label}']")
    assert (wishes("box"), wishes("from"), wishes("to")) == ([], [], [])
    page.click("#bar-compare" if phone else "#compare")
    page.wait_for_selector("#went-grid:visible")
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
    assert wishes("k") == [], "24 are shown unless something else is asked for"
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
    assert _address(page) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_for_assistive_technology_to_complain_about(visit: Any, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()

    def violations(page: Any) -> list[tuple[str, str]]:
        page.wait_for_timeout(100)
        rules = axe.run(page).response["violations"]
        return [(rule["id"], node["html"]) for rule in rules for node in rule["nodes"]]

    wide, middle, phone = (
        {"width": width, "height": height} for width, height in ((1440, 900), (1280, 800), (390, 844))
    )
    steered = f"/?q={_QUERY}&spread=place&focus=season*0.5&focus=hour=18:00"
    page = visit(color_scheme=theme, viewport=wide).open(f"{steered}&map=large&compare=1&country=PT")
    shown(page)
    assert violations(page) == []
    page = visit(color_scheme=theme, viewport=middle).open()
    shown(page)
    assert violations(page) == []
    page.locator("#grid .mini.pick").first.dispatch_event("click")
    page.click("text=Dates and folder")
    assert violations(page) == []
    page.click(".brand")
    page.locator("#grid button.tile").first.click()
    assert violations(page) == []
    page = visit(color_scheme=theme, viewport=phone, has_touch=True, is_mobile=True).open(steered)
    shown(page)
    assert violations(page) == []
    page.click("#bar-steer")
    for tab in ("Place", "More"):
        page.click(f"#tabs >> text={tab}")
        assert violations(page) == []
