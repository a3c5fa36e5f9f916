"""A folder of photographs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cluster.engines_of_tests import COUNT, MemorySink


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs with moments, copies before and after their originals, and files that give no picture."""
    from mascot.photos.sample import write_sample

    root = tmp_path_factory.mktemp("scale") / "trips"
    files = sorted(root / card.path for card in write_sample(root, COUNT - 2))
    shutil.copy2(files[9], root / "a copy that comes first.jpg")
    (root / "zz").mkdir()
    shutil.copy2(files[4], root / "zz" / "copy.jpg")
    # Its header is whole, so that it has a time and a place, but not its pixels.
    (root / "broken.jpg").write_bytes(files[6].read_bytes()[:6000])
    (root / "empty.jpg").touch()
    (root / "film.mov").touch()
    return root


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()
