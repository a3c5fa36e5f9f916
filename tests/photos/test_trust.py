"""What a library, a clock or a missing home directory cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bag_of_words import BagOfWords
from jpegs import write_jpeg

import mascot as mc
from mascot.photos import Library, whereabouts
from mascot.photos.encoders import hub


def test_a_library_cannot_start_a_download_or_bring_its_own_model(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloads: list[str] = []

    def plan_download(model: str, *_: Any, **__: Any) -> hub.Download:
        downloads.append(model)
        raise hub.HubError("no network")

    monkeypatch.setattr(hub, "plan_download", plan_download)
    library.store.set_facts({"encoder": "clip:someone/model"})
    with Library.open(library.root) as other:
        for action in (lambda: other.search("boats"), other.index, lambda: other.notice):
            with pytest.raises(mc.InputError, match="does not start a download: --encoder clip:someone/model does"):
                action()
        assert downloads == []
        with pytest.raises(mc.InputError):
            other.search("boats", encoder="clip:someone/model")  # named by a person
        assert downloads == ["someone/model"]
    (library.root / "model").mkdir()
    library.store.set_facts({"encoder": f"clip:{library.root / 'model'}"})
    with Library.open(library.root) as other, pytest.raises(mc.OptionError, match="a model inside its own folder"):
        other.search("boats")


def test_dates_refused_by_a_wrong_clock_come_back(library: Library) -> None:
    """Indexed while the machine's clock stood at 1980, when all dates were in the future."""
    named = write_jpeg(library.root / "IMG_20190704_181512.jpg", "dated by its name")
    write_jpeg(library.root / "far.jpg", "from the far future", taken="2199-01-01T10:00:00")
    library.index(BagOfWords())
    problems = library.store.connection.execute("SELECT problems FROM photos WHERE path = 'far.jpg'").fetchone()[0]
    assert "is in the future" in problems
    truth = dict(library.store.connection.execute("SELECT path, taken FROM photos").fetchall())
    assert truth[named.name] == "2019-07-04T18:15:12"
    with library.store.writing() as connection:
        problem = """'["taken: ''' || replace(substr(taken, 1, 10), '-', ':') || ' 10:00:00'' is in the future"]'"""
        connection.execute(f"UPDATE photos SET problems = {problem}, taken = NULL WHERE taken IS NOT NULL")
        connection.execute("UPDATE photos SET problems = '[]' WHERE path = ?", (named.name,))
    assert library.index(BagOfWords()).changed == sum(taken is not None for taken in truth.values())
    assert dict(library.store.connection.execute("SELECT path, taken FROM photos").fetchall()) == truth
    assert library.index(BagOfWords()).changed == 0


def test_no_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("MASCOT_LIBRARY", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.chdir(tmp_path)
    whereabouts.remember(tmp_path)
    assert whereabouts.remembered() is None
    assert whereabouts.short_name(Path("/somewhere")) == "/somewhere"
    with pytest.raises(mc.InputError, match="no library: name one"):
        Library.open()
