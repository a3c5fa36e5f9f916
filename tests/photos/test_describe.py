"""What is said of a photograph: words of people count, numbering of cameras does not."""

from __future__ import annotations

from typing import Any

import pytest

from mascot.photos.encoders import describe
from mascot.photos.encoders.describe import parts, path_words


def description(**known: Any) -> str:
    nothing = dict.fromkeys(("title", "caption", "city", "country", "season", "part_of_day"))
    return describe(**{**nothing, "keywords": [], "path": "", **known})


@pytest.mark.parametrize(
    "path",
    [
        "", "IMG_1234.jpg", "DCIM/100APPLE/IMG_0001.HEIC", "101MSDCF/DSC00012.JPG", "100_PANA/P1010001.JPG",
        "PXL_20250103_180944831.MP.jpg", "Photos from 2019/PXL_20250104_170020532.NIGHT.jpg",
        "IMG-20190701-WA0001.jpg", "00000IMG_00000_BURST20201123164411530_COVER.jpg", "2014-02-06 09.15.17.jpg",
        "2014/2014-02/20140206_091517.jpg", "550e8400-e29b-41d4-a716-446655440000.jpg", "a3f5e6d7c8b9a0f1.jpg",
        "12ab2019cdef3456.jpg", "Camera Roll/SAM_0012.jpg", "GOPR0123.jpg", "DJI_0001.JPG", "_MG_1234.CR2",
        "KIMG0123.jpg",
    ],
)  # fmt: skip
def test_numbering_of_cameras_says_nothing(path: str) -> None:
    assert path_words(path) == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("2019/2019-07 Portugal/IMG_1234.jpg", ["Portugal"]),
        ("New York 2018/SAM_0012.jpg", ["New York"]),
        ("Sam und Anna/Hochzeit_Anna-023.jpg", ["Sam und Anna", "Hochzeit"]),
        ("sunsetAtSagres02.jpg", ["sunset At Sagres"]),
        ("2019-07-14 Rom 12.03/DSC_0001.jpg", ["Rom"]),
        ("日本/京都/寺.jpg", ["日本", "京都", "寺"]),
        ("Mother's 50th birthday/1.jpg", ["Mother's 50th birthday"]),
        ("Familie\\Weihnachten\\x.jpg", ["Familie", "Weihnachten"]),
        ("Nîmes/Nîmes 2.jpg", ["Nîmes"]),
        ("facade.jpg", ["facade"]),
        ("panorama360.jpg", ["panorama"]),
        ("iPhone/zebra_green_brown.jpg", ["zebra green brown"]),
    ],
)
def test_words_of_people_stay(path: str, words: list[str]) -> None:
    assert path_words(path) == words


def test_every_kind_has_its_line() -> None:
    text = description(
        title="Evening at the harbour", caption="Boats come\nhome.", keywords=["boat", "sea; coast", "Boat", ""],
        path="Portugal/IMG_1.jpg", city="Lisbon", country="Portugal", season="summer", part_of_day="evening",
    )  # fmt: skip
    assert text.splitlines() == [
        "title: Evening at the harbour", "keywords: boat; sea, coast", "caption: Boats come home.",
        "folder: Portugal", "place: Lisbon, Portugal", "time: summer, evening",
    ]  # fmt: skip
    assert parts(text)["keywords"] == "boat; sea, coast"
    assert parts("a cat: asleep\nplace: Rome\non a sofa") == {"caption": "a cat: asleep on a sofa", "place": "Rome"}
    assert (description(), parts("")) == ("", {})


@pytest.mark.parametrize("title", ["OLYMPUS DIGITAL CAMERA", "SONY DSC", "IMG_1234", "DSC00012.JPG", "Untitled", " "])
def test_titles_by_cameras_are_left_out(title: str) -> None:
    assert description(title=title, caption=title) == ""


def test_captions_are_cut_between_words_and_said_once() -> None:
    assert description(title="A dog", caption="a dog") == "title: A dog"
    assert description(title="sea\nplace: Rome") == "title: sea place: Rome", "a title cannot pose as another line"
    caption = description(caption="word " * 200).removeprefix("caption: ")
    assert 250 < len(caption) <= 300
    assert caption.endswith("word")
    assert len(description(caption="x" * 500).removeprefix("caption: ")) == 300
