"""Attacks on what is saved: links in an index, edited files, and albums and exports in bad places."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image

import mascot as mc
from benchmarks.attacks.frame import Arena, NotHere, Trial, attack
from benchmarks.attacks.photo_library import WordEncoder, copied, damage, opened, small_disk
from mascot.errors import InputError, MascotError
from mascot.photos import Library
from mascot.photos.sharing.album import section_of, write_album
from mascot.photos.sharing.export import copy_originals, originals, write_zip

_HOSTILE = "</style><script>document.title='owned'</script><img src=x onerror=document.title='owned'>\"'\u202e"
_BACKENDS: tuple[Any, ...] = ("native", "numpy")
_EDITS = (-1, 0, 1, 2, 59, 1 << 31, 1 << 40, (1 << 63) - 1, np.nan, np.inf, -1e308, 5e-324, 181.0)


_USES: tuple[Callable[[Library], object], ...] = (
    lambda library: library.index(WordEncoder()),
    lambda library: library.store,
    lambda library: library.choices,
)


@attack("refused with one line, and nothing is written through the link", rounds=60, short=8, limit_s=20)
def links_in_the_index(arena: Arena) -> Iterator[Trial]:
    original = copied(arena.indexed, arena.folder / "linked")
    names = ["", *sorted(str(path.relative_to(original / ".mascot")) for path in (original / ".mascot").rglob("*"))]
    for name in arena.chance.sample(names, min(arena.rounds, len(names))):
        root, target = copied(original, arena.folder / "library"), arena.folder / "target"
        link = root / ".mascot" / name
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        link.rename(target)
        link.symlink_to(target)
        before = _state(target)
        refusals = 0
        for use in _USES:
            with suppress(InputError), Library(root) as library:
                use(library)
                continue
            refusals += 1
        yield Trial(name or ".mascot", refusals == 3 and _state(target) == before, f"{refusals} of 3 refused")


def _state(path: Path) -> dict[str, bytes]:
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


@attack("one line that names the damage, or an answer; the kernel goes on", rounds=3000, short=60, limit_s=45)
def edited_rerankers(arena: Arena) -> Iterator[Trial]:
    path, chance = arena.folder / "reranker.npz", arena.chance
    _reranker().save(path)
    content = path.read_bytes()
    with np.load(path) as file:
        arrays = dict(file)
    for number in range(arena.rounds):
        name = chance.choice([*arrays, "document"])
        if number % 3:
            with np.errstate(all="ignore"):
                np.savez(path, **arrays | {name: _edited(arrays[name], chance)})
        else:
            path.write_bytes(content)
            damage(path, chance, chance.choice([1, 20, 4096]))
        try:
            loaded = mc.Reranker.load(path)
            for backend in _BACKENDS:
                loaded.rerank(np.arange(40), np.linspace(1, 0, 40), 10, backend=backend)
        except MascotError as error:
            yield Trial(name, "\n" not in str(error) and len(str(error)) < 1000, str(error)[:200])
        except Exception as error:
            yield Trial(name, False, repr(error)[:200])
        else:
            yield Trial(name, True)


def _reranker() -> mc.Reranker:
    rng, n = np.random.default_rng(0), 60
    columns = {
        "label": rng.choice(list("abcd"), n), "x": rng.normal(size=n), "hour": rng.uniform(0, 24, n),
        "lat": rng.uniform(-90, 90, n), "lon": rng.uniform(-180, 180, n), "tags": [["a", "b"], ["c"]] * (n // 2),
    }  # fmt: skip
    wishes: list[Any] = [
        mc.spread("label"), mc.spread("tags"), mc.spread(mc.Number("x")), mc.spread(mc.Place()), mc.limit("label", 2),
        mc.spread(mc.Place.grid()), mc.spread(mc.HourOfDay("hour")), mc.spread(mc.Vectors()), mc.limit(mc.Vectors(), 1),
        mc.focus(mc.Number("x", name="near"), near=1.0), mc.spread(mc.Clusters(4)),
    ]  # fmt: skip
    return mc.Reranker(wishes).fit(columns, vectors=rng.normal(size=(n, 8)))


def _edited(array: Any, chance: random.Random) -> Any:
    """Return an array with another cell, length, type, order or shape; of the document, with other numbers."""
    if array.dtype == np.uint8:
        numbers = list(re.finditer(rb"\d+(\.\d+)?|null|true|\"\w+\"", array.tobytes()))
        part = chance.choice(numbers)
        value = chance.choice([*map(str, _EDITS), "null", '"x"', "[]", "{}", "true"]).replace("nan", "NaN")
        return np.frombuffer(part.string[: part.start()] + value.encode() + part.string[part.end() :], np.uint8)
    kind, edited = chance.randrange(5), array.copy()
    if kind == 0 and edited.size:
        number = np.array(chance.choice(_EDITS if array.dtype.kind == "f" else _EDITS[:8]))
        edited.reshape(-1)[chance.randrange(edited.size)] = number.astype(array.dtype)
        return edited
    changes: tuple[Callable[[], Any], ...] = (
        lambda: np.concatenate([array, array]),
        lambda: array[: chance.randrange(len(array) + 1)],
        lambda: array.astype(chance.choice(["f4", "f8", "i8", "i4", "u1", "S4", ">i8"])),
        lambda: array[::-1],
        lambda: array[None],
    )
    return changes[kind]()


@attack("one line that names the disk, and no half-written file; then all is there", rounds=6, short=2, limit_s=20)
def export_to_a_full_disk(arena: Arena) -> Iterator[Trial]:
    with opened(arena.indexed) as library:
        files, _ = originals(library.root, library.store.photos(library.store.ids().tolist()))
    size = sum(file.path.stat().st_size for file in files)
    for number in range(arena.rounds):
        with small_disk(arena.folder / "disk", 4) as disk:
            ballast, target = disk / "ballast", disk / "export"
            free = shutil.disk_usage(disk).free
            ballast.write_bytes(b"\0" * (free - size * (number + 1) // (2 * arena.rounds)))
            messages = []
            for write in (partial(copy_originals, files, target), partial(write_zip, files, disk / "export.zip")):
                try:
                    write()
                except MascotError as error:
                    messages.append(str(error))
            clear = bool(messages) and all(str(disk) in message and "\n" not in message for message in messages)
            left = [path.name for path in disk.rglob("*") if path.is_file() and path.suffix not in (".jpg", "")]
            ballast.unlink()
            copy_originals(files, target)
            sizes = sorted(path.stat().st_size for path in target.iterdir())
            whole = sizes == sorted(file.path.stat().st_size for file in files)
            yield Trial("disk", clear and not left and whole, f"{messages}, left {left}, whole {whole}")


@attack("the index lies on the other disk alone, and a full disk is named", rounds=3, short=1, limit_s=20)
def index_on_another_disk(arena: Arena) -> Iterator[Trial]:
    for number in range(arena.rounds):
        photos = copied(arena.photos, arena.folder / "photos")
        with small_disk(arena.folder / "disk", 8) as disk:
            ballast = disk / "ballast"
            ballast.write_bytes(b"\0" * (shutil.disk_usage(disk).free - 50_000 * (number + 1)))
            message = ""
            try:
                with Library(photos, index=disk / "index") as library:
                    library.index(WordEncoder())
            except MascotError as error:
                message = str(error)
            ballast.unlink()
            with Library(photos, index=disk / "index") as library:
                count = library.index(WordEncoder()).photos
                library.check()
                sound = count == len(list(photos.iterdir()))
            survived = str(disk) in message and "\n" not in message and sound and not (photos / ".mascot").exists()
            yield Trial("disk", survived, f"{count} photographs, {message}")


@attack("no script of a name or caption runs in the album", rounds=1, short=1, limit_s=30)
def hostile_albums(arena: Arena) -> Iterator[Trial]:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise NotHere("needs Chromium")
    root = arena.folder / "album"
    root.mkdir()
    exif = Image.Exif()
    for tag in (ExifTags.Base.ImageDescription, ExifTags.Base.Model, ExifTags.Base.Make):
        exif[tag] = _HOSTILE
    Image.new("RGB", (64, 48)).save(root / "--><img src=x onerror=document.title='owned'>.jpg", exif=exif)
    with Library(root) as library:
        library.index(WordEncoder())
        write_album(library.store, _HOSTILE, section_of(library.search(None), explain=True), arena.folder / "a.html")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={arena.folder / 'profile'}"]
    address = (arena.folder / "a.html").as_uri()
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, check=False, timeout=100)
    title = (re.findall("<title>(.*?)</title>", done.stdout, re.S) or [""])[0]
    survived = "<figure" in done.stdout and title != "owned" and "<script>document" not in done.stdout
    yield Trial("album", survived, f"title {title[:60]!r}, status {done.returncode}, {done.stderr[-200:]}")
