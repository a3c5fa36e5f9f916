"""The IPTC records, which picture agencies write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from mascot.photos import plausible
from mascot.photos.plausible import Moment

_TITLE, _KEYWORD, _DATE, _TIME, _CAPTION = 5, 25, 55, 60, 120
_IN_PHOTOSHOP, _IN_TIFF = 0x0404, 33723


@dataclass(frozen=True, slots=True)
class Iptc:
    """The data sets of record 2, by number. Methods raise `Wrong`."""

    sets: Mapping[int, list[bytes]]

    def title(self) -> str | None:
        return self._text(_TITLE)

    def caption(self) -> str | None:
        return self._text(_CAPTION)

    def keywords(self) -> list[bytes]:
        return self.sets.get(_KEYWORD, [])

    def moment(self) -> Moment | None:
        """Return date and time created. An offset of +00:00 is ignored: programs write it for an unknown one."""
        date, time = self._text(_DATE) or "", self._text(_TIME) or ""
        if not date.strip("0"):
            return None
        date = re.sub(r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3", date)
        time = re.sub(r"(\d\d)(\d\d)(\d\d)", r"\1:\2:\3", re.sub(r"\+00:?00$", "", time), count=1)
        return plausible.moment(f"{date} {time}".strip())

    def _text(self, number: int) -> str | None:
        return plausible.decode(self.sets[number][0]) if number in self.sets else None


def read(image: Image.Image) -> Iptc:
    """Return the records of an opened JPEG or TIFF, as far as they can be read; empty if there are none.

    A data set is 0x1C, record, number, length in two bytes, and value; anything else ends them.
    """
    blocks: Any = image.info.get("photoshop")
    data: Any = blocks.get(_IN_PHOTOSHOP) if isinstance(blocks, dict) else None
    if data is None and isinstance(image, TiffImageFile):
        data = image.tag_v2.get(_IN_TIFF)
    data = data if isinstance(data, bytes) else b""
    sets: dict[int, list[bytes]] = {}
    at = 0
    while data[at : at + 1] == b"\x1c" and at + 5 <= len(data):
        record, number, length = data[at + 1], data[at + 2], int.from_bytes(data[at + 3 : at + 5], "big")
        value = data[at + 5 : at + 5 + length]
        if length >= 0x8000 or len(value) < length:  # longer than any text that is used
            break
        if record == 2:
            sets.setdefault(number, []).append(value)
        at += 5 + length
    return Iptc(sets)
