"""The IPTC records, which picture agencies write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from PIL import Image
from PIL.TiffImagePlugin import TiffImageFile

from mascot.photos import plausible
from mascot.photos.plausible import Moment

Iptc = Mapping[int, list[bytes]]  # the data sets of record 2, by number

_TITLE, _KEYWORD, _DATE, _TIME, _CAPTION = 5, 25, 55, 60, 120
_IN_PHOTOSHOP, _IN_TIFF = 0x0404, 33723


def read(image: Image.Image) -> Iptc:
    """Return the records of an opened JPEG or TIFF, as far as they can be read; empty if there are none."""
    blocks: Any = image.info.get("photoshop")
    data: Any = blocks.get(_IN_PHOTOSHOP) if isinstance(blocks, dict) else None
    if data is None and isinstance(image, TiffImageFile):
        data = image.tag_v2.get(_IN_TIFF)
    return parse(data) if isinstance(data, bytes) else {}


def parse(data: bytes) -> Iptc:
    """Parse data sets: 0x1C, record, number, length in two bytes, value; anything else ends them."""
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
    return sets


def title(iptc: Iptc) -> str | None:
    return _text(iptc, _TITLE)


def caption(iptc: Iptc) -> str | None:
    return _text(iptc, _CAPTION)


def keywords(iptc: Iptc) -> list[bytes]:
    return iptc.get(_KEYWORD, [])


def moment(iptc: Iptc) -> Moment | None:
    """Return date and time created. An offset of +00:00 is ignored: programs write it for an unknown one."""
    date, time = _text(iptc, _DATE) or "", _text(iptc, _TIME) or ""
    if not date.strip("0"):
        return None
    date = re.sub(r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3", date)
    time = re.sub(r"(\d\d)(\d\d)(\d\d)", r"\1:\2:\3", re.sub(r"\+00:?00$", "", time), count=1)
    return plausible.moment(f"{date} {time}".strip())


def _text(iptc: Iptc, number: int) -> str | None:
    return plausible.decode(iptc[number][0]) if number in iptc else None
