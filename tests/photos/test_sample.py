"""The sample library: its table, its files, and that a run can be repeated."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageOps

from mascot.errors import InputError, OptionError
from mascot.photos.sample import Postcard, jpeg, plan, write_sample
from tests.photos.libraries import read_metadata

FEW = 20


@pytest.fixture(scope="module")
def library() -> list[Postcard]:
    return plan()


def test_the_plan_depends_on_count_and_seed_and_a_smaller_one_is_part_of_a_larger(library: list[Postcard]) -> None:
    cards = plan(1234, seed=1)
    assert len({card.path.casefold() for card in cards}) == len(cards) == 1234
    assert cards == sorted(cards, key=lambda card: card.path)
    assert plan() == library
    assert plan(seed=1) != library
    assert set(plan(7)) < set(plan(FEW)) < set(library) < set(plan(700))
    with pytest.raises(OptionError, match=r"sample.count must be >= 1, got 0"):
        plan(0)


def test_every_file_opens_is_small_and_the_same_in_another_process_zone_and_language(tmp_path: Path) -> None:
    folder = tmp_path / "travels"
    cards = write_sample(folder, count=FEW, seed=3)
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert paths == {card.path for card in cards}
    hashes = set()
    for card in cards:
        with Image.open(folder / card.path) as picture:
            upright = ImageOps.exif_transpose(picture)
        assert upright.size == ((320, 480) if card.portrait else (480, 320))
        hashes.add(hashlib.sha256(upright.tobytes()).hexdigest())
    assert len(hashes) == FEW
    assert sum((folder / card.path).stat().st_size for card in cards) < FEW * 33_000  # 600 stay below 20 MB
    code = (
        "import hashlib\nfrom mascot.photos.sample import jpeg, plan\n"
        f"for card in plan({FEW}, 3)[::7]: print(hashlib.sha256(jpeg(card)).hexdigest())"
    )
    environment = {**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "77", "PYTHONUTF8": "0"}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    digests = [hashlib.sha256((folder / card.path).read_bytes()).hexdigest() for card in cards[::7]]
    assert process.stdout.split() == digests


def test_our_reader_finds_the_tags_of_the_plan(library: list[Postcard]) -> None:
    rules = [
        *(lambda card, tag=tag: card.gps == tag for tag in ("absent", "wrong")),
        *(lambda card, tag=tag: card.clock == tag for tag in ("absent", "wrong")),
        *(lambda card, turn=turn: card.orientation == turn for turn in (3, 6, 8)),
        lambda card: card.caption is not None and not card.caption.isascii(),
        lambda card: card.offset_h % 1,
        lambda card: card.lat < 0 and card.lon < 0 and card.gps == "right",
        lambda card: card.keywords and card.rating,
    ]
    for card in [next(card for card in library if rule(card)) for rule in rules]:
        metadata = read_metadata(BytesIO(jpeg(card)))
        assert (metadata.lens, metadata.caption) == (card.camera.lens, card.caption)
        assert (metadata.keywords, metadata.rating) == (card.keywords, card.rating)
        assert (metadata.camera or "").endswith(card.camera.model)
        assert (metadata.width, metadata.height) == ((320, 480) if card.portrait else (480, 320))
        is_timed, is_placed = card.clock == "right", card.gps == "right"
        milliseconds = card.taken.microsecond // 1000 * 1000
        assert metadata.taken == (card.taken.replace(microsecond=milliseconds) if is_timed else None)
        assert metadata.offset == (card.offset_h * 60 if is_timed else None)
        place = (pytest.approx(card.lat, abs=1e-6), pytest.approx(card.lon, abs=1e-6))
        assert (metadata.lat, metadata.lon) == (place if is_placed else (None, None))
        assert metadata.altitude == (pytest.approx(card.metres, abs=0.06) if is_placed else None)
        assert len(metadata.problems) == (card.gps == "wrong") + (card.clock == "wrong")


def test_a_second_run_fills_what_is_missing_and_may_add_more(tmp_path: Path) -> None:
    cards = write_sample(tmp_path, count=4)
    before = {card.path: (tmp_path / card.path).read_bytes() for card in cards}
    times = {card.path: (tmp_path / card.path).stat().st_mtime_ns for card in cards[2:]}
    for card in cards[:2]:
        (tmp_path / card.path).unlink()
    (tmp_path / ".index").write_bytes(b"hidden, so not looked at")
    interrupted = (tmp_path / cards[0].path).with_name(f".{Path(cards[0].path).name}.part")
    interrupted.write_bytes(b"half a picture")
    steps: list[tuple[int, int]] = []
    write_sample(tmp_path, count=6, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(i, 6) for i in range(1, 7)]
    assert {path: (tmp_path / path).read_bytes() for path in before} == before
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in times} == times
    assert not interrupted.exists()


def test_a_folder_with_other_things_is_refused_and_untouched(tmp_path: Path) -> None:
    cards = plan(2)
    for name, message in (
        ("notes.txt", "holds 'notes.txt'; name a new folder"),
        ("2019/2019-07 Portugal/mine.jpg", "holds '2019/2019-07 Portugal/mine.jpg'; name a new folder"),
        (cards[0].path, "hold the same sample"),
    ):
        root = tmp_path / name.partition(".")[0].replace("/", "-")
        mine = root / name
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        with pytest.raises(InputError, match=re.escape(message)):
            write_sample(root, count=2)
        assert [path.read_text() for path in root.rglob("*") if path.is_file()] == ["mine"]
    with pytest.raises(InputError, match="must be a folder, but is a file"):
        write_sample(mine, count=2)
