"""The values that focuses are near, and how far the nearest result is from each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mascot as mc
from mascot.attributes.columns import as_array
from mascot.photos.photo import Photo
from mascot.server.schemas import TargetOut
from mascot.wishes import Wish

_MINUTES = {"year": 525_960, "month": 43_830, "day": 1440, "hour": 60, "minute": 1}


def target_out(name: str, near: Any, wish: Wish, photos: Sequence[Photo]) -> TargetOut:
    """Return what a focus is near, as text and as a place, hour or date, for the results of its search."""
    target = TargetOut(name, near if isinstance(near, str) else ",".join(map(str, np.atleast_1d(near))))
    if isinstance(wish.attribute, mc.Place):
        target.lat, target.lon = map(float, wish.near)
        target.nearest = _nearest(wish, photos, 50.0, lambda km: f"{km:,.0f} km")
    elif isinstance(wish.attribute, mc.HourOfDay):
        target.hour = float(wish.near)
        target.nearest = _nearest(wish, photos, 0.5, lambda hours: _duration(hours * 60))
    elif isinstance(wish.attribute, mc.Date):
        target.date = str(wish.near)[:10]
        target.nearest = _nearest(wish, photos, 16.0, lambda days: _duration(days * 1440))
    return target


def _nearest(wish: Wish, photos: Sequence[Photo], least: float, text_of: Any) -> str | None:
    """Return how far the nearest photograph is; None if that is less than `least`, or unknown (NaN)."""
    columns = {name: as_array([getattr(photo, name) for photo in photos]) for name in ("lat", "lon", "taken")}
    focus = wish.named_focus(wish.bins(columns, None, len(photos)))
    nearest = min((distance for distance in focus.target().distance if distance >= 0), default=0.0)
    return f"nearest is {text_of(nearest)} away" if nearest >= least else None


def _duration(minutes: float) -> str:
    """Return a duration in its largest unit: `3 years`, `5 hours`."""
    unit = next((unit for unit, length in _MINUTES.items() if minutes >= length), "minute")
    count = max(round(minutes / _MINUTES[unit]), 1)
    return f"{count} {unit}{'' if count == 1 else 's'}"
