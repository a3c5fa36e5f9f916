"""What all recipes share: journals, many small tasks, pictures, splits and the end of a preparation."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image
from range_server import local_web
from worlds import files

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare.outcomes import Journal, Loss, Tally
from mascot.bench.prepare.preparation import Preparation, file_of, permutation
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, OptionError

# Journals


@pytest.mark.parametrize("torn", [b'["c",{"ok"', b"\0" * 40, b"\xff\xfe\n"])
def test_a_journal_keeps_the_last_of_a_key_and_a_torn_line_is_overwritten(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "deep" / "j.jsonl"
    with Journal(path) as journal:
        journal.put("a", {"ok": 1})
        journal.put("b\n\ud800é", {"ok": [None]})
        journal.put("a", {"ok": 2})
    good = path.read_bytes()
    path.write_bytes(good + torn)
    with Journal(path) as journal:
        assert journal.entries == {"a": {"ok": 2}, "b\n\ud800é": {"ok": [None]}}
        journal.put("b", {"ok": 2})
    assert path.read_bytes() == good + b'["b",{"ok":2}]\n'


# Outcomes


def run(out: Path, count: int, task: Callable[[int], None], workers: int = 4) -> tuple[list[int], Tally]:
    """The items for which a task succeeds, and the counts."""
    prep = Preparation("pixelprose", out, Web(), workers=workers)
    rows = [{"id": str(i), "number": i} for i in range(count)]
    accepted = prep.gather(rows, "id", lambda row: task(row["number"]) or {"file": "none", "bytes": 0}, "step")
    return [row["number"] for row in accepted], prep.tallies[0]


def silent_from(first: int, last: int, host: str) -> Callable[[int], None]:
    """A task whose server does not answer for some of the items."""

    def task(item: int) -> None:
        if first <= item < last:
            raise Loss("no answer", "refused", f"http://{host.format(item)}.example/x")

    return task


@pytest.mark.parametrize("task", [silent_from(0, 1000, "a"), silent_from(5, 1000, "{}")], ids=["all", "many hosts"])
def test_no_network_ends_the_run(tmp_path: Path, task: Callable[[int], None]) -> None:
    with pytest.raises(InputError, match=r"the last 20 requests had no answer.*network up\?.*again to continue"):
        run(tmp_path, 1000, task)
    assert len((tmp_path / "work" / "pictures.jsonl").read_bytes().splitlines()) < 200
    # Those are tried again, and without a failure of their own they do not end the next run.
    assert run(tmp_path, 20, lambda item: None)[0] == list(range(20))
    # One dead server does not end a run.
    assert run(tmp_path / "one", 60, silent_from(5, 50, "gone"))[1].to_dict()["lost"] == {"no answer": 45}


def test_another_exception_of_a_task_ends_the_run(tmp_path: Path) -> None:
    def task(item: int) -> None:
        if item == 3:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run(tmp_path, 10, task, 1)
    assert {"0", "1", "2"} <= set(Journal(tmp_path / "work" / "pictures.jsonl").entries)


def test_ctrl_c_does_not_wait_for_slow_tasks(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()

    def task(item: int) -> None:
        begun.set()
        release.wait(60)

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.3)  # until the run waits for its tasks
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 9, task, workers=3)
    assert time.monotonic() - begin < 40
    release.set()


# Pictures


def picture(size: tuple[int, int] = (64, 48), orientation: int = 1, mode: str = "RGB", format: str = "JPEG") -> bytes:
    """A picture with a red left upper quarter."""
    image, exif, stream = Image.new("RGB", size, "white"), Image.Exif(), io.BytesIO()
    image.paste((200, 0, 0), (0, 0, size[0] // 2, size[1] // 2))
    if orientation != 1:
        exif[ExifTags.Base.Orientation] = orientation
    image.convert(mode).save(stream, format, exif=exif)
    return stream.getvalue()


def bomb() -> bytes:
    """A PNG whose header promises 40,000 x 40,000 pixels."""
    data = bytearray(picture(format="PNG"))
    data[16:24] = (40_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "options", "size", "unchanged"),
    [
        (picture(), {}, (64, 48), True),
        (picture((3000, 1500)), {}, (1024, 512), False),
        (picture(orientation=6), {"longest": None}, (48, 64), False),
        (picture(mode="RGBA", format="PNG"), {}, (64, 48), False),
        (picture(mode="CMYK"), {}, (64, 48), False),
    ],
)
def test_pictures_become_upright_jpegs_that_are_small_enough(
    tmp_path: Path, data: bytes, options: dict[str, Any], size: tuple[int, int], unchanged: bool
) -> None:
    entry = Preparation("pixelprose", tmp_path, Web()).store(data, "a", **options)
    assert entry == {"file": "images/a.jpg", "bytes": (tmp_path / "images" / "a.jpg").stat().st_size}
    assert ((tmp_path / entry["file"]).read_bytes() == data) == unchanged
    with Image.open(tmp_path / entry["file"]) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", size, "RGB")
        assert image.getexif().get(ExifTags.Base.Orientation, 1) == 1
        assert np.allclose(image.getpixel((40, 5) if size == (48, 64) else (5, 5)), (200, 0, 0), atol=12)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<!DOCTYPE html><html><body>Not here</body></html>", "not a picture"),
        (picture()[:-200], "not a picture"),
        (bomb(), "not a picture"),
        (picture((31, 40)), r"too small \(31 x 40 pixels, below 32\)"),
    ],
    ids=["page", "truncated", "bomb", "small"],
)
def test_what_is_no_picture_is_not_stored(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(Loss, match=words):
        Preparation("pixelprose", tmp_path, Web()).store(data, "a", smallest=32)
    assert not list(tmp_path.iterdir())


def test_names_of_files_are_safe_and_distinct() -> None:
    odd = ["../../etc/passwd", "a b", "a-b", "a/b", "", "x" * 300, "x" * 301, "Ärger", "\ud800", "CON:1"]
    names = [file_of(name) for name in odd]
    assert len(set(names)) == len(odd)
    assert all(re.fullmatch(r"images/[\w-]*\.jpg", name, re.ASCII) for name in names)


# Splits and the end


def end(out: Path, count: int = 20, limit: int | None = None, **options: Any) -> None:
    """The end of a recipe that found `count` pictures, each with a query of its own."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (out / "images" / f"{i}.jpg").write_bytes(b"%d" % i)
    rows = [{"id": f"{i}", "file": f"images/{i}.jpg", "lat": i / 10, "caption": f"caption {i}"} for i in range(count)]
    prep = Preparation("pixelprose", out, Web(), limit, seed=3, settings={"gps": "whole"})
    tally = prep.tally("picture")
    tally.accepted = count
    with tally.item("http://a.example/`x`\n| y"):
        raise Loss("dead link", "status 404")
    prep.finish(rows, ["id", "file", "lat"], **options)


