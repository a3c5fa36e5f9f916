"""One indexed folder and one server for all tests that change nothing; copies for those that do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pillow_heif
import pytest
from PIL import Image
from serving import Served, indexed, served


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty photographs, and two in formats that browsers cannot show. Not to be changed."""
    root = tmp_path_factory.mktemp("library") / "photos"
    root.mkdir()
    Image.new("RGB", (64, 48), (200, 20, 20)).save(root / "scan.tif")
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), (20, 200, 20))).save(root / "phone.heic")
    return indexed(root)


@pytest.fixture(scope="session")
def server(photographs: Path) -> Iterator[Served]:
    with served(photographs) as found:
        yield found


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without a library: re-ranking only."""
    with served(tmp_path_factory.mktemp("bare") / "nothing", "--no-library") as found:
        yield found


@pytest.fixture
def service(bare: Served) -> Iterator[httpx.Client]:
    with bare.client() as found:
        yield found


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


@pytest.fixture
def own(photographs: Path, tmp_path: Path) -> Path:
    """A copy of the indexed folder, to do anything with."""
    return Path(shutil.copytree(photographs, tmp_path / "photos"))
