"""Group the files of a folder by photograph: sidecars, the film of a live photograph, the RAW file beside a JPEG."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

# Their embedded preview is read; see `open_preview`.
RAW_SUFFIXES = frozenset({
    ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".iiq", ".kdc", ".mef", ".mrw", ".nef", ".nrw",
    ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
})  # fmt: skip
FILM_SUFFIXES = frozenset({
    ".3g2", ".3gp", ".avi", ".m2ts", ".m4v", ".mkv", ".mov", ".mp", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv",
})  # fmt: skip
_LIVE_SUFFIXES = frozenset({".mov", ".mp4", ".mp"})
_XMP, _JSON = ".xmp", ".json"
_MOST_SIDECARS = 8
_TAKEOUT_SUFFIX = "supplemental-metadata"  # may be truncated anywhere
_TAKEOUT_SHORTEST, _TAKEOUT_LONGEST = 40, 51  # characters of a name that Takeout truncated to its limit
_NUMBERED = re.compile(r"(.*)\((\d{1,4})\)", re.DOTALL)
_EDITED = re.compile(r"-(edited|bearbeitet|modifié|editado|modificato|bewerkt|edytowane|編集済み)$", re.IGNORECASE)
_MOTION = re.compile(r"\.mp$", re.IGNORECASE)  # PXL_20210704.MP.jpg


@dataclass(frozen=True, slots=True)
class Companions:
    """Names of the files that belong to a picture, in its folder."""

    sidecars: tuple[str, ...] = ()
    media: tuple[str, ...] = ()  # films and RAW files


def companions(names: Iterable[str], is_picture: frozenset[str]) -> dict[str, Companions]:
    """Return the pictures among all names of a folder, each with the files that belong to it.

    `is_picture` has the suffixes of pictures, in lower case.

    >>> pictures = companions(["a.cr2", "a.jpg", "a.mov", "a.xmp"], frozenset({".jpg", ".cr2"}))
    >>> pictures == {"a.jpg": Companions(sidecars=("a.xmp",), media=("a.cr2", "a.mov"))}
    True
    """
    ordered = sorted(names)
    by_stem: dict[str, list[str]] = defaultdict(list)  # pictures and films
    xmp: dict[str, str] = {}
    takeout: dict[tuple[str, str], str] = {}
    for name in ordered:
        stem, suffix = os.path.splitext(name.casefold())
        if suffix == _XMP:
            xmp[stem] = name
        elif suffix == _JSON:
            takeout.setdefault(_takeout_key(stem), name)
        elif suffix in is_picture or suffix in _LIVE_SUFFIXES:
            by_stem[_MOTION.sub("", stem)].append(name)
    pictures: dict[str, Companions] = {}
    rendered_suffixes = is_picture - RAW_SUFFIXES
    for family in by_stem.values():
        rendered = [name for name in family if _suffix(name) in rendered_suffixes]
        leaders = rendered or [name for name in family if _suffix(name) in is_picture]
        media = tuple(name for name in family if name not in leaders)
        for leader in leaders:
            sidecars = dict.fromkeys(_sidecars((leader, *media), xmp, takeout))
            pictures[leader] = Companions(tuple(sidecars)[:_MOST_SIDECARS], media)
    return {name: pictures[name] for name in ordered if name in pictures}


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _sidecars(names: Iterable[str], xmp: Mapping[str, str], takeout: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for name in (name.casefold() for name in names):
        for key in (name, os.path.splitext(name)[0]):
            if key in xmp:
                yield xmp[key]
        yield from (takeout[key] for key in _takeout_keys(name) if key in takeout)


def _takeout_key(stem: str) -> tuple[str, str]:
    """Return the name and number of the picture of a JSON file: `a.jpg`, `1` of `a.jpg.supplemental-meta(1).json`."""
    name, number = _unnumbered(stem)
    base, _, suffix = name.rpartition(".")
    return base if base and suffix and _TAKEOUT_SUFFIX.startswith(suffix) else name, number


def _takeout_keys(name: str) -> Iterator[tuple[str, str]]:
    """Yield the possible keys of the JSON file of a picture; that of `a(1).jpg` is `a.jpg(1).json`."""
    stem, suffix = os.path.splitext(name)
    yield name, ""
    base, number = _unnumbered(stem)
    plain = _EDITED.sub("", base)
    for candidate in dict.fromkeys((base, plain)):
        full = candidate + suffix
        yield full, number
        if len(full) > _TAKEOUT_SHORTEST:
            yield from ((full[:length], number) for length in range(_TAKEOUT_LONGEST, _TAKEOUT_SHORTEST - 1, -1))


def _unnumbered(text: str) -> tuple[str, str]:
    match = _NUMBERED.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")
