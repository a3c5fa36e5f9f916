"""An album: photographs by day, with a map, in one HTML file without scripts that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

import mascot as mc
from mascot.errors import InputError
from mascot.photos.database.store import Store
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.images import Unreadable, thumbnail
from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.photo import Photo
from mascot.photos.results import Results
from mascot.photos.sharing import album_figures as figures
from mascot.photos.sharing.export import finished, original
from mascot.reasons.phrases import describe_wish
from mascot.wishes import AnyWish, Wish

_LARGE = 1280  # pixels of the longer side of a picture
_SMALL = 144  # pixels of the longer side of a picture in the list before steering
_GENERATOR = "mascot album 3"  # identifies the files to which sections can be added
_MOST_PLACES = 3  # in the heading of a day
_MOST_COUNTRIES = 5  # below the title
_ARROW = html.escape("->")
_END = "\n</main>\n</body>\n</html>\n"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class AlbumSection:
    """Photographs under one heading; with `before`, also the results by relevance alone."""

    photos: Sequence[Photo]
    title: str = ""
    wishes: str = ""  # as a sentence
    before: Sequence[Photo] | None = None
    before_title: str = "By relevance"
    reasons: Mapping[int, str] = field(default_factory=dict)  # why each photograph was selected, by id
    pinned: frozenset[int] = frozenset()
    explained: bool = False  # keep the order of the results, with reasons and figures; otherwise sort by day
    root: Path | None = None  # pictures link to the files below this folder


def section_of(results: Results, links: bool = False, explain: bool = False, title: str | None = None) -> AlbumSection:
    """Return the section of a search; its title is the text of the search unless another one is given.

    With `links` pictures link to the files on this machine. With `explain` the section shows why each photograph was
    selected, and what wishes changed.
    """
    title = title or results.hits.query or "Newest photographs"
    root = results.hits.root if links else None
    if not explain:
        return AlbumSection(results.photos, title, root=root)
    description = ", ".join(map(_wish_text, results.ranking.wishes))
    ids = [photo.id for photo in results.photos]
    reasons = {id_: reason.because for id_, reason in zip(ids, results.explain().results, strict=True)}
    is_steered = ids != [photo.id for photo in results.plain]
    return AlbumSection(
        results.photos, title, description, results.plain if is_steered else None,
        "By relevance" if results.hits.ranked else "Newest", reasons if description else {}, results.pinned, True, root,
    )  # fmt: skip


def _wish_text(wish: AnyWish) -> str:
    """Return a wish as text, with its hour or day as people write it."""
    near = wish.near if isinstance(wish, Wish) else None
    if isinstance(wish, Wish) and isinstance(wish.attribute, mc.HourOfDay) and isinstance(near, (int, float)):
        wish = replace(wish, near=f"{int(near)}:{round(near % 1 * 60):02}")
    return describe_wish(wish).replace("T12:00", "")


class _Pictures:
    """The pictures of an album: from the files below a folder, otherwise the library's small ones."""

    def __init__(self, store: Store, root: Path | None) -> None:
        self._store, self._root, self._decoders = store, root, DecoderPool(Limits())
        self.close = self._decoders.close

    def jpeg(self, photo: Photo) -> bytes:
        small = self._store.thumbnail(photo.id)
        if self._root is None or max(photo.width, photo.height) <= 512:
            return small
        try:
            return self._decoders.convert(original(self._root, photo), _LARGE, Limits().max_megapixels)
        except (InputError, Unreadable, OSError):  # the file is gone or damaged
            return small

    def small(self, photo: Photo) -> bytes:
        """Return the picture for the list before steering."""
        from PIL import Image

        with Image.open(io.BytesIO(self._store.thumbnail(photo.id))) as image:
            return thumbnail(image.convert("RGB"), _SMALL)


def album(store: Store, title: str, sections: Sequence[AlbumSection], root: Path | None = None) -> Iterator[str]:
    """Yield the HTML of an album, part by part; pictures are made from the files below `root` if it is given."""
    folder = files("mascot.photos.sharing")
    head = Template(folder.joinpath("album.html").read_text("utf-8").rstrip())
    # The policy of the page runs no script and loads nothing, whatever a caption contains.
    yield head.substitute(
        generator=_GENERATOR, style=folder.joinpath("album.css").read_text("utf-8"), land=figures.land(),
        title=_text(title), heading=_bdi(title), about=_text(_about(sections)),
    )  # fmt: skip
    with closing(_Pictures(store, root)) as pictures:
        for section in sections:
            yield from _section(pictures, replace(section, title="") if section.title == title else section)
    yield _END


