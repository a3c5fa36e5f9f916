"""At what hour each subject is photographed, by the sun of its place and day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random

from mascot.photos.sample.places import City, Spot
from mascot.photos.sample.sun import altitude, time_of

_EVENING_TOO = frozenset(
    {"landmark", "bridge", "harbour", "skyline", "street", "market", "lighthouse", "boat", "birds"}
)


def hour_for(subject: str, city: City, spot: Spot, day: date, rng: Random) -> datetime | None:
    """A local time, to the millisecond; None where the subject needs a night and there is none."""
    offset = city.offset_h(day)

    def sun_at(degrees: float, evening: bool) -> datetime | None:
        return time_of(degrees, spot.lat, spot.lon, offset, day, evening)

    taken: datetime | None
    if subject in ("sunset", "sunrise"):
        taken = sun_at(-2.0 + 7.0 * rng.random(), evening=subject == "sunset")
    elif subject == "balloons":
        taken = sun_at(1.0 + 11.0 * rng.random(), evening=False)
    elif subject in ("night", "aurora"):
        dark = sun_at(-9.0, evening=True)
        last = datetime(day.year, day.month, day.day, 23, 40)
        if dark is None or dark > last:
            return None
        taken = dark + (last - dark) * rng.random() ** 1.5
    elif subject == "food":
        hour = rng.choice((8.5, 13.0, 13.0, 19.5, 20.0)) + rng.gauss(0, 0.5)
        taken = datetime(day.year, day.month, day.day) + timedelta(hours=hour)
    else:
        taken = _by_day(subject, city, spot, day, rng)
    if taken is None:  # the sun does not pass this height today
        taken = _by_day(subject, city, spot, day, rng)
    return taken.replace(microsecond=rng.randrange(1000) * 1000)


def _by_day(subject: str, city: City, spot: Spot, day: date, rng: Random) -> datetime:
    """Mostly between nine and half past five, sometimes in the low light of morning and evening."""
    offset = city.offset_h(day)
    low = rng.random()
    if low < 0.24:
        degrees = 3.0 + 9.0 * rng.random()
        if subject in _EVENING_TOO and rng.random() < 0.45:
            degrees = -5.0 + 6.0 * rng.random()
        taken = time_of(degrees, spot.lat, spot.lon, offset, day, evening=low < 0.17)
        if taken is not None:
            return taken
    midnight = datetime(day.year, day.month, day.day)
    best, best_height = midnight + timedelta(hours=12), -90.0
    for _ in range(8):
        taken = midnight + timedelta(seconds=rng.randint(9 * 3600, 17 * 3600 + 1800))
        height = altitude(spot.lat, spot.lon, taken - timedelta(hours=offset))
        if height > 8:
            return taken
        if height > best_height:
            best, best_height = taken, height
    return best
