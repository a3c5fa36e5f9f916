"""The page in a real browser, on a real server, over the sample library: by mouse, keyboard and touch."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mascot.photos import Library
from tests.server.browser import POSTCARDS, QUERY, Tab

GRIDS = ("grid", "removed-grid", "kept-grid")
IN_SIGHT = """() => {
    const top = document.querySelector("#rail").getBoundingClientRect().top;
    return [...document.querySelectorAll("#grid button.tile")].filter((tile) => {
        const box = tile.getBoundingClientRect();
        return box.top >= 60 && box.bottom <= top;
    }).map((tile) => Number(tile.dataset.id));
}"""

SPOT = """async (kind) => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
    const spots = [...document.querySelectorAll("#map .spot:not(.under):not(.leaving)" + kind)].map((spot) => {
        const box = spot.getBoundingClientRect();
        return [spot.dataset.id, box.x + box.width / 2, box.y + box.height / 2];
    });
    return spots.find(([, x, y]) => document.elementFromPoint(x, y)?.id === "map-canvas");
}"""  # a photograph on the map, once it is drawn, that no button covers


def _photos(root: Path, numbers: list[int]) -> list[Any]:
    """Return the photographs of these ids, of which there must be some."""
    with Library.open(root) as library:
        photos = library.store.photos(numbers)
    assert photos
    return photos


def test_the_start_page_offers_years_and_the_best_of_them(tab: Tab, postcards: Path) -> None:
    page = tab.open(fresh=True)
    assert page.inner_text("#welcome h2").startswith(f"{POSTCARDS} photographs")
    assert page.is_disabled("#compare"), "there is nothing to compare"
    newest = page.ids()
    page.click("[aria-label=Years] .card-item:has(.card-best) .card-search")
    page.wait_for_url(lambda url: "since=" in url)
    page.settled()
    year = page.parameters()["since"][0][:4]
    assert page.is_hidden("#welcome")
    assert (page.text_content("#summary .title"), page.chips()) == (year, {year})
    dates = [f"{photo.taken}" for photo in _photos(postcards, page.ids())]
    assert [date[:4] for date in dates] == [year] * len(dates)
    assert dates == sorted(dates)
    headings = page.locator("#grid .heading").all_inner_texts()
    assert len(headings) == len({date[:7] for date in dates})
    page.go_back()
    page.wait_for_selector("#welcome:not([hidden])")
    page.settled()
    assert page.ids() == newest
    page.click("[aria-label=Years] .card-best")
    page.about("The best of")
    assert {"Best photographs", "At most 1 per moment", "Mix up months", "Mix up places"} <= page.chips()
    assert page.input_value("#lean-place") == "10", "the dials can be turned further"
    assert len(page.ids()) == int(page.parameters()["k"][0])
    page.ask("#best")
    assert page.chips() == {page.parameters()["since"][0][:4]}


def test_few_results_say_which_chip_to_drop(tab: Tab) -> None:
    page = tab.open("/?text=water in 2019, one per year")
    assert page.inner_text("#few").startswith("Only 1 photograph.")
    page.ask("#few >> text=/Without 1 per year: [0-9]+/")
    assert len(page.ids()) > 1
    assert page.input_value("#text") == "water in 2019"


def test_a_drag_along_the_timeline_filters_by_months(tab: Tab, postcards: Path) -> None:
    page = tab.open()
    page.drag("#timeline svg", (0.25, 0.3), (0.75, 0.3))
    (since,), (until,) = page.parameters()["since"], page.parameters()["until"]
    assert since.endswith("-01")
    assert all(since <= f"{photo.taken:%Y-%m-%d}" <= until for photo in _photos(postcards, page.ids()))
    page.drag("#timeline svg", (0.75, 0.3), (0.5, 0.3))  # the end of the range
    page.without(until)
    assert page.parameters()["since"] == [since]
    assert "focus" not in page.parameters()


def test_filters_are_fields_chips_and_part_of_the_link(tab: Tab, postcards: Path) -> None:
    page = tab.open(f"/?text={QUERY}&spread=place*0.7&focus=camera*0.4&protect=5&compare=1")
    page.click("text=Dates and folder")
    filters = {"since": "2018-03-01", "until": "2023-03-01", "folder": "AT"}
    for name, value in filters.items():
        page.fill(f"#filter-{name}", value)
    page.press("#filter-folder", "Enter")
    page.settled()
    for photo in _photos(postcards, page.ids() + page.ids("kept-grid")):
        assert "2018-03-01" <= f"{photo.taken:%Y-%m-%d}" <= "2023-03-01"
        assert "at" in photo.folder.lower()
    grids = {grid: page.ids(grid) for grid in GRIDS}
    tab.open(page.url.removeprefix(tab.address), fresh=True)
    assert {grid: page.ids(grid) for grid in grids} == grids
    inputs = {f"filter-{name}": value for name, value in filters.items()}
    inputs |= {"protect": "5", "text": QUERY, "lean-place": "7", "lean-camera": "-4"}
    assert {name: page.input_value(f"#{name}") for name in inputs} == inputs


def test_filters_that_leave_nothing_can_be_removed(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}&since=2099-01-01&folder=AT")
    assert page.is_visible("#nothing h2")
    assert {"From 1 January 2099", "Folder “AT”"} <= page.chips()
    page.ask("text=Remove the filters")
    assert page.parameters() == {"text": [QUERY]}
    assert page.input_value("#filter-folder") == ""


def test_fields_without_a_control_are_sent_and_are_chips(tab: Tab, postcards: Path) -> None:
    page = tab.open("/?limit=country=1&strength=0.5&order=relevance")
    countries = [photo.country for photo in _photos(postcards, page.ids()) if photo.country]
    assert len(countries) == len(set(countries)) > 3
    assert page.chips() == {"At most 1 per country", "Strength 50%"}
    assert page.input_value("#order") == "relevance"
    page.ask("[aria-label='Remove At most 1 per country']")
    assert page.parameters() == {"strength": ["0.5"], "order": ["relevance"]}


def test_a_dial_changes_the_first_photographs(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    before, places = page.ids(), int(page.get_attribute("#map", "data-places"))
    page.lean("place", 10)
    assert page.counted("places") == (places, int(page.get_attribute("#map", "data-places")))
    assert places < page.counted("places")[1]
    steered = page.ids()
    assert steered[0] == before[0], "the best match stays"
    assert len(set(steered[:8]) & set(before[:8])) <= 5, "the first rows change"
    assert page.parameters() == {"text": [QUERY], "spread": ["place"]}
    page.ask("[aria-label='Remove Mix up places']")
    assert page.ids() == before


def test_compare_shows_what_was_added_removed_and_kept(tab: Tab) -> None:
    before = set(tab.open(f"/?text={QUERY}").ids())
    page = tab.open(f"/?text={QUERY}&spread=place")
    assert page.chips() == {"Mix up places"}
    steered = set(page.ids())
    page.click("#compare")
    added, removed, kept = (set(page.ids(grid)) for grid in GRIDS)
    assert added == steered - before != set()
    assert (removed, kept) == (before - steered, before & steered)
    page.locator("#removed-grid .removed button.tile").first.click()
    assert page.inner_text(".why").startswith("Why it was left out\n")


def test_a_sentence_becomes_chips_that_are_edited_and_put_back(tab: Tab) -> None:
    page = tab.open("/?text=water in 2019, one per city, without people")
    assert page.chips() == {"2019", "1 per city"}
    assert page.text_content("#summary .title") == "Water"
    assert "without people" in page.text_content("#ignored")
    page.click("#wishes >> text=2019")
    page.fill("#wishes .editor input", "in 2018")
    page.press("#wishes .editor input", "Enter")
    page.wait_for_selector("#wishes >> text=2018")
    assert page.input_value("#text") == "water in 2018, one per city, without people"
    page.click("#wishes .words:text('1 per city')")
    page.click("#wishes >> text=Search for the words")
    page.wait_for_function("() => !document.querySelector('#wishes').textContent.includes('per city')")
    assert '"one per city"' in page.input_value("#text")
    page.click("[aria-label='Remove 2018']")
    page.wait_for_function("() => document.querySelectorAll('#wishes .chip').length === 0")


def test_limits_and_shares_are_set_edited_and_refused(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    page.click("text=At most…")
    page.select_option("[aria-label='Per which attribute']", "country")
    page.ask(".editor >> text=Set")
    page.wait_for_url(lambda url: "limit=country=1" in url)
    page.click("#wishes >> text=At most 1 per country")
    page.fill("[aria-label='How many']", "2")
    page.click(".editor >> text=Set")
    page.wait_for_url(lambda url: "limit=country=2" in url)
    page.settled()
    assert page.chips() == {"At most 2 per country"}
    page.click("text=At most…")
    page.select_option("[aria-label='Kind of rule']", "share")
    page.fill("[aria-label='Value']", "Portugal")
    page.click(".editor >> text=Set")
    page.wait_for_selector(".editor .problem:not(:empty)")
    page.select_option("[aria-label='Attribute']", "season")
    page.fill("[aria-label='Value']", "summer")
    page.click(".editor >> text=Set")
    page.wait_for_url(lambda url: "share=season=summer:50%" in url)
    page.errors.clear()  # the refused request


def test_bad_values_of_a_link_are_said_and_removed(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}&since=banana&box=1,2,3", fresh=True)
    assert "since=banana, box=1,2,3" in page.text_content("#toast")
    assert set(page.parameters()) == {"text"}


def test_the_notice_is_dismissed(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}", fresh=True)
    assert "/bin/python" not in page.text_content("#notice")
    page.click("[aria-label='Dismiss the notice']")
    page.search("cat")
    assert page.is_hidden("#notice")


def test_targets_are_chips_of_their_own(tab: Tab) -> None:
    page = tab.open("/?text=city&spread=hour*0.5")
    box = page.locator("#clock svg").bounding_box()
    # Midnight is at the top; half way round is noon.
    page.locator("#clock svg").click(position={"x": box["width"] / 2, "y": box["height"] * 0.9})
    page.settled()
    assert (page.parameters()["spread"], page.parameters()["focus"]) == (["hour*0.5"], ["hour=12:00"])
    page.ask("[aria-label='Remove the target 12:00']")
    assert page.get_attribute("#clock .hand", "visibility") == "hidden"
    page.click("[data-name=season] .near-open")
    page.fill("[data-name=season] .near input", "winter")
    page.press("[data-name=season] .near input", "Enter")
    page.wait_for_url(lambda url: "focus=season=winter" in url)  # once the server has accepted it
    page.settled()
    assert page.parameters()["focus"] == ["season=winter"]


def test_one_step_back_undoes_one_gesture(tab: Tab) -> None:
    page = tab.open()
    views = [(page.url, page.ids())]

    def remember() -> None:
        page.settled()
        views.append((page.url, page.ids()))

    page.search(QUERY)
    remember()
    page.locator("#lean-place").evaluate(  # dragged over many values, and released
        """slider => {
            const send = (kind) => slider.dispatchEvent(new Event(kind, {bubbles: true}));
            for (const value of [2, 5, 8, 10]) { slider.value = value; send("input"); }
            send("change");
        }"""
    )
    remember()
    page.select_option("#filter-rating", "3")
    remember()
    page.locator("#grid button.tile").first.click()
    assert page.is_visible("#viewer")
    page.go_back()
    page.wait_for_selector("#viewer", state="hidden")
    for go, way in ((page.go_back, views[-2::-1]), (page.go_forward, views[1:])):
        for url, photos in way:
            go()
            page.wait_for_url(url)
            page.settled()
            assert page.ids() == photos
    assert page.input_value("#text") == QUERY


def test_the_map_shows_and_highlights_the_photographs_that_have_a_place(tab: Tab, postcards: Path) -> None:
    page = tab.open(f"/?text={QUERY}&spread=place")
    page.locator("#grid button.tile").nth(1).hover()
    assert page.is_visible("#map-tip")
    assert page.locator("#clock .bar.linked").count() == 1
    _, x, y = page.evaluate(SPOT, "")
    page.mouse.move(x, y)
    assert page.locator("#grid .linked").count() >= 1
    placed = {photo.id for photo in _photos(postcards, page.ids()) if photo.lat is not None}
    spots = "all => all.map((spot) => Number(spot.dataset.id))"
    assert set(page.eval_on_selector_all("#map .spot:not(.leaving)", spots)) == placed
    page.wait_for_selector(f"#map[data-seen='{len(placed)}']")
    read = "all => all.map((it) => Number(it.innerText) || 1)"
    numbers = page.eval_on_selector_all("#map .spot:not(.under) span", read)
    assert (len(numbers), sum(numbers)) == (int(page.get_attribute("#map", "data-stacks")), len(placed))
    view = page.get_attribute("#map", "data-view")
    page.search("cat")
    assert page.get_attribute("#map", "data-view") == view, "the map does not move"


def test_a_box_on_the_large_map_filters(tab: Tab, postcards: Path) -> None:
    page = tab.open("/?text=cat")
    view = page.get_attribute("#map", "data-view")
    page.click("#map-large")
    assert page.parameters()["map"] == ["large"]
    page.wait_for_selector(f"#map:not([data-view='{view}'])")
    assert page.locator("#map-stage #map").bounding_box()["width"] > 700
    page.click("[aria-label='Draw a box to filter by']")
    page.drag("#map canvas", (0.3, 0.1), (0.7, 0.5))
    south, west, north, east = map(float, page.parameters()["box"][0].split(","))
    for photo in _photos(postcards, page.ids()):
        assert south <= photo.lat <= north
        assert west <= photo.lon <= east
    page.click("[aria-label^='Remove the filter Inside']")
    page.without("box")
    page.click("[aria-label='Zoom to the results']")
    number, x, y = page.evaluate(SPOT, ":not(.stacked)")
    page.mouse.click(x, y)
    page.wait_for_selector("#viewer", state="visible")
    assert page.parameters()["photo"] == [number]


def test_the_large_view_shows_reason_metadata_and_neighbours(tab: Tab, postcards: Path) -> None:
    page = tab.open(f"/?text={QUERY}&spread=place&focus=hour=18:00")
    numbers = page.ids()
    at = next(i for i, photo in enumerate(_photos(postcards, numbers)) if i and photo.city and photo.taken)
    page.locator("#grid button.tile").nth(at).click()
    assert page.inner_text(".why").startswith("Why it is here\n")
    assert re.search(r"Moment\s+\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d", page.inner_text(".known"))
    page.wait_for_selector(".known >> text=/sharpness [0-9]+%/")
    assert page.get_attribute("text=Open the original", "href") == f"/api/photos/{numbers[at]}/image"
    page.click("[aria-label='Previous photograph']")
    assert page.parameters()["photo"] == [str(numbers[at - 1])]
    page.ask("text=More like this")
    assert page.parameters()["like"] == [str(numbers[at - 1])]
    assert numbers[at - 1] not in page.ids()


def test_what_the_server_refuses_is_reported(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}&photo=99999", ready=False)
    page.wait_for_selector(".stage-note:text('no longer in the library')")
    assert page.is_hidden(".stage img")
    tab.open(f"/?text={QUERY}&focus=place=Nowhereville", ready=False)
    page.wait_for_selector("#results[data-state=failed]")
    assert "Nowhereville" in page.inner_text("#error")
    tab.errors.clear()  # the browser itself reports the refused requests


def test_results_are_copied_and_downloaded(tab: Tab, postcards: Path) -> None:
    page = tab.open(f"/?text={QUERY}")
    page.click("#copy")
    page.wait_for_selector(f"#toast:has-text('{len(page.ids())} paths copied')")
    paths = [photo.path for photo in _photos(postcards, page.ids())]
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == paths
    with page.expect_download() as download:
        page.click("#list")
    records = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert [(record["rank"], record["path"]) for record in records] == list(enumerate(paths, 1))


def test_photographs_are_picked_and_rejected(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    before = page.ids()
    tile = page.locator("#grid li").first
    tile.hover()
    tile.locator(".mini.pick").click()
    assert page.inner_text("#tray h2") == "1 photograph picked"
    assert page.ids() == before, "nothing moves when a photograph is picked"
    page.locator("#grid button.tile").nth(5).focus()
    page.keyboard.press("x")
    page.settled()
    assert page.parameters()["reject"] == [str(before[5])]
    assert before[5] not in page.ids()
    page.locator("#grid button.tile").nth(1).click()
    page.click("#viewer .pick")
    page.keyboard.press("Escape")
    page.without("photo=")
    assert page.parameters()["pin"] == [f"{before[0]},{before[1]}"], "closing the large view keeps its picks"
    page.ask("text=/Bring back 1 rejected/")
    assert before[5] in page.ids()


def test_a_rejection_is_undone(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    before, (first, second) = page.ids(), page.ids()[:2]
    for _ in range(2):
        page.locator("#grid button.tile").nth(0).focus()
        page.keyboard.press("p")
        page.keyboard.press("x")
        page.settled()
    page.ask("#toast >> text=Undo")
    assert (page.parameters()["pin"], page.parameters()["reject"]) == ([str(second)], [str(first)]), "only the last one"
    assert page.is_hidden("#toast")
    page.ask("text=/Bring back 1 rejected/")
    assert page.ids() == before


def test_ranges_and_all_photographs_are_picked_and_downloaded(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}&k=12")
    numbers, tiles = page.ids(), page.locator("#grid button.tile")
    tiles.nth(1).click(modifiers=["Control"])
    tiles.nth(4).click(modifiers=["Shift"])
    assert page.parameters()["pin"] == [",".join(map(str, numbers[1:5]))]
    tiles.nth(2).focus()
    page.keyboard.press("Shift+P")
    assert page.parameters()["pin"] == [",".join(map(str, numbers[1:5]))], "a range adds"
    tray, grid = page.locator("#tray").bounding_box(), page.locator("#lists").bounding_box()
    assert tray["x"] >= grid["x"] + grid["width"], "the tray does not cover the photographs"
    page.click("#pick-all")
    assert page.inner_text("#tray h2") == "12 photographs picked"
    with page.expect_download() as download:
        page.click("text=Download these 12")
    assert len(zipfile.ZipFile(download.value.path()).namelist()) == 12
    assert download.value.suggested_filename == f"{QUERY}.zip"
    with page.expect_download() as download:
        page.click("#album")
    assert download.value.suggested_filename == f"{QUERY}.html"
    assert f"<title>{QUERY}</title>" in Path(download.value.path()).read_text("utf-8")


def test_the_tray_completes_downloads_and_saves_a_set(tab: Tab) -> None:
    pinned = tab.open(f"/?text={QUERY}").ids()[:2]
    page = tab.open(f"/?text={QUERY}&pin={pinned[0]},{pinned[1]}&reject=5", fresh=True)
    page.click("text=Complete my set")
    page.wait_for_url(lambda url: "complete=15" in url)
    page.settled()
    assert set(pinned) < set(page.ids())
    assert len(page.ids()) == len(pinned) + 15
    assert {"Completes the 2 photographs you picked", "Mix up places"} <= page.chips(), "the dials say by what"
    with page.expect_download() as download:
        page.click("#tray >> text=Download")
    assert len(zipfile.ZipFile(download.value.path()).namelist()) == len(pinned) + 15, "all that is shown"
    name = "Beach <b onclick=alert(1)>"
    page.fill("#tray input", name)
    page.press("#tray input", "Enter")
    page.wait_for_selector("#tray summary:text('Saved (1)')")
    page.click("[aria-label='Empty the tray']")
    assert page.locator(".tray-pictures li").count() == 0
    page.search("cat")
    page.click("#tray summary")
    page.click(f"#tray li >> text={name}")
    page.about(QUERY)
    assert page.locator(".tray-pictures li").count() == len(pinned) + 15
    assert page.locator("#tray b").count() == 0, "a name is text"
    page.click("[aria-label^='Delete the choice']")
    page.wait_for_selector("#tray summary", state="hidden")


def _change_answers(tab: Tab, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the body of every answer of this route."""

    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, json=body)

    tab.route(path, answer)


