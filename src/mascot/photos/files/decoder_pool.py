"""Decode pictures in worker processes. A file that crashes or stalls a decoder is skipped, and the run continues.

A worker reads requests from standard input, a JSON object per line, and writes messages to standard output: the length
of a JSON object in four bytes, the object, then the parts whose lengths the object lists. Pickle is not used, so a
picture that takes over a decoder cannot run code in the process that reads the answer.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

import numpy as np
from PIL import Image

import mascot
from mascot.errors import MascotError
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.images import Unreadable, open_image, upright
from mascot.photos.files.reading import SIDE, Reading, read
from mascot.photos.metadata.metadata import Metadata, metadata_of
from mascot.photos.metadata.sidecars import Sidecars, read_sidecars

T = TypeVar("T")

# Isolated mode: neither the current folder nor the environment can add modules.
_COMMAND = (
    "-I",
    "-c",
    "import sys; sys.path[:] = sys.argv[1:]; from mascot.photos.files.decoder_pool import main; main()",
)
# Address space that threads reserve would count as memory of the worker.
_THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
_CHUNK = 1 << 20  # bytes hashed at a time
_QUALITY = 90  # of a JPEG made for a browser


class BrokenDecoder(Unreadable):
    """A file that exceeded a limit or crashed its decoder: it will do so again until it changes."""


class DecoderPool(AbstractContextManager["DecoderPool"]):
    """Worker processes, each started when it is first needed. Safe to use from several threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.closed = limits, False
        self._idle: list[_Decoder] = []
        self._workers: set[_Decoder] = set()
        self._lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers at once; reads in progress raise `MascotError`."""
        with self._lock:
            self.closed = True
            workers, self._workers, self._idle = list(self._workers), set(), []
        for worker in workers:
            worker.kill()

    def read(
        self, path: Path, is_wanted: Callable[[str], bool] = lambda digest: True, sidecars: Sequence[Path] = ()
    ) -> Reading | None:
        """Hash a file, and decode it with its sidecars; return None unless `is_wanted(hash)`. Raises `Unreadable`."""

        def exchange(worker: _Decoder, request: dict[str, Any]) -> Reading | None:
            if is_wanted(worker.ask(request).header["hash"]):
                return worker.ask({"decode": True}).reading()
            worker.tell({"decode": False})
            return None

        return self._exchange({"task": "read", "path": os.fspath(path)}, sidecars, exchange)

    def look(self, path: Path, decode: bool = False, sidecars: Sequence[Path] = ()) -> Metadata:
        """Read a file's metadata; with `decode`, also check that its pixels can be decoded. Raises `Unreadable`."""
        request = {"task": "look", "path": os.fspath(path), "decode": decode}
        return self._exchange(request, sidecars, lambda worker, request: worker.ask(request).metadata())

    def _exchange(
        self, request: dict[str, Any], sidecars: Sequence[Path], exchange: Callable[[_Decoder, dict[str, Any]], T]
    ) -> T:
        """Lend a worker; if the sidecars break the decoder, try again without them and report the problem."""
        try:
            with self._worker() as worker:
                return exchange(worker, request | {"sidecars": [*map(os.fspath, sidecars)], "problems": []})
        except BrokenDecoder as error:
            if not sidecars:
                raise
            with self._worker() as worker:
                return exchange(worker, request | {"sidecars": [], "problems": [f"sidecar: {error}"]})

    def is_dated(self, path: Path) -> bool:
        """Return whether the file itself, not only its name, has the time at which the photograph was taken."""
        try:
            return self.look(path).taken is not None
        except Unreadable:
            return False

    def convert(self, path: Path, side: int, max_megapixels: float) -> bytes:
        """Return a picture as JPEG, its longest side at most `side` pixels. Raises `Unreadable`."""
        request = {"task": "convert", "path": os.fspath(path), "side": side, "max_megapixels": max_megapixels}
        with self._worker() as worker:
            return worker.ask(request).parts[0]

    @contextmanager
    def _worker(self) -> Iterator[_Decoder]:
        """Lend a worker. It is reused unless it has ended or the exchange was interrupted."""
        with self._lock:
            if self.closed:
                raise MascotError("decoding was stopped")
            while self._idle and not self._idle[-1].is_alive:
                self._workers.discard(self._idle.pop())
            worker = self._idle.pop() if self._idle else _Decoder(self)
            self._workers.add(worker)
        try:
            worker.start()
            yield worker
        except BaseException as error:
            if not isinstance(error, Unreadable):
                worker.kill()
            raise
        finally:
            with self._lock:
                if worker.is_alive and not self.closed:
                    self._idle.append(worker)
                else:
                    self._workers.discard(worker)


@dataclass(frozen=True, slots=True)
class _DecoderAnswer:
    header: dict[str, Any]
    parts: list[bytes]

    def reading(self) -> Reading:
        thumbnail, look, pixels = self.parts
        image = Image.frombytes("RGB", tuple(self.header["size"]), pixels)
        return Reading(self.metadata(), image, thumbnail, np.frombuffer(look, np.float32), self.header["quality"])

    def metadata(self) -> Metadata:
        values = dict(self.header["metadata"])
        for name in ("taken", "taken_utc"):
            values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
        for name in ("keywords", "problems"):
            values[name] = tuple(values[name])
        return Metadata(**values)


