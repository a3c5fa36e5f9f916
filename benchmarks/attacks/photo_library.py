"""Attacks on a photo library: hostile files, damage, full disks and kills."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image

from benchmarks import hostile
from benchmarks.attacks.frame import Arena, NotHere, Trial, attack, mutated
from mascot.errors import MascotError
from mascot.photos import Library
from mascot.photos.encoders.encoder import Picture
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.sharing.overview import overview

_PHOTOS = 40
_WAIT_S = 300  # for a child that should end by itself
_CALLS = ("pwrite64", "write", "fdatasync", "fsync", "rename", "ftruncate", "unlink", "openat", "mkdir", "fcntl")


class WordEncoder:
    """An encoder that costs nothing: a text is the set of its words."""

    notice = None
    tokens = 1

    def __init__(self, dim: int = 256) -> None:
        self.name, self.fingerprint, self.dim = "words", f"words-{dim}", dim

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows [n, dim]."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        rows[:, 0] = 1e-3
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                row[zlib.crc32(word.encode()) % self.dim] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """Unit rows [n, 1, dim]."""
        return self.texts([picture.words for picture in pictures])[:, None]


@attack(
    "the run ends by itself, every good photograph is indexed, every bad file has its reason",
    rounds=1,
    short=1,
    limit_s=60,
)
def hostile_files(arena: Arena) -> Iterator[Trial]:
    root = copied(arena.photos, arena.folder / "hostile")
    for name, make in hostile.FILES.items():
        (root / name).write_bytes(make())
    hostile.sparse_tiff(root / "sparse.tif")
    done = _index(root, max_seconds=2.0, max_memory_mb=400.0)
    ended = done.returncode == 0
    with Library(root) as library:
        rows = {row[0] for row in library.store.connection.execute("SELECT path FROM photos")}
        reasons = dict(library.store.connection.execute("SELECT path, reason FROM skipped").fetchall())
    good = {path.name for path in arena.photos.iterdir()}
    yield Trial("the others", ended and good <= rows, _last_line(done))
    for name in (*hostile.FILES, "sparse.tif"):
        yield Trial(name, ended and (name in rows or str(root / name) in reasons), _last_line(done))


@attack("a picture, or one reason why there is none; the decoder goes on", rounds=2000, short=40, limit_s=30)
def mutated_pictures(arena: Arena) -> Iterator[Trial]:
    originals = [path.read_bytes() for path in sorted(arena.photos.iterdir())]
    originals += [_picture("PNG"), _picture("WEBP"), _picture("TIFF"), _picture("HEIF")]
    path = arena.folder / "mutated.jpg"
    with DecoderPool(Limits(max_seconds=5, max_memory_mb=400)) as decoders:
        for _ in range(arena.rounds):
            path.write_bytes(mutated(arena.chance.choice(originals), arena.chance))
            try:
                decoders.read(path)
            except Unreadable:
                pass
            except Exception as error:
                yield Trial("picture", False, repr(error))
                continue
            yield Trial("picture", True)


@attack(
    "one line that names the damage, or an answer; after `mascot index --again` all is there",
    rounds=60,
    short=4,
    limit_s=60,
)
def damaged_database(arena: Arena) -> Iterator[Trial]:
    for _ in range(arena.rounds):
        root = copied(arena.indexed, arena.folder / "damaged")
        for path in root.glob(".mascot/nearest-*"):
            path.unlink()
        damage(root / ".mascot" / "library.sqlite", arena.chance, arena.chance.choice([1, 20, 4096]))
        yield compared("library.sqlite", partial(_is_made_again, root))


@attack(
    "one line that names the disk, never a signal; with space again the index is complete",
    rounds=9,
    short=2,
    limit_s=60,
)
def full_disk(arena: Arena) -> Iterator[Trial]:
    truth = _content(arena.indexed)
    for number in range(arena.rounds):
        with small_disk(arena.folder / "disk", 8) as disk:
            root = copied(arena.photos, disk / "photos")
            ballast = disk / "ballast"
            free = shutil.disk_usage(disk).free
            ballast.write_bytes(b"\0" * max(free - int(2_000_000 * (number + 0.5) / arena.rounds), 0))
            full = _index(root)
            clear = full.returncode == 0 or (full.returncode == 1 and f"Its disk is {disk}" in full.stderr)
            left = list(root.glob(".mascot/building-*"))
            ballast.unlink()
            again = _index(root)
            survived = clear and not left and again.returncode == 0 and _content(root) == truth
            yield Trial("disk", survived, f"status {full.returncode}, {_last_line(full)}")


@attack("the next run completes an index equal to one that was never interrupted", rounds=20, short=2, limit_s=90)
def kills_at_random(arena: Arena) -> Iterator[Trial]:
    truth = _content(arena.indexed)
    started = time.monotonic()
    _index(copied(arena.photos, arena.folder / "timed"))
    whole_s = time.monotonic() - started
    for _ in range(arena.rounds):
        root = copied(arena.photos, arena.folder / "killed")
        process = _start(root)
        time.sleep(arena.chance.uniform(0, whole_s))
        process.kill()
        process.communicate()
        yield compared("kill", partial(_is_completed, root, truth))


@attack("the next run completes an index equal to one that was never interrupted", rounds=30, short=2, limit_s=120)
def kills_at_system_calls(arena: Arena) -> Iterator[Trial]:
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True).returncode:
        raise NotHere("strace is not installed or not allowed")
    truth = _content(arena.indexed)
    for number in range(arena.rounds):
        call = _CALLS[number % len(_CALLS)]
        when = arena.chance.randrange(1, 120)
        root = copied(arena.photos, arena.folder / "traced")
        inject = [
            strace,
            "-qq",
            "-o",
            os.devnull,
            "-e",
            f"trace={call}",
            "-e",
            f"inject={call}:signal=KILL:when={when}",
        ]
        _index(root, before=inject)
        yield compared(call, partial(_is_completed, root, truth))


@attack("the run ends within seconds and leaves no decoder", rounds=3, short=1, limit_s=45)
def interrupts(arena: Arena) -> Iterator[Trial]:
    if not Path("/proc/self/task").is_dir():
        raise NotHere("processes are looked up in /proc")
    for _ in range(arena.rounds):
        root = arena.folder / "interrupted"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        (root / "scans.jpg").write_bytes(hostile.many_scans())
        process = _start(root)
        decoders = _busy_children(process.pid)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
        seconds = time.monotonic() - started
        left = [pid for pid in decoders if Path(f"/proc/{pid}").is_dir()]
        yield Trial(
            "Ctrl-C", bool(decoders) and seconds < 30 and not left, f"{seconds:.1f} s, {len(left)} decoders left"
        )


def copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def compared(what: str, holds: Callable[[], bool]) -> Trial:
    try:
        return Trial(what, holds(), "the library differs")
    except Exception as error:
        return Trial(what, False, repr(error)[:300])


def _picture(kind: str) -> bytes:
    content = io.BytesIO()
    Image.effect_noise((96, 64), 50).convert("RGB").save(content, kind)
    return content.getvalue()


def prepare(folder: Path) -> None:
    """Write the folders `photos` and `indexed` of every arena."""
    photos = folder / "photos"
    photos.mkdir(parents=True)
    for number in range(_PHOTOS):
        exif = Image.Exif()
        exif[ExifTags.Base.ImageDescription] = f"photograph number {number} of a harbour"
        exif[ExifTags.Base.Model] = "X100"
        exposure = exif.get_ifd(ExifTags.IFD.Exif)
        exposure[ExifTags.Base.DateTimeOriginal] = f"2019:07:{number % 28 + 1:02d} 10:00:00"
        colour = (number * 6 % 256, number * 11 % 256, 120)
        Image.new("RGB", (64, 48), colour).save(photos / f"{number:03d}.jpg", exif=exif)
    _index(copied(photos, folder / "indexed"))


def damage(path: Path, chance: random.Random, count: int = 1) -> None:
    """Flip bits, or overwrite a stretch of bytes, or cut the file."""
    content = bytearray(path.read_bytes())
    first = chance.randrange(len(content))
    if count > 1000:
        first -= first % 4096
        content[first : first + count] = chance.randbytes(len(content[first : first + count]))
    elif chance.random() < 0.1:
        del content[first:]
    else:
        for _ in range(count):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def opened(root: Path) -> Library:
    return Library(root)


def _is_made_again(root: Path) -> bool:
    actions: tuple[Callable[[Library], object], ...] = (
        lambda library: library.search("harbour", encoder=WordEncoder()),
        lambda library: library.hits(where="camera = 'X100'"),
        lambda library: overview(library.root, library.folder, library.store),
        lambda library: library.index(WordEncoder()),
    )
    for action in actions:
        with Library(root) as library:
            try:
                action(library)
            except MascotError as error:
                if "\n" in str(error):
                    return False
    with Library(root) as library:
        library.index(WordEncoder(), again=True)
        results = library.search("harbour", encoder=WordEncoder())
        library.check()
        return library.store.count() == _PHOTOS and len(results) == 24


def _is_completed(root: Path, truth: dict[str, tuple[object, ...]]) -> bool:
    """Whether one more run makes an index equal to that of an uninterrupted one."""
    return _index(root).returncode == 0 and _content(root) == truth


def _content(root: Path) -> dict[str, tuple[object, ...]]:
    """Every row of a library by path, without ids; and its index answers."""
    query = (
        "SELECT path, hash, taken, caption, moment, thumbnail, look, stamp, vector FROM photos "
        "LEFT JOIN pixels ON pixels.photo = id LEFT JOIN vectors ON vectors.photo = id"
    )
    with Library(root) as library:
        rows = {row["path"]: tuple(row) for row in library.store.connection.execute(query)}
        hits = library.hits("a harbour", candidates=5, encoder=WordEncoder())
        return {**rows, "": tuple(sorted(hits.scores.tolist()))}


_SCRIPT = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
from benchmarks.attacks.photo_library import WordEncoder
from mascot.errors import MascotError
from mascot.photos import Library
try:
    with Library(sys.argv[1]) as library:
        library.index(WordEncoder(), **json.loads(sys.argv[2]))
except MascotError as error:
    sys.exit(str(error))
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


def _start(root: Path, before: Sequence[str] = (), **options: float) -> subprocess.Popen[str]:
    """Index a folder in a process of its own."""
    paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    environment = os.environ | {"XDG_STATE_HOME": str(root.parent), "PYTHONPATH": os.pathsep.join(paths)}
    command = [*before, sys.executable, "-c", _SCRIPT, str(root), json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _index(root: Path, before: Sequence[str] = (), **options: float) -> subprocess.CompletedProcess[str]:
    process = _start(root, before, **options)
    try:
        output, errors = process.communicate(timeout=_WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][-300:]


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many megabytes; needs the right to mount."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        raise NotHere("only root can mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _busy_children(pid: int) -> list[int]:
    """The children of a process, once one of them has computed for more than a second."""
    for _ in range(1200):
        children: list[int] = []
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                children += map(int, task.read_text("ascii").split())
            except OSError:
                continue
        if any(_cpu_s(child) > 1.5 for child in children):
            return children
        time.sleep(0.1)
    return []


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
