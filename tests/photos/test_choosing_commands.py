"""`mascot search` with pinned photographs, and `mascot choices`: what they print, copy and refuse."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bag_of_words import BagOfWords
from jpegs import small_library
from typer.testing import CliRunner

from mascot.cli.app import app
from mascot.photos import Library


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library") / "photos"
    with pytest.MonkeyPatch.context() as patch, Library.open(small_library(folder)) as library:
        patch.setenv("XDG_STATE_HOME", str(folder.parent / "state"))
        library.index(BagOfWords())
    return folder


def _run(root: Path, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--library", str(root)])
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


def _refusal(root: Path, *words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--library", str(root)])
    assert done.exception is not None
    return str(done.exception)


def _records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_choice_from_the_search_to_the_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "Tokyo")
    search = ["search", "-k", "6", "--spread", "place", "--limit", "day=2", "--since", "2019"]
    pins = ["--pin", "t1.jpg", "--pin", "Sydney/s2.jpg", "--pin", str(root / "plain1.jpg"), "--reject", "t2.jpg"]
    results = _records(_run(root, *search, *pins, "--save-choice", "trip"))
    names = [Path(record["path"]).name for record in results]
    assert names[:3] == ["t1.jpg", "s2.jpg", "plain1.jpg"]
    assert [record.get("pinned") for record in results] == [True] * 3 + [None] * 3
    assert "t2.jpg" not in names
    (choice,) = _records(_run(root, "choices"))
    assert choice["name"] == "trip"
    assert choice["photos"] == [record["id"] for record in results]
    assert len(choice["rejected"]) == 1
    assert choice["query"]["where"] == "taken >= '2019'"
    assert choice["query"]["wishes"][1] == {"limit": "day", "n": 2}
    more = _records(_run(root, "search", "-k", "9", "--choice", "trip", "--reject", "t1.jpg"))
    assert [record["id"] for record in more][:5] == choice["photos"][1:]
    assert not {"t1.jpg", "t2.jpg"} & {Path(record["path"]).name for record in more}
    taken = {"--copy-to": tmp_path / "copies", "--zip": tmp_path / "photos.zip", "--album": tmp_path / "album.html"}
    options = [word for option, path in taken.items() for word in (option, str(path))]
    paths = _run(root, "choices", "trip", "--format", "paths", *options).splitlines()
    assert [Path(path).name for path in paths] == names
    assert sorted(os.listdir(tmp_path / "copies")) == sorted(names)
    assert sorted(zipfile.ZipFile(tmp_path / "photos.zip").namelist()) == sorted(names)
    assert (tmp_path / "album.html").read_text(encoding="utf-8").count("data:image/jpeg") == 6
    assert "never overwritten" in _refusal(root, "choices", "trip", "--zip", str(tmp_path / "photos.zip"))
    assert _run(root, "choices", "trip", "--delete") == ""
    assert _run(root, "choices") == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search", "--pin", "nothing.jpg"], "--pin: the library .* holds no photograph 'nothing.jpg'"),
        (["search", "--pin", "1", "--pin", "2", "-k", "1"], "k must be at least 2"),
        (["search", "--choice", "none"], "no choice is called 'none'; there are: none"),
        (["choices", "--delete"], "--delete: needs the NAME of a choice"),
        (["choices", "--format", "paths"], "--format paths: needs the NAME of a choice"),
        (["search", "--source", "lance:///x", "--pin", "1"], "--library, --pin: not with --source"),
    ],
)
def test_mistakes_are_named(root: Path, words: list[str], message: str) -> None:
    assert re.search(message, _refusal(root, *words))
