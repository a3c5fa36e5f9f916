"""Indexing on Ray: two workers beside one, on the sample library with an encoder that is the bottleneck.

    python -m benchmarks.ray [--photos 256] [--rounds 3]

The encoder is a CLIP ViT-B/32 with random weights: it finds nothing but costs what the real one costs. Every worker
computes on one thread. Rounds alternate, because machines are shared; in each round, two plain
processes beside one show how much of the second core was available.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.cluster.connection import cluster
from mascot.cluster.ray_runner import ray_runner
from mascot.photos.encoders.encoder import Picture, unit
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.reading import File, photos_of, read
from mascot.photos.indexing.engine_indexing import index_into
from mascot.photos.sample import write_sample

_BAR = 1.6
_SPIN = "import time\nuntil = time.perf_counter() + 3\nn = 0\nwhile time.perf_counter() < until: n += 1\nprint(n)"


class Clip:
    """CLIP ViT-B/32 of random weights, made by the worker that uses it."""

    name, fingerprint, dim, tokens, notice = "clip ViT-B/32 (random)", "clip-random", 512, 1, None

    def __init__(self, log: Path) -> None:
        self._log = log  # a folder: each process notes there when it encoded what
        self._model: Any = None

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        import torch

        if self._model is None:
            from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection

            torch.set_num_threads(1)
            torch.manual_seed(0)
            self._model = CLIPVisionModelWithProjection(CLIPVisionConfig()).eval()
        started = time.time()
        pixels = np.stack([np.asarray(p.image.resize((224, 224)), np.float32) / 127.5 - 1 for p in pictures])
        with torch.inference_mode():
            vectors = self._model(torch.from_numpy(pixels.transpose(0, 3, 1, 2).copy())).image_embeds.numpy()
        with open(self._log / str(os.getpid()), "a", encoding="utf-8") as log:
            log.write(f"{started} {time.time()} {len(pictures)}\n")
        return unit(vectors)[:, None]


class Nowhere:
    """A sink that forgets, so that no engine is measured."""

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None: ...

    def select(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return iter(())

    def remove(self, keys: Sequence[str]) -> None: ...

    def set_facts(self, facts: Mapping[str, str]) -> None: ...

    def facts(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


def measure(root: Path, workers: int) -> tuple[float, float]:
    """Photographs a second while every worker encodes, and seconds of the whole run."""
    with tempfile.TemporaryDirectory() as folder:
        sink: Any = Nowhere()
        started = time.perf_counter()
        with ray_runner("local", Limits(), workers=workers) as runner:
            index_into(root, sink, Clip(Path(folder)), runner=runner)
        whole = time.perf_counter() - started
        calls = [np.loadtxt(path, ndmin=2) for path in Path(folder).iterdir()]
    # From when the last of them has done its first batch, which waits for torch, until the first has nothing left.
    begin, end = max(some[0, 1] for some in calls), min(some[-1, 1] for some in calls)
    first, last, count = np.concatenate(calls).T
    inside = np.clip(np.minimum(last, end) - np.maximum(first, begin), 0, None) / (last - first)
    return float((inside * count).sum() / (end - begin)), whole


def sizes(root: Path) -> str:
    """What is kept of a photograph, in bytes."""
    files = sorted(root.rglob("*.jpg"))[:100]
    readings = [read(path.read_bytes()) for path in files]
    photos = photos_of([File(path.relative_to(root).as_posix(), 1_000_000, 0, "0" * 32) for path in files], readings)
    rows = np.mean([len(json.dumps(list(photo.to_row().values()), ensure_ascii=False).encode()) for photo in photos])
    thumbnails = np.mean([len(reading.thumbnail) for reading in readings])
    return f"bytes of {len(files)} postcards, mean: row {rows:.0f}, thumbnail {thumbnails:.0f}"


def second_core() -> float:
    """How much more two busy processes get through than one."""

    def spin(count: int) -> int:
        processes = [
            subprocess.Popen([sys.executable, "-c", _SPIN], stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        return sum(int(process.communicate()[0]) for process in processes)

    return spin(2) / spin(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--photos", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"mascot {mc.__version__}, {os.cpu_count()} cores, {options.photos} postcards, batches of 32")
    # Workers must find this module by its name.
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    ratios, spins = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "sample"
        write_sample(root, options.photos)
        print(sizes(root))
        with cluster("local", 2) as ray:
            print(f"ray {ray.__version__}; photographs a second")
            print("        one worker   two workers   ratio   two busy processes / one   whole run, s")
            for number in range(1, options.rounds + 1):
                spins.append(second_core())
                (one, one_s), (two, two_s) = measure(root, 1), measure(root, 2)
                ratios.append(two / one)
                rates = f"{one:11.2f} {two:13.2f} {ratios[-1]:7.2f} {spins[-1]:26.2f}"
                print(f"round {number} {rates}   {one_s:.1f}, {two_s:.1f}", flush=True)
    ratio = float(np.median(ratios))
    verdict = "passes" if ratio >= _BAR else "fails"
    print(f"median ratio {ratio:.2f}, bar {_BAR}: {verdict}")


if __name__ == "__main__":
    from benchmarks.ray import main as run  # so that workers find the classes by this name

    run()
