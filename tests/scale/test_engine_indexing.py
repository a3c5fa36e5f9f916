"""Indexing into an engine: the same rows as a library has, by one process or by many, whichever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from engine_stores import started
from engines_of_tests import DEADLY, Failing, Mortal, Reader, Signing, SqliteSink, gone
from PIL import Image
from typer.testing import CliRunner

from mascot.cli import photos
from mascot.cli.ray import TakesRay, with_address
from mascot.errors import InputError, MascotError, MissingExtra, OptionError
from mascot.photos import Library
from mascot.photos.indexing import indexer, ray_runner, table_sink
from mascot.photos.indexing.indexer import Indexer
from mascot.photos.indexing.stages import HEADERS, IndexRow, Order, Stage
from mascot.photos.indexing.table_sink import TableSink
from mascot.photos.limits import Limits
from mascot.photos.photo import Photo
from mascot.photos.sample import write_sample
from mascot.photos.walk import PictureFile
from mascot.scale.cluster import cluster
from mascot.scale.indexing import index_into

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),
]
COUNT = 26  # photographs of the folder

# Every run happens in this process, and with `ray` also on the cluster.
ADDRESSES = [pytest.param(None, id="one process"), pytest.param("local", id="ray")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs with moments, copies before and after their originals, and files that give no picture."""
    root = tmp_path_factory.mktemp("scale") / "trips"
    files = sorted(root / card.path for card in write_sample(root, COUNT - 2))
    shutil.copy2(files[9], root / "a copy that comes first.jpg")
    (root / "zz").mkdir()
    shutil.copy2(files[4], root / "zz" / "copy.jpg")
    # Its header is whole, so that it has a time and a place, but not its pixels.
    (root / "broken.jpg").write_bytes(files[6].read_bytes()[:6000])
    (root / "empty.jpg").touch()
    (root / "film.mov").touch()
    return root


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "own"))


@pytest.fixture
def sink(tmp_path: Path) -> SqliteSink:
    return SqliteSink(tmp_path / "sink.sqlite")


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str | None:
    if request.param:
        request.getfixturevalue("ray")
    return request.param


def library_of(root: Path, state: Path, encoder: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return rows, vectors and summary of a new library of this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with Library(root, index=state / "index") as library:
            summary = library.index(encoder)
            photos_by_id = {photo.id: photo for photo in library.store.all_photos()}
            vectors = library.store.vectors_of(encoder.fingerprint)
            arrays = {photos_by_id[id_].path: np.frombuffer(vector, np.float32) for id_, vector in vectors}
    shutil.rmtree(state / "index")
    return {photo.path: _columns(photo.to_row()) for photo in photos_by_id.values()}, arrays, summary


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "stamp")}


def assert_same(sink: SqliteSink, root: Path, state: Path, encoder: Any) -> None:
    rows, vectors, _ = library_of(root, state, encoder)
    assert {path: _columns(row) for path, row in sink.rows().items()} == rows
    assert all(np.array_equal(sink.vectors()[path], vectors[path]) for path in rows)


@pytest.mark.parametrize("address", ADDRESSES, indirect=True)
def test_rows_are_those_of_a_library(address: str | None, folder: Path, sink: SqliteSink, tmp_path: Path) -> None:
    encoder, reports = Reader(dim=64), []
    summary = index_into(folder, sink, encoder, ray=address, report=lambda *step: reports.append(step))
    rows, vectors, local = library_of(folder, tmp_path, encoder)
    assert {path: _columns(row) for path, row in sink.rows().items()} == rows
    assert all(np.array_equal(sink.vectors()[path], vectors[path]) for path in rows)
    assert len({row["moment"] for row in rows.values()}) > 5
    assert summary.new == summary.photos == local.photos == COUNT
    assert set(summary.skipped) == set(local.skipped)
    assert {item.path.name: item.reason for item in summary.skipped} == {
        "broken.jpg": "truncated",
        "empty.jpg": "empty file",
    }
    assert summary.unread == local.unread == ((".mov", 1),)
    assert {"looking", "reading headers", "indexing"} <= {step for step, _, _ in reports}
    assert sink.facts()["fingerprint"] == encoder.fingerprint
    writes = sink.writes
    second = index_into(folder, sink, encoder, ray=address)
    assert (second.unchanged, second.new, second.changed, sink.writes) == (COUNT, 0, 0, writes)
    assert set(second.skipped) == set(summary.skipped)


