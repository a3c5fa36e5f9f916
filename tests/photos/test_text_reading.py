"""Text in pictures: 30 pictures with drawn and photographed text, searched in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from mascot.cli import main
from mascot.photos.indexing import text_reading
from mascot.photos.library import Library

pytest.importorskip("rapidocr")
matplotlib = pytest.importorskip("matplotlib")

_FONT = f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf"  # the font in Pillow has no accented letters

_TEXTS = (
    "Ristorante Da Mario", "Pizza Margherita 8,50", "Total 23,40 EUR", "Bakery", "Museum of Modern Art", "Exit",
    "No Parking", "Platform 9", "Hotel Bellevue", "Grand Central", "Espresso 2,20", "Happy Birthday Anna",
    "Zimmer frei", "Apotheke", "Bücher und Karten", "Boulangerie", "Musée du Louvre", "Farmacia", "Panadería",
    "Gate B27", "Boarding 18:45", "Speed limit 50", "Welcome to Norway", "Library",
)  # fmt: skip
_COLOURS = (("white", "black"), ("navy", "white"), ("darkgreen", "yellow"), ("beige", "maroon"))
_PHOTOGRAPHED = {
    "drewnoakes__Sony_DSC-HX5V_(2).jpg": "Notruf 112",
    "drewnoakes__Samsung_SM-N900A_(Galaxy_Note_3).jpg": "frog",
    "photoprism__digikam.jpg": "Kosmetik",
    "photoprism__huawei-gps-error.jpg": "Bulmers",
    "npm-exif__IMG_1820.jpg": "Irish Wake",
    "pypi-geopic__IMG_20210720_161352.jpg": "Gare de Villepinte",
}
_SHARED = next((top / "shared/data/photos" for top in Path(__file__).parents if (top / "shared/data").is_dir()), None)


def _draw(path: Path, text: str, number: int) -> None:
    """Draw a sign, slightly tilted, in one of several colours and sizes."""
    background, ink = _COLOURS[number % len(_COLOURS)]
    image = Image.new("RGB", (900, 600), background)
    font = ImageFont.truetype(_FONT, 36 + 8 * (number % 5))
    ImageDraw.Draw(image).text((60, 120 + 40 * (number % 6)), text, font=font, fill=ink)
    image.rotate(number % 7 - 3, fillcolor=background).save(path, quality=85)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("signs")
    for number, text in enumerate(_TEXTS):
        _draw(folder / f"{number:02}.jpg", text, number)
    Image.new("RGB", (600, 400), "teal").save(folder / "blank.jpg")
    for name in _PHOTOGRAPHED if _SHARED else ():
        (folder / name).write_bytes((_SHARED / name).read_bytes())
    with Library(folder) as library:
        summary = library.index("lite", text=True)
        assert summary.texts == summary.photos
        yield library


@pytest.mark.parametrize(("number", "text"), enumerate(_TEXTS))
def test_drawn_text_is_found(library: Library, number: int, text: str) -> None:
    first = library.search(text.lower(), k=1).photos[0]
    assert first.path == f"{number:02}.jpg", library.store.text_in(first.id)


@pytest.mark.skipif(_SHARED is None, reason="needs ../shared/data")
@pytest.mark.parametrize(("name", "text"), _PHOTOGRAPHED.items())
def test_photographed_text_is_found(library: Library, name: str, text: str) -> None:
    ids = [library.id_of(library.root / name)]
    assert library.store.ids_with_words(text).tolist() == ids
    assert [photo.id for photo in library.search(text, k=1).photos] == ids


def test_words_in_any_order_match_and_parts_of_words_do_not(library: Library) -> None:
    id_ = library.id_of(library.root / "00.jpg")
    assert library.store.ids_with_words("mario ristorante").tolist() == [id_]
    assert library.store.ids_with_words("rist").tolist() == []
    assert library.store.ids_with_words("a" * 100_000).tolist() == []  # longer than a pattern of SQLite may be
    assert library.store.text_in(library.id_of(library.root / "blank.jpg") or 0) == ""


def test_a_match_beyond_the_candidates_by_vector_is_found(library: Library) -> None:
    for number, text in enumerate(_TEXTS[:4]):
        assert library.search(text, k=1, candidates=1).photos[0].path == f"{number:02}.jpg"


def test_a_stopped_pass_continues_and_removed_photographs_take_their_text_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_reading, "_BATCH", 2)
    for number, text in enumerate(_TEXTS[:5]):
        _draw(tmp_path / f"{number}.jpg", text, number)

    def stop(step: str, count: int, total: int) -> None:
        if step == "reading text":
            raise KeyboardInterrupt

    with Library(tmp_path) as library:
        assert library.index("lite").texts is None
        assert library.store.text_in(1) is None
        with pytest.raises(KeyboardInterrupt):
            library.index(text=True, report=stop)
        assert library.index(text=True).texts == 3
        library.index(again=True)
        assert library.index(text=True).texts == 0  # text belongs to the content, whatever encodes it
        (tmp_path / "0.jpg").unlink()
        _draw(tmp_path / "1.jpg", "Changed", 0)
        library.index(prune=True)
        count = library.store.connection.execute("SELECT count(*) FROM texts").fetchone()[0]
        assert (count, library.index(text=True).texts) == (3, 1)


def test_without_the_extra_one_line_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)  # as if it were not installed
    monkeypatch.setattr(sys, "argv", ["mascot", "index", str(tmp_path), "--text"])
    with pytest.raises(SystemExit) as ending:
        main()
    message = capsys.readouterr().err
    assert ending.value.code
    assert len(message.splitlines()) == 1
    assert "--text needs the package rapidocr" in message
    assert "mascot-rerank[ocr]" in message
    assert not (tmp_path / ".mascot").exists()