def test_hostile_names_are_text(tab: Tab) -> None:
    hostile = "<img src=x onerror=alert(1)>"

    def change(body: dict[str, Any]) -> None:
        body["results"][1]["because"] = hostile
        body["results"][1]["photo"] |= {"title": hostile, "folder": "<b>bold", "path": "<b>bold/<i>boat.jpg"}

    _change_answers(tab, "**/api/search", change)
    page = tab.open(f"/?text={QUERY}", fresh=True)
    page.locator(f"[aria-label^='{hostile}']").click()
    assert page.inner_text(".about h2") == page.inner_text(".because") == hostile
    assert "<b>bold" in page.inner_text(".known")
    assert page.locator("img[src='x'], #viewer b, #viewer i").count() == 0


def test_similar_photographs_are_counted_and_can_be_opened(tab: Tab) -> None:
    similar: list[int] = []

    def change(body: dict[str, Any]) -> None:
        similar[:] = [result["photo"]["id"] for result in body["results"][10:13]]
        body["results"][1]["similar"] = similar

    _change_answers(tab, "**/api/search", change)
    page = tab.open(f"/?text={QUERY}", fresh=True)
    assert [badge.inner_text() for badge in page.locator("#grid .badge:not(:empty)").all()] == ["3 similar"]
    page.locator("#grid button.tile").nth(1).click()
    page.locator(".similar button").nth(2).click()
    page.wait_for_url(lambda url: f"photo={similar[2]}" in url)


