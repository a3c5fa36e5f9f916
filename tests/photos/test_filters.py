"""`--where`: what it finds, and what it must not do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library

import mascot as mc
from mascot.photos import Library
from mascot.photos.filters import SearchCancelled, matching


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory):
    with Library.open(small_library(tmp_path_factory.mktemp("filters"))) as found:
        found.index(BagOfWords())
        yield found


def test_conditions_on_columns(library: Library) -> None:
    def found(where: str) -> int:
        return len(matching(library.store.path, where))

    assert found("country = 'PT'") == 12
    assert found("country = 'PT' and taken >= '2019-01-01'") == 12
    assert found("taken >= '2020-01-01'") == 12
    assert found("taken is null") == 6
    assert found("city in ('Tokyo', 'Sydney') and camera = 'Pixel 5'") == 12
    assert found("lower(caption) like '%harbour%'") == 6
    assert found("1 -- a comment") == 30
    assert found("0") == 0
    assert found("caption <> 'select values with' -- select") == 24


@pytest.mark.parametrize(
    "where",
    [
        "1); DROP TABLE photos; --",
        "1; DELETE FROM photos",
        "id in (SELECT photo FROM vectors)",
        "1) UNION SELECT value FROM facts --",
        "(SELECT value FROM facts LIMIT 1) = 'x'",
        "(SELECT name FROM sqlite_master LIMIT 1) = 'x'",
        "load_extension('x')",
        "writefile('x', 'y')",
        "length(zeroblob(1000000000)) > 1",
        "printf('%.*c', 100000000, 'x') = ''",
        "no_such_column = 1",
        "country = ",
        "country = 'PT",
        "ATTACH 'x' AS y",
        "1) WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c --",
    ],
)
def test_what_is_no_condition_is_refused_and_changes_nothing(library: Library, where: str) -> None:
    before = library.store.count()
    with pytest.raises(mc.OptionError, match=r"where: .*columns are id, path, folder"):
        matching(library.store.path, where)
    assert library.store.count() == before == 30


def test_a_condition_that_takes_too_long_is_stopped(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mascot.photos.filters._LONGEST_S", -1.0)
    monkeypatch.setattr("mascot.photos.filters._STEPS", 10)
    with pytest.raises(mc.OptionError, match=r"took longer than -1 s"):
        matching(library.store.path, "length(caption) > 3")


def test_a_search_is_cancelled_when_its_caller_says_so(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mascot.photos.filters._STEPS", 10)
    calls = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 3

    with pytest.raises(SearchCancelled):
        library.search("sunset", where="length(caption) > 3", encoder=BagOfWords(), cancelled=cancelled)
    assert len(calls) == 4
    with pytest.raises(SearchCancelled):
        library.hits("sunset", encoder=BagOfWords(), cancelled=lambda: True)
    assert len(library.hits("sunset", encoder=BagOfWords(), cancelled=lambda: False)) == 30


@pytest.mark.parametrize(
    "where",
    [
        "id in (SELECT id FROM photos)",
        "id in photos",
        "id in (VALUES (1), (2))",
        "EXISTS (SELECT 1 FROM photos p, photos q, photos r)",
        "id in (WITH a(x) AS (VALUES (1)), b(x) AS (SELECT x FROM a) SELECT x FROM b)",
        "EXISTS (SELECT 1 FROM json_each(keywords) WHERE value = 'boat')",
        "id in json_each('[1, 2]')",
        "(SELECT 1) = 1",
        "1 UNION SELECT 1",
    ],
)
def test_subqueries_are_refused(library: Library, where: str) -> None:
    with pytest.raises(mc.OptionError, match="where: "):
        matching(library.store.path, where)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("1 or " * 5000 + "1", "bytes, more than the 16000 allowed"),
        ("(" * 300 + "1" + ")" * 300, "."),
        ("-" + "- " * 500 + "1 > 0", "."),
        ("caption like '%" + "a%" * 800 + "'", "too complex"),
        ("length(caption || " + " || ".join(["caption"] * 150) + ") > 1", "depth"),
    ],
)
def test_conditions_have_limits(library: Library, where: str, reason: str) -> None:
    with pytest.raises(mc.OptionError, match=f"where: .*{reason}") as raised:
        matching(library.store.path, where)
    assert len(str(raised.value)) < 2000


def test_several_conditions_hold_together_and_are_told_as_they_were_written(library: Library) -> None:
    wheres = ["city = 'Tokyo' or city = 'Sydney' -- both", "taken >= ?"]
    assert len(matching(library.store.path, wheres, ["2021"])) == 6
    with pytest.raises(mc.OptionError, match=r"no such column: contry in 'contry = 1' and 'taken >= \?'; columns"):
        matching(library.store.path, ["contry = 1", "taken >= ?"], ["2021"])


def test_values_are_values(library: Library) -> None:
    assert len(matching(library.store.path, "city = ?", ["Lisbon"])) == 12
    assert len(matching(library.store.path, "city = ?", ["x' OR '1'='1"])) == 0


def test_the_connection_cannot_write(library: Library) -> None:
    connection = sqlite3.connect(f"{Path(library.store.path).resolve().as_uri()}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM photos")
    connection.close()
