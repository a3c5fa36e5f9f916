"""One indexed folder and one server for all tests that change nothing; copies for those that do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pillow_heif
import pytest
from browser import POSTCARDS, Visit, browser
from PIL import Image
from serving import Served, hosted, indexed, thirty_photographs

from mascot.photos.sample import write_sample


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty photographs, and two in formats that browsers cannot show. Not to be changed."""
    root = tmp_path_factory.mktemp("library") / "photos"
    root.mkdir()
    Image.new("RGB", (64, 48), (200, 20, 20)).save(root / "scan.tif")
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), (20, 200, 20))).save(root / "phone.heic")
    return thirty_photographs(root)


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
    return Path(shutil.copytree(photographs, tmp_path / "photos", ignore=shutil.ignore_patterns("choices.sqlite*")))


@pytest.fixture
def own_client(own: Path) -> Iterator[httpx.Client]:
    """A client of a server of that copy."""
    with hosted(own) as running, running.client() as client:
        yield client


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def postcards(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed sample library. The browser comes first: without one no library is written."""
    root = tmp_path_factory.mktemp("page") / "postcards"
    write_sample(root, POSTCARDS)
    return indexed(root, "--encoder", "lite")


@pytest.fixture(scope="session")
def site(postcards: Path) -> Iterator[Served]:
    with hosted(postcards) as server:
        yield server


@pytest.fixture
def visit(chromium: Any, site: Served) -> Iterator[Any]:
    with ExitStack() as stack:
        visits = []

        def start(address: str = site.address, **options: Any) -> Visit:
            visits.append(Visit(chromium, address, **options))
            stack.callback(visits[-1].context.close)
            return visits[-1]

        yield start
        assert [error for visit in visits for error in visit.errors] == []


@pytest.fixture
def page(visit: Any) -> Any:
    return visit().open()
