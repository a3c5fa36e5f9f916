"""The album, in a real Chromium: nothing in it runs, loads or breaks the page."""

from __future__ import annotations

import base64
import io
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import mascot as mc
from mascot.photos import Library
from mascot.photos.sharing.album import AlbumSection, album, section_of, write_album
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import indexed_library, photos_in
from tests.retelling import run_command
from tests.server.browser import browser

_HOSTILE = "</figcaption></style><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = tmp_path_factory.mktemp("library") / "photos"
    indexed_library(root)
    name = "<img src=x onerror=document.title='owned'>\u202e&amp;\x01.jpg"
    write_jpeg(root / "--><b>" / name, _HOSTILE, "Tokyo", "2019-07-14T20:15:00")
    with Library.open(root) as opened:
        opened.index(BagOfWords())
        yield opened


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def file(library: Library) -> Path:
    """An album of three searches, the last with hostile photographs before and after."""
    path = library.root.parent / "album.html"
    newest, spread = library.search(None, k=5), library.search(None, [library.spread("place")], 5)
    hostile = next(photo.id for photo in photos_in(library) if photo.caption == _HOSTILE)
    pinned = library.search(None, [library.focus("hour=20:30"), library.limit("day=3")], 5, pin=[hostile])
    added = [
        write_album(library.store, _HOSTILE, section_of(part, explain=True), path) for part in (newest, spread, pinned)
    ]
    assert added == [False, True, True]
    return path


@pytest.fixture(scope="module")
def page(chromium: Any, file: Path) -> Iterator[Any]:
    """The album in a browser; `page.request_schemes` and `page.problems` record what it does."""
    page = chromium.new_page()
    page.request_schemes, page.problems = [], []
    page.on("request", lambda request: page.request_schemes.append(request.url.partition(":")[0]))
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(file.as_uri())
    yield page
    page.close()


def test_an_album_runs_no_script_and_loads_nothing(page: Any) -> None:
    assert (page.title(), page.problems) == (_HOSTILE, [])
    assert set(page.request_schemes) <= {"file", "data"}
    assert page.request_schemes.count("file") == 1


def test_an_album_shows_every_photograph(page: Any) -> None:
    assert [page.locator(part).count() for part in ("section", ".photos figure", "script")] == [3, 15, 0]
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    third = page.locator("section").nth(2)
    assert third.locator(".photos figcaption").first.inner_text().count(_HOSTILE) == 1
    assert third.locator(".badge").first.inner_text() == "pinned"


def test_an_album_compares_the_results_before_and_after_steering(page: Any) -> None:
    second = page.locator("section").nth(1)
    assert second.locator("h3").all_inner_texts() == ["Newest", "Steered"]
    assert re.search(r"cities.*→", second.inner_text(), re.S)
    assert second.locator(".map .is").count() >= 3
    assert second.locator(".clock .was").count() >= 1


@pytest.mark.parametrize(
    ("width", "scheme", "background"), [(1280, "light", "rgb(251, 250, 248)"), (390, "dark", "rgb(20, 20, 19)")]
)
def test_an_album_fits_its_window_and_is_accessible(page: Any, width: int, scheme: str, background: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame = page.locator("section").nth(1).locator(".map")
    for box, outer in ((dot.bounding_box(), frame.bounding_box()) for dot in frame.locator("circle").all()):
        assert outer["x"] <= box["x"] <= outer["x"] + outer["width"]
    assert [rule["id"] for rule in axe.run(page).response["violations"]] == []


def test_an_album_shows_days_and_captions_and_enlarges_a_photograph(
    chromium: Any, library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "days.html"
    results = library.search(None, [library.spread("place")], 8)
    write_album(library.store, "Newest photographs", section_of(results), path)
    text = path.read_text(encoding="utf-8")
    names = [photo.path.rpartition("/")[2] for photo in results.photos]
    assert not any(f">{part}<" in text for part in ("Steered", "pinned", *names))
    tab = chromium.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(path.as_uri())
    days = [photo.taken.date() for photo in results.photos if photo.taken]
    assert tab.locator(".day h2").count() >= len(set(days)) > 1
    assert str(min(days).year) in tab.locator(".day h2").first.inner_text()
    assert str(max(days).year) in tab.locator("header p").inner_text()
    ratios = """[...document.querySelectorAll('.photos img')].map(
        image => [image.clientWidth / image.clientHeight, image.naturalWidth / image.naturalHeight])"""
    for shape, natural in tab.evaluate(ratios):
        assert shape == pytest.approx(natural, rel=0.05)
    picture = tab.locator(".photos figure").first
    picture.locator("a").first.click()
    assert picture.locator(".view").bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 900}
    assert picture.locator(".step").all_inner_texts() == ["›"], "nothing is before the first photograph"
    picture.locator(".next").click()
    second = tab.locator(".photos figure").nth(1)
    assert (picture.locator(".close").is_visible(), second.locator(".close").is_visible()) == (False, True)
    second.locator(".close").click()
    assert not second.locator(".close").is_visible()
    tab.close()


def test_pictures_are_made_from_the_files_and_small_without_them(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    root.mkdir()
    for name in ("a.jpg", "gone.jpg"):
        Image.effect_noise((2000, 1000), 60).save(root / name)
    with Library.open(root) as library:
        library.index(BagOfWords())
        photos = sorted(photos_in(library), key=lambda photo: photo.path)
        (root / "gone.jpg").unlink()
        text = "".join(album(library.store, "x", [AlbumSection(photos)], root))
    pictures = [base64.b64decode(data) for data in re.findall(r'src="data:image/jpeg;base64,([^"]+)"', text)]
    assert [Image.open(io.BytesIO(picture)).size for picture in pictures] == [(1280, 640), (512, 256)]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["best", "2019"], "The best of 2019"),
        (["search", "in Lisbon"], "in Lisbon"),
    ],
)
def test_an_album_has_the_title_of_its_search(library: Library, tmp_path: Path, words: list[str], title: str) -> None:
    path = tmp_path / "album.html"
    done = run_command(*words, "-k", "3", "--library", str(library.root), "--album", str(path))
    assert done.returncode == 0, done.stderr
    assert f"<h1><bdi>{title}</bdi></h1>" in path.read_text(encoding="utf-8")


def test_only_an_album_is_added_to(library: Library, file: Path, tmp_path: Path) -> None:
    section = AlbumSection(photos_in(library)[:1])
    for content in (b"", file.read_bytes()[:-3]):
        other = tmp_path / "other.html"
        other.write_bytes(content)
        with pytest.raises(mc.InputError, match="exists already and is not an album"):
            write_album(library.store, "x", section, other)
        assert other.read_bytes() == content


def test_a_killed_addition_leaves_the_old_album(library: Library, file: Path, tmp_path: Path) -> None:
    path = tmp_path / "album.html"
    path.write_bytes(file.read_bytes())
    child = os.fork()
    if child == 0:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        write_album(library.store, "x", AlbumSection(photos_in(library)[:1]), path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert path.read_bytes() == file.read_bytes()


def test_the_album_names_no_folder_of_this_machine(library: Library, file: Path) -> None:
    assert str(library.root) not in file.read_text(encoding="utf-8")
    linked = "".join(album(library.store, "x", [section_of(library.search(None, k=3), links=True)]))
    assert len(re.findall(r'<a href="file://', linked)) == 3
