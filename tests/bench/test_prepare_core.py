"""What all recipes share: journals, many small tasks, pictures, splits and the end of a preparation."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image

from mascot.bench.datasets.folder import read_folder
from mascot.bench.prepare.outcomes import Journal, Loss, StepTally
from mascot.bench.prepare.preparation import Preparation, file_of, permutation
from mascot.bench.prepare.recipes import prepare
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, OptionError
from tests.bench.range_server import local_web


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


def run(out: Path, count: int, task: Callable[[int], None]) -> tuple[list[int], StepTally]:
    prep = Preparation("pixelprose", out, Web(), workers=1)
    rows = [{"id": str(i), "number": i} for i in range(count)]
    accepted = prep.gather(rows, "id", lambda row: task(row["number"]) or {"file": "none", "bytes": 0}, "step")
    return [row["number"] for row in accepted], prep.tallies[0]


def test_ctrl_c_does_not_wait_for_slow_tasks(tmp_path: Path) -> None:
    begun, release = threading.Event(), threading.Event()
    finished: list[int] = []

    def task(item: int) -> None:
        begun.set()
        release.wait(60)
        finished.append(item)

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 9, task)
    assert finished == []
    release.set()


@pytest.mark.parametrize(("first", "host"), [(0, "same"), (5, "{}")], ids=["all", "many hosts"])
def test_no_network_ends_the_run(tmp_path: Path, first: int, host: str) -> None:
    def task(item: int) -> None:
        if first <= item < 50:
            raise Loss("no answer", "refused", f"http://{host.format(item)}.example/x")

    with pytest.raises(InputError, match=r"the last 20 requests had no answer.*network up\?.*again to continue"):
        run(tmp_path, 1000, task)
    assert len((tmp_path / "work" / "pictures.jsonl").read_bytes().splitlines()) < 200
    # Those are tried again, and without a failure of their own they do not end the next run.
    assert run(tmp_path, 20, lambda item: None)[0] == list(range(20))
    # One dead server does not end a run.
    first, host = 5, "gone"
    assert run(tmp_path / "other", 60, task)[1].to_dict()["lost"] == {"no answer": 45}


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
        (picture(orientation=6), {}, (48, 64), False),
        (picture(mode="RGBA", format="PNG"), {}, (64, 48), False),
        (picture(mode="CMYK"), {}, (64, 48), False),
        (picture(), {"quality": 75}, (64, 48), False),
        (picture((1300, 600)), {}, (1024, 473), False),
        (picture((48, 64), orientation=6), {"turn": False}, (48, 64), False),
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
        turned = size == (48, 64) and options.get("turn", True)
        assert np.allclose(image.getpixel((40, 5) if turned else (5, 5)), (200, 0, 0), atol=12)
        if options.get("quality"):  # Pillow's default
            with Image.open(io.BytesIO(picture())) as default:
                assert image.quantization == default.quantization  # type: ignore[attr-defined]


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


def test_the_end_writes_sums_and_counts_and_removes_other_pictures(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in [*range(20), "after the limit", ".7.jpg.123"]:
        (tmp_path / "images" / f"{name}.jpg").write_text(str(name))
    rows = [{"id": f"{i}", "file": f"images/{i}.jpg", "caption": f"caption {i}"} for i in range(20)]
    prep = Preparation("pixelprose", tmp_path, Web(), 20, seed=3)
    with prep.tally("picture").item():
        raise Loss("dead link", "status 404")
    prep.finish(rows, ["id", "file"])
    stored = read_folder(tmp_path)
    assert stored.columns["id"].tolist() == [str(i) for i in permutation(20, 3)]
    digests = {f"images/{i}.jpg": hashlib.sha256(b"%d" % i).hexdigest() for i in range(20)}
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    assert (tmp_path / "images.sha256").read_text() == lines
    assert {f"images/{path.name}" for path in (tmp_path / "images").iterdir()} == set(digests)
    expected = {"file": "images.sha256", "sha256": hashlib.sha256(lines.encode()).hexdigest()}
    assert (stored.about["pictures"], stored.about["seed"], stored.about["limit"]) == (expected, 3, 20)
    assert stored.about["steps"][0] == {"step": "picture", "looked_at": 1, "kept": 0, "lost": {"dead link": 1}}


def test_validation_and_test_captions_are_sampled_by_a_seeded_permutation(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    rows = [{"id": f"{i}", "file": f"images/{i}.jpg", "caption": f"caption {i}"} for i in range(100)]
    for row in rows:
        (tmp_path / row["file"]).write_text(row["id"])
    Preparation("pixelprose", tmp_path, Web()).finish(rows, ["id", "file"], most=(5, 30))
    stored = read_folder(tmp_path)
    asked = [query.positives[0] for query in stored.queries]
    assert asked == sorted([*permutation(20, 42)[:5], *(20 + permutation(80, 42)[:30])])
    assert len(set(permutation(199, 42)[:50].tolist()) & set(range(50))) == 18  # as torch.randperm, and the study


def test_settings_that_are_none_are_refused(tmp_path: Path) -> None:
    refusals: list[tuple[str, Any, str]] = [
        ("coco", {}, "one of pixelprose, visual-genome, incidents1m, skyscript, got 'coco'"),
        ("pixelprose", {"shards": "x"}, "source of pixelprose must be one of hub, revision, got 'shards'"),
    ]
    for name, settings, words in refusals:
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
    for name, changes in (("skyscript", {}), ("visual-genome", {**options, "pictures": "x"})):
        with pytest.raises(InputError, match=r"was begun as visual-genome with .*another --out, or delete .*work"):
            prepare(name, tmp_path, web=local_web(retries=0), **changes)
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    with open(tmp_path / "work" / "lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being prepared by another process"):
            prepare("visual-genome", tmp_path, web=local_web(retries=0), **options)
