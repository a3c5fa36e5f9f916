"""Trips: spans of days away from home, each with a name such as `Portugal, July 2019`; and years."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import km_between

if TYPE_CHECKING:
    from mascot.photos.database.store import Store

_HOME_MONTHS = 3  # in which a place must have photographs to be home: a long stay is within two
_HOME_KM = 50.0  # around home are no trips
_MOST_DAYS = 7  # between two photographs of one trip
_LEAST_DAYS, _LEAST_PHOTOS = 2, 3  # of a trip
_SHARE = 0.1  # of the photographs, from which on a place is part of the name


@dataclass(frozen=True, slots=True)
class Visit:
    """The properties of a photograph that decide its trip. City and country are None if its place is unknown."""

    id: int
    taken: datetime
    lat: float | None = None
    lon: float | None = None
    city: str | None = None
    country: str | None = None  # ISO 3166-1 alpha-2
    moment: str | None = None
    merit: float = 0.0  # the photograph with the most is the cover


@dataclass(frozen=True, slots=True)
class Home:
    """The place that was photographed in most months, and on most days."""

    city: str
    country: str
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Period:
    """The photographs of a trip or a year: those taken from `since` to `until`, whatever their place."""

    name: str  # `Portugal, July 2019`, or `2019`
    place: str | None  # `Portugal`; None for a year
    country: str | None  # with the most photographs of the trip, as alpha-2 code
    since: str
    until: str
    photos: int
    moments: tuple[str, ...]  # labels, in the order of time
    cover: int  # the id of the photograph with the highest rating, and of these the best quality


@dataclass(frozen=True, slots=True)
class Trips:
    """The home, the trips and the years of a library; the newest first."""

    home: Home | None
    trips: tuple[Period, ...]
    years: tuple[Period, ...]

    @classmethod
    def of_library(cls, store: Store) -> Trips:
        rows = store.connection.execute(
            "SELECT id, taken, lat, lon, city, country, moment, coalesce(rating, 0) + coalesce(quality, 0) "
            "FROM photos WHERE taken IS NOT NULL ORDER BY taken, id"
        )
        return cls.of_visits([Visit(row[0], datetime.fromisoformat(row[1]), *tuple(row)[2:]) for row in rows])

    @classmethod
    def of_visits(cls, visits: Sequence[Visit]) -> Trips:
        """Return the trips of photographs that are sorted by time."""
        home = home_of(visits)
        years = [(year, list(group)) for year, group in groupby(visits, lambda visit: visit.taken.year)]
        periods = (_period(f"{year:04}", None, None, f"{year:04}", f"{year:04}", group) for year, group in years[::-1])
        return cls(home, _trips(visits, home), tuple(periods))


def home_of(visits: Iterable[Visit]) -> Home | None:
    """Return the place that was photographed in most months, and of these on most days; None if it has under 3 months.

    A holiday has more photographs than a year at home, but not more months.
    """
    points: dict[tuple[str, str], list[Visit]] = defaultdict(list)
    for visit in visits:
        if visit.city is not None and visit.country is not None and visit.lat is not None:
            points[visit.city, visit.country].append(visit)

    def regularity(place: tuple[str, str]) -> tuple[int, int, int]:
        days = {visit.taken.date() for visit in points[place]}
        return len({(day.year, day.month) for day in days}), len(days), len(points[place])

    place = max(sorted(points), key=regularity, default=None)
    if place is None or regularity(place)[0] < _HOME_MONTHS:
        return None
    middle = (median(getattr(visit, name) for visit in points[place]) for name in ("lat", "lon"))
    return Home(*place, *middle)


def _trips(visits: Sequence[Visit], home: Home | None) -> tuple[Period, ...]:
    """Return the trips, the newest first. A photograph at home, or a week without any photograph, ends a trip."""
    spans: list[list[Visit]] = [[]]
    for visit in visits:
        if visit.lat is None or visit.lon is None:
            continue
        is_home = home is not None and km_between(home.lat, home.lon, visit.lat, visit.lon) < _HOME_KM
        if spans[-1] and (is_home or visit.taken - spans[-1][-1].taken > timedelta(days=_MOST_DAYS)):
            spans.append([])
        if not is_home:
            spans[-1].append(visit)
    days = [visit.taken.date() for visit in visits]
    trips = []
    for away in spans[::-1]:
        if len(away) >= _LEAST_PHOTOS and len({visit.taken.date() for visit in away}) >= _LEAST_DAYS:
            since, until = away[0].taken.date(), away[-1].taken.date()
            of_days = visits[bisect_left(days, since) : bisect_right(days, until)]
            place, country = _place(away, home)
            name = f"{place}, {since:%B %Y}" if place else f"{since:%B %Y}"
            trips.append(_period(name, place, country, since.isoformat(), until.isoformat(), of_days))
    return tuple(trips)


def _place(visits: Sequence[Visit], home: Home | None) -> tuple[str | None, str | None]:
    """Return the name and the country of a trip: a city, a country, or two of them.

    A country stands for its cities if there are several, and it is not the country of home.
    """
    countries = _frequent(visit.country for visit in visits)
    names = []
    for country in countries[:2]:
        cities = _frequent(visit.city for visit in visits if visit.country == country)
        is_domestic = home is not None and country == home.country
        names.append(cities[0] if cities and (is_domestic or len(cities) == 1) else gazetteer().country_name(country))
    return " and ".join(names) or None, countries[0] if countries else None


def _frequent(labels: Iterable[str | None]) -> list[str]:
    """Return the labels that at least a tenth of the photographs have, the most frequent first."""
    counts = Counter(label for label in labels if label is not None)
    return [label for label, count in counts.most_common() if count >= _SHARE * counts.total()]


def _period(
    name: str, place: str | None, country: str | None, since: str, until: str, visits: Sequence[Visit]
) -> Period:
    labels = dict.fromkeys(visit.moment for visit in visits if visit.moment is not None)
    cover = max(visits, key=lambda visit: visit.merit).id
    return Period(name, place, country, since, until, len(visits), tuple(labels), cover)
