"""What one hostile file may cost, in CPU time and memory of its decoder: a busy machine changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from benchmarks import hostile
from engines_of_tests import SqliteSink
from jpegs import small_library

from mascot.photos.decoding import DecoderPool
from mascot.photos.images import Unreadable
from mascot.photos.limits import Limits
from mascot.scale.indexing import index_into

_SECONDS, _MEMORY_MB = 2.0, 400.0
_START_S, _START_MB = 10.0, 250.0  # what a decoder takes for itself

_MEASURE = f"""
import json, resource, sys
from pathlib import Path
from mascot.photos.decoding import DecoderPool
from mascot.photos.images import Unreadable
from mascot.photos.limits import Limits
reason = ""
with DecoderPool(Limits(max_megabytes=100, max_seconds=float(sys.argv[2]), max_memory_mb={_MEMORY_MB})) as decoders:
    try:
        decoders.read(Path(sys.argv[1]))
    except Unreadable as error:
        reason = str(error)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([reason, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")


@needs_linux
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("scans.jpg", "takes more than 2 seconds to decode (--max-seconds)"),
        ("deep.png", "needs more than 400 megabytes of memory to decode (--max-memory-mb)"),
        ("sparse.tif", "more than the 100 megabytes allowed (--max-megabytes)"),
        ("commas.jpg", ""),
        ("keywords.png", ""),
        ("more keywords.png", ""),
    ],
)
def test_a_file_costs_no_more_than_its_limits(name: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "sparse.tif":
        hostile.sparse_tiff(path)
    else:
        path.write_bytes(hostile.FILES[name]())
    # Only the file that is to break the limit of time has a short one: how busy the machine is must not decide.
    seconds = _SECONDS if "--max-seconds" in reason else 120
    command = [sys.executable, "-c", _MEASURE, str(path), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    measured, cpu_s, memory_mb = json.loads(done.stdout)
    assert measured == reason
    assert cpu_s < _SECONDS + _START_S
    assert memory_mb < _MEMORY_MB + _START_MB


@needs_linux
def test_indexing_into_an_engine_has_the_same_limits(tmp_path: Path) -> None:
    root = small_library(tmp_path / "photos")
    (root / "scans.jpg").write_bytes(hostile.many_scans())
    (root / "deep.png").write_bytes(hostile.deep_png(60))
    hostile.sparse_tiff(root / "sparse.tif")
    sink = SqliteSink(tmp_path / "sink.sqlite")
    summary = index_into(root, sink, BagOfWords(), max_seconds=1.0, max_memory_mb=100.0)
    sink.close()
    assert summary.photos == 30
    assert {item.path.name: item.reason for item in summary.skipped} == {
        "scans.jpg": "takes more than 1 seconds to decode (--max-seconds)",
        "deep.png": "needs more than 100 megabytes of memory to decode (--max-memory-mb)",
        "sparse.tif": "42950 megabytes, more than the 1000 allowed (--max-megabytes)",
    }


@needs_linux
def test_the_servers_conversion_has_the_same_limits(tmp_path: Path) -> None:
    (tmp_path / "deep.tif").write_bytes(hostile.deep_png(60))
    (tmp_path / "small.png").write_bytes(hostile.deep_png(1))
    with DecoderPool(Limits(max_memory_mb=100)) as decoders:
        with pytest.raises(Unreadable, match="needs more than 100 megabytes of memory"):
            decoders.convert(tmp_path / "deep.tif", 4096, 150)
        with pytest.raises(Unreadable, match=r"more than the 0\.5 allowed"):
            decoders.convert(tmp_path / "small.png", 4096, 0.5)
        assert decoders.convert(tmp_path / "small.png", 64, 150).startswith(b"\xff\xd8\xff")
