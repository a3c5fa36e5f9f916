"""Timestamps in file names, as phones and messengers write them."""

from __future__ import annotations

import re

from mascot.photos import plausible
from mascot.photos.plausible import Moment, Wrong

_STAMP = re.compile(
    r"(?<!\d)((?:18|19|20)\d\d)([-_.:]?)(\d\d)\2(\d\d)"  # 20190704, 2019-07-04
    r"(?:[-_. T]*|[ _-]+at[ _-]+)"
    r"(\d\d|\d(?=[-.:]))([-_.:]?)(\d\d)\6(\d\d)(?:\d{3})?(?!\d)"  # 181512, 18.15.12, 6.15.12; perhaps milliseconds
    r"(?:[\s_]?([AaPp])\.?[Mm]\b)?"
)
_UTC_NAME = re.compile(r"PXL_", re.I)  # Pixel phones name files in UTC, not in local time


def moment(name: str) -> Moment | None:
    """Return the local time in a file name; None unless it has a complete date and time.

    >>> moment("IMG_20190704_181512.jpg").clock.isoformat()
    '2019-07-04T18:15:12'
    >>> moment("WhatsApp Image 2019-07-04 at 6.15.12 PM.jpeg").clock.isoformat()
    '2019-07-04T18:15:12'
    >>> moment("IMG-20190704-WA0001.jpg"), moment("PXL_20190704_181512345.jpg")
    (None, None)
    """
    if _UTC_NAME.match(name):
        return None
    for match in _STAMP.finditer(name):
        year, _, month, day, hour, _, minute, second, half = match.groups()
        if half is not None:
            if not 1 <= int(hour) <= 12:
                continue
            hour = str(int(hour) % 12 + (12 if half in "pP" else 0))
        try:
            return plausible.moment(f"{year}-{month}-{day} {hour}:{minute}:{second}")
        except Wrong:
            continue  # digits that are not a date
    return None
