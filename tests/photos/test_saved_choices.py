"""Pin, reject and save photographs, on a real library."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from hypothesis import given, settings
from hypothesis import strategies as st
from jpegs import small_library, write_jpeg

import mascot as mc
from mascot.photos import Library
from mascot.photos.choices import Choices, checked_name


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed folder; not to be changed."""
    root = tmp_path_factory.mktemp("library") / "photos"
    with pytest.MonkeyPatch.context() as patch, Library.open(small_library(root)) as library:
        patch.setenv("XDG_STATE_HOME", str(root.parent / "state"))
        library.index(BagOfWords())
    return root


@pytest.fixture(scope="module")
def shared(indexed: Path) -> Iterator[Library]:
    with Library.open(indexed) as library:
        yield library


@pytest.fixture
def library(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Library.open(shutil.copytree(indexed, tmp_path / "photos")) as opened:
        opened.vector_of("sunset", encoder=BagOfWords())
        yield opened


# Completing


_IDS = st.sets(st.integers(1, 30), max_size=8)


@given(pin=_IDS, reject=_IDS, rest=st.integers(0, 12), n=st.integers(1, 3), data=st.data())
@settings(deadline=None, max_examples=40)
def test_the_results_complete_the_pinned(
    shared: Library, pin: set[int], reject: set[int], rest: int, n: int, data: st.DataObject
) -> None:
    rejected = reject - pin
    pinned = data.draw(st.permutations(sorted(pin)))
    k = max(len(pinned) + rest, 1)
    wishes = [shared.spread("place"), shared.limit(f"day={n}")]
    where = data.draw(st.sampled_from([None, "city = 'Lisbon'", "taken IS NULL", "0"]))
    results = shared.search(None, wishes, k, where=where, pin=pinned, reject=rejected)
    ids = [photo.id for photo in results.photos]
    assert ids[: len(pinned)] == pinned
    assert [result.pinned for result in results] == [id_ in pin for id_ in ids]
    assert len(set(ids)) == len(ids) <= k
    assert not rejected & set(ids)
    days = Counter(photo.taken.date() for photo in results.photos if photo.taken)
    fixed = Counter(photo.taken.date() for photo in results.photos if photo.taken and photo.id in pin)
    assert all(count <= max(n, fixed[day]) for day, count in days.items())
    assert len(results.plain) == len(ids)
    assert [photo.id for photo in results.plain][: len(pinned)] == pinned
    assert len(results.records(explain=True, compare=True)) >= len(ids)


def test_a_filled_page_ignores_nothing_but_the_rejected(shared: Library) -> None:
    results = shared.search(None, [], 30, candidates=3, reject=[1, 2])
    assert len(results) == 28


def test_a_day_can_be_limited_spread_and_focused(shared: Library) -> None:
    few = shared.search(None, [shared.limit("day=2")], 30)
    assert max(Counter(photo.taken.date() for photo in few.photos if photo.taken).values()) == 2
    spread = shared.search(None, [shared.spread("day")], 13)
    assert len({photo.taken.date() for photo in spread.photos if photo.taken}) == 13
    near = shared.search(None, [shared.focus("day=2019-07-14")], 5, mc.Mascot(1.0))
    assert {f"{photo.taken:%Y-%m-%d}" for photo in near.photos if photo.taken} == {"2019-07-14"}


def test_pinned_and_rejected_is_a_mistake(shared: Library) -> None:
    with pytest.raises(mc.OptionError, match="photograph 3 is pinned and rejected"):
        shared.search(None, pin=[3], reject=[3])
    with pytest.raises(mc.InputError, match="holds no photograph 99"):
        shared.search(None, pin=[99])


# Saving


def test_choices_survive_moving_indexing_and_repair(library: Library) -> None:
    root = library.root
    ids = {photo.path: photo.id for photo in library.store.all_photos()}
    paths = ["Tokyo/t1.jpg", "plain3.jpg", "Sydney/s0.jpg", "Lisbon/burst 4.jpg"]
    saved = library.choices.put("Été", [ids[path] for path in paths], [ids["plain1.jpg"]], {"text": "sunset"})
    assert library.choices.get("E\u0301te\u0301") == saved
    (root / "Tokyo/t1.jpg").rename(root / "moved.jpg")
    write_jpeg(root / "plain3.jpg", "edited")
    (root / "Sydney/s0.jpg").unlink()
    library.close()
    (library.folder / "library.sqlite").unlink()
    with Library.open(root) as again:
        again.index(BagOfWords())
        choice = again.choices.get("Été")
        present = [photo.path for photo in again.store.photos(choice.photos)]
        assert present == ["moved.jpg", "plain3.jpg", "Lisbon/burst 4.jpg"]
        assert [photo.path for photo in again.store.photos(choice.rejected)] == ["plain1.jpg"]
        assert (choice.missing, choice.query) == (1, {"text": "sunset"})
        again.choices.delete("Été")
        assert again.choices.all() == []
        with pytest.raises(mc.InputError, match="no choice is called 'Été'; there are: none"):
            again.choices.get("Été")


def test_many_writers_at_once(library: Library) -> None:
    def put(number: int) -> None:
        library.choices.put(f"choice {number % 10}", [number % 30 + 1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(40)))
    assert [choice.name for choice in library.choices.all()] == [f"choice {number}" for number in range(10)]


def test_a_read_only_library_says_so(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.choices.put("old", [1])
    opened = Choices._connect
    monkeypatch.setattr(Choices, "_connect", lambda self, _: opened(self, "ro"))  # as SQLite opens it there
    for write in (lambda: library.choices.put("new", [1]), lambda: library.choices.delete("old")):
        with pytest.raises(mc.InputError, match=r"choices cannot be saved: .* is read-only for this user"):
            write()
    assert [choice.name for choice in library.choices.all()] == ["old"]


def test_a_damaged_file_of_choices_is_an_error_in_words(library: Library) -> None:
    (library.folder / "choices.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(mc.InputError, match="cannot use the saved choices"):
        library.choices.all()


@pytest.mark.parametrize("name", ["", "  ", "a\nb\0", "x" * 201, "\ud800"])
def test_what_is_not_a_name(name: str) -> None:
    with pytest.raises(mc.OptionError, match="the name of a choice must be"):
        checked_name(name)


def test_the_table_is_a_plain_one(library: Library) -> None:
    library.choices.put("a", [2])
    with sqlite3.connect(library.folder / "choices.sqlite") as connection:
        rows = connection.execute("SELECT name, photos FROM choices").fetchall()
    assert rows[0][0] == "a"
    assert library.store.photo(2).path in rows[0][1]
