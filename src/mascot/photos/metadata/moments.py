"""Seasons, parts of the day, and moments: groups of photographs that are close in time and place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import cos, hypot, radians

SEASONS = ("spring", "summer", "autumn", "winter")
_FIRST_HOURS = {"dawn": 5, "morning": 8, "noon": 12, "afternoon": 14, "evening": 18, "night": 21}
PARTS_OF_DAY = tuple(_FIRST_HOURS)
_MAX_GAP = timedelta(hours=1)
_MAX_KM = 1.0
_KM_PER_DEGREE = 111.195


def season(taken: datetime | None, lat: float | None) -> str | None:
    """Return the meteorological season: that of the northern hemisphere unless the latitude is negative."""
    if taken is None:
        return None
    quarters_from_march = (taken.month - 3) // 3
    return SEASONS[(quarters_from_march + (2 if lat is not None and lat < 0 else 0)) % 4]


def part_of_day(taken: datetime | None) -> str | None:
    """Return dawn from 5:00, morning from 8:00, noon from 12:00, afternoon from 14:00, evening from 18:00 or night."""
    if taken is None:
        return None
    return next((part for part, hour in reversed(_FIRST_HOURS.items()) if taken.hour >= hour), "night")


def easter_days(year: int) -> tuple[date, ...]:
    """Return the days from Good Friday to Easter Monday, by the Gregorian computus of Meeus, Jones and Butcher."""
    century, of_century = divmod(year, 100)
    golden, leaps = year % 19, century // 4
    moon = (19 * golden + century - leaps - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - moon - of_century % 4) % 7
    shift = moon + weekday - 7 * ((golden + 11 * moon + 22 * weekday) // 451) + 114
    sunday = date(year, shift // 31, shift % 31 + 1)
    return tuple(sunday + timedelta(days=days) for days in range(-2, 2))


@dataclass(frozen=True, slots=True)
class Shot:
    """The properties of a photograph that decide its moment."""

    id: int
    taken: datetime
    lat: float | None
    lon: float | None
    city: str | None
    camera: str | None


@dataclass(slots=True)
class _OpenMoment:
    label: str
    last: datetime
    point: tuple[float, float] | None
    camera: str | None


def moments(shots: Iterable[Shot]) -> dict[int, str]:
    """Return the label of each photograph's moment by id, named after its first one: `2019-07-14 18:05 Lisbon`.

    A gap of an hour or of a kilometre starts a new moment. Several moments can be open at once, because two people
    may take photographs at the same time in two places. A photograph without a place joins the latest open moment of
    its own camera, or else the latest one.
    """
    labels: dict[int, str] = {}
    minute, uses = "", Counter[str]()  # how often each label of this minute was used
    open_moments: list[_OpenMoment] = []  # latest last
    for shot in sorted(shots, key=lambda shot: (shot.taken, shot.id)):
        open_moments = [moment for moment in open_moments if shot.taken - moment.last < _MAX_GAP]
        near = [moment for moment in open_moments if _is_near(moment, shot)]
        same_camera = [moment for moment in near if moment.camera == shot.camera]
        if near:
            moment = (same_camera or near)[-1]
            open_moments.remove(moment)
        else:
            if minute != f"{shot.taken:%Y-%m-%d %H:%M}":
                minute = f"{shot.taken:%Y-%m-%d %H:%M}"
                uses.clear()
            label = " ".join(filter(None, [minute, shot.city]))
            uses[label] += 1
            moment = _OpenMoment(label if uses[label] == 1 else f"{label} ({uses[label]})", shot.taken, None, None)
        moment.last, moment.camera = shot.taken, shot.camera
        if shot.lat is not None and shot.lon is not None:
            moment.point = (shot.lat, shot.lon)
        open_moments.append(moment)
        labels[shot.id] = moment.label
    return labels


def _is_near(moment: _OpenMoment, shot: Shot) -> bool:
    """Return whether a photograph is within a kilometre of a moment; a missing place is near every moment."""
    if moment.point is None or shot.lat is None or shot.lon is None:
        return True
    return km_between(*moment.point, shot.lat, shot.lon) < _MAX_KM


def km_between(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return the distance of two points that are not far apart."""
    east = (other_lon - lon + 180.0) % 360.0 - 180.0  # longitude wraps: 179° and -179° are neighbours
    return hypot(other_lat - lat, east * cos(radians(lat))) * _KM_PER_DEGREE
