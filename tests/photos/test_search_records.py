"""What a search gives: without words, of files that are gone, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library
from rich.console import Console

import mascot as mc
from mascot.cli.photo_printing import results_table
from mascot.photos import Library


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Library.open(small_library(tmp_path / "photos")) as found:
        found.index(BagOfWords())
        yield found


def test_without_words_photographs_are_all_as_good_and_the_newest_come_first(library: Library) -> None:
    for text in (None, "", "  "):
        plain = library.search(text, k=8)
        assert [photo.taken for photo in plain.photos] == sorted((p.taken for p in plain.photos), reverse=True)
        assert plain.photos[0].taken == max(p.taken for p in library.store.all_photos() if p.taken)
        assert {result.relevance for result in plain} == {0.0}
    assert len(library.hits()) == library.hits().newest_of == 30
    assert [photo.taken for photo in library.hits().photos[-6:]] == [None] * 6
    few = library.hits(candidates=5, where="city = 'Lisbon'")
    assert (len(few), few.newest_of) == (5, 12)
    assert {photo.city for photo in few.photos} == {"Lisbon"}
    assert len(library.search(where="0")) == 0
    assert len(library.search(k=30, candidates=3)) == 30


def test_without_words_nobody_is_protected_for_being_newest(library: Library) -> None:
    lisbon = library.search(None, [library.focus("place=Lisbon")], k=6)
    assert {photo.city for photo in lisbon.photos} == {"Lisbon"}
    cities = library.search(None, [library.spread("city")], k=3)
    assert {photo.city for photo in cities.photos} == {"Lisbon", "Tokyo", "Sydney"}
    years = library.search(None, library.spread("year"), k=3)
    assert [photo.taken.year for photo in years.photos if photo.taken] == [2021, 2020, 2019]
    # Protection acts on what relevance and the named value say together; beside a spread that is the newest.
    protected = library.hits().rerank(library.focus("place=Lisbon"), 6, mc.Mascot(protect=2))
    assert {photo.city for photo in protected.photos} == {"Lisbon"}
    protected = library.hits().rerank(library.spread("city"), 3, mc.Mascot(protect=2))
    assert protected.photos[:2] == library.search(None, k=2).photos
    # A focus that names nothing stays near the newest, as it stays near the best where there are words.
    newest = library.search(None, k=1).photos[0]
    assert newest.taken is not None
    for word, label in (("hour", "20"), ("place", "Sydney"), ("camera", "Pixel 5")):
        found = library.search(None, [library.focus(word)], k=3).photos
        assert newest in found
        assert all(label in (str(p.taken)[11:13], p.city, p.camera) for p in found), word


def test_files_that_are_gone_are_told(library: Library) -> None:
    found = library.search("sunset", [library.spread("place")], k=3, encoder=BagOfWords())
    found.paths[1].unlink()
    assert found.gone == {found.photos[1].id}
    assert [record.get("gone", False) for record in found.records()] == [False, True, False]


def test_the_table_says_why(library: Library) -> None:
    wishes = [library.focus("place=Tokyo"), library.limit("date=2")]
    results = library.search("sunset", wishes, k=6, encoder=BagOfWords())
    assert all("from Tokyo; " in record["because"] for record in results.records(explain=True)[:6])
    console = Console(width=300, record=True, file=StringIO())
    console.print(results_table(library, results, True, False))
    text = console.export_text()
    assert "0 m from Tokyo; first of at most two from 2020-11-04" in text
    assert "left out" in text
    assert "2019-07-14 already has two" not in text.partition("left out")[0]


def test_a_long_caption_does_not_widen_the_table(library: Library) -> None:
    with library.store.writing() as connection:
        connection.execute("UPDATE photos SET caption = ?", ("boat " * 100,))
    console = Console(width=10_000, record=True, file=StringIO())
    console.print(results_table(library, library.search(None, [library.spread("place")], k=3), True, False))
    assert max(len(line.rstrip()) for line in console.export_text().splitlines()) < 200