def _about(sections: Sequence[AlbumSection]) -> str:
    """Return the days and countries of an album: `1 May 2019 to 3 June 2019 · Portugal, Spain`."""
    photos = [photo for section in sections for photo in section.photos]
    days = sorted({photo.taken.date() for photo in photos if photo.taken})
    countries = Counter(photo.country for photo in photos if photo.country)
    names = [gazetteer().country_name(country) for country, _ in countries.most_common(_MOST_COUNTRIES)]
    ends = dict.fromkeys(f"{day.day} {day:%B %Y}" for day in (days[:1] + days[-1:]))
    return " · ".join(filter(None, [" to ".join(ends), ", ".join(names)]))


def write_album(store: Store, title: str, section: AlbumSection, target: Path, root: Path | None = None) -> bool:
    """Write an album of one section, or add it to an existing album; return whether the album existed.

    Any other existing file is left alone and raises `InputError`. Pictures are made as for `album`.
    """
    exists = os.path.lexists(target)
    if exists:
        _require_album(target)
    with finished(target, replace=exists) as part, part.open("w", encoding="utf-8", newline="\n") as out:
        if exists:
            with target.open(encoding="utf-8", newline="\n") as old:
                out.write(old.read().removesuffix(_END))
            with closing(_Pictures(store, root)) as pictures:
                out.writelines(_section(pictures, section))
            out.write(_END)
        else:
            out.writelines(album(store, title, [section], root))
    return exists


def _require_album(target: Path) -> None:
    try:
        with target.open("rb") as file:
            head = file.read(400)
            file.seek(-len(_END), io.SEEK_END)
            is_album = f'content="{_GENERATOR}"'.encode() in head and file.read() == _END.encode()
    except OSError:
        is_album = False
    if not is_album:
        raise InputError(f"{target} exists already and is not an album of this version: it is never overwritten")


def _section(pictures: _Pictures, section: AlbumSection) -> Iterator[str]:
    before = section.before or ()
    ids, plain = {photo.id for photo in section.photos}, {photo.id for photo in before}
    parts = [
        f"<h2>{_bdi(section.title)}</h2>" if section.title else "",
        f"<p>{_bdi(section.wishes)}</p>" if section.wishes else "",
        f"<p>{_text(count_line(before, section.photos)).replace(_ARROW, '→')}</p>" if before else "",
    ]
    drawings = figures.figures(section.photos, before) if section.explained else figures.place_map(section.photos)
    yield f"\n<section>{''.join(parts)}\n{drawings}"
    if before:
        yield f'\n<h3>{_text(section.before_title)}</h3>\n<div class="before">'
        for photo in before:
            state = "stays" if photo.id in ids else "went"
            yield (
                f'\n<figure class="{state}">{_picture(pictures.small(photo), photo)}'
                f"<figcaption>{state}</figcaption></figure>"
            )
        yield "\n</div>\n<h3>Steered</h3>"
    prefix = hashlib.sha256(repr((section.title, sorted(ids))).encode()).hexdigest()[:8]
    level = 3 if section.title else 2
    groups = list(_groups(section))
    anchors = [f"{prefix}-{photo.id}" for _, _, photos in groups for photo in photos]
    place = 0
    yield '\n<div class="days">'
    for day, places, photos in groups:
        names = f"<small>{_bdi(places)}</small>" if places else ""
        heading = f"<h{level}>{_bdi(day)} {names}</h{level}>" if day or places else ""
        size = f"--width: {sum(map(_ratio, photos)):.3f}; --gaps: {len(photos) - 1}"
        yield f'\n<div class="day" style="{size}">{heading}<div class="photos">'
        for photo in photos:
            is_new = bool(before) and photo.id not in plain
            yield f"\n{_figure(pictures, section, photo, is_new, anchors, place)}"
            place += 1
        yield "\n</div></div>"
    yield "\n</div></section>"


