"""docs/photos.md shows what the program prints. `python tests/photos/test_photo_docs.py` writes it anew."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.retelling import retold

PAGE = Path(__file__).parents[2] / "docs" / "photos.md"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_page_shows_what_the_program_prints(tmp_path: Path) -> None:
    assert retold(PAGE, tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state")}) == PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        told = retold(PAGE, Path(scratch), {"XDG_STATE_HOME": str(Path(scratch, "state"))})
        PAGE.write_text(told, encoding="utf-8")
