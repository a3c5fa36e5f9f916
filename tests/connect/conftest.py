"""Engines, each started once for all tests of this folder, and a table of products in each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_stores import NEEDED, Engine, new_database, postgres, put_products, started


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    for package in NEEDED["postgres"]:
        pytest.importorskip(package, reason="needs mascot-rerank[postgres] and pgserver")
    with postgres() as base:
        yield base


@pytest.fixture(scope="session", params=["lance", "qdrant", "milvus", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "postgres":
        yield Engine("postgres", new_database(request.getfixturevalue("server")))
    else:
        with started(request.param, tmp_path_factory.mktemp(request.param)) as engine:
            yield engine


@pytest.fixture(scope="session")
def products(engine: Engine) -> str:
    """The table of products."""
    return put_products(engine)
