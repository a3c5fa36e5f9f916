"""A sample travel library: 600 JPEG files with the metadata of photographs, written from a table and 80 pictures.

Table and pictures were generated once. The generator is in the history of the repository, at commit 922e55d.
"""

from __future__ import annotations

import csv
import hashlib
import json
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO, StringIO
from pathlib import Path
from random import Random
from typing import Any, Literal
from xml.sax.saxutils import escape

from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from mascot.errors import InputError, require

Tag = Literal["right", "absent", "wrong"]
_EDITION = 2  # increased when files change, so that a folder never mixes two editions of the sample
_LONG, _SHORT = 480, 320  # pixels
_STORED = {  # EXIF orientation -> how the upright picture is turned before it is stored
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}
_CROP_AT = {  # position of the crop along the long side, 0 to 1, for subjects that are not in the middle
    "cat-1": 0.85, "cat-3": 0.85, "horse": 0.75, "landmark-minaret": 0.2, "landmark-opera": 0.75,
    "landmark-statue": 0.2, "lighthouse-1": 0.95, "lighthouse-2": 0.95, "sunrise": 0.05, "sunset-boat": 0.85,
}  # fmt: skip
_EXPOSURES = (  # lowest altitude of the sun in degrees; aperture, exposure time in seconds, ISO speed
    (15, IFDRational(8), IFDRational(1, 500), 100),
    (0, IFDRational(28, 5), IFDRational(1, 200), 200),
    (-8, IFDRational(4), IFDRational(1, 60), 800),
    (-90, IFDRational(14, 5), IFDRational(1, 15), 3200),
)
_EXIF_IFD, _GPS_IFD, _UNIQUE_ID = 0x8769, 0x8825, 0xA420


@dataclass(frozen=True, slots=True)
class SampleCamera:
    """A camera as EXIF describes it. `artist` is "" for phones."""

    make: str
    model: str
    lens: str
    focal_mm: float
    artist: str = ""


CAMERAS = {
    camera.model: camera
    for camera in (
        SampleCamera("Canon", "Canon EOS 80D", "EF-S18-135mm f/3.5-5.6 IS USM", 35.0, "Ines Moreira"),
        SampleCamera("FUJIFILM", "X-T3", "XF18-55mmF2.8-4 R LM OIS", 23.0, "Ines Moreira"),
        SampleCamera("SONY", "ILCE-7M3", "FE 24-105mm F4 G OSS", 50.0, "Jonas Brandt"),
        SampleCamera("Apple", "iPhone 7", "iPhone 7 back camera 3.99mm f/1.8", 3.99),
        SampleCamera("samsung", "SM-G950F", "Samsung Galaxy S8 rear camera 4.2mm f/1.7", 4.2),
        SampleCamera("Google", "Pixel 6", "Pixel 6 back camera 6.81mm f/1.85", 6.81),
    )
}


@dataclass(frozen=True, slots=True)
class Postcard:
    """One file of the sample: its true place and time, and whether its metadata has them."""

    path: str  # relative, with forward slashes
    picture: str  # the file in pictures/ that it shows, without the extension
    view: str  # equal for the frames of one burst
    subject: str
    place: str
    city: str
    country: str  # ISO 3166-1 alpha-2
    lat: float
    lon: float
    metres: float  # above sea level
    taken: datetime  # local time, without a zone
    offset_h: float  # hours ahead of UTC
    sun: float  # altitude of the sun in degrees
    camera: SampleCamera
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None
    gps: Tag  # "wrong" is 0, 0
    clock: Tag  # "wrong" is 0000:00:00 00:00:00
    orientation: int  # EXIF orientation of the stored picture: 1, 3, 6 or 8
    portrait: bool


