"""Libraries for the tests: one that is not to be changed, and a copy for each test that changes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mascot.photos import Library
from tests.photos.libraries import opened_copy


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("MASCOT_LIBRARY", raising=False)
        yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """`small_library`, indexed with `BagOfWords`; not to be changed."""
    with opened_copy(tmp_path_factory.mktemp("library") / "photos") as library:
        yield library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with opened_copy(tmp_path / "photos") as library:
        yield library
