"""The short form of `python -m benchmarks.torture`: every attack is survived, a few times each."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import torture
from benchmarks.attacks import photo_library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("torture")
    photo_library.prepare(place)
    return place


@pytest.mark.parametrize("name", sorted(torture.ATTACKS.keys() - {"sanitized kernel", "sanitized calls"}))
def test_the_attack_is_survived(folder: Path, name: str) -> None:
    tally = torture.run_attack(name, short=True, seed=1, folder=folder)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.failures == ()
    assert tally.survived == tally.tried > 0


def test_a_full_run_takes_less_than_half_an_hour() -> None:
    assert sum(entry.limit_s for entry in torture.ATTACKS.values()) < 30 * 60


def test_the_page_promises_what_the_command_shows() -> None:
    page = (Path(torture.__file__).parents[1] / "docs" / "reliability.md").read_text("utf-8")
    promises = page.partition("## Promises")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in promises.splitlines() if row.startswith("| ")]
    promised = [name for row in rows for name in row.strip().split(", ")]
    assert promised == ["attack", *torture.ATTACKS]
