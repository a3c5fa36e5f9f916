"""`mascot index`, `search`, `library`, `sample` as they are used, on real files; a few in processes of their own."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.photos.jpegs import write_jpeg
from tests.retelling import environment, on_a_terminal, run_command

COUNT = 60  # photographs of the sample


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


def test_tables_and_paths(state: Path) -> None:
    asked = ["search", "boats", "-k", "5", "--spread", "place"]
    paths = good(state, *asked, "--format", "paths").splitlines()
    assert [row["path"] for row in json.loads(good(state, *asked, "--format", "json"))] == paths
    table = good(state, *asked, "--format", "table", "--explain", "--pictures")
    assert re.search(r"was \d+; [\d.,]+ k?m from the nearest other result", table)
    assert re.search(r"left out\n(  \S.* \(was \d+\): .+\n){3}", table)
    assert f"\n{state / 'trips'}: {COUNT} photographs\n" in table
    assert "▀" in table
    compared = good(state, *asked, "--compare", "--format", "table")
    assert re.search(r"by relevance.*^ *\d+ +- .*cities \d+ -> \d+", compared, re.M | re.S)
    assert not any(part in compared for part in ("left out", "▀"))
    words = ["--focus", "place=Atlantis", "-k", "2", "--candidates", "10", "--compare", "--explain"]
    newest = run(state, "search", *words, "--format", "table")
    assert ("newest" in newest.stdout, "rel." in newest.stdout) == (True, False)
    assert newest.stderr.splitlines()[0] == "mascot: place: Atlantis, ZA"
    assert f"without words the 10 newest of {COUNT} photographs are looked at: --candidates takes more" in newest.stderr
    library = good(state, "library")
    assert all(part in library for part in (f"{COUNT} photographs", "encoder lite", "taken as missing:"))
    counted = json.loads(good(state, "library", "--format", "json"))
    assert sum(counted["hours"]) == sum(counted["months"].values()) == COUNT - counted["without_time"]


ASKED = ("search", "the sea", "-k", "12")


def test_limits_and_fill(state: Path) -> None:
    limited = rows(good(state, *ASKED, "--limit", "city=1"))
    assert set(Counter(row["city"] for row in limited if row["city"]).values()) == {1}
    few = (*ASKED, "--limit", "country=1", "--where", "country in ('PT', 'US', 'JP')")
    assert len(rows(good(state, *few))) == 3 < len(rows(good(state, *few, "--fill")))


def test_a_share_that_cannot_be_met_is_reported(state: Path) -> None:
    shares = run(state, *ASKED, "--share", "country=Portugal:25%,Atlantis:25%")
    assert sum(row["country"] == "PT" for row in rows(shares.stdout)) >= 3
    assert "share country: 0 of 3 from Atlantis" in shares.stderr
    assert "no candidate has it" in shares.stderr


def test_filters_by_date_and_folder(state: Path) -> None:
    year = rows(good(state, *ASKED, "--since", "2019", "--until", "2019-06"))
    assert year
    assert all("2019-01" <= row["taken"][:7] <= "2019-06" for row in year)
    folder = year[0]["folder"]
    inside = rows(good(state, *ASKED, "--folder", str(state / "trips" / folder)))
    assert inside
    assert all(row["folder"] == folder or row["folder"].startswith(folder + "/") for row in inside)
    everything = good(state, "search", "--folder", ".", "-k", str(COUNT), "--candidates", "9", "--no-stacks")
    assert len(rows(everything)) == COUNT


def test_a_pipe_gets_records_of_one_kind(state: Path) -> None:
    records = rows(good(state, "search", "sunset over water", "-k", "8", "--spread", "place", "--compare", "--explain"))
    results, others = [row for row in records if row["rank"]], [row for row in records if not row["rank"]]
    assert [row["rank"] for row in results] == list(range(1, 9))
    assert {row["came"] for row in results} == {True, False}
    assert all(re.search(r"from the nearest other result|place unknown", row["because"]) for row in results)
    went = [row for row in others if row.get("went")]
    assert len(went) == sum(row["came"] for row in results)
    assert sorted(row["was"] for row in [*went, *results] if not row.get("came")) == list(range(1, 9))
    left_out = [row for row in others if row.get("left_out")]
    reasons = [row["because"].removeprefix("its place is ") for row in left_out]
    assert reasons == ["unknown", "already covered", "already covered"]
    same = {"rank", "was", "path", "score", "relevance", "gains", "id", "taken"}
    assert all(same <= set(row) and Path(row["path"]).is_file() for row in records)


def test_a_terminal_sees_colours_and_pictures(state: Path) -> None:
    text = on_a_terminal("search", "-k", "3", "--spread", "place", XDG_STATE_HOME=str(state), COLORTERM="truecolor")
    assert "▀" in text
    assert "\x1b[" in text


def test_open_writes_a_page_for_the_browser(state: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" "{tmp_path}/page.html"\n')
    browser.chmod(0o755)
    done = run(state, "search", "-k", "4", "--open", BROWSER=f"{browser} %s")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 4
    assert page.count('<a href="file://') == 4
    assert "<script" not in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "boats", "--focus", "place=Nowhereville"], "no place is called 'Nowhereville'"),
        (["search", "\udcff"], r"the text to search for must be valid UTF-8, got '\udcff'"),
        (["search", "x", "--where", "a = 1", "--since", "2019"], "no such column: a in ["),
        (["search", "x", "-0", "--format", "json"], "--print0 writes paths, got --format json as well"),
        (["search", "--like", "none.jpg"], "none.jpg cannot be read: No such file"),
        (["search", "--focus", "camera=x' UNION SELECT value FROM facts --"], "no photograph has camera"),
        (["search", "--since", "2019-01-01' OR '1'='1"], "since must be a date"),
        (["index", "--encoder", "clip:/nonexistent"], "/nonexistent"),
        (["index", "/nonexistent"], "there is no folder /nonexistent"),
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
    assert "holds no photographs" in run(tmp_path, "search", "x").stderr


def test_files_that_are_not_indexed_are_listed_with_a_reason(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    write_jpeg(root / "boat.jpg", "a boat", "Lisbon", "2019-07-14T18:05:00")
    (root / "d.MOV").touch()
    (root / "caf\udce9.jpg").touch()  # as Latin letters were written once
    Image.new("1", (20_000, 10_000)).save(root / "bomb.png")
    Image.new("1", (13_000, 100)).save(root / "wide.png")
    done = run(tmp_path, "index", str(root), "--max-megapixels", "1")
    for line in (
        "1 photograph: 1 new",
        "bomb.png: 200 megapixels, more than the 1 allowed (--max-megapixels)",
        "wide.png: 2 megapixels, more than the 1 allowed (--max-megapixels)",
        "1 .mov file skipped: not a supported format",
        r"caf\xe9.jpg: its name is not valid text",
    ):
        assert line in done.stdout
    assert "mascot: lite searches the words of a photograph" in done.stderr
    again = run(tmp_path, "index", str(root))
    assert re.search("2 photographs: 1 new.* 1 unchanged", again.stdout)
    assert "bomb.png: 200 megapixels, more than the 150 allowed (--max-megapixels)" in again.stdout
    assert "2 photographs, 2019-07-14 to 2019-07-14, 1 moment\n" in good(tmp_path, "library")


def test_a_file_that_is_gone_is_left_out_of_paths_and_marked_elsewhere(tmp_path: Path) -> None:
    boat = write_jpeg(tmp_path / "photos" / "a\nboat\x1b[31m🌅.jpg", "a boat")
    write_jpeg(tmp_path / "photos" / "tree.jpg", "a tree")
    good(tmp_path, "index", str(tmp_path / "photos"))
    assert good(tmp_path, "search", "boat", "-0", "-k", "1") == f"{boat}\0"
    boat.unlink()
    done = run(tmp_path, "index", str(tmp_path / "photos"))
    assert "1 is no longer in the folder" in done.stdout
    assert done.stderr == ""  # what lite is weak in was said when it encoded
    done = run(tmp_path, "search", "boat", "-k", "1", "--format", "paths")
    assert done.stdout == ""
    assert done.stderr.startswith("mascot: 1 file is gone and left out; `mascot index --prune`")
    assert rows(good(tmp_path, "search", "boat"))[0]["gone"] is True
    table = good(tmp_path, "search", "boat", "--format", "table")
    assert "boat\N{REPLACEMENT CHARACTER}[31m🌅.jpg (gone)" in table
    assert "\x1b" not in table
