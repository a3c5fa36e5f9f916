"""What people write first: it works, or the error says what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mascot as mc

HITS = [
    {"id": id_, "score": 0.9 - at / 10, "city": city} for at, (id_, city) in enumerate(zip("abc", "xxy", strict=True))
]
EMBEDDINGS = np.array([[1.0, 0.0, 0.1], [1.0, 0.1, 0.1], [0.0, 1.0, 0.2]])
SCORES = [0.9, 0.8, 0.7]


@pytest.mark.parametrize(
    ("name", "method"), [("mmr", mc.Mmr()), ("relevance", mc.Relevance()), ("mascot", mc.Mascot())]
)
def test_methods_have_names(name: str, method: Any) -> None:
    page = mc.rerank(HITS, mc.spread("city"), 2, method=name)
    assert (page.method, page.ids) == (method, mc.rerank(HITS, mc.spread("city"), 2, method=method).ids)
    assert mc.Reranker(mc.spread("city"), name).method == method
    assert mc.rerank(HITS, mc.spread("city"), method="mmr", strength=0.3).method == mc.Mmr(0.3)


def test_candidates_without_scores_are_in_order() -> None:
    for candidates in (
        mc.Candidates(vectors=EMBEDDINGS), mc.Candidates(ids=["a", "b", "c"]), mc.Candidates(columns={"c": [1, 1, 2]}),
    ):  # fmt: skip
        assert candidates.scores.tolist() == [3, 2, 1]


def test_near_may_be_a_point_as_columns_hold_it() -> None:
    wanted = mc.focus(mc.Place("geo"), near=(41.1, -8.6))
    for near in ({"lat": 41.1, "lon": -8.6}, {"latitude": 41.1, "lng": -8.6}):
        assert mc.focus(mc.Place("geo"), near=near) == wanted
    assert mc.from_dict(wanted.to_dict()) == wanted
    ranker = mc.Reranker(wanted).fit({"geo": [{"lat": 1.0, "lon": 1.0}, {"lat": 60.0, "lon": 1.0}]})
    assert ranker.rerank([0, 1], [2, 1], 1, strength=1.0, near={"place": {"lat": 60.0, "lon": 2.0}}).ids == [1]


CALLS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "embeddings": (lambda: mc.rerank(EMBEDDINGS, SCORES, k=3), ["0.9", "vectors=", "diversify"]),  # type: ignore[arg-type]
    "two columns": (lambda: mc.spread("city", "seller"), ["spread(city).weight", "list of wishes"]),  # type: ignore[arg-type]
    "explain": (lambda: mc.rerank(HITS, []).explain("a"), ["left_out", "'a'"]),  # type: ignore[arg-type]
    "table as scores": (lambda: mc.Candidates(pd.DataFrame(HITS)), ["DataFrame", "from_table"]),
    "table as records": (lambda: mc.Candidates.from_records(pd.DataFrame(HITS)), ["DataFrame", "from_table"]),
    "rows": (lambda: mc.rerank(pd.DataFrame(HITS).iterrows(), []), ["pass the table itself"]),
    "second argument": (lambda: mc.Candidates(SCORES, EMBEDDINGS), ["ids", "3 x 3", "vectors="]),
    "sparse": (lambda: mc.Candidates(SCORES, vectors=scipy.sparse.csr_matrix(EMBEDDINGS)), ["csr_matrix", "toarray()"]),
    "nothing": (lambda: mc.Candidates(), ["scores, ids, columns or vectors"]),
    "near": (lambda: mc.focus(mc.Place("geo"), near={"north": 41.1}), ["Place", "north"]),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_natural_mistake_is_answered_with_what_to_write(case: str) -> None:
    call, parts = CALLS[case]
    with pytest.raises(mc.MascotError) as error:
        call()
    assert [part for part in parts if part not in str(error.value)] == []
