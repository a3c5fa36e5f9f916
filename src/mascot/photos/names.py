"""What a file's name says of when its photograph was taken: phones and messengers write it there."""

from __future__ import annotations

import re

from mascot.photos import plausible
from mascot.photos.plausible import Moment, Wrong

_STAMP = re.compile(
    r"(?<!\d)((?:18|19|20)\d\d)([-_.:]?)(\d\d)\2(\d\d)"  # 20190704, 2019-07-04
    r"(?:[-_. T]*|[ _-]+at[ _-]+)"
    r"(\d\d|\d(?=[-.:]))([-_.:]?)(\d\d)\6(\d\d)(?:\d{3})?(?!\d)"  # 181512, 18.15.12, 6.15.12; milliseconds behind
    r"(?:[\s_]?([AaPp])\.?[Mm]\b)?"
)
_GREENWICH = re.compile(r"PXL_", re.I)  # Pixel phones name files by the time in Greenwich


def moment(name: str) -> Moment | None:
    """The clock in a file's name; None unless it holds a whole date and time.

    >>> moment("IMG_20190704_181512.jpg").clock.isoformat()
    '2019-07-04T18:15:12'
    >>> moment("WhatsApp Image 2019-07-04 at 6.15.12 PM.jpeg").clock.isoformat()
    '2019-07-04T18:15:12'
    >>> moment("IMG-20190704-WA0001.jpg"), moment("PXL_20190704_181512345.jpg")
    (None, None)
    """
    if _GREENWICH.match(name):
        return None
    for found in _STAMP.finditer(name):
        year, _, month, day, hour, _, minute, second, half = found.groups()
        if half is not None:
            if not 1 <= int(hour) <= 12:
                continue
            hour = str(int(hour) % 12 + (12 if half in "pP" else 0))
        try:
            return plausible.moment(f"{year}-{month}-{day} {hour}:{minute}:{second}")
        except Wrong:
            continue  # digits that only look like a date
    return None
