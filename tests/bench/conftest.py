"""A hub on this machine may be asked, and one small run of the benchmark serves many tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from range_server import Server


@pytest.fixture(autouse=True)
def local_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow requests to a hub: the tests serve it themselves."""
    import huggingface_hub.constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


@pytest.fixture(autouse=True, scope="session")
def single_blas_thread() -> Iterator[None]:
    """Use one thread of linear algebra: on a busy machine several of them spin, and take many times as long."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The base and MASCOT on four queries of the simulated PixelProse: the `suite` and its results in `folder`."""
    from mascot.bench.presets import pixelprose
    from mascot.bench.run import run
    from mascot.bench.tasks import FOCUS, GEO_HOUR

    suite = pixelprose((0,), ("base", "mascot"), (GEO_HOUR,), quick=True)
    suite = replace(suite, directions=(FOCUS,), validation=2, test=4)
    folder: Path = tmp_path_factory.mktemp("simulated")
    run(suite, folder, jobs=1)
    return SimpleNamespace(suite=suite, folder=folder)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    from range_server import serving

    with serving() as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A web server on this machine, without files."""
    shared_server.reset()
    return shared_server
