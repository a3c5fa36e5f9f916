"""Where the sun stands, to a degree or so: enough to paint by."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta


def altitude(lat: float, lon: float, utc: datetime) -> float:
    """Degrees of the sun over the horizon."""
    day = utc.timetuple().tm_yday
    hours = utc.hour + utc.minute / 60 + utc.second / 3600
    turn = 2 * math.pi * (day - 81) / 365.24
    ahead = (9.87 * math.sin(2 * turn) - 7.53 * math.cos(turn) - 1.5 * math.sin(turn)) / 60  # equation of time, hours
    hour_angle = math.radians(15 * (hours + lon / 15 + ahead - 12))
    declination = math.radians(-23.44) * math.cos(2 * math.pi * (day + 10 + hours / 24) / 365.24)
    north = math.radians(lat)
    height = math.sin(north) * math.sin(declination) + math.cos(north) * math.cos(declination) * math.cos(hour_angle)
    return math.degrees(math.asin(max(-1.0, min(1.0, height))))


def time_of(degrees: float, lat: float, lon: float, offset_h: float, day: date, evening: bool) -> datetime | None:
    """The local time of a day at which the sun passes this height, going down or coming up; None if it never does."""
    offset = timedelta(hours=offset_h)
    noon = datetime(day.year, day.month, day.day, 12) + timedelta(hours=offset_h - lon / 15)
    high, low = noon, noon + timedelta(hours=12 if evening else -12)
    if not altitude(lat, lon, low - offset) < degrees < altitude(lat, lon, high - offset):
        return None
    for _ in range(18):  # halved to a fifth of a second
        middle = high + (low - high) / 2
        if altitude(lat, lon, middle - offset) > degrees:
            high = middle
        else:
            low = middle
    return high.replace(microsecond=0)
