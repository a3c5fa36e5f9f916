"""A sink in memory, encoders that fail or whose processes die, and the processes of a Ray cluster."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mascot.cluster.ray_runner import ray_runner
from mascot.photos.encoders.encoder import Picture
from mascot.photos.files.decode_limits import Limits
from mascot.photos.indexing.engine_indexing import index_into
from mascot.photos.indexing.indexer import Summary
from tests.photos.bag_of_words import PathReader
from tests.photos.libraries import photos_in

COUNT = 14  # photographs of the folder
DEADLY = (13, 7)  # pixels
# Workers import what tests send them by name.
_ROOT = str(Path(__file__).parents[2])
PYTHONPATH = os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])


class MemorySink:
    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.vectors: dict[str, NDArray[np.float32]] = {}
        self.writes, self._facts = 0, dict[str, str]()

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        assert vectors.dtype == np.float32
        self.writes += 1
        for row, vector in zip(rows, vectors, strict=True):
            self.rows[row["path"]], self.vectors[row["path"]] = json.loads(json.dumps(row)), vector.ravel()

    def select(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for row in self.rows.values():
            yield tuple(row[name] for name in columns)

    def remove(self, keys: Sequence[str]) -> None:
        for path in keys:
            del self.rows[path], self.vectors[path]

    def set_facts(self, facts: Mapping[str, str]) -> None:
        self._facts |= facts

    def facts(self) -> dict[str, str]:
        return self._facts


def library_of(root: Path, state: Path, encoder: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return rows, vectors and summary of a new library of this folder."""
    from mascot.photos import Library

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with Library(root, index=state / "index") as library:
            summary = library.index(encoder)
            photos = {photo.id: photo for photo in photos_in(library)}
            vectors = library.store.vectors_of(encoder.fingerprint)
            arrays = {photos[id_].path: np.frombuffer(vector, np.float32) for id_, vector in vectors}
    shutil.rmtree(state / "index")
    return {photo.path: _columns(photo.to_row()) for photo in photos.values()}, arrays, summary


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "stamp")}


def assert_same(sink: MemorySink, root: Path, state: Path, encoder: Any) -> Any:
    """Compare with the rows of a library; return its summary."""
    rows, vectors, summary = library_of(root, state, encoder)
    assert {path: _columns(row) for path, row in sink.rows.items()} == rows
    assert all(np.array_equal(sink.vectors[path], vectors[path]) for path in rows)
    return summary


def index_on_ray(root: Path, sink: MemorySink, encoder: PathReader, workers: int | None = None) -> Summary:
    with ray_runner("local", Limits(), workers=workers) as runner:
        return index_into(root, sink, encoder, runner=runner)


class Failing(PathReader):
    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        if any("zz" in picture.words for picture in pictures):
            raise RuntimeError("CUDA out of memory\nand a page of advice")
        return super().pictures(pictures)


class Mortal(PathReader):
    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        if any(picture.image.size == DEADLY for picture in pictures):
            os._exit(139)
        return super().pictures(pictures)


def busy_worker(task: str, within_s: float = 120.0) -> int:
    """Return the id of a worker of this process's own cluster that runs a task of this name."""
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
    """Return whether this process started it, or started what started it."""
    for _ in range(3):
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if process == os.getpid():
            return True
    return False
