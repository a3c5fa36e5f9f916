"""The commands `mascot index`, `search`, `library` and `sample`."""

from __future__ import annotations

import re
import sys
import tempfile
import time
import warnings
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mascot as mc
from mascot.cli import choosing, options, printing
from mascot.cli.ray import Ray
from mascot.cli.tables import RecordedQuery
from mascot.errors import require
from mascot.extras import package
from mascot.photos.limits import Limits

if TYPE_CHECKING:
    from mascot.photos.indexing.indexer import Report, Summary
    from mascot.photos.library import Library

_SKIPPED_SHOWN = 10


class Format(str, Enum):
    table = "table"
    json = "json"
    jsonl = "jsonl"
    paths = "paths"


_Library = Annotated[
    list[Path] | None,
    typer.Option(
        "--library",
        metavar="PATH",
        help="The folder that was indexed (default: MASCOT_LIBRARY, the one around the current folder, or the one "
        "indexed last).",
    ),
]
_Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder", metavar="NAME", help="auto, lite, clip[:MODEL] or blip2[:MODEL] (default: the library's own)."
    ),
]
_IndexEncoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="auto, lite, clip[:MODEL] or blip2[:MODEL]; auto is the library's own, else a CLIP on this machine or "
        "from the hub, else lite.",
    ),
]
_Device = Annotated[
    options.Device, typer.Option("--device", help="Where CLIP and BLIP-2 run; auto takes a GPU if there is one.")
]


def index(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER...",
            help="Photographs; several folders make one library, whose index is in the first one (default: the library "
            "around the current folder, or the one indexed last).",
        ),
    ] = None,
    encoder: _IndexEncoder = "auto",
    index_folder: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="Keep the index in this folder, for folders that are read-only."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Continue: index new and changed files, until Ctrl-C.")
    ] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two polls with --watch.")] = 2.0,
    prune: Annotated[bool, typer.Option("--prune", help="Remove photographs whose files are gone.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Read and encode every photograph again.")] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also look into hidden files and folders.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also follow links that lead out of a FOLDER.")
    ] = False,
    max_megapixels: Annotated[float, typer.Option(help="Skip larger images.")] = Limits.max_megapixels,
    max_megabytes: Annotated[float, typer.Option(help="Skip larger files.")] = Limits.max_megabytes,
    max_seconds: Annotated[
        float, typer.Option(help="Skip files that take more CPU time to decode.")
    ] = Limits.max_seconds,
    max_memory_mb: Annotated[
        float, typer.Option(help="Skip files that take more memory to decode, in megabytes.")
    ] = Limits.max_memory_mb,
    device: _Device = options.Device.auto,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Write the rows to an engine instead: lance:///FOLDER/TABLE, postgresql://..."
        ),
    ] = None,
    ray: Ray = None,
) -> None:
    """Index folders of photographs, or bring their index up to date.

    \b
    mascot index ~/Pictures
    mascot index ~/Pictures /mnt/archive
    mascot index /media/card --index ~/card-index
    mascot index --watch
    mascot index --prune
    mascot index /archive --into lance:///indexes/archive --ray

    The index is in FOLDER/.mascot. New and changed files and sidecars are read and encoded; moved and renamed ones
    are recognised. A run may be stopped at any moment: the next one continues there.
    """
    from mascot.photos.library import Library

    limits: dict[str, Any] = {
        "max_megapixels": max_megapixels,
        "max_megabytes": max_megabytes,
        "max_seconds": max_seconds,
        "max_memory_mb": max_memory_mb,
    }
    for name, value in {**limits, "interval": interval}.items():
        require(value > 0, f"--{name.replace('_', '-')}", "must be > 0", value)
    if ray is not None and into is None:
        raise mc.OptionError("--ray needs --into URI: the machines of a cluster cannot share FOLDER/.mascot")
    first, further_folders = (folders[0], folders[1:]) if folders else (None, [])
    walking = {"prune": prune, "hidden": hidden, "follow_links": follow_links}
    if into is not None:
        if further_folders or index_folder is not None or watch:
            raise mc.OptionError("--into takes one FOLDER, without --index and --watch")
        from mascot.scale.indexing import index_into

        with Library.open(first) as library, progress_bar() as report, _stopping():
            summary = index_into(
                library.root, into, None if encoder == "auto" else encoder, ray=ray, again=again,
                device=device.value, report=report, **walking, **limits,
            )  # fmt: skip
        printing.show(*_summary_lines(summary))
        return
    with Library.open(first, device.value, index_folder) as library:
        from mascot.cli.encoder_choice import choose_encoder

        encoder_name, again = choose_encoder(library, encoder, again, device.value)

        def run(again: bool) -> Summary:
            with progress_bar() as report, _stopping():
                return library.index(
                    encoder_name, folders=further_folders, again=again, report=report, **walking, **limits
                )

        summary = run(again)
        notice = library.notice if summary.new + summary.changed else None
        printing.show(*_summary_lines(summary))
        _note(notice)
        if watch:
            _watch(library, lambda: run(again=False), interval, hidden, follow_links)


