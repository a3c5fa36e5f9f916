"""Timestamps in file names."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from hypothesis import given, settings
from hypothesis import strategies as st
from jpegs import write_jpeg

from mascot.photos import Library
from mascot.photos.names import moment

_TAKEN = datetime(2019, 7, 4, 18, 15, 12)


@pytest.mark.parametrize(
    "name",
    [
        "IMG_20190704_181512.jpg",
        "MVIMG_20190704_181512_HDR.jpg",
        "IMG_20190704_181512123.jpg",
        "20190704_181512(0).jpg",
        "00000IMG_00000_BURST20190704181512123_COVER.jpg",
        "2019-07-04 18.15.12-1.jpg",
        "photo_2019-07-04_18-15-12.jpg",
        "signal-2019-07-04-181512.jpg",
        "Screenshot_2019-07-04-18-15-12-123_com.example.png",
        "Screen Shot 2019-07-04 at 6.15.12 PM.png",
        "Screen Shot 2019-07-04 at 6.15.12\u202fPM.png",
        "WhatsApp Image 2019-07-04 at 18.15.12 (1).jpeg",
    ],
)
def test_a_timestamp_in_a_name_is_read(name: str) -> None:
    result = moment(name)
    assert result is not None
    assert (result.clock, result.offset) == (_TAKEN, None)


@pytest.mark.parametrize(
    "name",
    [
        "DSC01234.jpg",
        "IMG-20190704-WA0001.jpg",  # a date without a time
        "PXL_20190704_181512345.jpg",  # UTC
        "20191304_181512.jpg",  # month 13
        "20190704_251512.jpg",
        "Screen Shot 2019-07-04 at 18.15.12 PM.png",  # 18 PM does not exist
        "4914949671_20190704181512.5.jpg".replace("20190704", "12345678"),
        "120190704_181512.jpg",
        "IMG_20990704_181512.jpg",  # the future
    ],
)
def test_a_name_without_a_local_timestamp_gives_none(name: str) -> None:
    assert moment(name) is None


def test_midnight_and_noon_on_a_twelve_hour_clock() -> None:
    hours = [moment(f"Photo 2019-07-04 at 12.05.09 {half}.png") for half in ("AM", "PM")]
    assert [result.clock.hour for result in hours if result] == [0, 12]


@settings(deadline=None)
@given(
    st.datetimes(datetime(2003, 1, 1), datetime(2025, 12, 31)), st.sampled_from(["%Y%m%d_%H%M%S", "%Y-%m-%d %H.%M.%S"])
)
def test_every_time_round_trips(when: datetime, pattern: str) -> None:
    result = moment(f"IMG_{when.strftime(pattern)}.jpg")
    assert result is not None
    assert result.clock == when.replace(microsecond=0)


@settings(deadline=None)
@given(st.text(max_size=40))
def test_no_name_raises(name: str) -> None:
    moment(name)


def test_exif_takes_precedence_over_the_name(tmp_path: Path) -> None:
    write_jpeg(tmp_path / "IMG_20190704_181512.jpg")
    write_jpeg(tmp_path / "IMG_20190704_181513.jpg", taken="2020-01-01T09:00:00")
    with Library.open(tmp_path) as library:
        library.index(BagOfWords())
        without_exif, with_exif = sorted(library.store.all_photos(), key=lambda photo: photo.path)
    assert (without_exif.taken, without_exif.part_of_day, without_exif.problems) == (_TAKEN, "evening", ())
    assert with_exif.taken == datetime(2020, 1, 1, 9)
