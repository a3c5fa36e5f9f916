"""The plan of a run: its memory does not grow with the files, and it decides as the library does."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.photos.limits import Limits
from mascot.photos.photo import Photo
from mascot.photos.walk import PictureFile
from mascot.scale import run as module
from mascot.scale.run import EngineSpace, Run, RunOptions
from mascot.scale.stages import Order, Row, Seen, digest

MOST_BYTES = 200  # for each file
START = datetime(2019, 7, 14, 18, 5)


def photo_of(seen: Seen) -> Photo:
    """A photograph that no other has the header of, but for every tenth."""
    number = int(seen.path.rpartition("/")[2].removesuffix(".jpg"))
    number -= number % 10 == 1
    return Photo(
        0, seen.path, seen.path.rpartition("/")[0], seen.size, seen.mtime_ns, "", 4000, 3000, 38.7, -9.1 + number / 999,
        None, START + timedelta(minutes=number), 60, f"camera {number % 7}", None, None, "a caption", ("sea", "boat"),
        None, "Lisbon", "PT", "summer", "evening", None, (),
    )  # fmt: skip


class Runner:
    """Makes up what workers would read."""

    def each(self, stage: Callable[[Sequence[Seen]], list[Any]], files: Iterable[Seen]) -> Iterator[Any]:
        if stage.func is digest:  # type: ignore[attr-defined]
            return ((seen.path, f"{int(seen.path[-8:-4]) // 10:032}") for seen in files)
        return map(photo_of, files)

    def encode(self, orders: Iterable[Order], *_: Any) -> Iterator[Row]:
        return (Row(order.photo, order.stamp, np.zeros((1, 4), np.float32)) for order in orders)


class Nowhere:
    """A sink that forgets."""

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: Any) -> None: ...

    def states(self) -> Iterator[Any]:
        return iter(())

    def remove(self, paths: Sequence[str]) -> None: ...

    def set_facts(self, facts: Mapping[str, str]) -> None: ...

    def facts(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


def peak(count: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that a run over so many files holds at most."""
    files = (PictureFile(root / f"2019/trip {at % 50}/{at:08}.jpg", 1_000_000, at) for at in range(count))
    monkeypatch.setattr(module, "walk", lambda *_, **__: files)
    options = RunOptions(False, False, False, Limits())
    run = Run(root, Nowhere(), Runner(), EngineSpace("lite", "print", "1", "cpu"), options, lambda *_: None)
    tracemalloc.start()
    try:
        summary = run.run()
        assert (summary.photos, summary.new, summary.unchanged) == (count, count, 0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peak(8_000, tmp_path, monkeypatch)  # Python's table of interned names grows once
    few, many = (peak(count, tmp_path, monkeypatch) for count in (3_000, 8_000))
    assert (many - few) / 5_000 < MOST_BYTES
