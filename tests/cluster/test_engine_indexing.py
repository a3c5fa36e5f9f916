"""Indexing into an engine: the same rows as a library has."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from mascot.cli.photos import photo_commands
from mascot.errors import OptionError
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.walk import PictureFile
from mascot.photos.indexing import indexer, table_sink
from mascot.photos.indexing.engine_indexing import index_into
from mascot.photos.indexing.indexer import Indexer
from mascot.photos.indexing.stages import HEADERS, IndexRow, Order, Stage
from mascot.photos.indexing.table_sink import TableSink
from mascot.photos.photo import Photo
from mascot.photos.sample import write_sample
from tests.cluster.engines_of_tests import COUNT, MemorySink, PathReader, assert_same, library_of
from tests.connect.engine_stores import started
from tests.photos.libraries import bare_photo

ENCODER = PathReader(dim=64)


def test_a_stopped_run_continues_and_its_rows_are_those_of_a_library(
    folder: Path, sink: MemorySink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sink, "_ROWS", 4)
    monkeypatch.setattr(indexer, "_BATCH", 4)

    def stop(step: str, count: int, total: int) -> None:
        if step == "indexing" and count >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_into(folder, sink, ENCODER, report=stop)
    written = len(sink.rows)
    assert 0 < written < COUNT
    summary = index_into(folder, sink, ENCODER)
    assert (summary.new, summary.photos) == (COUNT - written, COUNT)
    local = assert_same(sink, folder, tmp_path, ENCODER)
    assert len({row["moment"] for row in sink.rows.values()}) > 3
    assert set(summary.skipped) == set(local.skipped)
    reasons = {item.path.name: item.reason for item in summary.skipped}
    assert reasons == {"broken.jpg": "truncated", "empty.jpg": "empty file"}
    assert summary.unread == local.unread == ((".mov", 1),)


@pytest.fixture
def filled(folder: Path, sink: MemorySink) -> MemorySink:
    index_into(folder, sink, ENCODER)
    return sink


def test_a_second_run_writes_nothing(folder: Path, filled: MemorySink) -> None:
    writes = filled.writes
    second = index_into(folder, filled, ENCODER)
    assert (second.unchanged, second.new, second.changed, filled.writes) == (COUNT, 0, 0, writes)
    assert {item.path.name for item in second.skipped} == {"broken.jpg", "empty.jpg"}


def test_an_empty_folder_does_not_empty_the_table(filled: MemorySink, tmp_path: Path) -> None:
    summary = index_into(tmp_path, filled, ENCODER, prune=True)
    assert (summary.pruned, len(filled.rows)) == (0, COUNT)
    assert "not mounted" in summary.skipped[0].reason


def test_another_encoder_is_refused_without_again(folder: Path, filled: MemorySink) -> None:
    sink, other = filled, PathReader("other", dim=64)
    with pytest.raises(OptionError, match="this table was encoded with bag, and other is not the same"):
        index_into(folder, sink, other)
    summary = index_into(folder, sink, other, again=True)
    assert summary.changed == summary.photos == COUNT
    assert (sink.facts()["encoder"], sink.facts()["fingerprint"]) == ("other", other.fingerprint)
    assert {row["stamp"].rpartition("-")[0] for row in sink.rows.values()} == {f"{other.fingerprint}-2"}


def test_what_changes_is_made_again(folder: Path, sink: MemorySink, tmp_path: Path) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "own"))
    index_into(own, sink, ENCODER)
    earliest = min((row for row in sink.rows.values() if row["taken"]), key=lambda row: row["taken"])
    together = {path for path, row in sink.rows.items() if row["moment"] == earliest["moment"]}
    (own / earliest["path"]).unlink()
    moved = next(path for path in sink.rows if path not in together)
    (own / "moved").mkdir()
    (own / moved).rename(own / "moved" / "here.jpg")
    for path in sorted(own.rglob("*"), reverse=True):  # a folder that is left empty may be a drive that is not mounted
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    (own / "broken.jpg").write_bytes((own / "zz" / "copy.jpg").read_bytes())
    unpruned = index_into(own, sink, ENCODER)
    assert (unpruned.gone, unpruned.pruned, len(sink.rows)) == (2, 0, COUNT + 2)
    pruned = index_into(own, sink, ENCODER, prune=True)
    assert (pruned.gone, pruned.pruned) == (0, 2)
    assert [item.path.name for item in pruned.skipped] == ["empty.jpg"]
    assert_same(sink, own, tmp_path, ENCODER)


# What engines do with rows is tested in tests/connect.
@pytest.mark.parametrize("name", ["lance", "qdrant", "milvus", "postgres"])
def test_engines_take_the_rows(name: str, tmp_path: Path) -> None:
    from mascot.connect.engines import open_sink, open_source
    from mascot.photos.indexing.table_sink import FIELDS

    root = tmp_path / "own"
    write_sample(root, 6)
    with started(name, tmp_path) as engine:
        uri = engine.uri("photos")
        assert index_into(root, uri, ENCODER).new == 6
        assert index_into(root, uri, ENCODER).unchanged == 6
        with open_sink(uri, fields=FIELDS, dim=64) as sink:
            assert len(list(sink.select(["path"]))) == 6
        with open_source(uri) as source:
            records = source.search(ENCODER.texts(["beach"])[0], candidates=200).records()
    rows, _, _ = library_of(root, tmp_path, ENCODER)
    assert len(records) == 6
    names = {name for row in rows.values() for name in row} - {"keywords", "problems"}  # lists in some engines
    for record in records:
        assert {name: record[name] for name in names} == {name: rows[record["path"]][name] for name in names}


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lancedb")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own = tmp_path / "own"
    write_sample(own, 2)
    (own / "broken.jpg").write_bytes(next(own.rglob("*.jpg")).read_bytes()[:6000])
    app = typer.Typer()
    app.command()(photo_commands.index)
    into = ["--into", f"lance://{tmp_path}/db/photos"]
    first = CliRunner().invoke(app, [str(own), *into, "--encoder", "lite"])
    assert first.exit_code == 0, first.output
    assert "2 photographs: 2 new" in first.output
    assert "broken.jpg: truncated" in first.output
    assert "2 unchanged" in CliRunner().invoke(app, [str(own), *into]).output
    assert not (own / ".mascot").exists()


class PretendingRunner:
    """Invents what workers would read."""

    encoding_s = 0.0

    def run(self, stage: Stage, orders: Iterable[Order], count: int) -> Iterator[list[Any]]:
        for order in orders:
            vectors = np.zeros((1, 0 if stage is HEADERS else 4), np.float32)
            yield [IndexRow(order, self._photo(order, int(order.path[-8:-4])), b"", vectors, vectors)]

    def _photo(self, order: Order, number: int) -> Photo:
        file = {"path": order.path, "size": 1, "mtime_ns": order.source.mtime_ns}
        taken = datetime(2019, 7, 14) + timedelta(minutes=number)
        return bare_photo(lat=38.7, lon=number / 999, taken=taken, caption=f"caption {number}", **file)


def test_memory_does_not_grow_with_the_files(sink: MemorySink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "put", lambda *_: None)
    for name in ("_ROWS", "_PAGE"):
        monkeypatch.setattr(table_sink, name, 64)

    def peak_bytes(count: int) -> int:
        files = (PictureFile(tmp_path / f"2019/trip {at % 50}/{at:08}.jpg", 1, at) for at in range(count))
        monkeypatch.setattr(indexer, "walk", lambda *_, **__: files)
        tracemalloc.start()
        try:
            with TableSink(sink, "print-1", Limits()) as rows:
                summary = Indexer([tmp_path], rows, PretendingRunner(), PathReader).run()
            assert (summary.photos, summary.new, summary.unchanged) == (count, count, 0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # More than once: Python's table of interned names may grow meanwhile, and threads of engines are measured too.
    assert any(peak_bytes(600) - peak_bytes(200) < 200 * 400 for _ in range(4))
