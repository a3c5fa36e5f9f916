"""`mascot index`, `search`, `library`, `sample` as they are used, on real files; a few in processes of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jpegs import write_jpeg
from PIL import Image

from retelling import environment, on_a_terminal, run_command

COUNT = 90  # photographs of the sample


def run(state: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    variables = environment(XDG_STATE_HOME=str(state), **more)
    variables.pop("MASCOT_LIBRARY", None)
    return run_command(*words, variables=variables)


def good(state: Path, *words: str) -> str:
    done = run(state, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample library, made and indexed by the command; the state that remembers it."""
    folder = tmp_path_factory.mktemp("sample")
    good(folder, "sample", str(folder / "trips"), "--count", str(COUNT))
    good(folder, "index", str(folder / "trips"))
    return folder


def test_the_sample_is_steered(state: Path) -> None:
    plain = rows(good(state, "search", "sunset over water", "-k", "12"))
    spread = rows(good(state, "search", "sunset over water", "-k", "12", "--spread", "place"))
    assert len(plain) == len(spread) == 12
    for name in ("country", "city"):
        assert len({row[name] for row in spread} - {None}) > len({row[name] for row in plain} - {None})
    sea = rows(good(state, "search", "the sea", "-k", "12"))
    morning = rows(good(state, "search", "the sea", "-k", "12", "--focus", "hour=9", "--strength", "0.8"))
    away = [[abs(int(row["taken"][11:13]) - 9) for row in part if row["taken"]] for part in (sea, morning)]
    assert sum(away[1]) / len(away[1]) < sum(away[0]) / len(away[0]) - 2


