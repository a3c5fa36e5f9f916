"""What all recipes share: journals, many small tasks, pictures, splits and the end of a preparation."""

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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image
from range_server import local_web

from mascot.bench.datasets.folder import read_folder, splits
from mascot.bench.prepare import pictures
from mascot.bench.prepare.outcomes import Journal, Loss, Tally, run_all
from mascot.bench.prepare.preparation import Preparation, permutation
from mascot.bench.prepare.recipes import RECIPES, options_of, prepare, settings_of
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
        journal.put("b\n\ud800é", {"ok": [None]})
        journal.put("a", {"ok": 2})
    assert Journal(tmp_path / "deep" / "j.jsonl").entries == {"a": {"ok": 2}, "b\n\ud800é": {"ok": [None]}}


@pytest.mark.parametrize("torn", [b'["c",{"ok"', b'["c",3]', b"\0" * 40, b"[]\n", b"{}\n", b"\xff\xfe\n"])
def test_a_torn_line_is_overwritten(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.put("a", {"ok": 1})
    good = path.read_bytes()
    path.write_bytes(good + torn)
    with Journal(path) as journal:
        assert journal.entries == {"a": {"ok": 1}}
        journal.put("b", {"ok": 2})
    assert path.read_bytes() == good + b'["b",{"ok":2}]\n'


def test_what_was_put_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    code = (
        "import os, signal, sys; from pathlib import Path; from mascot.bench.prepare.outcomes import Journal\n"
        f"journal = Journal(Path({str(path)!r}))\n"
        "for i in range(500): journal.put(str(i), {'ok': i})\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert Journal(path).entries == {str(i): {"ok": i} for i in range(500)}


# Outcomes


def run(
    path: Path, items: list[int], task: Callable[[int], dict[str, Any]], workers: int = 4, **options: Any
) -> list[tuple[int, dict[str, Any]]]:
    with Journal(path) as journal:
        return run_all(items, str, task, journal, workers=workers, **options)


def test_outcomes_are_in_the_order_of_the_items(tmp_path: Path) -> None:
    def task(item: int) -> dict[str, Any]:
        time.sleep(0.02 * (item % 3 == 0))
        if item % 5 == 0:
            raise Loss("dead link", "404")
        return {"twice": 2 * item}

    progress: list[tuple[int, int | None]] = []
    outcomes = run(tmp_path / "j", list(range(30)), task, report=lambda count, total: progress.append((count, total)))
    assert [item for item, _ in outcomes] == list(range(30))
    assert [entry["ok"]["twice"] for _, entry in outcomes if "ok" in entry] == [2 * i for i in range(30) if i % 5]
    assert {entry["lost"] for _, entry in outcomes if "lost" in entry} == {"dead link"}
    assert progress == [(count, 30) for count in range(1, 31)]


def test_a_result_is_final_but_no_answer_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    calls: list[int] = []

    def task(item: int) -> dict[str, Any]:
        calls.append(item)
        if item == 1:
            raise Loss("dead link")
        if item == 2 and len(calls) <= 3:
            raise Loss("no answer", "down")
        return {}

    with Journal(tmp_path / "j") as journal:
        outcomes = run_all([0, 1, 2], str, task, journal, workers=1)
        assert [entry.get("lost") for _, entry in outcomes] == [None, "dead link", "no answer"]
        run_all([0, 1, 2], str, task, journal, workers=1)
    assert calls == [0, 1, 2]  # not twice in one run
    again = run(tmp_path / "j", [0, 1, 2, 3], task, 1)
    assert calls == [0, 1, 2, 2, 3]
    assert again[2][1] == {"ok": {}}


def test_a_result_that_does_not_hold_any_more_is_made_again(tmp_path: Path) -> None:
    run(tmp_path / "j", [1, 2], lambda item: {"n": item})
    calls: list[int] = []

    def task(item: int) -> dict[str, Any]:
        calls.append(item)
        return {"n": item}

    run(tmp_path / "j", [1, 2], task, valid=lambda value: value["n"] != 2)
    assert calls == [2]


@pytest.mark.parametrize("workers", [1, 7])
def test_enough_are_the_first_in_order(tmp_path: Path, workers: int) -> None:
    def task(item: int) -> dict[str, Any]:
        time.sleep(0.03 if item in (1, 8) else 0)
        if item % 2 == 0:
            raise Loss("dead link")
        return {}

    outcomes = run(tmp_path / "j", list(range(1000)), task, workers, enough=5)
    assert [item for item, _ in outcomes] == list(range(10))
    assert len(Journal(tmp_path / "j").entries) == 10  # no task runs in vain
    more = run(tmp_path / "j", list(range(1000)), task, workers, enough=10)
    assert [item for item, _ in more] == list(range(20))
    assert [item for item, _ in run(tmp_path / "j", list(range(12)), task, workers, enough=99)] == list(range(12))
    assert run(tmp_path / "j", [], task, workers) == []


def test_no_network_at_all_ends_the_run(tmp_path: Path) -> None:
    calls: list[int] = []

    def task(item: int) -> dict[str, Any]:
        calls.append(item)
        raise Loss("no answer", "refused", "http://a.example/x")

    with pytest.raises(InputError, match=r"the last 20 requests had no answer.*network up\?.*again to continue"):
        run(tmp_path / "j", list(range(1000)), task)
    assert len(calls) < 200
    # Those are tried again, and without a failure of their own they do not end the next run.
    assert all(entry == {"ok": {}} for _, entry in run(tmp_path / "j", list(range(20)), lambda item: {}))


def test_one_dead_server_does_not_end_the_run_but_many_do(tmp_path: Path) -> None:
    def dead_server(item: int) -> dict[str, Any]:
        if 5 <= item < 50:
            raise Loss("no answer", "refused", "http://gone.example/x")
        return {}

    assert len(run(tmp_path / "one", list(range(60)), dead_server)) == 60

    def dead_servers(item: int) -> dict[str, Any]:
        if item >= 5:
            raise Loss("no answer", "refused", f"http://{item}.example/x")
        return {}

    with pytest.raises(InputError, match="the last 20 requests"):
        run(tmp_path / "many", list(range(100)), dead_servers, 1)


def test_another_exception_of_a_task_ends_the_run(tmp_path: Path) -> None:
    def task(item: int) -> dict[str, Any]:
        if item == 3:
            raise OSError(28, "No space left on device")
        return {}

    with pytest.raises(OSError, match="No space left"):
        run(tmp_path / "j", list(range(10)), task, 1)
    assert {"0", "1", "2"} <= set(Journal(tmp_path / "j").entries)


def test_items_need_unique_keys(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 items must have unique keys"):
        run(tmp_path / "j", [3, 4, 4], lambda item: {})


def test_ctrl_c_does_not_wait_for_slow_tasks(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path; from mascot.bench.prepare.outcomes import Journal, run_all\n"
        "def task(i):\n"
        "    print('begun', flush=True); time.sleep(60); return {}\n"
        f"run_all(range(9), str, task, Journal(Path({str(tmp_path / 'j')!r})), workers=3)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=40)  # a task sleeps for 60 s
    finally:
        process.kill()
        process.wait()
    assert b"KeyboardInterrupt" in errors


# Pictures


def store(data: bytes, out: Path, id_: str = "a", **options: Any) -> tuple[int, int]:
    """The size of the picture that was stored."""
    entry = pictures.store(data, out, id_, **options)
    assert pictures.exists(out, entry)
    with Image.open(out / entry["file"]) as image:
        return image.size


def test_a_picture_below_the_smallest_side_is_lost(tmp_path: Path) -> None:
    assert store(jpeg((32, 40)), tmp_path, smallest=32) == (32, 40)
    with pytest.raises(Loss, match=r"too small \(31 x 40 pixels, below 32\)"):
        store(jpeg((31, 40)), tmp_path, smallest=32)


def test_a_small_upright_jpeg_stays_as_it_is(tmp_path: Path) -> None:
    for mode in ("RGB", "L"):
        data = jpeg(mode=mode)
        assert store(data, tmp_path / "deep") == (64, 48)
        assert (tmp_path / "deep" / "images" / "a.jpg").read_bytes() == data
    assert [path.name for path in (tmp_path / "deep" / "images").iterdir()] == ["a.jpg"]


def test_a_large_one_is_made_smaller(tmp_path: Path) -> None:
    assert store(jpeg((3000, 1500)), tmp_path) == (1024, 512)
    with Image.open(tmp_path / "images" / "a.jpg") as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (1024, 512))
        red, white = image.getpixel((10, 10)), image.getpixel((1000, 500))
    assert np.allclose(red, (200, 0, 0), atol=6)
    assert np.allclose(white, (255, 255, 255), atol=6)
    data = jpeg((3000, 1500))
    assert store(data, tmp_path, "b", longest=None) == (3000, 1500)
    assert (tmp_path / "images" / "b.jpg").read_bytes() == data


def test_a_turned_one_is_set_upright(tmp_path: Path) -> None:
    assert store(jpeg(orientation=6), tmp_path, longest=None) == (48, 64)
    with Image.open(tmp_path / "images" / "a.jpg") as image:
        assert image.size == (48, 64)
        assert image.getexif().get(ExifTags.Base.Orientation, 1) == 1
        assert np.allclose(image.getpixel((40, 5)), (200, 0, 0), atol=12)  # left upper, turned clockwise


@pytest.mark.parametrize(
    ("mode", "format"), [("RGB", "PNG"), ("RGBA", "PNG"), ("P", "PNG"), ("RGB", "WEBP"), ("CMYK", "JPEG")]
)
def test_other_formats_become_rgb_jpegs(tmp_path: Path, mode: str, format: str) -> None:
    store(jpeg(mode=mode, format=format), tmp_path)
    with Image.open(tmp_path / "images" / "a.jpg") as image:
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
    with pytest.raises(Loss) as caught:
        store(data, tmp_path)
    assert caught.value.reason == "not a picture"
    assert not list(tmp_path.iterdir())


def test_pictures_can_be_saved_by_many_threads(tmp_path: Path) -> None:
    data = jpeg((1500, 900), orientation=3)
    threads = [threading.Thread(target=pictures.store, args=(data, tmp_path, str(i))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = list((tmp_path / "images").iterdir())
    assert len({path.read_bytes() for path in stored}) == 1
    assert len(stored) == 8


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


# As torch 2.13 prints `torch.randperm(12, generator=torch.Generator().manual_seed(42))`.
RANDPERM = [6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9]


def test_the_split_is_that_of_torch_or_numpy() -> None:
    assert permutation(12, 42).tolist() == RANDPERM
    assert permutation(8, 0, "numpy").tolist() == np.random.default_rng(0).permutation(8).tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 683, 996, 15_650, 26_517])
def test_the_split_is_that_of_torch_at_every_size(count: int) -> None:
    torch = pytest.importorskip("torch")
    for seed in (0, 42, 12345):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
        assert permutation(count, seed).tolist() == order


def end(out: Path, name: str = "pixelprose", count: int = 20, limit: int | None = None, **options: Any) -> None:
    """The end of a recipe that found `count` pictures, each with a query of its own."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (out / "images" / f"{i}.jpg").write_bytes(jpeg((8 + i, 8)))
    rows = [{"id": f"{i}", "file": f"images/{i}.jpg", "lat": i / 10, "caption": f"caption {i}"} for i in range(count)]
    prep = Preparation(name, out, Web(), limit, seed=3, settings={"gps": "whole"})
    prep.sources["list"] = {"url": "http://a.example", "sha256": "0"}
    prep.notes.append("20 rows")
    tally = prep.tally("picture")
    tally.accepted = count
    with tally.item("http://a.example/`x`\n| y"):
        raise Loss("dead link", "status 404")
    prep.finish(rows, ["id", "file", "lat"], **options)


def test_the_end_writes_a_whole_dataset(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "behind the limit.jpg").write_bytes(b"x")
    (tmp_path / "images" / ".7.jpg.123").write_bytes(b"x")
    end(tmp_path, limit=20)
    stored = read_folder(tmp_path)
    order = permutation(20, 3)
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
    assert stored.about["settings"] == {"gps": "whole"}
    assert stored.about["notes"] == ["20 rows"]
    assert stored.about["sources"] == {"list": {"url": "http://a.example", "sha256": "0"}}
    assert stored.about["steps"][0] == {
        "step": "picture", "looked_at": 21, "kept": 20, "lost": {"dead link": 1},
    }  # fmt: skip
    assert set(stored.about["versions"]) == {"mascot", "numpy", "pillow", "pyarrow"}
    lines = (tmp_path / "images.sha256").read_text().splitlines()
    assert stored.about["pictures"]["sha256"] == hashlib.sha256((tmp_path / "images.sha256").read_bytes()).hexdigest()
    assert len(lines) == 20
    for line in lines:
        digest, file = line.split("  ")
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == digest
    report = (tmp_path / "report.md").read_text()
    assert "| picture | 21 | 20 | dead link 1 |" in report
    assert "- `http://a.example/'x' | y: status 404`" in report
    assert "20 images: 4 for validation, 16 for test. 20 queries. Seed 3" in report


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        end(tmp_path / name, "skyscript")
        end(tmp_path / name, "skyscript")
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) == 25
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_queries_need_positives_in_both_splits(tmp_path: Path) -> None:
    order = permutation(20, 3).tolist()
    early, late = order[:4], order[4:]
    queries = {
        "dog": early[:2] + late[:2],
        "apple": [early[0], *late[:5]],
        "desk": early + late[:1],
        "sky": range(20),
        "none": (),
    }
    end(tmp_path, "visual-genome", queries=queries, least=2)
    stored = read_folder(tmp_path)
    assert [query.text for query in stored.queries] == ["dog", "sky"]
    assert sorted(order[row] for row in stored.queries[0].positives) == sorted(early[:2] + late[:2])
    assert stored.about["steps"][-1] == {
        "step": "queries", "looked_at": 5, "kept": 2, "lost": {"few positives": 3},
    }  # fmt: skip
    with pytest.raises(InputError, match="no query has 30 positives in each split of 20 images"):
        end(tmp_path, "visual-genome", queries=queries, least=30)


def test_test_queries_are_a_seeded_sample(tmp_path: Path) -> None:
    end(tmp_path, most=5)
    stored = read_folder(tmp_path)
    rows = [query.positives[0] for query in stored.queries]
    assert sum(row >= stored.validation for row in rows) == 5
    assert sum(row < stored.validation for row in rows) == stored.validation  # validation is not cut
    end(tmp_path, most=5)
    assert [query.text for query in read_folder(tmp_path).queries] == [query.text for query in stored.queries]
    end(tmp_path, most=1000)
    assert len(read_folder(tmp_path).queries) == 20


def test_too_few_images_say_what_was_lost(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"at least 5 images .* got 3\n(.*\n)*.*dead link 1"):
        end(tmp_path, count=3)


def test_tallies_add_up() -> None:
    total = Tally("rows")
    for shard in range(3):
        tally = Tally("rows")
        for row in range(9):
            with tally.item(f"{shard} row {row}"):
                if row < 2:
                    raise Loss("no time")
                if shard and row == 5:
                    raise Loss("out of range", "97")
        total.add(json.loads(json.dumps(asdict(tally))))
    assert total.to_dict() == {
        "step": "rows", "looked_at": 27, "kept": 19, "lost": {"no time": 6, "out of range": 2},
    }  # fmt: skip
    assert total.examples == {
        "no time": ["0 row 0", "0 row 1", "1 row 0", "1 row 1", "2 row 0"],
        "out of range": ["1 row 5: 97", "2 row 5: 97"],
    }
    assert str(Loss("dead link", "status 404", "http://a.example/b")) == "http://a.example/b: dead link (status 404)"


# Recipes


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_has_sources_and_options(name: str) -> None:
    published, correct = settings_of(name), settings_of(name, "correct")
    assert published.keys() == correct.keys()
    assert published != correct
    assert {key for key in published if published[key] != correct[key]} <= set(options_of(name))
    assert all(isinstance(value, (str, int, bool)) for value in published.values())


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("coco", {}, "one of pixelprose, visual-genome, incidents1m, skyscript, got 'coco'"),
        (
            "pixelprose",
            {"shards": "x"},
            "a source or option of pixelprose must be one of hub, revision, .* got 'shards'",
        ),
        ("pixelprose", {"gps": "x"}, "gps must be whole or fractions, got 'x'"),
        ("pixelprose", {"newest": "soon"}, "newest must be like 2024, got 'soon'"),
        ("pixelprose", {"split": "sklearn"}, "split must be torch or numpy"),
        ("pixelprose", {"behaviour": "better"}, "--as must be published or correct, got 'better'"),
        ("visual-genome", {"fallback": "maybe"}, "fallback must be like True, got 'maybe'"),
        ("pixelprose", {"limit": 0}, "limit must be >= "),
        ("pixelprose", {"workers": 0}, "workers must be >= "),
        ("pixelprose", {"seed": -1}, "seed must be >= "),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, name: str, settings: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        prepare(name, tmp_path, **settings)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "mine.jpg").write_bytes(b"mine")
    with pytest.raises(InputError, match="is not empty, and no preparation was begun there; choose another --out"):
        prepare("visual-genome", tmp_path)
    assert (tmp_path / "images" / "mine.jpg").read_bytes() == b"mine"
    end(tmp_path / "other", "skyscript")
    with pytest.raises(InputError, match="was begun as skyscript"):
        prepare("visual-genome", tmp_path / "other")


def test_a_preparation_continues_only_as_it_was_begun(tmp_path: Path) -> None:
    options = {"images": "http://127.0.0.1:9/a", "objects": "http://127.0.0.1:9/b"}
    with pytest.raises(InputError, match=r"visual-genome: http://127.0.0.1:9/a: no answer .*again to continue"):
        prepare("visual-genome", tmp_path, web=local_web(retries=0), **options)
    for name, changes in (
        ("skyscript", {}),
        ("visual-genome", {}),
        ("visual-genome", {**options, "fallback": "false"}),
    ):
        with pytest.raises(InputError, match=r"was begun as visual-genome with .*another --out, or delete .*work"):
            prepare(name, tmp_path, web=local_web(retries=0), **changes)


def test_links_to_private_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"private address \(127.0.0.1 is 127.0.0.1\); name another --source"):
        prepare("visual-genome", tmp_path, web=Web(retries=0), images="http://127.0.0.1:9/a")


def test_one_preparation_of_a_folder_at_a_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="needs locks of files")
    (tmp_path / "work").mkdir()
    with open(tmp_path / "work" / "lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being prepared by another process"):
            prepare("visual-genome", tmp_path, web=local_web(retries=0))
