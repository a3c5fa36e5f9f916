"""A hub on this machine may be asked, and a web server on it serves many tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.bench.range_server import Server


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
def shared_server() -> Iterator[Server]:
    from tests.bench.range_server import serving

    with serving() as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A web server on this machine, without files."""
    shared_server.reset()
    return shared_server