class _Decoder:
    def __init__(self, pool: DecoderPool) -> None:
        self._pool, self._is_ready = pool, False
        paths = [os.path.dirname(mascot.__path__[0]), *filter(None, sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, *_COMMAND, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _THREADS,
        )

    def start(self) -> None:
        """Wait until the process is ready."""
        try:
            if not self._is_ready:
                self.ask(asdict(self._pool.limits))
        except Unreadable:
            raise MascotError(
                f"the process that decodes pictures did not start (status {self._process.returncode}): "
                f"{sys.executable} must be able to import mascot"
            ) from None
        self._is_ready = True

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def tell(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # reported when the answer is read
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def ask(self, request: dict[str, Any]) -> _DecoderAnswer:
        """Send a request and wait for the answer. Raises `Unreadable` with the reason if there is none."""
        self.tell(request)
        try:
            header = json.loads(self._receive(int.from_bytes(self._receive(4), "big")))
            parts = [self._receive(length) for length in header["parts"]]
        except EOFError:
            raise self._end() from None
        if "unreadable" in header:
            raise Unreadable(header["unreadable"])
        if "out_of_memory" in header:
            raise BrokenDecoder(
                f"needs more than {self._pool.limits.max_memory_mb:g} megabytes of memory to decode (--max-memory-mb)"
            )
        return _DecoderAnswer(header, parts)

    def _receive(self, length: int) -> bytes:
        assert self._process.stdout is not None
        content = self._process.stdout.read(length)
        if len(content) < length:
            raise EOFError
        return content

    def _end(self) -> MascotError:
        """Return the reason why the process ended."""
        status = self._process.wait()
        if self._pool.closed:
            return MascotError("decoding was stopped")
        name = f"status {status}"
        with suppress(ValueError):
            name = signal.Signals(-status).name
        if name == "SIGPROF":
            return BrokenDecoder(f"takes more than {self._pool.limits.max_seconds:g} seconds to decode (--max-seconds)")
        if name == "SIGKILL":  # no limit does this, so the file may succeed next time
            return Unreadable("its decoder was killed, perhaps for lack of memory")
        return BrokenDecoder(f"crashes its decoder ({name})")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


# In the worker


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is left to the process that started this one
    limits = Limits(**json.loads(requests.readline()))
    _limit_memory(limits.max_memory_mb)
    _send(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        try:
            with open(request["path"], "rb") as file:
                if request["task"] == "read":
                    _send(answers, {"hash": _digest(file, limits)})
                    if not json.loads(requests.readline())["decode"]:
                        continue
                with _time_limit(limits.max_seconds):
                    header, *parts = _TASKS[request["task"]](file, limits, request)
            _send(answers, header, *parts)
        except Unreadable as error:
            _send(answers, {"unreadable": str(error)})
        except OSError as error:
            _send(answers, {"unreadable": f"cannot be read: {error.strerror or error}"})
        except MemoryError:
            _send(answers, {"out_of_memory": True})


def _digest(file: BinaryIO, limits: Limits) -> str:
    digest, size = hashlib.blake2b(digest_size=16), 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
        if size > limits.max_megabytes * 1e6:  # it has grown since its size was read
            raise Unreadable(f"more than the {limits.max_megabytes:g} megabytes allowed (--max-megabytes)")
    file.seek(0)
    return digest.hexdigest()


def _read(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> tuple[Any, ...]:
    """Return everything that the library stores."""
    reading = read(file, limits.max_megapixels, _sidecars(request))
    header = {"metadata": asdict(reading.metadata), "size": reading.image.size, "quality": reading.quality}
    return header, reading.thumbnail, reading.look.tobytes(), reading.image.tobytes()


def _look(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> tuple[Any, ...]:
    """Return the metadata of a picture; its pixels are decoded only to check that they can be."""
    with open_image(file, limits.max_megapixels) as image:
        metadata = metadata_of(image, _sidecars(request))
        if request["decode"]:
            upright(image, SIDE)
    return ({"metadata": asdict(metadata)},)


def _sidecars(request: dict[str, Any]) -> Sidecars:
    sidecars = read_sidecars(request["sidecars"])
    return replace(sidecars, problems=(*sidecars.problems, *request["problems"]))


def _convert(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> tuple[Any, ...]:
    content = io.BytesIO()
    with open_image(file, request["max_megapixels"]) as image:
        upright(image, request["side"]).save(content, "JPEG", quality=_QUALITY)
    return {}, content.getvalue()


_TASKS = {"read": _read, "look": _look, "convert": _convert}


def _send(answers: IO[bytes], header: dict[str, Any], *parts: bytes) -> None:
    lengths = {"parts": [len(part) for part in parts]}
    content = json.dumps(header | lengths, default=datetime.isoformat).encode()
    answers.writelines([len(content).to_bytes(4, "big"), content, *parts])
    answers.flush()


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """End this process if the block takes more CPU time. Waiting for a busy machine or a slow disk does not count."""
    timer = getattr(signal, "setitimer", None)
    if timer is None:  # Windows
        yield
        return
    timer(signal.ITIMER_PROF, seconds)  # the default action of its signal ends the process
    try:
        yield
    finally:
        timer(signal.ITIMER_PROF, 0)


def _limit_memory(megabytes: float) -> None:
    """Let allocations beyond this many further megabytes fail, if the system supports it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash writes no memory image
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + int(megabytes * 1e6)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def main() -> None:
    """Serve standard input and output; libraries that print write to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        _serve(sys.stdin.buffer, answers)