def test_formats(state: Path) -> None:
    asked = ["search", "boats", "-k", "5", "--spread", "place"]
    paths = good(state, *asked, "--format", "paths").splitlines()
    assert len(paths) == 5
    assert all(Path(path).is_file() for path in paths)
    records = json.loads(good(state, *asked, "--format", "json"))
    assert [row["path"] for row in records] == paths
    assert {"score", "rank", "lat", "lon", "taken", "city", "country", "camera"} <= set(records[0])
    assert set(records[0]["gains"]) == {"relevance", "place"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", records[0]["taken"])
    table = good(state, *asked, "--format", "table", "--explain", "--pictures")
    assert re.search(r"was \d+; [\d.,]+ k?m from the nearest other result", table)
    assert re.search(r"left out\n(  \S.* \(was \d+\): .+\n){3}", table)
    assert f"\n{state / 'trips'}: {COUNT} photographs\n" in table
    assert "▀" in table
    compared = good(state, *asked, "--compare", "--format", "table")
    assert "by relevance" in compared
    assert re.search(r"^ *\d+ +- ", compared, re.M)
    assert re.search(r"cities \d+ -> \d+", compared)
    assert not any(part in compared for part in ("left out", "▀"))


def test_a_pipe_gets_records_of_one_kind(state: Path) -> None:
    records = rows(good(state, "search", "sunset over water", "-k", "8", "--spread", "place", "--compare", "--explain"))
    results, others = [row for row in records if row["rank"]], [row for row in records if not row["rank"]]
    assert [row["rank"] for row in results] == list(range(1, 9))
    assert {row["came"] for row in results} == {True, False}
    assert all(row["opened"] is not None for row in results)
    assert all(re.search(r"from the nearest other result|place unknown", row["because"]) for row in results)
    went = [row for row in others if row.get("went")]
    assert len(went) == sum(row["came"] for row in results)
    assert sorted(row["was"] for row in [*went, *results] if not row.get("came")) == list(range(1, 9))
    left_out = [row for row in others if row.get("left_out")]
    assert [row["because"] for row in left_out] == ["place: adds too little new"] * 3
    assert all(set(row["gains"]) == {"relevance", "place"} for row in left_out)
    same = {"rank", "was", "path", "score", "relevance", "gains", "id", "taken"}
    assert all(same <= set(row) and Path(row["path"]).is_file() for row in records)
    assert len({row["id"] for row in records}) == len(records)


def test_limits_shares_and_pages(state: Path) -> None:
    asked = ("search", "sunset over water", "-k", "12")
    limited = rows(good(state, *asked, "--limit", "city=1"))
    assert set(Counter(row["city"] for row in limited if row["city"]).values()) == {1}
    few = ("search", "boats", "-k", "15", "--limit", "country=1", "--where", "country in ('PT', 'US', 'JP')")
    assert len(rows(good(state, *few))) == 3
    assert len(rows(good(state, *few, "--fill"))) == 15
    shared = run(state, *asked, "--share", "country=Portugal:50%,Atlantis:25%")
    assert sum(row["country"] == "PT" for row in rows(shared.stdout)) >= 6
    assert shared.stderr == "mascot: share country: 0 of 3 from Atlantis (no candidate has it)\n"
    before = [word for row in limited for word in ("--already", str(row["id"]))]
    second = rows(good(state, *asked, "--spread", "place", *before, "--already", "999999"))
    assert {row["id"] for row in limited}.isdisjoint(row["id"] for row in second)
    near = rows(good(state, "search", "food", "-k", "5", "--focus", "place=Paris~20", "--explain"))
    assert all("from Paris" in row["because"] for row in near if row["rank"])


def test_a_terminal_sees_colours_and_pictures(state: Path) -> None:
    text = on_a_terminal("search", "-k", "3", "--spread", "place", XDG_STATE_HOME=str(state), COLORTERM="truecolor")
    assert "▀" in text
    assert "\x1b[" in text


def test_conditions(state: Path) -> None:
    asked = ("search", "the sea", "-k", "50")
    year = rows(good(state, *asked, "--since", "2019", "--until", "2019-06"))
    assert year
    assert all("2019-01" <= row["taken"][:7] <= "2019-06" for row in year)
    folder = year[0]["folder"]
    inside = rows(good(state, *asked, "--folder", folder))
    assert inside
    assert all(row["folder"] == folder or row["folder"].startswith(folder + "/") for row in inside)
    assert rows(good(state, *asked, "--folder", str(state / "trips" / folder))) == inside
    everything = good(state, "search", "--folder", ".", "-k", str(COUNT), "--candidates", "9", "--no-stacks")
    assert len(rows(everything)) == COUNT


def test_open_writes_a_page_for_the_browser(state: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" "{tmp_path}/page.html"\n')
    browser.chmod(0o755)
    done = run(state, "search", "-k", "4", "--open", BROWSER=f"{browser} %s")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 4
    assert len(re.findall(r"<b><bdi>[\w.]+\.(?:jpe?g|JPG)</bdi></b>", page)) == 4
    assert page.count('<a href="file://') == 4
    assert "<script" not in page


def test_the_library_in_words(state: Path) -> None:
    told = good(state, "library")
    assert all(part in told for part in (f"{COUNT} photographs", "●", "encoder lite", "taken as missing:"))
    counted = json.loads(good(state, "library", "--format", "json"))
    assert counted["photos"] == COUNT
    assert 0 < counted["without_place"] < 60
    assert sum(counted["hours"]) == sum(counted["months"].values()) == COUNT - counted["without_time"]


def test_real_photographs_are_steered(tmp_path: Path, data: Path) -> None:
    (tmp_path / "photos").mkdir()
    pictures = sorted(path for path in (data / "photos").rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))[:20]
    for path in pictures:
        shutil.copy2(path, tmp_path / "photos")
    done = good(tmp_path, "index", str(tmp_path / "photos"))
    assert done.startswith(f"{len(pictures)} photographs: {len(pictures)} new")
    asked = ("search", "an animal", "-k", "6")
    plain = rows(good(tmp_path, *asked))
    spread = rows(good(tmp_path, *asked, "--spread", "country", "--strength", "0.8"))
    assert len({row["country"] for row in spread}) > len({row["country"] for row in plain})
    focused = rows(good(tmp_path, *asked, "--focus", "camera", "--strength", "0.8"))
    assert len({row["camera"] for row in focused}) < len({row["camera"] for row in plain})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "boats", "--focus", "place=Nowhereville"], "no place is called 'Nowhereville'"),
        (["search", "boats", "--spread", "smell"], "no attribute of photographs is called 'smell'"),
        (["search", "boats", "--candidates", "0"], "candidates must be >= 1"),
        (["search", "\udcff"], r"the text to search for must be valid UTF-8, got '\udcff'"),
        (["search", "x", "--where", "a = 1", "--since", "2019"], "no such column: a in 'a = 1' and 'taken >= ?'"),
        (["search", "x", "--folder", "nowhere"], "has no photographs in a folder 'nowhere'"),
        (["search", "x", "-0", "--format", "json"], "--print0 writes paths, got --format json as well"),
        (["search", "--source", "lance:///x"], "--source needs a TEXT to search for, or a photograph with --like"),
        (["search", "--like", "none.jpg"], "none.jpg cannot be read: No such file"),
        (["search", "x", "--since", "yesterday"], "--since must be a date like 2019-07-14"),
        (["search", "x", "--already", "first.jpg"], "--already must be the id of a photograph, a whole number"),
        (["search", "x", "--limit", "place=2"], "place has no values that could be counted: write city or country"),
        (["search", "--folder", "'); DROP TABLE photos; --"], "has no photographs in a folder"),
        (["search", "--focus", "city=Lisbon'; DROP TABLE photos; --"], "no photograph has city"),
        (["search", "--focus", "camera=x' UNION SELECT value FROM facts --"], "no photograph has camera"),
        (["search", "--since", "2019-01-01' OR '1'='1"], "--since must be a date"),
        (["index", "--encoder", "clip:/nonexistent"], "/nonexistent"),
        (["index", "/nonexistent"], "there is no folder /nonexistent"),
        (["index", "--max-megapixels", "0"], "--max-megapixels must be > 0"),
    ],
)
def test_errors_are_one_line_and_exit_code_two(state: Path, words: list[str], said: str) -> None:
    done = run(state, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_no_library_at_all(tmp_path: Path) -> None:
    assert "make one with `mascot index FOLDER`" in run(tmp_path, "search", "x").stderr
    (tmp_path / "empty").mkdir()
    assert "0 photographs: none found" in good(tmp_path, "index", str(tmp_path / "empty"))
    done = run(tmp_path, "search", "x")
    assert done.returncode == 2
    assert "holds no photographs" in done.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("keep me")
    assert run(tmp_path, "sample", str(tmp_path / "mine"), "--count", "5").returncode == 2
    assert (tmp_path / "mine" / "diary.txt").read_text() == "keep me"


def test_a_folder_of_odds_and_ends(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    boat = write_jpeg(root / "a\nboat\x1b[31m🌅.jpg", "a boat", "Lisbon", "2019-07-14T18:05:00")
    for name in ("a.NEF", "b.nef", "c.gif", "d.MOV"):
        (root / name).touch()
    (root / "caf\udce9.jpg").touch()  # as Latin letters were written once
    Image.new("1", (20_000, 10_000)).save(root / "bomb.png")
    Image.new("1", (13_000, 100)).save(root / "wide.png")
    done = run(tmp_path, "index", str(root), "--max-megapixels", "1")
    told = done.stdout
    assert "bomb.png: 200 megapixels, more than the 1 allowed (--max-megapixels)" in told
    assert "wide.png: 2 megapixels, more than the 1 allowed (--max-megapixels)" in told
    assert "mascot: lite searches the words of a photograph" in done.stderr
    assert "1 photograph: 1 new" in told
    assert "1 .mov file: of kinds that are not read" in told
    assert r"caf\xe9.jpg: its name is not valid text" in told
    os.utime(boat, (1, 1))
    told = good(tmp_path, "index", str(root))
    assert "2 photographs: 1 new" in told
    assert "1 unchanged" in told
    assert "bomb.png: 200 megapixels, more than the 150 allowed (--max-megapixels)" in told
    assert "2 photographs, 2019-07-14 to 2019-07-14, 1 moment\n" in good(tmp_path, "library")
    assert good(tmp_path, "search", "boat", "-0", "-k", "1") == f"{boat}\0"
    boat.unlink()
    done = run(tmp_path, "index", str(root))
    assert "1 is no longer in the folder" in done.stdout
    assert done.stderr == ""  # what lite is weak in was said when it encoded
    done = run(tmp_path, "search", "boat", "-k", "1", "--format", "paths")
    assert done.stdout == ""
    assert done.stderr.startswith("mascot: 1 file is gone and left out; `mascot index --prune`")
    assert rows(good(tmp_path, "search", "boat"))[0]["gone"] is True
    table = good(tmp_path, "search", "boat", "--format", "table")
    assert "boat\N{REPLACEMENT CHARACTER}[31m🌅.jpg (gone)" in table
    assert "\x1b" not in table


def test_without_words_all_are_found_newest_first(state: Path) -> None:
    words = ["--focus", "place=Atlantis", "-k", "2", "--candidates", "10", "--compare", "--explain"]
    done = run(state, "search", *words, "--format", "table")
    assert "newest" in done.stdout
    assert "rel." not in done.stdout
    assert done.stderr.splitlines()[0] == "mascot: place: Atlantis, ZA"
    assert "without words the 10 newest of 90 photographs are looked at: --candidates takes more" in done.stderr
