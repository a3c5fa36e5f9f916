"""Stacks: bursts and copies are one result, the sharpest on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from bag_of_words import BagOfWords
from hypothesis import given
from hypothesis import strategies as st
from libraries import bare_photo
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFilter

from mascot.photos import Library
from mascot.photos.photo import Photo
from mascot.photos.results import Hits
from mascot.photos.stacks import COMPARED, stacks

NOON = datetime(2019, 7, 14, 12)


def photo(id_: int, seconds: float | None, camera: str | None = "X100", hash_: str = "", side: int = 100) -> Photo:
    taken = None if seconds is None else NOON + timedelta(seconds=seconds)
    shot = {"id": id_, "path": f"{id_}.jpg", "hash": hash_ or f"h{id_}", "taken": taken, "camera": camera}
    return bare_photo(**shot, width=side, height=side)


def looks(*angles: float) -> np.ndarray[Any, Any]:
    """Unit vectors in a plane, by their angle in degrees."""
    turned = np.zeros((len(angles), 176), np.float32)
    turned[:, -1], turned[:, -2] = np.cos(np.radians(angles)), np.sin(np.radians(angles))
    return turned


def cells(shots: Sequence[Photo]) -> dict[str, NDArray[Any]]:
    columns = {name: np.array([getattr(shot, name) for shot in shots], object) for name in COMPARED}
    return columns | {"taken": columns["taken"].astype("datetime64[ms]")}


def group(shots: Sequence[Photo], descriptors: NDArray[np.float32]) -> list[list[int]]:
    return stacks(cells(shots), descriptors)


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
    assert group([photo(1, 0), photo(2, 1)], flat) == []
    assert group([photo(1, 0), photo(2, None)], flat) == []
    assert group([], looks()) == []


@given(st.lists(st.tuples(st.none() | st.integers(0, 60), st.sampled_from("ab"), st.integers(0, 90)), max_size=30))
def test_stacks_are_disjoint_and_do_not_depend_on_the_order(items: list[tuple[int | None, str, int]]) -> None:
    shots = [photo(i, seconds, camera) for i, (seconds, camera, _) in enumerate(items)]
    groups = group(shots, looks(*(angle for *_, angle in items)))
    members = [place for stack in groups for place in stack]
    assert len(members) == len(set(members))
    assert all(len(stack) > 1 for stack in groups)


class Rows:
    """Photographs that lie in no database."""

    def __init__(self, shots: Sequence[Photo], looks: NDArray[np.float32]) -> None:
        self._places = {shot.id: place for place, shot in enumerate(shots)}
        self._shots, self._looks = shots, looks

    def cells(self, names: Sequence[str], ids: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        return {name: cells(self.photos(ids))[name] for name in names}

    def looks(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._looks[[self._places[id_] for id_ in ids.tolist()]]

    def photos(self, ids: NDArray[np.int64]) -> list[Photo]:
        return [self._shots[self._places[id_]] for id_ in ids.tolist()]


def hits(*shots: Photo, scores: list[float], angles: list[float]) -> Hits:
    rows = Rows(shots, looks(*angles))
    return Hits(Path("/"), "x", np.array([shot.id for shot in shots]), np.array(scores), rows, rows.looks)


def test_the_sharpest_stands_for_its_stack_with_the_best_score() -> None:
    shots = [photo(1, 0), photo(2, 1), photo(3, 900), photo(4, 2, side=20)]
    found = hits(*shots, scores=[0.9, 0.8, 0.7, 0.1], angles=[0, 1, 60, 2])
    detail = {1: 100, 2: 200, 4: 999}
    stacked = found.stacked(lambda ids: {id_: detail[id_] for id_ in ids})
    assert [shot.id for shot in stacked.photos] == [2, 3]  # 4 is sharper, and small
    assert stacked.scores.tolist() == [0.9, 0.7]
    assert stacked.similar == {2: (1, 4)}
    assert stacked is found.stacked(lambda ids: {})  # kept
    result = stacked.rerank([], 2).results[0]
    assert (result.photo.id, result.similar) == (2, (1, 4))
    # What was shown before or is pinned stays, and stands for the others.
    shown = found.stacked(lambda ids: dict.fromkeys(ids, 0), tops=[1, 4])
    assert {shot.id for shot in shown.photos} == {1, 3, 4}
    assert [*shown.similar.values()] == [(2,)]


def test_a_burst_of_real_pictures_is_one_result(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    scene = Image.fromarray(generator.integers(0, 255, (12, 16, 3), np.uint8)).resize(
        (640, 480), Image.Resampling.BICUBIC
    )
    scene = Image.blend(scene, Image.fromarray(generator.integers(0, 255, (480, 640, 3), np.uint8)), 0.2)
    other = Image.fromarray(generator.integers(0, 255, (9, 16, 3), np.uint8)).resize((640, 480))
    shots = {
        "blurred.jpg": (scene.filter(ImageFilter.GaussianBlur(3)), 0),
        "sharp.jpg": (scene, 1),
        "shifted.jpg": (scene.filter(ImageFilter.GaussianBlur(1)).crop((9, 6, 640, 480)), 2),
        "other.jpg": (other, 3),
    }
    for name, (image, seconds) in shots.items():
        exif = Image.Exif()
        exif[ExifTags.Base.Model] = "X100"
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"2019:07:14 12:00:0{seconds}"
        image.save(tmp_path / name, exif=exif)
    with Library.open(tmp_path) as library:
        library.index(BagOfWords())
        ids = {shot.path: shot.id for shot in library.store.all_photos()}
        records = library.search(k=9, encoder=BagOfWords()).records()
        assert {record["id"]: sorted(record["similar"]) for record in records} == {
            ids["sharp.jpg"]: sorted([ids["blurred.jpg"], ids["shifted.jpg"]]),
            ids["other.jpg"]: [],
        }
        assert len(library.search(k=9, encoder=BagOfWords(), stacks=False)) == 4
        with Image.open(BytesIO(library.store.thumbnail(ids["sharp.jpg"]))) as image:
            assert image.size == (512, 384)  # sharp enough for the page
        page = library.search(k=9, already=[ids["blurred.jpg"]], encoder=BagOfWords())
        assert [shot.path for shot in page.photos] == ["other.jpg"]
