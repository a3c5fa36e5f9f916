"""Settings of all tests: Hypothesis without deadlines, integration marks, and real data from `../shared/data`."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mascot.kernels import native
from mascot.kernels.native import build_native

# A busy machine decides nothing: examples have no deadline, and generating them may take long.
# Examples are the same in every run; `make fuzz` draws new ones at random.
settings.register_profile("mascot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("MASCOT_HYPOTHESIS", "mascot"))

# A shell starts background jobs with SIGINT ignored, which processes inherit: those under test must see Ctrl-C.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests by folder or file that need a framework, a browser or torch, or build the package.
INTEGRATION = (
    "bench/test_encode", "bench/test_torch_models", "connect/test_frameworks", "server/test_page", "test_docs",
    "test_packaging", "test_typing",
)  # fmt: skip

# Tests never ask a real model hub and never use a developer's own models; those of the hub serve one themselves.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(Path(tempfile.gettempdir()) / "mascot-tests-without-models")}
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    """Compile the native kernel again where its sources are newer than the library, as an editable install does not."""
    sources = Path(build_native.__file__).parent
    if hasattr(config, "workerinput") or "site-packages" in sources.parts:  # the main process builds; a wheel is built
        return
    newest = max(path.stat().st_mtime for path in (*sources.glob("*.c"), *sources.glob("*.h")))
    if native.LIBRARY.exists() and native.LIBRARY.stat().st_mtime < newest:
        build_native.build()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder) and item.path.relative_to(folder).as_posix().startswith(INTEGRATION):
            item.add_marker(pytest.mark.integration)
    # Long tests first, so that no process waits at the end for another one's.
    items.sort(key=lambda item: item.get_closest_marker("integration") is None)


@pytest.fixture(scope="session")
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip("needs the real data set at ../shared/data")
    return DATA


@pytest.fixture(scope="session")
def tokyo(data: Path) -> list[dict[str, str]]:
    return _table(data / "flickr_tokyo_yfcc.csv.gz")


@pytest.fixture(scope="session")
def dresden(data: Path) -> list[dict[str, str]]:
    return _table(data / "flickr_dresden_cc-by.csv.gz")


@pytest.fixture(scope="session")
def div400(data: Path) -> list[dict[str, Any]]:
    with gzip.open(data / "div400" / "photos.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _table(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
