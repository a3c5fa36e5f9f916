"""The season of a date and the part of the day of a time."""

from __future__ import annotations

from datetime import datetime

_NORTH = ("winter", "winter", "spring", "spring", "spring", "summer", "summer", "summer",
          "autumn", "autumn", "autumn", "winter")  # fmt: skip
_OPPOSITE = {"winter": "summer", "spring": "autumn", "summer": "winter", "autumn": "spring"}
_ENDS = (
    (5, "night"),
    (8, "dawn"),
    (12, "morning"),
    (14, "noon"),
    (18, "afternoon"),
    (21, "evening"),
    (24, "night"),
)
SEASONS = ("spring", "summer", "autumn", "winter")
PARTS_OF_DAY = ("dawn", "morning", "noon", "afternoon", "evening", "night")


def season(taken: datetime | None, lat: float | None) -> str | None:
    """Return the meteorological season: that of the northern hemisphere unless the latitude is negative."""
    if taken is None:
        return None
    name = _NORTH[taken.month - 1]
    return _OPPOSITE[name] if lat is not None and lat < 0 else name


def part_of_day(taken: datetime | None) -> str | None:
    """Return dawn from 5:00, morning from 8:00, noon from 12:00, afternoon from 14:00, evening from 18:00 or night."""
    return None if taken is None else next(name for end, name in _ENDS if taken.hour < end)
