"""Stacks: bursts and copies are one result, the sharpest on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFilter

from mascot.photos import Library
from mascot.photos.photo import Photo
from mascot.photos.stacks import COMPARED, stacks
from tests.photos.bag_of_words import BagOfWords
from tests.photos.libraries import bare_photo, photos_in

NOON = datetime(2019, 7, 14, 12)


def photo(id_: int, seconds: float | None, camera: str | None = "X100", hash_: str = "") -> Photo:
    taken = None if seconds is None else NOON + timedelta(seconds=seconds)
    return bare_photo(id=id_, path=f"{id_}.jpg", hash=hash_ or f"h{id_}", taken=taken, camera=camera)


def looks(*angles: float) -> np.ndarray[Any, Any]:
    """Unit vectors in a plane, by their angle in degrees."""
    turned = np.zeros((len(angles), 176), np.float32)
    turned[:, -1], turned[:, -2] = np.cos(np.radians(angles)), np.sin(np.radians(angles))
    return turned


def group(shots: Sequence[Photo], descriptors: NDArray[np.float32]) -> list[list[int]]:
    columns = {name: np.array([getattr(shot, name) for shot in shots], object) for name in COMPARED}
    return stacks(columns | {"taken": columns["taken"].astype("datetime64[ms]")}, descriptors)


def test_shots_of_one_camera_within_seconds_that_look_alike_belong_together() -> None:
    shots = [photo(1, 0), photo(2, 4), photo(3, 8), photo(4, 40), photo(5, 9, "other"), photo(6, 9)]
    assert group(shots, looks(0, 5, 10, 5, 10, 80)) == [[0, 1, 2]]
    pan = group([photo(i, i) for i in range(10)], looks(*range(0, 200, 20)))
    assert len(pan) >= 3
    assert max(map(len, pan)) <= 3
    named = [replace(photo(1, 0), caption="Ada"), replace(photo(2, 1), caption="Bob"), photo(3, 2)]
    assert group(named, looks(0, 0, 0)) == [[0, 2]]


def test_copies_belong_together_whatever_their_time() -> None:
    shots = [photo(1, 0, hash_="same"), photo(2, 9e5, hash_="same"), photo(3, None), photo(4, None), photo(5, 7e5)]
    assert group(shots, looks(0, 0, 40, 80, 41)) == [[0, 1], [2, 4]]
    assert group([photo(1, 0), photo(2, 9e5)], looks(0, 0)) == []  # the same view on another day
    assert group([photo(1, None), photo(2, None)], looks(0, 0)) == []  # two scanned pages
    flat = np.full((2, 176), 176**-0.5, np.float32)  # without edges
    assert group([photo(1, 0), photo(2, 1)], flat) == group([photo(1, 0), photo(2, None)], flat) == []


@given(st.lists(st.tuples(st.none() | st.integers(0, 60), st.sampled_from("ab"), st.integers(0, 90)), max_size=30))
@settings(max_examples=30)
def test_stacks_are_disjoint(items: list[tuple[int | None, str, int]]) -> None:
    shots = [photo(i, seconds, camera) for i, (seconds, camera, _) in enumerate(items)]
    groups = group(shots, looks(*(angle for *_, angle in items)))
    members = [place for stack in groups for place in stack]
    assert len(members) == len(set(members))
    assert all(len(stack) > 1 for stack in groups)


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Four pictures of a scene, one of them sharp, and another picture."""
    root, generator = tmp_path_factory.mktemp("burst"), np.random.default_rng(3)
    scene = Image.fromarray(generator.integers(0, 255, (12, 16, 3), np.uint8)).resize(
        (640, 480), Image.Resampling.BICUBIC
    )
    scene = Image.blend(scene, Image.fromarray(generator.integers(0, 255, (480, 640, 3), np.uint8)), 0.2)
    other = Image.fromarray(generator.integers(0, 255, (9, 16, 3), np.uint8)).resize((640, 480))
    shots = {
        "blurred.jpg": (scene.filter(ImageFilter.GaussianBlur(3)), 0),
        "sharp.jpg": (scene, 1),
        "shifted.jpg": (scene.filter(ImageFilter.GaussianBlur(1)).crop((9, 6, 640, 480)), 2),
        "small.jpg": (scene.resize((160, 120)), 2),
        "other.jpg": (other, 3),
    }
    for name, (image, seconds) in shots.items():
        exif = Image.Exif()
        exif[ExifTags.Base.Model] = "X100"
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"2019:07:14 12:00:0{seconds}"
        image.save(root / name, exif=exif)
    with Library.open(root) as library:
        library.index(BagOfWords())
        yield library


def searched(library: Library, **options: Any) -> list[str]:
    return [shot.path for shot in library.search(k=9, encoder=BagOfWords(), **options).photos]


def test_a_burst_of_real_pictures_is_one_result(burst: Library) -> None:
    paths = {shot.id: shot.path for shot in photos_in(burst)}
    records = burst.search(k=9, encoder=BagOfWords()).records()
    assert {paths[record["id"]]: sorted(paths[id_] for id_ in record["similar"]) for record in records} == {
        "sharp.jpg": ["blurred.jpg", "shifted.jpg", "small.jpg"],
        "other.jpg": [],
    }
    assert len(searched(burst, stacks=False)) == 5


def test_pinned_photographs_of_a_burst_stay_apart(burst: Library) -> None:
    pinned = [burst.id_of(burst.root / name) for name in ("small.jpg", "blurred.jpg")]
    assert searched(burst, pin=pinned) == ["small.jpg", "blurred.jpg", "other.jpg"]


def test_a_burst_that_was_shown_is_not_shown_again(burst: Library) -> None:
    assert searched(burst, already=[burst.id_of(burst.root / "blurred.jpg")]) == ["other.jpg"]


def test_a_thumbnail_is_sharp_enough_for_the_page(burst: Library) -> None:
    with Image.open(BytesIO(burst.store.thumbnail(burst.id_of(burst.root / "sharp.jpg")))) as image:
        assert image.size == (512, 384)
