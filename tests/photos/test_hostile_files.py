"""One file cannot stop a run: it costs itself, within its limits of CPU time and memory, and nothing else."""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from pathlib import Path

import pytest
from benchmarks import hostile

import mascot as mc
from mascot.photos import Library
from mascot.photos.files import decoder_pool
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.files.reading import read, read_file
from mascot.photos.metadata import validate
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import CRASHING

deep_png = cache(partial(hostile.deep_png, 50))
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")


def test_long_metadata_is_cut_before_it_is_parsed(tmp_path: Path) -> None:
    for name in ("commas.jpg", "nested.png", "keywords.png"):
        content = hostile.FILES[name]()
        metadata = read(content).metadata
        assert len(metadata.keywords) <= validate.MOST_KEYWORDS
        assert len(metadata.camera or "") <= validate.LONGEST_LINE
        assert sum(map(len, metadata.problems)) < 10_000
    metadata = read(write_jpeg(tmp_path / "a.jpg", "word " * 3000).read_bytes()).metadata
    assert metadata.caption == ("word " * 2000).strip()
    assert metadata.problems == ("caption: only the first 10000 characters are used",)


@needs_linux
def test_files_that_break_their_decoder_are_skipped_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_pool, "_COMMAND", ("-I", "-c", CRASHING))
    root, deep_content = write_jpeg(tmp_path / "photos" / "good.jpg").parent, deep_png()
    (root / "scans.jpg").write_bytes(hostile.many_scans())
    for name in ("deep.png", "copy of deep.png"):
        (root / name).write_bytes(deep_content)
    hostile.sparse_tiff(root / "sparse.tif")
    write_jpeg(root / "crash.jpg", "this one ends its decoder")
    limits = {"max_seconds": 1.0, "max_memory_mb": 100.0}
    with Library.open(root) as library:
        done = library.index(BagOfWords(), **limits)
        assert done.photos == 1
        reasons = {item.path.name: item.reason for item in done.skipped}
        assert reasons == {
            "scans.jpg": "takes more than 1 seconds to decode (--max-seconds)",
            "deep.png": "needs more than 100 megabytes of memory to decode (--max-memory-mb)",
            "copy of deep.png": "needs more than 100 megabytes of memory to decode (--max-memory-mb)",
            "sparse.tif": "42950 megabytes, more than the 1000 allowed (--max-megabytes)",
            "crash.jpg": "crashes its decoder",
        }
        with monkeypatch.context() as context:  # nothing is tried again
            context.setattr(DecoderPool, "read", lambda *_: pytest.fail("a decoder was started"))
            again = library.index(BagOfWords(), **limits)
        assert {item.path.name: item.reason for item in again.skipped} == reasons
        write_jpeg(root / "crash.jpg", "another picture")  # changed: it is tried again
        os.utime(root / "crash.jpg", (1, 1))
        (root / "scans.jpg").unlink()
        larger = library.index(BagOfWords(), max_memory_mb=1000.0)
        assert {item.path.name for item in larger.skipped} == {"sparse.tif", "crash.jpg"}
        assert larger.photos == 3
        with pytest.raises(mc.OptionError, match="max_memory_mb must be > 0, got 0"):
            library.index(BagOfWords(), max_memory_mb=0)


@needs_linux
def test_searches_and_conversions_have_the_same_limits(tmp_path: Path) -> None:
    deep = tmp_path / "deep.png"
    deep.write_bytes(deep_png())
    with pytest.raises(mc.InputError, match=r"deep\.png: needs more than 100 megabytes"):
        read_file(deep, Limits(max_memory_mb=100))
    (tmp_path / "small.png").write_bytes(hostile.deep_png(1))
    with DecoderPool(Limits(max_memory_mb=100)) as decoders:
        with pytest.raises(Unreadable, match="needs more than 100 megabytes of memory"):
            decoders.convert(deep, 4096, 150)
        with pytest.raises(Unreadable, match=r"more than the 0\.5 allowed"):
            decoders.convert(tmp_path / "small.png", 4096, 0.5)
        assert decoders.convert(tmp_path / "small.png", 64, 150).startswith(b"\xff\xd8\xff")


def test_a_decoder_is_used_again_and_reads_no_modules_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.jpg").write_text("not a picture")
    picture = write_jpeg(tmp_path / "a.jpg", "a boat", taken="2019-07-14T10:00:00")
    with DecoderPool(Limits()) as decoders:
        for _ in range(2):
            with pytest.raises(mc.InputError, match="not an image"):
                decoders.read(tmp_path / "text.jpg")
            reading = decoders.read(picture)
            assert reading.metadata == read(picture.read_bytes()).metadata
            assert reading.image.tobytes() == read(picture.read_bytes()).image.tobytes()
        assert len(decoders._workers) == 1
