"""The process that decodes pictures, under limits of time and memory.

It reads requests from standard input, a JSON object per line, and writes messages to standard output: the length of a
JSON object in four bytes, the object, then the parts whose lengths the object lists. It does not use pickle, so a
picture that takes over a decoder cannot run code in the process that reads the answer.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, BinaryIO

from mascot.photos.images import Unreadable, open_image, upright
from mascot.photos.limits import Limits
from mascot.photos.metadata import Metadata, metadata_of
from mascot.photos.reading import SIDE, read
from mascot.photos.sidecars import read_sidecars

_CHUNK = 1 << 20  # bytes hashed at a time
_QUALITY = 90  # of a JPEG made for a browser


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the input ends."""
    _ignore_interrupts()
    limits = Limits(**json.loads(requests.readline()))
    _limit_memory(limits.max_memory_mb)
    _send(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        try:
            with open(request["path"], "rb") as file:
                if request["task"] == "look":
                    _send(answers, {"metadata": _look(file, limits, request)})
                elif request["task"] == "convert":
                    _send(answers, {}, (_convert(file, limits, request),))
                else:
                    _send(answers, {"hash": _digest(file, limits)})
                    if json.loads(requests.readline())["decode"]:
                        _decode(file, limits, request, answers)
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


def _decode(file: BinaryIO, limits: Limits, request: dict[str, Any], answers: IO[bytes]) -> None:
    with _time_limit(limits.max_seconds):
        reading = read(file, limits.max_megapixels, read_sidecars(request["sidecars"]))
    parts = (reading.thumbnail, reading.look.tobytes(), reading.image.tobytes())
    _send(answers, {"metadata": _values(reading.metadata), "size": reading.image.size}, parts)


def _look(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a picture; its pixels are decoded only to check that they can be."""
    with _time_limit(limits.max_seconds), open_image(file, limits.max_megapixels) as image:
        metadata = metadata_of(image, read_sidecars(request["sidecars"]))
        if request["decode"]:
            upright(image, SIDE)
    return _values(metadata)


def _convert(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> bytes:
    """Return a picture as JPEG."""
    content = io.BytesIO()
    with _time_limit(limits.max_seconds), open_image(file, request["max_megapixels"]) as image:
        upright(image, request["side"]).save(content, "JPEG", quality=_QUALITY)
    return content.getvalue()


def _values(metadata: Metadata) -> dict[str, Any]:
    values = asdict(metadata)
    for name in ("taken", "taken_utc"):
        values[name] = None if values[name] is None else values[name].isoformat()
    return values


def _send(answers: IO[bytes], header: dict[str, Any], parts: Sequence[bytes] = ()) -> None:
    content = json.dumps({**header, "parts": [len(part) for part in parts]}).encode()
    answers.write(len(content).to_bytes(4, "big") + content)
    for part in parts:
        answers.write(part)
    answers.flush()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
    """Let allocations of more than so many further megabytes fail, if the system supports it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash writes no memory image
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + int(megabytes * 1e6)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def main() -> None:
    """Serve standard input and output; the output of libraries goes to standard error, apart from the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)
