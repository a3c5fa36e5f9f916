"""The commands `mascot index`, `search`, `library` and `sample`."""

from __future__ import annotations

import re
import sys
import tempfile
import warnings
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

import mascot as mc
from mascot.cli import options, printing
from mascot.cli.hit_tables import RecordedQuery
from mascot.cli.photos import set_commands
from mascot.cli.photos.encoder_choice import choose_encoder
from mascot.cli.photos.set_commands import Interrupted
from mascot.cli.printing import note, number_of, progress_bar, visible
from mascot.cli.ray_options import Ray
from mascot.errors import require
from mascot.extras import package
from mascot.photos.database.filters import within
from mascot.photos.files.decode_limits import Limits
from mascot.photos.library import Library
from mascot.photos.results import Results
from mascot.photos.sharing.album import album, section_of
from mascot.photos.sharing.overview import overview, points
from mascot.photos.texts import as_text

if TYPE_CHECKING:
    from mascot.photos.indexing.indexer import Summary

_SKIPPED_SHOWN = 10
_ENCODERS = "auto, lite, clip[:MODEL] or blip2[:MODEL]"
Format = Literal["table", "json", "jsonl", "paths"]


@options.expanded
def index(
    folders: list[Path] | None = typer.Argument(
        None,
        metavar="FOLDER...",
        help="Photographs; several folders make one library, whose index is in the first one (default: the library "
        "around the current folder, or the one indexed last).",
    ),
    encoder: str = typer.Option(
        "auto",
        metavar="NAME",
        help=f"{_ENCODERS}; auto is the library's own, else a CLIP on this machine or from the hub, else lite.",
    ),
    index_folder: Path | None = typer.Option(
        None, "--index", metavar="DIR", help="Keep the index in this folder, for folders that are read-only."
    ),
    watch: bool = typer.Option(False, "--watch", help="Continue: index new and changed files, until Ctrl-C."),
    interval: float = typer.Option(2.0, help="Seconds between two polls with --watch."),
    prune: bool = typer.Option(False, "--prune", help="Remove photographs whose files are gone."),
    again: bool = typer.Option(False, "--again", help="Read and encode every photograph again."),
    hidden: bool = typer.Option(False, "--hidden", help="Also look into hidden files and folders."),
    follow_links: bool = typer.Option(False, "--follow-links", help="Also follow links that lead out of a FOLDER."),
    max_megapixels: float = typer.Option(Limits.max_megapixels, help="Skip larger images."),
    max_megabytes: float = typer.Option(Limits.max_megabytes, help="Skip larger files."),
    max_seconds: float = typer.Option(Limits.max_seconds, help="Skip files that take more CPU time to decode."),
    max_memory_mb: float = typer.Option(
        Limits.max_memory_mb, help="Skip files that take more memory to decode, in megabytes."
    ),
    device: options.Device = "auto",
    into: str | None = typer.Option(
        None, metavar="URI", help="Write the rows to an engine instead: lance:///FOLDER/TABLE, postgresql://..."
    ),
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
    limits: dict[str, Any] = {
        "max_megapixels": max_megapixels, "max_megabytes": max_megabytes, "max_seconds": max_seconds,
        "max_memory_mb": max_memory_mb,
    }  # fmt: skip
    for name, value in {**limits, "interval": interval}.items():
        require(value > 0, f"--{name.replace('_', '-')}", "must be > 0", value)
    if ray is not None and into is None:
        raise mc.OptionError("--ray needs --into URI: the machines of a cluster cannot share FOLDER/.mascot")
    first, further_folders = (folders[0], folders[1:]) if folders else (None, [])
    walking = {"prune": prune, "hidden": hidden, "follow_links": follow_links}
    if into is not None:
        if further_folders or index_folder is not None or watch:
            raise mc.OptionError("--into takes one FOLDER, without --index and --watch")
        from mascot.photos.indexing.engine_indexing import index_into

        with Library.open(first) as library, progress_bar() as report, _stopping(), ExitStack() as stack:
            runner = None
            if ray is not None:
                from mascot.cluster.ray_runner import ray_runner

                runner = stack.enter_context(ray_runner(ray, Limits(**limits), device))
            summary = index_into(
                library.root, into, None if encoder == "auto" else encoder, runner=runner, limits=Limits(**limits),
                again=again, device=device, report=report, **walking,
            )  # fmt: skip
        printing.show(*_summary_lines(summary))
        return
    with Library.open(first, device, index_folder) as library:
        encoder_name, again = choose_encoder(library, encoder, again, device)

        def run(again: bool) -> Summary:
            settings = {"folders": further_folders, "again": again, **walking, **limits}
            with progress_bar() as report, _stopping():
                return library.index(encoder_name, report=report, **settings)

        summary = run(again)
        notice = library.notice if summary.new + summary.changed else None
        printing.show(*_summary_lines(summary))
        note(notice)
        if watch:
            _watch(library, lambda: run(again=False), interval, hidden, follow_links)


def _watch(library: Library, run: Callable[[], Summary], interval: float, hidden: bool, follow_links: bool) -> None:
    """Index again after each change, until Ctrl-C. A failure is printed, and retried after the next change."""
    from mascot.photos.files.watching import changes

    note("watching; Ctrl-C ends it")
    with _stopping():
        for _ in changes(lambda: library.confirmed_folders, interval, hidden=hidden, follow_links=follow_links):
            try:
                summary = run()
            except Interrupted:
                raise
            except mc.MascotError as error:
                note(visible(" ".join(str(error).split())))
                continue
            if summary.new or summary.changed or summary.moved or summary.copied or summary.pruned:
                printing.show(*_summary_lines(summary))
                sys.stdout.flush()


@contextmanager
def _stopping() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was indexed so far is kept, and the next run continues there") from None


def _summary_lines(summary: Summary) -> list[str]:
    counts = {
        "new": summary.new, "changed": summary.changed, "moved": summary.moved,
        "copy" if summary.copied == 1 else "copies": summary.copied,
        "unchanged": summary.unchanged, "removed": summary.pruned,
    }  # fmt: skip
    parts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    read_count, seconds = summary.new + summary.changed, summary.seconds
    rate = f" ({read_count / seconds:.0f} a second)" if seconds > 0 and read_count >= seconds else ""
    lines = [f"{number_of(summary.photos, 'photograph')}: {parts or 'none found'}, in {seconds:.1f} s{rate}"]
    if summary.gone:
        verb, pronoun = ("is", "it") if summary.gone == 1 else ("are", "them")
        lines.append(f"{summary.gone} {verb} no longer in the folder; `mascot index --prune` removes {pronoun}")
    if summary.paired:
        lines.append(f"{number_of(summary.paired, 'film or RAW file')} beside a photograph, taken as part of it")
    if summary.unread:
        kinds = ", ".join(number_of(count, f"{suffix} file") for suffix, count in summary.unread)
        lines.append(f"{kinds}: of kinds that are not read")
    if summary.skipped:
        lines.append(f"{len(summary.skipped)} skipped:")
        lines += [f"  {visible(as_text(str(item.path)))}: {item.reason}" for item in summary.skipped[:_SKIPPED_SHOWN]]
        more = len(summary.skipped) - _SKIPPED_SHOWN
        lines += [f"  and {more} more: `mascot library --format json` lists all"] if more > 0 else []
    return lines


@options.expanded
def search(
    *,
    text: str | None = typer.Argument(
        None, metavar="TEXT", help="What to search for, in plain words (default: all photographs, newest first)."
    ),
    k: int = typer.Option(20, "-k", help="How many results."),
    typed: options.Wishes,
    quotas: options.Quotas,
    already: options.Already = None,
    method_choice: options.MethodChoice,
    missing: options.Missing = "last",
    like: Path | None = typer.Option(None, metavar="PHOTO", help="Search for photographs similar to this one instead."),
    candidates: int | None = typer.Option(
        None, help="Best matches that are steered: 5000, with --source 200; without TEXT the 5000 newest."
    ),
    where: str | None = typer.Option(
        None, metavar="SQL", help="Only photographs for which this holds: \"country = 'PT'\"."
    ),
    since: str | None = typer.Option(None, metavar="DATE", help="Taken on this day or later."),
    until: str | None = typer.Option(None, metavar="DATE", help="Taken on this day or earlier."),
    folder: str | None = typer.Option(None, metavar="FOLDER", help="Only in this folder of the library."),
    no_stacks: bool = typer.Option(
        False, "--no-stacks", help="Show each shot of a burst and each copy, not one for all."
    ),
    explain: options.Explain = False,
    compare: bool = typer.Option(False, "--compare", help="Plain relevance beside the steered list."),
    format: Format | None = typer.Option(None, help="Table on a terminal, JSON lines in a pipe."),
    print0: bool = typer.Option(
        False, "--print0", "-0", help="End paths with NUL, for xargs -0: names may contain line breaks."
    ),
    pictures: bool | None = typer.Option(
        None,
        "--pictures/--no-pictures",
        help="Small pictures in the table (default: if the terminal has enough colours).",
    ),
    open_: bool = typer.Option(False, "--open", help="Show the results in the browser."),
    chosen: set_commands.Chosen,
    save_choice: str | None = typer.Option(None, metavar="NAME", help="Save the results as a choice of that name."),
    target: set_commands.TakeAway,
    source: str | None = typer.Option(
        None, metavar="URI", help="Search an engine instead: lance://, qdrant://, milvus://, postgresql://."
    ),
    library: options.Library = None,
    encoder: str | None = typer.Option(None, metavar="NAME", help=f"{_ENCODERS} (default: the library's own)."),
    device: options.Device = "auto",
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
    if print0:
        if format not in (None, "paths"):
            raise mc.OptionError(f"--print0 writes paths, got --format {format} as well")
        format = "paths"
    end = "\0" if print0 else "\n"
    shape = format or ("table" if sys.stdout.isatty() else "jsonl")
    encoder = None if encoder == "auto" else encoder

    def read_wishes(reader: Any) -> list[mc.AnyWish]:
        return typed.read(reader, missing) + quotas.read(reader)

    if source is not None:
        library_options = {
            "since": since, "until": until, "folder": folder, "compare": compare, "open": open_, "library": library,
            **asdict(chosen), "save-choice": save_choice,
        }  # fmt: skip
        refused_options = [*(f"--{name}" for name, value in library_options.items() if value), *target.names()]
        if refused_options:
            raise mc.OptionError(f"{', '.join(refused_options)}: not with --source; conditions go to --where")
        if text is None and like is None:
            raise mc.OptionError("--source needs a TEXT to search for, or a photograph with --like")
        from mascot.photos.engine_search import Question, search_source

        with _print_warnings():
            steered = search_source(
                source, Question(text, like, encoder, device), read_wishes, k, method_choice.select(),
                candidates=candidates, where=where, already=already or (),
            )  # fmt: skip
        _print_source(steered, shape, explain, end)
        return
    with Library.open(options.single_library(library), device) as opened:
        wishes, method = read_wishes(opened), method_choice.select()
        flags, values = _conditions(since, until, None if folder is None else opened.folder_named(folder))
        ids = chosen.ids(opened)
        results = opened.search(
            text, wishes, k, method, like=like, candidates=candidates,
            where=[*([] if where is None else [where]), *flags] or None, values=values, encoder=encoder,
            already=_photo_ids(already), stacks=not no_stacks, pin=ids["pin"], reject=ids["reject"],
        )  # fmt: skip
        for word in typed.focus or []:
            place = opened.place_meant(word)
            note(place and f"place: {place}")
        note(None if len(results) else "no photograph matches these conditions")
        for shortfall in results.explain().notes if quotas.share else ():
            note(shortfall)
        note(opened.unfinished)
        note(opened.words_only if results.hits.ranked and like is None else None)
        if results.hits.newest_of is not None and results.hits.newest_of > results.hits.count:
            note(
                f"without words the {results.hits.count} newest of {results.hits.newest_of} photographs are looked at: "
                "--candidates takes more, --where, --since, --until and --folder others"
            )
        if shape == "paths":
            _print_files(results, end)
        elif shape == "table":
            _print_tables(opened, results, explain, compare, pictures)
        else:
            printing.show_records(results.records(explain, compare), shape == "json")
        if save_choice is not None:
            like_id = None if like is None else opened.id_of(like)
            fields = {"text": text, "like": like_id, "k": k, "strength": method_choice.strength}
            query = set_commands.query_of(fields, typed, quotas, where, flags, values)
            photo_ids = [photo.id for photo in results.photos]
            saved_choice = opened.choices.put(save_choice, photo_ids, ids["reject"], query)
            note(f"choice {saved_choice.name!r}: {number_of(len(photo_ids), 'photograph')} saved")
        if target.names():
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
    from mascot.connect.engines.source import FewCandidates, NoKey

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for ours in (FewCandidates, NoKey):
            warnings.simplefilter("always", ours)
        warnings.filterwarnings("always", message="no record has ")
        yield
    for warning in caught:
        note(str(warning.message))


def _print_source(steered: Any, shape: Format, explain: bool, end: str) -> None:
    """Print the results of an engine as `mascot rerank` does: they have the columns of the engine."""
    if steered.ranking is None:
        note("nothing matches these conditions")
        return
    query = RecordedQuery(None, steered.found.records(), steered.found.candidates())
    if shape == "table":
        printing.show(printing.ranking_table(query, steered.ranking, explain))
    elif shape == "paths":
        _print_paths(steered.ranking.ids, end)
    else:
        printing.show_records(printing.result_records(query, steered.ranking, explain), shape == "json")


def _print_files(results: Results, end: str) -> None:
    """Print the paths of the files that exist."""
    existing = [photo for photo in results.photos if photo.id not in results.gone]
    _print_paths((results.hits.root / photo.path for photo in existing), end)
    missing_count = len(results) - len(existing)
    if missing_count:
        files = "1 file is" if missing_count == 1 else f"{missing_count} files are"
        note(f"{files} gone and left out; `mascot index --prune` forgets what is no longer in the folder")


def _print_paths(paths: Iterable[Any], end: str) -> None:
    sys.stdout.writelines(f"{path}{end}" for path in paths)


def _conditions(since: str | None, until: str | None, folder: str | None) -> tuple[list[str], list[Any]]:
    """Return the conditions in SQL, and their values: values of options never become SQL."""
    parts: list[str] = []
    values: list[Any] = []
    for flag, operator, value in (("since", ">=", since), ("until", "<=", until)):
        if value is not None:
            # The end of a day or month: every text with that prefix compares below it.
            parts.append(f"taken {operator} ?")
            values.append(_day(flag, value) + ("\uffff" if flag == "until" else ""))
    if folder is not None:
        part, folder_values = within(folder)
        parts.append(part)
        values += folder_values
    return parts, values


def _day(flag: str, value: str) -> str:
    for shape in ("%Y-%m-%d", "%Y-%m", "%Y"):
        with suppress(ValueError):
            return datetime.strptime(value, shape).strftime(shape)
    raise mc.OptionError(f"--{flag} must be a date like 2019-07-14, 2019-07 or 2019, got {value!r}")


def _print_tables(library: Library, results: Results, explain: bool, compare: bool, pictures: bool | None) -> None:
    from mascot.cli.photos import photo_printing

    parts: list[Any] = [photo_printing.comparison_table(results)] if compare else []
    if explain or not compare:
        with_pictures = photo_printing.can_show_pictures() if pictures is None else pictures
        parts.append(photo_printing.results_table(library, results, explain, with_pictures))
    printing.show(*parts, photo_printing.library_line(library))


def _open(library: Library, results: Results) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="mascot-", delete=False, encoding="utf-8") as file:
        file.writelines(album(library.store, library.root.name, [section_of(results, links=True)]))
    if not webbrowser.open(Path(file.name).as_uri()):
        note(f"no browser could be started; the page is {file.name}")


@options.expanded
def library(
    path: Path | None = typer.Argument(
        None, metavar="FOLDER", help="Default: the library around the current folder, or the last one indexed."
    ),
    library: options.Library = None,
    format: Literal["text", "json"] = typer.Option("text", help="Text for people, or everything as JSON."),
    check: bool = typer.Option(False, "--check", help="Look for damage; status 1 if there is any."),
    repair: bool = typer.Option(False, "--repair", help="Look for damage and repair it; say what was lost."),
    remove_folder: Path | None = typer.Option(
        None, metavar="FOLDER", help="Forget a folder that was added with `mascot index A B`."
    ),
) -> None:
    """Say what is in a library: counts, what is missing, a map and a clock. Or look for damage, and repair it."""
    from mascot.cli.photos.photo_printing import overview_text

    with Library.open(path or options.single_library(library)) as opened:
        if repair:
            _repair(opened)
        elif check:
            _check(opened)
        elif remove_folder is not None:
            count = opened.remove_folder(remove_folder)
            printing.show(f"{number_of(count, 'photograph')} forgotten; no file was touched")
        else:
            summary = overview(opened.root, opened.folder, opened.store)
            if format == "json":
                printing.show_json(summary.to_dict())
                return
            folder_lines = "".join(f"\n  and {visible(str(folder))}" for folder in opened.folders[1:])
            first, _, details = overview_text(summary, points(opened.store)).partition("\n")
            printing.show(f"{first}{folder_lines}\n{details}")


def _check(library: Library) -> None:
    from mascot.photos.database.repair import check as find_damage

    findings = find_damage(library)
    printing.show(*findings or (f"no damage found: {number_of(library.store.count(), 'photograph')}",))
    if findings:
        note(f"{library.folder} is damaged: `mascot library --repair {library.location}` repairs it")
        raise typer.Exit(1)


def _repair(library: Library) -> None:
    from mascot.photos.database.repair import repair as repair_library

    result = repair_library(library)
    lines = [*result.findings] or ["no damage found"]
    if result.damaged is not None:
        lost_count = "an unknown number" if result.lost is None else str(result.lost)
        saved = f"{number_of(result.photos, 'photograph')} saved, {lost_count} lost"
        lines.append(f"{saved}; the old database is {result.damaged}")
    lines.append(f"index of {number_of(result.encoded, 'photograph')} built from the database")
    if result.lost != 0 or result.encoded < result.photos:
        where = f"{library.root} --index {library.folder}" if library.is_elsewhere else library.root
        lines.append(f"Next: mascot index {where} reads again what was lost")
    printing.show(*lines)


@options.expanded
def sample(
    folder: Path = typer.Argument(metavar="DIR", help="A new folder, or part of the same sample."),
    count: int = typer.Option(600, help="How many postcards."),
    seed: int = typer.Option(0, help="Another number gives another selection and other crops."),
) -> None:
    """Write a sample library of rendered postcards, to try everything without a network."""
    sample_library = package("mascot.photos.sample", "photos", "the sample library")
    with progress_bar() as report:
        cards = sample_library.write_sample(folder, count, seed, lambda number, total: report("writing", number, total))
    printing.show(
        f"{len(cards)} postcards from {len({card.country for card in cards})} countries in {folder}",
        f"Next: mascot index {folder}",
        '      mascot search "sunset over water" --spread place',
    )
