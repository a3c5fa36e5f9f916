"""Words for times: the season of a date on its hemisphere, the part of the day of an hour."""

from __future__ import annotations

from datetime import datetime

_NORTH = ("winter", "winter", "spring", "spring", "spring", "summer", "summer", "summer",
          "autumn", "autumn", "autumn", "winter")  # fmt: skip
_OPPOSITE = {"winter": "summer", "spring": "autumn", "summer": "winter", "autumn": "spring"}
_PARTS = ((5, "night"), (8, "dawn"), (12, "morning"), (14, "noon"), (18, "afternoon"), (21, "evening"), (24, "night"))
SEASONS = ("spring", "summer", "autumn", "winter")
PARTS_OF_DAY = ("dawn", "morning", "noon", "afternoon", "evening", "night")


def season(taken: datetime | None, lat: float | None) -> str | None:
    """The season by whole months; south of the equator the opposite one, without a place the northern one."""
    if taken is None:
        return None
    name = _NORTH[taken.month - 1]
    return _OPPOSITE[name] if lat is not None and lat < 0 else name


def part_of_day(taken: datetime | None) -> str | None:
    """Dawn from 5, morning from 8, noon from 12, afternoon from 14, evening from 18, night from 21 o'clock."""
    return None if taken is None else next(name for until, name in _PARTS if taken.hour < until)
