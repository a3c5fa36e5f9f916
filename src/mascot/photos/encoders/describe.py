"""The description of a photograph from its metadata and path: one line of words for each kind.

title: Evening at the harbour
keywords: boat; sea
folder: Portugal
place: Lisbon, Portugal
time: summer, evening
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from mascot.photos.metadata.validate import human_text

KINDS = ("title", "keywords", "caption", "folder", "place", "time")
_CAPTION_LIMIT = 300  # characters; more of them dilute a sentence vector

# Words in file names and folders about how a photograph was made or stored, not about its content.
_CAMERA_WORD = re.compile(
    "img|imgs|imgp|dsc|dscn|dscf|dcim|cimg|pxl|mvimg|dji|gopro|jpg|jpeg|png|tiff|webp|heic|dng|cr2|nef|arw|raw|hdr|burst"
    "|photo|photos|picture|pictures|pics|image|images|bild|bilder|foto|fotos|camera|cameraroll|kamera|album|albums|alben"
    "|folder|ordner|untitled|unsorted|misc|tmp|temp|backup|export|exports|import|imports|originals|edited|bearbeitet"
    "|copy|kopie|kopia|copie|download|downloads|iphone|ipad|android|whatsapp|instagram|snapseed|lightroom|icloud|takeout"
    "|mp4|thumb|thumbs|thumbnail|thumbnails|resized|fullsizerender",
    re.IGNORECASE,
)
# The same, but only before a number: cameras write SAM_0012, and Sam is a name.
_NUMBERED = re.compile(
    r"(?<![^\W_])(?:sam|wa|wp|mg|p|l|r|g|gx|gh|gp|gopr|hpim|kif|imag|pic|pict|mov|mvi|vid|cover|mp)[-_ ]?(?=\d{2})",
    re.IGNORECASE,
)
_MOTION = re.compile(r"\.(MP|NIGHT|PORTRAIT|COVER|PANO|LS)\b|(?<=\d)_(COVER|HDR|TOP)\b")  # suffixes of phones
_PHRASE = re.compile(r"camera roll|photos from \d{4}|fotos (von|aus) \d{4}", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(19|20)\d{2}(?!\d)")
_DCF_FOLDER = re.compile(r"^\d{3}[A-Z0-9_]{5}\Z")  # 100APPLE, 101MSDCF, 100_PANA
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_HASH = re.compile(r"(?<![^\W_])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}(?![^\W_])", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBERING = re.compile(r"(?<=[^\W\d_]{3})\d+$")


def describe(
    *,
    title: str | None,
    caption: str | None,
    keywords: Sequence[str],
    path: str,
    city: str | None,
    country: str | None,
    season: str | None,
    part_of_day: str | None,
) -> str:
    """Return the description, one line per kind; an empty text if there is no information.

    `path` is relative to the library. Words of folders and of the file's name count; dates, numbering of cameras and
    hashes do not.

    >>> describe(title=None, caption=None, keywords=[], path="2019/2019-07 Portugal/IMG_1234.jpg", city="Lisbon",
    ...          country="Portugal", season="summer", part_of_day=None).splitlines()
    ['folder: Portugal', 'place: Lisbon, Portugal', 'time: summer']
    """
    heading, text = _human(title), _human(caption)
    if text.casefold() == heading.casefold():
        text = ""
    lines = {
        "title": heading,
        "keywords": "; ".join(_distinct(_plain(word).replace(";", ",") for word in keywords)),
        "caption": _shortened(text),
        "folder": ", ".join(path_words(path)),
        "place": ", ".join(_distinct(_plain(name or "") for name in (city, country))),
        "time": ", ".join(_distinct(_plain(name or "") for name in (season, part_of_day))),
    }
    return "\n".join(f"{kind}: {text}" for kind, text in lines.items() if text)


def parts(words: str) -> dict[str, str]:
    """Return the lines of `describe` by kind. A line without a kind is a caption.

    >>> parts("a cat on a sofa")
    {'caption': 'a cat on a sofa'}
    """
    lines: dict[str, str] = {}
    for line in words.splitlines():
        kind, colon, text = line.partition(": ")
        if not colon or kind not in KINDS:
            kind, text = "caption", line
        if text.strip():
            lines[kind] = f"{lines[kind]} {text.strip()}" if kind in lines else text.strip()
    return {kind: lines[kind] for kind in KINDS if kind in lines}


def path_words(path: str) -> list[str]:
    """Return the words of each folder and of the name of the file, without numbers and technical terms.

    >>> path_words("Holidays/2019-07 Portugal/DCIM/100APPLE/IMG_1234 sunset-at-Sagres.jpg")
    ['Holidays', 'Portugal', 'sunset at Sagres']
    """
    segments = [segment for segment in re.split(r"[/\\]", unicodedata.normalize("NFC", path)) if segment]
    if segments:
        segments[-1] = _EXTENSION.sub("", segments[-1])
    seen: set[str] = set()
    phrases = []
    for segment in segments:
        words = [word for word in _segment_words(segment) if word.casefold() not in seen]
        seen.update(map(str.casefold, words))
        phrases.append(" ".join(words))
    return [phrase for phrase in phrases if phrase]


def _segment_words(segment: str) -> Iterator[str]:
    for rule in (_DCF_FOLDER, _UUID, _HASH, _PHRASE, _MOTION, _NUMBERED, _YEAR):
        segment = rule.sub(" ", segment)
    for run in _WORD.findall(segment):
        # KIMG0123 is a number, sunset02 is a word.
        name = run if run.isupper() and len(run) > 5 else _NUMBERING.sub("", run)
        digits = sum(character.isdigit() for character in name)
        if digits > 2 or digits == len(name) or _CAMERA_WORD.fullmatch(name):
            continue
        for word in _HUMP.split(name):
            # A single letter means nothing, a single ideograph may be a whole word.
            if not _CAMERA_WORD.fullmatch(word) and (len(word) > 1 or word > "\u2e80"):
                yield word


def _human(text: str | None) -> str:
    """Return the text, or an empty text if a camera wrote it."""
    plain = _plain(text or "")
    return "" if human_text(plain) is None or (" " not in plain and not path_words(plain)) else plain


def _plain(text: str) -> str:
    """Return the text on one line without control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _shortened(text: str) -> str:
    if len(text) <= _CAPTION_LIMIT:
        return text
    return text[: text.rfind(" ", 0, _CAPTION_LIMIT + 1)] if " " in text[:_CAPTION_LIMIT] else text[:_CAPTION_LIMIT]


def _distinct(words: Iterable[str]) -> Iterable[str]:
    first: dict[str, str] = {}
    for word in filter(None, words):
        first.setdefault(word.casefold(), word)
    return first.values()
