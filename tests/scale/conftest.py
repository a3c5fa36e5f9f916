"""One Ray cluster of two cores for all tests of scaling out: real worker processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs the extra ray")
    from mascot.scale.cluster import cluster

    # Workers import what tests send them by name.
    tests = Path(__file__).resolve().parents[1]
    paths = [str(tests / "photos"), str(tests / "scale"), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        with cluster("local", 2) as found:
            yield found
