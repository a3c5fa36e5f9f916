"""Open tables of engines by their addresses, search them, and steer the results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

import mascot as mc
from mascot.connect.engines.address import read_address
from mascot.connect.engines.engine import CANDIDATES, EngineHits, EngineSource, SearchOptions
from mascot.connect.engines.sink import Sink, SinkLayout
from mascot.errors import check_whole, warn
from mascot.methods.method import Method
from mascot.reranking import Already
from mascot.wishes import Wishes

if TYPE_CHECKING:
    from typing_extensions import Unpack


class FewCandidates(UserWarning):
    """The number of candidates does not exceed the number of results, so there is nothing to choose from."""


class Searchable(Protocol):
    """The interface of a source that `steer` needs."""

    @property
    def search(self) -> Callable[..., EngineHits]:
        """Return the nearest rows for a vector, the number of candidates, and the options passed to `steer`."""


def open_source(uri: str) -> EngineSource:
    """Open the table at an address for searching.

    Parameters
    ----------
    uri
        `lance:///FOLDER/TABLE`, `lance+s3://BUCKET/FOLDER/TABLE`, `qdrant://HOST:PORT/COLLECTION`,
        `qdrant+local:///FOLDER/COLLECTION`, `milvus://HOST:PORT/COLLECTION`,
        `milvus://HOST:PORT/DATABASE/COLLECTION`, `milvus:///FILE.db/COLLECTION` or
        `postgresql://HOST/DATABASE?table=TABLE`. `?vector=` and `?id=` name columns; `?metric=` is cosine, ip or l2,
        for engines that do not store it.
    """
    address = read_address(uri)
    return _module(address.engine).SOURCE(address)


def open_sink(uri: str, *, fields: Mapping[str, type], dim: int, tokens: int = 1) -> Sink:
    """Open the table at an address for writing; create it if it does not exist.

    Parameters
    ----------
    uri
        An address, as for `open_source`.
    fields
        The columns and their types: str, int, float, or list for a list of labels. The first one is the key, a text.
    dim, tokens
        The dimension of the vectors, and the number of vectors per row (default: 1).
    """
    address = read_address(uri)
    return _module(address.engine).SINK(address, SinkLayout(fields, dim, tokens))


def _module(engine: str) -> Any:
    """Return the module of an engine, loaded on first use."""
    return import_module(f"mascot.connect.engines.{'postgres' if engine == 'postgresql' else engine}")


@dataclass(frozen=True, slots=True)
class Steered:
    """The hits of an engine and their ranking."""

    hits: EngineHits
    ranking: mc.Ranking | None  # None: no hits

    def records(self) -> list[dict[str, Any]]:
        """Return the selected rows in their new order."""
        return [] if self.ranking is None else self.ranking.records()


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
    """Search for more candidates than needed, and select k of them by the wishes.

    Parameters
    ----------
    source, vector
        A table, and the query.
    wishes, k, method
        See `mascot.rerank`.
    candidates
        The number of rows to search for (default: 200).
    already
        The ranking of the previous page, or the ids on earlier pages. They are not shown again, and count as covered.
        Ids that are not among the candidates are ignored (default: None).
    options
        `where`, `columns` and `vectors` of `EngineSource.search`. `columns` must include those of the wishes.
    """
    warn_of_few(candidates, k)
    hits = source.search(vector, candidates=candidates, **options)
    return Steered(hits, mc.rerank(hits.candidates(), wishes, k, method, already) if len(hits) else None)


async def asteer(source: Searchable, vector: ArrayLike, wishes: Wishes, k: int = 20, **options: Any) -> Steered:
    """Run `steer` in a thread, so that other tasks of the event loop continue."""
    return await asyncio.to_thread(steer, source, vector, wishes, k, **options)


def steer_many(
    source: EngineSource,
    queries: Iterable[ArrayLike],
    wishes: Wishes,
    k: int = 20,
    *,
    candidates: int = CANDIDATES,
    method: Method | None = None,
    **options: Unpack[SearchOptions],
) -> list[Steered]:
    """Return what `steer` returns for each row of `queries`.

    Engines that can answer several queries get one request, and one call re-ranks all of them.
    """
    warn_of_few(candidates, k)
    hits = source.search_many(queries, candidates=candidates, **options)
    candidate_lists = [part.candidates() for part in hits if len(part)]
    rankings = iter(mc.rerank_many(candidate_lists, wishes, k, method) if candidate_lists else ())
    return [Steered(part, next(rankings) if len(part) else None) for part in hits]


def warn_of_few(candidates: int, k: int) -> None:
    check_whole("candidates", candidates, 1)
    check_whole("k", k, 1)
    if candidates <= k:
        rule = "there is nothing to choose from; search for ten times as many candidates"
        warn(f"candidates={candidates} and k={k}: {rule}", FewCandidates)
