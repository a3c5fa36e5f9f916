"""The photo pages show what the program prints. `python -m tests.photos.test_photo_docs` writes their output again."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.retelling import retold

DOCS = Path(__file__).parents[2] / "docs"
# The others use the library that the first one makes.
PAGES = [DOCS / "photos.md", DOCS / "photos-reference.md", DOCS / "sentences.md"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are shell lines, and there is no bash")
def test_the_pages_show_what_the_program_prints(tmp_path: Path) -> None:
    for page in PAGES:
        output = retold(page, tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state")})
        assert output == page.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for page in PAGES:
            page.write_text(retold(page, Path(scratch), {"XDG_STATE_HOME": str(Path(scratch, "state"))}), "utf-8")
