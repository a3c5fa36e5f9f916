"""Search results for people: tables with small pictures, and a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from rich.console import Console, Group
from rich.text import Text

import mascot as mc
from mascot.cli.printing import add_columns, new_grid, visible
from mascot.photos.album import counted, place_of, time_of
from mascot.photos.library import Library
from mascot.photos.overview import Overview
from mascot.photos.photo import Photo
from mascot.photos.results import Result, Results
from mascot.photos.textmap import clock, world
from mascot.photos.whereabouts import as_said

_THUMB = (12, 8)  # letters wide, pixels high: two pixels a letter
_COLOURS = ("256", "truecolor")
_WIDEST = 60  # letters of a column: a long caption must not push the others out of sight
_GONE = " (gone)"


def results_table(library: Library, results: Results, explain: bool, pictures: bool) -> Group:
    """Rank, picture, file, relevance where something was asked for, place, time, and why; what was left out."""
    ranked = results.hits.ranked
    reasons = results.explain()
    grid = new_grid()
    add_columns(grid, ["#"], justify="right")
    if pictures:
        add_columns(grid, [""])
    add_columns(grid, ["photograph"], overflow="fold", ratio=3, max_width=_WIDEST)
    if ranked:
        add_columns(grid, ["rel."], justify="right")
    add_columns(grid, ["place"], overflow="fold", style="cyan", ratio=2, max_width=_WIDEST)
    add_columns(grid, ["taken"], style="cyan")
    add_columns(grid, ["why"], overflow="fold", ratio=2, max_width=_WIDEST)
    for place, result in enumerate(results):
        photo = result.photo
        picture = [half_blocks(library.store.thumbnail(photo.id))] if pictures else []
        why = _why(result, reasons.results[place])
        relevance = [f"{result.relevance:.2f}"] if ranked else []
        file = _file(photo, photo.id in results.gone, len(result.similar))
        grid.add_row(str(result.rank), *picture, file, *relevance, place_of(photo), time_of(photo), why)
    parts: list[Any] = [grid]
    if explain and reasons.left_out:
        parts.append(Text("left out"))
        for left in reasons.left_out:
            told = f"  {visible(results.hits.photo(left.position).path)} (was {left.was})"
            parts.append(Text(f"{told}: {left.because}" if left.because else told))
    return Group(*parts)


def searched(library: Library) -> Text:
    """Which library that was."""
    return Text(f"{visible(as_said(library.root))}: {number_of(library.store.count(), 'photograph')}", "dim")


def _file(photo: Photo, gone: bool, similar: int = 0) -> Text:
    folder, _, name = photo.path.rpartition("/")
    text = Text(visible(name), "bold")
    if gone:
        text.append(_GONE, "not bold red")
    if similar:
        text.append(f"  {similar} similar", "not bold dim")
    said = photo.caption or photo.title
    if said:
        text.append(f"\n{visible(said)}", "not bold")
    return text.append(f"\n{visible(folder)}", "not bold dim") if folder else text


def _why(result: Result, reason: mc.Reason) -> str:
    moved = "" if result.was == result.rank else f"was {result.was}"
    return "; ".join(filter(None, [moved, visible(reason.because)]))


def comparison_table(results: Results) -> Group:
    """Plain relevance beside the steered list: what came is marked +, what went -."""
    plain, steered = results.plain, results.photos
    before, after = {photo.id for photo in plain}, {photo.id for photo in steered}
    grid = new_grid()
    add_columns(grid, ["#"], justify="right", style="dim")
    for name in ("by relevance" if results.hits.ranked else "newest", "steered"):
        add_columns(grid, [name], overflow="fold", max_width=_WIDEST)
        add_columns(grid, ["place", "taken"], overflow="fold")
    for rank, (old, new) in enumerate(zip(plain, steered, strict=True), 1):
        went, came = old.id not in after, new.id not in before
        left = [Text(cell, "red" if went else "") for cell in _line(old, "- " if went else "  ", results)]
        right = [Text(cell, "green" if came else "") for cell in _line(new, "+ " if came else "  ", results)]
        grid.add_row(str(rank), *left, *right)
    return Group(grid, Text(counted(plain, steered)))


def _line(photo: Photo, mark: str, results: Results) -> list[str]:
    gone = _GONE if photo.id in results.gone else ""
    return [mark + visible(photo.path.rpartition("/")[2]) + gone, place_of(photo), time_of(photo)]


def can_show_pictures() -> bool:
    """Whether standard output is a terminal with enough colours."""
    console = Console()
    return console.is_terminal and console.color_system in _COLOURS


def half_blocks(thumbnail: bytes) -> Text:
    """A picture of letters: the upper half of each in one colour, the lower in another."""
    from PIL import Image

    with Image.open(BytesIO(thumbnail)) as image:
        small = image.convert("RGB")
    small.thumbnail(_THUMB)
    text = Text()
    for top in range(0, small.height - small.height % 2, 2):
        for left in range(small.width):
            upper, lower = (small.getpixel((left, top + row)) for row in (0, 1))
            text.append("▀", f"rgb({_rgb(upper)}) on rgb({_rgb(lower)})")
        text.append("\n")
    text.rstrip()
    return text


def _rgb(pixel: Any) -> str:
    return ",".join(str(value) for value in pixel)


def number_of(count: int, word: str) -> str:
    """`1 moment`, `2 moments`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def overview_text(told: Overview, points: Sequence[tuple[float, float]]) -> str:
    """What a library holds: counts, a map and a clock."""
    span = f"{told.first[:10]} to {told.last[:10]}" if told.first and told.last else "no times"
    lines = [
        told.root,
        f"  {number_of(told.photos, 'photograph')}, {span}, {number_of(told.moments, 'moment')}",
        f"  without a place {told.without_place}, without a time {told.without_time}, "
        f"without title, caption or keywords {told.without_words}",
        f"  encoder {told.encoder} ({told.fingerprint}); index {told.bytes / 1e6:.1f} MB",
    ]
    if told.encoded < told.photos:
        lines.append(
            f"  {told.encoded} encoded so far, and only these are found: `mascot index` goes on with the others"
        )
    for name, title in (("country", "countries"), ("city", "cities"), ("camera", "cameras")):
        some = ", ".join(f"{label} {count}" for label, count in list(told.labels[name].items())[:8])
        more = f", and {told.distinct[name] - 8} more" if told.distinct[name] > 8 else ""
        if some:
            lines.append(f"  {title}: {some}{more}")
    if points:
        lines += ["", world(points)]
    if any(told.hours):
        lines += ["", clock(told.hours)]
    if told.problems:
        lines += ["", "taken as missing:"]
        lines += [f"  {count:>5}  {visible(reason)}" for reason, count in list(told.problems.items())[:8]]
    if told.skipped:
        lines += ["", "not in the library:"]
        lines += [f"  {visible(path)}: {reason}" for path, reason in told.skipped[:12]]
        if len(told.skipped) > 12:
            lines.append(f"  and {len(told.skipped) - 12} more")
    return "\n".join(lines)
