"""Timestamps in file names; names of cities, countries, seasons, parts of the day and moments."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot.photos.gazetteer import gazetteer
from mascot.photos.moments import PARTS_OF_DAY, SEASONS, Shot, moments, part_of_day, season
from mascot.photos.plausible import moment_in_name as moment


@pytest.mark.parametrize(
    "name",
    [
        "IMG_20190704_181512.jpg",
        "IMG_20190704_181512123.jpg",
        "00000IMG_00000_BURST20190704181512123_COVER.jpg",
        "2019-07-04 18.15.12-1.jpg",
        "photo_2019-07-04_18-15-12.jpg",
        "Screenshot_2019-07-04-18-15-12-123_com.example.png",
        "Screen Shot 2019-07-04 at 6.15.12\u202fPM.png",
        "WhatsApp Image 2019-07-04 at 18.15.12 (1).jpeg",
    ],
)
def test_a_timestamp_in_a_name_is_read(name: str) -> None:
    result = moment(name)
    assert result is not None
    assert (result.clock, result.offset) == (datetime(2019, 7, 4, 18, 15, 12), None)


def test_names_without_a_local_timestamp_and_noon() -> None:
    for name in (
        "IMG-20190704-WA0001.jpg",  # a date without a time
        "PXL_20190704_181512345.jpg",  # UTC
        "20191304_181512.jpg",  # month 13
        "Screen Shot 2019-07-04 at 18.15.12 PM.png",  # 18 PM does not exist
        "4914949671_12345678181512.5.jpg",
        "120190704_181512.jpg",
        "IMG_20990704_181512.jpg",  # the future
    ):
        assert moment(name) is None, name
    noon = moment("Photo 2019-07-04 at 12.05.09 PM.png"), moment("Photo 2019-07-04 at 12.05.09 AM.png")
    assert [half.clock.hour for half in noon if half] == [12, 0]


@given(st.datetimes(datetime(2003, 1, 1), datetime(2025, 12, 31)), st.text(max_size=40))
def test_every_time_round_trips_and_no_name_raises(when: datetime, name: str) -> None:
    for pattern in ("%Y%m%d_%H%M%S", "%Y-%m-%d %H.%M.%S"):
        result = moment(f"IMG_{when.strftime(pattern)}.jpg")
        assert result is not None
        assert result.clock == when.replace(microsecond=0)
    moment(name)


def test_the_city_people_would_name() -> None:
    places = {
        (38.6916, -9.2160): "Lisbon PT",  # Belém Tower, 7 km from the centre: the city, not its district
        (38.6970, -9.4210): "Cascais PT",  # 25 km from Lisbon, a separate town
        (48.8584, 2.2945): "Paris FR",
        (35.6590, 139.7006): "Tokyo JP",
        (-33.79, 151.28): "Sydney AU",
        (30.0, -40.0): None,  # far from everything
        (23.0, 10.0): None,
    }
    cities = gazetteer().nearest(*np.array(list(places)).T)
    assert [city and f"{city.name} {city.country}" for city in cities] == list(places.values())
    points = gazetteer().points[::997]
    assert all(city is not None and city.km <= 150 for city in gazetteer().nearest(points[:, 0], points[:, 1]))


@pytest.mark.parametrize(
    ("name", "city"),
    [
        ("lisboa", "Lisbon PT"),
        ("Munchen", "Munich DE"),  # without its accent
        ("東京", "Tokyo JP"),
        ("York", "York GB"),
        ("Cambridge, US", "Cambridge US"),
        ("Cambridge, United Kingdom", "Cambridge GB"),
        ("Nowhereville upon Nothing", None),
        ("Lisbon, Atlantis", None),
        ("", None),  # some cities have an empty alternate name
        ("Porto\nLisbon", None),
    ],
)
def test_a_name_in_any_language_finds_its_city(name: str, city: str | None) -> None:
    result = gazetteer().find(name)
    assert (result and f"{result.name} {result.country}") == city


def test_countries() -> None:
    names = ("portugal", "PRT", "pt", "Atlantis")
    assert [gazetteer().country(name) for name in names] == ["PT", "PT", "PT", None]
    assert gazetteer().country_name("PT") == "Portugal"


def test_seasons_by_hemisphere_and_parts_of_the_day() -> None:
    july = datetime(2019, 7, 14)
    assert [season(july, lat) for lat in (38.7, -33.8, None)] == ["summer", "winter", "summer"]
    assert {season(datetime(2020, month, 1), 10.0) for month in range(1, 13)} == set(SEASONS)
    parts = [part_of_day(datetime(2020, 1, 1, hour)) for hour in range(24)]
    assert set(parts) == set(PARTS_OF_DAY)
    expected = ["dawn", "morning", "noon", "afternoon", "evening", "night", "night"]
    assert [parts[hour] for hour in (6, 9, 13, 16, 19, 23, 3)] == expected
    assert season(None, 38.7) is part_of_day(None) is None


def _shot(id_: int, minutes: float, lat: float | None = 38.7, lon: float | None = -9.1, camera: str = "A") -> Shot:
    return Shot(id_, datetime(2019, 7, 14, 18) + timedelta(minutes=minutes), lat, lon, "Lisbon", camera)


def test_a_gap_of_an_hour_or_a_kilometre_starts_a_new_moment() -> None:
    labels = moments([_shot(1, 0), _shot(2, 59), _shot(3, 118), _shot(4, 179)])
    assert labels[1] == labels[2] == labels[3] == "2019-07-14 18:00 Lisbon"
    assert labels[4] == "2019-07-14 20:59 Lisbon"
    labels = moments([_shot(1, 0), _shot(2, 1, lat=38.708), _shot(3, 2, lat=38.72)])
    assert labels[1] == labels[2] != labels[3]
    labels = moments([_shot(1, 0), _shot(2, 0.5, lat=39.7)])  # of the same minute
    assert sorted(labels.values()) == ["2019-07-14 18:00 Lisbon", "2019-07-14 18:00 Lisbon (2)"]
    assert len(set(moments([_shot(1, 0, 0.0, 179.999), _shot(2, 1, 0.0, -179.999)]).values())) == 1


def test_simultaneous_moments_in_two_places_are_separate() -> None:
    shots = [_shot(i, i, lat=38.7 if i % 2 else 38.9, camera="A" if i % 2 else "B") for i in range(10)]
    labels = moments([*shots, _shot(10, 10, None, None, "A")])  # without a place: the moment of its camera
    assert len(set(labels.values())) == 2
    assert len({labels[i] for i in range(0, 10, 2)}) == 1
    assert labels[10] == labels[1]


@given(st.lists(st.tuples(st.floats(0, 5000), st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=30))
def test_moments_do_not_depend_on_the_order_of_the_rows(rows: list[tuple[float, float, float]]) -> None:
    shots = [_shot(i, minutes, lat, lon) for i, (minutes, lat, lon) in enumerate(rows)]
    assert moments(shots) == moments(shots[::-1])
    assert set(moments(shots)) == set(range(len(rows)))
