"""Trips: home, spans of days away from it, and their names."""

from __future__ import annotations

from datetime import datetime

import pytest

from mascot.photos.trips import Period, Trips, Visit

_PLACES = {
    "Hamburg": (53.55, 9.99, "DE"),
    "Pinneberg": (53.66, 9.80, "DE"),  # 17 km from Hamburg
    "Dresden": (51.05, 13.74, "DE"),
    "Lisbon": (38.72, -9.14, "PT"),
    "Porto": (41.15, -8.61, "PT"),
    "Seville": (37.39, -5.99, "ES"),
    "Suva": (-18.14, 178.44, "FJ"),
    "Apia": (-13.83, -171.77, "WS"),
}
_HOME = "Hamburg 2018-01-05, Hamburg 2018-06-05, Hamburg 2019-03-05"


def _visits(text: str) -> list[Visit]:
    """Return photographs from `city day`, at noon; the place of `-` is unknown."""
    visits = []
    for id_, part in enumerate(text.split(", "), 1):
        city, day = part.split()
        lat, lon, country = _PLACES.get(city, (None, None, None))
        label = None if lat is None else city
        taken = datetime.fromisoformat(f"{day}T12:00:00")
        visits.append(Visit(id_, taken, lat, lon, label, country, f"{day} {city}", id_ % 2))
    return sorted(visits, key=lambda visit: visit.taken)


def _trips(text: str) -> tuple[Period, ...]:
    return Trips.of_visits(_visits(text)).trips


@pytest.mark.parametrize(
    ("away", "names"),
    [
        ("Lisbon 2019-07-02, Lisbon 2019-07-03, Porto 2019-07-09", ["Portugal, July 2019"]),
        ("Lisbon 2019-07-02, Lisbon 2019-07-02, Lisbon 2019-07-03", ["Lisbon, July 2019"]),
        ("Dresden 2019-07-02, Dresden 2019-07-02, Dresden 2019-07-03", ["Dresden, July 2019"]),
        ("Lisbon 2019-07-02, Porto 2019-07-02, Seville 2019-07-03", ["Portugal and Seville, July 2019"]),
        ("Lisbon 2019-07-02, Lisbon 2019-07-02, Lisbon 2019-07-02", []),  # one day
        ("Lisbon 2019-07-02, Lisbon 2019-07-03", []),  # two photographs
        ("Pinneberg 2019-07-02, Pinneberg 2019-07-03, Pinneberg 2019-07-04", []),
        ("Suva 2018-12-30, Suva 2018-12-31, Suva 2019-01-02, Apia 2019-01-03", ["Suva and Apia, December 2018"]),
        ("- 2019-07-02, - 2019-07-03, - 2019-07-04", []),
    ],
)
def test_a_trip_is_named_by_place_and_month(away: str, names: list[str]) -> None:
    assert [trip.name for trip in _trips(f"{_HOME}, {away}")] == names


@pytest.mark.parametrize("between", ["Hamburg 2019-07-05", "Pinneberg 2019-07-05", "Lisbon 2019-07-20"])
def test_a_day_at_home_or_a_week_without_photographs_ends_a_trip(between: str) -> None:
    later = between.startswith("Lisbon")
    second = "Porto 2019-07-20, Porto 2019-07-21" if later else "Porto 2019-07-06, Porto 2019-07-07, Porto 2019-07-07"
    trips = _trips(f"{_HOME}, Lisbon 2019-07-02, Lisbon 2019-07-03, Lisbon 2019-07-03, {between}, {second}")
    assert [trip.since for trip in trips] == ["2019-07-20" if later else "2019-07-06", "2019-07-02"]


def test_a_trip_counts_all_photographs_of_its_days() -> None:
    away = "Lisbon 2019-07-02, - 2019-07-03, Lisbon 2019-07-03, Porto 2019-07-05, - 2019-07-06"
    (trip,) = _trips(f"{_HOME}, {away}")
    assert (trip.since, trip.until, trip.country, trip.photos, trip.cover) == ("2019-07-02", "2019-07-05", "PT", 4, 5)
    assert trip.moments == ("2019-07-02 Lisbon", "2019-07-03 -", "2019-07-03 Lisbon", "2019-07-05 Porto")


def test_home_has_most_months_and_not_most_photographs() -> None:
    holiday = ", ".join(f"Lisbon 2019-07-{day:02}" for day in range(1, 20))
    trips = Trips.of_visits(_visits(f"{holiday}, {_HOME}"))
    assert trips.home is not None
    assert (trips.home.city, trips.home.country) == ("Hamburg", "DE")
    assert [(year.name, year.since, year.photos) for year in trips.years] == [("2019", "2019", 20), ("2018", "2018", 2)]


@pytest.mark.parametrize(("last", "count"), [("Lisbon 2019-08-01", 0), ("Porto 2019-07-04", 1)])
def test_a_library_of_trips_alone_has_no_home(last: str, count: int) -> None:
    trips = Trips.of_visits(_visits(f"Lisbon 2019-07-02, Lisbon 2019-07-03, {last}"))
    assert (trips.home, len(trips.trips)) == (None, count)


def test_no_photographs_give_no_trips() -> None:
    assert Trips.of_visits([]) == Trips(None, (), ())
