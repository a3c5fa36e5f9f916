"""EXIF and XMP of a postcard."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from mascot.photos.sample.postcards import Postcard

EXIF_IFD, GPS_IFD, UNIQUE_ID = 0x8769, 0x8825, 0xA420


def exif_of(card: Postcard, identity: str) -> Image.Exif:
    """Return the EXIF block: camera, caption, time and place, as far as the postcard has them."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = card.camera.make, card.camera.model
    exif[0x0112] = card.orientation
    exif[0x0131] = "MASCOT sample"
    if card.caption is not None:
        exif[0x010E] = card.caption.encode()  # as bytes, because Pillow writes str as ASCII
    if card.camera.artist:
        exif[0x013B] = card.camera.artist
    details: dict[int, Any] = exif.get_ifd(EXIF_IFD)
    details[UNIQUE_ID] = identity
    details[0xA434] = card.camera.lens
    details[0x920A] = IFDRational(round(card.camera.focal_mm * 100), 100)
    details[0x829D], details[0x829A], details[0x8827] = _exposure(card.sun)
    if card.clock == "wrong":
        exif[0x0132] = details[0x9003] = details[0x9004] = "0000:00:00 00:00:00"
    elif card.clock == "right":
        exif[0x0132] = details[0x9003] = details[0x9004] = card.taken.strftime("%Y:%m:%d %H:%M:%S")
        details[0x9011] = _offset(card.offset_h)
        details[0x9291] = f"{card.taken.microsecond // 1000:03d}"
    if card.gps != "absent":
        lat, lon = card.known_place or (0.0, 0.0)
        position: dict[int, Any] = exif.get_ifd(GPS_IFD)
        position[1], position[2] = "S" if lat < 0 else "N", _degrees(lat)
        position[3], position[4] = "W" if lon < 0 else "E", _degrees(lon)
        if card.gps == "right":
            position[5], position[6] = b"\x00", IFDRational(round(card.metres * 10), 10)
    return exif


def xmp_of(card: Postcard) -> bytes:
    """Return an XMP packet with keywords, rating and any caption that is not ASCII; b"" if there is none of them."""
    parts = []
    if card.keywords:
        items = "".join(f"<rdf:li>{escape(word)}</rdf:li>" for word in card.keywords)
        parts.append(f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject>")
    if card.rating is not None:
        parts.append(f"<xmp:Rating>{card.rating}</xmp:Rating>")
    if card.caption is not None and not card.caption.isascii():
        item = f'<rdf:li xml:lang="x-default">{escape(card.caption)}</rdf:li>'
        parts.append(f"<dc:description><rdf:Alt>{item}</rdf:Alt></dc:description>")
    if not parts:
        return b""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
        f'{"".join(parts)}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    ).encode()


def _degrees(value: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    """Return degrees, minutes and seconds, to a ten-thousandth of a second."""
    parts = round(abs(value) * 36_000_000)
    return IFDRational(parts // 36_000_000), IFDRational(parts // 600_000 % 60), IFDRational(parts % 600_000, 10_000)


def _offset(hours: float) -> str:
    minutes = round(hours * 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _exposure(sun: float) -> tuple[IFDRational, IFDRational, int]:
    """Return aperture, exposure time in seconds and ISO speed for an altitude of the sun."""
    if sun > 15:
        return IFDRational(8), IFDRational(1, 500), 100
    if sun > 0:
        return IFDRational(28, 5), IFDRational(1, 200), 200
    if sun > -8:
        return IFDRational(4), IFDRational(1, 60), 800
    return IFDRational(14, 5), IFDRational(1, 15), 3200
