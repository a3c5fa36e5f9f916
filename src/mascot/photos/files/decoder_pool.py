"""Decode pictures in worker processes. A file that crashes or stalls a decoder is skipped, and the run continues.

A worker receives a function of this module and its arguments, and answers with the result or with an exception. Workers
are started directly, because `multiprocessing` would run the main script again in each of them.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import mascot
from mascot.errors import MascotError
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.images import Unreadable, open_image, upright
from mascot.photos.files.reading import Reading, read
from mascot.photos.metadata.sidecars import read_sidecars

# Isolated mode: neither the current folder nor the environment can add modules.
_COMMAND = (
    "-I",
    "-c",
    "import sys; sys.path[:] = sys.argv[1:]; from mascot.photos.files.decoder_pool import main; main()",
)
_THREADS = {"OMP_NUM_THREADS": "1"}  # address space that threads reserve would count as memory of the worker
_QUALITY = 90  # of a JPEG made for a browser


class BrokenDecoder(Unreadable):
    """A file that exceeded a limit or crashed its decoder: it will do so again until it changes."""


class DecoderPool(AbstractContextManager["DecoderPool"]):
    """Worker processes, each started when it is first needed. Safe to use from several threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.closed = limits, False
        self._idle: list[_Decoder] = []
        self._workers: set[_Decoder] = set()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers at once; calls in progress raise `MascotError`."""
        self.closed = True
        for worker in list(self._workers):
            worker.kill()
            worker.wait()

    def read(self, path: Path, sidecars: Sequence[Path] = ()) -> Reading:
        """Decode a file with its sidecars. Raises `Unreadable`."""
        return self._call(_read, path, sidecars)

    def convert(self, path: Path, side: int, max_megapixels: float) -> bytes:
        """Return a picture as JPEG, its longest side at most `side` pixels. Raises `Unreadable`."""
        return self._call(_convert, path, side, max_megapixels)

    def _call(self, task: Callable[..., Any], path: Path, *arguments: Any) -> Any:
        """Run a task in an idle worker or in a new one. A worker that answers is used again."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = None
        if worker is None or worker.poll() is not None:
            worker = _Decoder(self.limits)
            self._workers.add(worker)
        try:
            if self.closed:  # while this worker was started
                worker.kill()
            answer = worker.ask((task, path, arguments))
        except EOFError:
            status = worker.wait()
            self._workers.discard(worker)
            if self.closed:
                raise MascotError("decoding was stopped") from None
            if status == -getattr(signal, "SIGPROF", 0):
                limit = f"{self.limits.max_seconds:g} seconds"
                raise BrokenDecoder(f"takes more than {limit} to decode (--max-seconds)") from None
            if status == -getattr(signal, "SIGKILL", 0):  # no limit does this, so the file may succeed next time
                raise Unreadable("its decoder was killed, perhaps for lack of memory") from None
            raise BrokenDecoder("crashes its decoder") from None
        except BaseException:  # such as Ctrl-C: the answer would be taken for that of the next call
            worker.kill()
            raise
        self._idle.append(worker)
        if isinstance(answer, Unreadable):
            raise answer
        return answer


class _Decoder(subprocess.Popen[bytes]):
    def __init__(self, limits: Limits) -> None:
        paths = [os.path.dirname(mascot.__path__[0]), *filter(None, sys.path)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        super().__init__([sys.executable, *_COMMAND, *paths], env=os.environ | _THREADS, **pipes)
        try:
            self.ask(limits)
        except EOFError:
            raise MascotError(f"{sys.executable} cannot start a decoder of pictures (status {self.wait()})") from None

    def ask(self, message: Any) -> Any:
        """Send a message and return the answer. Raises `EOFError` if the process ends instead."""
        assert self.stdin is not None
        assert self.stdout is not None
        try:
            pickle.dump(message, self.stdin, pickle.HIGHEST_PROTOCOL)
            self.stdin.flush()
            return pickle.load(self.stdout)
        except (BrokenPipeError, pickle.UnpicklingError):
            raise EOFError from None


# In the worker


def main() -> None:
    """Answer the requests on standard input until it ends, with an error; what libraries print goes elsewhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is left to the process that started this one
    limits: Limits = pickle.load(sys.stdin.buffer)
    _limit_memory(limits.max_memory_mb)
    answer = pickle.dumps("ready")
    while True:
        answers.write(answer)
        answers.flush()
        answer = _answer(limits, *pickle.load(sys.stdin.buffer))


def _answer(limits: Limits, task: Callable[..., Any], path: Path, arguments: tuple[Any, ...]) -> bytes:
    """Return the result of a task, or the exception that says why there is none, as a pickle."""
    _end_after(limits.max_seconds)
    try:
        with open(path, "rb") as file:
            return pickle.dumps(task(file, limits, *arguments), pickle.HIGHEST_PROTOCOL)
    except Unreadable as error:
        reason = error
    except OSError as error:
        reason = Unreadable(f"cannot be read: {error.strerror or error}")
    except MemoryError:
        limit = f"{limits.max_memory_mb:g} megabytes"
        reason = BrokenDecoder(f"needs more than {limit} of memory to decode (--max-memory-mb)")
    finally:
        _end_after(0)
    return pickle.dumps(reason)


def _end_after(seconds: float) -> None:
    """End this process after so much CPU time; 0 cancels that. Waiting for a busy machine or a disk does not count."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, seconds)  # the default action of its signal ends the process


def _read(file: BinaryIO, limits: Limits, sidecars: Sequence[Path]) -> Reading:
    """Return everything that the library stores."""
    refusal = limits.refusal(os.fstat(file.fileno()).st_size)
    if refusal is not None:
        raise Unreadable(refusal)
    return read(file, limits.max_megapixels, read_sidecars(sidecars))


def _convert(file: BinaryIO, limits: Limits, side: int, max_megapixels: float) -> bytes:
    content = io.BytesIO()
    with open_image(file, max_megapixels) as image:
        upright(image, side).save(content, "JPEG", quality=_QUALITY)
    return content.getvalue()


def _limit_memory(megabytes: float) -> None:
    """Let allocations beyond this many further megabytes fail, if the system supports it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash writes no memory image
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + int(megabytes * 1e6)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
