"""Tables are ranked as they are: which column is the score, which names the rows, and how results lead back to them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mascot as mc

DATA: dict[str, Any] = {
    "id": ["pier", "bridge", "beach", "canal"], "score": [0.8, 0.7, 0.9, 0.6], "city": ["x", "y", "x", "z"],
}  # fmt: skip
TABLES = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "Arrow": pa.table, "lists": dict}
NAMELESS = {"_score" if name == "score" else name: values for name, values in DATA.items() if name != "id"}
BEST = ["beach", "bridge", "canal"]  # of each city


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_is_ranked_as_it_is(make: Any) -> None:
    page = mc.rerank(make(DATA), mc.limit("city", 1))
    assert page.ids == BEST
    assert page.positions.tolist() == [2, 1, 3]
    assert [row["id"] for row in page.records()] == BEST
    assert mc.rerank_many([make(DATA), make(NAMELESS)], mc.limit("city", 1)).ids == [BEST, [2, 1, 3]]


def test_the_rows_of_a_frame_are_found_by_position_and_by_index() -> None:
    frame = pd.DataFrame(DATA).sort_values("score")
    page = mc.rerank(frame, mc.limit("city", 1))
    assert frame.iloc[page.positions]["id"].tolist() == page.ids == BEST
    indexed = pd.DataFrame(NAMELESS, index=list("pqrs")).sort_values("_score")
    assert mc.rerank(indexed, mc.limit("city", 1)).ids == ["r", "q", "s"]
    own = mc.Candidates(indexed["_score"], columns=indexed)
    assert indexed.loc[mc.rerank(own, mc.limit("city", 1)).ids]["city"].tolist() == ["x", "y", "z"]


def test_an_index_that_repeats_does_not_name_rows() -> None:
    frame = pd.DataFrame(NAMELESS, index=[0, 1, 0, 1])  # of two frames put together
    assert mc.rerank(frame, mc.limit("city", 1)).ids == [2, 1, 3]


def test_columns_may_have_other_names() -> None:
    renamed = pd.DataFrame(DATA).rename(columns={"id": "sku", "score": "similarity"})
    candidates = mc.Candidates.from_table(renamed, score="similarity", id="sku")
    assert mc.rerank(candidates, mc.limit("city", 1)).ids == BEST
    assert mc.Candidates.from_table(renamed, score=None).ids == [0, 1, 2, 3]
    assert mc.Candidates.from_table(renamed, score=None).scores.tolist() == [4, 3, 2, 1]
    frame = pd.DataFrame({**DATA, "vector": [[1.0, 0.0]] * 4})
    assert np.shape(mc.Candidates.from_table(frame, vector="vector").vectors) == (4, 2)


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (pl.DataFrame(DATA).lazy(), ["LazyFrame", "collect()"]),
        (pd.DataFrame({"similarity": [1.0], "city": ["x"]}), ["'score'", "similarity, city", "score="]),
        (pd.DataFrame({"id": ["a", None], "score": [1.0, 2.0]}), ["'id'", "position 1"]),
        ({"hits": [{"id": 1, "score": 2.0}]}, ["list of records", "converters"]),
    ],
    ids=["lazy", "no score", "missing id", "response"],
)
def test_a_table_that_cannot_be_ranked_says_what_to_do(table: Any, parts: list[str]) -> None:
    with pytest.raises(mc.InputError) as error:
        mc.rerank(table, [])
    assert [part for part in parts if part not in str(error.value)] == []


def test_results_are_a_pandas_table() -> None:
    page = mc.rerank(DATA, mc.limit("city", 1))
    table = page.to_pandas()
    assert list(table) == ["rank", "was", "id", "score", "relevance", "because"]
    assert table["id"].tolist() == BEST
    assert table[["rank", "was"]].to_numpy().tolist() == [[1, 1], [2, 3], [3, 4]]
    assert table["because"].tolist() == [reason.because for reason in page.explain().results]
    assert len(mc.rerank([], []).to_pandas()) == 0


def test_pandas_is_needed_for_its_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    page = mc.rerank(DATA, mc.limit("city", 1))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mc.MissingExtra, match="install pandas"):
        page.to_pandas()


def test_notebooks_show_reasons_and_no_markup_of_the_data() -> None:
    hits = [{"id": "<b>a</b>", "score": 0.9, "city": "<script>x</script>"}, {"id": "b&c", "score": 0.5, "city": "y"}]
    page = mc.rerank(hits, [mc.spread("city"), mc.share("city", {"<i>z</i>": 0.5})], k=2)
    shown = page._repr_html_()
    assert shown.count("<tr>") == 3
    assert "&lt;script&gt;x&lt;/script&gt;" in shown
    assert "b&amp;c" in shown
    assert not any(markup in shown for markup in ("<script>", "<b>", "<i>"))
