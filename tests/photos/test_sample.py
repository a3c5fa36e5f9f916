"""The sample library: its table, its files, and that a run can be repeated."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pytest
from PIL import Image, ImageOps

from mascot.errors import InputError, OptionError
from mascot.photos.sample import Postcard, jpeg, plan, write_sample

FEW = 40


@pytest.fixture(scope="module")
def library() -> list[Postcard]:
    return plan()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Postcard]]:
    folder = tmp_path_factory.mktemp("sample") / "travels"
    return folder, write_sample(folder, count=FEW, seed=3)


def _evening(card: Postcard) -> bool:
    """Whether the postcard is of the one evening at Guincho."""
    return card.subject == "sunset" and card.place == "Guincho"


@pytest.mark.parametrize("count", [1, 2, 7, FEW, 600, 1234])
def test_the_plan_has_as_many_cards_as_asked_each_with_its_own_path(count: int) -> None:
    cards = plan(count, seed=1)
    assert len(cards) == count
    assert len({card.path.casefold() for card in cards}) == count
    assert cards == sorted(cards, key=lambda card: card.path)


def test_the_plan_is_the_same_for_a_seed_and_another_for_another(library: list[Postcard]) -> None:
    assert plan() == library
    assert plan(seed=1) != library


def test_a_smaller_sample_is_part_of_a_larger_one(library: list[Postcard]) -> None:
    assert set(plan(7)) < set(plan(FEW)) < set(library) < set(plan(700))


def test_a_count_below_one_is_refused() -> None:
    with pytest.raises(OptionError, match=r"sample.count must be >= 1, got 0"):
        plan(0)


def test_the_travels_reach_every_continent(library: list[Postcard]) -> None:
    countries = {card.country for card in library}
    assert len(countries) >= 30
    assert len({card.city for card in library}) >= 40
    assert len({card.trip for card in library}) >= 25
    assert countries >= {"PT", "ZA", "JP", "US", "BR", "AU", "AQ"}
    assert {card.taken.year for card in library} == set(range(2016, 2025))
    assert len({card.camera.model for card in library}) == 6


def test_cities_have_several_spots_and_subjects(library: list[Postcard]) -> None:
    spots = defaultdict(set)
    subjects = defaultdict(set)
    for card in library:
        spots[card.city].add(card.place)
        subjects[card.city].add(card.subject)
    assert sum(len(names) >= 2 for names in spots.values()) > 0.9 * len(spots)
    assert sum(len(names) >= 3 for names in subjects.values()) > 0.9 * len(subjects)


def test_one_evening_gave_many_sunsets_and_the_world_gave_others(library: list[Postcard]) -> None:
    evening = [card for card in library if _evening(card)]
    assert len(evening) >= 30
    assert max(card.taken for card in evening) - min(card.taken for card in evening) < timedelta(hours=2)
    assert len({(round(card.lat, 1), round(card.lon, 1)) for card in evening}) == 1
    others = [card for card in library if card.subject == "sunset" and not _evening(card)]
    assert len(others) >= 40
    assert len({card.country for card in others}) >= 12


def test_pictures_are_taken_in_their_light(library: list[Postcard]) -> None:
    for card in library:
        if card.subject in ("sunset", "sunrise"):
            assert -3.0 < card.sun < 7.5, card
        if card.subject in ("night", "aurora"):
            assert card.sun < -8, card
        if card.subject == "beach":
            assert card.sun > 1, card
    hours = Counter(card.taken.hour for card in library)
    assert len(hours) >= 16
    assert max(hours.values()) < 0.2 * len(library)


def test_things_are_missing_as_in_real_libraries(library: list[Postcard]) -> None:
    gps, clock = Counter(card.gps for card in library), Counter(card.clock for card in library)
    assert gps["absent"] + gps["wrong"] == 36
    assert clock["absent"] + clock["wrong"] == 24
    assert gps["wrong"] >= 3
    assert clock["wrong"] >= 3
    assert sum(card.caption is None for card in library) == 72
    assert all(card.known_place is None for card in library if card.gps != "right")


def _bursts(library: list[Postcard]) -> list[list[Postcard]]:
    groups = defaultdict(list)
    for card in sorted(library, key=lambda card: card.taken):
        if not _evening(card):
            groups[card.view].append(card)
    return [group for group in groups.values() if len(group) > 1]


def test_bursts_are_short_and_share_their_picture(library: list[Postcard]) -> None:
    bursts = _bursts(library)
    assert len(bursts) >= 8
    for burst in bursts:
        assert 2 <= len(burst) <= 8
        assert len({(card.picture, card.portrait) for card in burst}) == 1
        assert burst[-1].taken - burst[0].taken < timedelta(seconds=8)
        assert len({(card.lat, card.lon, card.camera.model, card.subject) for card in burst}) == 1


def test_captions_are_varied_and_not_all_english(library: list[Postcard]) -> None:
    captions = [card.caption for card in library if card.caption]
    assert not [words for words in captions if re.search(r"[{}]", words)]
    assert len(set(captions)) > 300
    assert any(re.search("[\u3040-\u30ff\u4e00-\u9fff]", words) for words in captions)
    sunsets = [card.caption for card in library if card.subject == "sunset" and card.caption]
    named = sum("unset" in words for words in sunsets)
    assert len(sunsets) / 4 < named < 3 * len(sunsets) / 4  # words alone do not find them all


def test_paths_hold_spaces_umlauts_and_emoji(library: list[Postcard]) -> None:
    paths = [card.path for card in library]
    for letter in (" ", "ß", "ä", "🌸", "🌅", "ø", "&", "#"):
        assert any(letter in path for path in paths), letter
    assert not [path for path in paths if path.startswith(("/", ".")) or ".." in path or "\\" in path]
    assert any(re.fullmatch(r"2019/2019-07 Portugal/IMG_\d{4}\.jpg", path) for path in paths)


def test_the_shipped_pictures_are_small_and_all_in_use(library: list[Postcard]) -> None:
    pictures = [file for file in (files("mascot.photos.sample") / "pictures").iterdir() if file.name.endswith(".webp")]
    assert {file.name for file in pictures} == {f"{card.picture}.webp" for card in library}
    assert sum(len(file.read_bytes()) for file in pictures) < 2_000_000
    assert max(Counter(card.picture for card in library).values()) < 0.04 * len(library)


def test_each_picture_shows_the_subject_of_its_row(library: list[Postcard]) -> None:
    assert len({card.subject for card in library}) >= 30
    low_sun = ("sunset", "sunrise")
    for card in library:
        assert card.picture.startswith(low_sun if card.subject in low_sun else card.subject), card


ZONES = {
    "Lisbon": "Europe/Lisbon", "Hamburg": "Europe/Berlin", "Sydney": "Australia/Sydney", "Mumbai": "Asia/Kolkata",
    "New York": "America/New_York", "Istanbul": "Europe/Istanbul", "Queenstown": "Pacific/Auckland",
    "Marrakesh": "Africa/Casablanca", "Rio de Janeiro": "America/Sao_Paulo", "Banff": "America/Edmonton",
    "Honolulu": "Pacific/Honolulu", "Cairo": "Africa/Cairo", "Tokyo": "Asia/Tokyo", "Havana": "America/Havana",
}  # fmt: skip


@pytest.mark.parametrize("city", ZONES)
def test_offsets_are_those_of_the_zone(library: list[Postcard], city: str) -> None:
    try:
        zone = ZoneInfo(ZONES[city])
    except ZoneInfoNotFoundError:
        pytest.skip("needs the time zone database")
    cards = [card for card in library if card.city == city]
    assert cards
    for card in cards:
        offset = card.taken.replace(tzinfo=zone).utcoffset()
        assert offset is not None
        assert offset.total_seconds() / 3600 == card.offset_h, card


def test_every_file_opens_and_is_small(written: tuple[Path, list[Postcard]]) -> None:
    folder, cards = written
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        card.path for card in cards
    }
    hashes = set()
    for card in cards:
        with Image.open(folder / card.path) as picture:
            picture.load()
            upright = ImageOps.exif_transpose(picture)
        assert upright.size == ((320, 480) if card.portrait else (480, 320))
        hashes.add(hashlib.sha256(upright.tobytes()).hexdigest())
    assert len(hashes) == FEW
    assert sum((folder / card.path).stat().st_size for card in cards) < FEW * 33_000  # 600 stay below 20 MB


def _degrees(parts: tuple[float, float, float], reference: str) -> float:
    value = float(parts[0]) + float(parts[1]) / 60 + float(parts[2]) / 3600
    return -value if reference in ("S", "W") else value


def _check_exif(card: Postcard, exif: Image.Exif) -> None:
    details, place = exif.get_ifd(0x8769), exif.get_ifd(0x8825)
    assert (exif[0x010F], exif[0x0110], details[0xA434]) == (card.camera.make, card.camera.model, card.camera.lens)
    assert exif[0x0112] == card.orientation
    assert exif.get(0x013B, "") == card.camera.artist
    described = exif.get(0x010E)
    # Pillow reads the bytes as Latin-1.
    assert (None if described is None else described.encode("latin-1").decode()) == card.caption
    if card.clock == "right":
        assert details[0x9003] == card.taken.strftime("%Y:%m:%d %H:%M:%S")
        assert int(details[0x9291]) == card.taken.microsecond // 1000
        sign, hours, minutes = re.fullmatch(r"([+-])(\d\d):(\d\d)", details[0x9011]).groups()  # type: ignore[union-attr]
        assert (int(hours) + int(minutes) / 60) * (-1 if sign == "-" else 1) == card.offset_h
    else:
        assert details.get(0x9003) == (None if card.clock == "absent" else "0000:00:00 00:00:00")
        assert 0x9011 not in details
    if card.gps == "absent":
        assert not place
    else:
        lat, lon = (card.lat, card.lon) if card.gps == "right" else (0.0, 0.0)
        assert _degrees(place[2], place[1]) == pytest.approx(lat, abs=1e-6)
        assert _degrees(place[4], place[3]) == pytest.approx(lon, abs=1e-6)
    if card.gps == "right":
        assert float(place[6]) == pytest.approx(card.metres, abs=0.06)


def test_the_tags_are_those_of_the_plan(written: tuple[Path, list[Postcard]]) -> None:
    folder, cards = written
    for card in cards:
        with Image.open(folder / card.path) as picture:
            _check_exif(card, picture.getexif())
            packet = picture.info.get("xmp", b"").decode()
        assert re.findall("<rdf:li>(.*?)</rdf:li>", packet) == list(card.keywords)
        assert re.findall("<xmp:Rating>(.*?)</xmp:Rating>", packet) == ([str(card.rating)] if card.rating else [])


def test_gaps_turned_pictures_and_foreign_captions_reach_the_files(library: list[Postcard]) -> None:
    rules = {
        "no place": lambda card: card.gps == "absent",
        "place 0, 0": lambda card: card.gps == "wrong",
        "no time": lambda card: card.clock == "absent",
        "time 0": lambda card: card.clock == "wrong",
        "no caption": lambda card: card.caption is None,
        "sideways": lambda card: card.orientation == 6,
        "the other way": lambda card: card.orientation == 8,
        "upside down": lambda card: card.orientation == 3,
        "not ASCII": lambda card: card.caption is not None and not card.caption.isascii(),
        "half an hour": lambda card: card.offset_h % 1,
        "south west": lambda card: card.lat < 0 and card.lon < 0,
    }
    for name, rule in rules.items():
        card = next((card for card in library if rule(card)), None)
        assert card is not None, name
        with Image.open(BytesIO(jpeg(card))) as picture:
            _check_exif(card, picture.getexif())
            turned = picture.size[0] > picture.size[1]
        assert turned == (not card.portrait or card.orientation in (6, 8))


def test_turned_pictures_show_the_same_as_upright_ones(library: list[Postcard]) -> None:
    card = next(card for card in library if card.orientation == 6)
    pixels = []
    for orientation in (1, 6, 8):
        with Image.open(BytesIO(jpeg(replace(card, orientation=orientation)))) as picture:
            pixels.append(np.asarray(ImageOps.exif_transpose(picture), dtype=float))
    assert np.abs(pixels[0] - pixels[1]).mean() < 3
    assert np.abs(pixels[0] - pixels[2]).mean() < 3


def _thumbnail(card: Postcard) -> np.ndarray:
    picture = ImageOps.exif_transpose(Image.open(BytesIO(jpeg(card))))
    return np.asarray(picture.resize((48, 32)), dtype=float)


def test_each_picture_can_be_cropped_to_both_orientations(library: list[Postcard]) -> None:
    for card in {card.picture: card for card in library}.values():
        for portrait in (False, True):
            picture = Image.open(BytesIO(jpeg(replace(card, portrait=portrait, orientation=1))))
            assert picture.size == ((320, 480) if portrait else (480, 320))
            assert np.asarray(picture, dtype=float).std() > 8, card.picture


def test_frames_of_a_burst_look_alike_and_scenes_do_not(library: list[Postcard]) -> None:
    burst = next(group for group in _bursts(library) if len(group) >= 3 and not group[0].portrait)
    other = next(card for card in library if card.subject != burst[0].subject and not card.portrait)
    first, second, different = _thumbnail(burst[0]), _thumbnail(burst[1]), _thumbnail(other)
    assert 0 < np.abs(first - second).mean() < 0.5 * np.abs(first - different).mean()


def test_files_of_one_picture_differ(library: list[Postcard]) -> None:
    most = Counter(card.picture for card in library).most_common(1)[0][0]
    cards = [card for card in library if card.picture == most and not card.portrait]
    thumbnails = [_thumbnail(card) for card in cards]
    for i, card in enumerate(cards):
        for other, thumbnail in zip(cards[:i], thumbnails, strict=False):
            distance = np.abs(thumbnail - thumbnails[i]).mean()
            assert distance > (0.1 if other.view == card.view else 1.0), (card.path, other.path)


def test_night_is_darker_than_day(library: list[Postcard]) -> None:
    nights = [card for card in library if card.subject == "night"][:4]
    days = [card for card in library if card.subject == "skyline" and card.sun > 15][:4]
    brightness = [
        [np.asarray(Image.open(BytesIO(jpeg(card))).convert("L")).mean() for card in group] for group in (nights, days)
    ]
    assert max(brightness[0]) < min(brightness[1])


def test_the_same_bytes_in_another_process_zone_and_language(written: tuple[Path, list[Postcard]]) -> None:
    folder, cards = written
    code = (
        "import hashlib\nfrom mascot.photos.sample import jpeg, plan\n"
        f"for card in plan({FEW}, 3)[::7]: print(hashlib.sha256(jpeg(card)).hexdigest())"
    )
    environment = {**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "77", "PYTHONUTF8": "0"}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.split() == [
        hashlib.sha256((folder / card.path).read_bytes()).hexdigest() for card in cards[::7]
    ]


def test_a_second_run_fills_what_is_missing_and_leaves_the_rest(tmp_path: Path) -> None:
    cards = write_sample(tmp_path, count=6)
    before = {card.path: (tmp_path / card.path).read_bytes() for card in cards}
    times = {card.path: (tmp_path / card.path).stat().st_mtime_ns for card in cards[2:]}
    for card in cards[:2]:
        (tmp_path / card.path).unlink()
    (tmp_path / ".index").mkdir()
    (tmp_path / ".index" / "photos.db").write_bytes(b"hidden, so not looked at")
    interrupted = (tmp_path / cards[0].path).with_name(f".{Path(cards[0].path).name}.part")
    interrupted.write_bytes(b"half a picture")
    steps: list[tuple[int, int]] = []
    write_sample(tmp_path, count=6, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(i, 6) for i in range(1, 7)]
    assert {path: (tmp_path / path).read_bytes() for path in before} == before
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in times} == times
    assert not interrupted.exists()


def test_a_folder_can_grow_to_a_larger_sample(tmp_path: Path) -> None:
    small = write_sample(tmp_path, count=3)
    times = {card.path: (tmp_path / card.path).stat().st_mtime_ns for card in small}
    large = write_sample(tmp_path, count=5)
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in times} == times
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == len(large) == 5


@pytest.mark.parametrize("name", ["notes.txt", "2019/2019-07 Portugal/mine.jpg"])
def test_a_folder_with_other_things_is_refused_and_untouched(tmp_path: Path, name: str) -> None:
    other = tmp_path / name
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("mine")
    with pytest.raises(InputError, match=re.escape(f"holds {name!r}; name a new folder")):
        write_sample(tmp_path, count=4)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [other]


def test_another_sample_or_a_foreign_picture_of_the_same_name_is_refused(tmp_path: Path) -> None:
    cards = write_sample(tmp_path / "one", count=4)
    with pytest.raises(InputError, match="hold the same sample"):
        write_sample(tmp_path / "one", count=4, seed=9)
    mine = tmp_path / "two" / cards[0].path
    mine.parent.mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(mine, "JPEG")
    data = mine.read_bytes()
    with pytest.raises(InputError, match="hold the same sample"):
        write_sample(tmp_path / "two", count=4)
    assert mine.read_bytes() == data


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a folder, and is a file"):
        write_sample(tmp_path / "file", count=2)
