"""What a framework's connector adds to a query, beside the framework's own MMR.

    python -m benchmarks.connect        # needs pip install 'mascot-rerank[llamaindex]'

A query has 200 documents with place, time and score, of which 20 are selected. The columns are medians in milliseconds
over rounds in which each is called once:

    rerank     mascot.rerank on candidates that are ready
    own        the framework's call around a step that does nothing
    connector  the framework's call around ours
    overhead   connector - rerank - own, turn by turn: what the connector adds (the bar is 1 ms)
    cpu        the same in processor time, which a busy machine disturbs less
    mmr        the framework's own MMR over the documents' vectors, to choose as many

A second table has a wish for the vectors too, which frameworks keep as lists of numbers: reading those is the most of
it, there as in a framework's own MMR. Haystack's component is run by itself: a pipeline around it copies every document
on the way in, which takes far longer than all of this and has its own line.

A third table, also printed alone by `--converters`, has the converters over 200 hits:

    convert    the converter alone: columns are read later
    added      the converter with the columns of two wishes read: all that is done before re-ranking (the bar is 0.3 ms)
    cpu        the same in processor time, the least of all turns, which a busy machine disturbs least
    rerank     mascot.rerank on candidates that are ready
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.attributes import Clusters
from mascot.wishes import Wish

Call = Callable[[], Any]
Floats = NDArray[np.float64]
_WISHES = (mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken")))
_LOOK = (*_WISHES, mc.spread(Clusters(10)))
_WIDTHS = (10, 10, 11)


class Query:
    """The same random documents for every framework."""

    def __init__(self, count: int, width: int) -> None:
        rng = np.random.default_rng(0)
        self.vectors = rng.normal(size=(count, width))
        self.query = rng.normal(size=width)
        self.scores = np.sort(rng.random(count))[::-1]
        lat, lon = rng.uniform(35, 36, count), rng.uniform(139, 140, count)
        days, minutes = rng.integers(1, 29, count), rng.integers(0, 1440, count)
        taken = [f"2024-05-{day:02d}T{m // 60:02d}:{m % 60:02d}:00" for day, m in zip(days, minutes, strict=True)]
        self.metadata: list[dict[str, Any]] = [
            {"lat": float(lat[i]), "lon": float(lon[i]), "taken": taken[i], "source": f"album {i % 7}", "page": i}
            for i in range(count)
        ]
        self.columns = {key: [entry[key] for entry in self.metadata] for key in ("lat", "lon", "taken")}


def langchain(query: Query, wishes: tuple[Wish, ...], k: int) -> tuple[Call, Call, Call]:
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda
    from langchain_core.vectorstores.utils import maximal_marginal_relevance

    from mascot.connect.frameworks.langchain import steer

    vectors = query.vectors.tolist()
    hits = [
        Document(page_content="text", metadata={**metadata, "score": float(score), "vector": vector})
        for metadata, score, vector in zip(query.metadata, query.scores, vectors, strict=True)
    ]
    nothing = RunnableLambda(lambda documents: documents[:k])
    ours = steer(wishes, k=k, vector_key="vector", score_keys=("score",))
    return (
        lambda: nothing.invoke(hits),
        lambda: ours.invoke(hits),
        lambda: maximal_marginal_relevance(query.query, vectors, k=k),
    )


def llamaindex(query: Query, wishes: tuple[Wish, ...], k: int) -> tuple[Call, Call, Call]:
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    from mascot.connect.frameworks.llamaindex import SteeredPostprocessor

    class Nothing(BaseNodePostprocessor):
        def _postprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            return nodes[:k]

    vectors = query.vectors.tolist()
    hits = [
        NodeWithScore(node=TextNode(text="text", metadata=metadata, embedding=vector), score=float(score))
        for metadata, score, vector in zip(query.metadata, query.scores, vectors, strict=True)
    ]
    nothing, ours = Nothing(), SteeredPostprocessor(wishes=wishes, k=k)
    query_vector = query.query.tolist()
    return (
        lambda: nothing.postprocess_nodes(hits),
        lambda: ours.postprocess_nodes(hits),
        lambda: get_top_k_mmr_embeddings(query_vector, vectors, similarity_top_k=k),
    )


def haystack(query: Query, wishes: tuple[Wish, ...], k: int) -> tuple[Call, Call, None]:
    from haystack import Document, component

    from mascot.connect.frameworks.haystack import SteeredRanker

    @component
    class Nothing:
        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document]) -> dict[str, list[Document]]:
            return {"documents": documents[:k]}

    hits = [
        Document(content="text", id=str(metadata["page"]), meta=metadata, score=float(score), embedding=vector)
        for metadata, score, vector in zip(query.metadata, query.scores, query.vectors.tolist(), strict=True)
    ]
    nothing, ours = Nothing(), SteeredRanker(wishes, k=k)
    return lambda: nothing.run(documents=hits), lambda: ours.run(documents=hits), None


def pipeline(query: Query, k: int) -> Call:
    """Haystack's pipeline around a ranker of its own."""
    from haystack import Document, Pipeline
    from haystack.components.rankers import MetaFieldRanker

    hits = [
        Document(content="text", id=str(metadata["page"]), meta=metadata, score=float(score), embedding=vector)
        for metadata, score, vector in zip(query.metadata, query.scores, query.vectors.tolist(), strict=True)
    ]
    haystack = Pipeline()
    haystack.add_component("ranker", MetaFieldRanker("page", weight=1.0, top_k=k))
    return lambda: haystack.run({"ranker": {"documents": hits}})


