"""Indexing a folder and searching it, through the Python door."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.attributes import Clusters
from mascot.photos import Library, SearchRequest
from mascot.photos.results import Hits
from mascot.photos.wish_text import middle, parse
from mascot.server.library.service import LibraryGone, Service
from mascot.wishes import AnyWish
from tests.photos.bag_of_words import BagOfWords, Stopping
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in


def test_a_folder_becomes_rows(shared: Library) -> None:
    photos = {photo.path: photo for photo in photos_in(shared)}
    assert len(photos) == shared.store.count() == 30
    photo = photos["Lisbon/burst 3.jpg"]
    assert (photo.city, photo.country, photo.season, photo.part_of_day) == ("Lisbon", "PT", "summer", "evening")
    assert (photo.caption, photo.camera, photo.folder) == ("Sunset over the water", "X100", "Lisbon")
    assert (str(photo.taken), photo.moment) == ("2019-07-14 20:15:03", "2019-07-14 20:15 Lisbon")
    assert (photo.width, photo.height, photos["Sydney/s0.jpg"].season) == (48, 32, "summer")


def test_changed_deleted_and_unreadable_files(library: Library) -> None:
    folder, encoder, changes = library.root / "Tokyo", BagOfWords(), library.store.changes
    assert library.index(encoder).unchanged == 30
    assert library.store.changes == changes
    write_jpeg(folder / "t0.jpg", "a red boat in front of a red house", "Tokyo", "2022-01-01T10:00:00")
    (folder / "t1.jpg").unlink()
    (folder / "t2.jpg").write_bytes(b"no longer a picture")
    summary = library.index(encoder)
    assert len(encoder.encoded) == 1
    assert (summary.changed, summary.new, summary.gone, summary.photos) == (1, 0, 1, 30)
    assert library.search("red boat", k=1).photos[0].path == "Tokyo/t0.jpg"
    summary = library.index(encoder, prune=True)
    assert (summary.pruned, summary.gone, summary.photos) == (1, 0, 29)
    assert [item.path.name for item in summary.skipped] == ["t2.jpg"]  # which keeps its row
    assert library.store.count_vectors(encoder.fingerprint) == 29


def test_another_encoder_is_refused_with_the_remedy(library: Library) -> None:
    with pytest.raises(mc.OptionError, match=r"encoded with bag, and other is not the same: .*--again"):
        library.index(BagOfWords("other"))
    with pytest.raises(mc.OptionError, match=r"fingerprint bag-512-1\), and other has other-512-1: .*--encoder bag"):
        library.search("sunset", encoder=BagOfWords("other"))
    encoder = BagOfWords("other", dim=32, tokens=2)
    assert library.index(encoder, again=True).changed == 30
    assert len(encoder.encoded) == 30
    assert len(library.search("sunset", encoder=encoder)) == 24


def test_spread_and_focus_in_plain_words(shared: Library) -> None:
    plain = shared.search("sunset over the water lisbon", k=8)
    assert {photo.city for photo in plain.photos} == {"Lisbon"}
    assert plain.photos == plain.plain
    counts = []
    for strength in (0.0, 0.25, 0.5, 0.75, 1.0):
        results = shared.search("sunset over the water lisbon", shared.spread("place"), 8, mc.Mascot(strength))
        counts.append(Counter(photo.city for photo in results.photos))
    lisbon = [count["Lisbon"] for count in counts]
    assert lisbon == sorted(lisbon, reverse=True)  # the dial is monotone
    assert lisbon[2] < lisbon[0] == 8
    assert set(counts[3]) == {"Lisbon", "Tokyo", "Sydney"}
    assert sorted(counts[4].values()) == [2, 3, 3]  # at the end an even mix
    # A named value is part of relevance: no result is protected from it.
    focused = shared.search("sunset", [shared.focus("place=Tokyo")], k=8)
    assert [photo.city for photo in focused.photos[:6]] == ["Tokyo"] * 6
    evening = shared.search("sunset", [shared.focus("hour=20")], k=12)
    assert all(photo.taken and 19 <= photo.taken.hour <= 21 for photo in evening.photos)


def test_limits_and_shares_in_plain_words(shared: Library) -> None:
    def cities(*wishes: AnyWish, k: int = 8) -> Counter[str | None]:
        return Counter(photo.city for photo in shared.search("sunset water", wishes, k=k).photos)

    assert cities(shared.limit("city=2")) == {"Lisbon": 2, "Sydney": 2, "Tokyo": 2, None: 2}  # no city, no limit
    assert cities(shared.limit("city=1"), k=20) == {"Lisbon": 1, "Sydney": 1, "Tokyo": 1, None: 6}
    assert cities(shared.limit("city=1", fill=True), k=20).total() == 20
    assert cities(shared.share("country=Japan:50%,portugal:25%"), shared.spread("place")) == {
        "Tokyo": 4, "Lisbon": 2, "Sydney": 2,
    }  # fmt: skip
    evening = shared.search("sunset", [shared.share("hour=8pm:75%,9:30 pm:0.125")], k=8).photos
    assert Counter(photo.taken and photo.taken.hour for photo in evening) >= Counter({20: 6, 21: 1})


def test_pages_do_not_repeat(shared: Library) -> None:
    wish = shared.spread("place")
    first = shared.search("sunset", wish, k=8)
    second = shared.search("sunset", wish, k=8, already=first)
    third = shared.search("sunset", wish, k=20, already=second)
    pages = [{photo.id for photo in page.photos} for page in (first, second, third)]
    assert [len(page) for page in pages] == [8, 8, 14]
    assert len(set.union(*pages)) == 30
    assert {photo.id for photo in second.plain}.isdisjoint(pages[0])
    by_ids = shared.search("sunset", wish, k=8, already=[*pages[0], 10_000])  # unknown ids are ignored
    assert by_ids.photos == first.hits.rerank(wish, 8, already=first).photos == second.photos
    # There are k candidates beside those shown before, also where fewer are asked for.
    assert len(shared.search("sunset", wish, k=8, already=first, candidates=4)) == 8


def test_values_as_people_write_them(shared: Library) -> None:
    for text, near in {
        "place=35.0,139.5": (35.0, 139.5),
        "place=Tóquio": (35.6895, 139.69171),  # Portuguese for Tokyo
        "country=Portugal": "PT",
        "city=Lisboa": "Lisbon",
        "camera=pixel": "Pixel 5",
        "hour=12:30 a.m.": 0.5,
        "month=2020-11": "2020-11",
        "date=2019-07-14": "2019-07-14T12:00",  # a day is near in its evening as in its morning
        "date=summer 2019": "2019-07-15T12:00",
        "date=winter 2018": "2019-01-13T12:00",
        "date=14.7.2019": "2019-07-14T12:00",
        "season=jul": "2024-07-15",
    }.items():
        wish = shared.focus(text)
        expected = pytest.approx(near, abs=1e-3) if isinstance(near, (tuple, float)) else near
        assert (wish.near, wish.within) == (expected, None), text
    for text in ("place=38.7,-9.1", "hour=6pm"):
        wish = shared.focus(f"{text}~50*2")
        assert (wish.near, wish.within, wish.weight) == (shared.focus(text).near, 50.0, 2.0)
    names = {"Lissabon": "Lisbon, PT", "Atlantis": "Atlantis, ZA", "lisbon": None, "38.7,-9.1": None}
    assert {name: shared.place_meant(name) for name in names} == names
    assert shared.place_meant("Portugal") == "the middle of the photographs of Portugal"


def test_counted_values_as_people_write_them(shared: Library) -> None:
    hour = mc.HourOfDay("taken")
    for wish, expected in [
        ({"limit": "country", "n": {"portugal": 1}}, mc.limit(mc.Category("country"), {"PT": 1}, missing="drop")),
        ({"limit": "hour", "n": {"6pm": 1}}, mc.limit(hour, {"18:00": 1}, missing="drop")),
        ({"limit": "country+camera", "n": 1}, mc.limit(("country", "camera"), 1, missing="drop")),
        ({"at_least": "country", "counts": {"Portugal": 2, "PT": 1}}, mc.at_least(mc.Category("country"), {"PT": 3})),
        ({"at_least": "hour", "counts": {"18": 1}}, mc.at_least(hour, {"18:00": 1})),
        (
            {"share": "city", "shares": {"lisboa": 0.5}, "bound": "at most"},
            mc.share(mc.Category("city"), {"Lisbon": 0.5}, "at most"),
        ),
    ]:
        assert shared.wishes(SearchRequest(wishes=(wish,), missing="drop")) == [expected]
    for kind, text in (("limit", "country=PT:1"), ("at_least", "country=PT:2,ES:1"), ("share", "country=PT:50%")):
        assert shared.wishes(SearchRequest(wishes=(parse(kind, text),)))[0].named


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("focus", "place=Nowhereville", "no place is called 'Nowhereville'"),
        ("focus", "place=Lisbonn", "no place is called 'Lisbonn': did you mean Lisbon"),
        ("focus", "date=summer of love 2019", "must be a date like 2024-05-01"),
        ("focus", "camera=Leica", "no photograph has camera 'Leica'; values: Pixel 5, X100"),
        ("focus", "smell", "photographs have no attribute 'smell'; attributes are place, city"),
        ("focus", "hour=teatime", "hour must be like 18, 18:30 or 6pm, got 'teatime'"),
        ("focus", "city=o", "'o' matches several cities: Lisbon, Tokyo"),
        ("focus", "season=sumer", "season must be one of spring, summer, autumn, winter, a month like july, .*'sumer'"),
        ("focus", "place=Lisbon~near", "'place=Lisbon~near': must be a number, got 'near'"),
        ("focus", "hour=18~-1", r"focus\(hour\).within must be > 0, got -1.0"),
        ("limit", "place=1", "place has no values that could be counted: write city or country"),
        ("share", "city=Lisbon:60%,lisboa:60%", r"share\(city\)\['Lisbon'\] must be in 0..1, got 1.2"),
    ],
)
def test_wishes_nobody_can_mean(shared: Library, kind: str, text: str, message: str) -> None:
    with pytest.raises(mc.OptionError, match=message):
        getattr(shared, kind)(text)


def test_every_name_and_method_steers(shared: Library) -> None:
    names = (
        "place city country hour date season weekday moment camera folder look keywords rating altitude lens "
        "part_of_day title width"
    )
    hits = shared.hits("sunset")
    for name in names.split():
        for wish in (shared.spread(name), shared.focus(name)):
            assert len(hits.rerank([wish], 10)) == 10, name
    for method in (mc.Mmr(), mc.Relevance()):
        results = hits.rerank([shared.spread("place"), shared.spread("look")], 10, method)
        assert len(set(results.paths)) == 10, method


def test_folders_as_people_name_them(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    (library.root / "Lisbon" / "Tokyo").mkdir()
    shutil.move(library.root / "Lisbon" / "burst 0.jpg", library.root / "Lisbon" / "Tokyo" / "burst 0.jpg")
    library.index(BagOfWords())
    monkeypatch.chdir(library.root.parent)
    for name in ("Lisbon/", "./photos/Lisbon", str(library.root / "Lisbon")):
        assert library.folder_named(name) == "Lisbon"
    assert library.folder_named("Tokyo/../Lisbon/Tokyo") == "Lisbon/Tokyo"
    monkeypatch.chdir(library.root / "Lisbon")
    names = {"Tokyo": "Tokyo", "./Tokyo": "Lisbon/Tokyo", ".": "Lisbon", "..": "."}
    assert {name: library.folder_named(name) for name in names} == names
    for name in ("Lisb", "/", str(library.root / ".mascot")):
        with pytest.raises(mc.OptionError, match=r"has no photographs in a folder '"):
            library.folder_named(name)


def test_encoding_again_hides_nothing(library: Library) -> None:
    with pytest.raises(KeyboardInterrupt):
        library.index(Stopping("bag", 1), again=True)
    assert len(library.search("sunset", k=40)) == 30
    assert library.unfinished is None
    encoder = BagOfWords()
    assert library.index(encoder).unchanged == 8  # of the first batch
    assert len(encoder.encoded) == 22


def test_like_a_photograph(library: Library) -> None:
    inside = library.root / "Sydney" / "s0.jpg"
    found = library.search(like=inside, k=5)
    assert inside not in found.paths
    assert {photo.city for photo in found.photos} == {"Sydney"}
    outside = write_jpeg(library.root.parent / "outside.jpg", "Sunset and tower", "Tokyo", "2020-11-09T18:00:00")
    assert library.search(like=outside, k=1).photos[0].city == "Tokyo"
    with pytest.raises(mc.OptionError, match="a text or like \\(a photograph\\), not both"):
        library.search("x", like=inside)
    with pytest.raises(mc.InputError, match="cannot be read: No such file"):
        library.search(like=library.root / "none.jpg")
    with library.store.writing() as connection:
        connection.execute("DELETE FROM vectors WHERE photo = ?", (library.id_of(inside),))
    assert {photo.city for photo in library.search(like=inside, k=5).photos} == {"Sydney"}  # it is encoded for this


def test_the_library_indexed_last_is_the_default(library: Library, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    library.index(BagOfWords())
    assert Library.open().root == library.root
    monkeypatch.setenv("MASCOT_LIBRARY", str(tmp_path))
    assert Library.open().root == tmp_path


def test_the_library_around_the_working_directory_comes_first(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for root in (tmp_path / "outer", tmp_path / "last"):
        write_jpeg(root / "inner" / "a.jpg")
        with Library.open(root) as library:
            library.index(BagOfWords())
    monkeypatch.chdir(tmp_path / "outer" / "inner")
    assert Library.open().root == tmp_path / "outer"
    monkeypatch.chdir(tmp_path)
    assert Library.open().root == tmp_path / "last"


def test_a_library_that_does_not_exist_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "nothing"))
    with pytest.raises(mc.InputError, match="no library: name one with --library"):
        Library.open()
    with pytest.raises(mc.InputError, match=r"there is no library at .*: make one with `mascot index FOLDER`"):
        Library.open(str(tmp_path)).search("x")  # a folder may be text
    with pytest.raises(mc.InputError, match="there is no folder"):
        Library(tmp_path / "none")


def test_a_photograph_that_is_removed_during_a_search_is_no_result(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = library.search("sunset", k=3).photos[0].id
    stacked = Hits.stacked

    def remove(hits: Hits, *args: Any) -> Hits:
        with Library.open(library.root) as other, other.store.writing() as connection:
            connection.execute("DELETE FROM photos WHERE id = ?", (best,))
        return stacked(hits, *args)

    monkeypatch.setattr(Hits, "stacked", remove)
    assert best not in {photo.id for photo in library.search("sunset", k=3).photos}
    with pytest.raises(mc.InputError, match=f"no photograph {best}"):
        library.search("sunset", k=3, pin=[best])


def test_what_cannot_be_looked_into_is_not_pruned(library: Library, tmp_path: Path) -> None:
    """A drive that is linked into the library and is not mounted today."""
    drive = tmp_path / "drive"
    for i in range(3):
        write_jpeg(drive / f"d{i}.jpg", f"on the drive {i}", "Paris")
    (library.root / "link").symlink_to(drive)
    assert library.index(BagOfWords(), follow_links=True).photos == 33
    drive.rename(tmp_path / "away")
    done = library.index(BagOfWords(), prune=True, follow_links=True)
    assert (done.pruned, done.gone, done.photos) == (0, 0, 33)
    assert [item.path.name for item in done.skipped] == ["link"]
    (tmp_path / "away").rename(drive)
    assert library.index(BagOfWords(), prune=True, follow_links=True).unchanged == 33


def test_awkward_names_namesakes_and_looks(tmp_path: Path) -> None:
    names = ["a b.jpg", "übung 🌅.jpg", "new\nline.jpg", "quote'\".jpg", "--help.jpg", "%2e%2e.jpg"]
    folder = "dir with 'quotes' 🗺"
    birminghams = [(52.48, -1.9), (33.52, -86.8), (33.53, -86.81)] * 2
    for i, (name, place) in enumerate(zip(names, birminghams, strict=True)):
        write_jpeg(tmp_path / folder / name, f"sunset {name}", place=place, colour=(220 * (i % 2), 30, 100))
    with Library.open(tmp_path) as library:
        library.index(BagOfWords())
        sunsets = library.search("sunset", k=6)
        assert {path.name for path in sunsets.paths} == set(names)
        assert all(path.is_file() for path in sunsets.paths)
        assert library.focus(f"folder={folder}").near == folder
        assert {photo.city for photo in sunsets.photos} == {"Birmingham"}  # not averaged
        assert library.focus("place=birmingham").near == pytest.approx((33.525, -86.805), abs=1e-3)
        assert library.place_meant("birmingham") == "Birmingham, US"
        columns = library.hits("sunset").candidates.columns
        groups = Clusters(2, column="look").membership(columns, None).dense().argmax(axis=1)
        colours = [names.index(photo.path.rpartition("/")[2]) % 2 for photo in library.hits("sunset").photos]
        assert len(set(groups)) == len(set(zip(groups, colours, strict=True))) == 2
    assert middle([("FJ", -16.8, 179.9), ("FJ", -16.8, -179.7)]) == pytest.approx((-16.8, -179.9), abs=1e-3)


def test_a_library_made_anew_is_served_with_its_own_encoder(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    for i, title in enumerate(["a boat", "a harbour", "a boat in a harbour"]):
        write_jpeg(root / f"{i}.jpg", title)
    request = SearchRequest("boat", k=3)
    with Library(root, "cpu") as library:
        library.index(BagOfWords())
        service = Service(library)
        before = service.search(request)
        shutil.rmtree(root / ".mascot")
        with pytest.raises(LibraryGone):
            service.search(request)
        write_jpeg(root / "3.jpg", "a boat, a boat")
        with Library(root) as other:
            other.index(BagOfWords())
        after = service.search(request)
        service.current.close()
    assert (before.candidates, after.candidates, after.query) == (3, 4, "boat")
