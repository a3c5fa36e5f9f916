"""Moments: photographs of one stretch of time and place, so that a burst can be told from a journey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import cos, hypot, radians

_GAP = timedelta(hours=1)
_GAP_KM = 1.0
_KM_A_DEGREE = 111.195


@dataclass(frozen=True, slots=True)
class Shot:
    """What decides which moment a photograph belongs to."""

    id: int
    taken: datetime
    lat: float | None
    lon: float | None
    city: str | None
    camera: str | None


@dataclass(slots=True)
class _Moment:
    label: str
    last: datetime
    point: tuple[float, float] | None
    camera: str | None


def moments(shots: Iterable[Shot]) -> dict[int, str]:
    """The moment of each photograph, named by its first: `2019-07-14 18:05 Lisbon`.

    A gap of an hour or of a kilometre starts a new one. Several may be open at once, because two people
    with two cameras may photograph at the same time in two places; a photograph without a place joins
    the moment of its own camera, or else the latest.
    """
    found: dict[int, str] = {}
    used: dict[str, int] = {}
    running: list[_Moment] = []  # latest last
    for shot in sorted(shots, key=lambda shot: (shot.taken, shot.id)):
        running = [moment for moment in running if shot.taken - moment.last < _GAP]
        near = [moment for moment in running if _together(moment, shot)]
        own = [moment for moment in near if moment.camera == shot.camera]
        if near:
            moment = (own or near)[-1]
            running.remove(moment)
        else:
            label = " ".join(filter(None, [f"{shot.taken:%Y-%m-%d %H:%M}", shot.city]))
            used[label] = used.get(label, 0) + 1
            moment = _Moment(label if used[label] == 1 else f"{label} ({used[label]})", shot.taken, None, None)
        moment.last, moment.camera = shot.taken, shot.camera
        if shot.lat is not None and shot.lon is not None:
            moment.point = (shot.lat, shot.lon)
        running.append(moment)
        found[shot.id] = moment.label
    return found


def _together(moment: _Moment, shot: Shot) -> bool:
    if moment.point is None or shot.lat is None or shot.lon is None:
        return True
    lat, lon = moment.point
    # Longitude wraps: 179° and -179° are neighbours.
    east = (shot.lon - lon + 180.0) % 360.0 - 180.0
    return hypot(shot.lat - lat, east * cos(radians(lat))) * _KM_A_DEGREE < _GAP_KM
