"""The light of a photograph: golden hour, dusk or night, by the height of the sun at its place and time."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from math import asin, atan2, cos, degrees, radians, sin

from mascot.photos.metadata.gazetteer import gazetteer, zone_named

LIGHTS = ("dawn", "day", "golden hour", "dusk", "blue hour", "night")
LIGHT_COLUMNS = ("taken", "lat", "lon", "offset", "city", "country")  # on which the light depends
_J2000 = datetime(2000, 1, 1, 12)
# Hours of the day where the place is unknown.
_CLOCK = {"dawn": ((5, 7),), "day": ((8, 18),), "golden hour": ((7, 8), (18, 20)), "dusk": ((20, 22),),
          "blue hour": ((21, 22),), "night": ((22, 24), (0, 5))}  # fmt: skip


def sun_height(utc: datetime, lat: float, lon: float) -> tuple[float, bool]:
    """Return the height of the sun above the horizon in degrees, and whether it is rising.

    The formula is the low-precision one of the Astronomical Almanac, exact to 0.02 degrees between 1950 and 2050.
    Refraction is neglected: the sun seems to set when it is 0.8 degrees below the horizon.
    """
    days = (utc - _J2000) / timedelta(days=1)
    anomaly = radians(357.528 + 0.9856003 * days)
    longitude = radians(280.460 + 0.9856474 * days + 1.915 * sin(anomaly) + 0.020 * sin(2 * anomaly))
    tilt = radians(23.439 - 4e-7 * days)
    ascension = degrees(atan2(cos(tilt) * sin(longitude), cos(longitude)))
    declination = asin(sin(tilt) * sin(longitude))
    hour_angle = (280.46062 + 360.98564737 * days + lon - ascension + 180) % 360 - 180
    north = radians(lat)
    height = sin(north) * sin(declination) + cos(north) * cos(declination) * cos(radians(hour_angle))
    return degrees(asin(min(max(height, -1.0), 1.0))), hour_angle < 0


@lru_cache(maxsize=200_000)
def lights(
    taken: str | None, lat: float | None, lon: float | None, offset: int | None, city: str | None, country: str | None
) -> tuple[str, ...]:
    """Return what the light of a photograph is called, by the height of the sun; several names may apply.

    Day is above 6 degrees, the golden hour from 6 to -4, the blue hour from -4 to -8, and night below -8. Dusk is from
    0 to -12 while the sun sinks, and dawn while it rises. Where the place is unknown, the hour of the day decides.
    `taken` is the local time in ISO format, `offset` its minutes east of UTC (default: those of the city's time zone,
    or of the longitude).
    """
    if taken is None:
        return ()
    clock = datetime.fromisoformat(taken).replace(tzinfo=None)
    if lat is None or lon is None:
        hour = clock.hour
        return tuple(name for name, spans in _CLOCK.items() if any(low <= hour < high for low, high in spans))
    east = None if offset is None else timedelta(minutes=offset)
    if east is None and city and country:
        zone = zone_named(gazetteer().timezone(city, country, lon))
        east = None if zone is None else zone.utcoffset(clock)
    height, is_rising = sun_height(clock - (timedelta(minutes=4 * lon) if east is None else east), lat, lon)
    names = {
        "dawn": -12 <= height < 0 and is_rising,
        "day": height > 6,
        "golden hour": -4 <= height <= 6,
        "dusk": -12 <= height < 0 and not is_rising,
        "blue hour": -8 <= height < -4,
        "night": height < -8,
    }
    return tuple(name for name, applies in names.items() if applies)