def test_an_empty_library_says_how_to_fill_it(tab: Tab) -> None:
    empty = {"photos": 0, "points": [], "without_place": 0, "suggestions": [], "months": {}, "years": {}}
    _change_answers(tab, "**/api/library", lambda body: body.update(empty, first=None, last=None))
    page = tab.open(ready=False, fresh=True)
    page.wait_for_selector("#welcome h2:text('No photographs yet')")
    assert "mascot index" in page.inner_text("#welcome")
    page.goto("about:blank")


def test_results_stay_while_the_server_is_gone(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    before = page.ids()
    tab.route(re.compile("/healthz|/api/"), lambda route: route.abort())
    page.locator("#lean-place").fill("8")
    page.wait_for_selector("#error:not([hidden])")
    assert "does not answer" in page.inner_text("#error")
    assert page.is_visible("#retry")
    assert page.ids() == before
    tab.unroute_all()
    page.settled()
    assert page.is_hidden("#error")
    assert page.counted("places")[1] > page.counted("places")[0]
    tab.errors.clear()  # the browser itself reports what it could not load


def test_a_slow_request_shows_progress_and_is_cancelled_by_the_next(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    tab.route("**/api/search", lambda route: None)
    page.locator("#lean-place").fill("10")
    page.wait_for_selector("#progress:not([hidden])")
    assert page.get_attribute("#results", "aria-busy") == "true"
    tab.unroute("**/api/search")
    page.locator("#lean-place").fill("9")
    page.settled()
    assert page.is_hidden("#progress")
    assert page.parameters()["spread"] == ["place*0.9"]


# Keyboard, touch, widths, colours, assistive technology


def _press(page: Tab, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def _tab_to(page: Tab, condition: str) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    raise AssertionError(condition)


def test_results_with_the_keyboard_alone(tab: Tab) -> None:
    page = tab.open()
    _press(page, "/")
    page.keyboard.type(QUERY)
    _press(page, "Enter")
    page.about(QUERY)
    numbers, focused = page.ids(), "Number(document.activeElement.dataset.id)"
    _tab_to(page, "document.activeElement.classList.contains('tile')")
    assert page.evaluate(focused) == numbers[0]
    _press(page, "ArrowRight", "ArrowDown")
    assert page.evaluate(focused) in numbers[2:9]
    _press(page, "Home")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    _press(page, "p")
    assert page.parameters()["pin"] == [str(numbers[0])]
    _press(page, "p", "Enter")
    assert page.is_visible("#viewer")
    _press(page, "ArrowRight")
    assert page.parameters()["photo"] == [str(numbers[1])]
    _press(page, "Escape")
    page.wait_for_function(f"() => {focused} === {numbers[1]}")  # the focus returns to the last photograph


def test_steering_with_the_keyboard_alone(tab: Tab) -> None:
    page = tab.open(f"/?text={QUERY}")
    _tab_to(page, "document.activeElement.id === 'lean-place'")
    _press(page, *["ArrowRight"] * 10)
    page.settled()
    assert page.parameters()["spread"] == ["place"]
    for face in ("#clock svg", "#timeline svg"):
        page.focus(face)
        _press(page, "ArrowRight")
        page.settled()
        assert len(page.parameters()["focus"]) == 1
        _press(page, "Delete")


def test_a_dial_on_a_phone_changes_results_in_sight(phone: Tab) -> None:
    page = phone.open(f"/?text={QUERY}")
    plain = page.ids()
    page.tap("#bar-steer")
    page.wait_for_function("() => document.querySelector('#rail').getBoundingClientRect().bottom <= innerHeight + 1")
    before = page.evaluate(IN_SIGHT)
    assert len(before) >= 5
    page.lean("place", 10)
    assert page.evaluate(IN_SIGHT) != before
    page.go_back()
    page.without("spread")
    assert page.ids() == plain
    assert page.is_visible("#lean-place")
    page.tap("#rail-close")
    page.wait_for_selector("#lean-place", state="hidden")


def test_the_large_view_with_fingers(phone: Tab) -> None:
    page = phone.open(f"/?text={QUERY}&spread=place")
    address, numbers = page.url, page.ids()
    page.locator("#grid button.tile").first.tap()
    page.locator(".stage img").evaluate("picture => picture.decode()")
    picture = page.locator(".stage img").bounding_box()
    next_ = page.locator("[aria-label='Next photograph']").bounding_box()
    assert next_["y"] >= picture["y"] + picture["height"], "buttons do not cover the picture"
    x, y = picture["x"] + picture["width"] / 2, picture["y"] + picture["height"] / 2
    page.swipe((x, y), (x - 50, y), (x - 120, y + 4))
    page.wait_for_url(f"**photo={numbers[1]}")
    page.swipe((x, y), (x + 50, y), (x + 120, y + 4))
    page.wait_for_url(f"**photo={numbers[0]}")
    page.double_tap(x, y)
    page.wait_for_selector(".stage.zoomed")
    large = page.locator(".stage img").bounding_box()
    page.swipe((x, y), (x - 20, y), (x - 40, y))
    assert page.locator(".stage img").bounding_box()["x"] == pytest.approx(large["x"] - 40, abs=1)
    assert page.url.endswith(f"photo={numbers[0]}")
    page.tap_until("[aria-label=Close]", address)


def test_assistive_technology_finds_nothing_to_complain_about(tab: Tab, phone: Tab) -> None:
    """Two widths and both themes; and nothing is wider than the page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()

    def check(page: Tab, theme: str) -> None:
        page.emulate_media(color_scheme=theme)
        answer = axe.run(page, options={"preload": False, "resultTypes": ["violations"]}).response
        assert [(rule["id"], node["html"]) for rule in answer["violations"] for node in rule["nodes"]] == [], theme
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]

    steered = f"/?text={QUERY}&k=12&spread=place&focus=season*0.5&focus=hour=18:00&compare=1&country=PT"
    page = tab.open(f"{steered}&map=large")
    page.locator(".mini.pick").first.dispatch_event("click")
    page.click("text=Dates and folder")
    check(page, "light")
    page.locator("button.tile:visible").first.click()
    check(page, "dark")
    page = phone.open(steered)
    page.click("#bar-steer")
    check(page, "dark")


def test_the_page_follows_the_system_in_colours_until_the_reader_chooses(tab: Tab) -> None:
    def brightness() -> int:
        colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    tab.open().emulate_media(color_scheme="dark")
    assert brightness() < 100
    tab.click("#theme")
    assert brightness() > 600
    tab.open(fresh=True)
    assert brightness() > 600, "the choice is remembered"
