"""Open tables of engines by their addresses, and steer what a search in them finds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

import mascot as mc
from mascot.connect.engines.address import read_address
from mascot.connect.engines.engine import CANDIDATES, EngineSource, Found, NoKey, OpenSink, SearchOptions, Sink
from mascot.connect.frameworks.documents import Wishes, warn
from mascot.errors import check_whole, require
from mascot.methods.method import Method
from mascot.reranking import Already

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "CANDIDATES", "FewCandidates", "Found", "NoKey", "Sink", "Steered", "asteer", "open_sink", "open_source", "steer",
    "steer_many",
]  # fmt: skip


class FewCandidates(UserWarning):
    """No more candidates than results: there is nothing to choose from."""


class Searchable(Protocol):
    """The interface of a source that `steer` needs."""

    @property
    def search(self) -> Callable[..., Found]:
        """Takes a vector, `candidates`, and the options of `steer` that are used; returns the nearest rows."""


def open_source(uri: str) -> EngineSource:
    """Open the table at an address for searching.

    Parameters
    ----------
    uri
        `lance:///FOLDER/TABLE`, `lance+s3://BUCKET/FOLDER/TABLE`, `qdrant://HOST:PORT/COLLECTION`,
        `qdrant+local:///FOLDER/COLLECTION`, `milvus://HOST:PORT/COLLECTION`,
        `milvus://HOST:PORT/DATABASE/COLLECTION`, `milvus:///FILE.db/COLLECTION` or
        `postgresql://HOST/DATABASE?table=TABLE`; after it `?vector=` and `?id=` name columns, and `?metric=`
        is cosine, ip or l2 where the engine does not know.
    """
    address = read_address(uri)
    return _module(address.engine).SOURCE(address)


def open_sink(uri: str, *, dim: int, tokens: int = 1) -> OpenSink:
    """Open the table at an address for writing; create it where there is none.

    Vectors have `dim` numbers, and a photograph `tokens` of them.
    """
    require(dim >= 1, "dim", "must be >= 1", dim)
    require(tokens >= 1, "tokens", "must be >= 1", tokens)
    address = read_address(uri)
    return _module(address.engine).SINK(address, dim, tokens)


def _module(engine: str) -> Any:
    """Return the module of an engine, which is loaded when it is needed."""
    return import_module(f"mascot.connect.engines.{'postgres' if engine == 'postgresql' else engine}")


@dataclass(frozen=True, slots=True)
class Steered:
    """The hits of an engine, and their ranking by the wishes."""

    found: Found
    ranking: mc.Ranking | None  # None where nothing was found

    def records(self) -> list[dict[str, Any]]:
        """Return the selected rows in their new order."""
        if self.ranking is None:
            return []
        records = self.found.records()
        return [records[int(position)] for position in self.ranking.positions]


def steer(
    source: Searchable,
    vector: ArrayLike,
    wishes: Wishes,
    k: int = 20,
    *,
    candidates: int = CANDIDATES,
    method: Method | None = None,
    already: Already = None,
    **options: Unpack[SearchOptions],
) -> Steered:
    """Search for more candidates than are shown, and select k of them as the wishes ask.

    Parameters
    ----------
    source, vector
        A table, and what to search it with.
    wishes, k, method
        As for `mascot.rerank`.
    candidates
        How many rows to search for (default: 200).
    already
        The ranking of the page before, or ids that were shown: not shown again, and counted as covered. Ids that are no
        longer among the candidates are ignored (default: None).
    options
        `where`, `columns` and `vectors` of `EngineSource.search`. The wishes need their columns.
    """
    warn_of_few(candidates, k)
    hits = source.search(vector, candidates=candidates, **options)
    return Steered(hits, mc.rerank(hits.candidates(), wishes, k, method, already) if len(hits) else None)


async def asteer(source: Searchable, vector: ArrayLike, wishes: Wishes, k: int = 20, **options: Any) -> Steered:
    """Return what `steer` returns. It runs in a thread, so that other tasks of the event loop continue."""
    return await asyncio.to_thread(steer, source, vector, wishes, k, **options)


def steer_many(
    source: EngineSource,
    queries: ArrayLike,
    wishes: Wishes,
    k: int = 20,
    *,
    candidates: int = CANDIDATES,
    method: Method | None = None,
    **options: Unpack[SearchOptions],
) -> list[Steered]:
    """Search with several vectors and select for each: what `steer` returns for each row of `queries`.

    The engine is asked once where it can answer several queries, and all are re-ranked by one call.
    """
    warn_of_few(candidates, k)
    hits = source.search_many(queries, candidates=candidates, **options)
    candidate_lists = [part.candidates() for part in hits if len(part)]
    rankings = iter(mc.rerank_many(candidate_lists, wishes, k, method) if candidate_lists else ())
    return [Steered(part, next(rankings) if len(part) else None) for part in hits]


def warn_of_few(candidates: int, k: int) -> None:
    """Warn where nothing is over-fetched."""
    check_whole("candidates", candidates, 1)
    check_whole("k", k, 1)
    if candidates <= k:
        rule = "nothing is left to choose from; ask for ten times as many candidates"
        warn(f"candidates={candidates} and k={k}: {rule}", FewCandidates)
