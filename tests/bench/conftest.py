"""Recipes are tested against a hub of their own on this machine, so the hub may be asked."""

from __future__ import annotations

from collections.abc import Iterator
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
