"""A sink over SQLite, encoders whose processes are known by their ids or die, and the processes of a Ray cluster."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bag_of_words import BagOfWords
from numpy.typing import NDArray

from mascot.photos.encoders.encoder import Picture


class SqliteSink:
    """A sink as `mascot.connect.source` has them, in one file."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("CREATE TABLE IF NOT EXISTS rows (path TEXT PRIMARY KEY, row TEXT, vector BLOB)")
        self._connection.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT)")
        self.writes = 0

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        assert vectors.dtype == np.float32
        assert vectors.shape[0] == len(rows)
        self.writes += 1
        self._connection.executemany(
            "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)",
            [(row["path"], json.dumps(row), vector.tobytes()) for row, vector in zip(rows, vectors, strict=True)],
        )

    def rows(self) -> dict[str, dict[str, Any]]:
        return {path: json.loads(row) for path, row in self._connection.execute("SELECT path, row FROM rows")}

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        rows = self._connection.execute("SELECT path, vector FROM rows")
        return {path: np.frombuffer(vector, np.float32) for path, vector in rows}

    def states(self) -> Iterator[tuple[str, tuple[int, int, str, str]]]:
        for path, row in self.rows().items():
            yield path, (row["size"], row["mtime_ns"], row["hash"], row["stamp"])

    def remove(self, paths: Sequence[str]) -> None:
        self._connection.executemany("DELETE FROM rows WHERE path = ?", [(path,) for path in paths])

    def set_facts(self, facts: Mapping[str, str]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))

    def facts(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM facts").fetchall())

    def close(self) -> None:
        self._connection.close()


class Reader(BagOfWords):
    """An encoder whose vectors contain the words of paths, as those of `lite` do."""

    uses_words = True


class Signing(Reader):
    """An encoder that leaves the id of each process that uses it in a folder, and takes its time."""

    def __init__(self, folder: Path, pause_s: float) -> None:
        super().__init__("signing", dim=64, pause_s=pause_s)
        self._folder = folder

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        (self._folder / str(os.getpid())).touch()
        return super().pictures(pictures)


class Failing(Reader):
    """An encoder that fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__(dim=64)
        self._error = error

    def pictures(self, pictures: Any) -> Any:
        raise self._error


DEADLY = (13, 7)  # pixels


class Mortal(Reader):
    """An encoder whose process dies at the sight of a picture of a certain size, as of a bad decoder or for memory."""

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        if any(picture.image.size == DEADLY for picture in pictures):
            os._exit(139)
        return super().pictures(pictures)


def gone(process: int, within_s: float = 120.0) -> bool:
    """Whether a process has ended; the one who started it may still have to be told."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


def busy_worker(task: str, within_s: float = 120.0) -> int:
    """The id of a worker of this process's own cluster that runs a task of this name."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                title = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::") and task.encode() in title and _is_ours(int(name)):
                return int(name)
    raise AssertionError(f"no worker ran {task}")


def _is_ours(process: int) -> bool:
    """Whether this process started it, or started what started it."""
    for _ in range(3):
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            return False
        if process == os.getpid():
            return True
    return False
