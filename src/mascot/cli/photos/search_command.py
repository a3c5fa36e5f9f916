"""The commands `mascot search` and `mascot best`."""

from __future__ import annotations

import re
import sys
import tempfile
import webbrowser
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

import mascot as mc
from mascot.attributes.attribute import Missing
from mascot.cli import options, printing
from mascot.cli.photos import set_commands
from mascot.cli.photos.encoder_choice import ENCODERS
from mascot.cli.printing import note, number_of, visible
from mascot.errors import check_one_of, require
from mascot.photos.database.filters import matching
from mascot.photos.library import Library
from mascot.photos.request import SearchRequest
from mascot.photos.results import Results
from mascot.photos.sentences.understanding import FEW
from mascot.photos.sharing.album import album as album_lines
from mascot.photos.sharing.album import section_of
from mascot.photos.wish_text import parse

_FILTERS = ("place", "date", "season", "weekday", "part_of_day", "light", "name")
Format = Literal["table", "json", "jsonl", "paths"]


def _box(text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(map(float, text.split(",")))
    except ValueError:
        raise mc.OptionError(f"--box must be SOUTH,WEST,NORTH,EAST in degrees, got {text!r}") from None


def _folder(library: Library, text: str | None) -> str | None:
    """Return the field of a request for a folder: the folder with a slash, or else a part of the names of folders."""
    if text is None:
        return None
    try:
        name = library.folder_named(text)
    except mc.OptionError:
        if len(matching(library.store_path, "instr(fold(folder), fold(?)) > 0", [text])):
            return text
        raise
    return None if name == "." else f"{name}/"


@dataclass(frozen=True)
class Output:
    explain: bool
    compare: bool
    format: Format | None
    print0: bool
    pictures: bool | None

    def __post_init__(self) -> None:
        if self.print0 and self.format not in (None, "paths"):
            raise mc.OptionError(f"--print0 writes paths, got --format {self.format} as well")

    @property
    def shape(self) -> Format:
        return "paths" if self.print0 else self.format or ("table" if sys.stdout.isatty() else "jsonl")

    def print_paths(self, paths: Iterable[Any]) -> None:
        sys.stdout.writelines(f"{path}{chr(0) if self.print0 else chr(10)}" for path in paths)


def search(
    text: str | None = typer.Argument(
        None,
        metavar="SENTENCE",
        help="What to search for: words, and places, dates, light, cameras, counts and limits, which become "
        "filters and wishes (default: all photographs, newest first; with wishes, the best first).",
    ),
    as_words: bool = typer.Option(
        False, "--as-words", help="Search for the whole sentence as words; no part becomes a filter."
    ),
    k: int | None = typer.Option(None, "-k", help="Number of results (default: 24)."),
    spread: list[str] = options.SPREAD,
    focus: list[str] = options.FOCUS,
    limit: list[str] = options.LIMIT,
    at_least: list[str] = options.AT_LEAST,
    share: list[str] = options.SHARE,
    fill: bool = options.FILL,
    count_missing: bool = options.COUNT_MISSING,
    strength: float | None = typer.Option(
        None,
        help="0 is relevance only, 1 is wishes only (default: 0.6 if a focus names a value, otherwise 0.8 times "
        "the largest weight, at most 1; without TEXT 0.9 times).",
    ),
    protect: int | None = typer.Option(
        None,
        help="Number of best matches that are always selected (default: 1; without TEXT and --like 0, or 1 if "
        "there is a focus and none names a value).",
    ),
    keep: float | None = options.KEEP,
    order: Literal["relevance", "selection", "date"] | None = typer.Option(
        None,
        help="Show the results by relevance, in the order of selection, or by date (default: selection with "
        "--spread or --focus, otherwise relevance).",
    ),
    method: options.MethodName | None = options.METHOD,
    missing: Missing = options.MISSING,
    like: str | None = typer.Option(
        None, metavar="PHOTO", help="Search for photographs like this one, by id or path, instead of TEXT."
    ),
    since: str | None = typer.Option(
        None, metavar="DATE", help="Taken on or after this day, month or year: 2019-07-14."
    ),
    until: str | None = typer.Option(None, metavar="DATE", help="Taken on or before this day, month or year: 2019-07."),
    country: str | None = typer.Option(None, metavar="NAME", help="Taken in this country: Portugal or PT."),
    city: str | None = typer.Option(None, metavar="NAME", help="Taken in this city: Lisbon."),
    camera: str | None = typer.Option(None, metavar="NAME", help="Taken with this camera."),
    rating: int | None = typer.Option(None, metavar="STARS", help="With this rating or a higher one."),
    folder: str | None = typer.Option(
        None,
        metavar="FOLDER",
        help="In this folder and the folders in it, or in folders whose path contains this text.",
    ),
    box: str | None = typer.Option(
        None, metavar="S,W,N,E", help="Taken between these latitudes and longitudes, in degrees."
    ),
    filter: list[str] | None = typer.Option(
        None,
        metavar="NAME=VALUE",
        help="place=Lisbon, date=2017..2018, season=summer, weekday=weekend, part_of_day=evening, light=dusk or "
        "name=IMG_10. Repeatable. Filters take `A or B` and `not A`.",
    ),
    where: str | None = typer.Option(
        None, metavar="SQL", help="Photographs that meet this condition: \"country = 'PT'\"."
    ),
    candidates: int | None = typer.Option(None, help="Number of best matches to choose from (default: 5000)."),
    already: list[str] = options.ALREADY,
    no_stacks: bool = typer.Option(
        False, "--no-stacks", help="Show each shot of a burst and each copy as a result of its own."
    ),
    explain: bool = options.EXPLAIN,
    compare: bool = typer.Option(
        False, "--compare", help="Show the results by relevance alone beside the steered ones."
    ),
    format: Format | None = typer.Option(None, help="Output format (default: table on a terminal, otherwise jsonl)."),
    print0: bool = typer.Option(False, "--print0", "-0", help="Print paths, each followed by NUL, for xargs -0."),
    pictures: bool | None = typer.Option(
        None,
        "--pictures/--no-pictures",
        help="Show small pictures in the table (default: if the terminal supports enough colours).",
    ),
    open_: bool = typer.Option(False, "--open", help="Show the results in the browser."),
    pin: list[str] | None = typer.Option(
        None,
        metavar="PHOTO",
        help="Photograph, by id or path, that comes first; the other results complete it. Repeatable.",
    ),
    reject: list[str] | None = typer.Option(
        None, metavar="PHOTO", help="Photograph, by id or path, that is not shown. Repeatable."
    ),
    choice: str | None = typer.Option(None, metavar="NAME", help="Pin the photographs of a saved choice."),
    from_: str | None = typer.Option(
        None, "--from", metavar="NAME", help="Repeat the search of a saved choice; other options replace its own."
    ),
    save_choice: str | None = typer.Option(
        None, metavar="NAME", help="Save the results and the search under this name."
    ),
    copy_to: Path | None = set_commands.COPY_TO,
    zip: Path | None = set_commands.ZIP,
    album: Path | None = set_commands.ALBUM,
    library: list[Path] | None = options.LIBRARY,
    encoder: str | None = typer.Option(None, metavar="NAME", help=f"{ENCODERS} (default: the encoder of the library)."),
    device: options.Device = options.DEVICE,
) -> None:
    """Search the photographs of a library, and steer the results.

    \b
    mascot search "boats in Portugal at dusk, one per year, from different cities"
    mascot search "sunset over water" --spread place --focus hour
    mascot search "old harbour" --focus place=Lisbon --spread moment
    mascot search boats --country Portugal --since 2019 --format paths
    mascot search --since 2021 --spread month
    mascot search boats --limit day=2 --share country=Portugal:50%
    mascot search boats --pin 17 --pin 40 -k 20 --spread place --save-choice wall --copy-to prints
    mascot search --from wall --choice wall -k 30

    \b
    A WISH is NAME[=VALUE[~WITHIN]][*WEIGHT], VALUE for --focus only. Names:
      place         place=Lisbon, place="Cambridge, US", place=38.7,-9.1~50 (km)
      city country  country=Portugal
      hour          hour=18, hour=18:30, hour=6pm~1 (hours)
      date          date=2019-07, date=2019-07-14
      year month day  year=2019, month=2019-07, day=2019-07-14
      season        season=summer, season=july
      weekday       weekday=saturday
      moment        shots without a gap of an hour or a kilometre
      camera lens folder keywords rating part_of_day altitude
      light         light=dusk: dawn, day, golden hour, dusk, blue hour, night
      look          groups of similar pictures
    """
    filters = {
        "since": since, "until": until, "country": country, "city": city, "camera": camera, "rating": rating,
        "folder": folder, "box": box, **_filters(filter),
    }  # fmt: skip
    output = Output(explain, compare, format, print0, pictures)
    chosen = set_commands.Chosen(pin, reject, choice, from_)
    target = set_commands.TakeAway(copy_to, zip, album)
    encoder = None if encoder == "auto" else encoder
    typed = {"spread": spread, "focus": focus, "limit": limit, "at_least": at_least, "share": share}
    wishes = tuple(parse(kind, wish, fill, count_missing) for kind, texts in typed.items() for wish in texts)
    fields = {
        "text": text if as_words else None, "k": k, "wishes": wishes, "strength": strength, "protect": protect,
        "keep": keep, "order": order, "method": method, "missing": missing, "candidates": candidates,
        "already": _photo_ids(already), "stacks": not no_stacks,
    }  # fmt: skip
    with Library.open(options.single_library(library), device) as opened:
        fields |= {**filters, "like": _like(opened, like), "folder": _folder(opened, folder), "box": _box(box)}
        base, sentence = chosen.request(opened, fields), None if as_words else text
        request, results = _search(opened, base, sentence, where=where, encoder=encoder)
        _print_results(opened, results, output)
        if save_choice is not None:
            photo_ids = [photo.id for photo in results.photos]
            saved_choice = opened.choices.put(save_choice, photo_ids, request.reject, request.to_dict())
            note(f"choice {saved_choice.name!r}: {number_of(len(photo_ids), 'photograph')} saved")
            note(where and "--where is not saved with the choice")
        if target.names():
            target.take(opened, results.photos, section_of(results, explain=explain, title=text))
        if open_:
            _open(opened, results)


def best(
    text: str | None = typer.Argument(
        None, metavar="SENTENCE", help="A year, a place or words, as for search (default: all photographs)."
    ),
    k: int | None = typer.Option(None, "-k", help="Number of results (default: 24)."),
    format: Format | None = typer.Option(None, help="Output format (default: table on a terminal, otherwise jsonl)."),
    copy_to: Path | None = set_commands.COPY_TO,
    zip: Path | None = set_commands.ZIP,
    album: Path | None = set_commands.ALBUM,
    library: list[Path] | None = options.LIBRARY,
) -> None:
    """Select the best photographs of a library, a year or a place, in the order in which they were taken.

    Sharpness, exposure and stars count as relevance, and clear failures such as blank frames and documents are left
    out. The results cover months, places and looks, with one photograph per moment while there are enough moments.

    \b
    mascot best 2019 -k 30 --album 2019.html
    mascot best "Portugal in July 2019"
    """
    target = set_commands.TakeAway(copy_to, zip, album)
    with Library.open(options.single_library(library)) as opened:
        base = SearchRequest(best=True) if k is None else SearchRequest(best=True, k=k)
        _, results = _search(opened, base, text)
        _print_results(opened, results, Output(False, False, format, False, None))
        if target.names():
            title = "The best photographs" if text is None else f"The best of {text}"
            target.take(opened, results.photos, section_of(results, title=title))


def _filters(texts: list[str] | None) -> dict[str, str]:
    """Return the fields of a request from `--filter`."""
    fields = dict(text.partition("=")[::2] for text in texts or ())
    for name in fields:
        check_one_of("--filter NAME", name, *_FILTERS)
    return fields


def _search(
    library: Library, base: SearchRequest, sentence: str | None, **options: Any
) -> tuple[SearchRequest, Results]:
    """Search, and print on standard error what was understood of the sentence, and what else the user should know.

    Return the request that was searched for, and its results.
    """
    understood = None if sentence is None else library.understand(sentence)
    request = base if understood is None else understood.request(base)
    results = library.search(request, **options)
    if understood is not None:
        remedy = "(--as-words searches for the sentence itself)"
        note(f"understood: {visible(understood.line)} {remedy}" if understood.chips else None)
        for part in understood.ignored:
            note(f"ignored: {visible(part.words)!r}: {part.reason}")
        if len(results) < FEW:
            counts = library.without_chips(understood, base, **options)
            note("; ".join(f"without {chip.label}: {count}" for chip, count in counts) or None)
    _print_notes(library, request, results)
    return request, results


def _like(library: Library, name: str | None) -> int | str | None:
    """Return the id of the photograph to be like, or its path if the library does not hold it."""
    if name is None or (name.isascii() and name.isdigit()):
        return None if name is None else int(name)
    return library.id_of(name) or name


def _photo_ids(texts: list[str] | None) -> tuple[int, ...]:
    for text in texts or ():
        is_id = re.fullmatch(r"[0-9]{1,18}", text) is not None
        require(is_id, "--already", "must be the id of a photograph, a whole number", text)
    return tuple(map(int, texts or ()))


def _print_notes(library: Library, request: SearchRequest, results: Results) -> None:
    """Print on standard error what the user should know about the search."""
    for wish in request.wishes:
        is_named_place = wish.get("focus") == "place" and isinstance(wish.get("near"), str)
        place = library.place_meant(wish["near"]) if is_named_place else None
        note(place and f"place: {place}")
    note(None if len(results) else "no photograph matches these conditions; mascot library lists what there is")
    for shortfall in results.explain().notes if any("share" in wish for wish in request.wishes) else ():
        note(shortfall)
    note("nothing fits well; these are the nearest" if results.good_matches == 0 and len(results) else None)
    note(library.unfinished)
    note(library.words_only if request.text is not None else None)
    if not request.best and results.hits.newest_of is not None and results.hits.newest_of > results.hits.count:
        note(
            f"without words the {results.hits.count} newest of {results.hits.newest_of} photographs are looked at: "
            "--candidates takes more, and filters such as --since and --folder take others"
        )


def _print_results(library: Library, results: Results, output: Output) -> None:
    if output.shape == "paths":
        existing = [photo for photo in results.photos if photo.id not in results.gone]
        output.print_paths(results.hits.root / photo.path for photo in existing)
        missing_count = len(results) - len(existing)
        if missing_count:
            files = "1 file is" if missing_count == 1 else f"{missing_count} files are"
            note(f"{files} gone and left out; `mascot index --prune` forgets what is no longer in the folder")
    elif output.shape == "table":
        from mascot.cli.photos import photo_printing

        parts: list[Any] = [photo_printing.comparison_table(results)] if output.compare else []
        if output.explain or not output.compare:
            pictures = photo_printing.can_show_pictures() if output.pictures is None else output.pictures
            parts.append(photo_printing.results_table(library, results, output.explain, pictures))
        printing.show(*parts, photo_printing.library_line(library))
    else:
        printing.show_records(results.records(output.explain, output.compare), output.shape == "json")


def _open(library: Library, results: Results) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="mascot-", delete=False, encoding="utf-8") as file:
        file.writelines(album_lines(library.store, library.root.name, [section_of(results, links=True, explain=True)]))
    if not webbrowser.open(Path(file.name).as_uri()):
        note(f"no browser could be started; the page is {file.name}")