def plan(count: int = 600, seed: int = 0) -> list[Postcard]:
    """Return the postcards of a sample library, sorted by path.

    The table has 600 rows. A smaller `count` selects some of them by `seed`, and a smaller selection is part of every
    larger one; a larger `count` repeats rows under new names. Another `seed` also gives other views of the pictures.
    """
    require(count >= 1, "sample.count", "must be >= 1", count)
    rows = list(_table())
    Random(f"{seed}/order").shuffle(rows)
    cards = []
    for number in range(count):
        card = rows[number % len(rows)]
        path, copy = card.path, number // len(rows)
        if copy:
            stem, _, extension = path.rpartition(".")
            path = f"{stem} ({copy + 1}).{extension}"
        cards.append(replace(card, path=path, view=f"{seed}/{card.view}"))
    return sorted(cards, key=lambda card: card.path)


_CONVERSIONS: dict[str, Callable[[str], Any]] = {  # of columns that are not text
    **dict.fromkeys(("lat", "lon", "metres", "offset_h", "sun"), float),
    "taken": datetime.fromisoformat,
    "camera": CAMERAS.__getitem__,
    "caption": lambda text: text or None,
    "keywords": lambda text: tuple(text.split(";")) if text else (),
    "rating": lambda text: int(text) if text else None,
    "orientation": int,
    "portrait": lambda text: text == "yes",
}


@cache
def _table() -> tuple[Postcard, ...]:
    text = (files("mascot.photos.sample") / "postcards.csv").read_text(encoding="utf-8")
    return tuple(
        Postcard(**{column: _CONVERSIONS.get(column, str)(value) for column, value in row.items()})
        for row in csv.DictReader(StringIO(text))
    )