def _watch(library: Library, run: Callable[[], Summary], interval: float, hidden: bool, follow_links: bool) -> None:
    """Index again after each change, until Ctrl-C. A failure is printed, and retried after the next change."""
    from mascot.photos.watching import changes

    _note("watching; Ctrl-C ends it")
    with _stopping():
        for _ in changes(lambda: library.confirmed_folders, interval, hidden=hidden, follow_links=follow_links):
            try:
                summary = run()
            except Interrupted:
                raise
            except mc.MascotError as error:
                _note(printing.visible(" ".join(str(error).split())))
                continue
            if summary.new or summary.changed or summary.moved or summary.copied or summary.pruned:
                printing.show(*_summary_lines(summary))
                sys.stdout.flush()


def _note(message: str | None) -> None:
    """Print one line on standard error, if there is a message."""
    if message:
        print(f"mascot: {message}", file=sys.stderr)


class Interrupted(mc.MascotError):
    """Ctrl-C: everything is closed, and the process may exit without waiting for running threads."""


@contextmanager
def _stopping() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was indexed so far is kept, and the next run continues there") from None


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a progress bar on standard error, if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, rate="")
        start = time.monotonic()

        def report(step: str, count: int, total: int) -> None:
            nonlocal start
            if progress.tasks[0].description != step:
                progress.reset(task, description=step, total=total or None, rate="")
                start = time.monotonic()
            seconds = time.monotonic() - start
            rate = f"{count / seconds:.3g}/s" if count and seconds > 0 else ""
            progress.update(task, completed=count, total=total or None, rate=rate)

        yield report


def _summary_lines(summary: Summary) -> list[str]:
    from mascot.cli.photo_printing import number_of
    from mascot.photos.texts import as_text

    parts = [
        f"{count} {word}"
        for word, count in (
            ("new", summary.new),
            ("changed", summary.changed),
            ("moved", summary.moved),
            ("copy" if summary.copied == 1 else "copies", summary.copied),
            ("unchanged", summary.unchanged),
            ("removed", summary.pruned),
        )
        if count
    ]
    read_count = summary.new + summary.changed
    seconds = summary.seconds
    rate = f" ({read_count / seconds:.0f} a second)" if seconds > 0 and read_count >= seconds else ""
    photos = number_of(summary.photos, "photograph")
    lines = [f"{photos}: {', '.join(parts) or 'none found'}, in {seconds:.1f} s{rate}"]
    if summary.gone == 1:
        lines.append("1 is no longer in the folder; `mascot index --prune` removes it")
    elif summary.gone:
        lines.append(f"{summary.gone} are no longer in the folder; `mascot index --prune` removes them")
    if summary.paired:
        lines.append(f"{number_of(summary.paired, 'film or RAW file')} beside a photograph, taken as part of it")
    if summary.unread:
        kinds = ", ".join(number_of(count, f"{suffix} file") for suffix, count in summary.unread)
        lines.append(f"{kinds}: of kinds that are not read")
    if summary.skipped:
        lines.append(f"{len(summary.skipped)} skipped:")
        lines += [
            f"  {printing.visible(as_text(str(item.path)))}: {item.reason}" for item in summary.skipped[:_SKIPPED_SHOWN]
        ]
        if len(summary.skipped) > _SKIPPED_SHOWN:
            lines.append(
                f"  and {len(summary.skipped) - _SKIPPED_SHOWN} more: `mascot library --format json` lists all"
            )
    return lines


