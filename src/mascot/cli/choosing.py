"""Choose and export photographs: options of `mascot search`, and `mascot choices`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mascot as mc
from mascot import words
from mascot.cli import options, printing

if TYPE_CHECKING:
    from mascot.photos.album import AlbumSection
    from mascot.photos.choices import Choice
    from mascot.photos.library import Library
    from mascot.photos.photo import Photo
    from mascot.photos.results import Results

Pin = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="PHOTO", help="A photograph, by id or path, that the others complete. Repeatable."),
]
Reject = Annotated[
    list[str] | None, typer.Option("--reject", metavar="PHOTO", help="A photograph not to show. Repeatable.")
]
ChoiceName = Annotated[
    str | None, typer.Option("--choice", metavar="NAME", help="Pin the photographs of a saved choice.")
]
SaveChoice = Annotated[
    str | None, typer.Option("--save-choice", metavar="NAME", help="Save the results as a choice of that name.")
]
CopyTo = Annotated[
    Path | None, typer.Option("--copy-to", metavar="DIR", help="Copy the files there; nothing is overwritten.")
]
Zip = Annotated[Path | None, typer.Option("--zip", metavar="FILE", help="Write the files to a new ZIP archive.")]
Album = Annotated[
    Path | None,
    typer.Option(
        "--album", metavar="FILE", help="Write one HTML page with pictures, map and clock, or add to one that is there."
    ),
]


class ChoiceFormat(str, Enum):
    table = "table"
    json = "json"
    paths = "paths"


@dataclass(frozen=True)
class TakeAway:
    """The targets of an export of photographs."""

    copy_to: Path | None = None
    zip: Path | None = None
    album: Path | None = None

    def names(self) -> list[str]:
        """Return the options that were given."""
        options = {"--copy-to": self.copy_to, "--zip": self.zip, "--album": self.album}
        return [name for name, value in options.items() if value is not None]

    def check(self) -> None:
        """Raise `InputError` if the archive exists, before the search."""
        if self.zip is not None and self.zip.exists():
            raise mc.InputError(f"{self.zip} exists already, and is never overwritten")

    def take(self, library: Library, photos: Sequence[Photo], section: AlbumSection) -> None:
        """Write the album, the archive and the copies; print their locations on standard error."""
        from mascot.photos.album import write_album
        from mascot.photos.export import originals, write_zip

        if not photos:
            return
        if self.album is not None:
            added = write_album(library.store, library.root.name or "Photographs", section, self.album)
            _note(f"{'added to the' if added else ''} album {self.album}".strip())
        if self.copy_to is None and self.zip is None:
            return
        files, problems = originals(library.root, photos)
        for problem in problems:
            _note(printing.visible(problem))
        if self.zip is not None:
            write_zip(files, self.zip)
            _note(f"{_photographs(len(files))} in {self.zip}")
        if self.copy_to is not None:
            self._copy(library.root, files, self.copy_to)

    def _copy(self, root: Path, files: Sequence[Any], folder: Path) -> None:
        from mascot.cli.photos import Interrupted, progress_bar
        from mascot.photos.export import copy_originals

        try:
            with progress_bar() as report:
                copied = copy_originals(files, folder, lambda count, total: report("copying", count, total))
        except KeyboardInterrupt:
            raise Interrupted("stopped; the same command copies the remaining photographs") from None
        present_note = f" ({len(copied.present)} were there already)" if copied.present else ""
        _note(f"{_photographs(len(copied.new))} copied to {folder}{present_note}")
        if folder.resolve().is_relative_to(root):
            _note(f"{folder} lies in the library: `mascot index` will find the copies there")


def _note(text: str) -> None:
    print(f"mascot: {text}", file=sys.stderr)


def _photographs(count: int) -> str:
    return "1 photograph" if count == 1 else f"{count} photographs"


def photo_ids(library: Library, names: Iterable[str], owner: str) -> list[int]:
    """Return the ids of photographs named by id or path, relative to the current folder or to the library."""
    ids = []
    for name in names:
        if re.fullmatch(r"[0-9]{1,18}", name):
            ids.append(library.store.photo(int(name)).id)
            continue
        id_ = library.id_of(Path(name)) or library.id_of(library.root / name)
        if id_ is None:
            raise mc.InputError(f"{owner}: the library {library.root} holds no photograph {name!r}")
        ids.append(id_)
    return ids


@dataclass(frozen=True)
class Chosen:
    """The pinned and the rejected photographs of a search."""

    pin: tuple[int, ...]
    reject: tuple[int, ...]


def chosen(library: Library, pin: list[str] | None, reject: list[str] | None, choice: str | None) -> Chosen:
    """Return the photographs that the options name. Options override a saved choice."""
    pinned, rejected = photo_ids(library, pin or (), "--pin"), photo_ids(library, reject or (), "--reject")
    if choice is not None:
        saved_choice = library.choices.get(choice)
        pinned = [*(id_ for id_ in saved_choice.photos if id_ not in rejected), *pinned]
        rejected = [*rejected, *(id_ for id_ in saved_choice.rejected if id_ not in pinned)]
        if saved_choice.missing:
            _note(f"choice {saved_choice.name!r}: {_missing(saved_choice.missing)}")
    return Chosen(tuple(dict.fromkeys(pinned)), tuple(dict.fromkeys(rejected)))


def _missing(count: int) -> str:
    return f"{_photographs(count)} of it {'is' if count == 1 else 'are'} not in the library any more"


def save(library: Library, name: str, results: Results, reject: Sequence[int], query: dict[str, Any]) -> None:
    """Save results as a choice, and print its name."""
    saved_choice = library.choices.put(name, [photo.id for photo in results.photos], reject, query)
    _note(f"choice {saved_choice.name!r}: {_photographs(len(saved_choice.photos))} saved")


def query_of(
    text: str | None, k: int, spread: list[str] | None, focus: list[str] | None, limit: list[str] | None,
    share: list[str] | None, strength: float | None, like: int | None, where: str | None, flags: Sequence[str],
    values: Sequence[Any],
) -> dict[str, Any]:  # fmt: skip
    """Return the search as a request of `/api/search`, from which the page can continue."""
    wishes: list[dict[str, Any]] = []
    for direction, texts in (("spread", spread), ("focus", focus)):
        for name, near, weight in map(words.split, texts or ()):
            wish = {"name": name, "direction": direction, "near": near, "weight": weight}
            wishes.append({key: value for key, value in wish.items() if value is not None})
    wishes += [dict(zip(("limit", "n"), words.split_limit(typed), strict=True)) for typed in limit or ()]
    wishes += [dict(zip(("share", "shares"), words.split_share(typed), strict=True)) for typed in share or ()]
    literals = iter(values)
    conditions = [re.sub(r"\?", lambda _: _literal(next(literals)), flag) for flag in flags]
    conditions = conditions if where is None else [where, *conditions]
    condition = conditions[0] if len(conditions) == 1 else " AND ".join(f"({part})" for part in conditions)
    query = {"text": text, "like": like, "wishes": wishes, "k": k, "where": condition or None, "strength": strength}
    return {name: value for name, value in query.items() if value is not None}


def _literal(value: Any) -> str:
    """Return a value as an SQL literal."""
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def choices(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of them; without, all are listed.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it; the photographs stay.")] = False,
    copy_to: CopyTo = None,
    zip: Zip = None,
    album: Album = None,
    format: Annotated[ChoiceFormat | None, typer.Option(help="Table on a terminal, JSON in a pipe.")] = None,
    library: Annotated[
        list[Path] | None, typer.Option("--library", metavar="PATH", help="The folder that was indexed.")
    ] = None,
) -> None:
    """List the saved choices, or show one, take its photographs away, or delete it.

    \b
    mascot search boats --save-choice "boats for the wall"
    mascot choices
    mascot choices "boats for the wall" --copy-to prints
    """
    from mascot.photos.library import Library

    target = TakeAway(copy_to, zip, album)
    target.check()
    shape = format or (ChoiceFormat.table if sys.stdout.isatty() else ChoiceFormat.json)
    with Library.open(options.single_library(library)) as opened:
        if name is None:
            wrong = [*target.names(), *(["--delete"] if delete else [])]
            if wrong:
                raise mc.OptionError(f"{', '.join(wrong)}: needs the NAME of a choice")
            _list(opened.choices.all(), shape)
            return
        if delete:
            opened.choices.delete(name)
            return
        choice = opened.choices.get(name)
        if choice.missing:
            _note(_missing(choice.missing))
        _show(opened, choice, shape)
        if target.names():
            from mascot.photos.album import AlbumSection

            photos = opened.store.photos(choice.photos)
            target.take(opened, photos, AlbumSection(photos, choice.name))


def _list(all_choices: Sequence[Choice], shape: ChoiceFormat) -> None:
    if shape is ChoiceFormat.table:
        grid = printing.new_grid()
        printing.add_columns(grid, ["photographs", "rejected"], justify="right")
        printing.add_columns(grid, ["choice", "search"], overflow="fold")
        for choice in all_choices:
            text = str((choice.query or {}).get("text") or "")
            grid.add_row(str(len(choice.photos)), str(len(choice.rejected)), printing.visible(choice.name), text)
        printing.show(grid if all_choices else "no choices yet: `mascot search ... --save-choice NAME` saves one")
        return
    if shape is ChoiceFormat.paths:
        raise mc.OptionError("--format paths: needs the NAME of a choice")
    for choice in all_choices:
        printing.show_json(_record(choice))


def _show(library: Library, choice: Choice, shape: ChoiceFormat) -> None:
    if shape is ChoiceFormat.json:
        printing.show_json(_record(choice))
        return
    photos = library.store.photos(choice.photos)
    if shape is ChoiceFormat.paths:
        sys.stdout.writelines(f"{library.root / photo.path}\n" for photo in photos)
        return
    from mascot.photos.album import place_of, time_of

    grid = printing.new_grid()
    printing.add_columns(grid, ["id"], justify="right")
    printing.add_columns(grid, ["photograph", "place", "taken"], overflow="fold")
    for photo in photos:
        grid.add_row(str(photo.id), printing.visible(photo.path), place_of(photo), time_of(photo))
    printing.show(grid)


def _record(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name, "photos": list(choice.photos), "rejected": list(choice.rejected), "query": choice.query,
        "missing": choice.missing,
    }  # fmt: skip
