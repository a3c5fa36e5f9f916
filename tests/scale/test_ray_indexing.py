"""Indexing into an engine: the same rows as a library has, by one process or by many, whoever is killed."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import typer
from bag_of_words import BagOfWords
from engine_stores import started
from engines_of_tests import DEADLY, Mortal, Signing, SqliteSink, gone
from PIL import Image
from typer.testing import CliRunner

from mascot.cli import photos
from mascot.cli.ray import TakesRay, with_address
from mascot.errors import InputError, MascotError, MissingExtra, OptionError
from mascot.photos import Library
from mascot.photos.sample import write_sample
from mascot.scale import pipeline, run
from mascot.scale.cluster import cluster
from mascot.scale.indexing import index_into
from mascot.scale.stages import Bad
from mascot.scale.workers import Ledger, LostBatch, Worker, answers

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs with moments, copies before and after their originals, and files that give no picture."""
    root = tmp_path_factory.mktemp("scale") / "trips"
    write_sample(root, 48)
    files = sorted(root.rglob("*.jpg"))
    shutil.copy2(files[9], root / "a copy that comes first.jpg")
    (root / "zz").mkdir()
    shutil.copy2(files[4], root / "zz" / "copy.jpg")
    # Its header is whole, so that it has a time and a place, but not its pixels.
    (root / "broken.jpg").write_bytes(files[6].read_bytes()[:6000])
    (root / "empty.jpg").touch()
    return root


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "own"))


@pytest.fixture
def sink(tmp_path: Path) -> SqliteSink:
    return SqliteSink(tmp_path / "sink.sqlite")