def _groups(section: AlbumSection) -> Iterator[tuple[str, str, Sequence[Photo]]]:
    """Yield each day, its places and its photographs; those of an explained search are one group in their order."""
    if section.explained:
        yield "", "", section.photos
        return
    dated = sorted((photo for photo in section.photos if photo.taken), key=lambda photo: (photo.taken, photo.id))
    for day, group in groupby(dated, lambda photo: photo.taken and photo.taken.date()):
        photos = list(group)
        places = list(dict.fromkeys(_place_name(photo) for photo in photos if photo.city))[:_MOST_PLACES]
        yield f"{day:%A}, {day.day} {day:%B %Y}" if day else "", " · ".join(places), photos
    undated = [photo for photo in section.photos if photo.taken is None]
    if undated:
        yield "Undated" if dated else "", "", undated


def _place_name(photo: Photo) -> str:
    return ", ".join(filter(None, [photo.city, photo.country and gazetteer().country_name(photo.country)]))


def _ratio(photo: Photo) -> float:
    return min(max(photo.width / max(photo.height, 1), 0.3), 4.0)  # a panorama still leaves a row its height


def _figure(
    pictures: _Pictures, section: AlbumSection, photo: Photo, is_new: bool, anchors: Sequence[str], place: int
) -> str:
    """Return a picture with its caption. A click enlarges it; that needs no script, because it is a link's target."""
    anchor = anchors[place]
    picture = _picture(pictures.jpeg(photo), photo)
    if section.root is not None:
        picture = f'<a href="{html.escape((section.root / photo.path).as_uri())}">{picture}</a>'
    else:
        picture = f'<a href="#view-{anchor}" aria-label="{_text(f"Enlarge: {_alt_text(photo)}")}">{picture}</a>'
        picture += f'<a class="close" href="#{anchor}">Close</a>'
        steps = (("previous", "‹", place - 1), ("next", "›", place + 1))
        picture += "".join(
            f'<a class="step {name}" href="#view-{anchors[other]}" aria-label="{name.title()} photograph">{sign}</a>'
            for name, sign, other in steps
            if 0 <= other < len(anchors)
        )
    badge = "pinned" if photo.id in section.pinned else "new" if is_new else ""
    lines = [photo.caption or photo.title or ""]
    if section.explained:
        lines += [place_of(photo), time_of(photo), section.reasons.get(photo.id, "")]
    return (
        f'<figure id="{anchor}" style="--ratio: {_ratio(photo):.3f}">'
        f'<div class="view" id="view-{anchor}">{picture}<figcaption>'
        + (f'<i class="badge">{badge}</i>' if badge else "")
        + "".join(f"<span>{_bdi(line)}</span>" for line in lines if line)
        + "</figcaption></div></figure>"
    )


def _picture(jpeg: bytes, photo: Photo) -> str:
    data = base64.b64encode(jpeg).decode("ascii")
    return f'<img src="data:image/jpeg;base64,{data}" alt="{_text(_alt_text(photo))}">'


def _alt_text(photo: Photo) -> str:
    return photo.caption or photo.title or place_of(photo) or "Photograph"


def _text(text: str) -> str:
    """Return text for HTML: markup is escaped, control characters are replaced."""
    return html.escape(_CONTROL.sub("\ufffd", text))


def _bdi(text: str) -> str:
    """Return text for HTML, isolated so that right-to-left text does not reorder what follows it."""
    return f"<bdi>{_text(text)}</bdi>"


def place_of(photo: Photo) -> str:
    """Return where a photograph was taken: city and country, or coordinates."""
    if photo.city:
        return f"{photo.city}, {photo.country}"
    return "" if photo.lat is None else f"{photo.lat:.2f}, {photo.lon:.2f}"


def time_of(photo: Photo) -> str:
    """Return when a photograph was taken, to the minute."""
    return "" if photo.taken is None else f"{photo.taken:%Y-%m-%d %H:%M}"


def count_line(before: Sequence[Photo], after: Sequence[Photo]) -> str:
    """Return the numbers of places, hours and moments before and after: `cities 3 -> 8, ...`."""
    counts = {
        word: [len({value_of(photo) for photo in photos} - {None}) for photos in (before, after)]
        for word, value_of in _COUNTED_VALUES.items()
    }
    return ", ".join(f"{word} {old} -> {new}" for word, (old, new) in counts.items())


_COUNTED_VALUES: dict[str, Callable[[Photo], Any]] = {
    "cities": lambda photo: photo.city,
    "countries": lambda photo: photo.country,
    "hours": lambda photo: photo.taken and photo.taken.hour,
    "days": lambda photo: photo.taken and photo.taken.date(),
    "moments": lambda photo: photo.moment,
    "cameras": lambda photo: photo.camera,
}
