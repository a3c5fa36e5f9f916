"""Files that belong to a photograph, by their names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.photos.companions import Companions, companions

PICTURES = frozenset({".jpg", ".heic", ".png", ".cr2", ".dng"})


@pytest.mark.parametrize(
    ("picture", "sidecar"),
    [
        ("IMG_1.jpg", "IMG_1.xmp"),
        ("IMG_1.jpg", "IMG_1.jpg.xmp"),
        ("IMG_1.JPG", "img_1.XMP"),
        ("IMG_1.jpg", "IMG_1.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg.supplemental-metadata.json"),
        ("IMG_1.jpg", "IMG_1.jpg.suppl.json"),
        ("IMG_1(1).jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(1).jpg", "IMG_1(1).jpg.json"),
        ("IMG_1(2).jpg", "IMG_1.jpg.supplemental-metadata(2).json"),
        ("IMG_1-edited.jpg", "IMG_1.jpg.json"),
        ("Screenshot_2019-07-04-18-15-12-123_com.example.jpg", "Screenshot_2019-07-04-18-15-12-123_com.example.json"),
        ("Screenshot_2019-07-04-18-15-12-1234_com.exampl.jpg", "Screenshot_2019-07-04-18-15-12-1234_com.exampl.j.json"),
    ],
)
def test_a_sidecar_is_recognised_by_its_name(picture: str, sidecar: str) -> None:
    assert companions([picture, sidecar, "notes.json"], PICTURES) == {picture: Companions((sidecar,))}


@pytest.mark.parametrize(
    ("picture", "other"),
    [("IMG_1.jpg", "IMG_10.jpg.json"), ("IMG_1.jpg", "IMG_1.jpg(1).json"), ("IMG_1(1).jpg", "IMG_1.jpg.json"),
     ("IMG_1.jpg", "IMG_1.jpg.notes.json"), ("IMG_1.jpg", "IMG.xmp")],
)  # fmt: skip
def test_files_of_other_pictures_are_not_sidecars(picture: str, other: str) -> None:
    assert companions([picture, other], PICTURES) == {picture: Companions()}


def test_live_photographs_and_raw_pairs_are_one() -> None:
    names = "a.HEIC a.MOV b.jpg b.CR2 b.CR2.xmp c.cr2 d.MP.jpg d.MP MVIMG_1.jpg MVIMG_1.MP4"
    assert companions(names.split(), PICTURES) == {
        "a.HEIC": Companions(media=("a.MOV",)),
        "b.jpg": Companions(("b.CR2.xmp",), ("b.CR2",)),
        "c.cr2": Companions(),
        "d.MP.jpg": Companions(media=("d.MP",)),
        "MVIMG_1.jpg": Companions(media=("MVIMG_1.MP4",)),
    }
    assert companions(["film.mov", "x.xmp"], PICTURES) == {}


NAMES = st.lists(
    st.builds(
        lambda *parts: "".join(parts),
        st.sampled_from(["a", "b", "a(1)", "x" * 45]),
        st.sampled_from([".jpg", ".heic", ".cr2", ".mov", ".xmp", ".jpg.json", ".jpg(1).json", ".txt"]),
    ),
    unique=True,
    max_size=12,
)


@given(NAMES)
@settings(deadline=None)
def test_each_picture_leads_or_belongs_to_one_that_does(names: list[str]) -> None:
    families = companions(names, PICTURES)
    owned = [other for family in families.values() for other in family.media]
    pictures = {name for name in names if name.endswith((".jpg", ".heic", ".cr2"))}
    assert pictures == set(families) | (set(owned) & pictures)
    assert not set(families) & set(owned)
    assert {name for family in families.values() for name in (*family.sidecars, *family.media)} <= set(names)
