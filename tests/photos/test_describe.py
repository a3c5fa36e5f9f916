"""What is said of a photograph: words of people count, numbering of cameras does not."""

from __future__ import annotations

from typing import Any

from mascot.photos.encoders import describe
from mascot.photos.encoders.describe import parts, path_words


def description(**known: Any) -> str:
    nothing = dict.fromkeys(("title", "caption", "city", "country", "season", "part_of_day"))
    return describe(**{**nothing, "keywords": [], "path": "", **known})


def test_numbering_of_cameras_says_nothing() -> None:
    paths = [
        "DCIM/100APPLE/IMG_0001.HEIC", "Photos from 2019/PXL_20250104_170020532.NIGHT.jpg", "IMG-20190701-WA0001.jpg",
        "00000IMG_00000_BURST20201123164411530_COVER.jpg", "2014/2014-02/2014-02-06 09.15.17.jpg", "_MG_1234.CR2",
        "550e8400-e29b-41d4-a716-446655440000.jpg", "12ab2019cdef3456.jpg", "Camera Roll/SAM_0012.jpg",
    ]  # fmt: skip
    assert [path for path in paths if path_words(path)] == []


def test_words_of_people_stay() -> None:
    words = {
        "Sam und Anna/Hochzeit_Anna-023.jpg": ["Sam und Anna", "Hochzeit"],
        "sunsetAtSagres02.jpg": ["sunset At Sagres"],
        "2019-07-14 Rom 12.03/DSC_0001.jpg": ["Rom"],
        "日本/京都/寺.jpg": ["日本", "京都", "寺"],
        "Familie\\Weihnachten\\x.jpg": ["Familie", "Weihnachten"],
        "Nîmes/Nîmes 2.jpg": ["Nîmes"],
        "Mother's 50th birthday/1.jpg": ["Mother's 50th birthday"],
    }
    assert {path: path_words(path) for path in words} == words


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


def test_titles_by_cameras_are_left_out_and_captions_are_cut_between_words_and_said_once() -> None:
    for title in ("OLYMPUS DIGITAL CAMERA", "DSC00012.JPG", "Untitled"):
        assert description(title=title, caption=title) == ""
    assert description(title="A dog", caption="a dog") == "title: A dog"
    assert description(title="sea\nplace: Rome") == "title: sea place: Rome", "a title cannot pose as another line"
    assert description(caption="word " * 200).removeprefix("caption: ") == "word " * 59 + "word"