@pytest.mark.slow  # a picture that kills its worker is the short form
def test_a_killed_worker_changes_nothing(
    ray: Any, folder: Path, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_BATCH", 4)
    signed = tmp_path / "signed"
    signed.mkdir()
    killed: list[int] = []

    def kill(step: str, count: int, total: int) -> None:
        if step == "indexing" and count and not killed:
            # The one that began last, so that it is at work.
            latest = max(signed.iterdir(), key=lambda path: path.stat().st_mtime_ns)
            killed.append(int(latest.name))
            os.kill(killed[0], signal.SIGKILL)

    index_into(folder, sink, Signing(signed, pause_s=0.1), ray="local", workers=2, report=kill)
    assert len(killed) == 1
    assert gone(killed[0])
    assert os.getpid() not in {int(path.name) for path in signed.iterdir()}
    assert_same(sink, folder, tmp_path, Signing(signed, pause_s=0))


@pytest.mark.parametrize("address", ADDRESSES, indirect=True)
def test_a_stopped_run_continues(
    address: str | None, folder: Path, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sink, "_ROWS", 4)
    monkeypatch.setattr(indexer, "_BATCH", 8)
    encoder = Reader(dim=64)

    def stop(step: str, count: int, total: int) -> None:
        if step == "indexing" and count >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_into(folder, sink, encoder, ray=address, report=stop)
    written = len(sink.rows())
    assert 0 < written < COUNT
    assert index_into(folder, sink, encoder).new == COUNT - written
    assert_same(sink, folder, tmp_path, encoder)


def test_what_changes_is_made_again(own: Path, sink: SqliteSink, tmp_path: Path) -> None:
    encoder = Reader(dim=64)
    index_into(own, sink, encoder)
    rows = sink.rows()
    earliest = min((row for row in rows.values() if row["taken"]), key=lambda row: row["taken"])
    together = {path for path, row in rows.items() if row["moment"] == earliest["moment"]}
    (own / earliest["path"]).unlink()
    moved = next(path for path in rows if path not in together)
    (own / "moved").mkdir()
    (own / moved).rename(own / "moved" / "here.jpg")
    for path in (earliest["path"], moved):  # a folder that is left empty may be a drive that is not mounted
        if not any((own / path).parent.iterdir()):
            (own / path).parent.rmdir()
    (own / "broken.jpg").write_bytes((own / "zz" / "copy.jpg").read_bytes())
    unpruned = index_into(own, sink, encoder)
    assert (unpruned.gone, unpruned.pruned) == (2, 0)
    assert len(sink.rows()) == COUNT + 2
    pruned = index_into(own, sink, encoder, prune=True)
    assert (pruned.gone, pruned.pruned) == (0, 2)
    assert [item.path.name for item in pruned.skipped] == ["empty.jpg"]
    assert_same(sink, own, tmp_path, encoder)


def test_a_folder_that_is_not_mounted_does_not_empty_the_table(own: Path, sink: SqliteSink) -> None:
    index_into(own, sink, Reader(dim=64))
    own.rename(own.with_name("away"))
    own.mkdir()
    summary = index_into(own, sink, Reader(dim=64), prune=True)
    assert (summary.pruned, len(sink.rows())) == (0, COUNT)
    assert "not mounted" in summary.skipped[0].reason


def test_another_encoder_is_refused_unless_everything_is_encoded_again(own: Path, sink: SqliteSink) -> None:
    index_into(own, sink, Reader(dim=64))
    other = Reader("other", dim=64)
    with pytest.raises(OptionError, match="this table was encoded with bag, and other is not the same"):
        index_into(own, sink, other)
    summary = index_into(own, sink, other, again=True)
    assert summary.changed == summary.photos == COUNT
    assert sink.facts()["encoder"] == "other"
    assert {row["stamp"].rpartition("-")[0] for row in sink.rows().values()} == {f"{other.fingerprint}-2"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OptionError("the encoder must see, got dark"), "^the encoder must see, got dark$"),
        (
            RuntimeError("CUDA out of memory\nand a page of advice"),
            r"(?i)^a worker failed at '.*\.jpg', '.*\.jpg': RuntimeError: CUDA out of memory$",
        ),
    ],
    ids=["MascotError", "any error"],
)
def test_a_failing_encoder_on_a_worker_gives_one_line(
    ray: Any, error: Exception, message: str, sink: SqliteSink, tmp_path: Path
) -> None:
    write_sample(tmp_path / "own", 2)
    with pytest.raises(MascotError, match=message):
        index_into(tmp_path / "own", sink, Failing(error), ray="local")


