"""Photo search measured: 100,000 rows, a cold start, and what indexing adds to the encoder's own time.

    python -m benchmarks.photos [--rows 100000] [--quick]

Every part prints our numbers beside those of an alternative in the same run, as medians, because machines are shared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.photos import Library, Photo
from mascot.photos.database.store import Store, put_photo, put_pixels, put_vector
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder, Picture
from mascot.photos.files.reading import File, photos_of, picture, read
from mascot.photos.files.walk import PictureFile, walk
from mascot.photos.metadata.look import DIM
from mascot.photos.request import CANDIDATES
from mascot.photos.sample import write_sample

_DIM = 512
_QUERIES = 200


class Given:
    """An encoder that costs nothing: vectors are drawn from the text's own bytes."""

    name, fingerprint, dim, tokens, notice = "given", "given-512", _DIM, 1, None

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([_unit(np.random.default_rng(list(text.encode())), 1)[0] for text in texts])

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        return self.texts([picture.words for picture in pictures])[:, None]


def _unit(rng: np.random.Generator, rows: int) -> NDArray[np.float32]:
    vectors = rng.standard_normal((rows, _DIM), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _synthetic(root: Path, rows: int) -> None:
    """A library of so many rows, written as the indexer writes them."""
    from datetime import datetime, timedelta

    rng = np.random.default_rng(0)
    (root / ".mascot").mkdir(parents=True)
    store = Store(root / ".mascot" / "library.sqlite", create=True)
    facts = {"encoder": Given.name, "fingerprint": Given.fingerprint, "epoch": "1", "dim": str(_DIM), "tokens": "1"}
    store.set_facts(facts)
    cities = rng.uniform((-50, -180), (65, 180), (400, 2))
    start = datetime(2005, 1, 1)
    thumbnail = b"\xff\xd8" + bytes(4000)
    for first in range(0, rows, 2000):
        vectors = _unit(rng, min(2000, rows - first))
        with store.writing() as connection:
            for i, vector in enumerate(vectors, first):
                lat, lon = cities[rng.integers(400)] + rng.normal(0, 0.05, 2)
                taken = start + timedelta(minutes=float(rng.uniform(0, 10_000_000)))
                photo = Photo(
                    id=0, path=f"{i // 1000}/{i}.jpg", folder=str(i // 1000), size=1, mtime_ns=1, hash=str(i),
                    width=4000, height=3000, lat=float(lat), lon=float(lon), altitude=None, taken=taken, offset=None,
                    camera=f"camera {i % 9}", lens=None, title=None, caption="a caption", keywords=(), rating=None,
                    city=f"city {i % 400}", country="PT", season="summer", part_of_day="noon",
                    moment=f"moment {i // 7}", quality=0.5, problems=(),
                )  # fmt: skip
                id_ = put_photo(connection, photo)
                put_pixels(connection, id_, thumbnail, rng.standard_normal(DIM, np.float32))
                put_vector(connection, id_, f"{Given.fingerprint}-1", vector)
    store.close()


def _times(what: Callable[[int], Any], count: int) -> NDArray[np.float64]:
    for i in range(5):
        what(i)
    times = []
    for i in range(count):
        started = time.perf_counter()
        what(1000 + i)
        times.append((time.perf_counter() - started) * 1e3)
    return np.array(times)


def search_large(rows: int, queries: int) -> None:
    print(f"\n{rows:,} synthetic rows, {_DIM} numbers a vector, {CANDIDATES:,} candidates, 20 results; ms a query")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _synthetic(root, rows)
        with Library.open(root) as library:
            encoder = Given()
            started = time.perf_counter()
            library.hits("first", encoder=encoder)
            print(f"  building the vector index once            {time.perf_counter() - started:8.1f} s")
            wishes = [library.spread("place"), library.focus("hour=18")]
            vectors = encoder.texts([f"query {i}" for i in range(1000 + queries)])
            plain = _times(lambda i: library.hits(vector=vectors[i]), queries)
            steered = _times(lambda i: library.hits(vector=vectors[i]).rerank(wishes), queries)
            search = partial(library.search, wishes=wishes, encoder=encoder)
            explained = _times(lambda i: search(f"query {i}").records(explain=True), queries)
            filtered = _times(lambda i: library.hits(vector=vectors[i], where="camera = 'camera 3'").rerank(wishes), 50)
            blobs = _times(lambda i: _from_blobs(library.store, vectors[i]), 5)
        for name, times in (
            ("vector search alone (what is steered)", plain),
            ("search and steer: place, hour=18", steered),
            ("the same with stacks and explanation", explained),
            ("search and steer with --where, 1 in 9", filtered),
            ("alternative: vectors out of SQLite", blobs),
        ):
            print(f"  {name:<41} {np.median(times):8.1f} median {np.quantile(times, 0.95):8.1f} p95")
        ratio, gain = np.median(steered) / np.median(plain), np.median(blobs) / np.median(plain)
        print(f"  steered / plain {ratio:.2f}; vectors out of SQLite / mapped matrix {gain:.1f}")
        command = [sys.executable, "-m", "benchmarks.photos", "--search-once", str(root)]
        peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        print(f"  peak memory of a process that searches    {peak:>8} MB")


def _from_blobs(store: Store, vector: NDArray[np.float32]) -> NDArray[np.int64]:
    ids, blobs = zip(*store.vectors_of(Given.fingerprint), strict=True)
    matrix = np.frombuffer(b"".join(blobs), np.float32).reshape(-1, _DIM)
    return np.array(ids)[np.argsort(-(matrix @ vector))[:200]]


def search_once(root: Path) -> None:
    with Library.open(root) as library:
        library.search("a query", [library.spread("place"), library.focus("hour=18")], encoder=Given())
    # Not getrusage: that counts the process this one was started from.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(f"{int(peak.split()[1]) / 1024:.0f}")


def cold_start(root: Path, runs: int) -> None:
    print("\nA cold start: the whole command on the sample library; ms")
    environment = os.environ | {"MASCOT_LIBRARY": str(root)}
    command = [
        sys.executable,
        "-m",
        "mascot.cli",
        "search",
        "sunset over water",
        "--spread",
        "place",
        "--focus",
        "hour=18",
    ]
    for name, run in (
        ("mascot search, steered", command),
        ("alternative: python -c 'import numpy'", [sys.executable, "-c", "import numpy"]),
    ):
        times = []
        for _ in range(runs):
            started = time.perf_counter()
            subprocess.run(run, env=environment, check=True, capture_output=True)
            times.append((time.perf_counter() - started) * 1e3)
        print(f"  {name:<41} {np.median(times):8.0f} median {max(times):8.0f} slowest")


def indexing(root: Path, encoder: Encoder) -> None:
    """Wall time of a whole index run beside the time the encoder alone takes for the same pictures."""
    files = [item.path for item in walk(root) if isinstance(item, PictureFile)]
    reads = [(path, read(path.read_bytes())) for path in files]
    photos = photos_of([File(path.relative_to(root).as_posix(), 0, 0, "") for path, _ in reads], [r for _, r in reads])
    pictures = [picture(photo, reading) for photo, (_, reading) in zip(photos, reads, strict=True)]
    encoder.pictures(pictures[:32])
    alone = _taken(lambda: [encoder.pictures(pictures[i : i + 32]) for i in range(0, len(pictures), 32)])
    shutil.rmtree(root / ".mascot", ignore_errors=True)
    with Library.open(root) as library:
        whole = _taken(lambda: library.index(encoder))
    print(f"  {encoder.name}, {len(files)} photographs")
    for name, before, after in zip(("wall", "processor"), alone, whole, strict=True):
        print(
            f"    {name:<10} encoder alone {before:6.1f} s, whole index {after:6.1f} s, adds {after / before - 1:+.0%}"
        )


def _taken(what: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor time, in seconds. The second does not depend on who else uses the machine."""
    wall, processor = time.perf_counter(), time.process_time()
    what()
    return time.perf_counter() - wall, time.process_time() - processor


def _clip_of_true_size() -> Encoder:
    """CLIP ViT-B/32 with random weights: it finds nothing, but costs what the real one costs."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)

    class Vision:
        name, fingerprint, dim, tokens, notice = "clip ViT-B/32 (random)", "clip-random", 512, 1, None

        def __init__(self) -> None:
            self._model: Any = CLIPModel(CLIPConfig()).eval()

        def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise NotImplementedError

        def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
            pixels = np.stack([np.asarray(p.image.resize((224, 224)), np.float32) / 127.5 - 1 for p in pictures])
            with torch.inference_mode():
                out = self._model.vision_model(torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())).pooler_output
                vectors = self._model.visual_projection(out).numpy()
            return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[:, None]

    return Vision()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and of the runs")
    parser.add_argument("--search-once", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search_once:
        search_once(options.search_once)
        return
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    few = options.quick
    print(f"mascot {mc.__version__}, {os.cpu_count()} cores")
    search_large(options.rows // 10 if few else options.rows, _QUERIES // 10 if few else _QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "sample"
        write_sample(root, 60 if few else 600)
        print("\nIndexing the sample library, the encoder on all cores")
        indexing(root, _clip_of_true_size())
        indexing(root, open_encoder("lite"))
        cold_start(root, 3 if few else 9)


if __name__ == "__main__":
    main()
