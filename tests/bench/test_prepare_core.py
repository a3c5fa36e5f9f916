"""What all recipes share: journals, crowds of small tasks, pictures, splits and the end of a preparation."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image

from mascot.bench.datasets.folder import Query, read_folder, splits
from mascot.bench.prepare import pictures
from mascot.bench.prepare import splits as prepared_splits
from mascot.bench.prepare.common import Common
from mascot.bench.prepare.crowd import Outcome, each
from mascot.bench.prepare.finish import Gathered, finish
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.recipes import NAMES, prepare, sources_of
from mascot.bench.prepare.tally import Tally
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, OptionError


def jpeg(size: tuple[int, int] = (64, 48), orientation: int = 1, mode: str = "RGB", format: str = "JPEG") -> bytes:
    """A picture with a red left upper quarter."""
    image = Image.new("RGB", size, "white")
    image.paste((200, 0, 0), (0, 0, size[0] // 2, size[1] // 2))
    exif = Image.Exif()
    if orientation != 1:
        exif[ExifTags.Base.Orientation] = orientation
    stream = io.BytesIO()
    image.convert(mode).save(stream, format, **({"exif": exif} if format == "JPEG" else {}))
    return stream.getvalue()


# Journals


def test_a_journal_remembers_and_the_last_word_counts(tmp_path: Path) -> None:
    with Journal(tmp_path / "deep" / "j.jsonl") as journal:
        journal.put("a", {"ok": 1})
        journal.put("b\n\ud800é", [None])
        journal.put("a", {"ok": 2})
    assert Journal(tmp_path / "deep" / "j.jsonl").known == {"a": {"ok": 2}, "b\n\ud800é": [None]}


@pytest.mark.parametrize("torn", [b'["c",{"ok"', b'["c",3]', b"\0" * 40, b"[]\n", b"{}\n", b"[1,2]\n", b"\xff\xfe\n"])
def test_a_torn_line_is_overwritten(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.put("a", 1)
    good = path.read_bytes()
    path.write_bytes(good + torn)
    with Journal(path) as journal:
        assert journal.known == {"a": 1}
        journal.put("b", 2)
    assert path.read_bytes() == good + b'["b",2]\n'


def test_what_was_put_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    code = (
        "import os, signal, sys; from pathlib import Path; from mascot.bench.prepare.journal import Journal\n"
        f"journal = Journal(Path({str(path)!r}))\n"
        "for i in range(500): journal.put(str(i), i)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert Journal(path).known == {str(i): i for i in range(500)}


# Crowds


def run(
    path: Path, items: list[int], do: Callable[[int], dict[str, Any]], workers: int = 4, **rest: Any
) -> list[Outcome[int]]:
    with Journal(path) as journal:
        return each(items, str, do, journal, workers, **rest)


def test_outcomes_come_in_the_order_of_the_items(tmp_path: Path) -> None:
    def do(item: int) -> dict[str, Any]:
        time.sleep(0.02 * (item % 3 == 0))
        if item % 5 == 0:
            raise Lost("dead link", "404")
        return {"twice": 2 * item}

    seen: list[tuple[int, int | None]] = []
    found = run(tmp_path / "j", list(range(30)), do, report=lambda done, total: seen.append((done, total)))
    assert [outcome.item for outcome in found] == list(range(30))
    assert [outcome.found["twice"] for outcome in found if outcome.found] == [2 * i for i in range(30) if i % 5]
    assert {outcome.lost.reason for outcome in found if outcome.lost} == {"dead link"}
    assert seen == [(done, 30) for done in range(1, 31)]


def test_what_is_known_is_not_done_again_but_no_answer_is(tmp_path: Path) -> None:
    done: list[int] = []

    def do(item: int) -> dict[str, Any]:
        done.append(item)
        if item == 1:
            raise Lost("dead link")
        if item == 2 and len(done) <= 3:
            raise Lost("no answer", "down")
        return {}

    with Journal(tmp_path / "j") as journal:
        assert [o.lost.reason if o.lost else "" for o in each([0, 1, 2], str, do, journal, 1)] == [
            "", "dead link", "no answer",
        ]  # fmt: skip
        each([0, 1, 2], str, do, journal, 1)
    assert done == [0, 1, 2]  # not twice in one run
    again = run(tmp_path / "j", [0, 1, 2, 3], do, 1)
    assert done == [0, 1, 2, 2, 3]
    assert again[2].found == {}


def test_what_is_no_longer_valid_is_done_again(tmp_path: Path) -> None:
    run(tmp_path / "j", [1, 2], lambda item: {"n": item})
    done: list[int] = []
    run(tmp_path / "j", [1, 2], lambda item: {"n": done.append(item)}, valid=lambda found: found["n"] != 2)  # type: ignore[func-returns-value]
    assert done == [2]


@pytest.mark.parametrize("workers", [1, 7])
def test_enough_means_the_first_in_order(tmp_path: Path, workers: int) -> None:
    def do(item: int) -> dict[str, Any]:
        time.sleep(0.03 if item in (1, 8) else 0)
        if item % 2 == 0:
            raise Lost("dead link")
        return {}

    found = run(tmp_path / "j", list(range(1000)), do, workers, enough=5)
    assert [outcome.item for outcome in found] == list(range(10))
    assert len(Journal(tmp_path / "j").known) < 200  # how many are under way is up to the threads
    more = run(tmp_path / "j", list(range(1000)), do, workers, enough=10)
    assert [outcome.item for outcome in more] == list(range(20))
    assert [outcome.item for outcome in run(tmp_path / "j", list(range(12)), do, workers, enough=99)] == list(range(12))
    assert run(tmp_path / "j", [], do, workers) == []


def test_no_network_at_all_ends_the_run(tmp_path: Path) -> None:
    done: list[int] = []

    def do(item: int) -> dict[str, Any]:
        done.append(item)
        raise Lost("no answer", "refused", "http://a.example/x")

    with pytest.raises(InputError, match=r"the last 20 requests had no answer.*network up\?.*again to go on"):
        run(tmp_path / "j", list(range(1000)), do)
    assert len(done) < 60
    # Those are tried again, and without an excuse of their own they do not end the next run.
    found = run(tmp_path / "j", list(range(20)), lambda item: {})
    assert all(outcome.found == {} for outcome in found)


def test_one_dead_server_does_not_end_the_run_but_many_do(tmp_path: Path) -> None:
    def one(item: int) -> dict[str, Any]:
        if 5 <= item < 50:
            raise Lost("no answer", "refused", "http://gone.example/x")
        return {}

    assert len(run(tmp_path / "one", list(range(60)), one)) == 60

    def many(item: int) -> dict[str, Any]:
        if item >= 5:
            raise Lost("no answer", "refused", f"http://{item}.example/x")
        return {}

    with pytest.raises(InputError, match="the last 20 requests"):
        run(tmp_path / "many", list(range(100)), many, 1)


def test_a_mistake_in_a_task_is_not_swallowed(tmp_path: Path) -> None:
    def do(item: int) -> dict[str, Any]:
        if item == 3:
            raise OSError(28, "No space left on device")
        return {}

    with pytest.raises(OSError, match="No space left"):
        run(tmp_path / "j", list(range(10)), do, 1)
    assert set(Journal(tmp_path / "j").known) == {"0", "1", "2"}


def test_items_need_names_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got '4' twice"):
        run(tmp_path / "j", [3, 4, 4], lambda item: {})


def test_ctrl_c_does_not_wait_for_slow_tasks(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path; from mascot.bench.prepare.crowd import each\n"
        "from mascot.bench.prepare.journal import Journal\n"
        "def do(i):\n"
        "    print('begun', flush=True); time.sleep(60); return {}\n"
        f"each(range(9), str, do, Journal(Path({str(tmp_path / 'j')!r})), 3)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert b"KeyboardInterrupt" in said


# Pictures


def test_a_small_upright_jpeg_stays_as_it_is(tmp_path: Path) -> None:
    for mode in ("RGB", "L"):
        data = jpeg(mode=mode)
        assert pictures.save(data, tmp_path / "deep" / "a.jpg") == (64, 48)
        assert (tmp_path / "deep" / "a.jpg").read_bytes() == data
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.jpg"]


def test_a_large_one_is_made_smaller(tmp_path: Path) -> None:
    assert pictures.save(jpeg((3000, 1500)), tmp_path / "a.jpg") == (1024, 512)
    with Image.open(tmp_path / "a.jpg") as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (1024, 512))
        red, white = image.getpixel((10, 10)), image.getpixel((1000, 500))
    assert np.allclose(red, (200, 0, 0), atol=6)
    assert np.allclose(white, (255, 255, 255), atol=6)
    data = jpeg((3000, 1500))
    assert pictures.save(data, tmp_path / "b.jpg", longest=None) == (3000, 1500)
    assert (tmp_path / "b.jpg").read_bytes() == data


def test_a_turned_one_is_set_upright(tmp_path: Path) -> None:
    assert pictures.save(jpeg(orientation=6), tmp_path / "a.jpg", longest=None) == (48, 64)
    with Image.open(tmp_path / "a.jpg") as image:
        assert image.size == (48, 64)
        assert image.getexif().get(ExifTags.Base.Orientation, 1) == 1
        assert np.allclose(image.getpixel((40, 5)), (200, 0, 0), atol=12)  # left upper, turned clockwise


@pytest.mark.parametrize(
    ("mode", "format"), [("RGB", "PNG"), ("RGBA", "PNG"), ("P", "PNG"), ("RGB", "WEBP"), ("CMYK", "JPEG")]
)
def test_other_formats_become_rgb_jpegs(tmp_path: Path, mode: str, format: str) -> None:
    pictures.save(jpeg(mode=mode, format=format), tmp_path / "a.jpg")
    with Image.open(tmp_path / "a.jpg") as image:
        assert (image.format, image.mode) == ("JPEG", "RGB")


def bomb() -> bytes:
    """A PNG whose header promises 40,000 x 40,000 pixels."""
    data = bytearray(jpeg(format="PNG"))
    data[16:24] = (40_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"<!DOCTYPE html><html><body>Not here</body></html>", jpeg()[:-200], jpeg()[:100], bomb(), os.urandom(5000)],
    ids=["empty", "page", "truncated", "head alone", "bomb", "noise"],
)  # fmt: skip
def test_what_is_no_picture_is_not_stored(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Lost) as caught:
        pictures.save(data, tmp_path / "a.jpg")
    assert caught.value.reason == "not a picture"
    assert not list(tmp_path.iterdir())


def test_pictures_can_be_saved_by_many_threads(tmp_path: Path) -> None:
    data = jpeg((1500, 900), orientation=3)
    threads = [threading.Thread(target=pictures.save, args=(data, tmp_path / f"{i}.jpg")) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    assert len(list(tmp_path.iterdir())) == 8


def test_names_of_files_are_safe_and_distinct() -> None:
    odd = ["../../etc/passwd", "a b", "a-b", "a/b", "", "x" * 300, "x" * 301, "Ärger", "\ud800", "CON:1"]
    files = [pictures.file_of(name) for name in odd]
    assert len(set(files)) == len(odd)
    for file in files:
        assert file.startswith("images/")
        assert file.count("/") == 1
        assert len(file) < 120
        file.encode("ascii")


# Splits and the end


def test_the_published_sizes_of_the_splits() -> None:
    for count, validation in ((996, 199), (683, 136), (26_517, 5_303), (15_650, 3_130)):
        assert prepared_splits.validation(count) == validation
    assert sorted(prepared_splits.order(996, 0)) == list(range(996))
    assert (prepared_splits.order(996, 0) == prepared_splits.order(996, 0)).all()
    assert (prepared_splits.order(996, 0) != prepared_splits.order(996, 1)).any()
    assert prepared_splits.order(8, 0).tolist() == np.random.default_rng(0).permutation(8).tolist()


def gathered(out: Path, count: int = 20, **rest: Any) -> Gathered:
    (out / "images").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (out / "images" / f"{i}.jpg").write_bytes(jpeg((8 + i, 8)))
    columns = {
        "id": [str(i) for i in range(count)],
        "file": [f"images/{i}.jpg" for i in range(count)],
        "lat": [i / 10 for i in range(count)],
    }
    tally = Tally("picture", kept=count)
    tally.lose(Lost("dead link", "status 404"), "http://a.example/`x`\n| y")
    queries = [Query(f"caption {i}", (i,)) for i in range(count)]
    return Gathered(columns, queries, [tally], {"list": {"url": "http://a.example", "sha256": "0"}}, **rest)


def test_the_end_writes_a_whole_dataset(tmp_path: Path) -> None:
    found = gathered(tmp_path, by_row=True)
    (tmp_path / "images" / "behind the limit.jpg").write_bytes(b"x")
    (tmp_path / "images" / ".7.jpg.part").write_bytes(b"x")
    finish(tmp_path, "pixelprose", found, Common(Web(), limit=20, seed=3))
    stored = read_folder(tmp_path)
    order = prepared_splits.order(20, 3)
    assert stored.columns["id"].tolist() == [str(i) for i in order]
    assert stored.columns["lat"].tolist() == [i / 10 for i in order]
    assert [(query.text, query.positives) for query in stored.queries] == [
        (f"caption {item}", (row,)) for row, item in enumerate(order)
    ]
    assert stored.validation == 4
    assert [len(rows) for rows, _ in splits(stored).values()] == [4, 16]
    assert len(list((tmp_path / "images").iterdir())) == 20
    assert stored.about["recipe"] == "pixelprose"
    assert (stored.about["seed"], stored.about["limit"]) == (3, 20)
    assert stored.about["sources"] == {"list": {"url": "http://a.example", "sha256": "0"}}
    assert stored.about["steps"][0] == {
        "step": "picture", "looked_at": 21, "kept": 20, "lost": {"dead link": 1},
    }  # fmt: skip
    assert set(stored.about["versions"]) == {"mascot", "numpy", "pillow", "pyarrow"}
    lines = (tmp_path / "images.sha256").read_text().splitlines()
    assert stored.about["pictures"]["sha256"] == hashlib.sha256((tmp_path / "images.sha256").read_bytes()).hexdigest()
    assert len(lines) == 20
    for line in lines:
        found_hash, file = line.split("  ")
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == found_hash
    report = (tmp_path / "report.md").read_text()
    assert "| picture | 21 | 20 | dead link 1 |" in report
    assert "- `http://a.example/'x' | y: status 404`" in report
    assert "20 images, the first 20 by --limit: 4 for validation, 16 for the test (seed 3). 20 queries." in report


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        finish(tmp_path / name, "skyscript", gathered(tmp_path / name), Common(Web()))
        finish(tmp_path / name, "skyscript", gathered(tmp_path / name), Common(Web()))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) == 25
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_queries_need_positives_in_both_splits(tmp_path: Path) -> None:
    found = gathered(tmp_path)
    order = prepared_splits.order(20, 0).tolist()
    early, late = order[:4], order[4:]
    queries = [
        Query("dog", tuple(early[:2] + late[:2])),
        Query("apple", (early[0], *late[:5])),
        Query("desk", tuple(early + late[:1])),
        Query("sky", tuple(range(20))),
        Query("none", ()),
    ]
    finish(tmp_path, "visual-genome", Gathered(found.columns, queries, found.tallies, {}, least=2), Common(Web()))
    stored = read_folder(tmp_path)
    assert [query.text for query in stored.queries] == ["dog", "sky"]
    assert sorted(order[row] for row in stored.queries[0].positives) == sorted(early[:2] + late[:2])
    assert stored.about["steps"][-1] == {
        "step": "queries", "looked_at": 5, "kept": 2, "lost": {"few positives": 3},
    }  # fmt: skip
    with pytest.raises(InputError, match="no query has 30 positives in each split of 20 images"):
        finish(tmp_path, "visual-genome", Gathered(found.columns, queries, [], {}, least=30), Common(Web()))


def test_too_few_images_say_what_was_lost(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"at least 5 images .* got 3\n(.*\n)*.*dead link 1"):
        finish(tmp_path, "pixelprose", gathered(tmp_path, 3), Common(Web()))


def test_tallies_add_up() -> None:
    whole = Tally("rows")
    for shard in range(3):
        tally = Tally("rows", kept=2)
        tally.lose_all(Lost("no time"), 1000, (f"{shard} row {i}" for i in range(1000)))
        tally.lose_all(Lost("no place"), 0, ("never",))
        if shard:
            tally.lose(Lost("out of range", "97"), f"{shard} row x")
        whole.add(json.loads(json.dumps(tally.to_dict())))
    assert (whole.looked, whole.kept, whole.lost) == (3008, 6, {"no time": 3000, "out of range": 2})
    assert whole.examples == {
        "no time": [f"0 row {i}" for i in range(5)],
        "out of range": ["1 row x: 97", "2 row x: 97"],
    }


def test_reasons_are_of_a_fixed_vocabulary() -> None:
    assert str(Lost("dead link", "status 404", "http://a.example/b")) == "http://a.example/b: dead link (status 404)"
    with pytest.raises(OptionError, match=r"Lost\.reason must be one of dead link, no answer"):
        Lost("whatever")


# Recipes


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_says_where_its_sources_are(name: str) -> None:
    sources = sources_of(name)
    assert sources
    for source, default in sources.items():
        assert source.isidentifier()
        assert default is None or isinstance(default, (str, float, Path))


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="one of pixelprose, visual-genome, incidents1m, skyscript, got 'coco'"):
        prepare("coco", tmp_path)
    with pytest.raises(OptionError, match="a source of pixelprose must be one of listing, files, got 'shards'"):
        prepare("pixelprose", tmp_path, shards="x")
    for wrong in ({"limit": 0}, {"workers": 0}, {"seed": -1}):
        with pytest.raises(OptionError, match=f"{next(iter(wrong))} must be >= "):
            prepare("pixelprose", tmp_path, **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "mine.jpg").write_bytes(b"mine")
    with pytest.raises(InputError, match="is not empty, and no preparation was begun there; choose another --out"):
        prepare("pixelprose", tmp_path)
    assert (tmp_path / "images" / "mine.jpg").read_bytes() == b"mine"
    finish(tmp_path / "other", "skyscript", gathered(tmp_path / "other"), Common(Web()))
    with pytest.raises(InputError, match="holds another dataset, 'skyscript'"):
        prepare("pixelprose", tmp_path / "other")


def test_a_preparation_goes_on_only_as_it_was_begun(tmp_path: Path) -> None:
    web = Web(retries=0)
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(InputError, match=r"pixelprose: http://127.0.0.1:9: no answer .*again to go on"):
        prepare("pixelprose", tmp_path, web=web, listing=nowhere)
    with pytest.raises(InputError, match=r"was begun as pixelprose from .*choose another --out, or delete .*work"):
        prepare("visual-genome", tmp_path, web=web)
    with pytest.raises(InputError, match="was begun as pixelprose"):
        prepare("pixelprose", tmp_path, web=web, listing="http://127.0.0.1:8")


def test_one_preparation_of_a_folder_at_a_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    (tmp_path / "work").mkdir()
    with open(tmp_path / "work" / "lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being prepared by another process"):
            prepare("pixelprose", tmp_path, web=Web(retries=0), listing="http://127.0.0.1:9")
