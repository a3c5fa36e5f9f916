"""The attacks of `python -m benchmarks.torture` whose outcome does not depend on load: files, and a full disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import torture


@pytest.mark.parametrize("name", ["hostile files", "full disk"])
def test_the_attack_is_survived(name: str) -> None:
    tally = torture.run_attack(name, rounds=1)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.failures == []
    assert tally.tried > 0


def test_the_page_promises_what_the_command_shows() -> None:
    page = (Path(torture.__file__).parents[1] / "docs" / "reliability.md").read_text("utf-8")
    promises = page.partition("## Promises")[2].partition("\n## ")[0]
    names = [row.split("|")[1].strip() for row in promises.splitlines() if row.startswith("| ")]
    assert names == ["attack", *torture.ATTACKS]
