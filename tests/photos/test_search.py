"""Searching a library: conditions, photographs without words, pinned and rejected ones, saved choices, the commands."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.photos import Library, SearchRequest
from mascot.photos.database.filters import SearchCancelled, matching
from mascot.photos.sharing.choices import checked_name
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in
from tests.retelling import run_command


def test_order_by_date(shared: Library) -> None:
    request = SearchRequest("harbour", wishes=[{"spread": "city"}], k=12, order="date")
    by_date, selected = shared.search(request), shared.search(replace(request, order=None))
    assert {photo.id for photo in by_date.photos} == {photo.id for photo in selected.photos}
    times = [photo.taken for photo in by_date.photos]
    dated = [time for time in times if time is not None]
    assert dated == sorted(dated)
    assert times == dated + [None] * (len(times) - len(dated))
    assert len(dated) > 2
    reasons = {reason.id: reason.because for reason in selected.explain().results}
    assert [(r.rank, reasons[r.photo.id]) for r in by_date] == [
        (rank, reason.because) for rank, reason in enumerate(by_date.explain().results, 1)
    ]
    with pytest.raises(mc.OptionError, match="order=date does not go with rules about positions"):
        shared.search(replace(request, wishes=[mc.limit("city", 1, window=3)]))


def test_conditions_on_columns(shared: Library) -> None:
    counts = {
        "country = 'PT' and taken >= '2019-01-01'": 12,
        "taken is null": 6,
        "city in ('Tokyo', 'Sydney') and camera = 'Pixel 5'": 12,
        "lower(caption) like '%harbour%'": 6,
        "caption <> 'select values with' -- select": 24,
    }
    assert {where: len(matching(shared.store.path, where)) for where in counts} == counts
    wheres = ["city = 'Tokyo' or city = 'Sydney' -- both", "taken >= ?"]
    assert len(matching(shared.store.path, wheres, ["2021"])) == 6
    assert len(matching(shared.store.path, "city = ?", ["x' OR '1'='1"])) == 0
    with pytest.raises(mc.OptionError, match=r"no such column: contry in .*; columns"):
        matching(shared.store.path, ["contry = 1", "taken >= ?"], ["2021"])


@pytest.mark.parametrize(
    "where",
    [
        "1); DROP TABLE photos; --",
        "1) UNION SELECT value FROM facts --",
        "load_extension('x')",
        "country = 'PT",
        "ATTACH 'x' AS y",
        "1) WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c --",
        "id in photos",
        "1) UNION SELECT value FROM facts WHERE (1",
    ],
)
def test_anything_but_a_condition_is_refused_and_changes_nothing(shared: Library, where: str) -> None:
    with pytest.raises(mc.OptionError, match=r"where: .*columns are id, path, folder"):
        matching(shared.store.path, where)
    assert shared.store.count() == 30


def test_a_condition_can_be_stopped_by_time_or_by_its_caller(shared: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mascot.photos.database.filters._STEPS", 10)
    calls: list[int] = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 3

    with pytest.raises(SearchCancelled):
        shared.search("sunset", where="length(caption) > 3", cancelled=cancelled)
    assert len(calls) == 4
    with pytest.raises(SearchCancelled):
        shared.hits("sunset", cancelled=lambda: True)
    monkeypatch.setattr("mascot.photos.database.filters._LONGEST_S", -1.0)
    with pytest.raises(mc.OptionError, match=r"took longer than -1 s"):
        matching(shared.store.path, "length(caption) > 3")


def test_without_words_photographs_are_all_as_good_and_the_newest_come_first(shared: Library) -> None:
    newest = sorted((photo.taken for photo in photos_in(shared) if photo.taken), reverse=True)
    for text in (None, "  "):
        plain = shared.search(text, k=6)
        assert [photo.taken for photo in plain.photos] == newest[:6]
        assert {result.relevance for result in plain} == {0.0}
    assert len(shared.hits()) == shared.hits().newest_of == 30
    assert [photo.taken for photo in shared.hits().photos[-6:]] == [None] * 6
    few = shared.hits(candidates=5, where="city = 'Lisbon'")
    assert (len(few), few.newest_of, {photo.city for photo in few.photos}) == (5, 12, {"Lisbon"})
    empty = shared.search("sunset", shared.spread("place"), where="city = ?", values=["Atlantis"])
    assert (len(empty), empty.records(), empty.paths, empty.plain) == (0, [], [], [])
    assert len(shared.search(k=30, candidates=3, reject=[1, 2])) == 28


def test_without_words_nobody_is_protected_for_being_newest(shared: Library) -> None:
    years = shared.search(None, shared.spread("year"), k=3)
    assert {photo.taken.year for photo in years.photos if photo.taken} == {2021, 2020, 2019}
    assert years.photos[0].quality == max(photo.quality or 0 for photo in years.photos)
    # Protection acts on what relevance and the named value say together; beside a spread that is the newest.
    protected = shared.hits().rerank(shared.focus("place=Lisbon"), 6, mc.Mascot(protect=2))
    assert {photo.city for photo in protected.photos} == {"Lisbon"}
    newest = shared.search(None, k=2).photos
    assert shared.hits().rerank(shared.spread("city"), 3, mc.Mascot(protect=2)).photos[:2] == newest
    # A focus that names nothing keeps one place; quality is the relevance where there are no words.
    near = shared.search(None, [shared.focus("place")], k=3).photos
    assert len({photo.city for photo in near}) == 1


_IDS = st.sets(st.integers(1, 30), max_size=8)


@given(pin=_IDS, reject=_IDS, rest=st.integers(0, 12), n=st.integers(1, 3), data=st.data())
@settings(max_examples=25)
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


def test_pins_and_names_that_cannot_be(shared: Library) -> None:
    with pytest.raises(mc.OptionError, match="photograph 3 is pinned and rejected"):
        shared.search(None, pin=[3], reject=[3])
    with pytest.raises(mc.InputError, match="holds no photograph 99"):
        shared.search(None, pin=[99])
    for name in ("  ", "a\nb\0", "x" * 201, "\ud800"):
        with pytest.raises(mc.OptionError, match="the name of a choice must be"):
            checked_name(name)


def test_choices_survive_moving_and_indexing(library: Library) -> None:
    root = library.root
    ids = {photo.path: photo.id for photo in photos_in(library)}
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
        with pytest.raises(mc.InputError, match="no choice is called 'Été'"):
            again.choices.get("Été")


def test_the_files_of_choices(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: library.choices.put(f"choice {number % 10}", [number % 30 + 1]), range(40)))
    names = [f"choice {number}" for number in range(10)]
    assert [choice.name for choice in library.choices.all()] == names

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        patch.setattr(Path, "replace", refuse)
        for write in (lambda: library.choices.put("new", [1]), lambda: library.choices.delete("choice 1")):
            with pytest.raises(mc.InputError, match=r"cannot write to .*choices"):
                write()
    assert [choice.name for choice in library.choices.all()] == names


def test_names_of_choices_that_look_alike_as_files(library: Library) -> None:
    names = ["Wall", "a/b", "a_b", "wall", "../../x", "con", "x" * 200, "\u00e9" * 200]
    saved = {name: library.choices.put(name, [number + 1]) for number, name in enumerate(names)}
    assert [choice.name for choice in library.choices.all()] == sorted(names)
    assert all(library.choices.get(name) == choice for name, choice in saved.items())
    assert {path.parent for path in library.folder.rglob("*.json")} == {library.folder / "choices"}


def test_the_choice_of_an_earlier_day_is_kept(library: Library) -> None:
    first = library.choices.put("wall", [1])
    (file,) = (library.folder / "choices").glob("*.json")
    os.utime(file, (0, 0))
    library.choices.put("wall", [2])
    assert library.choices.get("wall").photos == (2,)
    earlier = file.with_name(f"{file.name}.earlier")
    file.write_text("{", "utf-8")
    for use in (library.choices.all, library.check):
        with pytest.raises(mc.InputError, match=r"is damaged .*: replace it by .*earlier"):
            use()
    earlier.replace(file)
    assert library.choices.get("wall") == first
    library.choices.delete("wall")
    assert (library.choices.all(), earlier.is_file()) == ([], True)


def _run(root: Path, *words: str) -> str:
    done = run_command(*words, "--library", str(root))
    assert done.returncode == 0, done.stderr
    return done.stdout


def _refusal(root: Path, *words: str) -> str:
    return run_command(*words, "--library", str(root)).stderr


def _records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_choice_from_the_search_to_the_folder(library: Library, tmp_path: Path, monkeypatch: Any) -> None:
    root = library.root
    monkeypatch.chdir(root / "Tokyo")
    search = ["search", "-k", "6", "--spread", "place", "--limit", "day=2", "--since", "2019"]
    pins = ["--pin", "t1.jpg", "--pin", "Sydney/s2.jpg", "--pin", str(root / "plain1.jpg"), "--reject", "t2.jpg"]
    results = _records(_run(root, *search, *pins, "--save-choice", "trip"))
    names = [Path(record["path"]).name for record in results]
    assert names[:3] == ["t1.jpg", "s2.jpg", "plain1.jpg"]
    assert [record.get("pinned") for record in results] == [True] * 3 + [None] * 3
    assert "t2.jpg" not in names
    (choice,) = _records(_run(root, "choices"))
    assert (choice["name"], choice["photos"]) == ("trip", [record["id"] for record in results])
    assert len(choice["rejected"]) == 1
    wishes = [{"spread": "place"}, {"limit": "day", "n": 2}]
    assert choice["query"] == {"since": "2019", "wishes": wishes, "k": 6}
    more = _records(_run(root, "search", "-k", "9", "--choice", "trip", "--reject", "t1.jpg"))
    assert [record["id"] for record in more][:5] == choice["photos"][1:]
    assert not {"t1.jpg", "t2.jpg"} & {Path(record["path"]).name for record in more}
    targets = {"--copy-to": tmp_path / "copies", "--zip": tmp_path / "photos.zip", "--album": tmp_path / "album.html"}
    options = [word for option, path in targets.items() for word in (option, str(path))]
    paths = _run(root, "choices", "trip", "--format", "paths", *options).splitlines()
    assert [Path(path).name for path in paths] == names
    assert sorted(os.listdir(tmp_path / "copies")) == sorted(names)
    assert sorted(zipfile.ZipFile(tmp_path / "photos.zip").namelist()) == sorted(names)
    assert (tmp_path / "album.html").read_text(encoding="utf-8").count("data:image/jpeg") == 6
    assert "never overwritten" in _refusal(root, "choices", "trip", "--zip", str(tmp_path / "photos.zip"))
    assert "6  1  trip" in re.sub(" +", "  ", _run(root, "choices", "--format", "table"))
    assert _run(root, "choices", "trip", "--delete") == ""
    assert _run(root, "choices") == ""


def test_a_saved_search_continues_on_the_command_line(library: Library) -> None:
    request = SearchRequest(since="2019", wishes=({"spread": "place", "weight": 0.5},), k=5, pin=(1, 2))
    library.choices.put("saved", [1, 2], query=request.to_dict())
    for words, continued in {
        "--from saved": replace(request, pin=()),
        "--from saved --choice saved": request,
        "--from saved -k 7 --focus hour=18": replace(request, pin=(), k=7, wishes=({"focus": "hour", "near": "18"},)),
    }.items():
        rows = _records(_run(library.root, "search", *words.split()))
        assert [row["id"] for row in rows] == [photo.id for photo in library.search(continued).photos]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"where": "1"}, "a search request has no field 'where'; its fields are text, like, since"),
        ({"k": "5"}, "k must be a whole number >= 1, got '5'"),
        ({"since": "yesterday"}, "since must be a date like 2019-07-14, 2019-07 or 2019, got 'yesterday'"),
        ({"box": [10, 0, 5, 0]}, "box must be south, west, north and east in degrees, south below north"),
        ({"wishes": "place"}, "wishes must be a list of wishes, got 'place'"),
        ({"text": "a", "like": 3}, r"a text or like \(a photograph\), not both"),
        ({"pin": [1.5]}, r"pin must be ids of photographs, got \[1.5\]"),
    ],
)
def test_fields_of_a_request_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(mc.OptionError, match=message):
        SearchRequest.from_dict(fields)


def test_a_request_writes_what_differs_from_the_default() -> None:
    assert SearchRequest(text=" ", k=24).to_dict() == {}
    fields = {"like": 3, "box": [1.0, 170.0, 2.0, -170.0], "wishes": [{"focus": "hour", "near": "18"}], "stacks": False}
    assert SearchRequest.from_dict(fields).to_dict() == fields
    policy = SearchRequest("boats").settled([mc.spread("city", 0.5)])
    assert (policy.strength, policy.protect, policy.order) == (0.4, 1, "selection")
    assert SearchRequest("boats").settled([mc.limit("city", 1)]).to_dict()["order"] == "relevance"
    assert SearchRequest(keep=0.9).settled([mc.focus("city", near="Faro")]).strength is None


def test_filters_are_fields(shared: Library) -> None:
    def cities(**fields: Any) -> set[str | None]:
        return {photo.city for photo in shared.search(SearchRequest(**fields)).photos}

    assert cities(country="Portugal") == cities(city="lisboa") == cities(folder="LISB") == {"Lisbon"}
    assert cities(folder="Lisb/") == set()
    assert cities(camera="pixel", until="2020") == {"Tokyo"}
    assert cities(box=(-50, 100, 40, -100)) == {"Tokyo", "Sydney"}
    assert cities(since="2021", rating=0) == set()
