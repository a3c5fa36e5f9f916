"""The season of a date and the part of the day of a time."""

from __future__ import annotations

from datetime import datetime

SEASONS = ("spring", "summer", "autumn", "winter")
_FIRST_HOURS = {"dawn": 5, "morning": 8, "noon": 12, "afternoon": 14, "evening": 18, "night": 21}
PARTS_OF_DAY = tuple(_FIRST_HOURS)


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