def search(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="What to search for, in plain words (default: all photographs, newest first)."
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many results.")] = 20,
    spread: options.Spread = None,
    focus: options.Focus = None,
    limit: options.Limit = None,
    share: options.Share = None,
    fill: options.Fill = False,
    already: options.Already = None,
    strength: options.Strength = None,
    protect: options.Protect = None,
    keep: options.Keep = None,
    order: options.Ordered = None,
    method: options.Method = None,
    missing: options.MissingRule = options.Missing.last,
    like: Annotated[
        Path | None, typer.Option(metavar="PHOTO", help="Search for photographs similar to this one instead.")
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(help="Best matches that are steered: 5000, with --source 200; without TEXT the 5000 newest."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Only photographs for which this holds: \"country = 'PT'\".")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Taken on this day or later.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Taken on this day or earlier.")] = None,
    folder: Annotated[str | None, typer.Option(metavar="FOLDER", help="Only in this folder of the library.")] = None,
    no_stacks: Annotated[
        bool, typer.Option("--no-stacks", help="Show each shot of a burst and each copy, not one for all.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each result was selected.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Plain relevance beside the steered list.")] = False,
    format: Annotated[Format | None, typer.Option(help="Table on a terminal, JSON lines in a pipe.")] = None,
    print0: Annotated[
        bool, typer.Option("--print0", "-0", help="End paths with NUL, for xargs -0: names may contain line breaks.")
    ] = False,
    pictures: Annotated[
        bool | None,
        typer.Option(
            "--pictures/--no-pictures",
            help="Small pictures in the table (default: if the terminal has enough colours).",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the results in the browser.")] = False,
    pin: choosing.Pin = None,
    reject: choosing.Reject = None,
    choice: choosing.ChoiceName = None,
    save_choice: choosing.SaveChoice = None,
    copy_to: choosing.CopyTo = None,
    zip: choosing.Zip = None,
    album: choosing.Album = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Search an engine instead: lance://, qdrant://, milvus://, postgresql://."),
    ] = None,
    library: _Library = None,
    encoder: _Encoder = None,
    device: _Device = options.Device.auto,
) -> None:
    """Search the photographs, and steer what the result is made of.

    \b
    mascot search "sunset over water" --spread place --focus hour
    mascot search "old harbour" --focus place=Lisbon --spread moment
    mascot search boats --where "country = 'PT' and taken >= '2019-01-01'" --format paths
    mascot search --since 2021 --spread month
    mascot search boats --limit day=2 --share country=Portugal:50%
    mascot search boats --pin 17 --pin 40 -k 20 --spread place --save-choice wall --copy-to prints

    \b
    A WISH is NAME[=VALUE[~WITHIN]][*WEIGHT], VALUE for --focus only. Names:
      place         place=Lisbon, place="Cambridge, US", place=38.7,-9.1~50 (km)
      city country  country=Portugal
      hour          hour=18, hour=18:30, hour=6pm~1 (hours)
      date          date=2019-07, date=2019-07-14
      year month day  year=2019, month=2019-07, day=2019-07-14
      season        season=summer, season=july
      weekday       weekday=saturday
      moment        one stretch of time and place: --spread moment avoids bursts
      camera lens folder keywords rating part_of_day altitude
      look          groups of similar pictures

    With --source, --where is in the engine's own language.
    """
    from mascot.photos.library import Library

    if print0:
        if format not in (None, Format.paths):
            raise mc.OptionError(f"--print0 writes paths, got --format {format.value} as well")
        format = Format.paths
    end = "\0" if print0 else "\n"
    target = choosing.TakeAway(copy_to, zip, album)
    target.check()
    if source is not None:
        library_options = {
            "since": since, "until": until, "folder": folder, "compare": compare, "open": open_, "library": library,
            "pin": pin, "reject": reject, "choice": choice, "save-choice": save_choice,
        }  # fmt: skip
        refused_options = [*(f"--{name}" for name, value in library_options.items() if value), *target.names()]
        if refused_options:
            raise mc.OptionError(f"{', '.join(refused_options)}: not with --source; conditions go to --where")
        if text is None and like is None:
            raise mc.OptionError("--source needs a TEXT to search for, or a photograph with --like")
        from mascot.connect.searching import Question, search_source
        from mascot.connect.source import CANDIDATES

        question = Question(text, like, None if encoder == "auto" else encoder, device.value)
        selected_method = options.method(strength, protect, keep, order, method)
        with _print_warnings():
            steered = search_source(
                source, question, spread or (), focus or (), k, selected_method,
                candidates=CANDIDATES if candidates is None else candidates, where=where, missing=missing.value,
                limit=limit or (), share=share or (), fill=fill, already=already or (),
            )  # fmt: skip
        _print_source(steered, format, explain, end)
        return
    with Library.open(options.single_library(library), device.value) as opened:
        wishes: list[mc.AnyWish] = [opened.spread(word, missing.value) for word in spread or []]
        wishes += [opened.focus(word, missing.value) for word in focus or []]
        wishes += [opened.limit(word, fill) for word in limit or []]
        wishes += [opened.share(word) for word in share or []]
        selected_method = options.method(strength, protect, keep, order, method)
        inner_folder = None if folder is None else opened.folder_named(folder)
        conditions, values = _conditions(where, since, until, inner_folder)
        choice_ids = choosing.chosen(opened, pin, reject, choice)
        results = opened.search(
            text, wishes, k, selected_method,
            like=like, candidates=candidates, where=conditions, values=values,
            encoder=None if encoder == "auto" else encoder, already=_photo_ids(already),
            pin=choice_ids.pin, reject=choice_ids.reject, stacks=not no_stacks,
        )  # fmt: skip
        for word in focus or []:
            place = opened.place_meant(word)
            _note(place and f"place: {place}")
        _note(None if len(results) else "no photograph matches these conditions")
        for shortfall in results.explain().notes if share else ():
            _note(shortfall)
        _note(opened.unfinished)
        _note(opened.words_only if results.hits.ranked and like is None else None)
        _note(_newest_note(results.hits))
        shape = format or (Format.table if sys.stdout.isatty() else Format.jsonl)
        if shape is Format.paths:
            _print_files(results, end)
        elif shape is Format.table:
            _print_tables(opened, results, explain, compare, pictures)
        else:
            records = results.records(explain, compare)
            for part in [records] if shape is Format.json else records:
                printing.show_json(part)
        if save_choice is not None:
            like_id = None if like is None else opened.id_of(like)
            flags = (conditions or [])[where is not None :]
            query = choosing.query_of(text, k, spread, focus, limit, share, strength, like_id, where, flags, values)
            choosing.save(opened, save_choice, results, choice_ids.reject, query)
        if target.names():
            from mascot.photos.album import section_of

            target.take(opened, results.photos, section_of(results))
        if open_:
            _open(opened, results)


def _photo_ids(texts: list[str] | None) -> list[int] | None:
    for text in texts or ():
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise mc.OptionError(f"--already must be the id of a photograph, a whole number, got {text!r}")
    return None if texts is None else [int(text) for text in texts]


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print the warnings of mascot as one line each on standard error."""
    from mascot.connect.source import FewCandidates, NoKey

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for ours in (FewCandidates, NoKey):
            warnings.simplefilter("always", ours)
        warnings.filterwarnings("always", message="no record has ")
        yield
    for warning in caught:
        _note(str(warning.message))


def _print_source(steered: Any, format: Format | None, explain: bool, end: str) -> None:
    """Print the results of an engine as `mascot rerank` does: they have the columns of the engine."""
    if steered.ranking is None:
        _note("nothing matches these conditions")
        return
    query = RecordedQuery(None, steered.found.records(), steered.found.candidates())
    shape = format or (Format.table if sys.stdout.isatty() else Format.jsonl)
    if shape is Format.table:
        printing.show(printing.ranking_table(query, steered.ranking, explain))
    elif shape is Format.paths:
        _print_paths(steered.ranking.ids, end)
    else:
        records = printing.result_records(query, steered.ranking, explain)
        for part in [records] if shape is Format.json else records:
            printing.show_json(part)


def _newest_note(hits: Any) -> str | None:
    if hits.ranked or hits.newest_of <= hits.count:
        return None
    return (
        f"without words the {hits.count} newest of {hits.newest_of} photographs are looked at: "
        "--candidates takes more, --where, --since, --until and --folder others"
    )


def _print_files(results: Any, end: str) -> None:
    """Print the paths of the files that exist."""
    existing = [path for path, photo in zip(results.paths, results.photos, strict=True) if photo.id not in results.gone]
    _print_paths(existing, end)
    missing_count = len(results) - len(existing)
    if missing_count:
        files = "1 file is" if missing_count == 1 else f"{missing_count} files are"
        _note(f"{files} gone and left out; `mascot index --prune` forgets what is no longer in the folder")


def _print_paths(paths: Iterable[Any], end: str) -> None:
    sys.stdout.writelines(f"{path}{end}" for path in paths)


def _conditions(
    where: str | None, since: str | None, until: str | None, folder: str | None
) -> tuple[list[str] | None, list[Any]]:
    """Return the conditions in SQL, and their values: values of options never become SQL."""
    parts: list[str] = [] if where is None else [where]
    values: list[Any] = []
    for flag, operator, value in (("since", ">=", since), ("until", "<=", until)):
        if value is not None:
            # The end of a day or month: every text with that prefix compares below it.
            parts.append(f"taken {operator} ?")
            values.append(_day(flag, value) + ("\uffff" if flag == "until" else ""))
    if folder is not None:
        from mascot.photos.filters import within

        part, folder_values = within(folder)
        parts.append(part)
        values += folder_values
    return parts or None, values


def _day(flag: str, value: str) -> str:
    for shape in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            return datetime.strptime(value, shape).strftime(shape)
        except ValueError:
            continue
    raise mc.OptionError(f"--{flag} must be a date like 2019-07-14, 2019-07 or 2019, got {value!r}")


def _print_tables(library: Any, results: Any, explain: bool, compare: bool, pictures: bool | None) -> None:
    from mascot.cli import photo_printing

    parts: list[Any] = [photo_printing.comparison_table(results)] if compare else []
    if explain or not compare:
        with_pictures = photo_printing.can_show_pictures() if pictures is None else pictures
        parts.append(photo_printing.results_table(library, results, explain, with_pictures))
    printing.show(*parts, photo_printing.library_line(library))


def _open(library: Any, results: Any) -> None:
    from mascot.photos.album import album, section_of

    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="mascot-", delete=False, encoding="utf-8") as file:
        file.writelines(album(library.store, library.root.name, [section_of(results, links=True)]))
    if not webbrowser.open(Path(file.name).as_uri()):
        _note(f"no browser could be started; the page is {file.name}")


def library(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="Default: the library around the current folder, or the last one indexed."
        ),
    ] = None,
    library: _Library = None,
    format: Annotated[
        options.OverviewFormat, typer.Option(help="Text for people, or everything as JSON.")
    ] = options.OverviewFormat.text,
    check: Annotated[bool, typer.Option("--check", help="Look for damage; status 1 if there is any.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Look for damage and repair it; say what was lost.")] = False,
    remove_folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Forget a folder that was added with `mascot index A B`.")
    ] = None,
) -> None:
    """Say what is in a library: counts, what is missing, a map and a clock. Or look for damage, and repair it."""
    from mascot.photos.library import Library
    from mascot.photos.overview import overview, points

    with Library.open(path or options.single_library(library)) as opened:
        if check or repair:
            _check(opened, repair)
            return
        if remove_folder is not None:
            from mascot.cli.photo_printing import number_of

            printing.show(
                f"{number_of(opened.remove_folder(remove_folder), 'photograph')} forgotten; no file was touched"
            )
            return
        summary = overview(opened.root, opened.folder, opened.store)
        if format is options.OverviewFormat.json:
            printing.show_json(summary.to_dict())
            return
        from mascot.cli.photo_printing import overview_text

        folder_lines = "".join(f"\n  and {printing.visible(str(folder))}" for folder in opened.folders[1:])
        first, _, details = overview_text(summary, points(opened.store)).partition("\n")
        printing.show(f"{first}{folder_lines}\n{details}")


def _check(library: Any, repair: bool) -> None:
    from mascot.cli.photo_printing import number_of
    from mascot.photos.repair import check as find_damage
    from mascot.photos.repair import repair as repair_library

    if not repair:
        findings = find_damage(library)
        printing.show(*findings or (f"no damage found: {number_of(library.store.count(), 'photograph')}",))
        if findings:
            _note(f"{library.folder} is damaged: `mascot library --repair {library.location}` repairs it")
            raise typer.Exit(1)
        return
    result = repair_library(library)
    lines = [*result.findings] or ["no damage found"]
    if result.damaged is not None:
        lost_count = "an unknown number" if result.lost is None else str(result.lost)
        lines.append(
            f"{number_of(result.photos, 'photograph')} saved, {lost_count} lost; the old database is {result.damaged}"
        )
    lines.append(f"index of {number_of(result.encoded, 'photograph')} built from the database")
    if result.lost != 0 or result.encoded < result.photos:
        where = f"{library.root} --index {library.folder}" if library.is_elsewhere else library.root
        lines.append(f"Next: mascot index {where} reads again what was lost")
    printing.show(*lines)


def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or part of the same sample.")],
    count: Annotated[int, typer.Option(help="How many postcards.")] = 600,
    seed: Annotated[int, typer.Option(help="Another number gives another selection and other crops.")] = 0,
) -> None:
    """Write a sample library of rendered postcards, to try everything without a network."""
    sample_library = package("mascot.photos.sample", "photos", "the sample library")
    with progress_bar() as report:
        cards = sample_library.write_sample(folder, count, seed, lambda number, total: report("writing", number, total))
    countries = {card.country for card in cards}
    printing.show(
        f"{len(cards)} postcards from {len(countries)} countries in {folder}",
        f"Next: mascot index {folder}",
        '      mascot search "sunset over water" --spread place',
    )
