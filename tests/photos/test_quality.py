"""The technical quality of pictures: clear failures score below photographs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageStat

from mascot.photos.files.images import thumbnail, upright
from mascot.photos.metadata.quality import Quality, quality
from tests.photos.test_metadata import DATA

_FOLDERS = (DATA / "photos", Path(__file__).parents[2] / "src/mascot/photos/sample/pictures")
_PICTURES = sorted(path for folder in _FOLDERS if folder.is_dir() for path in folder.iterdir())


def _quality(image: Image.Image) -> Quality:
    return quality(thumbnail(image))


@cache
def _photographs() -> list[tuple[str, Image.Image, Quality]]:
    images = [(path.name, upright(Image.open(path), 512).convert("RGB")) for path in _PICTURES]
    return [(name, image, _quality(image)) for name, image in images]


def _blank(image: Image.Image) -> Image.Image:
    return Image.new("RGB", image.size, tuple(round(value) for value in ImageStat.Stat(image).mean))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda image: image.filter(ImageFilter.GaussianBlur(2)), id="blurred"),
        pytest.param(lambda image: image.filter(ImageFilter.GaussianBlur(5)), id="very blurred"),
        pytest.param(lambda image: image.point(lambda value: value * 0.15), id="dark"),
        pytest.param(lambda image: image.point(lambda value: min(value + 180, 255)), id="blown out"),
        pytest.param(_blank, id="blank"),
    ],
)
def test_a_spoiled_copy_scores_below_the_photograph(spoil: Callable[[Image.Image], Image.Image]) -> None:
    scores = {
        name: (measured.score, _quality(spoil(image)).score)
        for name, image, measured in _photographs()
        if measured.document < 0.5 and measured.score > 0.2  # others are failures themselves
    }
    assert len(scores) > 70
    assert {name: pair for name, pair in scores.items() if pair[1] >= pair[0]} == {}


def test_the_background_of_a_sharp_subject_may_be_blurred() -> None:
    name, image, measured = max(_photographs(), key=lambda entry: entry[2].sharpness)
    blurred = image.filter(ImageFilter.GaussianBlur(5))
    width, height = image.size
    box = (width // 4, height // 4, width * 3 // 4, height * 3 // 4)
    bokeh = blurred.copy()
    bokeh.paste(image.crop(box), box)
    assert _quality(bokeh).sharpness > 0.9 * measured.sharpness > 1.5 * _quality(blurred).sharpness, name


def test_documents_screens_and_test_cards_are_recognised() -> None:
    page = Image.new("RGB", (800, 1100), (238, 236, 230))
    draw = ImageDraw.Draw(page)
    for line in range(30, 1060, 26):
        draw.text((40, line), "Total 12.50 EUR, thank you for your visit " * 3, fill=(40, 40, 50), font_size=18)
    card = Image.new("RGB", (600, 400), "blue")
    ImageDraw.Draw(card).rectangle((100, 100, 300, 300), fill="white")
    assert [_quality(image).document for image in (page, card)] == [1.0, 1.0]
    assert max(_quality(image).score for image in (page, card)) < 0.2


@pytest.mark.parametrize("size", [(1, 1), (2, 500), (15, 15), (512, 1)])
def test_tiny_pictures_have_a_quality(size: tuple[int, int]) -> None:
    assert 0 <= _quality(Image.new("RGB", size, "red")).score < 0.1
