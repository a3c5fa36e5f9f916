"""The commands `mascot index`, `library` and `sample`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

import mascot as mc
from mascot.cli import options, printing
from mascot.cli.photos.encoder_choice import ENCODERS, choose_encoder
from mascot.cli.printing import note, number_of, progress_bar, visible
from mascot.errors import Interrupted, require
from mascot.extras import package
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.texts import as_text
from mascot.photos.library import Library
from mascot.photos.sharing.overview import overview

if TYPE_CHECKING:
    from mascot.photos.indexing.indexer import Summary

_SKIPPED_SHOWN = 10


def index(
    folders: list[Path] | None = typer.Argument(
        None,
        metavar="FOLDER...",
        help="Folders of photographs. Several folders form one library, whose index is in the first one (default: the "
        "library that contains the current folder, or the library that was indexed last).",
    ),
    encoder: str = typer.Option(
        "auto",
        metavar="NAME",
        help=f"{ENCODERS}. auto is the encoder of the library; for a new library CLIP, downloaded if necessary, or "
        "lite without a network.",
    ),
    index_folder: Path | None = typer.Option(
        None, "--index", metavar="DIR", help="Folder for the index, if FOLDER is read-only (default: FOLDER/.mascot)."
    ),
    watch: bool = typer.Option(False, "--watch", help="Keep running and index new and changed files, until Ctrl-C."),
    interval: float = typer.Option(2.0, help="Seconds between two polls with --watch."),
    prune: bool = typer.Option(False, "--prune", help="Remove photographs whose files no longer exist."),
    again: bool = typer.Option(
        False, "--again", help="Read and encode every photograph again, also if the index is damaged."
    ),
    text: bool = typer.Option(
        False, "--text", help="Also read the text in photographs, such as signs and receipts. Needs the extra ocr."
    ),
    hidden: bool = typer.Option(False, "--hidden", help="Also index hidden files and folders."),
    follow_links: bool = typer.Option(
        False, "--follow-links", help="Also follow symbolic links that lead out of a FOLDER."
    ),
    max_megapixels: float = typer.Option(Limits.max_megapixels, help="Skip images with more megapixels."),
    max_megabytes: float = typer.Option(Limits.max_megabytes, help="Skip files with more megabytes."),
    max_seconds: float = typer.Option(Limits.max_seconds, help="Skip files that take more CPU time to decode."),
    max_memory_mb: float = typer.Option(
        Limits.max_memory_mb, help="Skip files that take more memory to decode, in megabytes."
    ),
    device: options.Device = options.DEVICE,
) -> None:
    """Index folders of photographs, or bring their index up to date.

    \b
    mascot index ~/Pictures
    mascot index ~/Pictures /mnt/archive
    mascot index /media/card --index ~/card-index
    mascot index --watch
    mascot index --prune
    mascot index --text

    The index is in FOLDER/.mascot. New and changed files and sidecars are read and encoded; moved and renamed ones
    are recognised. A run may be stopped at any moment; the next run continues where it stopped.
    """
    limits: dict[str, Any] = {
        "max_megapixels": max_megapixels, "max_megabytes": max_megabytes, "max_seconds": max_seconds,
        "max_memory_mb": max_memory_mb,
    }  # fmt: skip
    for name, value in {**limits, "interval": interval}.items():
        require(value > 0, f"--{name.replace('_', '-')}", "must be > 0", value)
    first, further_folders = (folders[0], folders[1:]) if folders else (None, [])
    if text:
        package("rapidocr", "ocr", "--text")  # before an encoder is downloaded
    with Library.open(first, device, index_folder) as library:
        encoder_name, again = choose_encoder(library, encoder, again)

        def run(again: bool) -> Summary:
            with progress_bar() as report, _stopping():
                return library.index(
                    encoder_name, report=report, folders=further_folders, again=again, text=text, prune=prune,
                    hidden=hidden, follow_links=follow_links, **limits,
                )  # fmt: skip

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
    if summary.texts is not None:
        lines.append(f"text of {number_of(summary.texts, 'photograph')} read")
    if summary.gone:
        verb, pronoun = ("is", "it") if summary.gone == 1 else ("are", "them")
        lines.append(f"{summary.gone} {verb} no longer in the folder; `mascot index --prune` removes {pronoun}")
    if summary.paired:
        lines.append(f"{number_of(summary.paired, 'video or RAW file')} beside a photograph, indexed as part of it")
    if summary.unread:
        kinds = ", ".join(number_of(count, f"{suffix} file") for suffix, count in summary.unread)
        lines.append(f"{kinds} skipped: not a supported format")
    if summary.skipped:
        lines.append(f"{len(summary.skipped)} skipped:")
        lines += [f"  {visible(as_text(str(item.path)))}: {item.reason}" for item in summary.skipped[:_SKIPPED_SHOWN]]
        more = len(summary.skipped) - _SKIPPED_SHOWN
        lines += [f"  and {more} more: `mascot library --format json` lists all"] if more > 0 else []
    return lines


def library(
    words: list[str] | None = typer.Argument(
        None,
        metavar="[check] [FOLDER]",
        help="A folder that was indexed (default: the library that contains the current folder, or the library that "
        "was indexed last). With the word check before it, look for damage.",
    ),
    library: list[Path] | None = options.LIBRARY,
    format: Literal["text", "json"] = typer.Option("text", help="Text for people, or everything as JSON."),
    remove_folder: Path | None = typer.Option(
        None, metavar="FOLDER", help="Remove an added folder from the library; its files are not touched."
    ),
) -> None:
    """Show what a library contains: counts and missing values. Or check it.

    \b
    mascot library
    mascot library ~/Pictures --format json
    mascot library check ~/Pictures

    Damage is named in one line, with the command that indexes the photographs again; the exit status is not 0.
    """
    from mascot.cli.photos.photo_printing import overview_text

    words = words or []
    is_check = words[:1] == ["check"]
    folders = words[is_check:]
    if len(folders) > 1:
        raise mc.OptionError(f"mascot library takes one FOLDER, got {', '.join(folders)}")
    with Library.open(folders[0] if folders else options.single_library(library)) as opened:
        if is_check:
            opened.check()
            printing.show(f"no damage found: {number_of(opened.store.count(), 'photograph')}")
        elif remove_folder is not None:
            count = opened.remove_folder(remove_folder)
            printing.show(f"{number_of(count, 'photograph')} forgotten; no file was touched")
        else:
            summary = overview(opened.root, opened.folder, opened.store)
            if format == "json":
                printing.show_json(summary.to_dict())
                return
            folder_lines = "".join(f"\n  and {visible(str(folder))}" for folder in opened.folders[1:])
            first, _, details = overview_text(summary).partition("\n")
            printing.show(f"{first}{folder_lines}\n{details}")


def sample(
    folder: Path = typer.Argument(metavar="DIR", help="A new folder, or one that holds a part of the same sample."),
    count: int = typer.Option(600, help="Number of pictures."),
    seed: int = typer.Option(0, help="Another seed gives another selection and other crops."),
) -> None:
    """Write a folder of rendered pictures (postcards) to try photo search with, without a network."""
    sample_library = package("mascot.photos.sample", "photos", "the sample library")
    with progress_bar() as report:
        cards = sample_library.write_sample(folder, count, seed, lambda number, total: report("writing", number, total))
    printing.show(
        f"{len(cards)} postcards from {len({card.country for card in cards})} countries in {folder}",
        f"Next: mascot index {folder}",
        '      mascot search "sunset over water" --spread place',
    )
