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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any, BinaryIO

from mascot.photos.images import Unreadable, open_image, upright
from mascot.photos.limits import Limits
from mascot.photos.metadata import Metadata, metadata_of
from mascot.photos.reading import SIDE, read
from mascot.photos.sidecars import Sidecars, read_sidecars

_CHUNK = 1 << 20  # bytes hashed at a time
_QUALITY = 90  # of a JPEG made for a browser


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
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
    header = {"metadata": _values(reading.metadata), "size": reading.image.size}
    return header, reading.thumbnail, reading.look.tobytes(), reading.image.tobytes()


def _look(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> tuple[Any, ...]:
    """Return the metadata of a picture; its pixels are decoded only to check that they can be."""
    with open_image(file, limits.max_megapixels) as image:
        metadata = metadata_of(image, _sidecars(request))
        if request["decode"]:
            upright(image, SIDE)
    return ({"metadata": _values(metadata)},)


def _sidecars(request: dict[str, Any]) -> Sidecars:
    sidecars = read_sidecars(request["sidecars"])
    return replace(sidecars, problems=(*sidecars.problems, *request["problems"]))


def _convert(file: BinaryIO, limits: Limits, request: dict[str, Any]) -> tuple[Any, ...]:
    """Return a picture as JPEG."""
    content = io.BytesIO()
    with open_image(file, request["max_megapixels"]) as image:
        upright(image, request["side"]).save(content, "JPEG", quality=_QUALITY)
    return {}, content.getvalue()


_TASKS = {"read": _read, "look": _look, "convert": _convert}


def _values(metadata: Metadata) -> dict[str, Any]:
    values = asdict(metadata)
    for name in ("taken", "taken_utc"):
        values[name] = None if values[name] is None else values[name].isoformat()
    return values


def _send(answers: IO[bytes], header: dict[str, Any], *parts: bytes) -> None:
    content = json.dumps({**header, "parts": [len(part) for part in parts]}).encode()
    answers.write(len(content).to_bytes(4, "big") + content)
    for part in parts:
        answers.write(part)
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
    """Let allocations of more than so many further megabytes fail, if the system supports it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash writes no memory image
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + int(megabytes * 1e6)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def main() -> None:
    """Serve standard input and output; the output of libraries goes to standard error, apart from the answers."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, answers)
