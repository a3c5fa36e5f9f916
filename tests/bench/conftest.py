"""Recipes are tested against a hub of their own on this machine, so the hub may be asked."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def local_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow requests to a hub: the tests serve it themselves."""
    import huggingface_hub.constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
