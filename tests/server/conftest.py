"""One indexed folder and one server for all tests that change nothing; copies for those that do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pillow_heif
import pytest
from PIL import Image

from mascot.photos.sample import write_sample
from tests.photos.jpegs import small_library
from tests.server.browser import POSTCARDS, Tab, browser, requirements
from tests.server.serving import Served, hosted, indexed


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty photographs, and two in formats that browsers cannot show. Not to be changed."""
    root = tmp_path_factory.mktemp("library") / "photos"
    root.mkdir()
    Image.new("RGB", (64, 48), (200, 20, 20)).save(root / "scan.tif")
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), (20, 200, 20))).save(root / "phone.heic")
    return indexed(small_library(root))


@pytest.fixture(scope="session")
def server(photographs: Path) -> Iterator[Served]:
    with hosted(photographs) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="session")
def bare() -> Iterator[Served]:
    """A server without a library: re-ranking only."""
    with hosted() as running:
        yield running


@pytest.fixture
def service(bare: Served) -> Iterator[httpx.Client]:
    with bare.client() as client:
        yield client


@pytest.fixture
def own(photographs: Path, tmp_path: Path) -> Path:
    """A copy of the indexed folder, to do anything with."""
    return Path(shutil.copytree(photographs, tmp_path / "photos", ignore=shutil.ignore_patterns("choices.*")))


@pytest.fixture
def own_client(own: Path) -> Iterator[httpx.Client]:
    """A client of a server of that copy."""
    with hosted(own) as running, running.client() as client:
        yield client


@pytest.fixture(scope="module")  # closed before other tests run event loops of their own
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def postcards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed sample library, if there is a browser to show it."""
    requirements()
    root = tmp_path_factory.mktemp("page") / "postcards"
    write_sample(root, POSTCARDS)
    return indexed(root)


@pytest.fixture(scope="session")
def site(postcards: Path) -> Iterator[Served]:
    with hosted(postcards) as server:
        yield server


@pytest.fixture(scope="module")
def desktop(chromium: Any, site: Served) -> Tab:
    return Tab(chromium, site.address, permissions=["clipboard-read", "clipboard-write"])


@pytest.fixture(scope="module")
def pocket(chromium: Any, site: Served) -> Tab:
    return Tab(chromium, site.address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)


@pytest.fixture
def tab(desktop: Tab) -> Iterator[Tab]:
    yield desktop
    desktop.reset()


@pytest.fixture
def phone(pocket: Tab) -> Iterator[Tab]:
    yield pocket
    pocket.reset()