def test_the_end_writes_a_whole_dataset(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("after the limit.jpg", ".7.jpg.123"):
        (tmp_path / "images" / name).write_bytes(b"x")
    end(tmp_path, limit=20)
    stored = read_folder(tmp_path)
    assert stored.columns["id"].tolist() == [str(i) for i in permutation(20, 3)]
    digests = {f"images/{i}.jpg": hashlib.sha256(b"%d" % i).hexdigest() for i in range(20)}
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    assert (tmp_path / "images.sha256").read_text() == lines
    assert {f"images/{path.name}" for path in (tmp_path / "images").iterdir()} == set(digests)
    expected = {"file": "images.sha256", "sha256": hashlib.sha256(lines.encode()).hexdigest()}
    assert (stored.about["pictures"], stored.about["seed"], stored.about["limit"]) == (expected, 3, 20)
    report = (tmp_path / "report.md").read_text()
    assert "| picture | 21 | 20 | dead link 1 |" in report
    assert "- `http://a.example/'x' | y: status 404`" in report
    assert "20 images: 4 for validation, 16 for test. 20 queries. Seed 3" in report
    before = files(tmp_path)
    end(tmp_path, limit=20)
    assert files(tmp_path) == before


def test_queries_need_positives_in_both_splits(tmp_path: Path) -> None:
    order = permutation(20, 3).tolist()
    early, late = order[:4], order[4:]
    dog, apple, desk = early[:2] + late[:2], [early[0], *late[:5]], early + late[:1]
    queries = {"dog": dog, "apple": apple, "desk": desk, "sky": range(20), "none": ()}
    end(tmp_path, queries=queries, least=2)
    stored = read_folder(tmp_path)
    assert [query.text for query in stored.queries] == ["dog", "sky"]
    assert sorted(order[row] for row in stored.queries[0].positives) == sorted(dog)
    assert stored.about["steps"][-1]["lost"] == {"few positives": 3}
    with pytest.raises(InputError, match="no query has 30 positives in each split of 20 images"):
        end(tmp_path, queries=queries, least=30)
    with pytest.raises(InputError, match=r"at least 5 images .* got 3\n(.*\n)*.*dead link 1"):
        end(tmp_path, count=3)


# Recipes


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("coco", {}, "one of pixelprose, visual-genome, incidents1m, skyscript, got 'coco'"),
        ("pixelprose", {"shards": "x"}, "source or option of pixelprose must be one of hub, revision, .* got 'shards'"),
        ("visual-genome", {"fallback": "maybe"}, "fallback must be like True, got 'maybe'"),
        ("pixelprose", {"limit": 0}, "limit must be >= "),
    ],
)
def test_settings_that_are_none_are_refused(tmp_path: Path, name: str, settings: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        prepare(name, tmp_path, **settings)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "images" / "mine.jpg"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    with pytest.raises(InputError, match="is not empty, and no preparation was begun there; choose another --out"):
        prepare("visual-genome", tmp_path)
    assert mine.read_bytes() == b"mine"


def test_a_preparation_continues_only_as_it_was_begun_and_alone(tmp_path: Path) -> None:
    options: Any = {"images": "http://127.0.0.1:9/a", "objects": "http://127.0.0.1:9/b"}
    with pytest.raises(InputError, match=r"visual-genome: http://127.0.0.1:9/a: no answer .*again to continue"):
        prepare("visual-genome", tmp_path, web=local_web(retries=0), **options)
    for name, changes in (("skyscript", {}), ("visual-genome", {**options, "fallback": "false"})):
        with pytest.raises(InputError, match=r"was begun as visual-genome with .*another --out, or delete .*work"):
            prepare(name, tmp_path, web=local_web(retries=0), **changes)
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    with open(tmp_path / "work" / "lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being prepared by another process"):
            prepare("visual-genome", tmp_path, web=local_web(retries=0), **options)


def test_sources_must_be_public_addresses_or_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"private address \(127.0.0.1 is 127.0.0.1\); name another --source"):
        prepare("visual-genome", tmp_path / "a", web=Web(retries=0), images="http://127.0.0.1:9/a")
    with pytest.raises(InputError, match="source images must be a web address or a file, got 'nowhere'"):
        prepare("visual-genome", tmp_path / "b", images="nowhere")
