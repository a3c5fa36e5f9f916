"""The page in a real browser, on a real server, over the sample library."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from browser import POSTCARDS, QUERY, about, chips, counted, drag, ids, lean, parameters, search, settled, without
from jpegs import write_jpeg
from serving import Served, hosted, indexed

from mascot.photos import Library


def _photos(root: Path, numbers: list[int]) -> list[Any]:
    """Return the photographs of these ids, of which there must be some."""
    with Library.open(root) as library:
        photos = [library.store.photo(number) for number in numbers]
    assert photos
    return photos


def test_the_start_page_shows_photographs_and_months_at_once(page: Any, site: Served, postcards: Path) -> None:
    assert page.inner_text("#welcome h2").startswith(f"{POSTCARDS} photographs")
    newest = ids(page)
    assert newest
    assert page.is_disabled("#compare"), "there is nothing to compare"
    card = page.locator(".card-search").first
    text = card.inner_text()
    assert text[0].isupper()
    card.click()
    about(page, text.lower())
    assert page.is_hidden("#welcome")
    for number in (48, 96):
        few = ids(page)
        page.click("text=More results")
        settled(page)
        assert parameters(page)["k"] == [str(number)]
        assert ids(page)[: len(few)] == few
        assert len(few) < len(ids(page)) <= number
        if page.is_hidden("text=More results"):
            break
    assert page.is_hidden("text=More results"), "there are no more"
    resources = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not any(name.endswith("/image") for name in resources), "tiles are thumbnails"
    page.click(".brand")
    page.wait_for_selector("#welcome:not([hidden])")
    search(page, QUERY)
    assert ids(page) != newest
    page.fill("#text", "")  # what the cross in the box does
    page.wait_for_selector("#welcome:not([hidden])")
    settled(page)
    assert ids(page) == newest, "no results of the words before"
    # The timeline shows the real months, and a brush filters.
    with site.client() as client:
        library = client.get("/api/library").json()
    assert sum(library["months"].values()) == sum(library["hours"])
    filled = "all => all.filter((bar) => Number(bar.getAttribute('height')) > 0).length"
    assert page.eval_on_selector_all("#timeline .library", filled) == len(library["months"]), "a bar for each month"
    drag(page, "#timeline svg", (0.25, 0.3), (0.75, 0.3))
    (start,), (end,) = parameters(page)["from"], parameters(page)["to"]
    assert start.endswith("-01")
    assert start < end
    assert all(start <= f"{photo.taken:%Y-%m-%d}" <= end for photo in _photos(postcards, ids(page)))
    drag(page, "#timeline svg", (0.75, 0.3), (0.5, 0.3))  # the end of the range
    without(page, end)
    assert parameters(page)["from"] == [start]
    assert "focus" not in parameters(page)


def test_a_dial_changes_the_first_photographs_and_compare_shows_which(page: Any) -> None:
    search(page, QUERY)
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
    assert parameters(page) == {"q": [QUERY], "spread": ["place"]}
    assert chips(page) == {"Mix up places"}
    page.click("#compare")
    came, went, stayed = (ids(page, grid) for grid in ("grid", "went-grid", "stayed-grid"))
    assert set(came) == set(steered) - set(before) != set()
    assert set(went) == set(before) - set(steered)
    assert set(stayed) == set(before) & set(steered)
    assert page.inner_text("#went-heading") == f"{len(went)} photographs went"
    page.locator("#went-grid .went button.tile").first.click()
    assert page.inner_text(".why h3") == "Why it was left out"
    assert re.search(r"[A-Z].*\.$", page.inner_text(".why p"))
    page.keyboard.press("Escape")
    without(page, "photo=")
    lean(page, "place", -5)
    assert parameters(page)["focus"] == ["place*0.5"]
    assert chips(page) == {"Keep places together 50%"}
    page.select_option("#add", "weekday")
    lean(page, "weekday", 10)
    page.click("[aria-label='Remove Keep places together 50%']")
    settled(page)
    assert chips(page) == {"Mix up weekdays"}
    page.click("[aria-label='Remove the dial for weekday']")
    settled(page)
    assert ids(page) == before
    assert page.is_hidden("#went")
    assert page.is_disabled("#compare")


def test_targets_are_chips_of_their_own_and_always_drawn(page: Any, visit: Any) -> None:
    search(page, "city")
    lean(page, "hour", 5)
    hours = int(page.get_attribute("#clock", "data-hours"))
    box = page.locator("#clock svg").bounding_box()
    # Midnight is at the top; half way round is noon.
    page.locator("#clock svg").click(position={"x": box["width"] / 2, "y": box["height"] * 0.9})
    settled(page)
    assert parameters(page)["spread"] == ["hour*0.5"], "the dial stays"
    assert parameters(page)["focus"] == ["hour=12:00"]
    assert int(page.get_attribute("#clock", "data-hours")) <= hours
    assert page.get_attribute("#clock .hand", "visibility") == "visible"
    lean(page, "hour", 0)
    page.locator("#timeline svg").scroll_into_view_if_needed()
    page.locator("#timeline svg").click(position={"x": 40, "y": 30})
    settled(page)
    assert re.fullmatch(r"date=\d{4}-\d{2}", parameters(page)["focus"][1])
    page.click("[aria-label='Remove the target 12:00']")
    settled(page)
    assert page.get_attribute("#clock .hand", "visibility") == "hidden"
    page.locator("#map canvas").click(position={"x": 60, "y": 170})  # the Pacific: no photograph is there
    settled(page)
    (place,) = (wish for wish in parameters(page)["focus"] if wish.startswith("place"))
    assert re.fullmatch(r"place=-?\d+\.\d{4},-?\d+\.\d{4}", place)
    assert re.search(r"nearest is [\d,]+ km away", page.inner_text("[data-name=place] .near"))
    # Named targets are drawn, though no photograph was taken at any of them.
    named = visit().open("/?focus=place=Ulaanbaatar&focus=hour=3am&focus=date=1999")
    named.wait_for_selector("#map[data-target='47.9,106.9']")
    assert named.text_content("#clock .middle") == "03:00"
    assert named.get_attribute("#timeline .hand", "visibility") == "visible"
    assert re.search(r"nearest is \d+ years away", named.inner_text("[data-name=date] .near"))
    visitor = visit()
    wrong = visitor.open(f"/?q={QUERY}&focus=place=Nowhereville", ready=False)
    wrong.wait_for_selector("#results[data-state=failed]")
    assert "no place is called 'Nowhereville'" in wrong.inner_text("#trouble")
    assert wrong.is_visible("#nothing")
    wrong.click("#reset")
    settled(wrong)
    assert wrong.is_hidden("#trouble")
    visitor.errors.clear()  # the browser itself reports the refused request


def test_a_link_reproduces_the_view(page: Any, visit: Any, postcards: Path) -> None:
    search(page, QUERY)
    lean(page, "place", 7)
    lean(page, "camera", -4)
    page.fill("#protect", "5")
    page.select_option("#add", "weekday")
    lean(page, "weekday", 5)
    page.click("#compare")
    page.click("text=Dates and folder")
    filters = {"from": "2018-03-01", "to": "2023-03-01", "folder": "AT"}
    for name, value in filters.items():
        page.fill(f"#filter-{name}", value)
    page.press("#filter-folder", "Enter")
    settled(page)
    assert {"From 1 March 2018", "To 1 March 2023", "Folder “AT”"} <= chips(page)
    assert page.get_attribute("#timeline .band", "visibility") == "visible"
    for photo in _photos(postcards, ids(page) + ids(page, "stayed-grid")):
        assert "2018-03-01" <= f"{photo.taken:%Y-%m-%d}" <= "2023-03-01"
        assert "at" in photo.folder.lower()
    address = urlsplit(page.url)
    again = visit().open(f"{address.path}?{address.query}")
    for grid in ("grid", "went-grid", "stayed-grid"):
        assert ids(again, grid) == ids(page, grid)
    inputs = {f"filter-{name}": value for name, value in filters.items()} | {"protect": "5", "text": QUERY}
    inputs |= {f"lean-{name}": value for name, value in (("place", "7"), ("camera", "-4"), ("weekday", "5"))}
    assert {name: again.input_value(f"#{name}") for name in inputs} == inputs
    again.click("text=Dates and folder")
    again.fill("#filter-from", "2099-01-01")
    again.wait_for_selector("#nothing h2")
    assert {"From 1 January 2099", "Folder “AT”"} <= chips(again), "what is in the way can be seen"
    again.click("[aria-label='Remove the filter To 1 March 2023']")
    again.wait_for_url(lambda url: "to=" not in url)
    again.wait_for_selector("#nothing h2")
    again.click("text=Remove the filters")
    settled(again)
    assert set(parameters(again)) & {"from", "to", "folder"} == set()


def test_one_step_back_undoes_one_gesture(page: Any, postcards: Path) -> None:
    views = [(page.url, ids(page))]

    def remember() -> None:
        settled(page)
        views.append((page.url, ids(page)))

    for text in ("cat", QUERY):
        search(page, text)
        remember()
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
    assert {"Country Portugal", "Rating ★★★ or more"} <= chips(page)
    for photo in _photos(postcards, ids(page)):
        assert (photo.country, photo.rating >= 3) == ("PT", True)
    page.locator("#grid button.tile").first.click()
    assert page.is_visible("#viewer")
    page.go_back()
    page.wait_for_selector("#viewer", state="hidden")
    for go, way in ((page.go_back, views[-2::-1]), (page.go_forward, views[1:])):
        for url, photos in way:
            go()
            page.wait_for_url(url)
            settled(page)
            assert ids(page) == photos
    assert page.input_value("#text") == QUERY
    page.click("[aria-label='Remove the filter Rating ★★★ or more']")
    page.wait_for_url(views[-2][0])
    assert page.input_value("#filter-rating") == ""


def test_the_map_is_a_stage_linked_with_photographs_and_clock(visit: Any, postcards: Path) -> None:
    page = visit(viewport={"width": 1440, "height": 900}, color_scheme="dark").open()
    search(page, QUERY)
    page.locator("#grid button.tile").nth(1).hover()
    assert page.is_visible("#map-tip")
    assert page.locator("#clock .bar.linked").count() == 1
    page.mouse.move(5, 400)
    assert page.is_hidden("#map-tip")
    spot = page.locator("#map .spot:not(.under)").first.bounding_box()
    page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    assert page.locator("#grid .linked").count() >= 1
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
    assert parameters(page)["map"] == ["large"]
    assert page.locator("#map-stage #map").bounding_box()["width"] > 700
    page.wait_for_function(f"Number(document.querySelector('#map').dataset.stacks) > {stacks // 2}")
    page.locator("#map canvas").evaluate("canvas => canvas.focus()")
    page.click("[aria-label='Draw a box to filter by']")
    drag(page, "#map canvas", (0.3, 0.1), (0.7, 0.5))
    south, west, north, east = map(float, parameters(page)["box"][0].split(","))
    for photo in _photos(postcards, ids(page)):
        assert south <= photo.lat <= north
        assert west <= photo.lon <= east
    assert any(chip.startswith("Inside ") for chip in chips(page))
    assert page.get_attribute("[aria-label='Draw a box to filter by']", "aria-pressed") == "false"
    page.click("[aria-label^='Remove the filter Inside']")
    without(page, "box")
    for _ in range(12):  # into a stack, until one photograph stands alone
        page.click("[aria-label='Zoom to the results']")
        page.wait_for_timeout(60)
        if page.locator("#map .spot:not(.under):not(.stacked)").count():
            break
        stack = page.locator("#map .spot.stacked").first.bounding_box()
        page.mouse.click(stack["x"] + stack["width"] / 2, stack["y"] + stack["height"] / 2)
    single = page.locator("#map .spot:not(.under):not(.stacked)").first
    number, box = single.get_attribute("data-id"), single.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.is_visible("#map-tip")
    page.mouse.down()
    page.mouse.up()
    assert page.is_visible("#viewer")
    assert parameters(page)["photo"] == [number]
    page.keyboard.press("Escape")
    without(page, "photo=")
    page.click("#map-large")
    assert page.locator("#map-slot #map").count() == 1


def test_paths_and_records_can_be_copied(visit: Any, postcards: Path) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"]).open(f"/?q={QUERY}&spread=place")
    page.click("#copy")
    page.wait_for_selector(f"#taken:text('{len(ids(page))} paths copied')")
    paths = [photo.path for photo in _photos(postcards, ids(page))]
    assert page.evaluate("navigator.clipboard.readText()").splitlines() == paths
    with page.expect_download() as download:
        page.click("#list")
    assert download.value.suggested_filename == "photographs.jsonl"
    records = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert [(record["rank"], record["path"]) for record in records] == list(enumerate(paths, 1))


def test_the_large_view_says_why_and_goes_on(visit: Any, postcards: Path) -> None:
    visitor = visit()
    page = visitor.open(f"/?q={QUERY}&spread=place&focus=hour=18:00")
    numbers = ids(page)
    at = next(i for i, photo in enumerate(_photos(postcards, numbers)) if i and photo.city and photo.taken)
    page.locator("#grid button.tile").nth(at).click()
    sentences = [sentence.inner_text() for sentence in page.locator(".why p").all()]
    assert all(re.fullmatch(r"It .+\.|By .+\.", sentence) for sentence in sentences)
    assert re.search(r"It is (the only one|the first of \d+|one of \d+) from ", sentences[0])
    assert any(re.match(r"It was taken at \d\d:\d\d, ", sentence) for sentence in sentences)
    assert not re.search(r"was \d+(st|nd|rd|th)", page.inner_text("#viewer"))
    metadata = page.inner_text(".known")
    assert re.search(r"Moment\s+\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d", metadata), "a moment as people write it"
    assert "none" not in metadata
    assert re.search(r"\d\.\d{4}° [NS] \d+\.\d{4}° [EW]", metadata)
    page.locator(".stage img").evaluate("picture => picture.decode()")
    assert page.locator(".stage img").evaluate("picture => picture.naturalWidth") in (320, 480)
    assert page.get_attribute("text=Open the original", "href") == f"/api/photos/{numbers[at]}/image"
    file = postcards / _photos(postcards, [numbers[at - 1]])[0].path
    away = file.rename(file.with_name("away"))
    page.reload()  # the next one is loaded ahead
    settled(page)
    page.click("[aria-label='Previous photograph']")
    assert parameters(page)["photo"] == [str(numbers[at - 1])]
    page.wait_for_selector(".stage-note:text('is gone')")
    assert "the small picture that the library keeps" in page.inner_text(".stage-note")
    assert page.locator("text=Open the original").count() == 0
    away.rename(file)
    page.click("text=More like this")
    settled(page)
    assert parameters(page)["like"] == [str(numbers[at - 1])]
    assert numbers[at - 1] not in ids(page)
    assert page.is_visible("#like")
    page.goto(f"{visitor.address}/?q={QUERY}&photo=99999")
    page.wait_for_selector(".stage-note:text('not in the library')")
    assert page.is_hidden(".stage img")
    assert page.is_hidden("[aria-label='Next photograph']")
    visitor.errors.clear()  # the browser itself reports what it could not load


def test_a_search_before_the_library_has_answered_and_similar_photographs(visit: Any) -> None:
    visitor = visit()
    delayed: list[Any] = []

    def stacked(route: Any) -> None:
        answer = route.fetch()
        body = answer.json()
        numbers.extend(result["photo"]["id"] for result in body["results"])
        body["results"][1]["similar"] = numbers[10:13]
        route.fulfill(response=answer, json=body)

    numbers: list[int] = []
    visitor.context.route("**/api/library", lambda route: delayed.append(route))
    visitor.context.route("**/api/search", stacked)
    page = visitor.open(ready=False)
    page.fill("#text", QUERY)
    page.press("#text", "Enter")
    page.wait_for_url(lambda url: "q=" in url)
    delayed[0].continue_()
    about(page, QUERY)
    assert [badge.inner_text() for badge in page.locator("#grid .badge:not(:empty)").all()] == ["3 similar"]
    page.locator("#grid button.tile").nth(1).click()
    assert page.inner_text(".similar h3") == "3 similar photographs"
    page.locator(".similar button").nth(2).click()
    page.wait_for_url(lambda url: f"photo={numbers[12]}" in url)


def test_the_tray_picks_rejects_completes_and_takes_away(visit: Any) -> None:
    page = visit().open(f"/?q={QUERY}")
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
    settled(page)
    assert parameters(page)["reject"] == [str(before[5])]
    assert before[5] not in ids(page)
    page.locator("#grid button.tile").nth(3).click()
    page.click("#viewer .pick")
    assert page.inner_text("#viewer .pick") == "Picked"
    page.keyboard.press("Escape")
    without(page, "photo=")
    pinned = [int(number) for number in parameters(page)["pin"][0].split(",")]
    assert pinned == before[:4]
    page.click("text=Complete my set")
    page.wait_for_url(lambda url: "complete=15" in url)
    settled(page)
    assert set(pinned) < set(ids(page))
    assert len(ids(page)) == len(pinned) + 15
    assert before[5] not in ids(page)
    assert {"Completes the 4 photographs you picked", "Mix up places"} <= chips(page), "the dials say by what"
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
    settled(page)
    assert page.locator(".tray-pictures li").count() == len(pinned) - 1
    page.click("text=/Bring back 1 rejected/")
    settled(page)
    page.click("#tray summary")
    page.click("[aria-label^='Delete the choice']")
    page.wait_for_selector("#tray summary", state="hidden")


def test_libraries_without_places_with_hostile_names_and_without_photographs(visit: Any, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    for i in range(3):
        write_jpeg(bare / f"{i}.jpg", "A boat", colour=(40 * i, 80, 90))
    write_jpeg(bare / "ÄRGER Straße" / "beach_sand.jpg", colour=(200, 80, 90))
    write_jpeg(bare / "<b>bold" / "<i>boat.jpg", hostile, colour=(90, 80, 200))
    with hosted(indexed(bare, "--encoder", "lite")) as site:
        visitor = visit(site.address)
        page = visitor.open("/?q=boat&spread=folder")
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
        without(page, "photo=")
        page.click("text=Dates and folder")
        page.fill("#filter-folder", "ärger STRASSE")
        page.press("#filter-folder", "Enter")
        page.wait_for_selector("#grid li:only-child")
        page.click("#grid button.tile")
        assert page.inner_html(".about h2") == "beach_<wbr>sand.jpg", "where a long name may be broken"
        visitor.context.close()
    empty.mkdir()
    with hosted(indexed(empty, "--encoder", "lite")) as site:
        visitor = visit(site.address)
        page = visitor.open(ready=False)
        page.wait_for_selector("#welcome h2")
        assert page.inner_text("#welcome h2") == "No photographs yet"
        assert "mascot index" in page.inner_text("#welcome")
        assert page.is_hidden("#map-note")
        visitor.context.close()
