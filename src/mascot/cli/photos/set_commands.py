"""Choose and export photographs: options of `mascot search`, and `mascot choices`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import typer

import mascot as mc
from mascot.cli import options
from mascot.cli.printing import FOLD, RIGHT, new_grid, note, number_of, progress_bar, show, show_json, visible
from mascot.errors import Interrupted
from mascot.photos.library import Library
from mascot.photos.photo import Photo
from mascot.photos.request import SearchRequest
from mascot.photos.sharing.album import AlbumSection, place_of, time_of, write_album
from mascot.photos.sharing.choices import Choice
from mascot.photos.sharing.export import copy_originals, originals, write_zip

COPY_TO = typer.Option(None, metavar="DIR", help="Copy the files to this folder; nothing is overwritten.")
ZIP = typer.Option(None, metavar="FILE", help="Write the files to a new ZIP archive.")
ALBUM = typer.Option(
    None, metavar="FILE", help="Write an HTML file with pictures, a map and a clock, or add to an existing album."
)


@dataclass(frozen=True)
class TakeAway:
    """The targets of an export of photographs."""

    copy_to: Path | None
    zip: Path | None
    album: Path | None

    def __post_init__(self) -> None:
        if self.zip is not None and self.zip.exists():  # refused before the search
            raise mc.InputError(f"{self.zip} exists already, and is never overwritten")

    def names(self) -> list[str]:
        return [f"--{name.replace('_', '-')}" for name, value in asdict(self).items() if value is not None]

    def take(self, library: Library, photos: Sequence[Photo], section: AlbumSection) -> None:
        """Write the album, the archive and the copies; print their locations on standard error."""
        if not photos:
            return
        if self.album is not None:
            is_added = write_album(library.store, section.title or "Photographs", section, self.album, library.root)
            note(f"{'added to the album' if is_added else 'album'} {self.album}")
        if self.copy_to is None and self.zip is None:
            return
        files, problems = originals(library.root, photos)
        for problem in problems:
            note(visible(problem))
        if self.zip is not None:
            write_zip(files, self.zip)
            note(f"{number_of(len(files), 'photograph')} in {self.zip}")
        if self.copy_to is not None:
            _copy(library.root, files, self.copy_to)


def _copy(root: Path, files: Sequence[Any], folder: Path) -> None:
    try:
        with progress_bar() as report:
            copied = copy_originals(files, folder, lambda count, total: report("copying", count, total))
    except KeyboardInterrupt:
        raise Interrupted("stopped; the same command copies the remaining photographs") from None
    present_note = f" ({len(copied.present)} were there already)" if copied.present else ""
    note(f"{number_of(len(copied.new), 'photograph')} copied to {folder}{present_note}")
    if folder.resolve().is_relative_to(root):
        note(f"{folder} lies in the library: `mascot index` will find the copies there")


@dataclass(frozen=True)
class Chosen:
    """Options that pin and reject photographs, or continue a saved search."""

    pin: list[str] | None
    reject: list[str] | None
    choice: str | None
    from_: str | None

    def request(self, library: Library, fields: Mapping[str, Any]) -> SearchRequest:
        """Return the request with these fields; with `--from`, the fields that are not set come from a saved search."""
        saved: dict[str, Any] = {}
        if self.from_ is not None:
            saved = dict(library.choices.get(self.from_).query or {})
        defaults = SearchRequest()
        changes = {name: value for name, value in fields.items() if value not in (None, getattr(defaults, name))}
        if changes.keys() & {"text", "like"}:
            saved = {name: value for name, value in saved.items() if name not in ("text", "like")}
        pinned, rejected = self._ids(library)
        return SearchRequest.from_dict({**saved, **changes, "pin": pinned, "reject": rejected})

    def _ids(self, library: Library) -> tuple[list[int], list[int]]:
        """Return the photographs to pin and to reject. Options override a saved choice."""
        pinned, rejected = _photo_ids(library, self.pin, "--pin"), _photo_ids(library, self.reject, "--reject")
        if self.choice is not None:
            saved_choice = library.choices.get(self.choice)
            pinned = [*(id_ for id_ in saved_choice.photos if id_ not in rejected), *pinned]
            rejected = [*rejected, *(id_ for id_ in saved_choice.rejected if id_ not in pinned)]
            _note_missing(saved_choice, f"choice {saved_choice.name!r}: ")
        return pinned, rejected


def _photo_ids(library: Library, names: Sequence[str] | None, owner: str) -> list[int]:
    """Return the ids of photographs named by id or path, relative to the current folder or to the library."""
    ids = []
    for name in names or ():
        if re.fullmatch(r"[0-9]{1,18}", name):
            ids.append(library.store.photo(int(name)).id)
            continue
        id_ = library.id_of(Path(name)) or library.id_of(library.root / name)
        if id_ is None:
            raise mc.InputError(f"{owner}: the library {library.root} holds no photograph {name!r}")
        ids.append(id_)
    return ids


def _note_missing(choice: Choice, owner: str = "") -> None:
    if choice.missing:
        verb = "is" if choice.missing == 1 else "are"
        note(f"{owner}{number_of(choice.missing, 'photograph')} of it {verb} not in the library any more")


def choices(
    name: str | None = typer.Argument(None, metavar="NAME", help="The choice to show (default: list all choices)."),
    delete: bool = typer.Option(False, "--delete", help="Delete the choice; the photographs stay."),
    copy_to: Path | None = COPY_TO,
    zip: Path | None = ZIP,
    album: Path | None = ALBUM,
    format: Literal["table", "json", "paths"] | None = typer.Option(
        None, help="Output format (default: table on a terminal, JSON in a pipe)."
    ),
    library: list[Path] | None = options.LIBRARY,
) -> None:
    """List the saved choices, or show, copy or delete one.

    \b
    mascot search boats --save-choice "boats for the wall"
    mascot choices
    mascot choices "boats for the wall" --copy-to prints
    """
    shape, target = format or ("table" if sys.stdout.isatty() else "json"), TakeAway(copy_to, zip, album)
    with Library.open(options.single_library(library)) as opened:
        if name is None:
            wrong = [*target.names(), *(["--delete"] if delete else []), *(["--format paths"] * (shape == "paths"))]
            if wrong:
                raise mc.OptionError(f"{', '.join(wrong)}: needs the NAME of a choice")
            _list(opened.choices.all(), shape)
        elif delete:
            opened.choices.delete(name)
        else:
            choice = opened.choices.get(name)
            _note_missing(choice)
            photos = opened.store.photos(choice.photos)
            _show(opened.root, choice, photos, shape)
            target.take(opened, photos, AlbumSection(photos, choice.name))


def _list(all_choices: Sequence[Choice], shape: str) -> None:
    if shape == "json":
        for choice in all_choices:
            show_json(asdict(choice))
        return
    grid = new_grid(("photographs", RIGHT), ("rejected", RIGHT), ("choice", FOLD), ("search", FOLD))
    for choice in all_choices:
        search = visible(_search_text(choice.query or {}))
        grid.add_row(str(len(choice.photos)), str(len(choice.rejected)), visible(choice.name), search)
    show(grid if all_choices else "no choices yet: `mascot search ... --save-choice NAME` saves one")


def _search_text(query: Mapping[str, Any]) -> str:
    """Return a saved search as text: `boats; since 2019; spread place; k 20`."""
    parts = [str(query["text"])] if "text" in query else []
    parts += [f"{name} {value}" for name, value in query.items() if name not in ("text", "wishes")]
    for wish in query.get("wishes", ()):
        parts.append(" ".join(f"{name} {value}" for name, value in wish.items()))
    return "; ".join(parts)


def _show(root: Path, choice: Choice, photos: Sequence[Photo], shape: str) -> None:
    if shape == "json":
        show_json(asdict(choice))
    elif shape == "paths":
        sys.stdout.writelines(f"{root / photo.path}\n" for photo in photos)
    else:
        grid = new_grid(("id", RIGHT), ("photograph", FOLD), ("place", FOLD), ("taken", FOLD))
        for photo in photos:
            grid.add_row(str(photo.id), visible(photo.path), place_of(photo), time_of(photo))
        show(grid)