def recorded(query: Query) -> dict[str, Call]:
    """Return a converter's call for each engine whose response is written by hand."""
    from types import SimpleNamespace

    import pyarrow as pa

    from mascot.connect import converters as convert

    scores, fields = query.scores.tolist(), query.metadata
    each = list(zip(map(str, range(len(fields))), scores, fields, strict=True))
    elastic = {"hits": {"hits": [{"_index": "x", "_id": i, "_score": s, "_source": f} for i, s, f in each]}}
    cells = [(i, f["lat"], f["lon"], f["taken"], s) for i, s, f in each]
    labels = np.arange(len(fields))
    plain = [SimpleNamespace(uuid=i, properties=f, metadata=SimpleNamespace(score=s), vector={}) for i, s, f in each]
    typesense = {"hits": [{"document": {"id": i, **f}, "text_match": s, "highlights": []} for i, s, f in each]}
    vespa = {"root": {"children": [{"id": i, "relevance": s, "fields": f} for i, s, f in each]}}
    solr = {"response": {"docs": [{"id": i, "score": s, **f} for i, s, f in each]}}
    algolia = {"hits": [{"objectID": i, **f} for i, _, f in each]}
    points = [SimpleNamespace(id=i, score=s, payload=f, vector=None) for i, s, f in each]
    milvus = [[{"id": i, "distance": s, "entity": f} for i, s, f in each]]
    lance = pa.Table.from_pylist([{"id": i, "_distance": 1 - s, **f} for i, s, f in each])
    chroma = {"ids": [[i for i, _, _ in each]], "distances": [[1 - s for s in scores]], "metadatas": [fields]}
    return {
        "faiss": lambda: convert.from_faiss(query.scores, labels, fields),
        "rows": lambda: convert.from_rows(cells, ["id", "lat", "lon", "taken", "score"]),
        "elasticsearch": lambda: convert.from_elasticsearch(elastic),
        "weaviate": lambda: convert.from_weaviate(SimpleNamespace(objects=plain)),
        "chroma": lambda: convert.from_chroma(chroma),
        "qdrant": lambda: convert.from_qdrant(SimpleNamespace(points=points)),
        "milvus": lambda: convert.from_milvus(milvus),
        "lance": lambda: convert.from_lance(lance),
        "typesense": lambda: convert.from_typesense(typesense),
        "vespa": lambda: convert.from_vespa(vespa),
        "solr": lambda: convert.from_solr(solr),
        "algolia": lambda: convert.from_algolia(algolia),
    }


