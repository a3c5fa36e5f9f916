"""A folder of photographs, and one Ray cluster of two cores: real worker processes of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.engines_of_tests import COUNT, PYTHONPATH, MemorySink


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs the extra ray")
    from mascot.cluster.connection import cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PYTHONPATH)
        with cluster("local", 2) as module:
            yield module


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
