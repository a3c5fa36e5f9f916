"""Postcards on disk: each is painted, described in EXIF and XMP, and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from mascot.errors import InputError
from mascot.photos.sample.journeys import Postcard, plan
from mascot.photos.sample.paint.stage import Scene
from mascot.photos.sample.scenery import paint

_STYLE = 1  # of the painting: a new style is another sample, and never mixes with the old one in a folder
_EXIF_IFD, _GPS_IFD, _UNIQUE_ID = 0x8769, 0x8825, 0xA420
_UPRIGHT_TO_STORED = {  # what turns an upright picture into one that a reader must turn back
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}


def write_sample(
    folder: Path, count: int = 600, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> list[Postcard]:
    """Write the sample library into a folder, which is made if it is not there.

    Parameters
    ----------
    folder
        Empty, or holding part or all of the same sample: what is there is kept, so an interrupted run can be
        run again. Names that begin with a dot are not looked at.
    count
        How many pictures.
    seed
        Another seed gives another library; the same one gives the same bytes.
    progress
        Called with (pictures done, pictures in all) after each.
    """
    cards = plan(count, seed)
    done = _check(Path(folder), cards)
    for number, card in enumerate(cards, start=1):
        if card.path not in done:
            _write(Path(folder) / card.path, jpeg(card))
        if progress is not None:
            progress(number, len(cards))
    return cards


def jpeg(card: Postcard) -> bytes:
    """The file of one postcard."""
    scene = Scene(
        card.subject, card.variant, card.land, card.season, card.weather, card.sun, card.portrait, card.frame
    )  # fmt: skip
    picture = paint(scene, card.composition, card.sky)
    if card.orientation in _UPRIGHT_TO_STORED:
        picture = picture.transpose(_UPRIGHT_TO_STORED[card.orientation])
    file = BytesIO()
    packet = _xmp(card)
    picture.save(file, "JPEG", quality=80, exif=_exif(card), **({"xmp": packet} if packet else {}))
    return file.getvalue()


def _check(folder: Path, cards: list[Postcard]) -> set[str]:
    """The paths that are written already; anything else in the folder is refused."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"sample: {str(folder)!r} must be a folder, and is a file")
    planned = {card.path: card for card in cards}
    done = set()
    for name in _files(folder):
        card = planned.get(name)
        if card is None or _stored_id(folder / name) != _identity(card):
            raise InputError(
                f"sample: {str(folder)!r} must be empty or hold the same sample, and holds {name!r}; name a new folder"
            )
        done.add(name)
    return done


def _files(folder: Path) -> Iterator[str]:
    """What lies in the folder, as relative paths; nothing hidden."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        for name in sorted([*files, *links]):
            if not name.startswith("."):
                # Some file systems hand back ü as u and two dots.
                yield unicodedata.normalize("NFC", (Path(root) / name).relative_to(folder).as_posix())


def _stored_id(path: Path) -> str | None:
    """The id a postcard's file carries; None for any other file."""
    try:
        with Image.open(path) as picture:
            return picture.getexif().get_ifd(_EXIF_IFD).get(_UNIQUE_ID)
    except OSError:
        return None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


def _identity(card: Postcard) -> str:
    """32 hexadecimal digits that differ whenever anything about the postcard does."""
    words = json.dumps([_STYLE, asdict(card)], sort_keys=True, default=str)
    return hashlib.sha256(words.encode()).hexdigest()[:32]


def _exif(card: Postcard) -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = card.camera.make, card.camera.model
    exif[0x0112] = card.orientation
    exif[0x0131] = "MASCOT sample"
    if card.caption is not None:
        exif[0x010E] = card.caption.encode()  # bytes, for Pillow writes text as ASCII
    if card.camera.artist:
        exif[0x013B] = card.camera.artist
    details: dict[int, Any] = exif.get_ifd(_EXIF_IFD)
    details[_UNIQUE_ID] = _identity(card)
    details[0xA434] = card.camera.lens
    details[0x920A] = IFDRational(round(card.camera.focal_mm * 100), 100)
    details[0x829D], details[0x829A], details[0x8827] = _exposure(card.sun)
    if card.clock != "absent":
        wrong = card.clock == "wrong"
        moment = "0000:00:00 00:00:00" if wrong else card.taken.strftime("%Y:%m:%d %H:%M:%S")
        exif[0x0132] = details[0x9003] = details[0x9004] = moment
        if not wrong:
            details[0x9011] = _offset(card.offset_h)
            details[0x9291] = f"{card.taken.microsecond // 1000:03d}"
    if card.gps != "absent":
        lat, lon = (card.lat, card.lon) if card.gps == "right" else (0.0, 0.0)
        place: dict[int, Any] = exif.get_ifd(_GPS_IFD)
        place[1], place[2] = "S" if lat < 0 else "N", _degrees(lat)
        place[3], place[4] = "W" if lon < 0 else "E", _degrees(lon)
        if card.gps == "right":
            place[5], place[6] = b"\x00", IFDRational(round(card.metres * 10), 10)
    return exif


def _degrees(value: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    """Degrees, minutes and seconds to a ten-thousandth."""
    parts = round(abs(value) * 36_000_000)
    return IFDRational(parts // 36_000_000), IFDRational(parts // 600_000 % 60), IFDRational(parts % 600_000, 10_000)


def _offset(hours: float) -> str:
    minutes = round(hours * 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _exposure(sun: float) -> tuple[IFDRational, IFDRational, int]:
    """Aperture, seconds and ISO as a camera would choose them."""
    if sun > 15:
        return IFDRational(8), IFDRational(1, 500), 100
    if sun > 0:
        return IFDRational(28, 5), IFDRational(1, 200), 200
    if sun > -8:
        return IFDRational(4), IFDRational(1, 60), 800
    return IFDRational(14, 5), IFDRational(1, 15), 3200


def _xmp(card: Postcard) -> bytes:
    """Keywords, rating and, where it is not plain ASCII, the caption once more; nothing if there is nothing to say."""
    parts = []
    if card.keywords:
        items = "".join(f"<rdf:li>{escape(word)}</rdf:li>" for word in card.keywords)
        parts.append(f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject>")
    if card.rating is not None:
        parts.append(f"<xmp:Rating>{card.rating}</xmp:Rating>")
    if card.caption is not None and not card.caption.isascii():
        words = f'<rdf:li xml:lang="x-default">{escape(card.caption)}</rdf:li>'
        parts.append(f"<dc:description><rdf:Alt>{words}</rdf:Alt></dc:description>")
    if not parts:
        return b""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
        f'{"".join(parts)}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    ).encode()
