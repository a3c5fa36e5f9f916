"""Search results as tables, with small pictures, and a comparison; the contents of a library as text."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from mascot.cli.printing import FOLD, RIGHT, new_grid, number_of, visible
from mascot.photos.library import Library
from mascot.photos.locations import short_name
from mascot.photos.photo import Photo
from mascot.photos.results import Results
from mascot.photos.sharing.album import count_line, place_of, time_of
from mascot.photos.sharing.overview import Overview

_THUMB = (12, 8)  # width in characters, height in pixels: two pixels per character
_COLOURS = ("256", "truecolor")
_WIDEST = 60  # characters of a column, so that a long caption leaves room for the others
_MISSING = " (gone)"


def results_table(library: Library, results: Results, explain: bool, pictures: bool) -> Group:
    """Return the results: rank, picture, file, relevance (with a query), place, time, reason; then those left out."""
    ranked = results.hits.ranked
    reasons = results.explain()
    wide, cyan = {**FOLD, "ratio": 2, "max_width": _WIDEST}, {"style": "cyan"}
    picture_column: list[tuple[str, Any]] = [("", {})] if pictures else []
    relevance_column = [("rel.", RIGHT)] if ranked else []
    last = (("place", wide | cyan), ("taken", cyan), ("why", wide))
    grid = new_grid(("#", RIGHT), *picture_column, ("photograph", wide | {"ratio": 3}), *relevance_column, *last)
    for place, result in enumerate(results):
        photo = result.photo
        picture = [half_blocks(library.store.thumbnail(photo.id))] if pictures else []
        move = "" if result.was == result.rank else f"was {result.was}"
        why = "; ".join(filter(None, [move, visible(reasons.results[place].because)]))
        relevance = [f"{result.relevance:.2f}"] if ranked else []
        file = _file(photo, photo.id in results.gone, len(result.similar))
        grid.add_row(str(result.rank), *picture, file, *relevance, place_of(photo), time_of(photo), why)
    parts: list[Any] = [grid]
    good_count = sum(bool(result.good) for result in results)
    if results.good_matches and good_count < len(results):
        parts.append(
            Text(f"{good_count} of these {len(results)} {'matches' if good_count == 1 else 'match'} well", "dim")
        )
    if explain and reasons.left_out:
        parts.append(Text("left out"))
        for reason in reasons.left_out:
            line = f"  {visible(results.hits.photo(reason.position).path)} (was {reason.was})"
            parts.append(Text(f"{line}: {reason.because}" if reason.because else line))
    return Group(*parts)


def library_line(library: Library) -> Text:
    return Text(f"{visible(short_name(library.root))}: {number_of(library.store.count(), 'photograph')}", "dim")


def _file(photo: Photo, is_missing: bool, similar: int = 0) -> Text:
    folder, _, name = photo.path.rpartition("/")
    text = Text(visible(name), "bold")
    if is_missing:
        text.append(_MISSING, "not bold red")
    if similar:
        text.append(f"  {similar} similar", "not bold dim")
    caption = photo.caption or photo.title
    if caption:
        text.append(f"\n{visible(caption)}", "not bold")
    return text.append(f"\n{visible(folder)}", "not bold dim") if folder else text


def comparison_table(results: Results) -> Group:
    """Return the results by relevance beside the steered ones: added photographs are marked +, removed ones -."""
    plain, steered = results.plain, results.photos
    before, after = {photo.id for photo in plain}, {photo.id for photo in steered}
    columns: list[tuple[str, Any]] = [("#", {**RIGHT, "style": "dim"})]
    for name in ("by relevance" if results.hits.ranked else "newest", "steered"):
        columns += [(name, {**FOLD, "max_width": _WIDEST}), ("place", FOLD), ("taken", FOLD)]
    grid = new_grid(*columns)
    for rank, (old, new) in enumerate(zip(plain, steered, strict=True), 1):
        removed = _cells(old, results, old.id in after, "- ", "red")
        grid.add_row(str(rank), *removed, *_cells(new, results, new.id in before, "+ ", "green"))
    return Group(grid, Text(count_line(plain, steered)))


def _cells(photo: Photo, results: Results, is_in_both: bool, mark: str, colour: str) -> list[Text]:
    """Return name, place and time of a photograph, marked if it is in one list only."""
    name = visible(photo.path.rpartition("/")[2]) + (_MISSING if photo.id in results.gone else "")
    parts = (("  " if is_in_both else mark) + name, place_of(photo), time_of(photo))
    return [Text(part, "" if is_in_both else colour) for part in parts]


def can_show_pictures() -> bool:
    """Return whether standard output is a terminal with enough colours."""
    console = Console()
    return console.is_terminal and console.color_system in _COLOURS


def half_blocks(thumbnail: bytes) -> Text:
    """Return a picture of half-block characters: each has one colour for its upper and one for its lower half."""
    from PIL import Image

    with Image.open(BytesIO(thumbnail)) as image:
        small: Any = image.convert("RGB")
    small.thumbnail(_THUMB)
    text = Text()
    for top in range(0, small.height - small.height % 2, 2):
        for column in range(small.width):
            upper, lower = (",".join(map(str, small.getpixel((column, top + row)))) for row in (0, 1))
            text.append("▀", f"rgb({upper}) on rgb({lower})")
        text.append("\n")
    text.rstrip()
    return text


def overview_text(overview: Overview) -> str:
    """Return what a library contains."""
    span = f"{overview.first[:10]} to {overview.last[:10]}" if overview.first and overview.last else "no times"
    lines = [
        overview.root,
        f"  {number_of(overview.photos, 'photograph')}, {span}, {number_of(overview.moments, 'moment')}",
        f"  without a place {overview.without_place}, without a time {overview.without_time}, "
        f"without title, caption or keywords {overview.without_words}",
        f"  encoder {overview.encoder} ({overview.fingerprint}); index {overview.bytes / 1e6:.1f} MB",
    ]
    if overview.encoded < overview.photos:
        lines += [f"  {overview.encoded} encoded so far, and only these are found: `mascot index` encodes the others"]
    for name, title in (("country", "countries"), ("city", "cities"), ("camera", "cameras")):
        label_counts = ", ".join(f"{label} {count}" for label, count in list(overview.labels[name].items())[:8])
        more = f", and {overview.distinct[name] - 8} more" if overview.distinct[name] > 8 else ""
        if label_counts:
            lines.append(f"  {title}: {label_counts}{more}")
    if overview.problems:
        lines += ["", "taken as missing:"]
        lines += [f"  {count:>5}  {visible(reason)}" for reason, count in list(overview.problems.items())[:8]]
    if overview.skipped:
        lines += ["", "not in the library:"]
        lines += [f"  {visible(path)}: {reason}" for path, reason in overview.skipped[:12]]
        if len(overview.skipped) > 12:
            lines.append(f"  and {len(overview.skipped) - 12} more")
    return "\n".join(lines)