def converters(query: Query, k: int, rounds: int) -> float:
    """Print the table of converters; the largest of what one adds."""
    ready = mc.Candidates(query.scores, columns=query.columns)
    print(f"converters, spread place, focus hour, {len(ready)} hits, k={k}, {rounds} turns")
    print(f"{'':<16}{'convert':>10}{'added':>10}{'cpu':>10}{'rerank':>10}")
    worst = 0.0
    for name, convert in recorded(query).items():
        clock, processor = turns([convert, _read(convert), lambda: mc.rerank(ready, _WISHES, k=k)], rounds)
        alone, added, reranked = np.median(clock, axis=0).tolist()
        worked = float(processor[:, 1].min())
        print(f"{name:<16}{alone:>10.3f}{added:>10.3f}{worked:>10.3f}{reranked:>10.3f}")
        worst = max(worst, worked)
    print()
    return worst


def _read(convert: Call) -> Call:
    """Return a call that converts and reads the columns of the wishes, as re-ranking does."""

    def call() -> None:
        columns = convert().columns
        for name in ("lat", "lon", "taken"):
            columns[name]

    return call


def turns(calls: list[Call], rounds: int) -> tuple[Floats, Floats]:
    """Milliseconds on the clock and on the processor, [rounds, calls]: a slow moment of the machine meets all calls."""
    clock, processor = np.empty((rounds + 3, len(calls))), np.empty((rounds + 3, len(calls)))
    for turn in range(rounds + 3):
        for place, call in enumerate(calls):
            started, worked = time.perf_counter(), time.thread_time()
            call()
            clock[turn, place], processor[turn, place] = time.perf_counter() - started, time.thread_time() - worked
    return clock[3:] * 1e3, processor[3:] * 1e3  # the first ones load things


def table(title: str, query: Query, wishes: tuple[Wish, ...], k: int, rounds: int) -> float:
    """Print one table; the largest overhead in it."""
    look = wishes is _LOOK
    ready = mc.Candidates(query.scores, columns=query.columns, vectors=query.vectors if look else None)
    print(f"{title}, {len(ready)} documents, k={k}, {rounds} turns")
    print(f"{'':<12}{'rerank':>10}{'own':>10}{'connector':>11}{'overhead':>10}{'cpu':>10}{'mmr':>10}")
    worst = 0.0
    for make in (langchain, llamaindex, haystack):
        own, ours, mmr = make(query, wishes, k)
        clock, processor = turns([lambda: mc.rerank(ready, wishes, k=k), own, ours], rounds)
        parts = "".join(f"{value:>{width}.3f}" for value, width in zip(np.median(clock, axis=0), _WIDTHS, strict=True))
        added, worked = (float(np.median(t[:, 2] - t[:, 0] - t[:, 1])) for t in (clock, processor))
        theirs = f"{np.median(turns([mmr], max(3, rounds // 20))[0]):>10.2f}" if mmr is not None else f"{'-':>10}"
        worst = max(worst, added)
        print(f"{make.__name__:<12}{parts}{added:>10.3f}{worked:>10.3f}{theirs}")
    print()
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--width", type=int, default=384, help="numbers in a vector")
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--converters", action="store_true", help="only the table of converters")
    options = parser.parse_args()
    query = Query(options.documents, options.width)
    added = converters(query, options.k, options.rounds)
    print(f"largest addition of a converter: {added:.3f} ms (bar: 0.3 ms)")
    if options.converters:
        return 0 if added <= 0.3 else 1
    worst = table("spread place, focus hour", query, _WISHES, options.k, options.rounds)
    table(f"and spread look, vectors of {options.width}", query, _LOOK, options.k, max(5, options.rounds // 5))
    around = float(np.median(turns([pipeline(query, options.k)], 10)[0]))
    print(f"a Haystack pipeline around a ranker of its own: {around:.1f} ms")
    print(f"largest overhead without vectors: {worst:.3f} ms (bar: 1 ms)")
    return 0 if worst < 1 and added <= 0.3 else 1


if __name__ == "__main__":
    raise SystemExit(main())
