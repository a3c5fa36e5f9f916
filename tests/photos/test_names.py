"""Timestamps in file names; names of cities, countries, seasons, parts of the day and moments."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import Shot, moments, part_of_day, season
from mascot.photos.metadata.validate import time_in_name


def test_timestamps_in_names() -> None:
    for name in (
        "00000IMG_00000_BURST20190704181512123_COVER.jpg",
        "2019-07-04 18.15.12-1.jpg",
        "Screenshot_2019-07-04-18-15-12-123_com.example.png",
        "Screen Shot 2019-07-04 at 6.15.12\u202fPM.png",
        "WhatsApp Image 2019-07-04 at 18.15.12 (1).jpeg",
    ):
        result = time_in_name(name)
        assert result == datetime(2019, 7, 4, 18, 15, 12), name
    for name in (
        "IMG-20190704-WA0001.jpg",  # a date without a time
        "PXL_20190704_181512345.jpg",  # UTC
        "Screen Shot 2019-07-04 at 18.15.12 PM.png",  # 18 PM does not exist
        "120190704_181512.jpg",
        "IMG_20990704_181512.jpg",  # the future
    ):
        assert time_in_name(name) is None, name
    noon = time_in_name("Photo 2019-07-04 at 12.05.09 PM.png"), time_in_name("Photo 2019-07-04 at 12.05.09 AM.png")
    assert [half.hour for half in noon if half] == [12, 0]


@given(st.datetimes(datetime(2003, 1, 1), datetime(2025, 12, 31)), st.text(max_size=40))
@settings(max_examples=40)
def test_every_time_round_trips_and_no_name_raises(when: datetime, name: str) -> None:
    for pattern in ("%Y%m%d_%H%M%S", "%Y-%m-%d %H.%M.%S"):
        result = time_in_name(f"IMG_{when.strftime(pattern)}.jpg")
        assert result == when.replace(microsecond=0)
    time_in_name(name)


def test_the_city_people_would_name() -> None:
    places = {
        (38.6916, -9.2160): "Lisbon PT",  # Belém Tower, 7 km from the centre: the city, not its district
        (38.6970, -9.4210): "Cascais PT",  # 25 km from Lisbon, a separate town
        (-33.79, 151.28): "Sydney AU",
        (30.0, -40.0): None,  # far from everything
    }
    cities = gazetteer().nearest(*np.array(list(places)).T)
    assert [city and f"{city.name} {city.country}" for city in cities] == list(places.values())
    points = gazetteer().points[::997]
    assert all(city is not None and city.km <= 150 for city in gazetteer().nearest(points[:, 0], points[:, 1]))


def test_names_of_cities_and_countries_in_any_language() -> None:
    cities = {
        "lisboa": "Lisbon PT",
        "Munchen": "Munich DE",  # without its accent
        "東京": "Tokyo JP",
        "Cambridge, United Kingdom": "Cambridge GB",
        "Lisbon, Atlantis": None,
        "": None,  # some cities have an empty alternate name
        "Porto\nLisbon": None,
    }
    results = {name: gazetteer().find(name) for name in cities}
    assert {name: city and f"{city.name} {city.country}" for name, city in results.items()} == cities
    assert [gazetteer().country(name) for name in ("portugal", "PRT", "pt", "Atlantis")] == ["PT", "PT", "PT", None]
    assert gazetteer().country_name("PT") == "Portugal"


def test_seasons_by_hemisphere_and_parts_of_the_day() -> None:
    july = datetime(2019, 7, 14)
    assert [season(july, lat) for lat in (38.7, -33.8, None)] == ["summer", "winter", "summer"]
    parts = [part_of_day(datetime(2020, 1, 1, hour)) for hour in (6, 9, 13, 16, 19, 23, 3)]
    assert parts == ["dawn", "morning", "noon", "afternoon", "evening", "night", "night"]
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
@settings(max_examples=40)
def test_moments_do_not_depend_on_the_order_of_the_rows(rows: list[tuple[float, float, float]]) -> None:
    shots = [_shot(i, minutes, lat, lon) for i, (minutes, lat, lon) in enumerate(rows)]
    assert moments(shots) == moments(shots[::-1])
    assert set(moments(shots)) == set(range(len(rows)))