@pytest.mark.slow
def test_a_picture_that_kills_its_worker_is_skipped(
    ray: Any, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_runner, "_RETRIES", 0)
    root = tmp_path / "own"
    write_sample(root, 3)
    Image.new("RGB", DEADLY).save(root / "deadly.png")
    summary = index_into(root, sink, Mortal(dim=64), ray="local", workers=1)
    assert len(sink.rows()) == summary.new == 3
    [skipped] = summary.skipped
    assert skipped.path.name == "deadly.png"
    assert skipped.reason == "killed its worker 1 times: a crash, or too little memory"
    monkeypatch.setattr(ray_runner, "_MOST_LOST", 0)
    os.utime(root / "deadly.png", (1, 1))
    with pytest.raises(MascotError, match=r"workers died at 1 batches.*index a few without --ray to see: 'deadly.png'"):
        index_into(root, sink, Mortal(dim=64), ray="local", workers=1)


_ON_A_GPU = """
import ray, sys
from pathlib import Path
from engines_of_tests import Reader, SqliteSink
from mascot.scale.indexing import index_into
ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, object_store_memory=128 << 20)
root = Path(sys.argv[1])
print("new:", index_into(root / "trips", SqliteSink(root / "sink.sqlite"), Reader(dim=64), ray="local").new)
"""