def write_sample(
    folder: Path, count: int = 600, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> list[Postcard]:
    """Write `count` files of the sample library into a folder, which is created if necessary.

    The folder must be empty or hold part of the same sample: existing files are not written again, so an interrupted
    run can be resumed. Hidden files are ignored. The same seed gives the same bytes; another one gives other crops and,
    if `count` is below 600, other photographs. `progress` is called with the files done and the files in total.
    """
    cards = plan(count, seed)
    existing = _check(Path(folder), cards)
    for number, card in enumerate(cards, start=1):
        if card.path not in existing:
            path = Path(folder) / card.path
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.part")  # an interrupted run leaves no incomplete file
            temporary.write_bytes(jpeg(card))
            temporary.replace(path)
        if progress is not None:
            progress(number, len(cards))
    return cards


def jpeg(card: Postcard) -> bytes:
    picture = _view(card)
    if card.orientation in _STORED:
        picture = picture.transpose(_STORED[card.orientation])
    file = BytesIO()
    packet = _xmp(card)
    picture.save(file, "JPEG", quality=80, exif=_exif(card), **({"xmp": packet} if packet else {}))
    return file.getvalue()


def _view(card: Postcard) -> Image.Image:
    """Return the upright picture: a crop of the shipped one, perhaps mirrored, brighter or warmer.

    Frames of a burst share their view except for a slight movement of the camera.
    """
    source = _picture(card.picture)
    tall = source.width < source.height
    view, frame = Random(card.view), Random(f"{card.view}/{card.path}")
    width, height = (_SHORT, _LONG) if card.portrait else (_LONG, _SHORT)
    fits = tall == card.portrait
    scale = min(source.width / width, source.height / height) * (1 - (0.25 if fits else 0.1) * view.random())

    def position(centre: float, reach: float) -> float:
        return min(max(centre + reach * (view.random() - 0.5) + 0.06 * (frame.random() - 0.5), 0), 1)

    long_position = position(_CROP_AT.get(card.picture, 0.5), 0.9 if fits and card.picture not in _CROP_AT else 0.2)
    short_position = position(0.5, 0.9)
    x = (source.width - width * scale) * (short_position if tall else long_position)
    y = (source.height - height * scale) * (long_position if tall else short_position)
    box = (x, y, x + width * scale, y + height * scale)
    picture = source.resize((width, height), Image.Resampling.BICUBIC, box=box)
    if card.subject != "landmark" and view.random() < 0.5:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    bright = 1 + 0.16 * (view.random() - 0.5) + 0.04 * (frame.random() - 0.5) + 0.003 * max(min(card.sun, 12), -12)
    warm = 0.12 * (view.random() - 0.5) + 0.05 * max(1 - abs(card.sun) / 12, 0)  # warmer the lower the sun
    gains = (bright * (1 + warm), bright, bright * (1 - warm))
    return picture.point([min(round(level * gain), 255) for gain in gains for level in range(256)])


@lru_cache(maxsize=128)
def _picture(name: str) -> Image.Image:
    data = (files("mascot.photos.sample") / "pictures" / f"{name}.webp").read_bytes()
    return Image.open(BytesIO(data)).convert("RGB")


def _exif(card: Postcard) -> Image.Exif:
    """Return the EXIF block: camera, caption, time and place, as far as the postcard has them."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = card.camera.make, card.camera.model
    exif[0x0112] = card.orientation
    exif[0x0131] = "MASCOT sample"
    if card.caption is not None:
        exif[0x010E] = card.caption.encode()  # as bytes, because Pillow writes str as ASCII
    if card.camera.artist:
        exif[0x013B] = card.camera.artist
    details: dict[int, Any] = exif.get_ifd(_EXIF_IFD)
    details[_UNIQUE_ID] = _identity(card)
    details[0xA434] = card.camera.lens
    details[0x920A] = IFDRational(round(card.camera.focal_mm * 100), 100)
    exposure = next(exposure for lowest, *exposure in _EXPOSURES if card.sun > lowest)
    details[0x829D], details[0x829A], details[0x8827] = exposure
    if card.clock == "wrong":
        exif[0x0132] = details[0x9003] = details[0x9004] = "0000:00:00 00:00:00"
    elif card.clock == "right":
        exif[0x0132] = details[0x9003] = details[0x9004] = card.taken.strftime("%Y:%m:%d %H:%M:%S")
        minutes = round(abs(card.offset_h) * 60)
        details[0x9011] = f"{'-' if card.offset_h < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
        details[0x9291] = f"{card.taken.microsecond // 1000:03d}"
    if card.gps != "absent":
        lat, lon = (card.lat, card.lon) if card.gps == "right" else (0.0, 0.0)
        position: dict[int, Any] = exif.get_ifd(_GPS_IFD)
        position[1], position[2] = "S" if lat < 0 else "N", _degrees(lat)
        position[3], position[4] = "W" if lon < 0 else "E", _degrees(lon)
        if card.gps == "right":
            position[5], position[6] = b"\x00", IFDRational(round(card.metres * 10), 10)
    return exif


def _degrees(value: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    """Return degrees, minutes and seconds, to a ten-thousandth of a second."""
    parts = round(abs(value) * 36_000_000)
    return IFDRational(parts // 36_000_000), IFDRational(parts // 600_000 % 60), IFDRational(parts % 600_000, 10_000)


def _xmp(card: Postcard) -> bytes:
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


def _check(folder: Path, cards: list[Postcard]) -> set[str]:
    """Return the paths that exist already; raise InputError if the folder contains anything else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"sample: {str(folder)!r} must be a folder, but is a file")
    identities = {card.path: _identity(card) for card in cards}
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(folder).as_posix() for path in paths)
    # Some file systems return decomposed Unicode: u and a combining diaeresis for ü.
    existing = {unicodedata.normalize("NFC", name) for name in names if "/." not in f"/{name}"}
    for path in sorted(existing):
        if path not in identities or _stored_identity(folder / path) != identities[path]:
            raise InputError(
                f"sample: {str(folder)!r} must be empty or hold the same sample, but holds {path!r}; name a new folder"
            )
    return existing


def _stored_identity(path: Path) -> str | None:
    """Return the unique ID in a file's EXIF block; None if there is none."""
    try:
        with Image.open(path) as picture:
            return picture.getexif().get_ifd(_EXIF_IFD).get(_UNIQUE_ID)
    except OSError:
        return None


def _identity(card: Postcard) -> str:
    """Return 32 hexadecimal digits that depend on every field of the postcard."""
    text = json.dumps([_EDITION, asdict(card)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
