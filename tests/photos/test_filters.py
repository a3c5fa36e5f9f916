"""`--where`: what it finds, and what it must not do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library

import mascot as mc
from mascot.photos import Library
from mascot.photos.filters import matching


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


def test_a_condition_that_never_ends_is_stopped(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mascot.photos.filters._LONGEST_S", 0.3)
    joined = ", ".join(f"photos p{i}" for i in range(9))
    ids = " + ".join(f"p{i}.id" for i in range(9))
    with pytest.raises(mc.OptionError, match=r"took longer than 0\.3 s"):
        matching(library.store.path, f"(SELECT max({ids}) FROM {joined}) > 0")


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