@pytest.mark.slow
def test_tasks_read_for_encoders_on_gpus(tmp_path: Path) -> None:
    """Ray does not check that there is a GPU, and this encoder needs none."""
    pytest.importorskip("ray")
    write_sample(tmp_path / "trips", 3)
    tests = Path(__file__).resolve().parents[1]
    paths = [str(tests / "photos"), str(tests / "scale"), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.run(
        [sys.executable, "-c", _ON_A_GPU, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "new: 3" in process.stdout, process.stderr


@pytest.mark.parametrize("name", ["lance", "qdrant", "milvus", "postgres"])
def test_engines_take_the_rows(name: str, tmp_path: Path) -> None:
    from mascot.connect.source import open_sink, open_source

    encoder, root = Reader(dim=64), tmp_path / "own"
    write_sample(root, 6)
    with started(name, tmp_path) as engine:
        uri = engine.uri("photos")
        assert index_into(root, uri, encoder).new == 6
        assert index_into(root, uri, encoder).unchanged == 6
        with open_sink(uri, dim=64) as sink:
            assert len(dict(sink.states())) == 6
        with open_source(uri) as source:
            records = source.search(encoder.texts(["beach"])[0], candidates=200).records()
    rows, _, _ = library_of(root, tmp_path, encoder)
    assert len(records) == 6
    names = {name for row in rows.values() for name in row} - {"keywords", "problems"}  # lists in some engines
    for record in records:
        assert {name: record[name] for name in names} == {name: rows[record["path"]][name] for name in names}


@pytest.mark.parametrize("words", [[], pytest.param(["--ray"], marks=pytest.mark.slow)])
def test_the_command(
    words: list[str], own: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lancedb")
    if words:
        request.getfixturevalue("ray")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = typer.Typer()
    app.command(cls=TakesRay)(photos.index)
    into = f"lance://{tmp_path}/db/photos"
    first = CliRunner().invoke(app, [str(own), "--into", into, "--encoder", "lite", *words])
    assert first.exit_code == 0, first.output
    assert f"{COUNT} photographs: {COUNT} new" in first.output
    assert "broken.jpg: truncated" in first.output
    assert f"{COUNT} unchanged" in CliRunner().invoke(app, [str(own), "--into", into]).output
    assert not (own / ".mascot").exists()
    refused = CliRunner().invoke(app, [str(own), "--ray"])
    assert isinstance(refused.exception, OptionError)
    assert "--ray needs --into URI" in str(refused.exception)


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (["x", "--ray"], "local"),
        (["--ray", "x"], "local"),
        (["--ray", "--prune"], "local"),
        (["x", "--ray", "auto"], "auto"),
        (["--ray", "head:6379", "x"], "head:6379"),
        (["--ray", "ray://head:10001", "x"], "ray://head:10001"),
    ],
)
def test_the_address_may_be_left_out(words: list[str], address: str) -> None:
    complete = with_address(words)
    assert complete[complete.index("--ray") + 1] == address
    assert [word for word in complete if word not in ("--ray", address)] == [
        word for word in words if word not in ("--ray", address)
    ]


def test_a_client_address_is_refused() -> None:
    with (
        pytest.raises(OptionError, match=r"must be local, auto or host:port, got 'ray://head:10001'"),
        cluster("ray://head:10001"),
    ):
        pass


@pytest.fixture
def disconnected(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray without a connection; its `init` is to be replaced, because a cluster takes half a minute to start."""
    module = pytest.importorskip("ray")
    monkeypatch.setattr(module, "is_initialized", lambda: False)
    monkeypatch.setattr(module, "shutdown", lambda: None)
    return module


@pytest.mark.parametrize(
    ("address", "cause", "message"),
    [
        (
            "head:6379",
            RuntimeError("Failed. Traceback:\n  frames\nAuthenticationError: token is missing"),
            "no connection to a Ray cluster at 'head:6379': Failed to connect (AuthenticationError: token is missing); "
            "see whether it runs there and lets this machine in",
        ),
        (
            "auto",
            None,
            "no connection to a Ray cluster at 'auto': Failed to connect; start one with `ray start --head`, or use "
            "`--ray local`",
        ),
    ],
)
def test_why_there_is_no_connection(
    address: str, cause: Exception | None, message: str, disconnected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(*_: Any, **__: Any) -> None:
        raise ConnectionError("Failed to connect") from cause

    monkeypatch.setattr(disconnected, "init", init)
    with pytest.raises(InputError) as refused, cluster(address):
        pass
    assert str(refused.value) == message


def test_the_greeting_of_ray_is_suppressed(
    disconnected: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    line = b"[now I 7 7] logging.cc:303: Set ray log level from environment variable RAY_BACKEND_LOG_LEVEL to 3\n"
    monkeypatch.setattr(disconnected, "init", lambda *_, **__: os.write(2, line + b"the store is full\n"))
    with cluster("local", 1):
        os.write(2, b"running\n")
    assert capfd.readouterr().err == "the store is full\nrunning\n"


def test_without_ray_the_error_names_the_remedy(own: Path, sink: SqliteSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\bray\b"):
        index_into(own, sink, Reader(dim=64), ray="local")


class PretendingRunner:
    """Invents what workers would read."""

    encoding_s = 0.0

    def run(self, stage: Stage, orders: Iterable[Order], count: int) -> Iterator[list[Any]]:
        for order in orders:
            vectors = np.zeros((1, 0 if stage is HEADERS else 4), np.float32)
            yield [IndexRow(order, self._photo(order, int(order.path[-8:-4])), b"", vectors, vectors)]

    def _photo(self, order: Order, number: int) -> Photo:
        values: dict[str, Any] = dict.fromkeys(Photo.__dataclass_fields__) | {"keywords": (), "problems": ()}
        values |= {"path": order.path, "size": 1, "mtime_ns": order.source.mtime_ns, "lat": 38.7, "lon": number / 999}
        values |= {"taken": datetime(2019, 7, 14) + timedelta(minutes=number), "caption": f"caption {number}"}
        return Photo(**values)


def test_memory_does_not_grow_with_the_files(sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "put", lambda *_: None)
    monkeypatch.setattr(table_sink, "_ROWS", 64)

    def peak_bytes(count: int) -> int:
        files = (PictureFile(tmp_path / f"2019/trip {at % 50}/{at:08}.jpg", 1, at) for at in range(count))
        monkeypatch.setattr(indexer, "walk", lambda *_, **__: files)
        tracemalloc.start()
        try:
            with TableSink(sink, "print-1", Limits()) as rows:
                summary = Indexer([tmp_path], rows, PretendingRunner(), Reader).run()
            assert (summary.photos, summary.new, summary.unchanged) == (count, count, 0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak_bytes(2_000)  # Python's table of interned names grows once
    few, many = peak_bytes(600), peak_bytes(2_000)
    assert (many - few) / 1_400 < 200
