"""The season of a place and day, and its weather."""

from __future__ import annotations

from datetime import date
from random import Random

from mascot.photos.sample.places import City


def weather_of(city: City, day: date, subject: str, seed: int) -> str:
    """One weather for a city and a day; nobody photographs a sunset in the rain."""
    rng = Random(f"{seed}/weather/{city.name}/{day}")
    if subject in ("sunset", "sunrise", "balloons", "aurora"):
        return rng.choice(("clear", "fair", "fair"))
    cold = season_of(city, day) == "winter" and city.land in ("north", "alpine", "polar")
    if city.land in ("desert", "savanna") or subject in ("beach", "desert", "camel"):
        return rng.choice(("clear", "clear", "clear", "fair", "fair"))
    if cold or subject == "snow":
        return rng.choice(("clear", "fair", "cloudy", "snowfall", "snowfall"))
    return rng.choice(("clear",) * 5 + ("fair",) * 5 + ("cloudy", "cloudy", "mist", "rain"))


def season_of(city: City, day: date) -> str:
    """Winter, spring, summer or autumn where the city is; near the equator it is always summer."""
    if abs(city.lat) < 24:
        return "summer"
    north = ("winter", "spring", "summer", "autumn")[day.month % 12 // 3]
    if city.lat > 0:
        return north
    return {"winter": "summer", "spring": "autumn", "summer": "winter", "autumn": "spring"}[north]