def local(root: Path, state: Path, encoder: Any) -> tuple[dict[str, dict[str, Any]], dict[str, Any], set[str]]:
    """Rows, vectors and skipped files of a library of this folder, made anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        shutil.rmtree(root / ".mascot", ignore_errors=True)
        with Library.open(root) as library:
            summary = library.index(encoder)
            stamp = f"{library.store.fact('fingerprint')}-1"
            found = {photo.id: photo for photo in library.store.all_photos()}
            vectors = {found[id_].path: np.frombuffer(blob, np.float32) for id_, blob in library.store.vectors(stamp)}
    shutil.rmtree(root / ".mascot")
    return {p.path: _without_id(p.to_row()) for p in found.values()}, vectors, {str(s.path) for s in summary.skipped}


def _without_id(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("id", "stamp")}


def assert_same(sink: SqliteSink, root: Path, state: Path, encoder: Any) -> None:
    rows, vectors, _ = local(root, state, encoder)
    made, there = sink.rows(), sink.vectors()
    assert {path: _without_id(row) for path, row in made.items()} == rows
    assert all(np.array_equal(there[path], vectors[path]) for path in rows)


@pytest.mark.parametrize("address", [None, "local"], ids=["one process", "ray"])
def test_rows_are_those_of_a_library(
    address: str | None, folder: Path, sink: SqliteSink, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if address:
        request.getfixturevalue("ray")
    told: list[tuple[str, int, int]] = []
    encoder = BagOfWords(dim=64)
    summary = index_into(folder, sink, encoder, ray=address, report=lambda *step: told.append(step))
    assert_same(sink, folder, tmp_path, encoder)
    assert len({row["moment"] for row in sink.rows().values()}) > 5
    assert summary.new == summary.photos == len(sink.rows()) == 50
    _, _, skipped = local(folder, tmp_path, encoder)
    assert {str(item.path) for item in summary.skipped} == skipped
    assert {item.path.name: item.reason for item in summary.skipped} == {
        "broken.jpg": "truncated",
        "empty.jpg": "empty file",
    }
    assert {"looking", "reading headers", "indexing"} <= {what for what, _, _ in told}
    assert sink.facts()["fingerprint"] == encoder.fingerprint
    # A copy has its original's vector, whose words come from the original's folder.
    by_hash: dict[str, set[bytes]] = {}
    for path, row in sink.rows().items():
        by_hash.setdefault(row["hash"], set()).add(sink.vectors()[path].tobytes())
    assert all(len(vectors) == 1 for vectors in by_hash.values())
    writes = sink.writes
    second = index_into(folder, sink, encoder, ray=address)
    assert (second.unchanged, second.new, second.changed, sink.writes) == (50, 0, 0, writes)
    assert second.skipped == summary.skipped or set(second.skipped) == set(summary.skipped)


@pytest.mark.slow  # a picture that kills its worker is the short form
def test_a_killed_worker_changes_nothing(
    ray: Any, folder: Path, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_BATCH", 4)  # thirteen of them
    signed = tmp_path / "signed"
    signed.mkdir()
    killed: list[int] = []

    def kill(what: str, done: int, total: int) -> None:
        if what == "indexing" and done and not killed:
            # The one that began last, so that it is at work.
            latest = max(signed.iterdir(), key=lambda path: path.stat().st_mtime_ns)
            killed.append(int(latest.name))
            os.kill(killed[0], signal.SIGKILL)
            assert done < total / 2

    index_into(folder, sink, Signing(signed, pause_s=0.1), ray="local", workers=2, report=kill)
    assert len(killed) == 1
    assert gone(killed[0])
    workers = {int(path.name) for path in signed.iterdir()}
    assert os.getpid() not in workers
    assert len(workers) >= 2
    assert_same(sink, folder, tmp_path, Signing(signed, pause_s=0))


@pytest.mark.parametrize("address", [None, pytest.param("local", marks=pytest.mark.slow)])
def test_a_stopped_run_goes_on(
    address: str | None,
    folder: Path,
    sink: SqliteSink,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if address:
        request.getfixturevalue("ray")
    monkeypatch.setattr(run, "_ROWS", 8)
    encoder = BagOfWords(dim=64)

    def stop(what: str, done: int, total: int) -> None:
        if what == "indexing" and done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_into(folder, sink, encoder, ray=address, report=stop)
    there = len(sink.rows())
    assert 0 < there < 50
    summary = index_into(folder, sink, encoder, ray=address)
    assert summary.new == 50 - there
    assert_same(sink, folder, tmp_path, encoder)


def test_what_changes_is_made_again(own: Path, sink: SqliteSink, tmp_path: Path) -> None:
    encoder = BagOfWords(dim=64)
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
    kept = index_into(own, sink, encoder)
    assert (kept.gone, kept.pruned) == (2, 0)
    assert len(sink.rows()) == 52
    pruned = index_into(own, sink, encoder, prune=True)
    assert (pruned.gone, pruned.pruned) == (0, 2)
    assert [item.path.name for item in pruned.skipped] == ["empty.jpg"]
    assert_same(sink, own, tmp_path, encoder)


def test_another_encoder_is_refused_unless_everything_is_encoded_again(own: Path, sink: SqliteSink) -> None:
    index_into(own, sink, BagOfWords(dim=64))
    other = BagOfWords("other", dim=64)
    with pytest.raises(OptionError, match="this table was encoded with bag, and other is not the same"):
        index_into(own, sink, other)
    summary = index_into(own, sink, other, again=True)
    assert summary.changed == summary.photos == 50
    assert sink.facts()["encoder"] == "other"
    assert {row["stamp"].rpartition("-")[0] for row in sink.rows().values()} == {f"{other.fingerprint}-2"}


@pytest.mark.slow
def test_an_encoder_that_fails_on_a_worker_says_why(ray: Any, own: Path, sink: SqliteSink) -> None:
    class Failing(BagOfWords):
        def pictures(self, pictures: Any) -> Any:
            raise OptionError("the encoder must see, got dark")

    with pytest.raises(OptionError, match="got dark"):
        index_into(own, sink, Failing(dim=64), ray="local")


def test_a_worker_tells_in_one_line_and_gives_up_what_is_begun_too_often(ray: Any) -> None:
    ledger = ray.remote(num_cpus=0)(Ledger).remote()
    batch = pickle.dumps([Bad("a.jpg", ""), Bad("b.jpg", "")])
    batches = pyarrow.table({"number": [7], "items": [batch]})

    def fails(items: Any) -> Any:
        raise RuntimeError("CUDA out of memory\nand a page of advice")

    worker = Worker("encode", ray.cloudpickle.dumps(lambda: fails), ledger, retries=1)
    for _ in range(2):
        with pytest.raises(
            MascotError, match=r"^a worker failed at 'a.jpg', 'b.jpg': RuntimeError: CUDA out of memory$"
        ):
            list(answers(worker(batches)))
    assert list(answers(worker(batches))) == [(7, LostBatch())]
    # What a stage gave up, the next one hands on.
    following = Worker("following", ray.cloudpickle.dumps(lambda: fails), ledger, retries=1)
    assert list(answers(following(worker(batches)))) == [(7, LostBatch())]


def test_a_picture_that_kills_its_worker_is_skipped(
    ray: Any, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_RETRIES", 0)
    root = tmp_path / "own"
    write_sample(root, 3)
    Image.new("RGB", DEADLY).save(root / "deadly.png")
    summary = index_into(root, sink, Mortal(dim=64), ray="local", workers=1)
    assert len(sink.rows()) == summary.new == 3
    [skipped] = summary.skipped
    assert skipped.path.name == "deadly.png"
    assert skipped.reason == "killed its worker 1 times: a crash, or too little memory"


_ON_A_GPU = """
import ray, sys
from pathlib import Path
from bag_of_words import BagOfWords
from engines_of_tests import SqliteSink
from mascot.scale.indexing import index_into
ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, object_store_memory=128 << 20)
root = Path(sys.argv[1])
print("new:", index_into(root / "trips", SqliteSink(root / "sink.sqlite"), BagOfWords(dim=64), ray="local").new)
"""


@pytest.mark.slow
def test_where_there_are_gpus_others_read(tmp_path: Path) -> None:
    """Ray takes our word for the GPU, and the encoder needs none."""
    pytest.importorskip("ray")
    write_sample(tmp_path / "trips", 3)
    tests = Path(__file__).resolve().parents[1]
    paths = [str(tests / "photos"), str(tests / "scale"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_GPU, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "new: 3" in done.stdout, done.stderr


@pytest.mark.slow
def test_an_encoder_that_kills_its_workers_ends_the_run(
    ray: Any, sink: SqliteSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_RETRIES", 0)
    monkeypatch.setattr(pipeline, "_MOST_LOST", 0)
    Image.new("RGB", DEADLY).save(tmp_path / "deadly.png")
    with pytest.raises(MascotError, match=r"workers died at 1 batches.*index a few without --ray to see: 'deadly.png'"):
        index_into(tmp_path, sink, Mortal(dim=64), ray="local", workers=1)


@pytest.mark.parametrize("name", ["lance", "qdrant", "milvus", "postgres"])
def test_engines_take_the_rows(name: str, own: Path, tmp_path: Path) -> None:
    with started(name, tmp_path) as engine:
        _takes_the_rows(engine.uri("photos"), own, tmp_path)


def _takes_the_rows(address: str, own: Path, tmp_path: Path) -> None:
    from mascot.connect.source import open_sink, open_source

    encoder = BagOfWords(dim=64)
    assert index_into(own, address, encoder).new == 50
    assert index_into(own, address, encoder).unchanged == 50
    sink = open_sink(address, dim=64)
    assert len(dict(sink.states())) == 50
    sink.close()
    rows, _, _ = local(own, tmp_path, encoder)
    source = open_source(address)
    found = source.search(encoder.texts(["beach"])[0], candidates=200).records()
    source.close()
    names = list(next(iter(rows.values())))
    as_text = {"keywords", "problems"}  # engines may have them as lists
    for record in found:
        want = rows[record["path"]]
        assert {n: record[n] for n in names if n not in as_text} == {n: want[n] for n in names if n not in as_text}
    assert len(found) == 50


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
    done = CliRunner().invoke(app, [str(own), "--into", into, "--encoder", "lite", *words])
    assert done.exit_code == 0, done.output
    assert "50 photographs: 50 new" in done.output
    assert "broken.jpg: truncated" in done.output
    again = CliRunner().invoke(app, [str(own), "--into", into])
    assert "50 unchanged" in again.output
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
    told = with_address(words)
    assert told[told.index("--ray") + 1] == address
    assert [word for word in told if word not in ("--ray", address)] == [
        word for word in words if word not in ("--ray", address)
    ]


def test_a_client_address_is_refused() -> None:
    with (
        pytest.raises(OptionError, match=r"must be local, auto or host:port, got 'ray://head:10001'"),
        cluster("ray://head:10001"),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "cause", "told"),
    [
        (
            "head:6379",
            "Failed. Traceback:\n  frames\nAuthenticationError: token is missing",
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
    address: str, cause: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = pytest.importorskip("ray")

    def init(*_: Any, **__: Any) -> None:
        raise ConnectionError("Failed to connect") from (RuntimeError(cause) if cause else None)

    # A cluster that asks for a token takes half a minute to start and to refuse.
    monkeypatch.setattr(module, "init", init)
    monkeypatch.setattr(module, "is_initialized", lambda: False)
    monkeypatch.setattr(module, "shutdown", lambda: None)
    with pytest.raises(InputError) as refused, cluster(address):
        pass
    assert str(refused.value) == told


def test_ray_does_not_say_that_it_was_told_to_be_quiet(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = pytest.importorskip("ray")
    said = b"[now I 7 7] logging.cc:303: Set ray log level from environment variable RAY_BACKEND_LOG_LEVEL to 3\n"
    # As its C++ does; a cluster takes half a minute to start.
    monkeypatch.setattr(module, "init", lambda *_, **__: os.write(2, said + b"the store is full\n"))
    monkeypatch.setattr(module, "is_initialized", lambda: False)
    monkeypatch.setattr(module, "shutdown", lambda: None)
    with cluster("local", 1):
        os.write(2, b"running\n")
    assert capfd.readouterr().err == "the store is full\nrunning\n"


def test_without_ray_the_error_names_the_cure(own: Path, sink: SqliteSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\bray\b"):
        index_into(own, sink, BagOfWords(dim=64), ray="local")
