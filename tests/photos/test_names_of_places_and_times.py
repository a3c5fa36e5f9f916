"""Cities, countries, seasons, parts of the day and moments."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.photos.gazetteer import gazetteer
from mascot.photos.moments import Shot, moments
from mascot.photos.seasons import PARTS_OF_DAY, SEASONS, part_of_day, season


@pytest.mark.parametrize(
    ("place", "city", "country"),
    [
        ((38.6916, -9.2160), "Lisbon", "PT"),  # Belém Tower, 7 km from the centre: the city, not its district
        ((38.6970, -9.4210), "Cascais", "PT"),  # 25 km from Lisbon, a separate town
        ((48.8584, 2.2945), "Paris", "FR"),
        ((35.6590, 139.7006), "Tokyo", "JP"),
        ((-33.79, 151.28), "Sydney", "AU"),
    ],
)
def test_the_city_people_would_name(place: tuple[float, float], city: str, country: str) -> None:
    nearest = gazetteer().nearest([place[0]], [place[1]])[0]
    assert nearest is not None
    assert (nearest.name, nearest.country) == (city, country)


def test_far_from_everything_there_is_no_city() -> None:
    assert gazetteer().nearest([30.0, 23.0], [-40.0, 10.0]) == [None, None]


def test_nearest_takes_many_points_at_once() -> None:
    points = gazetteer().points[::97][:700]
    cities = gazetteer().nearest(points[:, 0], points[:, 1])
    assert len(cities) == len(points)
    assert all(city is not None and city.km <= 150 for city in cities)
    # Single points give the same result.
    for i in (0, 256, 511, 699):
        single = gazetteer().nearest(points[i, :1], points[i, 1:])[0]
        assert single is not None
        assert (single.name, single.country) == (cities[i].name, cities[i].country)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "city", "country"),
    [
        ("Lisbon", "Lisbon", "PT"),
        ("lisboa", "Lisbon", "PT"),
        ("München", "Munich", "DE"),
        ("Munchen", "Munich", "DE"),
        ("東京", "Tokyo", "JP"),
        ("York", "York", "GB"),
        ("Cambridge, US", "Cambridge", "US"),
        ("Cambridge, United Kingdom", "Cambridge", "GB"),
    ],
)
def test_a_name_in_any_language_finds_its_city(name: str, city: str, country: str) -> None:
    result = gazetteer().find(name)
    assert result is not None
    assert (result.name, result.country) == (city, country)


def test_an_unknown_name_gives_none() -> None:
    assert gazetteer().find("Nowhereville upon Nothing") is None
    assert gazetteer().find("Lisbon, Atlantis") is None
    assert gazetteer().find("") is None  # some cities have an empty alternate name
    assert gazetteer().find("Porto\nLisbon") is None
    assert gazetteer().country("Atlantis") is None


def test_countries() -> None:
    assert gazetteer().country("portugal") == gazetteer().country("PRT") == gazetteer().country("pt") == "PT"
    assert gazetteer().country_name("PT") == "Portugal"


def test_seasons_by_hemisphere() -> None:
    july = datetime(2019, 7, 14)
    assert season(july, 38.7) == "summer"
    assert season(july, -33.8) == "winter"
    assert season(july, None) == "summer"
    assert season(None, 38.7) is None
    assert {season(datetime(2020, month, 1), 10.0) for month in range(1, 13)} == set(SEASONS)


def test_parts_of_the_day() -> None:
    parts = [part_of_day(datetime(2020, 1, 1, hour)) for hour in range(24)]
    assert set(parts) == set(PARTS_OF_DAY)
    assert (parts[6], parts[9], parts[13], parts[16], parts[19], parts[23], parts[3]) == (
        "dawn", "morning", "noon", "afternoon", "evening", "night", "night",
    )  # fmt: skip
    assert part_of_day(None) is None


def _shot(id_: int, minutes: float, lat: float | None = 38.7, lon: float | None = -9.1, camera: str = "A") -> Shot:
    return Shot(id_, datetime(2019, 7, 14, 18) + timedelta(minutes=minutes), lat, lon, "Lisbon", camera)


def test_a_gap_of_an_hour_starts_a_new_moment() -> None:
    labels = moments([_shot(1, 0), _shot(2, 59), _shot(3, 118), _shot(4, 179)])
    assert labels[1] == labels[2] == labels[3] == "2019-07-14 18:00 Lisbon"
    assert labels[4] == "2019-07-14 20:59 Lisbon"


def test_a_kilometre_starts_a_new_moment() -> None:
    labels = moments([_shot(1, 0), _shot(2, 1, lat=38.708), _shot(3, 2, lat=38.72)])
    assert labels[1] == labels[2]
    assert labels[3] != labels[1]


def test_simultaneous_moments_in_two_places_are_separate() -> None:
    shots = [_shot(i, i, lat=38.7 if i % 2 else 38.9, camera="A" if i % 2 else "B") for i in range(10)]
    labels = moments(shots)
    assert len(set(labels.values())) == 2
    assert len({labels[i] for i in range(0, 10, 2)}) == 1


def test_a_shot_without_a_place_joins_the_moment_of_its_camera() -> None:
    shots = [_shot(1, 0, lat=38.7, camera="A"), _shot(2, 1, lat=38.9, camera="B"), _shot(3, 2, None, None, "A")]
    labels = moments(shots)
    assert labels[3] == labels[1] != labels[2]


def test_moments_of_the_same_minute_have_different_labels() -> None:
    labels = moments([_shot(1, 0), _shot(2, 0.5, lat=39.7)])
    assert sorted(labels.values()) == ["2019-07-14 18:00 Lisbon", "2019-07-14 18:00 Lisbon (2)"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5000), st.floats(-90, 90), st.floats(-180, 180)), min_size=1, max_size=30))
def test_moments_do_not_depend_on_the_order_of_the_rows(rows: list[tuple[float, float, float]]) -> None:
    shots = [_shot(i, minutes, lat, lon) for i, (minutes, lat, lon) in enumerate(rows)]
    assert moments(shots) == moments(shots[::-1])
    assert set(moments(shots)) == set(range(len(rows)))


def test_neighbours_across_the_antimeridian_are_one_moment() -> None:
    assert len(set(moments([_shot(1, 0, 0.0, 179.999), _shot(2, 1, 0.0, -179.999)]).values())) == 1
    assert np.isfinite(gazetteer().points).all()
