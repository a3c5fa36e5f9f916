"""The short form of `python -m benchmarks.torture`: every attack is survived, a few times each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import torture


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("torture")
    torture._write_photos(place / "photos")
    torture._index(torture._copy(place / "photos", place / "indexed"))
    return place


# Others have shorter tests of their own: test_hostile_files, test_damage, test_indexing_under_stress, test_abuse.
FAST = ("mutated pictures", "interrupts", "hostile filters", "raw sockets", "clients at once 100")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in torture.ATTACKS]
)
def test_the_attack_is_survived(folder: Path, name: str) -> None:
    tally = torture.run_attack(name, short=True, seed=1, folder=folder)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.failures == ()
    assert tally.survived == tally.tried > 0


def _failing(arena: torture.Arena) -> Iterator[torture.Trial]:
    yield torture.Trial("first", True)
    raise RuntimeError("no server")


def test_a_run_resumes_after_recorded_attacks_and_continues_after_failed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"raw sockets": _failing, "hostile filters": lambda arena: iter([torture.Trial("first", True)])}
    for name, run in runs.items():
        monkeypatch.setitem(torture.ATTACKS, name, replace(torture.ATTACKS[name], run=run))
    for name in ("_write_photos", "_copy", "_index"):
        monkeypatch.setattr(torture, name, lambda *_: None)
    arguments = ["--short", "--attack", "raw sockets", "--attack", "hostile filters", "--out", str(tmp_path)]
    assert torture.main(arguments) == 1
    first = capsys.readouterr()
    assert "FAILED raw sockets: the attack itself failed: RuntimeError('no server')" in first.out
    assert re.search(r"^hostile filters +1 +1", first.out, re.MULTILINE)
    assert torture.main([*arguments, "--resume"]) == 1
    second = capsys.readouterr()
    assert second.out == first.out
    assert (first.err, second.err) == ("raw sockets ...\nhostile filters ...\n", "")


def test_the_page_promises_what_the_command_shows() -> None:
    page = (Path(torture.__file__).parents[1] / "docs" / "reliability.md").read_text("utf-8")
    promises = page.partition("## Promises")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in promises.splitlines() if row.startswith("| ")]
    promised = [name for row in rows for name in row.strip().split(", ")]
    assert promised == ["attack", *torture.ATTACKS]
